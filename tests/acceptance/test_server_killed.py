"""A server that is killed: nothing that it answered for is lost."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
from tests.acceptance.serving import LONG, ServerProcess, eventually
from tests.acceptance.test_server import pair, subscription, topic

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    # Google's client gives up on a server that was killed after a minute, in threads of its own.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

NAME = "killed"


class Client:
    """Publishes all the time, and acknowledges every other message, until it is stopped."""

    def __init__(self, server: ServerProcess) -> None:
        self.answered: set[str] = set()
        self.acked: set[str] = set()
        self.held: set[str] = set()
        self._publisher, self._subscriber = pair(server, NAME, ack_deadline_seconds=60)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._future = self._subscriber.subscribe(subscription(NAME), self._receive)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._future.cancel()

    def _publish(self) -> None:
        for n in range(100_000):
            if self._stopped.wait(0.002):
                return
            data = f"{n}"
            future = self._publisher.publish(topic(NAME), data.encode())
            future.add_done_callback(lambda done, data=data: self._note(done, data))

    def _note(self, done: Any, data: str) -> None:
        if not self._stopped.is_set() and done.exception() is None:
            self.answered.add(data)

    def _receive(self, message: Any) -> None:
        data = message.data.decode()
        if int(data) % 2:
            self.acked.add(data)
            message.ack()
        else:
            self.held.add(data)


def test_a_killed_server_loses_no_answered_publish_and_no_unacked_message(tmp_path: Path) -> None:
    # "a SIGKILL at any moment loses no answered publish, and every unacked message comes again"
    server = ServerProcess(tmp_path / "store")
    server.start()
    client = Client(server)
    eventually(lambda: len(client.answered) > 500 and len(client.acked) > 50)
    server.kill()
    client.stop()
    answered, acked, held = set(client.answered), set(client.acked), set(client.held)
    assert held
    server = ServerProcess(tmp_path / "store")
    server.start()
    seen: set[str] = set()

    def receive(message: Any) -> None:
        seen.add(message.data.decode())
        message.ack()

    future = server.subscriber().subscribe(subscription(NAME), receive)
    end = time.monotonic() + 2 * LONG
    while time.monotonic() < end and not answered <= seen | acked:
        time.sleep(0.5)
    future.cancel()
    future.result(LONG)
    assert answered - seen - acked == set()
    assert held <= seen
    assert server.stop() == 0
