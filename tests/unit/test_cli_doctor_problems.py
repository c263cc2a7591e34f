"""What ``doctor`` tells of a store that is damaged, or that this user may not write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta.cli.checks import storage, subscriptions
from pubsub_delta.errors import DataLoss
from pubsub_delta.tables.layout import layout_of
from tests.unit.builders import START
from tests.unit.in_memory import TOPIC, InMemory


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
