"""Seek and snapshots on real tables (spec section 8); the rules themselves are unit tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality

from pubsub_delta import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    Message,
    NotFound,
)
from pubsub_delta.policy import spans
from tests.conftest import Bench
from tests.lanes.test_cut_logs import cut_log


def texts(bench: Bench, subscription: str) -> list[str]:
    """Return the data of everything that a subscription gives now, and acknowledge it."""
    batch = bench.store.pull(subscription)
    found = [message.data.decode() for message in batch]
    if found:
        batch.ack()
    return found


def published(bench: Bench, topic: str, *messages: Any) -> datetime:
    """Publish a minute after whatever came before, and return the stamp."""
    bench.clock.advance(60)
    time = bench.store.publish(topic, messages).publish_time
    assert isinstance(time, datetime)
    return time


def test_a_seek_to_a_time_replays_what_is_retained(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "MAX_RETAINED_SPANS", 1)  # so that a span lies across the time
    topic, subscription = bench.pair(retain_acked_messages=True)
    published(bench, topic, "a")
    second = published(bench, topic, "b", "c")
    published(bench, topic, "d")
    batch = bench.store.pull(subscription)
    ids = [message.ack_id for message in batch]
    batch.ack()
    assert bench.store.metrics(subscription)["num_retained_acked_messages"] == 4
    writes = bench.commits(bench.ack_state_table(subscription))
    bench.store.seek(subscription, time=second)
    # "in one small commit"
    assert bench.commits(bench.ack_state_table(subscription)) == writes + 1
    told = bench.store.metrics(subscription)
    assert (told["num_undelivered_messages"], told["num_retained_acked_messages"]) == (3, 1)
    # "an ack id from before a seek never changes anything afterwards: expired"
    assert bench.store.acknowledge(subscription, ids).counts["expired"] == 4
    # "those with publish_time ≥ t unacked"
    assert texts(bench, subscription) == ["b", "c", "d"]
    bench.store.seek(subscription, time=second - timedelta(days=1))
    assert texts(bench, subscription) == ["a", "b", "c", "d"]


def test_a_seek_into_the_future_purges(bench: Bench) -> None:
    topic, subscription = bench.pair()
    first = published(bench, topic, "a")
    bench.store.pull(subscription)
    published(bench, topic, "b")
    until = bench.clock.now() + timedelta(seconds=60)
    bench.store.seek(subscription, time=until)
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 0
    # "A future t purges (and also acks what is published until t)"
    bench.clock.advance(-1)
    published(bench, topic, "c")
    assert texts(bench, subscription) == []
    bench.clock.advance(-59)
    published(bench, topic, "at the time")
    assert texts(bench, subscription) == ["at the time"]
    # nothing was retained, so nothing comes back
    bench.store.seek(subscription, time=first)
    assert texts(bench, subscription) == []


@pytest.mark.trial
def test_a_topics_retention_covers_what_was_published_before_a_subscription(bench: Bench) -> None:
    topic = bench.unused("retaining")
    bench.store.create_topic(topic, message_retention_duration="1d")
    first = published(bench, topic, Message(b"a", {"x": "1"}), "b")
    published(bench, topic, Message(b"c", {"x": "1"}))
    late = bench.subscription(topic, filter="attributes:x")
    assert texts(bench, late) == []
    # "any message while the topic's retention covers it, also from before the subscription"
    bench.store.seek(late, time=first)
    assert texts(bench, late) == ["a", "c"]
    bench.store.update_topic(topic, message_retention_duration=None)
    # "cleared: nothing more is covered by it"
    bench.store.seek(late, time=first)
    assert texts(bench, late) == []
    told = bench.store.metrics(f"projects/local/topics/{topic}")
    assert (told["message_count"], told["num_retained_messages"]) == (3, 0)


def test_a_snapshot_brings_back_what_was_unacknowledged_and_what_followed(bench: Bench) -> None:
    topic, source = bench.pair()
    published(bench, topic, "acked", Message(b"x", {"k": "1"}), "plain")
    batch = bench.store.pull(source)
    batch.ack([m.ack_id for m in batch if m.data == b"acked"])
    taken = bench.store.create_snapshot("taken", source, labels={"a": "b"})
    assert taken.expire_time == bench.clock.now() + timedelta(days=7)
    batch.ack()
    published(bench, topic, Message(b"later", {"k": "2"}))
    told = bench.store.metrics("projects/local/snapshots/taken")
    assert (told["num_messages"], told["expire_time"]) == (3, taken.expire_time)
    filtered = bench.subscription(topic, filter="attributes:k")
    published(bench, topic, "newest")
    bench.store.delete_subscription(source)  # a snapshot has a copy of its own
    # "from any subscription of the same topic, also one created later, with the seeker's filter"
    bench.store.seek(filtered, snapshot="taken")
    assert texts(bench, filtered) == ["x", "later"]
    other = bench.subscription(topic)
    bench.store.seek(other, snapshot="projects/local/snapshots/taken")
    assert texts(bench, other) == ["x", "plain", "later", "newest"]


def test_snapshots_are_created_listed_changed_and_deleted(bench: Bench) -> None:
    topic, subscription = bench.pair()
    created = bench.store.create_snapshot("one-shot", subscription)
    assert bench.store.get_snapshot("one-shot") == created
    assert created.topic == f"projects/local/topics/{topic}"
    with pytest.raises(AlreadyExists, match="one-shot"):
        bench.store.create_snapshot("one-shot", subscription)
    with pytest.raises(NotFound, match="nobody"):
        bench.store.create_snapshot("two-shots", "nobody")
    assert bench.store.list_topic_snapshots(topic) == [created.name]
    assert created in bench.store.list_snapshots()
    soon = bench.clock.now() + timedelta(hours=2)
    changed = bench.store.update_snapshot("one-shot", labels={"a": "b"}, expire_time=soon)
    assert (changed.labels, changed.expire_time) == ({"a": "b"}, soon)
    bench.clock.advance(3601)
    # "Less than 1 h left → FAILED_PRECONDITION, for creating it and for seeking to it"
    with pytest.raises(FailedPrecondition, match="one-shot"):
        bench.store.seek(subscription, snapshot="one-shot")
    bench.clock.advance(3599)
    # "An expired snapshot (now ≥ expire_time) is NOT_FOUND at once, … and its name is free"
    with pytest.raises(NotFound, match="one-shot"):
        bench.store.seek(subscription, snapshot="one-shot")
    again = bench.store.create_snapshot("one-shot", subscription)
    assert bench.store.get_snapshot("one-shot").uid == again.uid != created.uid
    bench.store.delete_snapshot("one-shot")
    with pytest.raises(NotFound, match="one-shot"):
        bench.store.get_snapshot("one-shot")
    bench.store.delete_topic(topic)
    # "source topic deleted FAILED_PRECONDITION"
    with pytest.raises(FailedPrecondition, match="deleted"):
        bench.store.create_snapshot("too-late", subscription)


def test_a_seek_needs_one_target_of_its_own_topic(bench: Bench) -> None:
    _, subscription = bench.pair()
    now = bench.clock.now()
    # "of another topic → INVALID_ARGUMENT; … No target, or both → INVALID_ARGUMENT"
    with pytest.raises(InvalidArgument, match="neither"):
        bench.store.seek(subscription)
    with pytest.raises(InvalidArgument, match="both"):
        bench.store.seek(subscription, time=now, snapshot="some-snapshot")
    with pytest.raises(InvalidArgument, match="time zone"):
        bench.store.seek(subscription, time=now.replace(tzinfo=None))
    bench.store.create_snapshot("of-this-topic", subscription)
    with pytest.raises(InvalidArgument, match="is of another topic"):
        bench.store.seek(bench.pair()[1], snapshot="of-this-topic")


def test_a_topic_can_be_read_as_it_was(bench: Bench) -> None:
    topic = bench.topic()
    first = published(bench, topic, "a")
    published(bench, topic, "b")

    def stored(as_of: Any) -> list[bytes]:
        rows = bench.store.read_topic(topic, as_of=as_of).select("data").collect()
        return sorted(bytes(row["data"]) for row in rows)

    assert (stored(None), stored(first), stored(1)) == ([b"a", b"b"], [b"a"], [b"a"])
    # What was published at a time counts; what was a microsecond later does not count yet.
    before = first - timedelta(microseconds=1)
    assert stored(f"{before:%Y-%m-%dT%H:%M:%S.%f}999Z") == []
    assert_df_equality(
        bench.store.read_topic(topic, as_of=first),
        bench.store.read_topic(topic).where("string(data) = 'a'"),
    )
    assert stored(first - timedelta(seconds=1)) == []
    with pytest.raises(InvalidArgument, match="as_of: 99"):
        stored(99)


def test_a_version_that_the_log_has_forgotten_is_refused_by_name(bench: Bench) -> None:
    topic = bench.topic()
    published(bench, topic, "a")
    path = Path(bench.messages_table(topic).split("`")[1])
    cut_log(path, lambda: published(bench, topic, "b"))
    with pytest.raises(FailedPrecondition, match="is not kept"):
        bench.store.read_topic(topic, as_of=1)
