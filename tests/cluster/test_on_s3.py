"""The same on S3: DataFrames and streams through a cluster, of which a worker is killed."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pubsub_delta import PubSub
from tests.cluster.submits import Submits
from tests.installed import Installed
from tests.servers import Cluster, hadoop_version
from tests.storages.conftest import s3a
from tests.storages.servers import Storage, s3

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

MESSAGES = 3_000

RESOLVE = """
from pyspark.sql import SparkSession
print("jars:", SparkSession.builder.getOrCreate().sparkContext.getConf().get("spark.jars"))
"""

PUBLISH = """
import json, sys
from pyspark.sql import SparkSession
root, directory, options = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("n INT").option("maxFilesPerTrigger", 1).json(directory)
messages = rows.selectExpr("CAST(n AS STRING) AS data", "CAST(n % 7 AS STRING) AS ordering_key")
writer = messages.writeStream.format("pubsub_delta").options(**json.loads(options))
writer = writer.option("checkpointLocation", root + "-checkpoint").trigger(availableNow=True)
writer.option("topic", "flights").start(root).awaitTermination()
"""


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    with s3(tmp_path) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def submit(installed: Installed, cluster: Cluster, storage: Storage, tmp_path: Path) -> Submits:
    """Submits to a cluster whose processes have Hadoop's client for S3 on their class path."""
    settings = {f"spark.hadoop.{k}": v for k, v in s3a(storage.proxy.endpoint).items()}
    jars = hadoop_client(installed, tmp_path / "resolve.py")
    settings |= {f"spark.{who}.extraClassPath": jars for who in ("driver", "executor")}
    return Submits(installed, cluster.url, tmp_path, settings)


def hadoop_client(installed: Installed, program: Path) -> str:
    """Return the class path of Hadoop's client for S3, which is fetched once."""
    package = f"org.apache.hadoop:hadoop-aws:{hadoop_version()}"
    program.write_text(RESOLVE)
    told = installed.run(
        "spark-submit", "--master", "local[1]", "--packages", package, str(program)
    ).stdout
    (jars,) = (line for line in told.splitlines() if line.startswith("jars:"))
    return ":".join(each.partition("file:")[2] for each in jars.partition(" ")[2].split(","))


def rows_of(table: str) -> list[tuple[int, str]]:
    """Return the number and the message id of each row of a job's output."""
    read = DeltaTable(table).to_pyarrow_table(columns=["data", "message_id"]).to_pylist()
    return [(int(row["data"]), row["message_id"]) for row in read]


def test_every_message_is_delivered_once_though_a_worker_is_killed(
    cluster: Cluster, submit: Submits, storage: Storage, tmp_path: Path
) -> None:
    """Published by a streaming query; drained by two jobs, and by a streaming job behind them."""
    root = f"{storage.root}/store"
    store = PubSub(None, root)
    store.create_topic("flights")
    for name in ("archive", "live"):
        store.create_subscription(name, "flights", ack_deadline_seconds=600)
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    for place in range(2):
        numbers = range(place, MESSAGES, 2)
        (incoming / f"{place}.json").write_text("\n".join(json.dumps({"n": n}) for n in numbers))
    publish = tmp_path / "publish.py"
    publish.write_text(PUBLISH)
    options = json.dumps(s3a(storage.proxy.endpoint))
    for turn in ("publish", "publish-again"):  # the second time there is nothing new
        submit(turn, 2, str(publish), root, incoming.as_uri(), options)
    assert store.metrics("archive")["num_undelivered_messages"] == MESSAGES

    def consume(name: str) -> int:
        summary = tmp_path / f"{name}.json"
        submit(
            *(name, 1, "consume.py", "--root", root, "--subscription", "archive"),
            *("--output", f"{storage.root}/{name}", "--batch-size", "200"),
            *("--summary", str(summary), "--patience", "20"),
            check=False,  # who waits for what the other one holds gives up, so that it can go on
        )
        return int(json.loads(summary.read_text())["counts"]["acked"])

    with ThreadPoolExecutor(2) as consumers:
        acked = consumers.map(consume, ["consume-1", "consume-2"])
        while store.metrics("archive")["num_undelivered_messages"] > MESSAGES * 0.7:
            time.sleep(0.5)
        cluster.workers[1].kill()
        assert sum(acked) == MESSAGES
    submit(
        *("stream", 1, "stream_consume.py", "--root", root, "--subscription", "live"),
        *("--output", f"{storage.root}/stream", "--available-now"),
        *("--checkpoint", f"{storage.root}/stream-checkpoint", "--batch-size", "1000"),
    )
    told = submit(
        *("maintain", 1, "maintain.py", "--root", root),
        *("--duties", "dead-letters,expiration,retention"),
    )
    assert "not done" not in told

    both = rows_of(f"{storage.root}/consume-1") + rows_of(f"{storage.root}/consume-2")
    for received in (both, rows_of(f"{storage.root}/stream")):
        assert Counter(n for n, _ in received) == Counter(range(MESSAGES))
        assert len({message_id for _, message_id in received}) == MESSAGES
    for name in ("archive", "live"):
        told_metrics = store.metrics(name)
        assert told_metrics["num_undelivered_messages"] == 0
        assert told_metrics["ack_message_count"]["success"] == MESSAGES
    removed = submit.events("consume-1", "ExecutorRemoved") + submit.events(
        "consume-2", "ExecutorRemoved"
    )
    assert removed, "a job has lost its executor"
