"""The reference proves something only if it is another one: it shares no code with the library."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.model import reference, reference_subscription, reference_values
from tests.model.reference_values import DAY, rfc3339

REFERENCE = (reference, reference_subscription, reference_values)
OWN = {module.__name__ for module in REFERENCE}


@pytest.mark.parametrize("module", REFERENCE, ids=lambda module: str(module.__name__))
def test_the_reference_imports_itself_and_the_standard_library(module: object) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module or "")
    others = {name for name in found - OWN if name.split(".")[0] not in sys.stdlib_module_names}
    assert others == set()
    assert not {"importlib", "__import__"} & (found | {n.id for n in names_in(tree)})


def names_in(tree: ast.AST) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name)]


def test_times_are_written_as_rfc_3339() -> None:
    assert rfc3339(0) == "2026-01-01T00:00:00Z"
    assert rfc3339(-1) == "2025-12-31T23:59:59Z"
    assert rfc3339(59 * DAY + 3_661) == "2026-03-01T01:01:01Z"
    assert rfc3339(365 * DAY) == "2027-01-01T00:00:00Z"
    assert rfc3339((365 * 2 + 31 + 28) * DAY) == "2028-02-29T00:00:00Z"
