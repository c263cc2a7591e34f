"""Redelivery: a failed delivery leads to backoff, another attempt, or the dead-letter topic.

A nack and a passed deadline are the same failure (Pub/Sub: handle message failures).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pubsub_delta.policy.ack_state import AckState, Span, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import with_spans
from pubsub_delta.resources import RetryPolicy, Subscription

_MOST_FAILURES = 31
"""Failures are counted up to here: the backoff has reached any maximum by then."""
DECIDED = (State.FORWARDING, State.WRITING)
"""States of forwarding and writing, which no seek or change of policy stops."""


def backoff(policy: RetryPolicy | None, failures: int) -> timedelta:
    """Return how long a message waits after ``failures`` consecutive ones; zero without a policy.

    Pub/Sub: ``min(maximum_backoff, minimum_backoff · 2^(k−1))`` after the k-th failure.

    >>> [backoff(RetryPolicy("10s", "60s"), k).seconds for k in (1, 2, 3, 4)]
    [10, 20, 40, 60]
    """
    if policy is None:
        return timedelta(0)
    assert isinstance(policy.minimum_backoff, timedelta)
    assert isinstance(policy.maximum_backoff, timedelta)
    doublings = min(failures, _MOST_FAILURES) - 1
    wait: timedelta = policy.minimum_backoff * 2**doublings
    return min(policy.maximum_backoff, wait)


def failed(span: Span, subscription: Subscription, at: datetime) -> Span:
    """Return the span after its delivery failed at a time.

    After the last permitted attempt there is no backoff: the messages wait to be forwarded.
    """
    failures = min(span.failures + 1, _MOST_FAILURES) if subscription.retry_policy else 0
    attempt = span.delivery_attempt + 1 if subscription.dead_letter_policy else 1
    again = replace(span.released(), failures=failures, delivery_attempt=attempt)
    again = replace(again, failed_lease_id=span.lease_id)
    wait = backoff(subscription.retry_policy, failures)
    if not wait or is_exhausted(again, subscription):
        return again
    return replace(again, state=State.BACKING_OFF, until=at + wait)


def is_exhausted(span: Span, subscription: Subscription) -> bool:
    """Return whether messages have had all attempts that the dead-letter policy permits."""
    policy = subscription.dead_letter_policy
    return (
        policy is not None
        and span.state is State.AVAILABLE
        and span.delivery_attempt > policy.max_delivery_attempts
    )


def exhausted(state: AckState, subscription: Subscription) -> list[Span]:
    """Return the spans of messages that have had all their attempts."""
    return [span for span in state.spans if is_exhausted(span, subscription)]


def reset_attempts(state: AckState) -> AckState:
    """Set delivery attempts back to 1 (Pub/Sub: they are counted only while a policy is set)."""
    if all(span.delivery_attempt == 1 or _decided(span) for span in state.spans):
        return state
    return with_spans(
        state,
        (span if _decided(span) else replace(span, delivery_attempt=1) for span in state.spans),
    )


def _decided(span: Span) -> bool:
    return span.state in DECIDED


# Forwarding has three steps that can each be repeated. Decide, in the commit of the pull; append to
# the dead-letter topic under the number of the decision; acknowledge the messages here.

RESTORED_GAP = 1 << 32
"""The least number of numbers to skip after one that was used before."""


def decide_forwarding(
    state: AckState,
    subscription: Subscription,
    topic_uid: str,
    parts: Sequence[Positions] | None = None,
) -> AckState:
    """Move exhausted messages to a new forwarding, with a higher number than all before.

    ``parts``: divides all of them into several forwardings, one commit each.
    """
    leaving = exhausted(state, subscription)
    if not leaving:
        return state
    number = state.next_lease_id
    moved = [
        replace(span.only(part), state=State.FORWARDING, lease_id=place, forward_to=topic_uid)
        for place, part in enumerate(parts or [union(leaving)], number)
        for span in leaving
    ]
    kept = [span for span in state.spans if not is_exhausted(span, subscription)]
    following = replace(state, next_lease_id=number + len(parts or [leaving]))
    return with_spans(following, [*kept, *moved])


def forwardings(state: AckState) -> dict[int, list[Span]]:
    """Return the spans that are being forwarded, by number, the lowest first."""
    return numbered(state, State.FORWARDING)


def numbered(state: AckState, kind: State) -> dict[int, list[Span]]:
    """Return the spans of forwardings, or of writes, by number, the lowest first."""
    found: dict[int, list[Span]] = {}
    for span in state.in_state(kind):
        assert span.lease_id is not None
        found.setdefault(span.lease_id, []).append(span)
    return dict(sorted(found.items()))


def renumbered(state: AckState, number: int, kind: State = State.FORWARDING) -> AckState:
    """Give a forwarding, or a write, a higher number, as other messages have used its number.

    That happens after an operator has restored an earlier ack state.
    """
    higher = max(state.next_lease_id, number + RESTORED_GAP)
    spans = [
        replace(span, lease_id=higher) if span.state is kind and span.lease_id == number else span
        for span in state.spans
    ]
    return with_spans(replace(state, next_lease_id=higher + 1), spans)


def forwarded(state: AckState, number: int, *, retain: bool = False) -> AckState:
    """Acknowledge the messages of a forwarding that was written to the dead-letter topic.

    ``retain``: whether the subscription retains acknowledged messages.
    """
    spans = state.of_lease(number, State.FORWARDING)
    if not spans:
        return state
    counted = state.counters.dead_letters + sum(map(len, spans))
    state = replace(state, counters=replace(state.counters, dead_letters=counted))
    kept = [span for span in state.spans if span not in spans]
    return with_spans(state, [*kept, *(span.retained() for span in spans if retain)])


def give_back(state: AckState, number: int) -> AckState:
    """Make the messages of a forwarding exhausted again, as the dead-letter topic was deleted."""
    spans = state.of_lease(number, State.FORWARDING)
    if not spans:
        return state
    return with_spans(state, (s.released() if s in spans else s for s in state.spans))
