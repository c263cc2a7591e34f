"""Metrics as a call, on tables in memory (Pub/Sub: leased messages are undelivered, too)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.operations import metrics
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.messages import sizes
from pubsub_delta.tables.messages.sizes import Sizes
from tests.unit.builders import DAY, MINUTE, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


def test_leased_messages_are_undelivered_and_outstanding_until_their_lease_is_over() -> None:
    """An expired lease is no longer outstanding, even before the next pull."""
    store = InMemory()
    store.publish("a", "b", "c")
    store.pull(2)
    for seconds, outstanding in ((0, 2), (9, 2), (10, 0)):
        store.be_at(seconds)
        told = store.store.metrics(NAME)
        assert told["num_undelivered_messages"] == 3
        assert told["num_outstanding_messages"] == outstanding


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("is_quick", [False, True])
def test_only_of_a_large_topic_are_bytes_estimated_and_then_it_is_told(
    monkeypatch: pytest.MonkeyPatch, is_quick: bool, exact: bool
) -> None:
    """A small topic is read; of another all are read with ``exact`` alone."""
    if not is_quick:
        monkeypatch.setattr(sizes, "QUICK_MESSAGES", 0)
    store = InMemory()
    store.publish("a", "a" * 99)
    store.ack("a")
    told = store.store.metrics(NAME, exact=exact)
    is_read = is_quick or exact
    assert told["backlog_bytes"] == (99 if is_read else 50)
    assert ("backlog_bytes" in told.estimates) is not is_read
    topic = store.store.metrics("projects/local/topics/flights", exact=exact)
    assert topic["byte_cost"] == 100
    assert ("byte_cost" in topic.estimates) is not is_read


def test_a_publish_without_messages_left_is_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean is that of messages that are stored, and the log tells of others for days."""
    monkeypatch.setattr(sizes, "QUICK_MESSAGES", 0)
    store = InMemory(message_retention_duration="1d")
    store.publish("a" * 99)
    store.be_at(2 * DAY)
    store.publish("b")
    assert sum(store.store.maintain(exact=True).discarded.values()) == 1
    assert store.store.metrics(NAME)["backlog_bytes"] == 1


@pytest.mark.parametrize("exact", [False, True])
def test_where_there_is_nothing_every_figure_is_zero_and_none_an_estimate(exact: bool) -> None:
    store = InMemory()
    store.store.create_snapshot("before", NAME)
    for name in (f"projects/local/topics/{TOPIC}", NAME, "before"):
        told = store.store.metrics(name, exact=exact)
        nothing = [0, 0.0, {"success": 0, "expired": 0, "invalid": 0}]
        assert [key for key in told if key != "expire_time" and told[key] not in nothing] == []
        assert not told.estimates


def test_a_topic_without_retention_retains_no_message() -> None:
    """``num_retained_messages``: those that the topic's own retention covers."""
    store = InMemory()
    store.publish("a", "b")
    for minute, retention, retained in ((1, None, 0), (2, "1d", 1)):
        store.be_at(minute * MINUTE)
        store.store.update_topic("flights", message_retention_duration=retention)
        store.publish("c")
        told = store.store.metrics("projects/local/topics/flights", exact=True)
        assert told["num_retained_messages"] == retained


def test_only_retained_messages_that_a_seek_brings_back_are_counted() -> None:
    store = InMemory(message_retention_duration="10m", retain_acked_messages=True)
    store.publish("old")
    store.be_at(5 * MINUTE)
    store.publish("new")
    store.ack("old", "new")
    for seconds, retained in ((10 * MINUTE, 2), (10 * MINUTE + 1, 1), (15 * MINUTE + 1, 0)):
        store.be_at(seconds)
        told = store.store.metrics(NAME, exact=True)
        assert told["num_retained_acked_messages"] == retained


def test_a_snapshot_does_not_count_what_its_purge_acknowledges() -> None:
    store = InMemory()
    store.store.seek(NAME, time=at(MINUTE))
    store.store.create_snapshot("purged", NAME)
    store.publish("purged")
    assert store.store.metrics("purged", exact=True)["num_messages"] == 0


def test_a_message_from_a_clock_that_is_ahead_has_no_age() -> None:
    store = InMemory()
    store.publish("a", late=-5)
    assert store.store.metrics(NAME)["oldest_unacked_message_age"] == 0


def test_a_topic_of_another_project_is_labelled_by_its_full_name() -> None:
    """One label must not stand for two topics: an id alone is one of the subscription's project."""
    store = InMemory()
    other = "projects/other/topics/flights"
    store.store.create_topic(other)
    store.store.create_subscription("abroad", other)
    assert store.store.metrics("abroad").labels["topic"] == other
    assert store.store.metrics(NAME).labels["topic"] == "flights"


