"""Seeded bugs of ``tables/lanes/spark/catalogs.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ()

BUGS = (
    Bug(
        "locks-where-the-uri-says",
        "Programs lock the tables of one schema in two directories, and their commits collide.",
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
        "        if _NO_NAME_OF_IT.search(str(error)) is None:\n",
        "        if True:\n",
        needs_spark=(
            "tests/spark_lane/test_catalogs.py"
            "::test_a_name_that_no_schema_of_the_catalog_can_have_is_refused",
        ),
    ),
)
