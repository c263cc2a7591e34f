"""A subscription that is idle for longer than its ttl, and what others do while it is deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta import ExpirationPolicy
from pubsub_delta.tables.registry.expirations import Expirations
from tests.model.memory import LAYOUT
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import DAY
from tests.unit.in_memory import NAME, InMemory

FULL_NAME = f"projects/local/subscriptions/{NAME}"


def idle_after_a_day() -> InMemory:
    """Return a store whose subscription expires after a day, with one message leased at 0."""
    found = InMemory(expiration_policy=ExpirationPolicy(ttl="1d"), message_retention_duration="10m")
    found.publish("a")
    found.pull()
    return found


def expired(store: InMemory, *, dry_run: bool = False) -> list[str]:
    """Return what the job deletes."""
    told = store.store.maintain(
        dead_letters=False, retention=False, optimize=False, vacuum=False, dry_run=dry_run
    )
    assert told.problems == {}
    return list(told.expired)


def at_its_deletion(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let others act once, when a subscription is made invisible next, as it expires."""
    merge, left = MemoryLane.merge, [act]

    def crossed(lane: MemoryLane, table: str, *args: Any) -> int:
        if table == LAYOUT.subscriptions and left:
            left.pop()()
        return merge(lane, table, *args)

    monkeypatch.setattr(MemoryLane, "merge", crossed)


def while_it_is_invisible(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let others act once, when the ack state of a subscription that expires is read again."""
    begin, left = Expirations.begin, [act]

    def begun(*args: Any) -> bool:
        done = begin(*args)
        if done and left:
            left.pop()()
        return done

    monkeypatch.setattr(Expirations, "begin", begun)


def in_use_as_it_expires(monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Return a store whose subscription has expired, and is used while it is deleted."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    at_its_deletion(
        monkeypatch, lambda: store.change(lambda state: replace(state, active_time=store.now))
    )
    return store
