"""The ack state of a subscription: a tail, and a few spans of message positions.

A message of the topic is unacknowledged if it is in a span that is neither ``acked`` nor
``retained``, or was committed after the tail and published no earlier than the tail's floor.
Otherwise it is acknowledged. Nothing else is stored about it. Noted seeks are stored until the next
operation carries them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from pubsub_delta.policy.positions import Positions


class State(str, Enum):
    """The delivery state that all messages of a span share."""

    AVAILABLE = "available"
    LEASED = "leased"
    BACKING_OFF = "backing_off"
    FORWARDING = "forwarding"
    """Being forwarded to the dead-letter topic: decided, but perhaps not written there yet."""
    WRITING = "writing"
    """Being written to the subscription's table: decided, but perhaps not written there yet."""
    ACKED = "acked"
    """Acknowledged under a live lease of an ordered subscription: a failure of an earlier message
    of the same ordering key makes them available again.
    """
    RETAINED = "retained"
    """Acknowledged while the subscription retained such messages: a seek can restore them."""


ACKNOWLEDGED = (State.ACKED, State.RETAINED)


@dataclass(frozen=True)
class Span:
    """Messages in the same delivery state, and their earliest and latest publish time.

    ``failures``: consecutive failed deliveries, counted while there is a retry policy.
    ``delivery_attempt``: of the present or next delivery; 1 without a dead-letter policy.
    ``lease_id``: the number of the delivery, the forwarding, or the write. ``failed_lease_id``: the
    number of the delivery that failed last; None if none has failed. ``until``: the end of the
    lease or of the backoff, exclusive. ``forward_to``: the uid of the dead-letter topic, or the
    location of the table.
    """

    state: State
    positions: Positions
    publish_time_min: datetime
    publish_time_max: datetime
    failures: int = 0
    delivery_attempt: int = 1
    lease_id: int | None = None
    failed_lease_id: int | None = None
    until: datetime | None = None
    forward_to: str | None = None

    def __len__(self) -> int:
        return len(self.positions)

    def without(self, positions: Positions) -> Span:
        """Return the span with fewer messages."""
        return replace(self, positions=self.positions - positions)

    def only(self, positions: Positions) -> Span:
        """Return the span with only these of its messages."""
        return replace(self, positions=self.positions & positions)

    def released(self) -> Span:
        """Return the span as available, with its present counts."""
        return replace(self, state=State.AVAILABLE, lease_id=None, until=None, forward_to=None)

    def untried(self) -> Span:
        """Return the span as available, as if no delivery had failed."""
        return replace(self.released(), failures=0, delivery_attempt=1, failed_lease_id=None)

    def leased(self, lease_id: int, until: datetime) -> Span:
        """Return the span under a lease.

        Messages that failed before count as failed under this lease if they are given back. Then
        they come after the others, and a lease has few spans.
        """
        failed = None if self.failed_lease_id is None else lease_id
        leased = replace(self, state=State.LEASED, lease_id=lease_id, until=until)
        return replace(leased, failed_lease_id=failed)

    def retained(self) -> Span:
        """Return the span as acknowledged and retained for a seek."""
        return replace(self.untried(), state=State.RETAINED)

    def unite(self, other: Span) -> Span:
        """Return one span for the messages of two, with the later end and failure of the two."""
        ends = [span.until for span in (self, other) if span.until is not None]
        failed = [s.failed_lease_id for s in (self, other) if s.failed_lease_id is not None]
        return replace(
            self,
            positions=self.positions | other.positions,
            publish_time_min=min(self.publish_time_min, other.publish_time_min),
            publish_time_max=max(self.publish_time_max, other.publish_time_max),
            until=max(ends, default=None),
            failed_lease_id=max(failed, default=None),
        )


@dataclass(frozen=True)
class Absorbed:
    """New messages of the topic, usually those of one commit."""

    positions: Positions
    publish_time_min: datetime
    publish_time_max: datetime


@dataclass(frozen=True)
class Counters:
    """Totals of a subscription since its creation: acks by outcome, and forwarded messages."""

    success: int = 0
    expired: int = 0
    invalid: int = 0
    dead_letters: int = 0


@dataclass(frozen=True)
class Captured:
    """What a snapshot captured: unacknowledged messages, and all after a version of the topic.

    ``floor``: messages after that version that were published before it are acknowledged.
    ``filter``: the source's; messages that do not pass it are missing among the spans.
    """

    spans: tuple[Span, ...]
    after_version: int
    floor: datetime | None = None
    filter: str = ""


@dataclass(frozen=True)
class Seek:
    """A noted seek: to a time, or to the messages of a snapshot.

    ``at``, ``at_version``: the time of the request, and the topic's version then. ``covered_from``:
    the publish time from which topic retention covered messages then.
    """

    at: datetime
    at_version: int
    time: datetime | None = None
    covered_from: datetime | None = None
    captured: Captured | None = None


@dataclass(frozen=True)
class Stream:
    """The micro-batch that a streaming query started last, and its lease.

    ``positions``: its messages that were not acknowledged, given back or leased by another
    consumer since.
    """

    query_id: str
    batch_id: int
    lease_id: int
    positions: Positions

    def without(self, positions: Positions) -> Stream:
        """Return the micro-batch with fewer messages."""
        return replace(self, positions=self.positions - positions)


@dataclass(frozen=True)
class AckState:
    """The acknowledgement state of one subscription.

    ``after_version``: the tail, every message that was committed after this version of the topic.
    ``floor``: of those, messages published before it are acknowledged by a seek into the future.
    ``absorbed_below``: no position from here on was ever in a span. ``next_lease_id``: the number
    of the next delivery or forwarding. ``first_lease_id``: lower leases are from before a seek.
    ``seeks``: noted, and not carried out yet. ``active_time``: of the last request. ``streams``:
    the last micro-batch of each streaming query.
    """

    after_version: int
    absorbed_below: int = 0
    next_lease_id: int = 1
    spans: tuple[Span, ...] = ()
    counters: Counters = field(default_factory=Counters)
    floor: datetime | None = None
    first_lease_id: int = 1
    seeks: tuple[Seek, ...] = ()
    active_time: datetime | None = None
    streams: tuple[Stream, ...] = ()

    def in_state(self, *states: State) -> list[Span]:
        """Return the spans in any of some delivery states."""
        return [span for span in self.spans if span.state in states]

    def positions(self, *states: State) -> Positions:
        """Return the messages in any of some delivery states."""
        return union(self.in_state(*states))

    def of_lease(self, lease_id: int, *states: State) -> list[Span]:
        """Return the spans in some states with the number of a lease, a forwarding or a write."""
        return [span for span in self.in_state(*states) if span.lease_id == lease_id]

    def unacked(self) -> list[Span]:
        """Return the spans of messages that are not acknowledged."""
        return [span for span in self.spans if span.state not in ACKNOWLEDGED]

    def count(self, *states: State) -> int:
        """Return the number of messages in some states; without states, of unacknowledged ones."""
        return sum(map(len, self.in_state(*states) if states else self.unacked()))


def spans_within(spans: Iterable[Span], positions: Positions) -> list[Span]:
    """Return the parts of spans in some positions, without empty spans."""
    return [part for span in spans if (part := span.only(positions))]


def union(spans: Iterable[Span]) -> Positions:
    """Return the messages of all spans."""
    return Positions.union(span.positions for span in spans)
