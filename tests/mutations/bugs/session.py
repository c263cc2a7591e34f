"""Seeded bugs of ``session.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_session_settings.py",
    "tests/unit/test_no_jvm.py",
    "tests/unit/test_dependencies.py",
    "tests/unit/test_storage_settings.py",
)

BUGS = (
    Bug(
        "hidden-setting-is-empty",
        "A platform that hides its settings is taken for a Spark without Delta.",
        "    except Exception:\n        return None\n\n\ndef check_session",
        "    except Exception:\n        return default\n\n\ndef check_session",
    ),
    Bug(
        "a-pair-without-jars-is-started",
        "A Spark and a Delta for which there are no JARs end in a JVM that does not start.",
        "if _line(spark_version) in LINES_OF_SPARK and",
        "if _line(spark_version) in LINES_OF_SPARK or",
    ),
    Bug(
        "an-old-spark-is-taken",
        "A session of Spark 3 is taken, and fails at the first function that it does not have.",
        'if int(release.split(".")[0]) < 4:',
        'if int(release.split(".")[0]) < 3:',
    ),
    Bug(
        "no-java-is-a-traceback",
        "Who starts a job without Java sees a stack trace, and a scheduler tries again.",
        'if "JAVA_GATEWAY_EXITED" not in str(error):',
        'if "JAVA_GATEWAY_EXITED" in str(error):',
    ),
    Bug(
        "times-of-milliseconds-are-written",
        "A session has Spark cut off the microseconds of publish times: nobody reads its messages.",
        'upper() == "TIMESTAMP_MILLIS":',
        'upper() == "MILLIS":',
        needs_spark=("tests/delta/test_publish.py",),
    ),
    Bug(
        "a-transaction-of-the-session-skips",
        "Delta skips what is published in a session with a transaction, and nobody is told.",
        'if all(setting_of(spark, key, "") for key in _TRANSACTION):',
        'if all(setting_of(spark, key, "") == key for key in _TRANSACTION):',
        needs_spark=("tests/delta/test_publish.py",),
    ),
    Bug(
        "session-of-the-past",
        "Delta reads a topic as it was, and messages are acknowledged that nobody has seen.",
        '"""\n    limit = setting_of(spark, _STALE, "0")',
        '"""\n    limit = setting_of(spark, _STALE, "0") and "0"',
    ),
    Bug(
        "session-that-leaves-files-out",
        "A file that is damaged is left out of a batch, and acknowledged with it.",
        "    for key in _LEAVING_OUT:",
        "    for key in _LEAVING_OUT[1:]:",
    ),
    Bug(
        "milliseconds-in-small-letters",
        "A session that cuts times off to milliseconds is refused by capital letters alone.",
        '"").upper() == "TIMESTAMP_MILLIS":',
        '"") == "TIMESTAMP_MILLIS":',
    ),
    Bug(
        "half-of-a-key-of-azure-is-set",
        "A session gets a key of Azure though the environment names no account.",
        "    if account and key:\n",
        "    if account or key:\n",
    ),
    Bug(
        "environment-before-what-is-given",
        "A session has the storage settings of the environment, whatever its caller gives.",
        "{**storage_settings(environment), **ours, **given}",
        "{**ours, **given, **storage_settings(environment)}",
    ),
    Bug(
        "store-of-a-session-that-does-not-answer",
        "A store that is opened with a session that was stopped ends in an error of pyspark.",
        "    except Exception as error:  # each way to end a session has an error of its own\n",
        "    except ZeroDivisionError as error:\n",
    ),
    Bug(
        "a-column-is-a-dataframe",
        "publish or an acknowledgement of a Column ends in an error that names no argument.",
        "    kind = type(what)\n",
        "    kind = what\n",
    ),
)
