"""Snapshots: what they hold, for whom, and for how long (spec sections 8 and 11)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured, Seek, State, Stream
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import (
    DAY,
    HOUR,
    FakeTopic,
    Reader,
    at,
    available_span,
    nack,
    reading,
)

FILTERED: dict[str, Any] = {"filter": "attributes:k"}
RETAINING: dict[str, Any] = {"retain_acked_messages": True}


def brought_back(reader: Reader, captured: Captured, now: float = 100) -> list[int]:
    """Seek to a snapshot; return what is unacknowledged then."""
    reader.seek(to=captured, now=now)
    return reader.unacked(now)


# What a snapshot holds


def test_a_snapshot_holds_what_was_unacked_and_everything_later() -> None:
    # "holds what was unacked then, and everything published to the topic afterwards"
    reader = reading(1, 2, 3)
    reader.pull_and_ack(0, now=4)
    captured = reader.snapshot(now=5)
    reader.source.publish(3, at=6)
    reader.pull_and_ack(1, 2, 3, now=7)
    reader.source.publish(4, at=8)
    assert reader.unacked(now=9) == [4]
    assert brought_back(reader, captured) == [1, 2, 3, 4]


def test_it_needs_no_configuration_and_no_look_by_the_subscription_before() -> None:
    # "Needs no configuration on the subscription."
    reader = reading(1)
    captured = reader.snapshot(now=2)
    reader.pull_and_ack(0, now=3)
    assert brought_back(reader, captured) == [0]


def test_a_snapshot_is_a_copy_that_any_number_of_seeks_leaves_as_it_is() -> None:
    # "A snapshot copies the state as it is"
    reader = reading(1, 2)
    captured = reader.snapshot(now=3)
    for now in (10, 20, 30):
        reader.pull_and_ack(0, 1, now=now)
        assert brought_back(reader, captured, now + 1) == [0, 1]


def test_a_seek_to_a_snapshot_acks_what_it_does_not_hold() -> None:
    early = reading(1, 2)
    early.pull_and_ack(0, now=3)
    captured = early.snapshot(now=4)
    late = Reader(early.source)
    late.seek(to=captured, now=5)
    assert late.unacked(now=5) == [1]
    reader = reading(1, 2)
    nothing = Captured((), after_version=reader.source.version)
    assert brought_back(reader, nothing) == []


def test_what_is_leased_or_waits_is_held_as_new() -> None:
    # "resets delivery attempts to 0 and backoff to none"
    dead, retry = DeadLetterPolicy("dead", 5), RetryPolicy(60, 600)
    reader = reading(1, 1, dead_letter_policy=dead, retry_policy=retry)
    lease_id = reader.pull(now=2, deadline=600)
    reader.state = nack(reader.state, {lease_id: [0]}, 3, reader.on)
    (span,) = reader.snapshot(now=4).spans
    assert (span.state, list(span.positions)) == (State.AVAILABLE, [0, 1])
    assert (span.failures, span.delivery_attempt, span.lease_id, span.until) == (0, 1, None, None)


def test_what_an_ordered_batch_has_acked_is_not_held() -> None:
    reader = reading(1, 1, keys={0: "k", 1: "k"})
    lease_id = reader.pull(now=2)
    reader.ack(lease_id, 0, now=3)
    captured = reader.snapshot(now=4)
    assert brought_back(reader, captured, now=5) == [1]


# Filters


def test_what_follows_is_held_whether_it_matches_the_filter_of_the_source_or_not() -> None:
    # "including messages that do not match the source's filter"
    reader = Reader(FakeTopic(), **FILTERED)
    other = Reader(reader.source)
    reader.source.publish(0, at=1)
    reader.source.publish(1, at=1, matching=False)
    captured = reader.snapshot(now=2)
    reader.source.publish(2, at=3, matching=False)
    other.pull_and_ack(0, 1, 2, now=4)
    assert brought_back(other, captured) == [0, 2]


def test_the_filter_of_the_seeker_applies() -> None:
    # "with the *seeker's* filter applied"
    source = Reader(FakeTopic())
    seeker = Reader(source.source, **FILTERED)
    source.source.publish(0, at=1)
    source.source.publish(1, at=1, matching=False)
    captured = source.snapshot(now=2)
    source.source.publish(2, at=3)
    source.source.publish(3, at=3, matching=False)
    assert brought_back(seeker, captured) == [0, 2]
    assert brought_back(source, captured) == [0, 1, 2, 3]


def test_a_seeker_with_the_filter_of_the_source_gets_what_the_source_had() -> None:
    source = Reader(FakeTopic(), **FILTERED)
    source.source.publish(0, at=1)
    source.source.publish(1, at=1, matching=False)
    captured = source.snapshot(now=2)
    assert captured.filter == FILTERED["filter"]
    source.pull_and_ack(0, now=3)
    assert brought_back(source, captured) == [0]


# Seekers


def test_a_subscription_that_was_created_later_may_seek_to_it() -> None:
    # "from any subscription of the same topic, also one created later"
    source = reading(1)
    captured = source.snapshot(now=2)
    source.source.publish(1, at=3)
    seeker = Reader(source.source)
    source.source.publish(2, at=4)
    assert seeker.unacked(now=5) == [2]
    assert brought_back(seeker, captured) == [0, 1, 2]
    lease_id = seeker.pull(now=101)
    assert seeker.ack(lease_id, 0, 1, 2, now=102) == {"success": {0, 1, 2}}


def test_what_a_later_subscription_got_by_a_snapshot_it_can_acknowledge() -> None:
    # "live lease → `success`"
    source = reading(1)
    seeker = Reader(source.source)
    assert brought_back(seeker, source.snapshot(now=2), now=3) == [0]
    lease_id = seeker.pull(now=4)
    assert seeker.ack(lease_id, 0, now=5) == {"success": {0}}
    assert seeker.unacked(now=6) == []


def test_the_retention_of_the_seeker_applies() -> None:
    # "The seeker's retention applies to what a snapshot brings back."
    source = reading(0, 60)
    captured = source.snapshot(now=60)
    source.source.publish(2, at=120)
    seeker = Reader(source.source, message_retention_duration=timedelta(minutes=10))
    assert brought_back(seeker, captured, now=660) == [1, 2]
    assert brought_back(source, captured, now=660) == [0, 1, 2]
    assert brought_back(seeker, captured, now=661) == [2]


# Purges


def test_a_pending_purge_is_captured() -> None:
    # "A snapshot copies the state as it is, a pending purge included."
    source = reading(1)
    source.seek(10, now=2)
    source.source.publish(1, at=3)
    captured = source.snapshot(now=4)
    source.seek(0, now=5)
    for position, time in enumerate((6, 9, 10, 11), start=2):
        source.source.publish(position, at=time)
    assert source.unacked(now=12) == [2, 3, 4, 5]
    assert brought_back(source, captured) == [4, 5]
    assert brought_back(Reader(source.source), captured) == [4, 5]


def test_a_seek_to_a_snapshot_ends_the_purge_of_the_seeker() -> None:
    reader = reading(1)
    captured = reader.snapshot(now=2)
    reader.seek(1000, now=3)
    reader.source.publish(1, at=4)
    assert reader.unacked(now=5) == []
    reader.seek(to=captured, now=6)
    reader.source.publish(2, at=7)
    assert reader.unacked(now=8) == [0, 1, 2]


def test_a_purge_that_a_later_seek_ended_is_not_captured() -> None:
    reader = reading(1, retention=600)
    reader.seek(1000, now=2)
    reader.seek(0, now=3)
    assert reader.snapshot(now=4).floor is None


# Snapshots and time seek


def test_a_snapshot_makes_nothing_replayable_by_time() -> None:
    # "a snapshot makes nothing replayable by time"
    reader = reading(1, 2)
    captured = reader.snapshot(now=3)
    reader.pull_and_ack(0, 1, now=4)
    reader.seek(0, now=5)
    assert reader.unacked(now=5) == []
    assert brought_back(reader, captured, now=6) == [0, 1]
    reader.pull_and_ack(0, 1, now=7)
    reader.seek(0, now=8)
    assert reader.unacked(now=8) == []


def test_a_later_subscription_does_not_get_by_time_what_it_got_by_a_snapshot() -> None:
    source = reading(1)
    captured = source.snapshot(now=2)
    seeker = Reader(source.source)
    assert brought_back(seeker, captured, now=3) == [0]
    seeker.seek(100, now=4)
    seeker.seek(0, now=5)
    assert seeker.unacked(now=5) == []


def test_a_captured_purge_makes_nothing_replayable_by_time() -> None:
    # "a snapshot makes nothing replayable by time"; "acked ones if `retain_acked_messages` was on
    # when they were acked": message 0 was acked by the purge, when it was off.
    reader = reading()
    reader.seek(100, now=1)
    captured = reader.snapshot(now=2)
    reader.source.publish(0, at=3)
    reader.update(now=4, retain_acked_messages=True)
    reader.seek(to=captured, now=5)
    reader.look(now=5)
    reader.seek(0, now=6)
    assert reader.unacked(now=6) == []


def test_a_captured_purge_gives_a_later_subscription_nothing_from_before_it() -> None:
    # Only "while the topic's retention covers it" does a seek bring back a message "from before
    # the subscription existed"
    source = reading()
    source.seek(100, now=1)
    captured = source.snapshot(now=2)
    source.source.publish(0, at=3)
    seeker = Reader(source.source, **RETAINING)
    seeker.seek(to=captured, now=5)
    seeker.look(now=5)
    seeker.seek(0, now=6)
    assert seeker.unacked(now=6) == []


def test_a_captured_purge_retains_no_message_twice() -> None:
    reader = reading(coarse=True, **RETAINING)
    reader.seek(9, now=1)
    captured = reader.snapshot(now=2)
    reader.seek(0, now=2)
    for positions in ([0], [1, 2]):
        for position in positions:
            reader.source.publish(position, at=7 + position)
        reader.pull_and_ack(*positions, now=10)
    reader.seek(to=captured, now=11)
    reader.look(now=11)
    reader.seek(0, now=12)
    assert reader.unacked(now=12) == [0, 1, 2]
    assert reader.caught_up(12).count() == 3


def test_what_a_seek_to_a_snapshot_acks_is_retained_while_that_is_on() -> None:
    # "acked ones if `retain_acked_messages` was on when they were acked"
    reader = reading(1, 2, **RETAINING)
    reader.pull_and_ack(0, now=3)
    captured = reader.snapshot(now=4)
    reader.seek(0, now=5)
    assert reader.unacked(now=5) == [0, 1]
    assert brought_back(reader, captured, now=6) == [1]
    reader.seek(0, now=7)
    assert reader.unacked(now=7) == [0, 1]


def test_also_what_the_seeker_had_not_looked_at_yet() -> None:
    # "acked ones if `retain_acked_messages` was on when they were acked"
    source = Reader(FakeTopic())
    seeker = Reader(source.source, **RETAINING)
    source.source.publish(0, at=1)
    source.pull_and_ack(0, now=2)
    assert brought_back(seeker, source.snapshot(now=3), now=4) == []
    seeker.seek(0, now=5)
    assert seeker.unacked(now=5) == [0]


def test_what_a_captured_purge_acks_on_arrival_is_retained_while_that_is_on() -> None:
    # "A future t purges"; "only messages acked *after* it is turned on are retained"
    reader = reading(**RETAINING)
    reader.seek(100, now=1)
    captured = reader.snapshot(now=2)
    reader.seek(0, now=3)
    reader.seek(to=captured, now=4)
    reader.source.publish(0, at=5)
    assert reader.unacked(now=6) == []
    reader.seek(0, now=7)
    assert reader.unacked(now=7) == [0]


# How long a snapshot lives


@pytest.mark.parametrize(
    ("oldest", "lives"), [(None, 7 * DAY), (0, 7 * DAY - 100), (100, 7 * DAY), (200, 7 * DAY)]
)
def test_a_snapshot_lives_7_days_less_the_age_of_its_oldest_message(
    oldest: float | None, lives: float
) -> None:
    # "`expire_time` = creation + 7 d − age of the oldest unacked message (7 d if none)"
    published = None if oldest is None else at(oldest)
    assert replay.snapshot_expiry("name", at(100), published) == at(100 + lives)


@pytest.mark.parametrize(("age", "left"), [(7 * DAY - HOUR, HOUR), (7 * DAY - HOUR - 1, HOUR + 1)])
def test_an_hour_is_enough(age: float, left: float) -> None:
    # "Less than 1 h left → FAILED_PRECONDITION"
    assert replay.snapshot_expiry("name", at(age), at(0)) == at(age + left)


@pytest.mark.parametrize("age", [7 * DAY - HOUR + 1, 7 * DAY, 31 * DAY])
def test_less_than_an_hour_is_too_little_to_create_one(age: float) -> None:
    # "Less than 1 h left → FAILED_PRECONDITION, for creating it …"
    with pytest.raises(FailedPrecondition, match=r"snapshot name would expire in \d+ minutes"):
        replay.snapshot_expiry("name", at(age), at(0))


@pytest.mark.parametrize(("left", "fits"), [(HOUR + 1, True), (HOUR, True), (HOUR - 1, False)])
def test_less_than_an_hour_is_too_little_to_seek_to_one(left: float, fits: bool) -> None:
    # "… and for seeking to it"
    if fits:
        replay.check_lifetime("name", at(left), at(0))
        return
    with pytest.raises(FailedPrecondition, match="at least an hour is needed"):
        replay.check_lifetime("name", at(left), at(0))


def test_a_seek_that_is_taken_back_leaves_the_others() -> None:
    """A seek is whole or not at all: of two that are noted one may be taken back."""
    first, second = (Seek(at(n), n, time=at(0)) for n in (1, 2))
    state = AckState(0, seeks=(first, second, first))
    assert replay.withdraw(state, second).seeks == (first, first)
    assert replay.withdraw(state, first).seeks == (second, first)


def test_what_is_gone_leaves_a_state_but_for_what_is_being_forwarded() -> None:
    """A message on its way to a dead-letter topic goes there, whatever else happens."""
    forwarding = replace(available_span([5, 6]), state=State.FORWARDING, lease_id=3)
    leased = replace(available_span([3, 4]), state=State.LEASED, lease_id=2, until=at(10))
    streams = (Stream("query", 7, 2, Positions.of([3, 4])),)
    state = AckState(0, spans=(available_span([1, 2]), leased, forwarding), streams=streams)
    left = replay.without_deleted_messages(state, Positions.of([2, 4, 6]))
    assert {each.state: list(each.positions) for each in left.spans} == {
        State.AVAILABLE: [2],
        State.LEASED: [4],
        State.FORWARDING: [5, 6],
    }
    assert list(left.streams[0].positions) == [4]
