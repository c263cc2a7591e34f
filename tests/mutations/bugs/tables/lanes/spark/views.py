"""Seeded bugs of ``tables/lanes/spark/views.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_fuzz_sql.py",
    "tests/unit/test_views.py",
)

BUGS = (
    Bug(
        "view-without-rows-of-nothing",
        "A backlog that was empty is shown when its subscription is gone.",
        "WHERE if(position > 0, false, {failing})",
        "WHERE if(position > 0, false, false)",
        needs_spark=("tests/delta/test_views.py",),
    ),
    Bug(
        "view-replaced-by-another",
        "Of two programs that replace a view in Hive's metastore at the same time one fails.",
        "|AlreadyExistsException|NoSuchObjectException",
        "|AlreadyExistsException",
    ),
    Bug(
        "views-of-another-project",
        "create_views drops the views of another project.",
        'for key in ("view", "store", "project")',
        'for key in ("view", "store")',
        needs_spark=("tests/delta/test_views.py::test_projects_have_views_of_their_own",),
    ),
    Bug(
        "one-piece-too-few",
        "A backlog of as many pieces as a view may have is refused.",
        "        if left < 0:\n",
        "        if left <= 0:\n",
        needs_spark=("tests/delta/test_views.py::test_a_backlog_in_too_many_pieces_is_told",),
    ),
    Bug(
        "view-of-a-null-key",
        "A view shows null for the key of a message that has none.",
        '"ordering_key": "coalesce(ordering_key, \'\')"',
        '"ordering_key": "ordering_key"',
        needs_spark=(
            "tests/spark_lane/test_frames.py::test_null_data_and_attributes_of_other_writers_are_empty",
        ),
    ),
    Bug(
        "table-of-a-view-is-gone",
        "Of a view whose table is gone it is not told which table to restore.",
        "        columns = _columns_of(self._spark, query, subject.resource)\n",
        '        columns = _columns_of(self._spark, query, "a view")\n',
    ),
    Bug(
        "table-of-a-typed-view-is-gone",
        "Of a view with fields whose table is gone it is not told which table to restore.",
        "            with translating_errors(subject.resource):\n",
        '            with translating_errors("a view"):\n',
    ),
    Bug(
        "text-of-no-data-is-null",
        "A message without data that a DataFrame published has no text in SQL, and others have.",
        "CAST(coalesce(data, X'') AS STRING)",
        "CAST(data AS STRING)",
        needs_spark=(
            "tests/delta/test_views.py"
            "::test_a_message_without_data_has_an_empty_text_however_it_was_published",
        ),
    ),
)
