"""The lease of a micro-batch while it is processed, on tables in memory and without Spark.

Waiting takes no time: the clock goes on by as long as is waited.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from pubsub_delta import DeadLetterPolicy, micro_batch_lease
from pubsub_delta.micro_batch_lease import MicroBatchLease
from pubsub_delta.operations import pull
from pubsub_delta.policy.ack_ids import AckId
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

T = TypeVar("T")
Answer = Callable[[InMemory, list[str]], object]

PATIENCE = 20
"""Seconds that a test waits for what comes soon, before it gives up."""
TURNS = 12


class Held:
    """A micro-batch of two messages, and how often its lease was waited upon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Answer = lambda *_: None) -> None:
        """``answer``: what the consumer does with the ack ids before the first extension."""
        self.world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
        self.world.publish("a", "b")
        self.turned = threading.Event()
        monkeypatch.setattr(micro_batch_lease, "Condition", self._waiting)
        given = pull.pull_micro_batch(
            *(self.world.tables, self.world.store._subscription(NAME), "query", 0, None),
            self.world.driver.clock.now,
            uid=self.world.store.get_subscription(NAME).uid,
        )
        assert given.lease is not None
        uid, number = given.lease.source.uid, given.lease.lease_id
        ids = [str(AckId(uid, number, each)) for each in given.lease.positions]
        answer(self.world, ids)
        name, clock = self.world.store._subscription(NAME), self.world.driver.clock
        self.lease = MicroBatchLease(self.world.tables, name, given.lease, "query", 0, clock)

    def _waiting(self) -> threading.Condition:
        clock, turned = self.world.driver.clock, self.turned

        class Waiting(threading.Condition):
            turns = 0

            def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
                if self.turns == TURNS:
                    turned.set()
                    return super().wait_for(predicate, PATIENCE if timeout else 0)
                self.turns += 1
                clock.advance(timeout or 0)
                return predicate()

        return Waiting()

    def attempts(self) -> list[int | None]:
        return [each.delivery_attempt for each in self.world.store.pull(NAME)]


def test_a_lease_is_extended_before_it_is_over_for_as_long_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While ``process`` runs its lease is extended."""
    held = Held(monkeypatch)
    began = held.world.now
    assert held.turned.wait(PATIENCE)
    assert (held.world.now - began).total_seconds() > 10, "longer than the ack deadline"
    assert held.world.pull() == []
    assert held.lease.finish()
    assert held.world.backlog() == {}


def _recreate(world: InMemory, _: list[str]) -> None:
    """Have a successor of a subscription, and DROP its table, as a catalog does."""
    uid = world.store.get_subscription(NAME).uid
    world.store.delete_subscription(NAME)
    del world.driver.world.lane.tables[world.tables.layout.ack_state(uid)]
    world.store.create_subscription(NAME, TOPIC)


@pytest.mark.parametrize(
    ("answer", "is_told"),
    [
        (lambda world, ids: world.store.acknowledge(NAME, ids), False),
        (lambda world, ids: world.store.modify_ack_deadline(NAME, ids, 0), True),
        (_recreate, True),
    ],
    ids=["acknowledged", "nacked", "of a deleted subscription"],
)
def test_a_lease_that_is_over_is_told_unless_its_messages_are_acknowledged(
    answer: Answer,
    is_told: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """``process`` may answer for single messages: for all of them, and go on for a while."""
    held = Held(monkeypatch, answer)
    assert held.turned.wait(PATIENCE)
    held.lease.leave()
    told = "the lease of micro-batch 0 is over; its messages can be delivered again"
    assert (told in caplog.text) is is_told
    assert "Traceback" not in caplog.text


def test_what_fails_is_a_failed_delivery_and_what_is_stopped_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An exception gives the messages back; a query that is stopped has not failed."""
    stopped = Held(monkeypatch)
    stopped.lease.fail(stopped=True)
    assert stopped.attempts() == [1, 1]
    failed = Held(monkeypatch)
    failed.lease.fail(stopped=False)
    assert failed.attempts() == [2, 2]


def test_what_is_left_to_the_next_micro_batch_stays_leased(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The commit of the next one acknowledges it; until then nobody else gets its messages."""
    held = Held(monkeypatch)
    held.lease.processed()
    held.lease.leave()
    assert held.world.backlog() == {"a": "leased", "b": "leased"}


def test_a_program_that_ends_leaves_the_micro_batch_to_the_next_run_of_its_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark runs it again; until then nobody else gets its messages."""
    stops: dict[MicroBatchLease, Callable[[MicroBatchLease], object]] = {}
    monkeypatch.setattr(micro_batch_lease, "stop_at_exit", stops.__setitem__)
    held = Held(monkeypatch)
    stops[held.lease](held.lease)
    assert not held.lease._thread.is_alive()
    assert held.world.backlog() == {"a": "leased", "b": "leased"}
