"""A program that ends without stopping what works for it in threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pubsub_delta import PubSub

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

PUBLISHES = """
import sys
from pubsub_delta import PubSub
publisher = PubSub(None, sys.argv[1]).publisher("orders")
for n in range(10):
    publisher.publish(f"message {n}")
"""
ACKNOWLEDGES = """
import sys, threading
from pubsub_delta import PubSub
left = threading.Semaphore(0)
def callback(message):
    message.ack()
    left.release()
pull = PubSub(None, sys.argv[1]).subscribe("billing", callback)
for _ in range(10):
    left.acquire()
"""


def run(program: str, root: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, root], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_publisher_has_queued_is_published(root: str, store: PubSub) -> None:
    """A publisher that was not stopped commits its queue when the interpreter exits."""
    run(PUBLISHES, root)
    assert store.pull("billing").message_count == 10


def test_what_callbacks_have_said_is_written(root: str, store: PubSub) -> None:
    """A StreamingPull that was not cancelled writes its acks when the interpreter exits."""
    store.publish("orders", [b"message"] * 10)
    run(ACKNOWLEDGES, root)
    assert store.subscription_metrics("billing").num_undelivered_messages == 0
