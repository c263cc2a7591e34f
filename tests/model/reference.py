"""A deliberately naive store in memory: what sections 2–8 and 11 of the specification say.

It shares no code with the library and imports nothing of it. Every verb is done to every row at
once; time is a number of seconds that somebody else moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.model.reference_subscription import OPEN, Held, Named, Subscription
from tests.model.reference_values import (
    DAY,
    HOUR,
    MINUTE,
    Draft,
    Fields,
    Letter,
    Message,
    Refused,
    Topic,
    refuse_unless,
)


@dataclass(eq=False)
class Snapshot:
    """A snapshot and what it holds. At ``expire_time`` it is no more."""

    name: str
    held: Held
    create_time: int
    expire_time: int


@dataclass(frozen=True)
class Others:
    """How many ids of a call are of another subscription, and how many are no ids at all."""

    foreign: int = 0
    malformed: int = 0


NO_OTHERS = Others()


class Reference:
    """Topics, subscriptions and snapshots by name, and what becomes of them."""

    def __init__(self) -> None:
        self.now = 0
        self.topics: dict[str, Topic] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.snapshots: dict[str, Snapshot] = {}
        self.replaced: list[str] = []  # expired snapshots whose name was used again

    def advance(self, seconds: int) -> None:
        self.now += seconds
        self.pass_time()

    def pass_time(self) -> None:
        for subscription in self.subscriptions.values():
            subscription.pass_time(self.now)

    # Topics and publishing

    def topic(self, name: str) -> Topic:
        refuse_unless(name in self.topics, "NOT_FOUND")
        return self.topics[name]

    def create_topic(self, name: str, retention: int | None = None) -> None:
        check_topic_retention(retention)
        refuse_unless(name not in self.topics, "ALREADY_EXISTS")
        self.topics[name] = Topic(name, retention, self.now)

    def update_topic(self, name: str, retention: int | None) -> None:
        check_topic_retention(retention)
        self.topic(name).retain(retention, self.now)
        self.pass_time()

    def delete_topic(self, name: str) -> None:
        topic = self.topic(name)
        users = (s for s in self.subscriptions.values() if s.fields.dead_letter)
        # "Deleting a topic that is another subscription's dead-letter topic → FAILED_PRECONDITION"
        targets = {s.fields.dead_letter[0] for s in users if s.fields.dead_letter}
        refuse_unless(name not in targets, "FAILED_PRECONDITION")
        topic.deleted = True
        del self.topics[name]
        self.pass_time()

    def publish(self, name: str, drafts: Sequence[Draft], late: int = 0) -> list[Message]:
        topic = self.topic(name)
        # "Data or at least one attribute is required." "One bad message fails its whole request"
        refuse_unless(bool(drafts) and all(each.data or each.attributes for each in drafts))
        # "every subscription that existed at publish time gets its own copy"
        new = topic.append(list(drafts), self.now - late)
        for subscription in self.attached(topic):
            for message in new:
                subscription.arrive(message, self.now)
        return new

    def attached(self, topic: Topic) -> list[Subscription]:
        return [s for s in self.subscriptions.values() if s.topic is topic and not s.detached]

    # Subscriptions

    def subscription(self, name: str) -> Subscription:
        refuse_unless(name in self.subscriptions, "NOT_FOUND")
        return self.subscriptions[name]

    def in_use(self, name: str) -> Subscription:
        """Return a subscription that has messages ("pull afterwards → FAILED_PRECONDITION")."""
        subscription = self.subscription(name)
        refuse_unless(not subscription.detached, "FAILED_PRECONDITION")
        return subscription

    def create_subscription(self, name: str, topic: str, fields: Fields) -> None:
        fields.check(topic)
        found = self.topic(topic)
        self._check_dead_letter_topic(fields)
        refuse_unless(name not in self.subscriptions, "ALREADY_EXISTS")
        self.subscriptions[name] = Subscription(name, found, fields, self.now, self.now)

    def _check_dead_letter_topic(self, fields: Fields) -> None:
        if fields.dead_letter is not None:  # "absent topic at creation → NOT_FOUND"
            refuse_unless(fields.dead_letter[0] in self.topics, "NOT_FOUND")

    def update_subscription(self, name: str, **changes: Any) -> None:
        subscription = self.subscription(name)
        fields = replace(subscription.fields, **changes)
        fields.check(subscription.topic.name)
        if "dead_letter" in changes:
            self._check_dead_letter_topic(fields)
        subscription.fields = fields
        if fields.dead_letter is None:  # "Clearing the policy forgets the counts"
            for row in subscription.rows.values():
                row.attempt = 1
        self._used(subscription)
        subscription.pass_time(self.now)

    def detach_subscription(self, name: str) -> None:
        # "the backlog is dropped"
        subscription = self.subscription(name)
        subscription.detached = True
        subscription.rows.clear()
        self._used(subscription)

    def delete_subscription(self, name: str) -> None:
        self.subscription(name)
        del self.subscriptions[name]

    def _used(self, subscription: Subscription, surely: bool = True) -> None:
        # "any pull, ack, seek or update counts as activity"
        subscription.active = self.now
        if surely:
            subscription.surely_active = self.now

    # Delivery

    def pull(self, name: str, count: int | None) -> tuple[list[Message], list[Letter]]:
        """Return what is leased, and what goes to a dead-letter topic on the way."""
        refuse_unless(count is None or count > 0)
        subscription = self.in_use(name)
        letters = subscription.forward(self.now)
        taken = subscription.pull(count, self.now)
        self._used(subscription, surely=bool(taken))
        return taken, letters

    def acknowledge(
        self, name: str, named: set[Named], others: Others = NO_OTHERS
    ) -> dict[Named, str]:
        """Return the outcome of each id."""
        subscription = self._spoken_to(name, named, others)
        outcomes = {
            each: subscription.acknowledge(each)
            for each in sorted(named, key=lambda n: (n[0], n[1].number))
        }
        for outcome in outcomes.values():
            if outcome != OPEN:
                subscription.counts[outcome] += 1
        subscription.counts["invalid"] += others.foreign + others.malformed
        self._used(subscription)
        subscription.pass_time(self.now)
        return outcomes

    def modify(
        self, name: str, named: set[Named], seconds: int, others: Others = NO_OTHERS
    ) -> dict[Named, str]:
        refuse_unless(0 <= seconds <= 600)
        subscription = self._spoken_to(name, named, others)
        outcomes = subscription.modify(named, seconds, self.now)
        self._used(subscription, surely=False)
        subscription.pass_time(self.now)
        return outcomes

    def _spoken_to(self, name: str, named: set[Named], others: Others) -> Subscription:
        subscription = self.in_use(name)
        # "Empty list, or no well-formed id at all → INVALID_ARGUMENT"
        refuse_unless(bool(named or others.foreign))
        return subscription

    def forward(self) -> list[Letter]:
        """Return what the maintenance job takes to dead-letter topics."""
        used = [s for s in self.subscriptions.values() if not s.detached]
        return [letter for each in used for letter in each.forward(self.now)]

    # Seeks and snapshots

    def seek_to_time(self, name: str, time: int) -> None:
        subscription = self.in_use(name)
        subscription.seek_to_time(time, self.now)
        self._used(subscription)

    def snapshot(self, name: str) -> Snapshot | None:
        # "An expired snapshot (now ≥ `expire_time`) is NOT_FOUND at once, and its name is free"
        found = self.snapshots.get(name)
        return found if found is not None and self.now < found.expire_time else None

    def live_snapshots(self) -> list[Snapshot]:
        return [each for each in self.snapshots.values() if self.now < each.expire_time]

    def create_snapshot(self, name: str, subscription: str) -> None:
        source = self.in_use(subscription)
        refuse_unless(not source.topic.deleted, "FAILED_PRECONDITION")
        refuse_unless(self.snapshot(name) is None, "ALREADY_EXISTS")
        held = source.snapshot()
        # "creation + 7 d − age of the oldest unacked message (7 d if none)"
        oldest = min((message.publish_time for message in held.unacked), default=self.now)
        expire_time = self.now + 7 * DAY - (self.now - oldest)
        # "Less than 1 h left → FAILED_PRECONDITION, for creating it and for seeking to it."
        refuse_unless(expire_time - self.now >= HOUR, "FAILED_PRECONDITION")
        self.replaced += [name] if name in self.snapshots else []
        self.snapshots[name] = Snapshot(name, held, self.now, expire_time)

    def update_snapshot(self, name: str, expire_time: int) -> None:
        found = self.found_snapshot(name)
        # "must lie in the future and at most 7 d after creation"
        refuse_unless(self.now < expire_time <= found.create_time + 7 * DAY)
        found.expire_time = expire_time

    def delete_snapshot(self, name: str) -> None:
        self.found_snapshot(name)
        del self.snapshots[name]

    def found_snapshot(self, name: str) -> Snapshot:
        found = self.snapshot(name)
        if found is None:
            raise Refused("NOT_FOUND")
        return found

    def seek_to_snapshot(self, subscription: str, name: str) -> None:
        seeker = self.in_use(subscription)
        found = self.found_snapshot(name)
        # "of another topic → INVALID_ARGUMENT"
        refuse_unless(found.held.topic is seeker.topic)
        refuse_unless(found.expire_time - self.now >= HOUR, "FAILED_PRECONDITION")
        seeker.seek_to_snapshot(found.held, self.now)
        self._used(seeker)

    # The job

    def must_expire(self) -> list[str]:
        """Return the subscriptions and snapshots that the job tells as deleted.

        The remains of an expired snapshot go untold, if a living one has its name by now.
        """
        idle = [
            each.name
            for each in self.subscriptions.values()
            if each.fields.ttl is not None and self.now - each.active > each.fields.ttl
        ]
        return idle + [n for n in (*self.snapshots, *self.replaced) if self.snapshot(n) is None]

    def may_expire(self) -> set[str]:
        """Return what it may delete besides.

        A pull that finds nothing is noted only if the last activity was noted a while ago: a
        thousandth of the ttl too early a subscription may expire.
        """
        return {
            each.name
            for each in self.subscriptions.values()
            if each.fields.ttl is not None
            and self.now - each.surely_active > each.fields.ttl
            and self.now - each.active > each.fields.ttl * 0.999
        }

    def expire(self, names: Iterable[str]) -> None:
        for name in names:
            self.subscriptions.pop(name, None)
        self.snapshots = {each.name: each for each in self.live_snapshots()}
        self.replaced.clear()

    def needed(self, topic: Topic) -> set[Message]:
        """Return what the job must keep.

        "Nothing that a live subscription, a retained acked range or a live snapshot may still
        deliver is ever deleted from the topic."
        """
        wanted = {message for message in topic.messages if topic.covers(message, self.now)}
        for subscription in self.attached(topic):
            wanted |= {message for message, row in subscription.rows.items() if not row.acked}
            wanted |= subscription.retained() | subscription.may_return()
        for snapshot in self.live_snapshots():
            if snapshot.held.topic is topic:
                wanted |= {each for each in topic.messages if snapshot.held.holds(each)}
        return wanted

    def is_idle(self, topic: Topic) -> bool:
        """Tell whether nobody holds anything of a topic, nor ever asked to retain it.

        A snapshot that has expired holds its messages until the job has deleted it: by another
        clock it lives.
        """
        attached = self.attached(topic)
        return (
            topic.covered_from(self.now) is None
            and not any(each.held.topic is topic for each in self.snapshots.values())
            and not any(each.fields.retain_acked or each.retained() for each in attached)
            and all(row.acked for each in attached for row in each.rows.values())
        )


def check_topic_retention(retention: int | None) -> None:
    refuse_unless(retention is None or 10 * MINUTE <= retention <= 31 * DAY)
