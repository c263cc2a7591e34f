"""How many requests an operation takes: each is some milliseconds, and money."""

from __future__ import annotations

import pytest

from tests.storages.requests import counted
from tests.storages.servers import Storage

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

COMMIT = {"PUT": 2, "LIST": 2, "GET": 2}
"""What ``deltalake`` takes for one: a file, a look, the put; then it reads what it has written."""

AT_MOST = {
    "publish": 9,
    "pull": 11,
    "read what was pulled": 5,
    "ack": 7,
    "nack": 7,
    "pull of nothing": 3,
    "seek to a time": 9,
    "create a snapshot": 32,
    "seek to a snapshot": 17,
    "delete a snapshot": 55,
    "metrics of a subscription": 4,
    "describe a topic": 1,
    "describe a subscription": 2,
    "update a subscription": 16,
    "create a topic": 32,
    "create a subscription": 26,
    "delete a subscription": 21,
    "delete a topic": 16,
}


def test_an_operation_takes_no_more_requests_than_it_needs(storage: Storage, root: str) -> None:
    found = {name: sum(kinds.values()) for name, kinds in counted(storage.proxy, root).items()}
    assert {name: count for name, count in found.items() if count > AT_MOST[name]} == {}


def test_an_ack_is_a_look_at_the_registry_and_one_commit(storage: Storage, root: str) -> None:
    """It writes over the state that this process wrote last, and reads nothing."""
    assert counted(storage.proxy, root)["ack"] == {**COMMIT, "LIST": COMMIT["LIST"] + 1}


def test_a_pull_of_nothing_only_looks(storage: Storage, root: str) -> None:
    """One look at each of the registry, the topic and the ack state; nothing is read or written."""
    assert counted(storage.proxy, root)["pull of nothing"] == {"LIST": 3}
