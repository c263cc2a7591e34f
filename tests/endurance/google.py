"""A process that works through servers with Google's client, at a steady rate, until it is told.

    python -m tests.endurance.google FOLDER NAME RATE PUBLISHING-ADDRESS SUBSCRIBING-ADDRESS

It publishes to one server and has a streaming pull of another one open. How long a message takes
from its publish to the answer, and to the callback, it writes down.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from google.cloud import pubsub_v1

from tests.journal import Journal

TOPIC, SUBSCRIPTION = "projects/local/topics/served", "projects/local/subscriptions/served"


def client(kind: Any, address: str) -> Any:
    """Return an official client of a server."""
    os.environ["PUBSUB_EMULATOR_HOST"] = address
    return kind()


class Work:
    """Publishes and receives."""

    def __init__(self, folder: Path, name: str, rate: float, addresses: list[str]) -> None:
        self._lines, self._name, self._rate = Journal(folder / f"{name}.jsonl"), name, rate
        self._publisher = client(pubsub_v1.PublisherClient, addresses[0])
        self._subscriber = client(pubsub_v1.SubscriberClient, addresses[1])
        self._chance = random.Random(name)
        self._ended = threading.Event()

    def run(self) -> None:
        """Work until the standard input ends."""
        thread = threading.Thread(target=self._publish)
        future = self._subscriber.subscribe(SUBSCRIPTION, self._receive)
        thread.start()
        sys.stdin.read()
        self._ended.set()
        thread.join()
        self._publisher.stop()
        time.sleep(3)  # the acks of what came last
        future.cancel()
        future.result(timeout=60)

    def _publish(self) -> None:
        due, number = time.monotonic(), 0
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1 / self._rate, time.monotonic())
            text, number = f"{self._name}.{number}.{time.time():.6f}", number + 1
            answered = partial(self._answered, text, time.monotonic())
            self._publisher.publish(TOPIC, text.encode()).add_done_callback(answered)

    def _answered(self, text: str, began: float, done: Any) -> None:
        if done.exception() is None:
            took = 1000 * (time.monotonic() - began)
            self._lines.write(op="server: publish", at=time.time(), ms=took, published=[text])

    def _receive(self, message: Any) -> None:
        if self._chance.random() < 0.05:
            message.nack()
            return
        text = message.data.decode()
        message.ack()
        took = 1000 * (time.time() - float(text.split(".", 2)[2]))
        self._lines.write(op="server: to callback", at=time.time(), ms=took, acked=[text])


if __name__ == "__main__":
    Work(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4:]).run()
