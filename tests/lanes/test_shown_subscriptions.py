"""Every call that shows a subscription shows the same: what is stored, and what follows from it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pubsub_delta import PubSub, Subscription, TableConfig, TableState
from tests.lanes.table_world import NAME, TOPIC, World

KEPT = timedelta(days=1)


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    found.store.update_topic(TOPIC, message_retention_duration=KEPT)
    found.make()
    return found


def everything(found: Subscription) -> tuple[Subscription, TableState | None]:
    """Return a subscription with the state of its table, by which no two are told apart."""
    assert found.table_config is not None
    return found, found.table_config.state


def shown(store: PubSub) -> tuple[Subscription, TableState | None]:
    """Return the subscription as a look-up and a listing have it."""
    found = everything(store.get_subscription(NAME))
    assert [found] == list(map(everything, store.list_subscriptions()))
    return found


def test_it_is_as_a_call_has_returned_it(world: World) -> None:
    """Pub/Sub: ``state`` and ``topic_message_retention_duration`` are output only."""
    store = world.store
    made = store.create_subscription(NAME, TOPIC, table_config=TableConfig("shop.orders"))
    assert made.topic_message_retention_duration == KEPT
    assert everything(made) == shown(store) == (made, TableState.ACTIVE)
    assert everything(store.update_subscription(NAME, labels={"a": "b"})) == shown(store)
    assert everything(store.update_subscription(NAME)) == shown(store)


def test_it_has_no_topic_and_no_retention_of_one_that_was_deleted(world: World) -> None:
    store = world.store
    store.create_subscription(NAME, TOPIC, table_config=TableConfig("shop.orders"))
    store.delete_topic(TOPIC)
    found = store.update_subscription(NAME, labels={"a": "b"})
    assert (found.topic, found.topic_message_retention_duration) == ("_deleted-topic_", None)
    assert everything(found) == everything(store.update_subscription(NAME)) == shown(store)
