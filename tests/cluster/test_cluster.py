"""The jobs of the wheel, on a standalone cluster of two workers, from files to a Delta table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.installed import Installed, install
from tests.servers import standalone_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]

MESSAGES = 2_000


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def master(installed: Installed, tmp_path: Path) -> Iterator[str]:
    with standalone_cluster(installed.python, tmp_path) as url:
        yield url


class Submits:
    """Submits jobs of the wheel to a cluster, and reads what Spark noted of each."""

    def __init__(self, installed: Installed, master: str, directory: Path) -> None:
        self._installed = installed
        self._master = master
        self._directory = directory

    def __call__(self, name: str, cores: int, job: str, *args: str) -> str:
        """Run a job in client mode and return what it printed."""
        events = self._directory / "events" / name
        events.mkdir(parents=True)
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }
        jobs = self._installed.jobs
        done = self._installed.run(
            *("spark-submit", "--master", self._master, "--deploy-mode", "client"),
            *("--properties-file", str(jobs / "spark-defaults.conf")),
            *("--driver-memory", "1g", "--executor-memory", "700m"),
            *("--executor-cores", "1", "--total-executor-cores", str(cores)),
            *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
            *("--py-files", str(self._installed.wheel), str(jobs / job), *args),
        )
        return done.stdout

    def events(self, name: str, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind from a job's event log."""
        (log,) = (self._directory / "events" / name).iterdir()
        noted = map(json.loads, log.read_text().splitlines())
        return [event for event in noted if event["Event"] == f"SparkListener{kind}"]


def test_every_message_is_delivered_and_acked_once(
    installed: Installed, master: str, spark: SparkSession, tmp_path: Path
) -> None:
    root, output = (tmp_path / "store").as_uri(), (tmp_path / "out").as_uri()
    rows = tmp_path / "rows.json"
    rows.write_text("\n".join(json.dumps({"month": n % 2, "n": n}) for n in range(MESSAGES)))
    store = PubSub(spark, root)
    store.create_topic("flights")
    store.create_subscription("archive", "flights", ack_deadline_seconds=600)
    submit = Submits(installed, master, tmp_path)

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
        assert settings["spark.master"] == master
        assert settings["spark.ui.enabled"] == "false"  # from spark-defaults.conf, like this:
        assert settings["spark.databricks.delta.snapshotPartitions"] == "1"
        added = {event["Executor ID"] for event in submit.events(name, "ExecutorAdded")}
        assert len(added) == cores
        ran = {event["Task Info"]["Executor ID"] for event in submit.events(name, "TaskEnd")}
        assert ran
        assert ran <= added
