"""Seeded bugs of ``tables/lanes/spark/publishing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_spark_errors.py",)

BUGS = (
    Bug(
        "a-key-of-null",
        "A message without a key has null in DataFrames: a condition on the empty key misses it.",
        '            column = F.coalesce(column, F.lit(""))\n',
        "            pass\n",
        needs_spark=("tests/delta/test_publish.py",),
    ),
    Bug(
        "columns-that-differ-by-case",
        "A DataFrame with two columns of one name but for its case ends in an error of Spark's.",
        "if lowered.count(name.lower()) > 1), None)",
        "if names.count(name) > 1), None)",
        needs_spark=("tests/delta/test_publish.py",),
    ),
    Bug(
        "ordered-by-data-of-numbers",
        "A column of numbers is taken as data where the rows are ordered by it.",
        "if name in (*_IGNORED, order_by) and name not in _ACCEPTED:",
        "if name in (*_IGNORED, order_by):",
        needs_spark=("tests/delta/test_ordering.py::test_an_order_column_must_be_one",),
    ),
    Bug(
        "arrays-of-maps-have-an-order",
        "order_by a column of arrays of maps ends in an error of Spark's.",
        "        return _has_an_order(type_.elementType)\n",
        "        return True\n",
        needs_spark=(
            "tests/delta/test_publish_frames.py::test_a_column_without_an_order_orders_nothing",
        ),
    ),
    Bug(
        "nothing-is-no-column",
        "A column of nulls without a type is refused.",
        "return isinstance(given, NullType) or given == accepted",
        "return given == accepted",
        needs_spark=(
            "tests/delta/test_publish.py::test_wrong_columns_and_types_are_refused",
            "tests/delta/test_publish.py::test_a_message_of_a_dataframe_without_a_key_has_the_empty_one",
        ),
    ),
    Bug(
        "messages-of-a-closed-session",
        "The columns of messages, whose session was closed, are an error of pyspark.",
        "    with translating_errors(None, of_others=True):\n        is_streaming, schema =",
        "    if True:\n        is_streaming, schema =",
    ),
    Bug(
        "rows-of-a-closed-session",
        "A job that sets rows of a closed session aside ends in an error of pyspark.",
        "    with translating_errors(None, of_others=True):\n        schema = frame.schema\n",
        "    schema = frame.schema\n",
    ),
)
