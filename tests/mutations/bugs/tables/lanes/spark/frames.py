"""Seeded bugs of ``tables/lanes/spark/frames.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_spark_errors.py",)

BUGS = (
    Bug(
        "topic-as-of-a-time-has-later-ones",
        "A topic as of a time has messages that a slow publisher stamped later.",
        "            rows = rows.where(published_between(None, until))\n",
        "            rows = rows.where(published_between(None, None))\n",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "stream-from-its-start",
        "A stream of a topic from a version on begins with all messages that are stored.",
        'reader = reader.option("startingVersion", from_version)',
        "pass",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "a-condition-of-another-frame-fails-in-spark",
        "A condition on another DataFrame is refused by Spark, which names neither it nor a way.",
        "    except AnalysisException as error:",
        "    except ArithmeticError as error:",
        needs_spark=("tests/delta/test_batches.py",),
    ),
    Bug(
        "a-look-that-is-cached",
        "A topic is read as it was when the session cached an earlier look at it.",
        "return _all_columns(newest(spark, table)) if is_cached(rows) else rows",
        "return rows",
        needs_spark=(
            "tests/delta/test_pull.py::test_a_topic_is_read_anew_though_an_earlier_look_at_it_is_cached",
        ),
    ),
    Bug(
        "ack-ids-in-two-columns",
        "A DataFrame with two columns of ack ids ends in an error of Spark's.",
        "return len(given) == 1 and isinstance(given[0], StringType)",
        "return len(given) >= 1 and isinstance(given[0], StringType)",
        needs_spark=(
            "tests/delta/test_hostile_input.py::test_a_dataframe_needs_one_column_of_ack_ids",
        ),
    ),
    Bug(
        "condition-damages-its-topic",
        "A condition that fails on a message is told as messages of the topic that are lost.",
        "        with translating_errors(table, of_others=True):\n",
        "        with translating_errors(table):\n",
        needs_spark=(
            "tests/delta/test_batches.py"
            "::test_an_error_that_a_condition_raises_is_no_damage_to_the_topic",
        ),
    ),
    Bug(
        "ack-ids-of-a-closed-session",
        "The columns of a DataFrame of ack ids, whose session was closed, are an error of pyspark.",
        "    with translating_errors(None, of_others=True):\n        schema = frame.schema\n",
        "    schema = frame.schema\n",
    ),
)
