"""The reference and a store side by side: everything is done to both, and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pubsub_delta import PubSub, PubSubError
from pubsub_delta.errors import NotFound
from tests.model.draws import BEGINNING
from tests.model.drivers import Backlog, Driver, StoredMessage, seconds_of
from tests.model.reference import Reference, Snapshot
from tests.model.reference_subscription import Subscription
from tests.model.reference_values import HOUR, Letter, Message, Refused, Topic
from tests.unit.builders import at

T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """An ack id that was given out, and what it names."""

    ack_id: str
    subscription: Subscription
    delivery: int
    message: Message


class Comparison:
    """Knows which message of the reference is which of the store, and compares the two.

    ``seen`` counts what happened: a machine that brings nothing about proves nothing.
    """

    def __init__(self, driver: Driver, seen: Counter[str]) -> None:
        self.driver = driver
        self.seen = seen
        self.reference = Reference()
        self.uids: dict[Topic, str] = {}
        self.messages: dict[tuple[Topic, str], Message] = {}
        self.ids: dict[Message, str] = {}
        self.given: list[Given] = []

    # Doing

    def both(self, of_reference: Callable[[], T], of_store: Callable[[], object]) -> T | None:
        """Do the same to both. What one refuses the other must refuse, with the same code."""
        expected, code = None, "OK"
        try:
            expected = of_reference()
        except Refused as refused:
            code = refused.code
        told = "OK"
        try:
            of_store()
        except PubSubError as error:
            if code == "OK":
                raise
            told = error.code
        assert told == code
        self.seen[code] += 1
        return expected

    def created(self, store: PubSub, name: str) -> None:
        """Note down which topic of the store one of the reference is."""
        topic = self.reference.topics[name]
        self.uids.setdefault(topic, store.get_topic(name).uid)

    def published(self, topic: Topic) -> None:
        """Note down the ids of messages that the reference has already."""
        new = [message for message in topic.messages if message not in self.ids]
        stored = self.unknown(topic)
        assert len(stored) == len(new)
        for message, found in zip(new, stored, strict=True):
            assert found.draft.data == message.data
            assert found.draft.attributes == message.attributes
            assert found.draft.key == message.key
            self._know(topic, message, found)

    def forwarded(self, letters: list[Letter]) -> None:
        """Find dead letters in their topics, in whatever order they came."""
        self.seen["dead letters"] += len(letters)
        for name in sorted({letter.target for letter in letters}):
            topic = self.reference.topics[name]
            stored = self.unknown(topic)
            drafts = [letter.draft for letter in letters if letter.target == name]
            assert len(stored) == len(drafts)
            for found in stored:
                drafts.remove(found.draft)
            new = topic.append([found.draft for found in stored], self.reference.now)
            for message, found in zip(new, stored, strict=True):
                self._know(topic, message, found)
                for subscription in self.reference.attached(topic):
                    subscription.arrive(message, self.reference.now)

    def unknown(self, topic: Topic) -> list[StoredMessage]:
        stored = self.driver.stored(self.uids[topic])
        return [each for each in stored if (topic, each.message_id) not in self.messages]

    def _know(self, topic: Topic, message: Message, found: StoredMessage) -> None:
        assert found.publish_time == message.publish_time
        self.messages[topic, found.message_id] = message
        self.ids[message] = found.message_id

    def deleted(self, exact: bool, before: dict[Topic, set[str]]) -> None:
        """Compare what a run of the retention job left with what must be left."""
        for topic, uid in self.uids.items():
            needed = {self.ids[message] for message in self.reference.needed(topic)}
            stored = {each.message_id for each in self.driver.stored(uid)}
            assert needed <= before[topic], "what may still be delivered is deleted already"
            assert needed <= stored, "what may still be delivered was deleted"
            if exact and self.reference.is_idle(topic):
                now = self.reference.now
                left = {self.messages[topic, each].publish_time for each in stored}
                assert all(time >= now for time in left), "what nobody may get was kept"
            self.seen["discarded by the job"] += len(before[topic] - stored)
            for message_id in before[topic] - stored:
                self.messages[topic, message_id].stored = False

    def stored_ids(self) -> dict[Topic, set[str]]:
        return {t: {e.message_id for e in self.driver.stored(uid)} for t, uid in self.uids.items()}

    # Looking

    def compare(self, store: PubSub, touched: Iterable[str], *, fully: bool) -> None:
        """Compare all that can be seen, or what can be seen of some resources.

        ``fully``: also the metrics of subscriptions, which takes several queries each.
        """
        reference, names = self.reference, set(touched)
        for name, subscription in reference.subscriptions.items():
            if self.driver.thorough or name in names:
                self._compare_backlog(store, subscription)
                if fully or subscription.detached:
                    self._compare_metrics(store, subscription)
        for snapshot in reference.live_snapshots():
            if self.driver.thorough or snapshot.name in names:
                self._compare_snapshot(store, snapshot)
        for name, topic in reference.topics.items():
            if self.driver.thorough or name in names:
                self._compare_topic(store, name, topic)

    def _compare_backlog(self, store: PubSub, subscription: Subscription) -> None:
        if not subscription.detached:
            expected = self._by_id(subscription.backlog(self.reference.now))
            assert self.driver.backlog(store, subscription.name) == expected, subscription.name

    def _compare_metrics(self, store: PubSub, subscription: Subscription) -> None:
        name, backlog = subscription.name, subscription.backlog(self.reference.now)
        told = store.metrics(f"projects/local/subscriptions/{name}", exact=True)
        held = [message for message, (state, _) in backlog.items() if state == "leased"]
        retained = subscription.retained()
        expected = {
            "num_undelivered_messages": len(backlog),
            "num_outstanding_messages": len(held),
            "oldest_unacked_message_age": self._age(backlog),
            "ack_message_count": subscription.counts,
            "dead_letter_message_count": subscription.dead_letters,
            "num_retained_acked_messages": len(retained),
            "oldest_retained_acked_message_age": self._age(retained),
        }
        assert {metric: told[metric] for metric in expected} == expected, name
        full_name = f"projects/local/topics/{subscription.topic.name}"
        expected_topic = "_deleted-topic_" if subscription.topic.deleted else full_name
        assert store.get_subscription(name).topic == expected_topic

    def _compare_snapshot(self, store: PubSub, snapshot: Snapshot) -> None:
        told = store.metrics(f"projects/local/snapshots/{snapshot.name}", exact=True)
        held = snapshot.held
        after = [m for m in held.topic.messages if m.commit > held.commit and held.holds(m)]
        assert told["num_messages"] == len(held.unacked) + len(after)
        assert told["oldest_message_age"] == self._age([*held.unacked, *after])
        assert seconds_of(told["expire_time"]) == snapshot.expire_time

    def _compare_topic(self, store: PubSub, name: str, topic: Topic) -> None:
        told = store.metrics(f"projects/local/topics/{name}")
        assert told["message_count"] == sum(message.stored for message in topic.messages)
        covered = [m for m in topic.messages if topic.covers(m, self.reference.now)]
        assert told["num_retained_messages"] == len(covered)
        assert told["oldest_retained_message_age"] == self._age(covered)

    def _age(self, messages: Iterable[Message]) -> float:
        times = [message.publish_time for message in messages]
        return max(0.0, self.reference.now - min(times)) if times else 0.0

    def _by_id(self, backlog: dict[Message, tuple[str, int | None]]) -> Backlog:
        return {self.ids[message]: told for message, told in backlog.items()}

    def compare_names(self, store: PubSub, names: Iterable[str]) -> None:
        """Compare which subscriptions and snapshots exist."""
        for name in names:
            known = name in self.reference.subscriptions
            assert _exists(store.get_subscription, name) == known, name
            known = self.reference.snapshot(name) is not None
            assert _exists(store.get_snapshot, name) == known, name

    def compare_seeks(self, subscription: Subscription) -> None:
        """Compare what seeks to the beginning and to each snapshot would bring back."""
        if subscription.detached:
            return
        name, now = subscription.name, self.reference.now
        other = subscription.copy()
        other.seek_to_time(BEGINNING, now)
        self._compare_undone(other, lambda store: store.seek(name, time=at(BEGINNING)))
        for snapshot in self.reference.live_snapshots():
            same = snapshot.held.topic is subscription.topic
            if same and snapshot.expire_time - now >= HOUR:
                other = subscription.copy()
                other.seek_to_snapshot(snapshot.held, now)
                self._compare_undone(other, partial(_seek_to, snapshot.name, name))

    def _compare_undone(self, other: Subscription, act: Callable[[PubSub], None]) -> None:
        found = self.driver.undone(act, other.name)
        if found is not None:
            assert found == self._by_id(other.backlog(self.reference.now)), other.name


def _seek_to(snapshot: str, subscription: str, store: PubSub) -> None:
    store.seek(subscription, snapshot=snapshot)


def _exists(get: Callable[[str], object], name: str) -> bool:
    try:
        get(name)
    except NotFound:
        return False
    return True
