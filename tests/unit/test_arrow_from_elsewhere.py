"""Arrow tables from anywhere: published as they are, or refused before anything is written.

What was published can be pulled by a consumer, and sent by the server.
"""

from __future__ import annotations

import math
from collections import UserDict
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pubsub_delta import AckResult, InvalidArgument, ReceivedMessage
from pubsub_delta.server.wire import received_message
from tests.unit.arrow_cases import any_arrays, bytes_arrays, good_maps, tables, text_arrays
from tests.unit.hostile import outcome
from tests.unit.in_memory import NAME, TOPIC, InMemory

long = settings(deadline=None, max_examples=50)


def delivered(world: InMemory) -> list[ReceivedMessage]:
    """Pull everything as another process does, which may not fail, and send it."""
    batch = world.driver.open().pull(NAME)
    found = list(batch)
    assert len(found) == batch.message_count == batch.arrow().num_rows
    for each in found:
        assert received_message(each).message.data == each.data
    assert batch.ack().counts["success"] == len(found)
    return found


def publish(world: InMemory, table: Any, **named: Any) -> Any:
    return outcome(lambda: world.store.publish(TOPIC, table, **named))


SAME_NAMES = pa.StructArray.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["a", "a"])


@long
@given(tables())
@example(pa.table({"data": pa.array([0], pa.int8()), "attributes": [{"a": "b"}]}))
@example(pa.table({"data": ["a"], "attributes": pa.array([5])}))
@example(pa.table({"data": ["a"], "attributes": ["no map"]}))
@example(pa.table({"data": ["a"], "ordering_key": pa.array([0], pa.int64())}))
@example(pa.table({"message_id": SAME_NAMES, "data": ["a"]}))
def test_a_table_is_published_as_it_is_or_refused(table: pa.Table) -> None:
    world = InMemory()
    told = publish(world, table)
    found = delivered(world)
    if isinstance(told, InvalidArgument):
        assert found == []
        assert world.stored() == []
        return
    assert len(found) == told.message_count == table.num_rows
    taken = [each for each in ("data", "attributes", "ordering_key") if each in table.column_names]
    for message, row in zip(found, table.select(taken).to_pylist(), strict=True):
        data = row.get("data") or b""
        assert message.data == (data.encode() if isinstance(data, str) else data)
        assert message.attributes == dict(row.get("attributes") or ())
        assert message.ordering_key == (row.get("ordering_key") or "")


@st.composite
def right_tables(draw: st.DrawFn) -> pa.Table:
    count = draw(st.integers(1, 3))
    columns = {
        "data": st.one_of(bytes_arrays(count), text_arrays(count)),
        "attributes": good_maps(count),
        "ordering_key": text_arrays(count),
    }
    return pa.table({name: draw(each) for name, each in columns.items()})


@long
@given(right_tables())
def test_every_encoding_of_bytes_texts_and_maps_is_accepted(table: pa.Table) -> None:
    world = InMemory()
    assert publish(world, table).message_count == table.num_rows
    assert len(delivered(world)) == table.num_rows


