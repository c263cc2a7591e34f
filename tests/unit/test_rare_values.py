"""Values that seldom come: of columns, positions, commits and schemas."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pubsub_delta import TableConfig
from pubsub_delta.errors import DataLoss, InvalidArgument
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.table_configs import check_table_config
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.table_config import TableState
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.messages import commits
from pubsub_delta.tables.messages.commits import metadata_of
from pubsub_delta.tables.target_rows import RowConverter, Rows
from pubsub_delta.tables.targets import TableLocations, Unwritable
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import START
from tests.unit.in_memory import NAME, TOPIC, InMemory


def row(type_: pa.DataType, written: str) -> Rows:
    """Return the row of a message whose only member is written so in JSON."""
    config = TableConfig("shop.orders", use_table_schema=True)
    data = f'{{"it": {written}}}'.encode()
    message = ReceivedMessage("", "1", START, data, {}, "", None)
    columns = pa.schema([pa.field("it", type_)])
    return RowConverter(config, "rows", columns, None).rows([message])


@pytest.mark.parametrize(
    ("type_", "written", "value"),
    [
        (pa.bool_(), "true", True),
        (pa.bool_(), "false", False),
        (pa.binary(), '"YQD/"', b"a\x00\xff"),
        (pa.binary(), '""', b""),
    ],
)
def test_a_member_is_the_value_of_its_column(type_: pa.DataType, written: str, value: Any) -> None:
    """JSON has true and false, and Base64 for bytes (Pub/Sub: BYTES are Base64 in JSON)."""
    found = row(type_, written)
    assert (found.unfit, found.rows["it"].to_pylist()) == ({}, [value])


@pytest.mark.parametrize(
    ("type_", "written"),
    [
        *((type_, "true") for type_ in (pa.int64(), pa.float64(), pa.decimal128(9, 2))),
        *((pa.bool_(), written) for written in ("1", "0", '"true"', "[]")),
        *((pa.binary(), written) for written in ('"no Base64"', '"YQ"', "97", "[97]")),
        *((type_, "[1]") for type_ in (pa.int32(), pa.float32(), pa.string())),
    ],
    ids=str,
)
def test_a_member_of_another_type_fits_nowhere(type_: pa.DataType, written: str) -> None:
    """To Python true is a number, and 0 is false: to a reader of the table they are not."""
    found = row(type_, written)
    assert found.unfit[0].endswith(f"is no {type_}")
    assert found.rows.num_rows == 0


def test_a_store_in_a_catalog_has_no_tables_without_a_root() -> None:
    with pytest.raises(Unwritable, match="tables_root names one") as told:
        TableLocations(layout_of("main.pubsub"), None).path("shop.orders")
    assert told.value.state is TableState.PERMISSION_DENIED
    assert TableLocations(layout_of("main.pubsub"), "/t").path("shop.orders") == "/t/shop/orders"


@pytest.mark.parametrize(
    ("given", "table"),
    [("shop:sales.orders", "shop.sales.orders"), ("shop.sales.orders", "shop.sales.orders")],
)
def test_a_table_may_be_named_as_gclouds_help_names_it(given: str, table: str) -> None:
    """gcloud: --bigquery-table=PROJECT:DATASET.TABLE names the same table as with a dot."""
    no_others: dict[str, Any] = {"push_config": None, "enable_exactly_once_delivery": False}
    found = check_table_config(TableConfig(given), **no_others)
    assert found is not None
    assert found.table == table


@pytest.mark.parametrize("given", ["/data/a\0b", "\0", "", "a/../b", "./a", None, 5])
def test_what_names_no_table_is_told_with_what_would(given: Any) -> None:
    no_others: dict[str, Any] = {"push_config": None, "enable_exactly_once_delivery": False}
    with pytest.raises(InvalidArgument) as error:
        check_table_config(TableConfig(given), **no_others)
    assert str(error.value).startswith(f"table_config.table: {given!r} names no table; ")
    assert str(error.value).endswith("accepted")
    longest = TableConfig("/" + "x" * 1023)
    assert check_table_config(longest, **no_others) == longest
    with pytest.raises(InvalidArgument, match="names no table"):
        check_table_config(TableConfig("/" + "x" * 1024), **no_others)


def test_positions_that_are_all_missing_are_held_by_no_set_of_many_runs() -> None:
    many = Positions.of(range(0, 10_000, 2))
    assert many.holds(np.array([1, 3, 9_999])).tolist() == [False] * 3
    assert many.holds(np.array([1, 4, 9_999])).tolist() == [False, True, False]


@pytest.mark.parametrize("text", ["by the night job", "[1]", "7", "", None])
def test_what_another_program_says_of_its_commit_is_no_publish(text: str | None) -> None:
    """ "`OPTIMIZE`, `VACUUM` … by Spark or `deltalake` are harmless", whatever they say."""
    assert metadata_of(text) == {}


def test_a_time_is_found_in_a_topic_of_more_commits_than_are_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seek to a time: messages published before it become acked, those from it on unacked."""
    monkeypatch.setattr(commits, "_FEW", 3)
    world = InMemory()
    for second in range(8):
        world.be_at(second)
        world.publish(str(second))
    world.pull()  # so all of them are one span
    world.be_at(30)
    world.store.seek(NAME, time=world.now.replace(second=5))
    assert [each.data for each in world.pull()] == ["5", "6", "7"]


@pytest.mark.parametrize("count", [0, 2])
def test_positions_without_their_one_row_are_damaged(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Whichever row was chosen, a message id could be given out twice."""
    world = InMemory()
    read = MemoryLane.read

    def damaged(self: MemoryLane, table: str, *args: Any, **named: Any) -> pa.Table:
        found = read(self, table, *args, **named)
        return pa.concat_tables([found] * count or [found[:0]]) if "positions" in table else found

    monkeypatch.setattr(MemoryLane, "read", damaged)
    with pytest.raises(DataLoss, match=f"has {count} rows instead of one"):
        world.store.publish(TOPIC, ["a"])


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


def test_a_definition_that_is_not_compiled_in_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("grpc_tools")

    def slow(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("protoc", 1)

    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(InvalidArgument, match="not compiled within"):
        InMemory().store.validate_schema("PROTOCOL_BUFFER", 'syntax = "proto3"; message A {}')


ARRAY = json.dumps(
    {
        "type": "record",
        "name": "Flight",
        "fields": [{"name": "legs", "type": {"type": "array", "items": "int"}}],
    }
)


@pytest.mark.parametrize("value", ["5", '"12"', '{"0": 1}', "null"])
def test_an_array_of_avro_is_an_array_of_json(value: str) -> None:
    store = InMemory().store
    with pytest.raises(InvalidArgument, match="an array is accepted"):
        store.validate_message(f'{{"legs": {value}}}', "JSON", type="AVRO", definition=ARRAY)
    store.validate_message('{"legs": [1, 2]}', "JSON", type="AVRO", definition=ARRAY)


@pytest.mark.parametrize("type_", ["double", "long"])
def test_a_number_of_too_many_digits_is_told_as_one(type_: str) -> None:
    """An error tells what is wrong and what is accepted, and not how to set up Python."""
    record = {"type": "record", "name": "A", "fields": [{"name": "n", "type": type_}]}
    given = f'{{"n": {"7" * 5_000}}}'
    with pytest.raises(InvalidArgument, match="a number has too many digits") as told:
        InMemory().store.validate_message(given, "JSON", type="AVRO", definition=json.dumps(record))
    assert "sys." not in str(told.value)
