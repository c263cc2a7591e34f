"""Stores in object storage: what several processes do there at once, by the direct lane."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pubsub_delta import PubSub
from tests.acceptance.processes import environment

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]

PROCESSES, CHANGES, PUBLISHES, JOINS = 4, 15, 25, 5

CONSUMER = """
import sys
from pubsub_delta import PubSub
store = PubSub(None, sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    (message,) = store.pull("billing", 1)
    print(message.message_id, flush=True)
"""

PUBLISHER = """
import sys
from pubsub_delta import PubSub
store = PubSub(None, sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[2])):
    result = store.publish("orders", [f"{sys.argv[3]} {n}"])
    print(*result.message_ids, flush=True)
"""

JOINER = """
import sys
from pubsub_delta import PubSub
store = PubSub(None, sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[2])):
    store.publish("orders", [f"{sys.argv[3]} {n}"])
    print(dict(store.maintain(optimize=True).problems), flush=True)
"""


def race(program: str, root: str, count: int, directory: Path) -> list[list[str]]:
    """Run a program in several processes that begin together, and return the lines of each."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, root, str(count), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=directory,
            env=environment(),
        )
        for number in range(PROCESSES)
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [process.communicate(timeout=300)[0].splitlines() for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * PROCESSES
    return told


def test_a_store_in_object_storage_needs_no_spark(store: PubSub) -> None:
    assert store.lane.startswith("direct lane: ")
    store.publish("orders", ["a", "b", "c"])
    store.create_snapshot("before", "billing")
    batch = store.pull("billing", 2)
    assert [message.data for message in batch] == [b"a", b"b"]
    assert batch.ack().counts["success"] == 2
    assert store.metrics("billing")["num_undelivered_messages"] == 1
    store.seek("billing", snapshot="before")
    assert store.metrics("billing")["num_undelivered_messages"] == 3
    store.delete_snapshot("before")
    assert store.maintain(optimize=True, vacuum=True).problems == {}


def test_of_two_changes_of_one_ack_state_only_one_is_made(
    store: PubSub, root: str, tmp_path: Path
) -> None:
    result = store.publish("orders", [f"{n}" for n in range(PROCESSES * CHANGES)])
    told = race(CONSUMER, root, CHANGES, tmp_path)
    assert [len(taken) for taken in told] == [CHANGES] * PROCESSES
    assert Counter(id_ for taken in told for id_ in taken) == Counter(result.message_ids)
    assert store.metrics("billing")["num_outstanding_messages"] == PROCESSES * CHANGES


def test_publishers_of_one_topic_lose_nothing(store: PubSub, root: str, tmp_path: Path) -> None:
    told = race(PUBLISHER, root, PUBLISHES, tmp_path)
    ids = Counter(id_ for published in told for id_ in published)
    assert ids.total() == len(ids) == PROCESSES * PUBLISHES
    batch = store.pull("billing")
    assert Counter(message.message_id for message in batch) == ids
    assert Counter(message.data for message in batch) == Counter(
        f"{p} {n}".encode() for p in range(PROCESSES) for n in range(PUBLISHES)
    )


def test_who_joins_the_same_files_at_a_time_doubles_no_message(
    store: PubSub, root: str, tmp_path: Path
) -> None:
    """Delta: of two commits that remove the same file one lands, and no lock is there."""
    told = race(JOINER, root, JOINS, tmp_path)
    assert told == [["{}"] * JOINS] * PROCESSES
    assert Counter(message.data for message in store.pull("billing")) == Counter(
        f"{p} {n}".encode() for p in range(PROCESSES) for n in range(JOINS)
    )