@long
@given(st.integers(1, 3).flatmap(any_arrays))
@example(pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"])))
def test_an_order_is_that_of_a_column_or_refused(column: Any) -> None:
    world = InMemory()
    table = pa.table({"data": ["m"] * len(column), "n": column})
    told = publish(world, table, order_by="n")
    assert len(delivered(world)) == (0 if isinstance(told, InvalidArgument) else len(column))


@long
@given(st.integers(0, 3).flatmap(any_arrays), st.booleans())
def test_ack_ids_come_in_any_column_and_touch_nothing(column: Any, in_a_table: bool) -> None:
    world = InMemory()
    world.publish("a")
    given_ids = pa.table({"ack_id": column}) if in_a_table else column
    told = outcome(lambda: world.store.acknowledge(NAME, given_ids))
    if isinstance(told, AckResult):
        assert told.counts["success"] == told.counts["expired"] == 0
    assert [each.data for each in delivered(world)] == [b"a"]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
def test_ack_ids_of_any_kind_of_text_are_good(type_: pa.DataType) -> None:
    world = InMemory()
    world.publish("a")
    ids = pa.array([each.ack_id for each in world.pull()]).cast(type_)
    assert world.store.acknowledge(NAME, pa.table({"ack_id": ids})).counts["success"] == 1


def test_a_record_batch_is_a_table() -> None:
    world = InMemory()
    batch = pa.RecordBatch.from_pydict({"data": ["b", "a"], "n": [2, 1]})
    publish(world, batch, order_by="n")
    assert [each.data for each in delivered(world)] == [b"a", b"b"]


def test_an_order_is_that_of_spark() -> None:
    """Spark SQL: ascending puts NULL first, and NaN after every other number."""
    world = InMemory()
    order = [math.nan, 2.0, None, math.inf, -1.0, None]
    table = pa.table({"data": ["f", "d", "a", "e", "c", "b"], "n": pa.array(order, pa.float64())})
    publish(world, table, order_by="n")
    assert [each.data for each in delivered(world)] == [b"a", b"b", b"c", b"d", b"e", b"f"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["b", "a", None]),
        pa.array(["b", "a", None], pa.large_string()),
        pa.array([b"b", b"a", None]),
        pa.array([b"b", b"a", None], pa.binary(1)),
        pa.array([True, False, None]),
        pa.array([2, 1, None], pa.decimal128(3, 1)),
        pa.array([2, 1, None], pa.timestamp("us", "UTC")),
        pa.array([2, 1, None], pa.date32()),
        pa.array([2, 1, None], pa.duration("s")),
    ],
    ids=lambda column: str(column.type),
)
def test_texts_bytes_numbers_and_times_give_an_order(column: pa.Array) -> None:
    """The error of others: "a column of numbers, times, texts or bytes is accepted"."""
    world = InMemory()
    publish(world, pa.table({"data": ["c", "b", "a"], "n": column}), order_by="n")
    assert [each.data for each in delivered(world)] == [b"a", b"b", b"c"]


def test_a_column_that_appears_twice_is_refused() -> None:
    """One of them would be lost without a word."""
    world = InMemory()
    twice = pa.table([pa.array(["a"]), pa.array(["b"])], names=["data", "data"])
    told = publish(world, twice)
    assert isinstance(told, InvalidArgument)
    assert "column 'data' appears twice" in str(told)
    assert world.stored() == []


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"data": ["a"], "attributes": [{}]}),
        {"data": ["a"], "attributes": [{}]},
        UserDict(data=["a"]),
    ],
    ids=["pandas", "dict", "mapping"],
)
def test_names_of_columns_are_no_messages(table: Any) -> None:
    """What iterates over names would publish these, and lose what was meant."""
    world = InMemory()
    told = publish(world, table)
    assert isinstance(told, InvalidArgument)
    assert "gives the names of its columns" in str(told)
    assert world.stored() == []


def test_a_table_is_sorted_by_a_column_that_it_has() -> None:
    world = InMemory()
    table = pa.table({"data": [b"a"]})
    with pytest.raises(InvalidArgument, match="order_by: 'at' is not a column; one of data is"):
        world.store.publish(TOPIC, table, order_by="at")
    assert world.stored() == []


def test_a_table_is_not_sorted_by_numbers_that_arrow_does_not_sort() -> None:
    """Arrow takes half-precision numbers for floating ones, and sorts no table by them."""
    world = InMemory()
    table = pa.table({"data": [b"a", b"b"], "at": pa.array([np.float16(2), np.float16(1)])})
    with pytest.raises(InvalidArgument, match="halffloat, which is not sorted"):
        world.store.publish(TOPIC, table, order_by="at")
    assert world.stored() == []
