"""What must hold of a store, told by what its users were told: nothing of the project is imported.

A model of sets: per subscription which messages are not acknowledged. It follows a journal, and
knows of the one call that a kill has left in doubt.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

SECOND = 1_000_000
RETENTION = 7 * 24 * 3600 * SECOND
"""How long a subscription of these trials keeps a message."""


@dataclass
class Consumer:
    """A subscription: its messages are texts, which no two messages of a topic share."""

    topic: str
    retains: bool = False
    dead_letter_topic: str | None = None
    unacked: set[str] = field(default_factory=set)
    acked: set[str] = field(default_factory=set)
    retained: set[str] = field(default_factory=set)
    forwarded: set[str] = field(default_factory=set)
    """What somebody was given from its dead-letter topic."""
    leases: dict[str, int] = field(default_factory=dict)
    deliveries: Counter[str] = field(default_factory=Counter)

    def live(self, now: int) -> set[str]:
        """Return what it holds under a lease of which it was told."""
        return {message for message, until in self.leases.items() if until > now}


@dataclass
class Model:
    """A store as its users know it."""

    now: int = 0
    topics: dict[str, set[str]] = field(default_factory=dict)
    deleted_topics: set[str] = field(default_factory=set)
    consumers: dict[str, Consumer] = field(default_factory=dict)
    deleted_consumers: set[str] = field(default_factory=set)
    snapshots: dict[str, tuple[str, set[str]]] = field(default_factory=dict)
    stamps: dict[str, int] = field(default_factory=dict)
    discards: bool = False
    doubtful_pulls: int = 0
    problems: list[str] = field(default_factory=list)
    open: dict[str, Any] | None = None

    def follow(self, journal: Iterable[Mapping[str, Any]]) -> Model:
        """Go through a journal; what its last call has left open is in ``open``."""
        for entry in journal:
            if "op" in entry:
                assert self.open is None, "the journal goes on after a call in doubt"
                self.open, self.now = dict(entry), entry["at"]
                if entry["op"] == "maintain":
                    self.discards |= bool(entry["duties"].get("retention"))
                continue
            assert self.open is not None
            if "done" in entry:
                self._apply(self.open, entry["done"])
            elif entry["settled"] == "after":
                self._apply(self.open, _assumed(self.open))
            if "settled" in entry:
                self._allow_for_doubt()
            self.open = None
        return self

    def alternatives(self) -> dict[str, Model]:
        """Return the two states of which one must be found: without the open call, and with it."""
        before = copy.deepcopy(self)
        if before.open is None:
            return {"before": before}
        after = copy.deepcopy(before)
        assert after.open is not None
        after._apply(after.open, _assumed(after.open))
        for each in (before, after):
            each._allow_for_doubt()
        return {"before": before, "after": after}

    def _allow_for_doubt(self) -> None:
        """Allow for what the open call may have done although all else stands as before it."""
        assert self.open is not None
        self.doubtful_pulls += self.open["op"] in ("pull", "nack")
        if self.open["op"] in ("seek_time", "seek_snapshot"):
            self.consumers[self.open["subscription"]].leases.clear()

    def wanted(self, name: str) -> set[str]:
        """Return what a subscription may still get: unacknowledged, and not too old."""
        consumer = self.consumers[name]
        return {message for message in consumer.unacked if not self.is_old(message)}

    def is_old(self, message: str) -> bool:
        """Tell whether retention may have taken a message away."""
        return self.now - self.stamps.get(message, self.now) > RETENTION

    def needed(self, topic: str, forwarded: Mapping[str, Iterable[str]]) -> set[str]:
        """Return the messages of a topic that somebody may still get.

        ``forwarded``: by subscription, what stands in its dead-letter topic.
        """
        found = set[str]()
        for name, consumer in self.consumers.items():
            if consumer.topic == topic:
                kept = {message for message in consumer.retained if not self.is_old(message)}
                found |= (self.wanted(name) - set(forwarded[name])) | kept
        for of_topic, held in self.snapshots.values():
            found |= held if of_topic == topic else set()
        return found

    def _apply(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        getattr(self, f"_{call['op']}", self._nothing)(call, done)

    def _nothing(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        pass

    def _create_topic(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        self.topics[call["topic"]] = set()

    def _delete_topic(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        self.deleted_topics.add(call["topic"])

    def _create_subscription(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        fields = call["fields"]
        self.consumers[call["subscription"]] = Consumer(
            call["topic"],
            retains=fields.get("retain_acked_messages", False),
            dead_letter_topic=fields.get("dead_letter_topic"),
        )

    def _delete_subscription(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        self.consumers.pop(call["subscription"])
        self.deleted_consumers.add(call["subscription"])

    def _publish(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        messages = set(call["data"])
        self.topics[call["topic"]] |= messages
        self.stamps |= dict.fromkeys(messages, call["at"])
        for consumer in self.consumers.values():
            if consumer.topic == call["topic"]:
                consumer.unacked |= messages
        for topic, held in self.snapshots.values():
            if topic == call["topic"]:
                held |= messages

    def _pull(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        name = call["subscription"]
        consumer = self.consumers[name]
        senders = [c for c in self.consumers.values() if c.dead_letter_topic == consumer.topic]
        twice = [m for m, count in Counter(done["messages"]).items() if count > 1]
        for message in done["messages"]:
            if senders and message not in consumer.acked:
                consumer.unacked.add(message)
            for sender in senders:
                if message in sender.unacked:
                    sender.unacked.discard(message)
                    sender.forwarded.add(message)
            if message not in consumer.unacked:
                self.problems.append(f"{name} was given {message}, which it acknowledged before")
            if consumer.leases.get(message, 0) > call["at"]:
                self.problems.append(f"{name} was given {message}, which is under another lease")
            consumer.leases[message] = done["until"]
            consumer.deliveries[message] += 1
        if twice:
            self.problems.append(f"{name} was given {twice} twice in one batch")

    def _ack(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        consumer = self.consumers[call["subscription"]]
        if set(done["success"]) != set(call["data"]):
            self.problems.append(
                f"{call['subscription']}: {call['data']} were not all acknowledged"
            )
        for message in done["success"]:
            consumer.leases.pop(message, None)
            consumer.unacked.discard(message)
            consumer.acked.add(message)
            if consumer.retains:
                consumer.retained.add(message)

    def _nack(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        for message in call["data"]:
            self.consumers[call["subscription"]].leases.pop(message, None)

    def _seek_time(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        consumer = self.consumers[call["subscription"]]
        known = consumer.unacked | consumer.retained
        self._sought(consumer, known, {m for m in known if self.stamps[m] >= call["micros"]})

    def _seek_snapshot(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        consumer = self.consumers[call["subscription"]]
        known = consumer.unacked | consumer.retained
        self._sought(consumer, known, set(self.snapshots[call["snapshot"]][1]))

    def _sought(self, consumer: Consumer, known: set[str], unacked: set[str]) -> None:
        consumer.unacked = unacked
        consumer.acked = (consumer.acked | known) - unacked
        consumer.retained = known - unacked if consumer.retains else consumer.retained - unacked
        consumer.leases.clear()

    def _create_snapshot(self, call: Mapping[str, Any], done: Mapping[str, Any]) -> None:
        consumer = self.consumers[call["subscription"]]
        self.snapshots[call["snapshot"]] = (consumer.topic, set(consumer.unacked))


def _assumed(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call whose answer was lost would have told, had it been carried out.

    A pull has given nothing to anybody: its messages come again after the ack deadline.
    """
    return {"messages": [], "until": 0, "success": call.get("data", [])}
