"""A server whose object storage fails for a while, and a client of Google's, which goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")

from tests.acceptance.serving import LONG, ServerProcess, eventually
from tests.storages.proxy import Fault
from tests.storages.servers import Storage

pytestmark = [
    pytest.mark.storages,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

TOPIC = "projects/local/topics/orders"
SUBSCRIPTION = "projects/local/subscriptions/billing"
OUTAGE = 15.0


@pytest.fixture
def server(storage: Storage, root: str, tmp_path: Path) -> Iterator[ServerProcess]:
    running = ServerProcess(root, directory=tmp_path)
    running.start()
    yield running
    storage.proxy.set()
    assert running.stop() == 0


@pytest.mark.parametrize(
    "fault",
    [
        Fault("refuse", "*", times=None, status=503),
        Fault("refuse", "*", times=None, status=403),
        Fault("reset", "*", times=None),
        Fault("lose", "PUT", times=None),
    ],
    ids=["busy", "keys that have expired", "unreachable", "answers are lost"],
)
def test_a_client_loses_nothing_and_goes_on_by_itself(
    server: ServerProcess, storage: Storage, fault: Fault
) -> None:
    # docs/guarantees.md: "A storage that fails for a while ends no consumer."
    publisher, subscriber = server.publisher(), server.subscriber()
    publisher.create_topic(name=TOPIC)
    subscriber.create_subscription(name=SUBSCRIPTION, topic=TOPIC)
    received: list[bytes] = []
    published: list[bytes] = []
    done = threading.Event()

    def publish() -> None:
        while not done.is_set():
            data = b"%d" % len(published)
            publisher.publish(TOPIC, data).result(LONG)
            published.append(data)
            time.sleep(0.05)

    def receive(message: Any) -> None:
        received.append(message.data)
        message.ack()

    stream = subscriber.subscribe(SUBSCRIPTION, receive)
    load = threading.Thread(target=publish)
    load.start()
    eventually(lambda: len(received) >= 10)
    storage.proxy.set(fault)
    time.sleep(OUTAGE)
    storage.proxy.set()
    before = len(published)
    eventually(lambda: len(published) >= before + 10)
    done.set()
    load.join()
    eventually(lambda: set(received) == set(published))
    assert stream.running()
    stream.cancel()
