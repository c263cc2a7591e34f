"""Stores in HDFS: what several Spark drivers do there at once, one of which is killed."""

from __future__ import annotations

import subprocess
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pubsub_delta import FailedPrecondition, PubSub
from tests.acceptance.processes import python
from tests.storages.hdfs import hdfs

pytestmark = [pytest.mark.storages, pytest.mark.timeout(1200)]

LISTS, ROWS = 3, 20

DRIVER = """
import sys
from pyspark.sql import functions as F
from pubsub_delta import AlreadyExists, PubSub, local_session
root, name = sys.argv[1:3]
lists, rows, deadline, count = map(int, sys.argv[3:])
spark = local_session(driver_memory="1g", master="local[1]")
store = PubSub(spark, root)
print("lane", store.lane, flush=True)
print("ready", flush=True)
sys.stdin.readline()
for create in (
    lambda: store.create_topic("orders"),
    lambda: store.create_subscription("billing", "orders", ack_deadline_seconds=deadline),
):
    try:
        create()
    except AlreadyExists:
        print("exists", flush=True)
for n in range(lists):
    for each in store.publish("orders", [f"{name} {n}"]).message_ids:
        print("published", each, flush=True)
frame = spark.range(rows).select(F.concat(F.lit(f"{name} row "), "id").alias("data"))
print("rows", store.publish("orders", frame).message_count, flush=True)
while batch := store.pull("billing", count):
    for message in batch:
        print("took", message.message_id, flush=True)
    if name == "holder":
        print("holding", flush=True)
        sys.stdin.read()
    print("acked", batch.ack().counts["success"], flush=True)
"""


@pytest.fixture(scope="module")
def name_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs(tmp_path_factory.mktemp("hdfs")) as url:
        yield url


@pytest.fixture
def root(name_node: str) -> str:
    return f"{name_node}/{uuid.uuid4().hex}"


def driver(
    root: str, name: str, directory: Path, *, deadline: int, count: int
) -> subprocess.Popen[str]:
    numbers = map(str, (LISTS, ROWS, deadline, count))
    return python(DRIVER, root, name, *numbers, cwd=directory)


def go(*drivers: subprocess.Popen[str]) -> None:
    """Let drivers begin together, when each has a session in the Spark lane."""
    for each in drivers:
        assert each.stdout is not None
        assert each.stdout.readline().startswith("lane spark lane: deltalake cannot open hdfs://")
        assert each.stdout.readline() == "ready\n"
    for each in drivers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()


def values(lines: list[str], what: str) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith(what)]


def test_a_store_in_hdfs_needs_a_session(root: str) -> None:
    with pytest.raises(FailedPrecondition, match="needs Spark, as deltalake is not taken for it"):
        PubSub(None, root).create_topic("orders")


def test_two_drivers_create_publish_and_acknowledge_at_once(root: str, tmp_path: Path) -> None:
    """Delta's log store for HDFS renames, which fails where the commit is there already."""
    drivers = [driver(root, name, tmp_path, deadline=600, count=5) for name in ("one", "two")]
    try:
        go(*drivers)
        told = [each.communicate(timeout=900)[0].splitlines() for each in drivers]
    finally:
        for each in drivers:
            each.kill()
    assert [each.returncode for each in drivers] == [0, 0]
    lines = [line for each in told for line in each]
    assert lines.count("exists") == 2, "each was created once"
    published = values(lines, "published")
    assert len(set(published)) == 2 * LISTS, "a position was given twice"
    assert values(lines, "rows") == [str(ROWS)] * 2
    taken = Counter(values(lines, "took"))
    assert taken.total() == len(taken) == 2 * (LISTS + ROWS)
    assert set(published) < set(taken)
    assert sum(map(int, values(lines, "acked"))) == 2 * (LISTS + ROWS)


def test_what_a_killed_driver_held_comes_again(root: str, tmp_path: Path) -> None:
    # "Killing a consumer at any moment loses nothing: its messages come again after the deadline."
    holder, *others = (
        driver(root, name, tmp_path, deadline=10, count=20) for name in ("holder", "two", "three")
    )
    try:
        go(holder)
        assert holder.stdout is not None
        held = []
        for line in holder.stdout:
            if line.startswith("holding"):
                break
            held += values([line], "took")
        holder.kill()
        taken: set[str] = set()
        for each in others:  # before the last one pulls, the lease of 10 seconds has ended
            go(each)
            taken.update(values(each.communicate(timeout=900)[0].splitlines(), "took"))
    finally:
        for each in (holder, *others):
            each.kill()
    assert len(held) == 20
    assert set(held) < taken
    assert len(taken) == 3 * (LISTS + ROWS)
