"""A stream whose subscription is not there when its query begins."""

from __future__ import annotations

import pytest

from pubsub_delta import NotFound
from pubsub_delta.datasource.consumer import Consumer
from pubsub_delta.operations import administer
from tests.unit.in_memory import TOPIC, InMemory
from tests.unit.test_races import once


def test_a_subscription_is_created_where_the_query_asks_for_that() -> None:
    """Databricks' connector creates it, with what is published from then on."""
    store = InMemory()
    store.publish("a")
    name, topic = store.store._subscription("new-one"), store.store._topic(TOPIC)
    consumer = Consumer(store.driver.open()._tables, name, store.driver.clock, topic)
    consumer.subscribe_to(topic)
    created = store.store.get_subscription("new-one")
    assert created.ack_deadline_seconds == 10
    store.publish("b")
    assert consumer.start().subscription == created.uid
    consumer.subscribe_to(topic)
    assert store.store.get_subscription("new-one").uid == created.uid
    assert store.store.metrics("new-one")["num_undelivered_messages"] == 1
    other, absent = store.store._subscription("another-one"), store.store._topic("absent")
    with pytest.raises(NotFound, match=r"topic .*absent"):
        Consumer(store.driver.open()._tables, other, store.driver.clock).subscribe_to(absent)


def test_a_query_takes_the_subscription_that_another_one_creates_at_that_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = InMemory()
    name, topic = store.store._subscription("new-one"), store.store._topic(TOPIC)
    other = store.driver.open()
    consumer = Consumer(store.driver.open()._tables, name, store.driver.clock)
    once(
        monkeypatch,
        *(administer, "create_subscription"),
        lambda: other.create_subscription("new-one", TOPIC),
        "before",
    )
    consumer.subscribe_to(topic)
    assert consumer.start().subscription == other.get_subscription("new-one").uid


def test_a_query_that_drains_may_be_the_one_that_creates_its_subscription() -> None:
    """Spark speaks of the trigger before it asks for the first offset, or after it."""
    store = InMemory()
    name, topic = store.store._subscription("new-one"), store.store._topic(TOPIC)
    consumer = Consumer(store.driver.open()._tables, name, store.driver.clock)
    consumer.drain()
    consumer.subscribe_to(topic)
    begun = consumer.start()
    store.publish("late")
    assert consumer.following(begun, None) == begun


def test_a_query_that_drains_tells_at_its_start_that_there_is_no_subscription() -> None:
    store = InMemory()
    name = store.store._subscription("absent")
    consumer = Consumer(store.driver.open()._tables, name, store.driver.clock)
    consumer.drain()
    with pytest.raises(NotFound, match="absent does not exist; create it first"):
        consumer.start()
