"""Two servers on one store in object storage, each a process, with clients of Google's on both."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")

from tests.acceptance.serving import LONG, ServerProcess
from tests.storages.servers import Storage

pytestmark = [
    pytest.mark.storages,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

TOPIC = "projects/local/topics/orders"
SUBSCRIPTION = "projects/local/subscriptions/billing"
KEYS, ROUNDS = 6, 8


class Received:
    """The messages that came, in the order in which they came to any client."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.messages: list[tuple[int, str, str, int]] = []

    def note(self, server: int, message: Any) -> None:
        with self._lock:
            key, number = message.data.decode().split()
            self.messages.append((server, message.message_id, key, int(number)))
        message.ack()

    def await_count(self, count: int) -> None:
        end = time.monotonic() + LONG
        while len({each[1] for each in self.messages}) < count:
            assert time.monotonic() < end, f"{len(self.messages)} of {count} came"
            time.sleep(0.1)


@pytest.fixture
def servers(storage: Storage, root: str, tmp_path: Path) -> Iterator[list[ServerProcess]]:
    two = [ServerProcess(root, "--group-commit=0.02s", directory=tmp_path) for _ in range(2)]
    for each in two:
        each.start()
    yield two
    for each in two:
        assert each.stop() == 0


def subscribed(servers: list[ServerProcess], received: Received, running: ExitStack) -> None:
    """Receive from both servers."""
    for number, server in enumerate(servers):
        client = server.subscriber()
        future = client.subscribe(
            SUBSCRIPTION, lambda message, number=number: received.note(number, message)
        )
        running.callback(future.result, LONG)
        running.callback(future.cancel)


def made(servers: list[ServerProcess], **fields: Any) -> list[Any]:
    """Create a topic by one server and its subscription by the other; return two publishers."""
    publishers = [server.publisher() for server in servers]
    publishers[0].create_topic(name=TOPIC, timeout=LONG)
    request = {"name": SUBSCRIPTION, "topic": TOPIC, "ack_deadline_seconds": 60, **fields}
    servers[1].subscriber().create_subscription(request=request, timeout=LONG)
    return publishers


def publish(publisher: Any, key: str, number: int, **fields: str) -> None:
    message = {"data": f"{key} {number}".encode(), **fields}
    publisher.api.publish(topic=TOPIC, messages=[message], timeout=LONG)


def test_a_key_keeps_its_order_over_two_servers(servers: list[ServerProcess]) -> None:
    """Pub/Sub: messages of a key are delivered in the order in which they were received."""
    publishers, received = made(servers, enable_message_ordering=True), Received()

    def work(key: str) -> None:
        for number in range(ROUNDS):
            publisher = publishers[(number + int(key)) % 2]  # of the one server, then of the other
            publish(publisher, key, number, ordering_key=key)

    with ExitStack() as running:
        subscribed(servers, received, running)
        threads = [threading.Thread(target=work, args=[f"{key}"]) for key in range(KEYS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        received.await_count(KEYS * ROUNDS)
    numbers: dict[str, list[int]] = defaultdict(list)
    for _, _, key, number in received.messages:
        numbers[key].append(number)
    assert numbers == {f"{key}": list(range(ROUNDS)) for key in range(KEYS)}


def test_nothing_is_delivered_twice_while_its_lease_holds(servers: list[ServerProcess]) -> None:
    """Pub/Sub: while leased a message is not delivered again, by neither server."""
    publishers, received = made(servers), Received()
    with ExitStack() as running:
        subscribed(servers, received, running)
        for number in range(4 * ROUNDS):
            publish(publishers[number % 2], "0", number)
        received.await_count(4 * ROUNDS)
        time.sleep(2)
    assert set(Counter(id_ for _, id_, _, _ in received.messages).values()) == {1}
