"""The exporter as a process, scraped over HTTP as Prometheus does it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.acceptance.processes import environment, spark_submit
from tests.conftest import REPOSITORY

pytestmark = [pytest.mark.trial, pytest.mark.timeout(600)]


def scrape(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def samples(text: str) -> dict[tuple[str, str], float]:
    """Return the samples of a text by name and by the subscription or topic they are of."""
    return {
        (sample.name, sample.labels.get("subscription", sample.labels.get("topic", ""))): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped_until(url: str, name: str, of: str, wanted: float) -> dict[tuple[str, str], float]:
    """Scrape until a figure has a value; the last answer where it does not come to it."""
    deadline = time.monotonic() + 120
    while True:
        found = samples(scrape(url))
        if found.get((name, of)) == wanted or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def test_the_exporter_serves_the_metrics_as_they_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = PubSub(spark, str(tmp_path / "store"))
    store.create_topic("flights")
    store.create_subscription("delays", "flights")
    store.publish("flights", ["one", "two", "three"])
    summary = tmp_path / "summary.json"
    job = [sys.executable, str(REPOSITORY / "pubsub_delta/jobs/export_metrics.py")]
    options = ["--root", str(tmp_path / "store"), "--port", "0", "--interval", "1s"]
    process = subprocess.Popen(
        [*job, *options, "--summary", str(summary)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    try:
        assert process.stdout is not None
        url = re.sub(r"^export-metrics: ", "", process.stdout.readline().strip())
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url)
        began = time.monotonic()
        first = samples(scrape(url))
        # "a scrape never waits for Spark": the first measurement takes seconds
        assert time.monotonic() - began < 2
        assert first["pubsub_delta_measurements_total", ""] <= 1
        undelivered = "pubsub_subscription_num_undelivered_messages"
        told = scraped_until(url, undelivered, "delays", 3)
        assert told[undelivered, "delays"] == 3
        assert told["pubsub_delta_up", ""] == 1
        assert told["pubsub_topic_byte_cost", "flights"] == 11
        store.pull("delays", 2).ack()
        told = scraped_until(url, undelivered, "delays", 1)
        assert told[undelivered, "delays"] == 1
        assert told["pubsub_delta_metrics_age", ""] < 60
    finally:
        process.terminate()
        assert process.wait(120) == 0
    written = json.loads(summary.read_text())
    assert written["measurements"] >= 2
    assert written["failures"] == 0


def test_once_prints_the_metrics_and_ends(spark: SparkSession, tmp_path: Path) -> None:
    store = PubSub(spark, str(tmp_path))
    store.create_topic("flights")
    store.publish("flights", ["one", "two", "three"])
    done = spark_submit("export_metrics.py", "--root", str(tmp_path), "--once")
    assert done.returncode == 0, done.stderr[-2000:]
    told = samples(done.stdout)
    assert told["pubsub_topic_message_count", "flights"] == 3
    assert told["pubsub_topic_byte_cost", "flights"] == 11
    assert told["pubsub_delta_up", ""] == 1
