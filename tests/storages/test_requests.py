"""How many requests an operation takes: each is some milliseconds, and money."""

from __future__ import annotations

import pytest

from pubsub_delta import PubSub
from pubsub_delta.tables.lanes.protocol import Lane
from tests.storages.requests import counted, kinds
from tests.storages.servers import Storage

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

COMMIT = {"PUT": 2, "LIST": 2, "GET": 2}
"""What ``deltalake`` takes for one: a file, a look, the put; then it reads what it has written."""
LOOK = "LIST"
"""And for a look: it lists the log from a commit on."""

AT_MOST = {
    "publish": 9,
    "pull": 8,
    "read what was pulled": 3,
    "ack": 7,
    "nack": 7,
    "pull of nothing": 3,
    "seek to a time": 9,
    "create a snapshot": 27,
    "seek to a snapshot": 16,
    "delete a snapshot": 50,
    "metrics of a subscription": 4,
    "describe a topic": 1,
    "describe a subscription": 2,
    "update a subscription": 11,
    "create a topic": 31,
    "create a subscription": 23,
    "delete a subscription": 16,
    "delete a topic": 11,
}


def test_an_operation_takes_no_more_requests_than_it_needs(storage: Storage, root: str) -> None:
    found = {name: sum(kinds.values()) for name, kinds in counted(storage.proxy, root).items()}
    assert {name: count for name, count in found.items() if count > AT_MOST[name]} == {}


def test_an_ack_is_a_look_at_the_registry_and_one_commit(storage: Storage, root: str) -> None:
    """It writes over the state that this process wrote last, and reads nothing."""
    expected = {name: count + (name == LOOK) for name, count in COMMIT.items()}
    assert counted(storage.proxy, root)["ack"] == expected


def test_a_look_that_was_begun_ahead_is_used_once(
    storage: Storage, store: PubSub, root: str
) -> None:
    table, lane = store._tables.layout.messages(store.get_topic("orders").uid), _lane(store)
    version = lane.version(table)
    storage.proxy.take()
    with lane.prefetching(table):
        assert lane.version(table) == version
        assert kinds(storage.proxy.take()) == {LOOK: 1}
        PubSub(None, root).publish("orders", ["a"])
        assert lane.version(table) == version + 1


def test_a_look_that_was_begun_ahead_and_not_used_counts_for_nothing_later(
    store: PubSub, root: str
) -> None:
    """An operation may end before it asks for what was begun for it."""
    table, lane = store._tables.layout.messages(store.get_topic("orders").uid), _lane(store)
    with lane.prefetching(table):
        version = PubSub(None, root)._tables.lanes.control.version(table)
    PubSub(None, root).publish("orders", ["a"])
    assert lane.version(table) == version + 1


def _lane(store: PubSub) -> Lane:
    return store._tables.lanes.control


def test_a_pull_of_nothing_only_looks(storage: Storage, root: str) -> None:
    """One look at each of the registry, the topic and the ack state; nothing is read or written."""
    assert counted(storage.proxy, root)["pull of nothing"] == {LOOK: 3}
