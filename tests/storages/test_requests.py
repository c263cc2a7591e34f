"""How many requests an operation takes: each is some milliseconds, and money."""

from __future__ import annotations

import pytest

from tests.storages.requests import counted
from tests.storages.servers import Storage

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

COMMIT = {"PUT": 2, "LIST": 2, "GET": 2}
"""What ``deltalake`` takes for one: a file, a look, the put; then it reads what it has written."""
LOOK = ("LIST", "GET")
"""And for a look: it lists the log from a commit on, and asks for the next one."""

AT_MOST = {
    "publish": 12,
    "pull": 13,
    "read what was pulled": 5,
    "ack": 8,
    "nack": 8,
    "pull of nothing": 6,
    "seek to a time": 12,
    "create a snapshot": 38,
    "seek to a snapshot": 21,
    "delete a snapshot": 58,
    "metrics of a subscription": 7,
    "describe a topic": 2,
    "describe a subscription": 4,
    "update a subscription": 21,
    "create a topic": 34,
    "create a subscription": 30,
    "delete a subscription": 21,
    "delete a topic": 17,
}


def test_an_operation_takes_no_more_requests_than_it_needs(storage: Storage, root: str) -> None:
    found = {name: sum(kinds.values()) for name, kinds in counted(storage.proxy, root).items()}
    assert {name: count for name, count in found.items() if count > AT_MOST[name]} == {}


def test_an_ack_is_a_look_at_the_registry_and_one_commit(storage: Storage, root: str) -> None:
    """It writes over the state that this process wrote last, and reads nothing."""
    expected = {name: count + (name in LOOK) for name, count in COMMIT.items()}
    assert counted(storage.proxy, root)["ack"] == expected


def test_a_pull_of_nothing_only_looks(storage: Storage, root: str) -> None:
    """One look at each of the registry, the topic and the ack state; nothing is read or written."""
    assert counted(storage.proxy, root)["pull of nothing"] == {"LIST": 3, "GET": 3}
