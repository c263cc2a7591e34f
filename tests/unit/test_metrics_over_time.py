"""The metrics of a subscription over time: each moment has the metrics of then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.operations.survey import SubscriptionMoment
from tests.unit.builders import MINUTE, at
from tests.unit.in_memory import NAME, InMemory


def test_metrics_over_time_end_with_what_the_metrics_say_now() -> None:
    """What was published since the last commit of the ack state is counted, when it was."""
    store = InMemory()
    store.publish("a")
    store.be_at(MINUTE)
    store.ack("a")
    store.be_at(2 * MINUTE)
    store.publish("b", "c")
    store.be_at(5 * MINUTE)
    told = store.store.subscription_history(NAME)
    assert [(each.time, each.num_undelivered_messages) for each in told[-2:]] == [
        (at(2 * MINUTE), 2),
        (at(5 * MINUTE), 2),
    ]
    assert told[-1].oldest_unacked_message_age == 3 * MINUTE
    metrics = store.store.metrics(NAME)
    assert told[-1].num_undelivered_messages == metrics["num_undelivered_messages"]


def test_metrics_over_time_are_what_the_metrics_were_at_each_time() -> None:
    """A chart of the past shows the numbers that somebody who looked then was shown."""
    world = InMemory(dead_letter_policy=DeadLetterPolicy("letters"))
    steps: list[Callable[[], Any]] = [
        lambda: world.publish("a", "b", "c"),
        lambda: world.pull(1),
        lambda: world.ack("b"),
        lambda: world.publish("d"),
        *[lambda: world.store.pull(NAME).nack()] * 5,
        world.pull,
        lambda: world.publish("e"),
        lambda: world.store.pull(NAME).ack(),
    ]
    seen = []
    for minute, step in enumerate(steps, 1):
        world.be_at(minute * MINUTE)
        step()
        told = world.store.subscription_metrics(NAME)
        age = 0.0
        if told.oldest_unacked_publish_time is not None:
            age = (world.now - told.oldest_unacked_publish_time).total_seconds()
        seen.append(
            SubscriptionMoment(
                world.now,
                told.num_undelivered_messages,
                told.num_outstanding_messages,
                age,
                told.delivery_attempt or 0,
                told.ack_message_count_success,
                told.dead_letter_message_count,
            )
        )
    moments = {each.time: each for each in world.store.subscription_history(NAME)}
    assert [moments[each.time] for each in seen] == seen
    assert max(each.delivery_attempt for each in seen) > 1
    assert seen[-1].dead_letter_message_count == 3


def test_metrics_over_time_have_one_moment_for_now() -> None:
    """The metrics are those "until now": a use just now is not told twice."""
    store = InMemory()
    store.publish("a")
    store.be_at(MINUTE)
    store.pull()
    times = [each.time for each in store.store.subscription_history(NAME)]
    assert (times[-1], times.count(at(MINUTE))) == (at(MINUTE), 1)


def test_a_publish_makes_the_oldest_message_of_before_no_younger() -> None:
    """``oldest_unacked_message_age``: "age of the oldest unacknowledged message"."""
    store = InMemory()
    store.publish("a")
    for minutes in (1, 2, 3):
        store.be_at(minutes * MINUTE)
        store.publish("b")
    ages = [each.oldest_unacked_message_age for each in store.store.subscription_history(NAME)]
    assert ages[-3:] == [MINUTE, 2 * MINUTE, 3 * MINUTE]


def test_what_is_published_after_a_detach_is_in_no_moment() -> None:
    store = InMemory()
    store.publish("a")
    store.pull()
    store.be_at(MINUTE)
    store.store.detach_subscription(NAME)
    store.be_at(2 * MINUTE)
    store.publish("b", "c")
    store.be_at(3 * MINUTE)
    told = store.store.subscription_history(NAME)
    assert max(each.num_undelivered_messages for each in told) == 1
    assert told[-1].num_undelivered_messages == 0


def test_a_message_of_a_later_time_has_no_age() -> None:
    """A clock was set back, or another machine's is fast: an age below zero is none."""
    store = InMemory()
    store.be_at(10 * MINUTE)
    store.publish("a")
    store.be_at(5 * MINUTE)
    told = store.store.subscription_history(NAME)
    assert [each.oldest_unacked_message_age for each in told if each.time == at(5 * MINUTE)] == [0]
    assert min(each.oldest_unacked_message_age for each in told) == 0


