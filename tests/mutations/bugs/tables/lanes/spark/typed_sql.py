"""Seeded bugs of ``tables/lanes/spark/typed_sql.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ()

BUGS = (
    Bug(
        "typed-view-forgets-other-schemas",
        "A message of another schema is told as one of a revision that is gone.",
        "f\"WHEN _schema <> {name} THEN concat('it was published under ', _schema) \"",
        '""',
        needs_spark=(
            "tests/delta/test_typed_views.py::test_a_message_is_read_there_by_the_revision_that_it_was_published_under",
        ),
    ),
    Bug(
        "value-that-does-not-fit-is-null",
        "A time that is too late is null in a view of a topic with a schema, without a word.",
        'lambda v: f"CASE WHEN NOT {fits(v)} THEN {literal(why)} END",',
        "lambda _: None,",
        needs_spark=(
            "tests/delta/test_typed_views.py::test_a_value_that_sql_does_not_read_is_told_and_leaves_the_other_messages",
        ),
    ),
    Bug(
        "unread-json-is-null",
        "A view shows a message that SQL's reader of JSON does not read without a word, as nulls.",
        "IS NOT NULL THEN 'SQL reads no such JSON'",
        "IS NOT NULL THEN NULL",
        needs_spark=(
            "tests/delta/test_typed_views.py::test_a_value_that_sql_does_not_read_is_told_and_leaves_the_other_messages",
        ),
    ),
    Bug(
        "errors-within-arrays-are-forgotten",
        "A value of an array that has no date is null in a view, and nobody is told.",
        "lambda v: _first_error(v, variable, inner),",
        "lambda _: None,",
        needs_spark=(
            "tests/delta/test_typed_views.py::test_a_value_that_sql_does_not_read_is_told_and_leaves_the_other_messages",
        ),
    ),
)
