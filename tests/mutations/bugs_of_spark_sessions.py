"""Bugs of what trials of killed JVMs, slow jobs and settings of Spark sessions found."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_SPARK_SESSIONS = (
    Bug(
        "lease-outlives-the-jvm",
        "The lease of a micro-batch is extended for ever after its JVM was killed.",
        "streaming.py",
        "        except Exception:  # each way to lose a JVM has an error of its own",
        "        except NotImplementedError:",
    ),
    Bug(
        "session-of-the-past",
        "Delta reads a topic as it was, and messages are acknowledged that nobody has seen.",
        "session.py",
        '"""\n    limit = setting_of(spark, _STALE, "0")',
        '"""\n    limit = setting_of(spark, _STALE, "0") and "0"',
    ),
    Bug(
        "session-that-leaves-files-out",
        "A file that is damaged is left out of a batch, and acknowledged with it.",
        "session.py",
        "    for key in _LEAVING_OUT:",
        "    for key in _LEAVING_OUT[1:]:",
    ),
    Bug(
        "topic-from-the-cache",
        "A session that has cached a topic's table reads batches without newer messages.",
        "tables/lanes/spark/stored.py",
        "return newest(spark, table) if is_cached(rows) else rows",
        "return rows",
        needs_spark=(
            "tests/delta/test_pull.py::test_what_a_session_has_cached_of_a_topic_hides_no_message",
        ),
    ),
    Bug(
        "registry-from-the-cache",
        "A session that has cached the registry publishes to a topic that was deleted since.",
        "tables/lanes/spark/lane.py",
        "rows = stored(self.spark, table)",
        "rows = self.spark.table(table)",
        needs_spark=(
            "tests/delta/test_two_lanes.py"
            "::test_what_a_session_has_cached_of_the_store_hides_nothing_of_what_others_do",
        ),
    ),
    Bug(
        "slow-job-loses-its-lease",
        "A batch that takes longer than its lease is written again and again.",
        "jobs/leases.py",
        "ack_deadline_seconds / 3",
        "ack_deadline_seconds * 3",
    ),
    Bug(
        "cleaned-log-is-damaged",
        "A program that did nothing while the log of a topic was cleaned takes it for damaged.",
        "tables/lanes/direct/open_tables.py",
        "if found < new and (not found or _has_commit(table, handle.checked)):",
        "if found < new:",
    ),
    Bug(
        "bad-records-set-aside-no-more",
        "A publishing job goes on without a word when its bad records cannot be set aside.",
        "jobs/terminal.py",
        "            if beside is not None and beside.exception() is not None:",
        "            if beside is None and query.exception() is not None:",
    ),
    Bug(
        "store-of-another-catalog",
        "After USE CATALOG a program publishes to the store of that name in another catalog.",
        "tables/layout.py",
        "        if len(parts) == 1 and self.catalog is not None:",
        "        if len(parts) == 0 and self.catalog is not None:",
        needs_spark=(
            "tests/spark_lane/test_platforms.py::"
            "test_a_store_stays_in_its_catalog_whatever_catalog_the_session_takes_later",
        ),
    ),
    Bug(
        "store-of-a-later-catalog",
        "A store that starts its session is another one in each catalog that this takes later.",
        "tables/lanes/choice.py",
        "                self._start(started)\n",
        "                self._started = started\n",
    ),
    Bug(
        "view-dropped-by-another",
        "Of two programs that make the views of a store at the same time one ends with an error.",
        "operations/views.py",
        "with suppress(TableMissing, Conflict):",
        "with suppress(Conflict):",
    ),
    Bug(
        "comment-longer-than-hives",
        "A topic with a long name has no view in a schema of Hive's metastore.",
        "policy/view_names.py",
        "over = max(0, len(text) - LONGEST_COMMENT)",
        "over = max(0, len(text) - 2 * LONGEST_COMMENT)",
    ),
    Bug(
        "publish-that-nobody-has-counted",
        "A DataFrame is told as no messages where its session has Delta write no metrics.",
        "operations/publish.py",
        "return self._commit.message_count or len(self.message_ids)",
        "return self._commit.message_count",
    ),
    Bug(
        "table-dropped-under-a-reader",
        "A seek to a snapshot that is deleted meanwhile tells damage in a catalog.",
        "tables/lanes/spark/lane.py",
        "            if self.exists(table):\n                raise\n",
        "            if table:\n                raise\n",
        needs_spark=(
            "tests/spark_lane/test_tables.py::"
            "test_a_table_that_is_dropped_while_it_is_read_is_missing_and_not_damaged",
        ),
    ),
    Bug(
        "left-by-a-kill",
        "What a kill left of a new store in a catalog ends all programs in an error of Delta's.",
        "tables/lanes/spark/errors.py",
        "not of_others and condition in _OCCUPIED:",
        "of_others and condition in _OCCUPIED:",
        needs_spark=(
            "tests/spark_lane/test_tables.py::"
            "test_what_a_kill_left_where_a_table_is_to_be_created_is_told",
        ),
    ),
    Bug(
        "frame-of-another-session",
        "A DataFrame of a session with a transaction is told as published, and skipped by Delta.",
        "tables/lanes/spark/lane.py",
        "        check_writing(frame.sparkSession)\n",
        "",
        needs_spark=(
            "tests/delta/test_publish.py::"
            "test_a_session_that_writes_something_else_is_refused_by_its_setting",
        ),
    ),
    Bug(
        "rows-skipped-and-acknowledged",
        "A job acknowledges rows that Delta skips for a transaction of its session.",
        "jobs/outputs.py",
        'if "txnVersion" not in options:',
        'if "txnVersion" in options:',
    ),
    Bug(
        "milliseconds-in-small-letters",
        "A session that cuts times off to milliseconds is refused by capital letters alone.",
        "session.py",
        '"").upper() == "TIMESTAMP_MILLIS":',
        '"") == "TIMESTAMP_MILLIS":',
    ),
    Bug(
        "view-replaced-by-another",
        "Of two programs that replace a view in Hive's metastore at the same time one fails.",
        "tables/lanes/spark/views.py",
        "|AlreadyExistsException|NoSuchObjectException",
        "|AlreadyExistsException",
    ),
)