def test_metrics_over_time_have_the_last_of_many_publishes() -> None:
    """As many publishes as points."""
    store = InMemory()
    for minute in range(1, 6):
        store.be_at(minute * MINUTE)
        store.publish("a")
    store.be_at(6 * MINUTE)
    told = store.store.subscription_history(NAME, points=2)
    assert [each.time for each in told[-3:]] == [at(4 * MINUTE), at(5 * MINUTE), at(6 * MINUTE)]


def test_metrics_over_time_count_publishes_that_have_no_moment() -> None:
    """A chart of the past shows the numbers that somebody who looked then was shown."""
    store = InMemory()
    for minute in range(1, 6):
        store.be_at(minute * MINUTE)
        store.publish("a", "b")
    store.be_at(6 * MINUTE)
    told = store.store.subscription_history(NAME, points=2)
    assert [each.num_undelivered_messages for each in told[-3:]] == [8, 10, 10]
    assert [each.oldest_unacked_message_age for each in told[-3:]] == [
        3 * MINUTE,
        4 * MINUTE,
        5 * MINUTE,
    ]


def test_metrics_over_time_at_an_ack_count_what_was_published_before_it() -> None:
    """A chart of the past shows the numbers that somebody who looked then was shown."""
    store = InMemory()
    store.publish("a")
    pulled = store.store.pull(NAME)
    for minute in range(1, 6):
        store.be_at(minute * MINUTE)
        store.publish("b")
    store.be_at(6 * MINUTE)
    pulled.ack()
    for minute in range(7, 10):
        store.be_at(minute * MINUTE)
        store.publish("c")
    told = {each.time: each for each in store.store.subscription_history(NAME, points=3)}
    moment = told[at(6 * MINUTE)]
    assert (moment.num_undelivered_messages, moment.oldest_unacked_message_age) == (5, 5 * MINUTE)


def test_metrics_over_time_follow_a_seek_that_no_operation_has_carried_out() -> None:
    """A seek "is in force at once": also for somebody who looks at the chart.

    "A future t purges (and also acks what is published until t)."
    """
    store = InMemory()
    store.be_at(MINUTE)
    store.publish("a", "b")
    store.be_at(2 * MINUTE)
    store.store.pull(NAME, max_messages=1).nack()
    store.be_at(3 * MINUTE)
    store.store.seek(NAME, time=at(3 * MINUTE))
    assert store.store.subscription_metrics(NAME).num_undelivered_messages == 0
    store.be_at(4 * MINUTE)
    store.publish("c")
    store.be_at(5 * MINUTE)
    store.store.seek(NAME, time=at(8 * MINUTE))
    for minute in (6, 9):
        store.be_at(minute * MINUTE)
        store.publish("d")
    store.be_at(10 * MINUTE)
    told = {each.time: each for each in store.store.subscription_history(NAME)}
    seen = {int(minute): told[at(minute * MINUTE)] for minute in (2, 3, 4, 5, 9, 10)}
    counts = {minute: each.num_undelivered_messages for minute, each in seen.items()}
    assert counts == {2: 2, 3: 0, 4: 1, 5: 0, 9: 1, 10: 1}
    assert seen[10].oldest_unacked_message_age == MINUTE


def test_metrics_over_time_show_no_backlog_that_acks_between_two_points_have_ended() -> None:
    """A chart of the past shows the numbers that somebody who looked then was shown."""
    store = InMemory()
    for minute in range(1, 13):
        store.be_at(minute * MINUTE)
        store.publish("a")
        store.be_at(minute * MINUTE + 1)
        store.store.pull(NAME).ack()
    store.be_at(13 * MINUTE)
    told = store.store.subscription_history(NAME, points=6)
    assert max(each.num_undelivered_messages for each in told) <= 1
    assert max(each.oldest_unacked_message_age for each in told) <= 1


def test_what_was_published_at_the_instant_of_a_commit_is_counted_from_then_on() -> None:
    store = InMemory()
    store.publish("a")
    store.be_at(MINUTE)
    store.ack("a")
    store.publish("b")  # at the same microsecond
    store.be_at(5 * MINUTE)
    told = store.store.subscription_history(NAME)
    counts = [(each.time, each.num_undelivered_messages) for each in told]
    assert counts[-1] == (at(5 * MINUTE), 1)
    assert {count for time, count in counts if time == at(MINUTE)} == {1}
