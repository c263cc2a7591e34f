"""The spinner of what takes long: on a terminal only, and gone when it is done."""

from __future__ import annotations

import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TextIO

import pytest

from pubsub_delta.cli.progress import waiting
from tests.unit.test_cli_arguments import Noting, run


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    """Return what a terminal shows, as a descriptor to read, and its standard error."""
    shown, inner = pty.openpty()
    os.set_blocking(shown, False)
    with os.fdopen(inner, "w", encoding="utf-8") as stderr:
        yield shown, stderr
    os.close(shown)


def text_of(shown: int) -> str:
    told = b""
    with suppress(BlockingIOError):  # it is all read
        while True:
            told += os.read(shown, 65536)
    return told.decode("utf-8", "replace")


def test_what_takes_long_is_shown_on_a_terminal_and_gone_when_it_is_done(
    monkeypatch: pytest.MonkeyPatch, terminal: tuple[int, TextIO]
) -> None:
    shown, stderr = terminal
    monkeypatch.setattr(sys, "stderr", stderr)
    with waiting("Running [topics] list", delay=0):
        threading.Event().wait(0.3)
    told = text_of(shown)
    assert "Running [topics] list" in told  # brackets are no markup
    assert "0:00:0" in told
    assert told.endswith("\x1b[2K")  # the line is empty again
    with waiting("Running topics list", delay=10):
        pass
    assert text_of(shown) == ""


def test_what_begins_meanwhile_is_shown_in_its_place_and_at_once(
    monkeypatch: pytest.MonkeyPatch, terminal: tuple[int, TextIO]
) -> None:
    shown, stderr = terminal
    monkeypatch.setattr(sys, "stderr", stderr)
    with waiting("Running maintain", delay=60):
        with waiting("Starting Spark", delay=0):
            threading.Event().wait(0.3)
        assert "Starting Spark" in text_of(shown)
        threading.Event().wait(0.3)
        assert "Running maintain" in text_of(shown)
    assert text_of(shown).endswith("\x1b[2K")


def test_nothing_is_shown_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with waiting("Running topics list", delay=0):
        threading.Event().wait(0.3)
    assert capfd.readouterr() == ("", "")


def test_it_says_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def noted(what: str, *_: Any) -> Any:
        told.append(what)
        return waiting(what, 10)

    monkeypatch.setattr("pubsub_delta.cli.application.waiting", noted)
    assert run(Noting(), "topics", "describe", "ttt").exit_code == 0
    assert told == ["Running topics describe"]
    told.clear()
    server = "sc://localhost:15002"
    assert run(Noting(), "topics", "describe", "ttt", PUBSUB_DELTA_REMOTE=server).exit_code == 0
    assert told == [f"Connecting to {server}", "Running topics describe"]
