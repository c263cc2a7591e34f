"""What is too old to be kept: messages, and idle subscriptions (spec sections 3, 8 and 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from pubsub_delta.policy import delivery, retention
from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import with_spans
from pubsub_delta.resources import ExpirationPolicy, Subscription, Topic
from tests.unit.builders import (
    DAY,
    HOUR,
    PLAIN,
    FakeTopic,
    Reader,
    ack,
    at,
    available,
    available_span,
    backlog,
    committed,
    leased,
    pull,
    state_of,
    terms,
    topic_of,
)

EMPTY = AckState(after_version=0)


def keeping(seconds: float) -> Subscription:
    """Return a subscription that keeps messages for so many seconds."""
    return replace(PLAIN, message_retention_duration=timedelta(seconds=seconds))


class Times:
    """When messages were published, for those who would otherwise look at the topic."""

    def __init__(self, **times: float) -> None:
        self._times = {int(name[1:]): at(seconds) for name, seconds in times.items()}
        self.asked = 0

    def earlier(self, spans: Sequence[Span], time: datetime) -> tuple[Positions, datetime | None]:
        self.asked += 1
        early = Positions.of(n for n, each in self._times.items() if each < time)
        return early, min((each for each in self._times.values() if each >= time), default=None)


def discard(
    state: AckState, limit: float, covered: float | None = None, times: Times | None = None
) -> AckState:
    """Drop what is older than a subscription keeps, or a topic from a time on."""
    return retention.discard(
        state,
        keeping(100),
        at(limit + 100),
        lambda: None if covered is None else at(covered),
        (times or Times()).earlier,
    )


def retained_span(positions: Sequence[int], first: float, last: float | None = None) -> Span:
    return replace(available_span(positions, first, last), state=State.RETAINED)


# An unacknowledged message disappears


def test_what_is_older_than_the_retention_is_dropped() -> None:
    # "an unacked message disappears when it is older than max(subscription, topic) retention"
    state = state_of(committed([0], 0), committed([1], 5))
    assert available(discard(state, limit=5)) == [1]


def test_an_age_equal_to_the_retention_is_still_kept() -> None:
    # "an age equal to the limit is still kept"
    state = state_of(committed([0], 5))
    assert discard(state, limit=5) is state
    assert available(discard(state, limit=5.000001)) == []


@pytest.mark.parametrize(("covered", "kept"), [(None, [2]), (0, [0, 1, 2]), (3, [1, 2]), (9, [2])])
def test_the_longer_of_the_two_retentions_counts(covered: float | None, kept: list[int]) -> None:
    # "unacked messages not older than max(subscription, topic) retention"
    state = state_of(committed([0], 0), committed([1], 3), committed([2], 6))
    assert available(discard(state, limit=5, covered=covered)) == kept


def test_the_topic_is_asked_only_about_what_the_subscription_does_not_keep() -> None:
    def nobody() -> datetime | None:
        raise AssertionError("asked")

    state = state_of(committed([0], 5))
    assert retention.discard(state, keeping(5), at(10), nobody, Times().earlier) is state


def test_a_leased_message_is_dropped_only_after_its_lease() -> None:
    state, lease_id = pull(backlog(1), deadline=10)
    assert leased(discard(state, limit=5)) == {lease_id: [0]}
    state = delivery.settle(state, terms(), at(10))
    assert discard(state, limit=5).count() == 0


@pytest.mark.parametrize(("state", "goes"), [(State.BACKING_OFF, True), (State.FORWARDING, False)])
def test_a_waiting_message_may_go_but_not_one_that_is_being_forwarded(
    state: State, goes: bool
) -> None:
    span = replace(available_span([0]), state=state, lease_id=1, until=at(100))
    assert discard(with_spans(EMPTY, [span]), limit=5).count() == (0 if goes else 1)


def test_a_late_ack_of_a_dropped_message_changes_nothing() -> None:
    state, lease_id = pull(backlog(1))
    state = discard(delivery.settle(state, terms(), at(10)), limit=5)
    following, outcomes = ack(state, {lease_id: [0]}, now=11)
    assert outcomes == {"success": {lease_id: {0}}}
    assert following.spans == state.spans


# A span across the limit is divided


def test_the_old_messages_go_out_of_a_span_with_others() -> None:
    state = state_of(committed([0, 1, 2], 0, 9), committed([3], 20))
    kept = discard(state, limit=5, times=Times(p0=0, p1=6, p2=4, p3=20))
    assert available(kept) == [1, 3]
    assert [span.publish_time_min for span in kept.spans] == [at(6), at(20)]
    assert discard(kept, limit=5) is kept


@pytest.mark.parametrize(("limit", "looks"), [(0, 0), (0.1, 1), (9, 1), (9.1, 0)])
def test_the_topic_is_looked_at_only_where_a_span_lies_across(limit: float, looks: int) -> None:
    times = Times(p0=0, p1=9)
    discard(state_of(committed([0, 1], 0, 9)), limit=limit, times=times)
    assert times.asked == looks


def test_a_lease_is_never_divided() -> None:
    # The topic may tell of more than it is asked about: they were published before, too.
    state, lease_id = pull(state_of(committed([0, 1, 2], 0, 9), committed([3], 20)), 1)
    kept = discard(state, limit=5, times=Times(p0=0, p1=1, p2=6, p3=20))
    assert leased(kept) == {lease_id: [0]}
    assert available(kept) == [2, 3]


def test_dividing_takes_the_earlier_messages_and_those_at_the_time_or_later() -> None:
    # "retained messages with `publish_time < t` …, those with `publish_time ≥ t` …"
    whole = [available_span([0], 1), available_span([1], 5), available_span([2], 9)]
    across = available_span([3, 4, 5], 2, 8)
    times = Times(p3=2, p4=5, p5=8)
    before, after = retention.divide([*whole, across], at(5), times.earlier)
    assert [list(span.positions) for span in before] == [[0], [3]]
    assert [list(span.positions) for span in after] == [[1], [2], [4, 5]]
    assert times.asked == 1


def test_dividing_never_widens_the_times_of_a_span() -> None:
    span = available_span([0, 1], 2, 9)
    ((early,), (late,)) = retention.divide([span], at(5), Times(p0=2, p1=8, p7=5).earlier)
    assert (early.publish_time_min, early.publish_time_max) == (at(2), at(5))
    assert (late.publish_time_min, late.publish_time_max) == (at(5), at(9))


def test_dividing_leaves_no_empty_span() -> None:
    span = available_span([0, 1], 0, 9)
    assert retention.divide([span], at(5), Times(p0=0, p1=1).earlier)[1] == []
    assert retention.divide([span], at(5), Times(p0=6, p1=7).earlier)[0] == []
    assert retention.divide([], at(5), Times().earlier) == ([], [])


def test_dropping_all_messages_leaves_nothing() -> None:
    state = state_of(committed([0, 1], 0, 9))
    assert discard(state, limit=9, times=Times(p0=0, p1=8)).spans == ()


# Retained acknowledged messages


def test_a_retained_message_is_dropped_by_the_retention_of_its_subscription_alone() -> None:
    # "acked ones … not older than the subscription's retention"
    state = with_spans(EMPTY, [retained_span([0], 4), retained_span([1], 5)])
    assert list(discard(state, limit=5, covered=0).positions(State.RETAINED)) == [1]
    assert list(discard(state, limit=5.1, covered=0).positions(State.RETAINED)) == []


def test_retained_messages_go_without_a_look_at_the_topic_unless_it_must_be_exact() -> None:
    state = with_spans(EMPTY, [retained_span([0, 1], 0, 9)])
    times = Times(p0=0, p1=9)
    assert discard(state, limit=5, times=times) is state
    assert times.asked == 0
    exact = retention.clip_retained(state, keeping(100), at(105), times.earlier)
    assert list(exact.positions(State.RETAINED)) == [1]


# A topic's own retention


def test_a_topic_covers_messages_up_to_its_retention() -> None:
    # "any message while the topic's retention covers it"; "an age equal to the limit is still kept"
    assert retention.covered_from(topic_of(retention=60), at(100)) == at(40)
    assert retention.covered_from(topic_of(), at(100)) is None


def test_turned_on_it_covers_what_is_published_from_then_on() -> None:
    # "turned on at time R: covers what is published from R on"
    assert retention.retained_from(topic_of(), timedelta(seconds=60), at(30)) == at(30)
    topic = topic_of(retention=60, since=30)
    assert [retention.covered_from(topic, at(now)) for now in (30, 89, 90, 91)] == [
        at(30),
        at(30),
        at(30),
        at(31),
    ]


def changed(topic: Topic, seconds: float | None, now: float) -> Topic:
    source = FakeTopic(topic)
    source.retain(seconds, now)
    assert source.topic is not None
    return source.topic


def test_lengthened_it_keeps_covering_what_was_covered() -> None:
    # "lengthened from D1 to D2 at R: what was covered at R stays covered (from R − D1)"
    topic = changed(topic_of(retention=10), 60, now=100)
    assert retention.covered_from(topic, at(100)) == at(90)
    assert retention.covered_from(topic, at(150)) == at(90)
    assert retention.covered_from(topic, at(151)) == at(91)


def test_shortened_it_covers_less_at_once_and_for_good() -> None:
    # "Already discarded messages never come back"
    topic = changed(topic_of(retention=60), 10, now=100)
    assert retention.covered_from(topic, at(100)) == at(90)
    assert retention.covered_from(changed(topic, 60, now=100), at(100)) == at(90)
    assert retention.covered_from(changed(topic, 60, now=105), at(105)) == at(95)


def test_cleared_it_covers_nothing_and_turned_on_again_it_begins_anew() -> None:
    # "cleared: nothing more is covered by it"
    topic = changed(topic_of(retention=60), None, now=100)
    assert topic.retained_from is None
    assert retention.covered_from(topic, at(100)) is None
    assert retention.covered_from(changed(topic, 60, now=101), at(101)) == at(101)


def test_a_deleted_topic_covers_nothing() -> None:
    # "the topic's retention no longer applies"
    assert retention.covered_from(None, at(0)) is None


@pytest.mark.parametrize("retain", [False, True])
def test_a_longer_retention_of_a_subscription_brings_nothing_back(retain: bool) -> None:
    # "nor do they when a subscription's retention is lengthened"
    topic = FakeTopic()
    reader = Reader(
        topic,
        message_retention_duration=timedelta(minutes=10),
        retain_acked_messages=retain,
        coarse=True,
    )
    for position, time in enumerate((0, 30, 60, 90)):
        topic.publish(position, at=time)
    if retain:
        reader.pull_and_ack(0, 1, now=100)
    reader.update(now=660, message_retention_duration=timedelta(days=7))
    assert reader.unacked(now=660) == ([2, 3])
    reader.seek(0, now=660)
    assert reader.unacked(now=660) == ([2, 3])


# Expiration


@pytest.mark.parametrize(("idle", "expires"), [(DAY - 1, False), (DAY, False), (DAY + 1e-6, True)])
def test_a_subscription_expires_when_idle_for_longer_than_its_ttl(
    idle: float, expires: bool
) -> None:
    # "the job deletes subscriptions idle for longer than their ttl"
    subscription = replace(keeping(600), expiration_policy=ExpirationPolicy("1d"))
    assert retention.is_idle(subscription, None, at(idle)) is expires
    assert retention.is_idle(subscription, at(HOUR), at(HOUR + idle)) is expires


def test_a_request_and_an_update_are_activity() -> None:
    # "any pull, ack, seek or update counts as activity"
    policy = ExpirationPolicy("1d")
    fields = replace(keeping(600), expiration_policy=policy, update_time=at(5 * DAY))
    assert not retention.is_idle(fields, None, at(6 * DAY))
    assert not retention.is_idle(fields, at(2 * DAY), at(6 * DAY))
    assert not retention.is_idle(fields, at(7 * DAY), at(8 * DAY))
    assert retention.is_idle(fields, at(5 * DAY + 1), at(6 * DAY + 2))


def test_a_subscription_without_a_ttl_never_expires() -> None:
    # ""never" possible"
    fields = replace(PLAIN, expiration_policy=ExpirationPolicy(None))
    assert not retention.is_idle(fields, None, at(10_000 * DAY))
