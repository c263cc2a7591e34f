"""What commands seldom meet: characters, sort keys, times and resources that are damaged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from pubsub_delta.cli.checks import storage, subscriptions
from pubsub_delta.cli.documents import yaml_text
from pubsub_delta.cli.formats import parse_format
from pubsub_delta.errors import DataLoss, InvalidArgument
from pubsub_delta.tables.layout import layout_of
from tests.unit.builders import START
from tests.unit.in_memory import TOPIC, InMemory
from tests.unit.test_cli_arguments import run
from tests.unit.test_cli_listings import Paged, names
from tests.unit.test_cli_transforms import made


@pytest.mark.parametrize(
    "text", ["a\xadb", "a\xa0b", "\x9bz", "\x7f", "\u200ex", "\u2028q", "\U000e0001y", "\x1b[0m"]
)
def test_yaml_has_no_character_that_is_not_seen_and_reads_as_it_was(text: str) -> None:
    """ "Control characters are written out there in every format", and a reader gets them back."""
    written = yaml_text({"a": text})
    assert written.replace("\n", "").isprintable()
    assert yaml.safe_load(written) == {"a": text}


def test_a_list_is_sorted_by_what_it_does_not_show() -> None:
    """gcloud: "--sort-by: comma-separated list of resource field key names to sort by"."""
    assert names("--sort-by=~messageRetentionDuration,~labels.env")[0] == ["b2", "a1", "c3"]
    assert names("--sort-by=labels.env,~name")[0] == ["c3", "a1", "b2"]
    for key, found in (("labels.env", ["a1", "c3", "b2"]), ("~labels.env", ["b2", "a1", "c3"])):
        format_ = "--format=table[no-heading](name.basename())"
        shown = run(Paged(), "topics", "list", f"--sort-by={key}", format_)
        assert shown.stdout.split() == found


def test_map_reaches_into_lists_of_lists() -> None:
    """ "gcloud topic projections": "map(depth=1): applies the next transform function to each"."""
    assert made([["a", "bc"], ["def"]], "map(2).len()") == [1, 2, 3]
    assert made(["a", "bc"], "map(1).len()") == [1, 2]


def test_a_time_zone_that_is_none_is_told() -> None:
    (column,) = parse_format("value(a.date(tz=Mars))").columns
    with pytest.raises(InvalidArgument, match="'Mars' is not a time zone"):
        column.of({"a": "2026-01-01T00:00:00Z"})


def test_a_damaged_subscription_is_named_and_the_others_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    world.store.create_subscription("second", TOPIC)
    measure = type(world.store).metrics

    def metrics(store: Any, name: str) -> Any:
        if name.endswith("first"):
            raise DataLoss("its ack state is damaged")
        return measure(store, name)

    monkeypatch.setattr(type(world.store), "metrics", metrics)
    told = {each.check: each for each in subscriptions(world.store, START)}
    assert told["subscription first"].state == "problem"
    assert "its ack state is damaged" in told["subscription first"].found
    assert (told["subscriptions"].state, told["subscriptions"].found) == (
        "problem",
        "1 of 2 can be read",
    )


def test_a_root_of_another_user_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = storage(layout_of(str(tmp_path)))
    assert found.state == "problem"
    assert "cannot be read and written by this user" in found.found
    assert f"ls -ld {tmp_path}" in found.advice
