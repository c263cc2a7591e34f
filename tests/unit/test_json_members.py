"""Members of JSON data as values of the columns of a table subscription's table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import TableConfig
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.tables.target_rows import RowConverter, Rows
from tests.unit.builders import START


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
