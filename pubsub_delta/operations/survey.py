"""Survey a subscription or a topic for display: some messages, spans, and messages by day.

A survey leases and writes nothing, and reads no topic whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import pairwise

from pubsub_delta.delivery.sources import find_source, source
from pubsub_delta.delivery.surveys import AckStateSurvey, survey_of
from pubsub_delta.delivery.unreadable import python_values
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy.ack_state import spans_within, union
from pubsub_delta.policy.metrics import SubscriptionMetrics, metrics_of
from pubsub_delta.tables.messages.commits import Commit
from pubsub_delta.tables.store import Tables


@dataclass(frozen=True)
class PeekedMessage:
    """An unacknowledged message, read without a lease.

    ``data``: the first bytes of the data; ``data_size``: the size of all of it. ``state``:
    available, leased, backing_off, forwarding or writing. ``delivery_attempt`` is None without a
    dead-letter policy.
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
class DayCount:
    """How many stored messages of a topic were published on a day, in UTC."""

    day: date
    message_count: int


@dataclass(frozen=True)
class SubscriptionMoment:
    """The metrics of a subscription at the time of a request, of a publish, or now.

    ``delivery_attempt``: the highest one of an unacknowledged message, 0 without any. The last
    two are totals since the creation of the subscription.
    """

    time: datetime
    num_undelivered_messages: int
    num_outstanding_messages: int
    oldest_unacked_message_age: float
    delivery_attempt: int
    acknowledged_count: int
    dead_letter_message_count: int


@dataclass(frozen=True)
class TopicMetrics:
    """The metrics of a topic that its log alone gives, without reading messages.

    ``stored_bytes``: the compressed bytes of its files. ``publish_rate``: messages a second in the
    last 10 minutes. ``publish_time``: of the last publish in the log.
    """

    message_count: int
    stored_bytes: int
    publish_rate: float
    publish_time: datetime | None


_LATELY = timedelta(minutes=10)


def subscription_metrics(tables: Tables, name: ResourceName, now: datetime) -> SubscriptionMetrics:
    """Return the metrics of a subscription once it has caught up with its topic."""
    found = find_source(tables, name)
    if found is None:
        raise NotFound(f"subscription {name} does not exist; create it first")
    state = tables.ack_states.read(found.uid)
    if found.subscription.detached:
        return metrics_of(replace(state, spans=()))
    return metrics_of(found.catch_up(state, now))


def topic_metrics(tables: Tables, name: ResourceName, now: datetime) -> TopicMetrics:
    """Return the metrics of a topic."""
    messages = tables.messages(tables.topic(name).uid)
    number, since = messages.history.published_since(now - _LATELY)
    seconds = (now - since).total_seconds()
    return TopicMetrics(
        message_count=sum(messages.count_by_day().values()),
        stored_bytes=messages.file_bytes(),
        publish_rate=number / seconds if seconds > 0 else 0.0,
        publish_time=messages.history.last_publish_time(),
    )


def peek(
    tables: Tables, name: ResourceName, max_messages: int, max_bytes: int, now: datetime
) -> list[PeekedMessage]:
    """Return the first unacknowledged messages, each with the first ``max_bytes`` of its data."""
    _check_count("max_messages", max_messages)
    if type(max_bytes) is not int or max_bytes < 0:
        raise InvalidArgument(f"max_bytes: {max_bytes!r}; a whole number from 0 is accepted")
    found = source(tables, name)
    state = found.catch_up(tables.ack_states.read(found.uid), now)
    chosen = union(state.unacked()).first(max_messages)
    spans = spans_within(state.unacked(), chosen)
    if not spans:
        return []
    counted = found.subscription.dead_letter_policy is not None
    peeked = []
    for row in python_values(found.messages.rows(spans)):
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


def _check_count(field: str, count: int) -> None:
    if type(count) is not int or count < 1:
        raise InvalidArgument(f"{field}: {count!r} is out of range; 1 or more is accepted")


