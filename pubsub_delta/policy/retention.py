"""Retention: the messages that are too old to keep, and those that are still needed.

Unacknowledged and retained messages are discarded when they are older than their retention; at an
age equal to it they are still kept. A leased message stays until its lease is over, and one that is
being forwarded or written until that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pubsub_delta.policy.ack_state import AckState, Captured, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import with_spans
from pubsub_delta.resources import Subscription, Topic

_MAY_GO = (State.AVAILABLE, State.BACKING_OFF)

Earlier = Callable[[Sequence[Span], datetime], tuple[Positions, datetime | None]]
"""Returns the messages of spans that were published before a time, or are no longer stored, and the
publish time of the first later one (None without any). It reads messages of the topic.
"""


def covered_from(topic: Topic | None, now: datetime) -> datetime | None:
    """Return the publish time from which a topic retains every message; None without retention.

    Topic retention covers messages published since it was turned on. After a change covered
    messages stay covered (``retained_from``). A deleted topic retains nothing.
    """
    if topic is None or topic.message_retention_duration is None or topic.retained_from is None:
        return None
    return max(topic.retained_from, now - topic.message_retention_duration)


def retained_from(topic: Topic, duration: timedelta | None, now: datetime) -> datetime | None:
    """Return the ``retained_from`` of a topic whose retention is changed now."""
    if duration is None:
        return None
    return covered_from(topic, now) or now


def divide(
    spans: Iterable[Span], time: datetime, earlier: Earlier
) -> tuple[list[Span], list[Span]]:
    """Divide spans into messages published before a time, and those at that time or later."""
    before, across, after = [], [], []
    for span in spans:
        if span.publish_time_max < time:
            before.append(span)
        elif span.publish_time_min >= time:
            after.append(span)
        else:
            across.append(span)
    if across:
        early, first = earlier(across, time)
        for span in across:
            before.append(replace(span.only(early), publish_time_max=time))
            begin = max(span.publish_time_min, first or time)
            after.append(replace(span.without(early), publish_time_min=begin))
    return [span for span in before if span], [span for span in after if span]


def discard(
    state: AckState,
    subscription: Subscription,
    now: datetime,
    covered: Callable[[], datetime | None],
    earlier: Earlier,
) -> AckState:
    """Discard the messages that are older than their retention.

    Pub/Sub: an unacknowledged message is discarded when it is older than the larger of the
    retentions of subscription and topic; a retained one when it is older than the subscription's.
    ``covered`` returns the time from which the topic covers messages; it is called only if needed.
    """
    limit = now - subscription.message_retention_duration
    state = _discard_before(state, limit, (State.RETAINED,), None)
    if not any(span.publish_time_min < limit for span in state.in_state(*_MAY_GO)):
        return state
    oldest = min(limit, covered() or limit)
    return _discard_before(state, oldest, _MAY_GO, earlier)


def clip_retained(
    state: AckState, subscription: Subscription, now: datetime, earlier: Earlier
) -> AckState:
    """Discard each retained message that is too old, not only whole spans."""
    limit = now - subscription.message_retention_duration
    return _discard_before(state, limit, (State.RETAINED,), earlier)


def _discard_before(
    state: AckState, oldest: datetime, states: Sequence[State], earlier: Earlier | None
) -> AckState:
    """Discard spans that are older as a whole; with ``earlier``, also the older part of others.

    Without anything to discard it returns the same state.
    """
    concerned = [span for span in state.in_state(*states) if span.publish_time_min < oldest]
    if earlier is None:
        concerned = [span for span in concerned if span.publish_time_max < oldest]
    if not concerned:
        return state
    _, kept = divide(concerned, oldest, earlier or _not_across)
    others = [span for span in state.spans if span not in concerned]
    return with_spans(state, [*others, *kept])


def _not_across(spans: Sequence[Span], time: datetime) -> tuple[Positions, datetime | None]:
    raise AssertionError(f"nothing of {len(spans)} spans lies across {time}")


def needed_by_subscription(
    state: AckState, subscription: Subscription, now: datetime
) -> datetime | None:
    """Return the earliest publish time that a subscription can still deliver, None for none.

    The state must be up to date. Retained messages that a seek can restore count, and so do
    acknowledged ones that return if an earlier message of their key fails.
    """
    limit = now - subscription.message_retention_duration
    held = [span for span in state.spans if span.state is not State.RETAINED]
    times = [span.publish_time_min for span in held]
    for span in state.in_state(State.RETAINED):
        if span.publish_time_max >= limit:
            times.append(max(span.publish_time_min, limit))
    return min(times, default=None)


def needed_by_snapshot(captured: Captured, following: datetime | None) -> datetime | None:
    """Return the earliest publish time that a seek to a snapshot can deliver, None for none.

    ``following``: the earliest publish time of the messages committed after it.
    """
    times = [span.publish_time_min for span in captured.spans]
    return min([*times, *([following] if following is not None else [])], default=None)


def is_idle(subscription: Subscription, active_time: datetime | None, now: datetime) -> bool:
    """Return whether a subscription has been idle for longer than its expiration policy allows.

    Pub/Sub: any pull, acknowledgement, seek or update counts as activity.
    """
    ttl = subscription.expiration_policy.ttl
    if ttl is None:
        return False
    assert isinstance(ttl, timedelta)
    since = max(subscription.update_time, active_time or subscription.update_time)
    return now - since > ttl
