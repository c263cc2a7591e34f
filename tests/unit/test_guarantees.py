"""The pages of promises: what they link is there and runs, and no promise stands by itself."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.unit.test_architecture import LIBRARY, attributes, literals
from tests.unit.test_docs_site import DOCS, REPOSITORY

IMPLEMENTED = (DOCS / "implemented.md").read_text(encoding="utf-8")
PROMISING = ("guarantees.md", "clocks.md")
PAGES = (*PROMISING, "mended.md")
NOT_PROMISED = "What is not promised"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
OF_THEIR_OWN = ("tests/storages/", "tests/cluster/")
"""Tests that need servers or much memory: they run when they are asked for."""
ASKED_FOR = {
    "pytest.mark.skipif",
    "pytest.mark.skipif(ONLY is not None, reason='SIMULATION_SEED asks for one schedule')",
}
"""What skips a test only where somebody has asked for another one."""


def sections(page: str) -> dict[str, list[str]]:
    """Return the items of a page's lists by heading, each on one line."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        items = re.findall(r"^- .*(?:\n  .*)*", body, flags=re.MULTILINE)
        found[heading] = [" ".join(item.split()) for item in items]
    return found


def promises() -> list[tuple[str, str]]:
    """Return every promise, with the page that it stands on."""
    return [
        (page, item)
        for page in PAGES
        for heading, items in sections(page).items()
        for item in items
        if heading != NOT_PROMISED
    ]


def linked() -> list[tuple[str, str]]:
    """Return every test that a page names, as file and name."""
    texts = [(DOCS / page).read_text(encoding="utf-8") for page in PAGES]
    return sorted({pair for text in texts for pair in TEST.findall(text)})


@cache
def found_in(file: str) -> dict[str, ast.stmt]:
    """Return the tests of a file by name: functions, and state machines as ``TestName = …``."""
    found: dict[str, ast.stmt] = {}
    for node in parsed(file).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            named = (each.id for each in node.targets if isinstance(each, ast.Name))
            found.update((name, node) for name in named if name.startswith("Test"))
    return found


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))


def skips(node: ast.AST) -> list[str]:
    """Return what keeps a test from running: marks, and calls in its body."""
    calls = [each for each in ast.walk(node) if isinstance(each, (ast.Call, ast.Attribute))]
    told = [ast.unparse(each) for each in calls if ast.unparse(each) not in ASKED_FOR]
    return [each for each in told if re.match(r"pytest\.(mark\.)?(skip|xfail|importorskip)", each)]


def test_there_is_something_to_check() -> None:
    assert len(promises()) > 80
    assert len(linked()) > 150


@pytest.mark.parametrize("page", PROMISING)
def test_a_page_has_promises_and_tells_what_is_not_promised(page: str) -> None:
    found = sections(page)
    assert len(found[NOT_PROMISED]) >= 3
    assert all(items for items in found.values())


@pytest.mark.parametrize(("file", "name"), linked())
def test_a_linked_test_exists_and_is_not_skipped(file: str, name: str) -> None:
    test = found_in(file).get(name)
    assert test is not None, f"{file} has no {name}"
    assert skips(test) == []
    marks = [
        node
        for node in parsed(file).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    assert [skip for mark in marks for skip in skips(mark)] == []


@pytest.mark.parametrize(("page", "promise"), promises())
def test_a_promise_is_held_by_a_test_that_runs_everywhere(page: str, promise: str) -> None:
    files = [file for file, _ in TEST.findall(promise)]
    assert [file for file in files if not file.startswith(OF_THEIR_OWN)], f"{page}: {promise}"


def test_every_implemented_row_has_a_promise() -> None:
    table = IMPLEMENTED[IMPLEMENTED.index("| area | implemented |") :]
    rows = re.findall(r"^\| (.+?) \| (.*?) \|", table.partition("\n\n")[0], flags=re.MULTILINE)
    areas = [area for area, implemented in rows[1:] if implemented.strip()]
    assert len(areas) > 14
    found = sections("guarantees.md")
    assert [area for area in areas if not found.get(area)] == []


def test_no_promise_is_made_twice() -> None:
    titles = [re.sub(r"\*\*.*", "", item[4:]) for _, item in promises()]
    assert sorted(set(titles)) == sorted(titles)


@pytest.mark.parametrize("module", LIBRARY)
def test_the_library_sets_nothing_in_a_session_that_it_is_given(module: str) -> None:
    """Only ``local_session`` says how a session is built: its own."""
    settings = re.compile(r"\.conf\.(set|unset)$|\.setConf$")
    assert [each for each in attributes(module) if settings.search(each)] == []
    assert [text for text in literals(module) if re.match(r"\s*(RE)?SET\s(?!TBLPROP)", text)] == []
