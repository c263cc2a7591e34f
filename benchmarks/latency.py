"""From publish to callback through a real `pubsub-delta serve`, one message after the other."""

from __future__ import annotations

import queue
import time
from pathlib import Path
from typing import Any

from google.cloud import pubsub_v1

from benchmarks.measuring import Bench
from benchmarks.server import PATIENCE, emulator, serving

TOPIC, SUBSCRIPTION = "projects/local/topics/latency", "projects/local/subscriptions/latency"
WARM_UPS = 20


def publish_to_callback(bench: Bench, count: int) -> list[float]:
    """Return the seconds of so many messages from the call of publish to the callback.

    One program of Google's library with its own settings publishes, receives and acknowledges;
    the next message is published when the last one has come.
    """
    came: queue.SimpleQueue[float] = queue.SimpleQueue()

    def callback(message: Any) -> None:
        came.put(time.perf_counter())
        message.ack()

    with serving(Path(bench.directory)) as address, emulator(address):
        publisher: Any = pubsub_v1.PublisherClient()
        subscriber: Any = pubsub_v1.SubscriberClient()
        publisher.create_topic(name=TOPIC, timeout=PATIENCE)
        subscriber.create_subscription(name=SUBSCRIPTION, topic=TOPIC, timeout=PATIENCE)
        future = subscriber.subscribe(SUBSCRIPTION, callback)
        taken = []
        for _ in range(WARM_UPS + count):
            began = time.perf_counter()
            publisher.publish(TOPIC, b"x" * 100)
            taken.append(came.get(timeout=PATIENCE) - began)
        future.cancel()
        future.result(60)
    return taken[WARM_UPS:]
