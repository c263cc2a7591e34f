"""Bugs of streaming queries and Spark's sessions, as a reader of their pages found them."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_READER_OF_STREAMS = (
    Bug(
        "acknowledged-messages-can-be-delivered-again",
        "The log of a query tells that messages come again which it has acknowledged itself.",
        "micro_batch_lease.py",
        "            if not found.success and self._leaves_messages():\n",
        "            if not found.success:\n",
    ),
    Bug(
        "lease-of-a-deleted-subscription-is-looked-for",
        "The log of a query whose subscription was created anew has a traceback, and no reason.",
        "micro_batch_lease.py",
        "        except DataLoss:  # the subscription was deleted meanwhile\n",
        "        except ZeroDivisionError:\n",
    ),
    Bug(
        "stream-of-files-that-vacuum-removed",
        "A stream from a time on ends, as it reads files that OPTIMIZE has replaced long ago.",
        "tables/messages/stored.py",
        "each.version == first and now - kept < each.time for",
        "each.version == first for",
    ),
    Bug(
        "text-that-py4j-does-not-send",
        "A query whose error names a file that is no Unicode does not tell what has failed.",
        "streaming.py",
        "            if as_utf8(told) != told:\n",
        "            if False:\n",
    ),
    Bug(
        "stopped-session-of-spark-connect",
        "A store whose session of Spark Connect was stopped ends in an error of pyspark.",
        "tables/lanes/spark/errors.py",
        r"""|\[NO_ACTIVE_SESSION\]|INVALID""",
        "|INVALID",
    ),
    Bug(
        "session-that-a-server-has-closed",
        "A store whose session was idle for an hour ends in an error of pyspark, by Spark Connect.",
        "tables/lanes/spark/errors.py",
        "SESSION_(?:CLOSED|CHANGED|NOT_FOUND)",
        "SESSION_(?:CHANGED|NOT_FOUND)",
    ),
    Bug(
        "server-that-was-started-again",
        "A store whose Spark Connect server was started again ends in an assertion of pyspark.",
        "tables/lanes/spark/errors.py",
        '    r"|incorrect server side session identifier"\n',
        "",
    ),
    Bug(
        "ack-ids-of-a-closed-session",
        "The columns of a DataFrame of ack ids, whose session was closed, are an error of pyspark.",
        "tables/lanes/spark/frames.py",
        "    with translating_errors(None, of_others=True):\n        schema = frame.schema\n",
        "    schema = frame.schema\n",
    ),
    Bug(
        "messages-of-a-closed-session",
        "The columns of messages, whose session was closed, are an error of pyspark.",
        "tables/lanes/spark/publishing.py",
        "    with translating_errors(None, of_others=True):\n        is_streaming, schema =",
        "    if True:\n        is_streaming, schema =",
    ),
    Bug(
        "rows-of-a-closed-session",
        "A job that sets rows of a closed session aside ends in an error of pyspark.",
        "tables/lanes/spark/publishing.py",
        "    with translating_errors(None, of_others=True):\n        schema = frame.schema\n",
        "    schema = frame.schema\n",
    ),
    Bug(
        "store-of-a-session-that-does-not-answer",
        "A store that is opened with a session that was stopped ends in an error of pyspark.",
        "session.py",
        "    except Exception as error:  # each way to end a session has an error of its own\n",
        "    except ZeroDivisionError as error:\n",
    ),
)
