"""What a message must be for the columns of a table: a JSON object, read once and whole."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import TableConfig
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.tables.target_rows import RowConverter
from tests.unit.builders import START


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"it": 1, "it": 2}', "data is not JSON: 'it' appears twice in an object"),
        (b'{"it": 1, "no": {"x": 1, "x": 2}}', "data is not JSON: 'x' appears twice in an object"),
        (b'{"it": ' + b"[" * 100_000, "data is not JSON: maximum recursion depth exceeded"),
        (b'{"it": NaN}', "data is not JSON: NaN is not a JSON number"),
        (b'{"no": -Infinity}', "data is not JSON: -Infinity is not a JSON number"),
        (b"{", "data is not JSON: Expecting property name"),
        (b"", "data is not JSON: Expecting value"),
        (b"\xff", "data is not valid UTF-8, as a text must be"),
        (b"[1]", "data is not a JSON object"),
        (b"7", "data is not a JSON object"),
        (b"null", "data is not a JSON object"),
        (b'{"no": 1}', "there is no column for no"),
        (b"{}", None),
        (b'{"it": null}', None),
        (b'{"it": 7}', None),
    ],
)
def test_a_message_is_a_row_or_says_why_not(data: bytes, why: str | None, drops: bool) -> None:
    """bigquery_config: what cannot be written is a failed delivery; the others are written."""
    config = TableConfig("shop.orders", use_table_schema=True, drop_unknown_fields=drops)
    good = ReceivedMessage("", "1", START, b'{"it": 1}', {}, "", None)
    made = RowConverter(config, "rows", pa.schema([pa.field("it", pa.int64())]), None).rows(
        [good, ReceivedMessage("", "2", START, data, {}, "", None), good]
    )
    if why is not None and not (drops and why == "there is no column for no"):
        assert list(made.unfit) == [1]
        assert made.unfit[1].startswith(why)
        assert made.rows["it"].to_pylist() == [1, 1]
    else:
        assert made.unfit == {}
        value: Any = 7 if b"7" in data else None
        assert made.rows["it"].to_pylist() == [1, value, 1]
