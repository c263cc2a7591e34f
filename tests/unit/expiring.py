"""A subscription that is idle for longer than its ttl, and what others do while it is deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pubsub_delta import ExpirationPolicy
from tests.model.memory import LAYOUT
from tests.model.memory_lane import MemoryLane
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
    """Let others act once, when the row of a subscription is deleted next."""
    delete, left = MemoryLane.delete, [act]

    def crossed(lane: MemoryLane, table: str, *args: Any) -> int:
        if table == LAYOUT.subscriptions and left:
            left.pop()()
        return delete(lane, table, *args)

    monkeypatch.setattr(MemoryLane, "delete", crossed)
