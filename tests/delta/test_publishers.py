"""Several programs publish to one topic at the same time, by either lane."""

from __future__ import annotations

import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pubsub_delta import PubSub, local_session
from pubsub_delta.session import is_remote

MESSAGES = 4
"""How many messages each publish has."""
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}


def texts(publisher: int, number: int) -> list[str]:
    return [f"{publisher} {number} {row}" for row in range(MESSAGES)]


def publish_lists(root: str, publisher: int, count: int) -> None:
    """Publish as a program without Spark does."""
    store = PubSub(None, root)
    for number in range(count):
        store.publish("crowded", texts(publisher, number))


def publish_frames(
    root: str, publisher: int, count: int, spark: SparkSession | None = None
) -> None:
    """Publish DataFrames by the Spark lane, in a session of this process."""
    session = spark or local_session(
        app_name=f"publisher {publisher}",
        master="local[1]",
        driver_memory="1g",
        settings=SETTINGS,
    )
    store = PubSub(session, root, lane="spark")
    for number in range(count):
        rows = session.range(0, MESSAGES, 1, 2).selectExpr(f"'{publisher} {number} ' || id AS data")
        store.publish("crowded", rows)


@pytest.fixture
def root(spark: SparkSession, tmp_path: Path) -> str:
    if is_remote(spark):
        pytest.skip("the files are the server's")
    store = PubSub(None, str(tmp_path / "store"))
    store.create_topic("crowded")
    store.create_subscription("everything", "crowded")
    return str(tmp_path / "store")


def run_processes(root: str, publishers: Sequence[Callable[..., None]], count: int) -> None:
    spawn = multiprocessing.get_context("spawn")  # deltalake does not survive a fork
    running = [
        spawn.Process(target=publisher, args=(root, number, count))
        for number, publisher in enumerate(publishers)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join(1200)
        assert process.exitcode == 0


def check_all_there(root: str, counts: Sequence[int]) -> None:
    """Check that nothing is lost, no position was given twice, and each publisher's rise."""
    store = PubSub(None, root)
    table = DeltaTable(f"{root}/messages/{store.get_topic('crowded').uid}").to_pyarrow_table()
    found = sorted(zip(table["position"].to_pylist(), table["data"].to_pylist(), strict=True))
    assert len({position for position, _ in found}) == len(found) == MESSAGES * sum(counts)
    by_publisher = defaultdict(list)
    for _, data in found:
        publisher, number, row = map(int, data.decode().split())
        by_publisher[publisher].append((number, row))
    for publisher, count in enumerate(counts):
        expected = [(number, row) for number in range(count) for row in range(MESSAGES)]
        assert by_publisher[publisher] == expected
    batch = store.pull("everything")
    assert sorted(int(message.message_id) for message in batch) == [each for each, _ in found]
    assert batch.ack().counts["success"] == len(found)


def test_four_programs_publish_to_one_topic(root: str) -> None:
    # "Positions are never given twice: several processes, both lanes"
    run_processes(root, [publish_lists] * 4, 25)
    check_all_there(root, [25] * 4)


@pytest.mark.spark_lane
def test_two_programs_publish_beside_two_of_the_spark_lane(root: str, spark: SparkSession) -> None:
    with ThreadPoolExecutor(2) as threads:
        by_spark = [threads.submit(publish_frames, root, n, 4, spark) for n in (2, 3)]
        run_processes(root, [publish_lists] * 2, 25)
        for each in by_spark:
            each.result(120)
    check_all_there(root, [25, 25, 4, 4])


@pytest.mark.trial
@pytest.mark.timeout(1800)
def test_four_programs_publish_two_hundred_times_each_two_of_them_by_spark(root: str) -> None:
    # "4 publishers × 200 publishes to one topic, of which two by Spark: nothing lost, no position
    # twice"
    times = int(os.environ.get("PUBLISHES", "200"))
    run_processes(root, [publish_lists] * 2 + [publish_frames] * 2, times)
    check_all_there(root, [times] * 4)
