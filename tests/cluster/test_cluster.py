"""The jobs of the wheel, on a standalone cluster of two workers, from files to a Delta table."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.cluster.submits import Submits
from tests.installed import Installed
from tests.servers import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]

MESSAGES = 2_000


def test_every_message_is_delivered_and_acked_once(
    installed: Installed, cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    root, output = (tmp_path / "store").as_uri(), (tmp_path / "out").as_uri()
    rows = tmp_path / "rows.json"
    rows.write_text("\n".join(json.dumps({"month": n % 2, "n": n}) for n in range(MESSAGES)))
    store = PubSub(spark, root)
    store.create_topic("flights")
    store.create_subscription("archive", "flights", ack_deadline_seconds=600)
    submit = Submits(installed, cluster.url, tmp_path)

    told = submit(
        *("publish", 2, "publish.py", "--root", root, "--topic", "flights"),
        *("--input", rows.as_uri(), "--format", "json", "--batch-by", "month"),
    )
    assert f"publish: {MESSAGES:,} messages in 2 batches" in told

    def consume(name: str) -> int:
        summary = tmp_path / f"{name}.json"
        submit(
            *(name, 1, "consume.py", "--root", root, "--subscription", "archive"),
            *("--output", output, "--batch-size", "500", "--summary", str(summary)),
        )
        return int(json.loads(summary.read_text())["counts"]["acked"])

    with ThreadPoolExecutor(2) as consumers:
        acked = list(consumers.map(consume, ["consume-1", "consume-2"]))
    assert sum(acked) == MESSAGES
    told = submit(
        *("maintain", 2, "maintain.py", "--root", root),
        *("--duties", "dead-letters,expiration,retention"),
    )
    assert "not done" not in told

    written = spark.read.format("delta").load(output).select("message_id", "data").collect()
    times = Counter(json.loads(bytes(row["data"]))["n"] for row in written)
    assert times == Counter(range(MESSAGES))
    assert len({row["message_id"] for row in written}) == MESSAGES
    metrics = store.metrics("archive")
    assert metrics["num_undelivered_messages"] == 0
    assert metrics["ack_message_count"] == {"success": MESSAGES, "expired": 0, "invalid": 0}

    # maintenance is done without Spark here
    for name, cores in (("publish", 2), ("consume-1", 1), ("consume-2", 1)):
        (told_settings,) = submit.events(name, "EnvironmentUpdate")
        settings = dict(told_settings["Spark Properties"])
        assert settings["spark.master"] == cluster.url
        assert settings["spark.ui.enabled"] == "false"  # from spark-defaults.conf, like this:
        assert settings["spark.databricks.delta.snapshotPartitions"] == "1"
        added = {event["Executor ID"] for event in submit.events(name, "ExecutorAdded")}
        assert len(added) == cores
        ran = {event["Task Info"]["Executor ID"] for event in submit.events(name, "TaskEnd")}
        assert ran
        assert ran <= added
