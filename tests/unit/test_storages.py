"""The table of how many writers are safe: it says what was tried, and by which tests."""

from __future__ import annotations

import ast

from tests.storages.servers import STORAGES
from tests.storages.tried import TRIED, table
from tests.unit.test_docs_site import DOCS, REPOSITORY


def test_the_documentation_has_the_table_of_what_was_tried() -> None:
    assert table() in (DOCS / "object-storage.md").read_text(encoding="utf-8")


def test_what_is_said_to_have_tried_it_is_there() -> None:
    for file, _, name in (test.partition("::") for each in TRIED for test in each.by):
        tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_storage_that_runs_here_is_in_the_table() -> None:
    assert set(STORAGES) <= {each.storage for each in TRIED if each.by}
