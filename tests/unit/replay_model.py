"""A deliberately naive model of seek, snapshots and retention: every message looked at alone.

It knows nothing of tails and spans. What a publish, a seek or a limit does to a message is done to
it at once, as the specification says it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.unit.builders import Published
from tests.unit.model import AckId, Model, Stored


@dataclass
class Kept(Stored):
    """A message of a subscription, and whether a seek may bring it back though it is acked."""

    retained: bool = False
    discarded: bool = False


@dataclass
class ModelTopic:
    """All messages that were ever published; nothing is ever deleted here."""

    messages: dict[int, Published] = field(default_factory=dict)
    version: int = 0
    retention: float | None = None
    retained_from: float = 0.0

    def retain(self, seconds: float | None, now: float) -> None:
        # "turned on at time R: covers what is published from R on; lengthened from D1 to D2 at R:
        # what was covered at R stays covered (from R − D1)"
        before = self.covered_from(now)
        self.retained_from = now if before is None else before
        self.retention = seconds

    def covered_from(self, now: float) -> float | None:
        # "cleared: nothing more is covered by it"
        if self.retention is None:
            return None
        return max(self.retained_from, now - self.retention)

    def covers(self, published: float, now: float) -> bool:
        since = self.covered_from(now)
        return since is not None and published >= since


@dataclass(frozen=True)
class Held:
    """What a snapshot holds: "what was unacked then, and everything published … afterwards"."""

    unacked: frozenset[int]
    version: int
    floor: float | None


@dataclass
class ReplayModel(Model):
    """One subscription, message by message."""

    topic: ModelTopic = field(default_factory=ModelTopic)
    messages: dict[int, Kept] = field(default_factory=dict)  # type: ignore[assignment]
    keys: dict[int, str] = field(default_factory=dict)
    filtered: bool = False
    retention: float = 100.0
    retain_acked: bool = False
    floor: float | None = None
    first_lease: int = 1

    def passes(self, position: int) -> bool:
        return self.topic.messages[position].matching or not self.filtered

    def arrive(self, position: int) -> None:
        published = self.topic.messages[position].published
        if not self.passes(position):
            return
        message = self.messages[position] = Kept(published, self.keys.get(position, ""))
        # "A future t purges (and also acks what is published until t)."
        if self.floor is not None and published < self.floor:
            message.acked, message.retained = True, self.retain_acked

    def unacked(self) -> set[int]:
        return {position for position, message in self.messages.items() if not message.acked}

    # What time brings

    def pass_time(self, now: float) -> None:
        with self.noting_acks():
            self.settle(now)
        limit = now - self.retention
        for message in self.messages.values():
            old = message.published < limit  # "an age equal to the limit is still kept"
            # "acked ones … not older than the subscription's retention"
            message.retained = message.retained and not old
            # "unacked messages not older than max(subscription, topic) retention"
            gone = old and not self.topic.covers(message.published, now)
            if gone and not message.acked and not message.lease_id:
                message.acked, message.discarded, message.acked_under = True, True, None

    # Acknowledging: "only messages acked *after* it is turned on are retained"

    @contextmanager
    def noting_acks(self) -> Iterator[None]:
        before = self.unacked()
        yield
        for position, message in self.messages.items():
            if position in before and message.acked:
                message.retained = self.retain_acked
            if not message.acked:
                message.retained = message.discarded = False

    def acknowledge(self, ack_id: AckId) -> str:
        with self.noting_acks():
            return self.of_an_old_id(ack_id) or super().acknowledge(ack_id)

    def modify(self, ack_id: AckId, now: float, deadline: float) -> str:
        return self.of_an_old_id(ack_id) or super().modify(ack_id, now, deadline)

    def of_an_old_id(self, ack_id: AckId) -> str | None:
        # "an ack id from before a seek never changes anything afterwards: `expired` (`invalid`
        # with exactly-once)"
        if 0 < ack_id[0] < self.first_lease:
            return "invalid" if self.fields.exactly_once else "expired"
        return None

    # Seeks and snapshots

    def void_leases(self) -> None:
        # "voids all leases made before it …, resets delivery attempts to 0 and backoff to none,
        # and makes everything it un-acks available"
        self.first_lease = self.leases + 1
        for message in self.messages.values():
            message.lease_id, message.acked_under, message.waits_until = None, None, 0.0
            message.failures, message.attempt, message.failed_under = 0, 1, 0

    def seek_to_time(self, time: float, now: float) -> None:
        self.pass_time(now)
        self.void_leases()
        for position in filter(self.passes, self.topic.messages):
            published = self.topic.messages[position].published
            message = self.messages.get(position)
            # "retained messages with publish_time < t become acked, those with ≥ t unacked"
            if published < time:
                if message is not None and not message.acked:
                    message.acked, message.retained = True, self.retain_acked
            elif message is not None and message.retained:
                message.acked, message.retained = False, False
            elif self.topic.covers(published, now):
                # "any message while the topic's retention covers it, also from before the
                # subscription existed"
                self.unack(position)
        self.floor = time if time > now else None
        self.pass_time(now)  # a lease that it voided may have kept an old message

    def snapshot(self, now: float) -> Held:
        self.pass_time(now)
        return Held(frozenset(self.unacked()), self.topic.version, self.floor)

    def holds(self, held: Held, position: int) -> bool:
        # "with the *seeker's* filter applied"; "a pending purge included"
        each = self.topic.messages[position]
        if each.version <= held.version:
            return position in held.unacked and self.passes(position)
        return self.passes(position) and (held.floor is None or each.published >= held.floor)

    def seek_to_snapshot(self, held: Held, now: float) -> None:
        self.pass_time(now)
        self.void_leases()
        for position in self.topic.messages:
            message = self.messages.get(position)
            if self.holds(held, position):
                self.unack(position)
            elif message is not None and not message.acked:
                message.acked, message.retained = True, self.retain_acked
        self.floor = held.floor
        self.pass_time(now)  # "The seeker's retention applies to what a snapshot brings back."

    def unack(self, position: int) -> None:
        message = self.messages.get(position)
        if message is None:
            published = self.topic.messages[position].published
            message = Kept(published, self.keys.get(position, ""))
            self.messages[position] = message
        message.acked, message.retained, message.discarded = False, False, False
        message.acked_under = None

    # What may still be delivered

    def after(self, step: str, target: float | Held, now: float) -> ReplayModel:
        """Return what a seek would make of this, and leave this as it is."""
        other = replace(self, messages={n: replace(each) for n, each in self.messages.items()})
        getattr(other, step)(target, now)
        return other

    def may_return(self) -> set[int]:
        """Acked under a live lease of an ordered batch, after a message that may fail."""
        live = {(m.lease_id, m.key): n for n, m in sorted(self.messages.items(), reverse=True)}
        return {
            position
            for position, message in self.messages.items()
            if message.acked
            and message.acked_under
            and message.key
            and self.fields.ordered
            and not self.fields.exactly_once
            and live.get((message.acked_under, message.key), position) < position
        }
