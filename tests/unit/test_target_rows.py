"""Members of JSON as columns of a table: the same values to the last digit, or none."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import TableConfig
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.tables.target_rows import RowConverter, Rows
from tests.unit.builders import START

LARGE = pa.decimal128(38, 18)
QUOTED = pytest.mark.parametrize("quoted", [False, True])


def made(type_: pa.DataType, number: str, quoted: bool) -> Rows:
    """Return the row of a message whose only member is a number, perhaps as a text."""
    config = TableConfig("shop.orders", use_table_schema=True)
    written = f'"{number}"' if quoted else number
    data = f'{{"it": {written}}}'.encode()
    message = ReceivedMessage("", "1", START, data, {}, "", None)
    columns = pa.schema([pa.field("it", type_)])
    return RowConverter(config, "rows", columns, None).rows([message])


@pytest.mark.parametrize(
    ("type_", "number", "value"),
    [
        *(
            (LARGE, number, Decimal(number))
            for number in (
                "12345678901234567890.123456789012345678",
                "-99999999999999999999.999999999999999999",
                "0.100000000000000001",
                "-1E-18",
                "1E19",
                "7",
            )
        ),
        (pa.int64(), "-9223372036854775808", -(2**63)),
        (pa.int64(), "9.223372036854775807E18", 2**63 - 1),
        (pa.int32(), "0E1000000", 0),
        (pa.float32(), "3.4028234e38", 3.4028234663852886e38),
        (pa.float64(), "1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
@QUOTED
def test_a_number_keeps_every_digit(
    type_: pa.DataType, number: str, value: Any, quoted: bool
) -> None:
    """ "NUMERIC, BIGNUMERIC: decimal values with precision and scale"; none of them is rounded."""
    found = made(type_, number, quoted)
    assert (found.unfit, found.rows["it"].to_pylist()) == ({}, [value])


@pytest.mark.parametrize(
    ("type_", "number"),
    [
        (LARGE, "100000000000000000000"),
        (LARGE, "0.1000000000000000001"),
        (LARGE, "1e1000000"),
        (pa.int64(), "9223372036854775808"),
        (pa.int32(), "0.5"),
        (pa.float32(), "3.5e38"),
        (pa.float64(), "1e400"),
        (pa.float64(), "-1e1000000"),
    ],
)
@QUOTED
def test_a_number_that_its_column_cannot_hold_fits_nowhere(
    type_: pa.DataType, number: str, quoted: bool
) -> None:
    found = made(type_, number, quoted)
    assert found.unfit[0].endswith(f"is no {type_}")
    assert found.rows.num_rows == 0


@pytest.mark.parametrize("type_", [pa.int32(), pa.float64(), LARGE], ids=str)
@QUOTED
def test_a_number_of_any_size_is_refused_at_once(type_: pa.DataType, quoted: bool) -> None:
    """One message must not keep a server from the others; with it a process computed for hours."""
    assert made(type_, "1e100000000", quoted).unfit


@pytest.mark.parametrize("text", ["Infinity", "-inf", "NaN"])
def test_a_text_can_name_what_is_no_number(text: str) -> None:
    """BigQuery: "NaN" and "Infinity" are texts in JSON, of columns of FLOAT64."""
    (row,) = made(pa.float64(), text, quoted=True).rows["it"].to_pylist()
    assert str(row) == str(float(text))
    assert made(pa.float64(), text, quoted=False).unfit
