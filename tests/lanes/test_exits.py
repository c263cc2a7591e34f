"""Programs that end without stopping what works for them in threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pubsub_delta import PubSub
from pubsub_delta.threads import in_threads

BEGIN = """
import atexit, sys, threading, time
from pubsub_delta import BatchSettings, PubSub, subscriber
store = PubSub(None, sys.argv[1])
"""
PUBLISHES = """
atexit.register(store.delete_topic, "orders")
publisher = store.publisher("orders", batch_settings=BatchSettings(max_latency=60))
for n in range(10):
    publisher.publish(f"message {n}")
"""
ACKNOWLEDGES = """
handled = threading.Semaphore(0)
def callback(message):
    message.ack()
    handled.release()
pull = store.subscribe("billing", callback)
for _ in range(10):
    handled.acquire()
"""
ACKNOWLEDGES_LATE = """
handled = threading.Semaphore(0)
def callback(message):
    handled.release()
    time.sleep(1.5)
    message.ack()
pull = store.subscribe("billing", callback, max_workers=10)
for _ in range(10):
    handled.acquire()
"""
HANGS = """
subscriber.EXIT_SECONDS = 0.1
handled = threading.Semaphore(0)
def callback(message):
    handled.release()
    time.sleep(600)
pull = store.subscribe("billing", callback)
handled.acquire()
"""
EXPORTS = """
from pubsub_delta.clock import SystemClock
from pubsub_delta.exporter import MetricsExporter
measuring = threading.Event()
def measure():
    measuring.set()
    time.sleep(0.3)
    store.create_topic("measured")
    return []
exporter = MetricsExporter(measure, SystemClock().now).start()
measuring.wait()
"""
FORKS = """
import os, warnings
warnings.simplefilter("ignore")  # from Python 3.12 on a process with threads that forks is warned
subscriber.EXIT_SECONDS = 600
pull = store.subscribe("billing", lambda message: message.ack())
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    store = PubSub(None, str(tmp_path))
    store.create_topic("orders")
    store.create_subscription("billing", "orders", ack_deadline_seconds=600)
    return store


def run(program: str, root: Path | str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(root)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_publisher_has_queued_is_published(tmp_path: Path, store: PubSub) -> None:
    """A publisher that was not stopped commits its queue when the interpreter exits.

    What the program had registered before, such as the end of a session, comes after that.
    """
    run(PUBLISHES, tmp_path)
    assert store.pull("billing").message_count == 10


@pytest.mark.parametrize("program", [ACKNOWLEDGES, ACKNOWLEDGES_LATE], ids=["said", "running"])
def test_what_callbacks_have_said_is_written(tmp_path: Path, store: PubSub, program: str) -> None:
    """A StreamingPull that was not cancelled writes its acks when the interpreter exits."""
    store.publish("orders", [b"message"] * 10)
    run(program, tmp_path)
    assert store.subscription_metrics("billing").num_undelivered_messages == 0


def test_a_callback_that_hangs_does_not_keep_the_program(tmp_path: Path, store: PubSub) -> None:
    """It has ``EXIT_SECONDS``, and its message is delivered again at the end of the lease."""
    store.publish("orders", [b"message"])
    run(HANGS, tmp_path)
    assert store.subscription_metrics("billing").num_outstanding_messages == 1


def test_a_measurement_that_goes_on_is_awaited(tmp_path: Path, store: PubSub) -> None:
    """A thread that measures a store in native code would crash the exit."""
    run(EXPORTS, tmp_path)
    assert store.get_topic("measured")


def test_a_forked_process_stops_nothing_of_its_parent(tmp_path: Path, store: PubSub) -> None:
    """It has no threads of its parent, and would wait for their end."""
    store.publish("orders", [b"message"] * 10)
    run(FORKS, tmp_path)


AT_EXIT = """
import atexit
from pubsub_delta.threads import in_threads
atexit.register(lambda: print(in_threads(lambda n: 2 * n, [1, 2, 3], 2)))
"""


def test_what_is_done_in_threads_is_done_without_them_when_the_interpreter_exits() -> None:
    """concurrent.futures: "cannot schedule new futures after interpreter shutdown"."""
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[2, 4, 6]\n", "")


def test_an_error_in_a_thread_is_raised() -> None:
    def fail(_: int) -> None:
        raise RuntimeError("of the work")

    with pytest.raises(RuntimeError, match="of the work"):
        in_threads(fail, [1, 2], 2)
