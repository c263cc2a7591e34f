"""Seeded bugs of ``tables/targets.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/lanes/test_table_locations.py",
    *TABLE_WRITES,
)

BUGS = (
    Bug(
        "tables-of-the-store-are-targets",
        "A subscription may be written to the tables of the store itself.",
        "if self._is_of_the_store(path):",
        "if self._is_of_the_store(table):",
    ),
    Bug(
        "links-to-the-tables-of-the-store",
        "A subscription may be written to the tables of the store by a link.",
        "path, store = os.path.realpath(path), os.path.realpath(store)",
        "path, store = os.path.abspath(path), os.path.abspath(store)",
    ),
    Bug(
        "a-path-beside-the-root",
        "A table beside the allowed directory, whose name begins like it, may be written.",
        'if not path.startswith(f"{self.root}/") or not all(names) or',
        "if not path.startswith(self.root) or",
    ),
    Bug(
        "root-of-a-file-url-has-no-tables-below-it",
        "A job that names the root by its URL finds no table that is named by its path.",
        "            self.root: str | None = on_disk(given.base) or given.base",
        "            self.root: str | None = given.base",
    ),
    Bug(
        "store-of-a-file-url-has-no-tables-below-it",
        "A store that is opened by its URL refuses the tables below it, and may write to its own.",
        "None if layout.in_catalog else on_disk(layout.base) or layout.base",
        "None if layout.in_catalog else layout.base",
    ),
    Bug(
        "tables-of-a-catalog-store-are-in-the-working-directory",
        "A store in a catalog writes to None/shop/orders.",
        "        if self.root is None:\n            raise Unwritable(",
        '        if self.root == "":\n            raise Unwritable(',
    ),
)
