"""What seldom happens to dead letters on their way: nothing is lost, repeated or held up by it."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.delivery import dead_letters
from pubsub_delta.errors import DataLoss, DeadLetterWarning, Unavailable
from pubsub_delta.tables.ack_state import AckStates
from pubsub_delta.tables.messages.stored import StoredMessages
from tests.unit.in_memory import LETTERS
from tests.unit.test_many_dead_letters import exhausted
from tests.unit.test_races import once


def away(*_: Any, **__: Any) -> Any:
    raise Unavailable("the storage does not respond")


def test_a_storage_that_fails_once_a_lease_is_written_takes_nothing_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a commit has decided has landed: the lease holds, and the next consumer forwards."""
    world = exhausted("bad")
    world.publish("good")
    with monkeypatch.context() as patched:
        once(
            patched, AckStates, "change", lambda: patched.setattr(AckStates, "read", away), "after"
        )
        with pytest.warns(DeadLetterWarning, match="forwarded by its next consumer: the storage"):
            pulled = world.pull()
    assert [each.data for each in pulled] == ["good"]
    assert world.stored(LETTERS) == []
    world.pull()
    assert world.stored(LETTERS) == ["bad"]


def test_parts_behind_one_that_cannot_be_written_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "The next consumer completes forwardings …, in the order of their numbers." """
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 1_000)
    data = [f"{n:100}" for n in range(30)]
    world = exhausted(*data)
    append, left = dead_letters._append, [away]

    def fails_once(*args: Any) -> bool:
        return (left.pop() if left else append)(*args)

    monkeypatch.setattr(dead_letters, "_append", fails_once)
    with pytest.warns(DeadLetterWarning, match="nothing is lost"):
        world.pull()
    assert world.stored(LETTERS) == []
    world.pull()
    assert world.stored(LETTERS) == data


def test_messages_that_cannot_be_measured_hold_up_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "Messages that cannot be read hold up no others": many of them are measured first."""
    data = [str(n) for n in range(9)]
    world = exhausted(*data)
    world.publish("good")

    def damaged(*_: Any) -> int:
        raise DataLoss("a file is gone")

    monkeypatch.setattr(StoredMessages, "byte_count", damaged)
    assert [each.data for each in world.pull()] == ["good"]
    assert world.stored(LETTERS) == data
