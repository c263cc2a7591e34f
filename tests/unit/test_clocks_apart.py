"""Clocks that are apart, or step back: what docs/clocks.md says of each feature.

Nobody's clock is right here. Whoever acts brings a clock of its own, which is so many seconds off.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy import delivery, replay, retention
from pubsub_delta.policy.ack_state import State, union
from pubsub_delta.policy.replay import check_lifetime, snapshot_expiry
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import (
    DAY,
    HOUR,
    MINUTE,
    PLAIN,
    FakeTopic,
    Reader,
    ack,
    at,
    available,
    backlog,
    leased,
    nack,
    pull,
    reading,
    terms,
    topic_of,
)

off = st.integers(-int(HOUR), int(HOUR))
"""By how many seconds a clock is wrong."""


# Leases and backoffs


@given(off, off, st.integers(10, 600), st.integers(0, int(3 * HOUR)))
def test_a_lease_ends_as_much_early_or_late_as_the_clocks_are_apart(
    puller: int, looker: int, deadline: int, later: int
) -> None:
    state, _ = pull(backlog(1), now=puller, deadline=deadline)
    free = available(state, now=later + looker) == [0]
    assert free == (later >= deadline + puller - looker)
    if later >= deadline + abs(puller - looker):
        assert free
    if later < deadline - abs(puller - looker):
        assert not free


@given(off, off, st.integers(1, 600), st.integers(0, int(3 * HOUR)))
def test_a_backoff_ends_as_much_early_or_late_as_the_clocks_are_apart(
    nacker: int, looker: int, wait: int, later: int
) -> None:
    on = terms(retry_policy=RetryPolicy(timedelta(seconds=wait), "600s"))
    state, lease_id = pull(backlog(1), now=nacker, on=on)
    state = nack(state, {lease_id: [0]}, now=nacker, on=on)
    free = available(state, now=later + looker, on=on) == [0]
    assert free == (later >= wait + nacker - looker)


def test_what_a_clock_ahead_ended_stays_ended_for_all() -> None:
    state, first = pull(backlog(1), now=0, deadline=600)
    state, second = pull(state, now=HOUR)  # another one's clock says so
    assert leased(state, now=1) == {second: [0]}
    state, told = ack(state, {first: [0]}, now=1)
    assert told == {"expired": {first: {0}}}  # and it does not take it from the other
    assert leased(state, now=1) == {second: [0]}
    _, told = ack(state, {second: [0]}, now=HOUR + 1)
    assert told == {"success": {second: {0}}}


def test_a_clock_that_steps_back_keeps_leases_for_longer_and_ends_none_early() -> None:
    state, lease_id = pull(backlog(1), now=0, deadline=10)
    assert leased(state, now=-HOUR) == {lease_id: [0]}
    assert available(state, now=9) == []
    assert available(state, now=10) == [0]


def test_a_lease_that_ends_early_counts_as_a_failed_attempt() -> None:
    on = terms(dead_letter_policy=DeadLetterPolicy("projects/p/topics/dead", 5))
    state, _ = pull(backlog(1), now=0, deadline=600, on=on)
    state, _ = pull(state, now=HOUR, deadline=600, on=on)
    (span,) = state.in_state(State.LEASED)
    assert span.delivery_attempt == 2


@given(off, off)
def test_with_exactly_once_an_early_end_makes_the_ack_invalid_and_a_success_stays_final(
    holder: int, other: int
) -> None:
    on = terms(enable_exactly_once_delivery=True)
    state, lease_id = pull(backlog(2), 1, now=holder, deadline=60, on=on)
    state, told = ack(state, {lease_id: [0]}, now=other, on=on)
    if other - holder < 60:
        assert told == {"success": {lease_id: {0}}}
        assert available(state, now=3 * HOUR, on=on) == [1]
    else:
        assert told == {"invalid": {lease_id: {0}}}
        assert available(state, now=3 * HOUR, on=on) == [0, 1]


# Nothing is lost, whoever's clock is wrong


class Crowd:
    """Consumers and publishers of one subscription, each with a clock of its own."""

    def __init__(self, keys: bool, **fields: Any) -> None:
        self.topic = FakeTopic()
        self.keys = {n: "ab"[n % 2] for n in range(500)} if keys else None
        self.reader = Reader(self.topic, self.keys, **fields)
        self.published = 0
        self.acked: set[int] = set()
        self.held: list[tuple[int, int]] = []

    def publish(self, now: float, count: int) -> None:
        self.topic.publish(*range(self.published, self.published + count), at=now)
        self.published += count

    def pull(self, now: float, count: int) -> None:
        self.reader.look(now)
        state, spans = delivery.lease(self.reader.state, count or None, self.reader.on, at(now))
        self.reader.state = state
        self.held += [(s.lease_id or 0, each) for s in spans for each in s.positions]

    def ack(self, now: float, count: int) -> None:
        named, self.held = self.held[:count], self.held[count:]
        for lease_id, position in named:
            told = self.reader.ack(lease_id, position, now=now)
            elsewhere = union(self.reader.state.in_state(State.LEASED))
            if "success" in told or ("expired" in told and position not in elsewhere):
                self.acked.add(position)

    def nack(self, now: float, count: int) -> None:
        named, self.held = self.held[:count], self.held[count:]
        for lease_id, position in named:
            self.reader.state = nack(self.reader.state, {lease_id: [position]}, now, self.reader.on)


steps = st.lists(
    st.tuples(st.sampled_from(["publish", "pull", "ack", "nack"]), off, st.integers(0, 4)),
    max_size=30,
)


@settings(max_examples=200)
@given(
    steps,
    st.sampled_from([None, RetryPolicy("10s", "600s")]),
    st.booleans(),
)
def test_a_message_goes_by_its_ack_alone_however_clocks_jump(
    done: list[tuple[str, int, int]], retry_policy: RetryPolicy | None, exactly_once: bool
) -> None:
    crowd = Crowd(False, retry_policy=retry_policy, enable_exactly_once_delivery=exactly_once)
    for what, now, count in done:
        getattr(crowd, what)(now, count)
        spans = crowd.reader.state.unacked()
        assert sum(map(len, spans)) == len(union(spans))  # no message stands in two states
        assert set(crowd.reader.unacked(now)) == set(range(crowd.published)) - crowd.acked
    crowd.held.clear()
    crowd.pull(3 * HOUR, 0)
    assert {each for _, each in crowd.held} == set(range(crowd.published)) - crowd.acked


@settings(max_examples=100)
@given(steps)
def test_the_messages_of_a_key_come_in_the_order_of_their_commits_whatever_their_stamps(
    done: list[tuple[str, int, int]],
) -> None:
    """With ordering on, no pull gets a message while an earlier one of its key is not acked."""
    crowd = Crowd(True, enable_exactly_once_delivery=True)
    for what, now, count in done:
        before = len(crowd.held)
        getattr(crowd, what)(now, count)
        if what == "pull":
            got = {each for _, each in crowd.held[before:]}
            unacked = set(crowd.reader.unacked(now))
            assert all(
                earlier in got
                for each in got
                for earlier in unacked
                if earlier < each and earlier % 2 == each % 2
            )


def test_messages_are_delivered_by_position_not_by_publish_time() -> None:
    reader = reading(HOUR, 0, -HOUR)
    reader.pull(1, now=0)
    assert leased(reader.state) == {1: [0]}


# Retention: the only loss that a clock can cause


@pytest.mark.parametrize(
    ("publisher", "looker", "kept"),
    [
        (0, 0, [0]),
        (-HOUR, 0, [0]),
        (0, HOUR, [0]),
        (-HOUR, HOUR, [0]),
        (HOUR, -HOUR, [0]),
        (-DAY, 0, [0]),  # an age equal to the retention is still kept
        (-DAY - 1, 0, []),
        (0, DAY + 1, []),
        (-DAY / 2, DAY / 2 + 1, []),
    ],
)
def test_a_message_is_lost_where_clocks_are_apart_by_more_than_the_retention(
    publisher: float, looker: float, kept: list[int]
) -> None:
    reader = reading(publisher, message_retention_duration=timedelta(days=1))
    assert reader.unacked(now=looker) == kept


@given(off, off, st.integers(int(DAY - 2 * HOUR), int(DAY + 2 * HOUR)))
def test_retention_ends_as_much_early_or_late_as_the_clocks_are_apart(
    publisher: int, looker: int, later: int
) -> None:
    stamps = (publisher, publisher + 30 * MINUTE)
    reader = reading(*stamps, message_retention_duration=timedelta(days=1))
    kept = [n for n, stamp in enumerate(stamps) if later + looker <= DAY + stamp]
    assert reader.unacked(now=later + looker) == kept


def test_the_job_keeps_what_its_own_clock_says_a_subscription_can_get() -> None:
    """Its clock ahead, the retention job deletes what other clocks would keep for an hour."""
    reader = reading(0, message_retention_duration=timedelta(days=1))
    assert reader.needed(now=DAY) == at(0)
    assert reader.needed(now=DAY + HOUR) is None
    covered = retention.covered_from(topic_of(DAY, since=0), at(DAY + HOUR))
    assert covered == at(HOUR)


# Seek


@pytest.mark.parametrize(("publisher", "kept"), [(-HOUR, []), (0, [0]), (HOUR, [0])])
def test_a_seek_compares_its_time_with_the_publishers_clock(
    publisher: float, kept: list[int]
) -> None:
    reader = reading(MINUTE + publisher)  # published a minute after START
    reader.look(now=2 * MINUTE)
    reader.seek(MINUTE, now=2 * MINUTE)
    assert reader.unacked(now=2 * MINUTE) == kept


def test_a_seek_to_what_the_seeker_calls_past_acks_nothing_that_is_committed_later() -> None:
    reader = reading(0)
    reader.seek(MINUTE, now=MINUTE)
    reader.source.publish(1, at=-HOUR)  # a publisher whose clock is behind
    assert reader.unacked(now=2 * MINUTE) == [1]


def test_a_seek_to_a_time_ahead_of_the_seekers_clock_acks_what_is_stamped_before_it() -> None:
    """Also a time that has come for others: a seeker who is behind asks for a purge."""
    reader = reading(0)
    reader.seek(MINUTE, now=-HOUR)
    reader.source.publish(1, at=30)
    reader.source.publish(2, at=MINUTE)
    assert reader.unacked(now=2 * MINUTE) == [2]


def test_a_seek_to_a_snapshot_asks_no_publishers_clock() -> None:
    reader = reading(-HOUR, HOUR)
    snapshot = reader.snapshot(now=0)
    reader.pull_and_ack(0, 1, now=0)
    reader.source.publish(2, at=-HOUR)
    reader.seek(to=snapshot, now=1)
    assert reader.unacked(now=1) == [0, 1, 2]


# Snapshots and expiration


@pytest.mark.parametrize(
    ("age", "lifetime"),
    [(0, 7 * DAY), (HOUR, 7 * DAY - HOUR), (-HOUR, 7 * DAY)],
    ids=["in step", "publisher behind", "publisher ahead"],
)
def test_a_snapshot_lives_shorter_where_its_publisher_was_behind_and_never_longer(
    age: float, lifetime: float
) -> None:
    assert snapshot_expiry("n", at(0), at(-age)) == at(lifetime)


def test_a_snapshot_ends_as_much_early_or_late_as_the_clocks_are_apart() -> None:
    expire_time = snapshot_expiry("n", at(0), None)
    now = 7 * DAY - 1.5 * HOUR  # by a right clock it has one and a half hours to live
    for apart in (0, -HOUR):
        check_lifetime("n", expire_time, at(now + apart))
    with pytest.raises(FailedPrecondition, match="would expire in 30 minutes"):
        check_lifetime("n", expire_time, at(now + HOUR))


@given(off, off)
def test_noted_activity_never_goes_back(first: int, second: int) -> None:
    state = backlog(1)
    noted = replay.note_activity(state, pull(state)[0], PLAIN, at(first))
    again = replay.note_activity(noted, nack(noted, {1: [0]}), PLAIN, at(second))
    assert again.active_time == max(at(0), at(first), at(second))  # created at START


@pytest.mark.parametrize(("apart", "idle"), [(-HOUR, False), (0, False), (1, True), (HOUR, True)])
def test_a_subscription_expires_as_much_early_or_late_as_the_clocks_are_apart(
    apart: float, idle: bool
) -> None:
    assert retention.is_idle(PLAIN, at(0), at(31 * DAY + apart)) == idle
