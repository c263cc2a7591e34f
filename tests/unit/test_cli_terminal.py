"""What a terminal shows: colors, tables that fit, and what to type next after a mistake."""

from __future__ import annotations

import os
import pty
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from rich.cells import cell_len

from pubsub_delta.cli import colors
from pubsub_delta.cli.application import App
from pubsub_delta.cli.formats import parse_format
from pubsub_delta.cli.printing import render
from pubsub_delta.cli.pull import PULL_FORMAT
from pubsub_delta.errors import NotFound
from pubsub_delta.resources import Page
from tests.unit.test_cli_arguments import SUBSCRIPTION, Noting, run
from tests.unit.test_shell import ListMethod, topic

NAMESAKE = SUBSCRIPTION.name.replace("subscriptions", "topics")
STYLE = re.compile(r"\x1b\[[0-9;]*m")
RECORD: dict[str, Any] = {
    "ackId": "0123456789abcdef" * 6,
    "message": {
        "data": "bGF0ZQ==",
        "messageId": "1048576",
        "publishTime": "2026-11-21T15:30:00Z",
        "attributes": {"carrier": "日本航空", "delay": "7"},
    },
}


def on_terminal(
    environment: Mapping[str, str],
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    form: str | None = None,
) -> str:
    """Return what a terminal of that width is sent."""
    shown, inner = pty.openpty()
    monkeypatch.setenv("COLUMNS", str(columns))
    with os.fdopen(inner, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        app = App(environment=environment)
        app.global_options = {"format": form} if form else {}
        app.show_all([RECORD], PULL_FORMAT)
        monkeypatch.undo()
    told = b""
    with suppress(OSError):  # so a terminal ends that nobody writes to any more
        while part := os.read(shown, 65536):
            told += part
    os.close(shown)
    return told.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_table_fits_the_terminal_and_nothing_is_cut_off(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = STYLE.sub("", on_terminal({}, columns, monkeypatch))
    lines = told.splitlines()
    assert len({cell_len(line) for line in lines}) == 1
    assert cell_len(lines[0]) <= columns
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]
    joined = ["".join(cells) for cells in zip(*rows, strict=True)]
    assert RECORD["ackId"] in joined[-1]
    assert "carrier=日本航空" in joined[3]


def test_elsewhere_a_table_is_as_wide_as_its_cells() -> None:
    # a program takes an ack id from it
    text = render([RECORD], parse_format(PULL_FORMAT))
    assert str(RECORD["ackId"]) in text


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colors_are_turned_off(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for form in (None, "json", "yaml", "table(ackId)"):
        assert "\x1b" not in on_terminal(environment, 200, monkeypatch, form)


@pytest.mark.parametrize("form", [None, "json", "yaml", "table(ackId)"])
def test_headings_and_keys_are_in_color_on_a_terminal(
    form: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = on_terminal({"NO_COLOR": ""}, 200, monkeypatch, form)
    assert "\x1b[" in told
    assert STYLE.sub("", told) == on_terminal({"NO_COLOR": "1"}, 200, monkeypatch, form)


def test_colors_are_names_that_any_background_goes_with() -> None:
    # no white, no black, no bright ones, and no background of our own
    told = [each.get("fg") for each in colors._STYLES.values()]
    assert set(told) <= {None, "cyan", "green", "red", "yellow"}
    assert not any("bg" in each for each in colors._STYLES.values())


def test_what_is_no_terminal_gets_no_colors() -> None:
    assert not colors.are_enabled(StringIO(), {})


# What to type next


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["topcs", "list"], "No such command 'topcs'; did you mean topics?"),
        (["topics", "lst"], "No such command 'lst'; did you mean list?"),
        (["pull", "delays"], "No such command 'pull'; did you mean subscriptions pull?"),
        (
            ["describe"],
            "did you mean topics describe or subscriptions describe or snapshots describe "
            "or schemas describe?",
        ),
        (["snapshots", "xyz"], "there are create, delete, describe, list, metrics, update."),
        (["topics", "create", "--label=a"], "--labels"),
    ],
)
def test_a_command_that_is_mistyped_is_named(words: list[str], advice: str) -> None:
    result = run(Noting(), *words)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert advice in result.stderr


def missing(name: str) -> NotFound:
    return NotFound(f"{name} does not exist; create_topic creates it")


@pytest.mark.parametrize(
    ("absent", "advice"),
    [
        (
            "projects/p/topics/fligts",
            "projects/p/topics/fligts does not exist; did you mean flights?",
        ),
        (
            SUBSCRIPTION.name.replace("subscriptions", "topics"),
            "there is a subscription of that name",
        ),
        ("projects/p/topics/xyzzy", "`pubsub-delta topics list` shows those that exist"),
    ],
)
def test_a_resource_that_is_mistyped_is_named(absent: str, advice: str) -> None:
    result = run(ListMethod(get_topic=missing(f"topic {absent}")), "topics", "describe", "fligts")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.endswith(f"{advice}\n")
    assert "create_topic" not in result.stderr


def test_one_of_several_that_is_mistyped_is_named() -> None:
    # whoever creates several is told of each that fails
    store = ListMethod(create_subscription=missing("topic projects/p/topics/fligts"))
    result = run(store, "subscriptions", "create", "one", "two", "--topic=fligts")
    assert result.stderr.count("did you mean flights?") == 2


def test_what_is_the_first_of_its_kind_can_be_created() -> None:
    empty: dict[str, Any] = {
        "list_topics": Page([]),
        "list_subscriptions": Page([]),
        "list_snapshots": Page([]),
    }
    name = "projects/other/topics/ttt"
    store = Noting(get_topic=missing(f"topic {name}"), **empty)
    told = run(store, "topics", "describe", name).stderr
    assert told.endswith(f"does not exist; `pubsub-delta topics create {name}` creates it\n")
    store = Noting(
        get_snapshot=NotFound("snapshot projects/p/snapshots/nnn does not exist, or has expired"),
        **empty,
    )
    told = run(store, "snapshots", "describe", "nnn").stderr
    assert "`pubsub-delta snapshots create nnn --subscription=SUBSCRIPTION` creates it" in told


def test_a_store_that_lists_nothing_any_more_gives_the_error_alone() -> None:
    class Gone(Noting):
        def list_topics(self, **_: Any) -> Any:
            raise OSError("the disk is gone")

    result = run(
        Gone(get_topic=missing("topic projects/p/topics/ttt")), "topics", "describe", "ttt"
    )
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "projects/p/topics/ttt does not exist" in result.stderr


def test_names_of_another_project_are_whole() -> None:
    flights = topic("projects/other/topics/flights")
    absent = "projects/other/topics/fligts"
    store = ListMethod(list_topics=Page([flights]), get_topic=missing(f"topic {absent}"))
    told = run(store, "topics", "describe", absent).stderr
    assert told.endswith("did you mean projects/other/topics/flights?\n")
