"""Bugs of what a second reader of the pages on Spark has found: odd settings, sessions that end."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_SECOND_SPARK_READER = (
    Bug(
        "group-columns-of-the-session",
        "A session that drops the columns of groups ends acks of a DataFrame in a KeyError.",
        "tables/lanes/spark/grouping.py",
        "    return rows.agg(*named, *aggregates).drop(*others)\n",
        "    return frame.groupBy(*named).agg(*aggregates)\n",
        needs_spark=(
            "tests/delta/test_odd_settings.py"
            "::test_a_session_that_drops_the_columns_of_groups_answers_by_them",
        ),
    ),
    Bug(
        "killed-jvm-is-an-error-of-py4j",
        "A store whose JVM was killed ends in errors of Py4J that tell nothing.",
        "session_end.py",
        "        if not _is_jvm_lost(error):\n",
        "        if error:\n",
    ),
    Bug(
        "lost-call-is-an-error-of-py4j",
        "The call during which a JVM is killed ends in an error of Py4J that tells nothing.",
        "session_end.py",
        "    return unanswered or kind in _JVM_LOST\n",
        "    return kind in _JVM_LOST\n",
    ),
    Bug(
        "schema-of-a-lost-jvm-is-no-type",
        "Of a DataFrame whose JVM was killed it is told that its data type cannot be read.",
        "session_end.py",
        '    if kind == "PySparkValueError" and',
        '    if kind == "" and',
    ),
    Bug(
        "job-of-an-ended-session-is-refused",
        "A job whose session its cluster has ended tells its scheduler not to try again.",
        "jobs/terminal.py",
        "    if error.__name__ == _ENDED:\n",
        "    if error is None:\n",
    ),
    Bug(
        "session-that-reads-no-path",
        "To a session that reads no table by its path a store is an empty one.",
        "tables/lanes/choice.py",
        '        if (setting_of(self.spark, _PATHS, "true") or "").strip().lower() == "false":\n',
        "        if False:\n",
    ),
    Bug(
        "full-disk-of-an-output",
        "A job whose output is on a full disk ends in a traceback, and is not to be tried again.",
        "jobs/outputs.py",
        "        if why is None or isinstance(error, PubSubError):\n",
        "        if error:\n",
    ),
    Bug(
        "full-disk-beside-the-text",
        "A full disk is told only where Spark's text has the cause in it.",
        "jobs/outputs.py",
        '        error = getattr(error, "_cause", None) or error.__cause__',
        "        error = error.__cause__",
    ),
    Bug(
        "full-disk-of-bad-records",
        "A job whose bad records are on a full disk ends in a traceback.",
        "jobs/set_aside.py",
        '    with translating_outages("--bad-records", path):\n',
        "    if True:\n",
    ),
    Bug(
        "table-of-a-view-is-gone",
        "Of a view whose table is gone it is not told which table to restore.",
        "tables/lanes/spark/views.py",
        "        columns = _columns_of(self._spark, query, subject.resource)\n",
        '        columns = _columns_of(self._spark, query, "a view")\n',
    ),
    Bug(
        "table-of-a-typed-view-is-gone",
        "Of a view with fields whose table is gone it is not told which table to restore.",
        "tables/lanes/spark/views.py",
        "            with translating_errors(subject.resource):\n",
        '            with translating_errors("a view"):\n',
    ),
    Bug(
        "text-of-no-data-is-null",
        "A message without data that a DataFrame published has no text in SQL, and others have.",
        "tables/lanes/spark/views.py",
        "CAST(coalesce(data, X'') AS STRING)",
        "CAST(data AS STRING)",
        needs_spark=(
            "tests/delta/test_views.py"
            "::test_a_message_without_data_has_an_empty_text_however_it_was_published",
        ),
    ),
)
