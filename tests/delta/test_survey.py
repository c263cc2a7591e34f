"""Looking in for people, on real tables: peeks, spans, days, and metrics over time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta import DayCount, DeadLetterPolicy, Message, NotFound
from tests.conftest import Bench

DAY = 86_400


def test_a_peek_shows_the_first_messages_and_the_beginning_of_their_data(bench: Bench) -> None:
    topic, subscription = bench.pair(dead_letter_policy=DeadLetterPolicy(bench.topic()))
    long = b"\x00\xff" * 5_000
    sent = [Message(b"a", {"k": "v"}, "key"), Message(long), Message(b"", {"only": "this"})]
    bench.store.publish(topic, sent)
    bench.store.publish(topic, [b"later"])
    bench.store.pull(subscription, 1)
    commits = bench.commits(bench.ack_state_table(subscription))
    first, second, third = bench.store.peek(subscription, 3, max_bytes=10)
    assert (first.data, first.data_size, first.attributes, first.ordering_key) == (
        b"a",
        1,
        {"k": "v"},
        "key",
    )
    assert (first.state, first.delivery_attempt, second.state) == ("leased", 1, "available")
    assert (second.data, second.data_size) == (long[:10], 10_000)
    assert (third.data, third.attributes) == (b"", {"only": "this"})
    assert first.publish_time == bench.clock.now()
    assert int(first.message_id) < int(second.message_id) < int(third.message_id)
    assert [each.data for each in bench.store.peek(subscription)][3:] == [b"later"]
    assert bench.commits(bench.ack_state_table(subscription)) == commits, "a peek writes nothing"


def test_a_peek_has_no_attempts_without_a_dead_letter_topic(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, [b"a"])
    assert bench.store.peek(subscription)[0].delivery_attempt is None


@pytest.mark.trial
def test_a_survey_tells_spans_and_what_the_topic_stores(bench: Bench) -> None:
    topic, subscription = bench.pair()
    published = bench.clock.now()
    bench.store.publish(topic, [b"a", b"b", b"c"])
    bench.store.pull(subscription, 2).ack()
    bench.clock.advance(60)
    bench.store.publish(topic, [b"d"])
    bench.store.pull(subscription, 1)
    told = bench.store.survey_ack_state(subscription)
    assert sorted((span.state, span.message_count) for span in told.spans) == [
        ("available", 1),
        ("leased", 1),
    ]
    assert (told.stored_count, told.elsewhere_count, told.stored_from) == (4, 2, published)
    (leased,) = [span for span in told.spans if span.state == "leased"]
    assert leased.until == bench.clock.now() + timedelta(seconds=10)


def test_messages_are_counted_by_the_day_of_publishing_in_utc(bench: Bench) -> None:
    topic = bench.topic()
    assert bench.store.messages_by_day(topic) == []
    bench.store.publish(topic, [b"a", b"b"])
    first = bench.clock.now().date()
    bench.clock.advance(2 * DAY)
    bench.store.publish(topic, [b"c"])
    assert bench.store.messages_by_day(topic) == [
        DayCount(first, 2),
        DayCount(first + timedelta(days=2), 1),
    ]
    with pytest.raises(NotFound):
        bench.store.messages_by_day("absent")


@pytest.mark.trial
def test_the_history_of_a_subscription_tells_its_metrics_commit_by_commit(bench: Bench) -> None:
    """Over time, from the table history."""
    topic, subscription = bench.pair()
    created = bench.store.get_subscription(subscription).create_time
    bench.clock.advance(100)
    published = bench.clock.now()
    bench.store.publish(topic, [b"a", b"b", b"c"])
    bench.clock.advance(50)
    pulled = bench.clock.now()
    batch = bench.store.pull(subscription, 2)
    bench.clock.advance(5)
    batch.ack()
    told = bench.store.subscription_history(subscription)
    metrics = [
        (m.num_undelivered_messages, m.num_outstanding_messages, m.acknowledged_count) for m in told
    ]
    assert metrics == [(0, 0, 0), (3, 0, 0), (3, 2, 0), (1, 0, 2)]
    assert [m.time for m in told] == [created, published, pulled, bench.clock.now()]
    assert [m.oldest_unacked_message_age for m in told] == [0.0, 0.0, 50.0, 55.0]
    assert [m.delivery_attempt for m in told] == [0, 1, 1, 1]


@pytest.mark.trial
def test_of_a_long_history_some_points_are_read_and_the_last_one_is_among_them(
    bench: Bench,
) -> None:
    topic, subscription = bench.pair()
    for number in range(7):
        bench.clock.advance(1)
        bench.store.publish(topic, [str(number)])
        bench.store.pull(subscription, 1)
    told = bench.store.subscription_history(subscription, 4)
    assert 2 <= len(told) <= 9
    assert told[-1].time == bench.clock.now()
    assert [m.time for m in told] == sorted(m.time for m in told)


@pytest.mark.trial
@pytest.mark.parametrize("filter_", ["", 'attributes.k = "v"'])
def test_a_look_finds_what_came_since_the_look_before_and_what_has_gone(
    bench: Bench, filter_: str
) -> None:
    """The metrics are those of a fresh look, whatever happened to the topic meanwhile."""
    topic, subscription = bench.pair(filter=filter_)
    store, attributes = bench.store, {"k": "v"}

    def look() -> tuple[int, int, int]:
        told = bench.another().survey_ack_state(subscription).unacked_count
        assert store.survey_ack_state(subscription).unacked_count == told
        assert store.metrics(subscription)["num_undelivered_messages"] == told
        ahead = store.preview_seek(subscription, time=bench.clock.now())
        assert ahead.unacked_before == told
        return told, ahead.unacked_after, len(store.peek(subscription, 100))

    store.publish(topic, [Message(b"a", attributes), Message(b"b", attributes)])
    assert look() == look() == (2, 2, 2)
    bench.clock.advance(DAY)
    store.publish(topic, [Message(b"c", attributes)])
    assert look() == look() == (3, 1, 3)
    store._tables.messages(store.get_topic(topic).uid).optimize()
    assert look() == (3, 1, 3)
    bench.clock.advance(DAY)
    store.publish(topic, [Message(b"d", attributes)])
    assert look() == (4, 1, 4)
    store.pull(subscription, 1).ack()
    assert look() == (3, 1, 3)


def test_a_preview_counts_what_passes_the_filter_since_each_time(bench: Bench) -> None:
    # "Count what seek with the same arguments would change now; nothing is written."
    store, topic = bench.store, bench.topic()
    store.update_topic(topic, message_retention_duration="31d")
    everything = bench.subscription(topic)
    filtered = bench.subscription(topic, filter="attributes:k")
    times = []
    for number in range(4):
        bench.clock.advance(60)
        times.append(bench.clock.now())
        store.publish(topic, [Message(b"a", {"k": str(number)}), Message(b"b", {"other": "v"})])
    snapshot = bench.unused("snapshot")
    store.create_snapshot(snapshot, everything)
    store.pull(filtered).ack()
    commits = bench.commits(bench.ack_state_table(filtered))

    def preview(**target: Any) -> tuple[int, int]:
        told = store.preview_seek(filtered, **target)
        return told.becomes_unacked, told.unacked_after

    bench.clock.advance(1)
    assert [preview(time=each) for each in times] == [(4, 4), (3, 3), (2, 2), (1, 1)]
    assert preview(snapshot=snapshot) == (4, 4)
    assert bench.commits(bench.ack_state_table(filtered)) == commits