def test_what_is_named_in_two_ways_is_measured_once() -> None:
    """Prometheus refuses a sample that is there twice."""
    store = InMemory()
    once = metrics.rows(store.store._tables, [NAME], "local", at(0), exact=False)
    names = [NAME, f"projects/local/subscriptions/{NAME}"]
    assert metrics.rows(store.store._tables, names, "local", at(0), exact=False) == once


def test_a_detached_subscription_has_no_backlog() -> None:
    """Detached, it has nothing, whatever its ack state held."""
    world = InMemory()
    world.publish("a", "b")
    world.pull(1)
    world.store.detach_subscription(NAME)
    measured = world.store.metrics(NAME)
    assert (measured["num_undelivered_messages"], measured["backlog_bytes"]) == (0, 0)


def test_the_oldest_message_of_a_snapshot_may_have_been_committed_after_it() -> None:
    """A slow publisher commits a message that is older than those that a snapshot holds."""
    world = InMemory()
    world.be_at(3 * MINUTE)
    world.publish("late")
    world.pull(1)

    def joined(state: AckState) -> AckState:  # with older ones, which were acknowledged since
        return replace(state, spans=tuple(replace(s, publish_time_min=at(0)) for s in state.spans))

    world.change(joined)
    world.store.create_snapshot("before", NAME)
    world.publish("slow", late=60)
    age = world.store.metrics("projects/local/snapshots/before", exact=True)["oldest_message_age"]
    assert age == 60


def test_what_is_deleted_while_a_store_is_measured_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One subscription that somebody deletes must not cost an exporter all other metrics."""
    world = InMemory()
    everything = metrics._everything

    def and_one_more(measurement: Any) -> Iterator[Callable[[], Any]]:
        yield partial(metrics._of_name, measurement, "projects/local/subscriptions/absent")
        yield from everything(measurement)

    monkeypatch.setattr(metrics, "_everything", and_one_more)
    rows = metrics.rows(world.tables, None, "local", world.now, exact=False)
    assert {row.name for row in rows} == {
        "projects/local/topics/flights",
        "projects/local/topics/letters",
        "projects/local/subscriptions/first",
    }


def test_what_was_asked_for_by_its_name_and_is_not_there_is_told() -> None:
    world = InMemory()
    for names in (["absent"], [NAME, "absent"], ["absent", NAME]):
        with pytest.raises(NotFound, match="'absent'"):
            metrics.rows(world.tables, names, "local", world.now, exact=False)


def test_what_is_named_twice_is_measured_once() -> None:
    """Prometheus refuses a scrape with two samples of one series."""
    world = InMemory()
    once, twice = (
        metrics.rows(world.tables, names, "local", world.now, exact=False)
        for names in ([NAME, "flights"], [NAME, "flights", NAME])
    )
    assert [(row.name, row.metric) for row in twice] == [(row.name, row.metric) for row in once]


def test_all_of_a_store_is_measured_with_what_is_left_of_a_deleted_topic() -> None:
    """Metrics of every topic, subscription and snapshot; `_deleted-topic_` labels what it had."""
    world = InMemory()
    world.publish("a")
    world.store.create_snapshot("before", NAME)
    world.store.delete_topic(TOPIC)
    rows = metrics.rows(world.tables, None, "local", world.now, exact=False)
    measured = {(each.kind, each.name): each for each in rows}
    names = [(kind, name.rpartition("/")[2]) for kind, name in measured]
    assert names == [("topic", LETTERS), ("subscription", NAME), ("snapshot", "before")]
    found = {each.kind: dict(each.labels) for each in rows if each.kind != "topic"}
    assert {labels["topic"] for labels in found.values()} == {"_deleted-topic_"}


def test_a_name_of_another_collection_has_no_metrics() -> None:
    world = InMemory()
    with pytest.raises(InvalidArgument, match="projects/p/schemas/any"):
        metrics.rows(world.tables, ["projects/p/schemas/any"], "local", world.now, exact=False)


def test_without_a_publish_to_sample_the_bytes_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A topic may have no publish among its last commits: zero bytes would be a wrong figure."""
    monkeypatch.setattr(sizes, "QUICK_MESSAGES", 0)
    monkeypatch.setattr(sizes, "SAMPLED_COMMITS", 0)
    world = InMemory()
    world.publish("abc", "de")
    stored = Sizes(world.tables.messages(world.store.get_topic(TOPIC).uid)).stored
    assert (stored.value, stored.is_estimate) == (5, False)
