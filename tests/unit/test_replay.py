"""Seek to a time (spec sections 8 and 11)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.builders import FakeTopic, Reader, reading, topic_of

SEVEN_DAYS = 7 * 86_400.0
RETAINING: dict[str, Any] = {"retain_acked_messages": True}


# Seek to a time


@pytest.mark.parametrize(
    ("time", "kept"),
    [(-1, [0, 1, 2]), (1, [0, 1, 2]), (1.000001, [1, 2]), (2, [1, 2]), (3, [2]), (3.1, [])],
)
@pytest.mark.parametrize("coarse", [False, True])
def test_what_was_published_earlier_is_acked_and_the_rest_is_not(
    time: float, kept: list[int], coarse: bool
) -> None:
    # "retained messages with `publish_time < t` become acked, those with `≥ t` unacked"
    reader = reading(1, 2, 3, coarse=coarse)
    reader.look(now=5)
    reader.seek(time, now=5)
    assert reader.unacked(now=5) == kept


@pytest.mark.parametrize("looked", [[], [4], [5], [6], [4, 5, 6]])
def test_a_seek_means_the_topic_as_it_was_then_whenever_it_is_carried_out(
    looked: list[float],
) -> None:
    # "Seek is atomic here: consistent at once"
    reader = reading(1)
    for now in (4, 5, 6):
        if now == 5:
            reader.seek(3, now=5)
        if now in looked:
            reader.look(now)
        reader.source.publish(now, at=now)
    assert reader.unacked(now=7) == [4, 5, 6]


def test_what_was_acked_and_is_not_retained_does_not_come_back() -> None:
    # "It restores only what is still retained"
    reader = reading(1, 2, 3)
    reader.pull_and_ack(0, 1, now=4)
    reader.seek(0, now=5)
    assert reader.unacked(now=5) == [2]


@pytest.mark.parametrize("time", [3, 4])
def test_a_message_that_a_slow_publisher_commits_after_a_seek_is_not_lost(time: float) -> None:
    reader = reading(1)
    reader.seek(time, now=4)
    reader.source.publish(1, at=2)
    assert reader.unacked(now=5) == [1]


# A time in the future


def test_a_future_time_purges_and_acks_what_is_published_until_then() -> None:
    # "A future t purges (and also acks what is published until t)."
    reader = reading(1, 2)
    reader.look(now=3)
    reader.source.publish(2, at=3)
    reader.seek(10, now=4)
    unacked = {4: [], 9.999999: [], 10: [5], 11: [5, 6]}
    for position, time in enumerate(unacked, start=3):
        reader.source.publish(position, at=time)
        assert reader.unacked(now=time) == unacked[time]


@pytest.mark.parametrize("looked", [[], [5], [6, 8]])
def test_a_purge_goes_on_over_later_commits_however_often_it_is_looked_at(
    looked: list[float],
) -> None:
    reader = reading(1)
    reader.seek(10, now=4)
    for now in (5, 6, 7, 8):
        reader.source.publish(int(now), at=now)
        if now in looked:
            reader.look(now)
    reader.source.publish(12, at=12)
    reader.source.publish(9, at=9)  # a slow publisher's: its stamp counts
    assert reader.unacked(now=13) == [12]


def test_a_seek_to_now_purges_nothing_that_follows() -> None:
    reader = reading(1, 4)
    reader.seek(4, now=4)
    reader.source.publish(2, at=4)
    assert reader.unacked(now=5) == [1, 2]


@pytest.mark.parametrize(("fields", "back"), [({}, []), (RETAINING, [0, 1, 2])])
def test_a_seek_back_ends_a_purge_and_restores_what_is_retained(
    fields: dict[str, Any], back: list[int]
) -> None:
    # "acked ones if `retain_acked_messages` was on when they were acked"
    reader = reading(1, 2, **fields)
    reader.seek(100, now=4)
    reader.source.publish(2, at=5)
    reader.seek(0, now=6)
    reader.source.publish(3, at=7)
    assert reader.unacked(now=8) == [*back, 3]


def test_a_purge_retains_what_it_acks_while_that_is_on() -> None:
    # "only messages acked *after* it is turned on are retained"
    reader = reading(1)
    reader.seek(100, now=2)
    reader.source.publish(1, at=3)
    reader.update(now=4, retain_acked_messages=True)
    reader.source.publish(2, at=5)
    reader.update(now=6, retain_acked_messages=False)
    reader.source.publish(3, at=7)
    reader.seek(0, now=8)
    assert reader.unacked(now=8) == [2]


# Retained acknowledged messages


def test_what_is_acked_while_it_is_retained_comes_back() -> None:
    # "acked ones if `retain_acked_messages` was on when they were acked"
    reader = reading(1, 2, 3, **RETAINING)
    reader.pull_and_ack(0, 1, 2, now=4)
    assert reader.unacked(now=5) == []
    reader.seek(2, now=5)
    assert reader.unacked(now=5) == [1, 2]
    reader.seek(0, now=6)
    assert reader.unacked(now=6) == [0, 1, 2]


def test_only_what_is_acked_after_it_is_turned_on_is_retained() -> None:
    # "only messages acked *after* it is turned on are retained"
    reader = reading(1, 2, 3)
    reader.pull_and_ack(0, now=4)
    reader.update(now=5, retain_acked_messages=True)
    reader.pull_and_ack(1, now=6)
    reader.update(now=7, retain_acked_messages=False)
    reader.pull_and_ack(2, now=8)
    reader.seek(0, now=9)
    assert reader.unacked(now=9) == [1]
    reader.pull_and_ack(1, now=10)  # again, and now it is not retained
    reader.seek(0, now=11)
    assert reader.unacked(now=11) == []


def test_what_is_retained_stays_so_when_a_seek_does_not_bring_it_back() -> None:
    reader = reading(1, 2, **RETAINING)
    reader.pull_and_ack(0, 1, now=3)
    reader.update(now=4, retain_acked_messages=False)
    reader.seek(2, now=5)
    assert reader.unacked(now=5) == [1]
    reader.seek(0, now=6)
    assert reader.unacked(now=6) == [0, 1]


def test_a_late_ack_retains_its_message_too() -> None:
    # "acking after expiry is accepted and … prevents redelivery"
    reader = reading(1, **RETAINING)
    lease_id = reader.pull(now=2)
    assert reader.ack(lease_id, 0, now=20) == {"expired": {0}}
    assert reader.unacked(now=20) == []
    reader.seek(0, now=21)
    assert reader.unacked(now=21) == [0]


@pytest.mark.parametrize("coarse", [False, True])
def test_what_is_retained_comes_back_as_far_as_the_retention_reaches(coarse: bool) -> None:
    # "not older than the subscription's retention"; "an age equal to the limit is still kept"
    week = timedelta(days=7)
    reader = reading(0, 1, 2, message_retention_duration=week, coarse=coarse, **RETAINING)
    reader.pull_and_ack(0, 1, 2, now=3)
    now = SEVEN_DAYS + 1
    reader.seek(0, now=now)
    assert reader.unacked(now=now) == [1, 2]


# What the topic's own retention covers


@pytest.mark.parametrize(("time", "back"), [(-9, [1, 2, 3]), (50, [1, 2, 3]), (70, [2, 3])])
def test_the_topic_brings_back_whatever_it_covers(time: float, back: list[int]) -> None:
    # "any message while the topic's retention covers it"; "an age equal to the limit is still kept"
    reader = reading(49, 50, 70, 90, retention=60)
    reader.pull_and_ack(0, 1, 2, 3, now=100)
    reader.seek(time, now=110)
    assert reader.unacked(now=110) == back


def test_also_from_before_the_subscription_existed() -> None:
    # "any message while the topic's retention covers it, also from before the subscription existed"
    topic = FakeTopic(topic_of(retention=600))
    topic.publish(0, at=1)
    reader = Reader(topic)
    topic.publish(1, at=3)
    assert reader.unacked(now=4) == [1]
    reader.seek(0, now=5)
    assert reader.unacked(now=5) == [0, 1]
    lease_id = reader.pull(now=6)
    assert reader.ack(lease_id, 0, 1, now=7) == {"success": {0, 1}}


def test_only_what_passes_the_filter_comes_back() -> None:
    # "Messages that do not match are never in the backlog"
    topic = FakeTopic(topic_of(retention=600))
    topic.publish(0, at=1)
    topic.publish(1, at=1, matching=False)
    reader = Reader(topic, filter="attributes:k")
    topic.publish(2, at=2, matching=False)
    topic.publish(3, at=2)
    reader.pull_and_ack(3, now=3)
    reader.seek(0, now=4)
    assert reader.unacked(now=4) == [0, 3]


def test_coverage_counts_as_it_was_at_the_seek() -> None:
    # "Seek is atomic here"
    reader = reading(1, retention=600)
    reader.pull_and_ack(0, now=2)
    reader.source.retain(None, now=3)
    reader.seek(0, now=4)
    assert reader.unacked(now=4) == []
    reader.source.retain(600, now=5)
    assert reader.unacked(now=6) == []
    reader.source.publish(1, at=6)
    reader.pull_and_ack(1, now=7)
    reader.seek(0, now=8)
    reader.source.retain(None, now=9)
    assert reader.unacked(now=10) == [1]


def test_what_is_unacked_stays_as_long_as_the_topic_covers_it() -> None:
    # "unacked messages not older than max(subscription, topic) retention"
    reader = reading(0, 5, retention=3600, message_retention_duration=timedelta(minutes=10))
    assert reader.unacked(now=3600) == [0, 1]
    assert reader.unacked(now=3601) == [1]
    reader.source.retain(None, now=3601)
    assert reader.unacked(now=3601) == []


def test_of_a_deleted_topic_only_the_own_backlog_is_left() -> None:
    # "the topic's retention no longer applies; the subscription keeps its own backlog, pull, ack
    # and time seek"
    reader = reading(1, 2, 3, retention=3600)
    reader.pull_and_ack(0, now=4)
    reader.source.topic = None
    assert reader.unacked(now=5) == [1, 2]
    reader.seek(0, now=5)
    assert reader.unacked(now=5) == [1, 2]
    reader.seek(3, now=6)
    assert reader.unacked(now=6) == [2]
    reader.pull_and_ack(2, now=7)
    assert reader.unacked(now=8) == []
