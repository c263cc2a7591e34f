"""A storage that is away from some call of the lane on, at each of them, with or without a commit.

Design, section 8: what was told is true, whatever becomes of a commit and of what follows it.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pubsub_delta import (
    DeadLetterPolicy,
    InvalidArgument,
    ManualClock,
    NotFound,
    PubSub,
    PubSubError,
    Unavailable,
    Unknown,
)
from tests.model.drivers import MemoryPubSub
from tests.model.memory import MemoryTables, World
from tests.model.memory_lane import MemoryLane
from tests.protocol.stepping import READS, WRITES
from tests.unit.builders import START

MOST_CALLS = 60


class OutageLane(MemoryLane):
    """A lane whose storage is away after some calls, until ``left`` is None again.

    ``lands``: whether the first call that fails is carried out, if it is a write. ``failed``: how
    many calls have failed. ``most_failed``: after so many it is back by itself.
    """

    left: int | None = None
    lands = False
    failed = 0
    most_failed = sys.maxsize

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in (*READS, *WRITES) or self.left is None:
            return found

        def call(table: str, *args: Any, **named: Any) -> Any:
            if self.left is None:  # it is back meanwhile
                return found(table, *args, **named)
            if self.left:
                self.left -= 1
                return self._whole(found, table, *args, **named)
            self.failed += 1
            if self.failed == self.most_failed:
                self.left = None
            if self.lands and self.failed == 1 and name in WRITES:
                self._whole(found, table, *args, **named)
            raise Unavailable(f"{table}: its storage cannot be reached")

        return call

    def _whole(self, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        left, self.left = self.left, None
        try:
            return call(*args, **named)
        finally:
            self.left = left


class Outage:
    """A store whose storage goes away after ``after`` calls of an operation, and comes back."""

    def __init__(self, after: int, *, lands: bool) -> None:
        world = World()
        self.lane = world.lane = OutageLane()
        self.after = after
        self.lane.lands = lands
        self.store: PubSub = MemoryPubSub(MemoryTables(world), ManualClock(START))
        self.error: PubSubError | None = None
        self.told: list[str] = []

    def during(self, operation: Callable[[PubSub], Any]) -> Any:
        """Return what an operation returns; keep its error, and what it warns of."""
        self.lane.left = self.after
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                return operation(self.store)
        except PubSubError as error:
            self.error = error
        finally:
            self.lane.left = None
            self.told = [str(each.message) for each in told]


def outages(prepare: Callable[[PubSub], object], *, lands: bool) -> Iterator[Outage]:
    """Return an outage at each call of an operation, until there is no such call."""
    for after in range(MOST_CALLS):
        outage = Outage(after, lands=lands)
        prepare(outage.store)
        yield outage
        if not outage.lane.failed:
            assert after > 2, "the operation makes calls"
            return
    raise AssertionError("an operation has so many calls")


def with_dead_letters(store: PubSub) -> None:
    """Have two messages that are to be forwarded, and one that is available."""
    store.create_topic("orders")
    store.create_topic("dead")
    store.create_subscription("dead", "dead")
    policy = DeadLetterPolicy("dead", 5)
    store.create_subscription("billing", "orders", dead_letter_policy=policy)
    store.publish("orders", ["bad", "worse"])
    for _ in range(5):
        store.pull("billing").nack()
    store.publish("orders", ["good"])


def with_topics(store: PubSub) -> None:
    store.create_topic("orders")
    store.create_topic("dead")
    store.create_subscription("audit", "orders")


def published(store: PubSub) -> int:
    return int(store.metrics("audit")["num_undelivered_messages"])


@pytest.mark.parametrize("lands", [False, True], ids=["refused", "answer lost"])
@pytest.mark.parametrize("id_", [None, ("till", 1)], ids=["no id", "idempotency id"])
def test_a_publish_is_unavailable_only_if_nothing_was_written(
    id_: tuple[str, int] | None, lands: bool
) -> None:
    """Unavailable: nothing was written. Unknown: a commit was sent, and nothing tells."""

    def publish(store: PubSub) -> object:
        return store.publish("orders", ["a"], idempotency_id=id_)

    told = set[str]()
    for outage in outages(with_topics, lands=lands):
        outage.during(publish)
        if outage.error is None:
            assert published(outage.store) == 1
            continue
        told.add(type(outage.error).__name__)
        assert isinstance(outage.error, Unknown) or published(outage.store) == 0
        if isinstance(outage.error, Unavailable) or id_ is not None:
            publish(outage.store)
            assert published(outage.store) == 1
    assert told == {"Unavailable", "Unknown"}


@pytest.mark.parametrize("lands", [False, True], ids=["refused", "answer lost"])
def test_what_a_pull_has_leased_is_delivered_though_its_dead_letters_wait(lands: bool) -> None:
    """Nothing is lost: the message stays on the source and the failure is reported."""
    leased = 0
    for outage in outages(with_dead_letters, lands=lands):
        batch = outage.during(lambda store: store.pull("billing"))
        if outage.error is None:
            assert [message.data for message in batch] == [b"good"]
            leased += 1
            assert bool(outage.told) is bool(outage.lane.failed)
        again = list(outage.store.pull("billing"))
        assert [message.data for message in again] in ([], [b"good"])
        letters = [message.data for message in outage.store.pull("dead")]
        assert sorted(letters) == [b"bad", b"worse"]
    assert leased > 10


@pytest.mark.parametrize("lands", [False, True], ids=["refused", "answer lost"])
def test_a_subscription_that_may_exist_is_not_told_as_not_created(lands: bool) -> None:
    """Unknown: nothing tells whether its dead-letter topic was deleted meanwhile."""

    def create(store: PubSub) -> object:
        policy = DeadLetterPolicy("dead", 5)
        return store.create_subscription("billing", "orders", dead_letter_policy=policy)

    told = set[str]()
    for outage in outages(with_topics, lands=lands):
        outage.during(create)
        there = len(list(outage.store.list_subscriptions())) == 2
        told.add(type(outage.error).__name__)
        if isinstance(outage.error, Unavailable) and not lands:
            assert not there
        if outage.error is None:
            assert there
    assert told == {"Unavailable", "Unknown", "NoneType"}


def test_a_publisher_publishes_again_when_its_storage_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Pub/Sub: its clients publish again what was not published, in its order."""
    outage = Outage(0, lands=False)
    with_topics(outage.store)
    with (
        outage.store.publisher("orders") as publisher,
        caplog.at_level(logging.WARNING, "pubsub_delta"),
    ):
        outage.lane.most_failed, outage.lane.left = 3, 0
        futures = [publisher.publish(data, "key") for data in (b"a", b"b")]
        assert [future.result(30) for future in futures]
    assert [message.data for message in outage.store.pull("audit")] == [b"a", b"b"]
    told = "projects/local/topics/orders: messages were not published, and are tried again: "
    assert [each.getMessage().startswith(told) for each in caplog.records] == [True] * 3


