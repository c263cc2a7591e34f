"""What is deleted on the command line only after a question, and what without one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pubsub_delta.cli import application
from tests.unit.test_cli_arguments import Noting, run

LINES = (
    ("topics", "delete", "flights", "trains"),
    ("subscriptions", "delete", "flights", "trains"),
    ("snapshots", "delete", "flights", "trains"),
)


def deleted(answer: str, *line: str) -> tuple[int, list[str]]:
    store = Noting()
    result = run(store, *line, answer=answer)
    calls = [
        str(arguments[0]).split("/")[-1]
        for name, arguments, _ in store.calls
        if name.startswith("delete_")
    ]
    return result.exit_code, calls


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    here: Any = SimpleNamespace(isatty=lambda: True)
    like_sys: Any = SimpleNamespace(**{**vars(sys), "stdin": here})
    monkeypatch.setattr(application, "sys", like_sys)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("line", LINES, ids=lambda each: each[0])
@pytest.mark.parametrize(
    ("answer", "agreed"),
    [("y\n", True), ("Y\n", True), ("yes\n", True), ("n\n", False), ("\n", False), ("", False)],
)
def test_on_a_terminal_only_a_yes_deletes(line: tuple[str, ...], answer: str, agreed: bool) -> None:
    """Who only presses Enter has not agreed, and what is deleted does not come back."""
    assert deleted(answer, *line) == ((0, ["flights", "trains"]) if agreed else (1, []))


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("line", LINES, ids=lambda each: each[0])
def test_quiet_asks_nothing(line: tuple[str, ...]) -> None:
    assert deleted("n\n", *line, "--quiet") == (0, ["flights", "trains"])


@pytest.mark.parametrize("line", LINES, ids=lambda each: each[0])
def test_a_script_is_not_asked(line: tuple[str, ...]) -> None:
    """gcloud does not ask."""
    assert deleted("", *line) == (0, ["flights", "trains"])
