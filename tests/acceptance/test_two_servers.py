"""Two servers on one store, and a balancer that sends the calls of a client to either of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")

from pubsub_delta import PubSub
from tests.acceptance.serving import ServerProcess
from tests.acceptance.test_server import subscription

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

NAMES = {"plain": False, "exact": True}


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[list[Any]]:
    """A client of each server, on a store with one message for each of two subscriptions."""
    store = PubSub(None, str(tmp_path / "store"))
    store.create_topic("orders")
    for name, exactly_once in NAMES.items():
        store.create_subscription(name, "orders", enable_exactly_once_delivery=exactly_once)
    store.publish("orders", [b"one"])
    servers = [ServerProcess(tmp_path / "store") for _ in range(2)]
    for each in servers:
        each.start()
    yield [each.subscriber() for each in servers]
    assert [each.stop() for each in servers] == [0, 0]


def pulled(client: Any, name: str) -> list[str]:
    answer = client.pull(subscription=subscription(name), max_messages=10, return_immediately=True)
    return [each.ack_id for each in answer.received_messages]


def test_a_new_deadline_counts_at_the_server_that_delivered_the_message(clients: list[Any]) -> None:
    here, elsewhere = clients
    ack_ids = {name: pulled(here, name) for name in NAMES}
    assert all(map(len, ack_ids.values()))
    for name, ids in ack_ids.items():
        elsewhere.modify_ack_deadline(
            subscription=subscription(name), ack_ids=ids, ack_deadline_seconds=20
        )
    begun = time.monotonic()
    while time.monotonic() < begun + 15:  # the deadline was 10 s, and the leases were longer
        assert not any(pulled(client, name) for client in clients for name in NAMES)
        time.sleep(0.5)
    here.acknowledge(subscription=subscription("plain"), ack_ids=ack_ids["plain"])
    while not (again := pulled(here, "exact") or pulled(elsewhere, "exact")):
        assert time.monotonic() < begun + 60
        time.sleep(0.5)
    assert time.monotonic() >= begun + 19
    elsewhere.acknowledge(subscription=subscription("exact"), ack_ids=again)
    assert not any(pulled(client, name) for client in clients for name in NAMES)
