"""Metrics of real tables: whole stores as rows, sizes, and what is an estimate."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import DataLoss, ManualClock, Message, NotFound, NotMeasuredWarning, PubSub
from pubsub_delta.jobs.export_metrics import add_to_table
from pubsub_delta.metrics import METRICS, RESOURCE_LABELS
from pubsub_delta.tables.lanes.spark.columns import message_bytes
from pubsub_delta.tables.messages import sizes
from tests.conftest import Bench
from tests.lanes.test_damaged_metrics import half_broken

MESSAGES = [
    Message(b"\xff\x00\x01", {"key": "värde", "k": ""}, "order"),  # 3 + 3 + 6 + 1 + 5
    Message("é".encode()),  # 2
    Message(b"", {"only": "attributes"}),  # 14
]
BYTES = 18 + 2 + 14


@pytest.mark.trial
def test_metrics_of_a_store_as_a_mapping_as_rows_and_for_prometheus(bench: Bench) -> None:
    # "one row per resource and metric (kind, name, metric, labels map, value double, unit,
    # is_estimate, time)"
    store = bench.another()
    topic, first = bench.pair()
    second = bench.subscription(topic, filter="attributes:k")
    store.publish(topic, MESSAGES)
    taken = store.create_snapshot("taken", first)
    batch = store.pull(first)
    batch.ack([message.ack_id for message in batch if message.data == "é".encode()])
    frame = store.metrics_table()
    columns = ["kind", "name", "metric", "labels", "value", "unit", "is_estimate", "time"]
    assert frame.columns == columns
    found = frame.selectExpr("*", "unix_micros(time) / 1e6 AS at").collect()
    assert {(row["kind"], row["metric"]) for row in found} == {(m.kind, m.name) for m in METRICS}
    assert {row["at"] for row in found} == {bench.clock.now().timestamp()}
    for row in found:
        assert set(RESOURCE_LABELS[row["kind"]]) <= set(row["labels"])
    rows = {
        (row["name"].split("/")[3], row["metric"], row["labels"].get("response_code", "")): row
        for row in found
    }
    assert rows[topic, "byte_cost", ""]["value"] == BYTES
    assert not rows[topic, "byte_cost", ""]["is_estimate"]
    assert rows[first, "num_undelivered_messages", ""]["value"] == 2
    # the number of messages by their mean size: no backlog is read for a table
    assert rows[first, "backlog_bytes", ""]["value"] == round(2 * BYTES / 3)
    assert rows[first, "backlog_bytes", ""]["is_estimate"]
    assert rows[first, "backlog_bytes", ""]["unit"] == "By"
    assert rows[first, "ack_message_count", "success"]["value"] == 1
    assert rows[first, "ack_message_count", "invalid"]["value"] == 0
    assert rows[second, "num_undelivered_messages", ""]["value"] == 1
    assert rows["taken", "num_messages", ""]["value"] == 3
    assert rows["taken", "expire_time", ""]["value"] == taken.expire_time.timestamp()

    told = store.metrics(first)
    assert (told["backlog_bytes"], told.estimates) == (BYTES - 2, frozenset())
    assert told.labels == {"project": "local", "subscription": first, "topic": topic}
    exact = store.metrics_table([first], exact=True).where("metric = 'backlog_bytes'").collect()
    assert [(row["value"], row["is_estimate"]) for row in exact] == [(BYTES - 2, False)]
    with pytest.raises(NotFound, match="nobody"):
        store.metrics_table(["nobody"])

    exporter = store.metrics_exporter([first])
    exporter.refresh()
    expected = (
        'pubsub_subscription_num_undelivered_messages{project="local",'
        f'subscription="{first}",topic="{topic}"}} 2.0'
    )
    assert expected in exporter.text().splitlines()
    assert "pubsub_delta_up 1.0" in exporter.text().splitlines()


@pytest.mark.trial
def test_estimates_are_told_and_exact_has_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "exact where it is cheap and labelled as estimate where not"
    monkeypatch.setattr(sizes, "QUICK_FILE_BYTES", 0)
    topic, subscription = bench.pair()
    bench.store.publish(topic, [b"x" * 10] * 90)
    bench.clock.advance(60)
    bench.store.publish(topic, [b"x" * 110] * 10)
    bench.clock.advance(60)
    batch = bench.store.pull(subscription)
    bench.store.acknowledge(subscription, batch.df.where("length(data) = 10").select("ack_id"))
    of_topic = bench.store.metrics(topic)
    # Five picks at equal steps through 100 messages: all fall on the first publish.
    assert of_topic["byte_cost"] == 1000
    assert of_topic.estimates == {"byte_cost"}
    told = bench.store.metrics(subscription)
    # The lease is one span of two publishes, and the first of them is acknowledged.
    assert (told["backlog_bytes"], told["oldest_unacked_message_age"]) == (100, 120)
    assert told.estimates == {"backlog_bytes", "oldest_unacked_message_age"}
    told = bench.store.metrics(subscription, exact=True)
    assert (told["backlog_bytes"], told["oldest_unacked_message_age"]) == (1100, 60)
    assert told.estimates == frozenset()
    assert bench.store.metrics(topic, exact=True)["byte_cost"] == 2000


def test_what_is_null_has_no_size(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT * FROM VALUES (X'010203', map('k', 'värde'), 'order'), (NULL, map('a', ''), NULL), "
        "(X'01', NULL, ''), (X'', map('k', CAST(NULL AS STRING)), NULL) "
        "AS message(data, attributes, ordering_key)"
    )
    found = [row[0] for row in rows.select(message_bytes()).collect()]
    assert found == [3 + 1 + 6 + 5, 1, 1, 1]


def test_the_metrics_of_the_others_of_a_damaged_one_are_rows(tmp_path: Path, bench: Bench) -> None:
    """ "Metrics, per subscription": each has its own, and the error of another one is told."""
    clock, root, found = ManualClock(), tmp_path / "store", str(tmp_path / "found")
    uid = half_broken(root, clock)
    store = PubSub(bench.spark, str(root), clock=clock)
    with pytest.warns(NotMeasuredWarning, match=f"^a damaged resource was not measured: .*{uid}"):
        rows = store.metrics_table().where("metric = 'num_undelivered_messages'").collect()
    assert [(row["labels"]["subscription"], row["value"]) for row in rows] == [("of-sound", 2)]
    with pytest.raises(DataLoss, match=uid):
        store.metrics_table(["of-broken"])
    with pytest.raises(DataLoss, match=uid):
        add_to_table(store, None, found, None, exact=False)
    assert (
        bench.spark.read.format("delta").load(found).count()
        == len([each for each in METRICS if each.kind != "snapshot"]) + 2
    )  # ack_message_count has three rows
