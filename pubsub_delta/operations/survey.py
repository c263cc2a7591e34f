"""Survey a subscription or a topic for people who look: a few messages, spans, messages by day.

Nothing is leased or written, and no topic is read whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from pubsub_delta.clock import from_micros
from pubsub_delta.delivery.readings import plain
from pubsub_delta.delivery.sources import source
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.policy.ack_state import ACKNOWLEDGED, Span, State, union
from pubsub_delta.policy.fields import check_max_messages
from pubsub_delta.tables.store import Tables

_LONG_AGO = from_micros(0)


@dataclass(frozen=True)
class PeekedMessage:
    """An unacknowledged message as a look without a lease shows it.

    ``data``: its first bytes, and ``data_size`` how many it has. ``state``: available, leased,
    backing_off or forwarding. ``delivery_attempt`` is None without a dead-letter policy.
    """

    message_id: str
    publish_time: datetime
    data: bytes
    data_size: int
    attributes: dict[str, str]
    ordering_key: str
    state: str
    delivery_attempt: int | None


@dataclass(frozen=True)
class SurveyedSpan:
    """Messages of a subscription that share a state, and between which times they were published.

    ``state``: available, leased, backing_off or forwarding; or acked or retained, which are
    acknowledged and kept because they may come back. ``until``: the end of lease or backoff.
    """

    state: str
    message_count: int
    publish_time_min: datetime
    publish_time_max: datetime
    delivery_attempt: int
    until: datetime | None


@dataclass(frozen=True)
class AckStateSurvey:
    """What a subscription has to say of its topic's messages at ``time``.

    ``spans``: of all messages that are not simply acknowledged. ``stored_count`` messages are
    stored in the topic, the first of them published at ``stored_from``. ``purged_until``: what is
    published before it is acknowledged as it comes, after a seek into the future.
    """

    time: datetime
    spans: tuple[SurveyedSpan, ...]
    stored_count: int
    stored_from: datetime | None
    purged_until: datetime | None

    @property
    def unacked_count(self) -> int:
        """How many messages are not acknowledged."""
        acknowledged = {state.value for state in ACKNOWLEDGED}
        return sum(s.message_count for s in self.spans if s.state not in acknowledged)

    @property
    def elsewhere_count(self) -> int:
        """How many messages stored in the topic stand in no span.

        They are acknowledged for good, do not pass the filter, or are older than the subscription.
        """
        return max(0, self.stored_count - sum(span.message_count for span in self.spans))


@dataclass(frozen=True)
class DayCount:
    """How many stored messages of a topic were published on a day, in UTC."""

    day: date
    message_count: int


@dataclass(frozen=True)
class SubscriptionMoment:
    """The figures of a subscription as a commit of its ack state left them.

    ``time``: of that request. Messages that were published since the look before are not counted.
    ``delivery_attempt``: the highest one of an unacknowledged message, 0 without any. The last
    two count what ever was acknowledged and dead-lettered.
    """

    time: datetime
    num_undelivered_messages: int
    num_outstanding_messages: int
    oldest_unacked_message_age: float
    delivery_attempt: int
    acknowledged_count: int
    dead_letter_message_count: int


def peek(
    tables: Tables, name: ResourceName, max_messages: int, max_bytes: int, now: datetime
) -> list[PeekedMessage]:
    """Return the first unacknowledged messages, and of each the first bytes of its data."""
    check_max_messages(max_messages)
    if type(max_bytes) is not int or max_bytes < 0:
        raise InvalidArgument(f"max_bytes: {max_bytes!r}; a whole number from 0 is accepted")
    found = source(tables, name)
    state = found.catch_up(tables.ack_states.read(found.uid), now)
    chosen = union(state.unacked()).first(max_messages)
    spans = [part for part in (span.only(chosen) for span in state.unacked()) if part]
    if not spans:
        return []
    counted = found.subscription.dead_letter_policy is not None
    peeked = []
    for row in plain(found.messages.rows(spans)):
        span = next(each for each in spans if row["position"] in each.positions)
        data = row["data"] or b""
        peeked.append(
            PeekedMessage(
                message_id=str(row["position"]),
                publish_time=row["publish_time"] or span.publish_time_min,
                data=data[:max_bytes],
                data_size=len(data),
                attributes=dict(row["attributes"] or ()),
                ordering_key=row["ordering_key"] or "",
                state=span.state.value,
                delivery_attempt=span.delivery_attempt if counted else None,
            )
        )
    return peeked


def ack_state(tables: Tables, name: ResourceName, now: datetime) -> AckStateSurvey:
    """Return the spans of a subscription, as they are once it has caught up with its topic."""
    found = source(tables, name)
    state = found.catch_up(tables.ack_states.read(found.uid), now)
    state = found.clip_retained(state, now)
    stored, first = found.messages.count_since(_LONG_AGO)
    ahead = state.floor is not None and state.floor > now
    return AckStateSurvey(
        time=now,
        spans=tuple(map(_surveyed, state.spans)),
        stored_count=stored,
        stored_from=first,
        purged_until=state.floor if ahead else None,
    )


def _surveyed(span: Span) -> SurveyedSpan:
    ends = span.state in (State.LEASED, State.BACKING_OFF)
    return SurveyedSpan(
        state=span.state.value,
        message_count=len(span),
        publish_time_min=span.publish_time_min,
        publish_time_max=span.publish_time_max,
        delivery_attempt=span.delivery_attempt,
        until=span.until if ends else None,
    )


def over_time(tables: Tables, name: ResourceName, most: int) -> list[SubscriptionMoment]:
    """Return the figures of a subscription over time, from the versions of its ack state."""
    check_max_messages(most)
    subscription = tables.subscription(name)
    moments = []
    for figures in tables.ack_state_tables.figures_over_time(subscription.uid, most):
        time = figures.active_time or subscription.create_time
        oldest = figures.oldest_unacked_publish_time
        age = 0.0 if oldest is None else (time - oldest).total_seconds()
        moments.append(
            SubscriptionMoment(
                time=time,
                num_undelivered_messages=figures.num_undelivered_messages,
                num_outstanding_messages=figures.num_outstanding_messages,
                oldest_unacked_message_age=max(0.0, age),
                delivery_attempt=figures.delivery_attempt or 0,
                acknowledged_count=figures.ack_message_count_success,
                dead_letter_message_count=figures.dead_letter_message_count,
            )
        )
    return moments


def messages_by_day(tables: Tables, name: ResourceName) -> list[DayCount]:
    """Return how many stored messages were published on each day, the first day first.

    The day is what a topic is partitioned by: no column of a message is read.
    """
    counted = tables.messages(tables.topic(name).uid).count_by_day()
    return [DayCount(day, counted[day]) for day in sorted(counted)]
