"""A subscription that is created anew under a name owes nothing to consumers of the earlier one.

"Whoever names a lease names the uid of the subscription; a foreign one is `invalid`, or NotFound
for a consumer that runs."
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.errors import NotFound
from pubsub_delta.operations import pull
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.server.backend import StoreBackend
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.store import Tables
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.test_races import another, once

PATIENCE = 20
"""Seconds that a test waits for what comes soon, before it gives up."""
MINUTE = timedelta(minutes=1)


def succeed(world: InMemory) -> None:
    """Have another process delete the subscription, and create it anew on another topic."""
    other = another(world)
    other.delete_subscription(NAME)
    other.create_subscription(NAME, LETTERS)
    other.publish(LETTERS, [b"b0", b"b1", b"b2"])
    for _ in range(8):  # numbers of leases leap: beyond those of the earlier one, surely
        other.pull(NAME).nack()


def test_callbacks_of_a_deleted_subscription_acknowledge_nothing_of_its_successor() -> None:
    world = InMemory()
    world.publish("a0", "a1", "a2")
    called: list[bytes] = []
    began, go_on = threading.Event(), threading.Event()

    def callback(message: Any) -> None:
        called.append(message.data)
        began.set()
        go_on.wait(PATIENCE)
        message.ack()

    future = world.store.subscribe(NAME, callback, max_workers=1)
    assert began.wait(PATIENCE)
    succeed(world)
    go_on.set()
    with pytest.raises(NotFound, match="created again"):
        future.result(PATIENCE)
    assert set(called) <= {b"a0", b"a1", b"a2"}
    assert world.backlog() == dict.fromkeys(["b0", "b1", "b2"], "available")


def test_a_publisher_goes_on_with_the_topic_that_has_its_name_now() -> None:
    """A new topic of the same name has nothing of the old one, and publishers name a topic."""
    world = InMemory()
    before = world.store.get_topic(TOPIC).uid
    with world.store.publisher(TOPIC) as publisher:
        publisher.publish("a").result(PATIENCE)
        other = another(world)
        other.delete_topic(TOPIC)
        other.create_topic(TOPIC)
        publisher.publish("b").result(PATIENCE)
    assert (world.stored_under(before), world.stored()) == (["a"], ["b"])


def test_a_server_says_nothing_to_a_successor_that_comes_between_two_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    world.publish("a0", "a1", "a2")
    backend = StoreBackend(world.store)
    channel = backend.channel(backend.subscription(f"projects/local/subscriptions/{NAME}"))
    holding = channel.exchange(AckRequest(), 3, world.now, MINUTE).leased
    assert holding is not None
    request = AckRequest(acknowledged={holding.lease_id: holding.positions})
    once(monkeypatch, Tables, "attached", lambda: succeed(world), "after")
    channel.exchange(request, 0, world.now, MINUTE)  # of the one that is deleted meanwhile
    assert world.backlog() == dict.fromkeys(["b0", "b1", "b2"], "available")
    with pytest.raises(NotFound, match="created again"):
        channel.exchange(request, 3, world.now, MINUTE)
    assert world.backlog() == dict.fromkeys(["b0", "b1", "b2"], "available")
    backend.close()


def test_a_running_query_takes_no_micro_batch_of_a_successor() -> None:
    world = InMemory()
    world.publish("a0")
    name, uid = world.store._subscription(NAME), world.store.get_subscription(NAME).uid
    now = world.driver.clock.now
    given = pull.pull_micro_batch(world.tables, name, "query", 0, 1, now, uid=uid)
    assert given.lease is not None
    succeed(world)
    with pytest.raises(NotFound, match="created again"):
        pull.pull_micro_batch(world.tables, name, "query", 1, None, now, uid=uid)
    assert world.backlog() == dict.fromkeys(["b0", "b1", "b2"], "available")


def test_an_update_answers_with_nothing_of_a_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Update: the answer is the subscription that was changed, with what the update has written."""
    world = InMemory()
    once(monkeypatch, Registry, "change_subscription", lambda: succeed(world), "after")
    with pytest.raises(NotFound, match="was deleted meanwhile"):
        world.store.update_subscription(NAME, ack_deadline_seconds=33)
    assert world.store.get_subscription(NAME).ack_deadline_seconds == 10
