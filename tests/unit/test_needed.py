"""What must be kept because somebody may still deliver it (spec sections 8 and 11)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from pubsub_delta.policy import retention
from pubsub_delta.policy.ack_state import AckState, Captured, Span, State
from pubsub_delta.policy.spans import MAX_NEW_SPANS, with_spans
from pubsub_delta.resources import RetryPolicy
from tests.unit.builders import PLAIN, Reader, at, available_span, nack, reading

TEN_MINUTES: dict[str, Any] = {"message_retention_duration": timedelta(minutes=10)}
RETAINING: dict[str, Any] = {"retain_acked_messages": True}
KEYS = {0: "k", 1: "k"}


def needed(*spans: Span, limit: float = 0) -> datetime | None:
    """Return what a subscription needs that holds these spans and keeps messages from a time on."""
    fields = replace(PLAIN, message_retention_duration=timedelta(seconds=100))
    state = with_spans(AckState(after_version=0), spans)
    return retention.needed_by_subscription(state, fields, at(limit + 100))


def retained_span(positions: list[int], first: float, last: float | None = None) -> Span:
    return replace(available_span(positions, first, last), state=State.RETAINED)


def test_a_subscription_without_a_backlog_needs_nothing() -> None:
    assert needed() is None


@pytest.mark.parametrize(
    "state", [each for each in State if each.value not in ("acked", "retained")]
)
def test_a_subscription_needs_what_is_unacked_however_old(state: State) -> None:
    # "Nothing that a live subscription … may still deliver is ever deleted from the topic."
    span = replace(available_span([0], 3), state=state, lease_id=1, until=at(200))
    assert needed(span, available_span([1], 7), limit=5) == at(3)


def test_a_subscription_needs_what_it_retains_as_far_as_a_seek_reaches() -> None:
    # "a retained acked range"; "not older than the subscription's retention"
    assert needed(retained_span([0], 7), limit=5) == at(7)
    assert needed(retained_span([0, 1], 3, 7), limit=5) == at(5)
    assert needed(retained_span([0], 5), limit=5) == at(5)
    assert needed(retained_span([0], 3), limit=5) is None
    assert needed(retained_span([0, 1], 3, 7), available_span([2], 4), limit=5) == at(4)


def test_a_snapshot_needs_what_it_holds_and_what_followed() -> None:
    # "a live snapshot"; it holds "what was unacked then, and everything published … afterwards"
    empty = Captured((), after_version=1)
    assert retention.needed_by_snapshot(empty, None) is None
    assert retention.needed_by_snapshot(empty, at(9)) == at(9)
    held = replace(empty, spans=(available_span([0], 5), available_span([1], 3, 8)))
    assert retention.needed_by_snapshot(held, None) == at(3)
    assert retention.needed_by_snapshot(held, at(9)) == at(3)
    assert retention.needed_by_snapshot(held, at(1)) == at(1)  # a slow publisher's


def test_what_a_noted_seek_brings_back_is_needed_before_it_is_carried_out() -> None:
    # "Seek is atomic here: consistent at once"
    reader = reading(1, 2, **RETAINING)
    captured = reader.snapshot(now=3)
    reader.pull_and_ack(0, 1, now=4)
    reader.update(now=5, message_retention_duration=timedelta(days=7), retain_acked_messages=False)
    reader.seek(to=captured, now=6)
    assert reader.needed(now=7) == at(1)


def test_what_is_too_old_is_needed_no_more_even_if_nobody_has_looked() -> None:
    # "an unacked message disappears when it is older than … retention"
    reader = reading(0, 60, **TEN_MINUTES)
    assert reader.needed(now=600) == at(0)
    assert reader.needed(now=601) == at(60)
    assert reader.needed(now=661) is None


def test_a_covered_message_is_needed_by_nobody_but_the_topic() -> None:
    # "By default a message is discarded once every attached subscription acked it."
    reader = reading(0, retention=600)
    reader.pull_and_ack(0, now=1)
    assert reader.needed(now=2) is None
    assert retention.covered_from(reader.source.topic, at(2)) == at(0)


def test_what_an_earlier_failure_may_bring_back_is_needed() -> None:
    # "Nothing that a live subscription … may still deliver is ever deleted from the topic";
    # "Later messages already acked return too": message 1, which a slow publisher stamped earlier.
    reader = reading(10, keys=KEYS, retry_policy=RetryPolicy(0, 0))
    lease_id = reader.pull(now=11)
    reader.state = nack(reader.state, {lease_id: [0]}, 11, reader.on)
    reader.source.publish(1, at=5)
    lease_id = reader.pull(now=12)
    reader.ack(lease_id, 1, now=13)
    needed = reader.needed(now=14)
    reader.state = nack(reader.state, {lease_id: [0]}, 15, reader.on)
    assert reader.unacked(now=16) == [0, 1]
    assert needed == at(5)


# What the job has deleted since the last look


def after_the_job(reader: Reader, now: float) -> Reader:
    """Delete what the subscription does not need; it is the only one of its topic."""
    needed = reader.needed(now)
    reader.source.delete_before(at(now) if needed is None else needed)
    return reader


def test_what_the_job_deletes_is_what_the_next_look_drops() -> None:
    # "The scheduled job deletes …; running it late, twice or concurrently … is harmless."
    reader = reading(0, 60, **TEN_MINUTES)
    reader.look(now=61)
    assert after_the_job(reader, now=610).unacked(now=610) == [1]
    assert list(reader.source.messages) == [1]


def test_a_deleted_message_does_not_stay_in_a_span_across_the_limit() -> None:
    # "an unacked message disappears when it is older than … retention"
    reader = reading(0, 60, coarse=True, **TEN_MINUTES)
    reader.look(now=61)
    assert after_the_job(reader, now=610).unacked(now=610) == [1]


def test_a_deleted_message_does_not_stay_where_many_spans_were_united() -> None:
    count = MAX_NEW_SPANS + 8
    reader = reading(*range(count), **TEN_MINUTES)
    reader.look(now=count)
    for limit in range(count):
        after_the_job(reader, now=600 + limit)
        assert reader.unacked(now=600 + limit) == list(range(limit, count))


def test_a_seek_does_not_bring_back_a_retained_message_that_was_deleted() -> None:
    # "Already discarded messages never come back"
    reader = reading(0, 60, coarse=True, **TEN_MINUTES, **RETAINING)
    reader.pull_and_ack(0, 1, now=61)
    after_the_job(reader, now=610)
    assert list(reader.source.messages) == [1]
    reader.seek(0, now=610)
    assert reader.unacked(now=610) == [1]


def test_a_longer_retention_does_not_bring_back_a_retained_message_that_was_deleted() -> None:
    # "nor do they when a subscription's retention is lengthened"
    reader = reading(0, 60, coarse=True, **TEN_MINUTES, **RETAINING)
    reader.pull_and_ack(0, 1, now=61)
    after_the_job(reader, now=610)
    reader.update(now=611, message_retention_duration=timedelta(days=7))
    reader.seek(0, now=612)
    assert reader.unacked(now=612) == [1]
