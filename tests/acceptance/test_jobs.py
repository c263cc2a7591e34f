"""The jobs, by spark-submit, from files in to a Delta table out."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.acceptance.processes import spark_submit
from tests.conftest import REPOSITORY


def test_a_csv_goes_in_and_a_delta_table_comes_out(spark: SparkSession, tmp_path: Path) -> None:
    flights = tmp_path / "flights.csv"
    rows = [f"{1 + n % 2},UA,N{n},{n}" for n in range(100)]
    flights.write_text("\n".join(["month,carrier,tailnum,delay", *rows, "2,,,7"]))
    root, summary = str(tmp_path / "store"), tmp_path / "summary.json"
    store = PubSub(spark, root)
    store.create_topic("flights")
    store.create_subscription("delays", "flights", ack_deadline_seconds=600)

    publish = (
        *("publish.py", "--root", root, "--topic", "flights", "--input", str(flights)),
        *("--attribute", "carrier", "--ordering-key", "tailnum", "--batch-by", "month"),
        *("--idempotency-id", "flights", "--summary", str(summary)),
    )
    done = spark_submit(*publish)
    assert done.returncode == 0, done.stderr
    assert "publish: 101 messages in 2 batches" in done.stdout
    assert json.loads(summary.read_text())["messages"] == 101
    assert store.metrics("projects/local/topics/flights") == {"message_count": 101}
    last = store.read_topic("flights").where("ordering_key = ''").collect()
    assert [(bytes(row["data"]), row["attributes"]) for row in last] == [
        (b'{"month":2,"delay":7}', {})
    ]

    output = str(tmp_path / "out")
    done = spark_submit(
        *("consume.py", "--root", root, "--subscription", "delays", "--batch-size", "60"),
        *("--output", output, "--query"),
        "SELECT attributes['carrier'] AS carrier, count(*) AS flights FROM {messages} GROUP BY 1",
    )
    assert done.returncode == 0, done.stderr
    assert "consume: 101 messages in 2 batches" in done.stdout
    assert "101 acked" in done.stdout
    counted = spark.read.format("delta").load(output)
    totals = {row[0]: row[1] for row in counted.groupBy("carrier").sum("flights").collect()}
    assert totals == {"UA": 100, None: 1}
    assert store.metrics("delays")["num_undelivered_messages"] == 0


def test_a_refusal_is_one_line_and_exit_code_3(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    jobs = REPOSITORY / "jobs"
    monkeypatch.syspath_prepend(str(jobs))
    args = ["--root", str(tmp_path), "--subscription", "nobody", "--output", "/tmp/x"]
    monkeypatch.setattr(sys, "argv", ["consume.py", *args])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(jobs / "consume.py"), run_name="__main__")
    assert left.value.code == 3
    told = [line for line in capfd.readouterr().err.splitlines() if line.startswith("NOT_FOUND: ")]
    assert len(told) == 1
    assert "nobody" in told[0]
