"""Bugs of what a reader of the pages on Spark, its sessions and its catalogs has found."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_SPARK_READER = (
    Bug(
        "checkpoint-of-another-kind",
        "A query takes a checkpoint of format('pubsub_delta') for its own.",
        "tables/lanes/spark/ticks.py",
        "        if not isinstance(offset, Mapping) or not isinstance(tick, int):\n",
        "        if not isinstance(offset, Mapping):\n",
    ),
    Bug(
        "condition-damages-its-topic",
        "A condition that fails on a message is told as messages of the topic that are lost.",
        "tables/lanes/spark/frames.py",
        "        with translating_errors(table, of_others=True):\n",
        "        with translating_errors(table):\n",
        needs_spark=(
            "tests/delta/test_batches.py"
            "::test_an_error_that_a_condition_raises_is_no_damage_to_the_topic",
        ),
    ),
    Bug(
        "locks-where-the-uri-says",
        "Programs lock the tables of one schema in two directories, and their commits collide.",
        "tables/lanes/spark/catalogs.py",
        "    return unquote(location)  # a URI: with %20 for a blank\n",
        "    return location\n",
        needs_spark=(
            "tests/spark_lane/test_catalogs.py"
            "::test_the_locks_of_a_schema_are_in_its_directory_whatever_its_letters",
        ),
    ),
    Bug(
        "locks-of-a-path-as-a-uri",
        "A session that describes schemas as Spark 3.0 did has its locks in another directory.",
        "tables/lanes/spark/catalogs.py",
        '    if not location or setting_of(spark, _V1, "false") == "true":\n',
        "    if not location:\n",
        needs_spark=(
            "tests/spark_lane/test_catalogs.py"
            "::test_the_locks_of_a_schema_are_in_its_directory_whatever_its_letters",
        ),
    ),
    Bug(
        "root-of-no-catalog",
        "A root that its catalog does not take ends in an error of Spark's.",
        "tables/lanes/spark/catalogs.py",
        "        if _NO_NAME_OF_IT.search(str(error)) is None:\n",
        "        if True:\n",
        needs_spark=(
            "tests/spark_lane/test_catalogs.py"
            "::test_a_name_that_no_schema_of_the_catalog_can_have_is_refused",
        ),
    ),
    Bug(
        "stopped-session-is-a-bug-in-spark",
        "A store whose session was stopped tells of a bug in Spark.",
        "tables/lanes/spark/errors.py",
        "        if _STOPPED.search(str(error)):\n",
        "        if False:\n",
    ),
    Bug(
        "features-of-the-sessions-defaults",
        "Tables get the features of Delta's that a session gives its new tables.",
        "tables/lanes/spark/sql.py",
        'wanted = {**schema.properties, "delta.ignoreProtocolDefaults": "true"}',
        "wanted = schema.properties",
        needs_spark=(
            "tests/spark_lane/test_tables.py"
            "::test_tables_are_plain_delta_whatever_the_sessions_defaults",
        ),
    ),
)
