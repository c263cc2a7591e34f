"""Seeded bugs of ``policy/table_configs.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/unit/test_table_names.py",
    "tests/lanes/test_table_locations.py",
    *TABLE_WRITES,
)

BUGS = (
    Bug(
        "push-and-table-at-once",
        "A subscription may push its messages and have them written to a table.",
        "    if push_config is not None:",
        "    if push_config is not None and enable_exactly_once_delivery:",
    ),
    Bug(
        "table-of-1024-characters",
        "A table whose name is as long as allowed is refused.",
        "not 1 <= len(table) <= MAX_TABLE_CHARACTERS",
        "not 1 <= len(table) < MAX_TABLE_CHARACTERS",
    ),
    Bug(
        "null-in-the-path-of-a-table",
        "The path of a table may have a NUL, which ends in an error of Python.",
        ' or "\\0" in table:',
        ":",
    ),
    Bug(
        "table-of-gcloud-is-no-table",
        "--bigquery-table=project:dataset.table is refused.",
        "    if named:\n",
        '    if named is None and table == "":\n',
    ),
)
