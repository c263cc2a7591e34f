"""A swap whose answer was lost: it is never made twice, and never taken for another's."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from pubsub_delta.errors import Unknown
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.ack_state.states import RECENT_COMMITS, AckStates, StoredAckState
from pubsub_delta.tables.lanes.protocol import Conflict, Where
from tests.model.memory_lane import MemoryLane
from tests.unit.in_memory import NAME, TOPIC, InMemory
from tests.unit.test_races import another


@dataclass
class LosesAnAnswer:
    """One ack state. The first swap lands or not, others follow it, and then its answer is lost."""

    lands: bool
    followed_by: int
    error: Exception = field(default_factory=lambda: ConnectionError("the answer was lost"))
    stored: StoredAckState = field(
        default_factory=lambda: StoredAckState(AckState(0), 1, ("first",))
    )
    is_lost: bool = False

    def create(self, uid: str, first: StoredAckState) -> None:
        self.stored = first

    def read(self, uid: str) -> StoredAckState:
        return self.stored

    def replace(self, uid: str, following: StoredAckState, expected: StoredAckState) -> bool:
        if self.is_lost:
            landed = self.stored.is_same(expected)
            self.stored = following if landed else self.stored
            return landed
        self.is_lost = True
        if self.lands:
            self.stored = following
        for number in range(self.followed_by):
            self._follow(f"other {number}")
        raise self.error

    def _follow(self, commit_id: str) -> None:
        before = self.stored
        recent = (commit_id, *before.recent_commits)[:RECENT_COMMITS]
        self.stored = StoredAckState(before.state, before.revision + 1, recent)

    def locked(self, uid: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return nullcontext()


def counted_once_more(port: LosesAnAnswer) -> int:
    """Count one lease more, and return how many there are then."""
    ids = map("mine {}".format, count())
    states = AckStates(port, ids.__next__, lambda _: None, lambda: 0)

    def decide(state: AckState) -> tuple[AckState, None]:
        return replace(state, next_lease_id=state.next_lease_id + 1), None

    states.change("uid", decide)
    return port.stored.state.next_lease_id - 1


@pytest.mark.parametrize("followed_by", [0, 1, 5, RECENT_COMMITS - 1])
def test_what_landed_is_recognised_behind_as_many_others_as_are_remembered(
    followed_by: int,
) -> None:
    assert counted_once_more(LosesAnAnswer(lands=True, followed_by=followed_by)) == 1


@pytest.mark.parametrize("more", [0, 1, 2, 30])
def test_behind_more_others_it_is_unknown_and_not_decided_again(more: int) -> None:
    port = LosesAnAnswer(lands=True, followed_by=RECENT_COMMITS + more)
    with pytest.raises(Unknown, match="it may have landed"):
        counted_once_more(port)
    assert port.stored.state.next_lease_id == 2


@pytest.mark.parametrize("followed_by", [1, 5])
def test_what_did_not_land_is_decided_again_once_another_has_landed(followed_by: int) -> None:
    assert counted_once_more(LosesAnAnswer(lands=False, followed_by=followed_by)) == 1


def test_what_did_not_land_and_nobody_followed_is_an_error() -> None:
    """Whether it lands yet, nobody can tell."""
    port = LosesAnAnswer(lands=False, followed_by=0)
    with pytest.raises(ConnectionError, match="the answer was lost"):
        counted_once_more(port)
    assert port.stored.state.next_lease_id == 1


def test_a_publish_that_another_process_has_landed_has_the_ids_of_that_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "A second publish of the same idempotency id … returns the result of the first." """
    world = InMemory()
    other, told = another(world), []
    real = MemoryLane.append

    def lost(*args: Any) -> Any:
        monkeypatch.setattr(MemoryLane, "append", real)
        told.extend(other.publish(TOPIC, ["a"], idempotency_id=("job", 1)).message_ids)
        raise Conflict("another writer was faster")

    monkeypatch.setattr(MemoryLane, "append", lost)
    ids = list(world.store.publish(TOPIC, ["a"], idempotency_id=("job", 1)).message_ids)
    assert ids == told
    assert [each.message_id for each in world.store.peek(NAME)] == ids


@pytest.mark.parametrize("followed_by", [0, 5])
def test_a_put_that_met_itself_has_landed(followed_by: int) -> None:
    """An object store's client sends again what was not answered, and meets its own commit."""
    conflict = Conflict("it exists")
    assert counted_once_more(LosesAnAnswer(True, followed_by, conflict)) == 1
    assert counted_once_more(LosesAnAnswer(False, followed_by, conflict)) == 1


@pytest.mark.parametrize("lands", [True, False])
def test_a_deletion_whose_answer_was_lost_is_done_if_the_row_is_gone_and_else_an_error(
    monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    store = InMemory()
    delete = store.driver.world.lane.delete

    def loses_the_answer(table: str, where: Where, user_metadata: str) -> int:
        if lands:
            delete(table, where, user_metadata)
        raise ConnectionError("the answer was lost")

    monkeypatch.setattr(store.driver.world.lane, "delete", loses_the_answer)
    with nullcontext() if lands else pytest.raises(ConnectionError):
        store.store.delete_subscription(NAME)
    assert len(list(store.store.list_subscriptions())) == (0 if lands else 1)