def test_a_publisher_gives_up_after_its_total_timeout() -> None:
    outage = Outage(0, lands=False)
    with_topics(outage.store)
    with outage.store.publisher("orders", total_timeout=0) as publisher:
        outage.lane.left = 0
        with pytest.raises(Unavailable):
            publisher.publish(b"a").result(30)
        outage.lane.left = None
    assert outage.lane.failed == 1
    assert published(outage.store) == 0


def test_a_publisher_does_not_publish_again_what_may_be_published() -> None:
    """Unknown: a commit may have landed; publishing again may publish twice."""
    told = set[str]()
    for outage in outages(with_topics, lands=True):
        outage.lane.most_failed = 2
        with outage.store.publisher("orders") as publisher:
            outage.lane.left = outage.after
            error = publisher.publish(b"a").exception(30)
            outage.lane.left = None
        told.add(type(error).__name__)
        assert published(outage.store) == 1
    assert told == {"NoneType", "Unknown"}


def test_the_total_timeout_of_a_publisher_is_a_duration() -> None:
    outage = Outage(0, lands=False)
    with_topics(outage.store)
    with pytest.raises(InvalidArgument, match="total_timeout: -1 day, 0:00:00 is negative"):
        outage.store.publisher("orders", total_timeout=-86_400)


def test_a_publisher_of_a_topic_that_does_not_exist_is_refused_before_it_begins() -> None:
    with pytest.raises(NotFound, match="projects/local/topics/absent does not exist"):
        Outage(0, lands=False).store.publisher("absent")
