"""Which filters of a query a topic reader takes over, and what they leave of the topic."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark.sql.datasource")
from pyspark.sql import datasource as spark
from pyspark.sql.types import LongType, StringType, StructType

from pubsub_delta import InvalidArgument, ManualClock, Message, PubSub
from pubsub_delta.datasource.batch_reader import PushedFilters, batch_reader
from pubsub_delta.datasource.columns import columns_of
from pubsub_delta.datasource.options import read_options
from pubsub_delta.datasource.source import PubSubDataSource
from pubsub_delta.policy.ack_ids import END_OF_POSITIONS
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import at

TICK = timedelta(microseconds=1)
TIME, ID, KEY = ("publish_time",), ("message_id",), ("ordering_key",)


def taken(*filters: Any) -> PushedFilters:
    pushed = PushedFilters()
    assert all(map(pushed.take, filters))
    return pushed


def ids(*filters: Any) -> list[int]:
    positions = taken(*filters).window(None).positions
    assert positions is not None
    return list(positions)


def test_filters_are_met_together() -> None:
    """Spark evaluates no filter again that a reader accepts."""
    assert ids(spark.In(ID, ("1", "2")), spark.In(ID, ("2", "3"))) == [2]
    assert ids(spark.EqualTo(ID, "1"), spark.EqualTo(ID, "2")) == []
    keys = taken(spark.In(KEY, ("a", "b")), spark.In(KEY, ("b", "c"))).ordering_keys
    assert keys == frozenset("b")


def test_a_text_that_is_no_id_is_the_id_of_nothing() -> None:
    assert ids(spark.In(ID, ("7", "07", "x", "", "9" * 5000))) == [7]
    assert ids(spark.EqualTo(ID, "x")) == ids(spark.EqualTo(ID, "07")) == []


def test_the_last_id_is_an_id() -> None:
    """A message has an id up to the end of positions, which has 19 digits."""
    last = END_OF_POSITIONS - 1
    assert ids(spark.In(ID, (str(last), str(END_OF_POSITIONS), f"0{last}"))) == [last]


@pytest.mark.parametrize(
    ("filter_", "earliest", "latest"),
    [
        (spark.GreaterThan(TIME, at(5)), at(5) + TICK, None),
        (spark.GreaterThanOrEqual(TIME, at(5)), at(5), None),
        (spark.LessThan(TIME, at(5)), None, at(5) - TICK),
        (spark.LessThanOrEqual(TIME, at(5)), None, at(5)),
        (spark.EqualTo(TIME, at(5)), at(5), at(5)),
    ],
)
def test_times_are_kept_to_the_microsecond(
    filter_: Any, earliest: datetime | None, latest: datetime | None
) -> None:
    window = taken(filter_).window(None)
    assert (window.earliest, window.latest) == (earliest, latest)


def test_the_narrowest_times_count_and_as_of_is_one_of_them() -> None:
    pushed = taken(
        spark.GreaterThanOrEqual(TIME, at(1)),
        spark.GreaterThanOrEqual(TIME, at(2)),
        spark.LessThanOrEqual(TIME, at(9)),
        spark.LessThanOrEqual(TIME, at(8)),
    )
    for until, latest in ((None, at(8)), (at(20), at(8)), (at(7), at(7))):
        window = pushed.window(until)
        assert (window.earliest, window.latest) == (at(2), latest)


@pytest.mark.parametrize(
    "filter_",
    [
        spark.EqualTo(("data",), "x"),
        spark.GreaterThan(("departed",), at(5)),
        spark.EqualTo(TIME, "2026-01-01"),
        spark.EqualTo(("attributes", "k"), "x"),
        spark.GreaterThan(ID, "7"),
        spark.IsNull(KEY),
        spark.EqualTo(ID, 7),
        spark.In(ID, ("7", None)),
        spark.In(KEY, (None, "a")),
        spark.GreaterThan(TIME, datetime.max.replace(tzinfo=timezone.utc)),
        spark.LessThan(TIME, datetime.min.replace(tzinfo=timezone.utc)),
    ],
)
def test_others_are_left_to_spark(filter_: Any) -> None:
    pushed = PushedFilters()
    assert not pushed.take(filter_)
    window = pushed.window(None)
    assert (window.positions, window.earliest, window.latest) == (None, None, None)
    assert pushed.ordering_keys is None


def without_key(table: Path, data: bytes) -> None:
    """Store null for the key of the message in a file of its own."""
    for file in table.rglob("publish_date=*/*.parquet"):
        rows = pq.ParquetFile(file).read()
        if rows["data"].to_pylist() == [data]:
            place, field = rows.schema.get_field_index("ordering_key"), rows.field("ordering_key")
            pq.write_table(rows.set_column(place, field, pa.nulls(1, field.type)), file)


@pytest.mark.parametrize("pushes", ["true", "false"])
@pytest.mark.parametrize(
    ("filter_", "passing"),
    [
        (None, [b"a", b"b", b"c"]),
        (spark.In(KEY, ("k",)), [b"b"]),
        (spark.EqualTo(KEY, ""), [b"a", b"c"]),
        (spark.LessThan(TIME, at(60)), [b"a", b"b"]),
    ],
)
def test_what_passes_is_read_whether_filters_are_taken_over_or_not(
    tmp_path: Path, pushes: str, filter_: Any, passing: list[bytes]
) -> None:
    """A reader that takes over none gives all messages, of which Spark takes those that pass.

    "A message without an ordering key has the empty one for whoever reads it": also where null is
    stored for it, by an earlier version or another writer.
    """
    clock = ManualClock(at(0))
    store = PubSub(None, str(tmp_path), clock=clock)
    store.create_topic("till")
    store.publish("till", ["a", Message(b"b", ordering_key="k")])
    clock.advance(60)
    store.publish("till", ["c"])
    without_key(tmp_path / "messages" / store.get_topic("till").uid, b"c")
    options = read_options({"root": str(tmp_path), "topic": "till", "pushFilters": pushes})
    reader: Any = batch_reader(options, columns_of(options))
    if pushes == "true":
        assert list(reader.pushFilters([] if filter_ is None else [filter_])) == []
    parts = reader.partitions()
    read = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
    assert sorted(row["data"] for row in read) == (
        passing if pushes == "true" else [b"a", b"b", b"c"]
    )


def test_without_filters_everything_is_read() -> None:
    assert PushedFilters().window(None).positions is None
    assert taken(spark.EqualTo(ID, "3")).window(None).positions == Positions.of([3])


def test_a_schema_has_columns_of_the_format_with_their_types(tmp_path: Path) -> None:
    """A schema of some of the columns reads only those, and no other type is made of one."""
    source = PubSubDataSource({"root": str(tmp_path), "topic": "till"})
    for wrong in (
        StructType().add("message_id", LongType()),
        StructType().add("flight", StringType()),
    ):
        with pytest.raises(InvalidArgument, match=r"schema: .* is not a column; some of"):
            source.reader(wrong)
    source.reader(StructType().add("message_id", StringType()))
    twice = StructType().add("message_id", StringType()).add("message_id", StringType())
    with pytest.raises(InvalidArgument, match="schema: message_id appears twice"):
        source.reader(twice)
    with pytest.raises(InvalidArgument, match="schema: message_id is NOT NULL"):
        source.reader(StructType().add("message_id", StringType(), nullable=False))
