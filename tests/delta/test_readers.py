"""Other engines read a topic as a plain table, message ids included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars
import pytest
from chispa import assert_df_equality
from deltalake import DeltaTable

from pubsub_delta import Message
from pubsub_delta.session import is_remote
from tests.conftest import Bench, by_id


@dataclass
class Topic:
    """The path of a topic's table, and its messages as a subscription receives them."""

    name: str
    path: str
    rows: list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def topic(bench: Bench) -> Topic:
    """A topic of lists and DataFrames of two days, some of whose files were joined."""
    if is_remote(bench.spark):
        pytest.skip("the files are the server's")
    name, subscription = bench.pair()
    numbers = bench.spark.range(0, 100, 1, 3)
    bench.store.publish(name, [Message(b"\x00\xff", {"k": "värde", "l": ""}, "key"), "plain"])
    bench.store.publish(name, numbers.selectExpr("string(id) AS data", "'f' AS ordering_key"))
    bench.store.maintain(optimize=True)
    bench.clock.advance(86_400)
    bench.store.publish(name, ["tomorrow"])
    rows = [
        (int(m.message_id), m.publish_time, m.data, dict(m.attributes), m.ordering_key)
        for m in bench.store.pull(subscription)
    ]
    assert len(rows) == 103
    path = f"{bench.root}/messages/{bench.store.get_topic(name).uid}"
    return Topic(name, path, rows)


def by_pyarrow(path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(path).to_pyarrow_table().to_pylist()
    return found


def by_pandas(path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(path).to_pandas().to_dict("records")
    return found


def by_polars(path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = polars.scan_delta(path).collect().to_dicts()
    return found


@pytest.mark.parametrize("read", [by_pyarrow, by_pandas, by_polars])
def test_an_engine_reads_every_message_with_its_id(
    topic: Topic, read: Callable[[str], list[dict[str, Any]]]
) -> None:
    # "every engine (Polars, DuckDB, Trino, pandas, delta-rs, Spark 3) reads every table, message
    # ids included": position is the id
    rows = [
        (r["position"], r["publish_time"], r["data"], as_dict(r["attributes"]), r["ordering_key"])
        for r in read(topic.path)
    ]
    assert sorted(rows, key=lambda row: row[0]) == topic.rows


def as_dict(attributes: Any) -> dict[str, str]:
    """Return a map as Python has it, from how the engines do: a dictionary, pairs or structs."""
    if isinstance(attributes, dict):
        return attributes
    return dict(tuple(each.values()) if isinstance(each, dict) else each for each in attributes)


def test_polars_finds_messages_by_day_and_id(topic: Topic) -> None:
    position, time = topic.rows[-1][:2]
    rows = polars.scan_delta(topic.path)
    assert rows.filter(polars.col("position") == position).collect().height == 1
    assert rows.filter(polars.col("publish_date") == time.date()).collect().height == 1


def test_plain_spark_reads_a_topic_as_the_library_does(bench: Bench, topic: Topic) -> None:
    plain = bench.spark.read.format("delta").load(topic.path)
    assert_df_equality(
        plain.selectExpr(
            "string(position) AS message_id", "publish_time", "data", "attributes", "ordering_key"
        ),
        bench.store.read_topic(topic.name),
        transforms=[by_id],
        ignore_nullable=True,
    )