def ack_state(tables: Tables, name: ResourceName, now: datetime) -> AckStateSurvey:
    """Return the spans of a subscription, as they are once it has caught up with its topic."""
    found = source(tables, name)
    return survey_of(found, found.catch_up(tables.ack_states.read(found.uid), now), now)


def over_time(
    tables: Tables, name: ResourceName, most: int, now: datetime
) -> list[SubscriptionMoment]:
    """Return the metrics of a subscription over time, from the versions of its ack state until now.

    Without a filter there is also a moment for each of the last publishes, as many as versions.
    There is none between two versions where others in between are left out.
    """
    _check_count("points", most)
    subscription = tables.subscription(name)
    stored = tables.ack_state_tables.over_time(subscription.uid, most)
    states = [each.state for each in stored]
    found = find_source(tables, name)
    publishes: list[Commit] = []
    if found is not None and not subscription.detached:
        states = [found.carry_out_seeks(each) for each in states]
    if found is not None and not subscription.filter and not subscription.detached:
        new = found.messages.history.commits_after(min(each.after_version for each in states))
        adding = [each for each in reversed(new.commits) if each.adds_messages]
        publishes = adding if new.is_complete else []
    shown = {each.version for each in publishes[-most:]}
    moments = []
    ends = [*(each.active_time or subscription.create_time for each in states[1:]), now]
    follows = [b.revision == a.revision + 1 for a, b in pairwise(stored)] + [True]
    for state, end, is_followed in zip(states, ends, follows, strict=True):
        metrics, start = metrics_of(state), state.active_time or subscription.create_time
        until_then: list[tuple[Commit, datetime]] = []
        later: list[tuple[Commit, datetime]] = []
        for publish in (each for each in publishes if each.may_add(state.floor, None)):
            time = publish.publish_time
            if publish.version > metrics.after_version and time is not None and time < end:
                (until_then if time <= start else later).append((publish, time))
        for publish, time in until_then:  # an ack, for instance, does not absorb new messages
            metrics = _with(metrics, publish, time)
        moments.append(_moment(metrics, start))
        for publish, time in later if is_followed else ():
            metrics = _with(metrics, publish, time)
            if publish.version in shown:
                moments.append(_moment(metrics, time))
    if moments[-1].time >= now:  # it was used just now
        moments.pop()
    moments.append(_moment(subscription_metrics(tables, name, now), now))
    return moments


def _with(metrics: SubscriptionMetrics, publish: Commit, time: datetime) -> SubscriptionMetrics:
    oldest = metrics.oldest_unacked_publish_time
    return replace(
        metrics,
        num_undelivered_messages=metrics.num_undelivered_messages + publish.message_count,
        oldest_unacked_publish_time=time if oldest is None else min(oldest, time),
        delivery_attempt=metrics.delivery_attempt or 1,
    )


def _moment(metrics: SubscriptionMetrics, time: datetime) -> SubscriptionMoment:
    oldest = metrics.oldest_unacked_publish_time
    age = 0.0 if oldest is None else (time - oldest).total_seconds()
    return SubscriptionMoment(
        time=time,
        num_undelivered_messages=metrics.num_undelivered_messages,
        num_outstanding_messages=metrics.num_outstanding_messages,
        oldest_unacked_message_age=max(0.0, age),
        delivery_attempt=metrics.delivery_attempt or 0,
        acknowledged_count=metrics.ack_message_count_success,
        dead_letter_message_count=metrics.dead_letter_message_count,
    )


def messages_by_day(tables: Tables, name: ResourceName) -> list[DayCount]:
    """Return how many stored messages were published on each day, the first day first.

    Topics are partitioned by day, so no column of a message is read.
    """
    counted = tables.messages(tables.topic(name).uid).count_by_day()
    return [DayCount(day, counted[day]) for day in sorted(counted)]
