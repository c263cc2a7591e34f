"""Members of JSON as columns of a table: the same values to the last digit, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import SchemaType, TableConfig
from pubsub_delta.policy.schemas.revisions import Revision
from pubsub_delta.policy.schemas.validation import TypedReader
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
        (pa.float64(), "1" + 400 * "0"),
        (pa.float32(), "-1" + 400 * "0"),
    ],
)
@QUOTED
def test_a_number_that_its_column_cannot_hold_fits_nowhere(
    type_: pa.DataType, number: str, quoted: bool
) -> None:
    found = made(type_, number, quoted)
    assert found.unfit[0].endswith(f"is no {type_}")
    assert found.rows.num_rows == 0


@pytest.mark.parametrize("type_", [pa.int64(), pa.float64(), LARGE], ids=str)
@pytest.mark.parametrize("digits", [4_300, 4_301, 20_000])
def test_a_number_of_any_length_is_one_of_json(type_: pa.DataType, digits: int) -> None:
    """ "dropUnknownFields": other fields are left out. Python reads no more than 4,300 digits."""
    config = TableConfig("shop.orders", use_table_schema=True, drop_unknown_fields=True)
    data = b'{"it": 7, "other": ' + b"7" * digits + b"}"
    message = ReceivedMessage("", "1", START, data, {}, "", None)
    columns = pa.schema([pa.field("it", type_)])
    found = RowConverter(config, "rows", columns, None).rows([message])
    assert (found.unfit, found.rows["it"].to_pylist()) == ({}, [7])
    assert made(type_, "7" * digits, quoted=False).unfit[0].endswith(f"is no {type_}")


@pytest.mark.parametrize("type_", [pa.int32(), pa.float64(), LARGE], ids=str)
@QUOTED
def test_a_number_of_any_size_is_refused_at_once(type_: pa.DataType, quoted: bool) -> None:
    """One message must not keep a server from the others; with it a process computed for hours."""
    assert made(type_, "1e100000000", quoted).unfit


@pytest.mark.parametrize("type_", [pa.int32(), pa.float64(), LARGE], ids=str)
@pytest.mark.parametrize("text", ["1_000", "\uff11\uff12", "\u0661", " 1", "1_0e400"])
def test_what_only_python_reads_as_a_number_is_none(type_: pa.DataType, text: str) -> None:
    assert made(type_, text, quoted=True).unfit[0].endswith(f"is no {type_}")


@pytest.mark.parametrize("text", ["Infinity", "-inf", "NaN"])
def test_a_text_can_name_what_is_no_number(text: str) -> None:
    """BigQuery: "NaN" and "Infinity" are texts in JSON, of columns of FLOAT64."""
    (row,) = made(pa.float64(), text, quoted=True).rows["it"].to_pylist()
    assert str(row) == str(float(text))
    assert made(pa.float64(), text, quoted=False).unfit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-03-04T05:06:07", datetime(2026, 3, 4, 5, 6, 7)),
        ("2026-03-04T05:06:07.000008", datetime(2026, 3, 4, 5, 6, 7, 8)),
        ("2026-03-04 05:06:07.0000071", datetime(2026, 3, 4, 5, 6, 7, 8)),
        ("2026-03-04", datetime(2026, 3, 4)),
        ("20260304T050607", None),
        ("2026-W10-3", None),
        ("2026-02-30T00:00:00", None),
        ("yesterday", None),
    ],
)
def test_a_column_without_a_zone_takes_a_time_without_one(
    text: str, value: datetime | None
) -> None:
    """BigQuery: a DATETIME is "a date and time, as they might be displayed on a watch"."""
    found = made(pa.timestamp("us"), text, quoted=True)
    assert found.rows["it"].to_pylist() == ([] if value is None else [value])
    assert made(pa.timestamp("us", "UTC"), text, quoted=True).unfit, "its zone is not known"


@pytest.mark.parametrize("zone", ["+14:00", "Z"])
def test_a_column_without_a_zone_takes_no_time_of_a_zone(zone: str) -> None:
    """Arrow would write another time of day than the text has."""
    assert made(pa.timestamp("us"), f"2026-03-04T05:06:07{zone}", quoted=True).unfit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-03-04", date(2026, 3, 4)),
        ("0001-01-01", date(1, 1, 1)),
        ("20260304", None),
        ("2026-W10-3", None),
        ("2026-3-4", None),
        ("\uff12026-03-04", None),
        ("2026-02-30", None),
    ],
)
def test_a_date_is_written_with_its_year_month_and_day(text: str, value: date | None) -> None:
    """Releases of Python read other texts as dates, each others."""
    found = made(pa.date32(), text, quoted=True)
    assert found.rows["it"].to_pylist() == ([] if value is None else [value])


def test_each_message_that_does_not_fit_has_its_own_reason() -> None:
    """The others are written, whether a member or only its column tells that a message is unfit."""
    config = TableConfig("shop.orders", use_table_schema=True)
    data = [b'{"it": 1}', b'{"it": "\\ud800"}', b'{"it": "a"}', b"[]", b'{"it": "b"}']
    messages = [
        ReceivedMessage("", str(n), START, each, {}, "", None) for n, each in enumerate(data)
    ]
    columns = pa.schema([pa.field("it", pa.string())])
    found = RowConverter(config, "rows", columns, None).rows(messages)
    assert found.rows["it"].to_pylist() == ["a", "b"]
    assert sorted(found.unfit) == [0, 1, 3]
    assert found.unfit[0] == "it: 1 is no string"


METADATA = pa.schema(
    [
        pa.field("subscription_name", pa.string()),
        pa.field("message_id", pa.string()),
        pa.field("publish_time", pa.timestamp("us", "UTC")),
        pa.field("attributes", pa.string()),
        pa.field("data", pa.binary()),
    ]
)


@pytest.mark.parametrize("data", [b'{"it": 1, "it": 2}', b'{"it": 1, "other": {"a": 1, "a": 2}}'])
def test_a_member_that_appears_twice_is_no_value(data: bytes) -> None:
    """One of the two would be lost; JSON does not say which one counts."""
    config = TableConfig("shop.orders", use_table_schema=True, drop_unknown_fields=True)
    columns = pa.schema([pa.field("it", pa.int64())])
    message = ReceivedMessage("", "1", START, data, {}, "", None)
    found = RowConverter(config, "rows", columns, None).rows([message])
    assert found.rows.num_rows == 0
    assert "appears twice in an object" in found.unfit[0]


def test_attributes_are_written_as_one_reads_them() -> None:
    """ "All other message properties are written to a JSON object in the attributes column." """
    config = TableConfig("shop.orders", write_metadata=True)
    message = ReceivedMessage(
        "", "1", START, b"", {"größe": "日本", 'a"b': "\n"}, "Schlüssel", None
    )
    (row,) = RowConverter(config, "rows", METADATA, None).rows([message]).rows.to_pylist()
    expected = '{"größe": "日本", "a\\"b": "\\n", "ordering_key": "Schlüssel"}'
    assert row["attributes"] == expected


REQUIRED = pa.field("item", pa.int64(), nullable=False)
AT_WILL = pa.field("item", pa.int64())


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize(
    ("type_of", "good", "lacking"),
    [
        (lambda part: part.type, "7", ["null"]),
        (pa.list_, "[1, 2]", ["[null]", "[1, null]", "[null, 1]"]),
        (
            lambda part: pa.map_(pa.string(), part.with_name("value")),
            '{"a": 1, "b": 2}',
            ['{"a": null}', '{"a": 1, "b": null}', '{"a": null, "b": 1}'],
        ),
        (
            lambda part: pa.struct([part.with_name("a"), AT_WILL.with_name("b")]),
            '{"a": 1}',
            ['{"a": null, "b": 1}', '{"b": 1}', "{}"],
        ),
        (
            lambda part: pa.list_(pa.struct([part.with_name("a")])),
            '[{"a": 1}]',
            ["[{}]", '[{"a": 1}, {"a": null}]'],
        ),
    ],
    ids=["a column", "a list", "a map", "a record", "records in a list"],
)
def test_a_value_that_is_not_null_must_be_there_however_deep(
    type_of: Callable[[pa.Field], pa.DataType], good: str, lacking: list[str], nullable: bool
) -> None:
    """One row with a null where the table takes none would fail the write of all the others."""
    part = AT_WILL if nullable else REQUIRED
    columns = pa.schema([pa.field("it", type_of(part), nullable=nullable)])
    config = TableConfig("shop.orders", use_table_schema=True)
    texts = [good, *lacking]
    messages = [
        ReceivedMessage("", str(n), START, f'{{"it": {text}}}'.encode(), {}, "", None)
        for n, text in enumerate(texts)
    ]
    found = RowConverter(config, "rows", columns, None).rows(messages)
    assert sorted(found.unfit) == ([] if nullable else list(range(1, len(texts))))
    assert all("NOT NULL" in why for why in found.unfit.values())
    assert found.rows.num_rows == len(texts) - len(found.unfit)
    if not nullable and not pa.types.is_integer(columns.field(0).type):
        inner = pa.schema([pa.field("it", type_of(part))])
        found = RowConverter(config, "rows", inner, None).rows(
            [*messages, ReceivedMessage("", "9", START, b'{"it": null}', {}, "", None)]
        )
        assert sorted(found.unfit) == list(range(1, len(texts))), "the whole value may be null"


def test_a_member_that_is_named_as_metadata_has_no_column() -> None:
    """The columns of metadata hold what the store knows of a message, and not what it says."""
    columns = METADATA.set(4, pa.field("sku", pa.string()))
    message = ReceivedMessage("", "7", START, b'{"sku": "a", "message_id": "8"}', {}, "", None)

    config = TableConfig("shop.orders", use_table_schema=True, write_metadata=True)
    found = RowConverter(config, "rows", columns, None).rows([message])
    assert found.unfit == {0: "there is no column for message_id"}
    config = replace(config, drop_unknown_fields=True)
    (row,) = RowConverter(config, "rows", columns, None).rows([message]).rows.to_pylist()
    assert (row["sku"], row["message_id"]) == ("a", "7")


@pytest.mark.parametrize(
    ("field", "column", "fits"),
    [
        ("int", pa.int64(), True),
        ("int", pa.float64(), True),
        ("int", pa.float32(), False),
        ("float", pa.float64(), True),
        ("float", pa.int64(), False),
        ("double", pa.float32(), False),
        ("long", pa.int32(), False),
    ],
)
def test_a_field_fits_a_column_that_holds_all_its_values(
    field: str, column: pa.DataType, fits: bool
) -> None:
    """An ``int`` fits a column of longs, and a ``float`` one of doubles; none is rounded."""
    pytest.importorskip("fastavro")
    fields = [{"name": "it", "type": field}]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    revision = Revision("0a0b0c0d", START, definition)
    typing = TypedReader("order", SchemaType.AVRO, revision, (revision,))
    config = TableConfig("shop.orders", use_topic_schema=True)
    converter = RowConverter(config, "rows", pa.schema([pa.field("it", column)]), typing)
    why = converter.mismatch()
    assert (why is None) is fits, why


@pytest.mark.parametrize(
    ("size", "unit", "fits"),
    [
        (pa.int32(), pa.string(), True),
        (pa.int32(), pa.int32(), False),
        (pa.string(), pa.string(), False),
    ],
)
def test_a_record_fits_a_column_whose_fields_all_have_its_types(
    size: pa.DataType, unit: pa.DataType, fits: bool
) -> None:
    """A table whose columns do not fit is told before a message is leased for it."""
    pytest.importorskip("fastavro")
    of_record = [{"name": "size", "type": "int"}, {"name": "unit", "type": "string"}]
    inner = {"type": "record", "name": "Box", "fields": of_record}
    fields = [{"name": "box", "type": inner}]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    revision = Revision("0a0b0c0d", START, definition)
    typing = TypedReader("order", SchemaType.AVRO, revision, (revision,))
    columns = pa.schema([pa.field("box", pa.struct([("size", size), ("unit", unit)]))])
    config = TableConfig("shop.orders", use_topic_schema=True)
    found = RowConverter(config, "rows", columns, typing).mismatch()
    assert (found is None) is fits
    assert fits or "column box is struct" in str(found)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_field_without_a_column_hides_no_other_that_does_not_fit(place: int) -> None:
    """``drop_unknown_fields`` leaves out that field alone, wherever it stands in the schema."""
    pytest.importorskip("fastavro")
    names = ["sku", "count"]
    names.insert(place, "colour")
    fields = [{"name": name, "type": "string"} for name in names]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    revision = Revision("0a0b0c0d", START, definition)
    typing = TypedReader("order", SchemaType.AVRO, revision, (revision,))
    columns = pa.schema([("sku", pa.string()), ("count", pa.int64())])
    config = TableConfig("shop.orders", use_topic_schema=True, drop_unknown_fields=True)
    why = RowConverter(config, "rows", columns, typing).mismatch()
    assert why is not None
    assert why.startswith("column count is int64; string")
    assert ";" not in why.partition("; ")[2]


WRITTEN = ("subscription_name", "message_id", "publish_time", "attributes")


@pytest.mark.parametrize("write_metadata", [False, True])
@pytest.mark.parametrize("of_schema", [False, True])
def test_a_column_is_not_null_only_where_something_is_written_to_it(
    of_schema: bool, write_metadata: bool
) -> None:
    """A table that would take no row is refused, and one that takes them all is not."""
    pytest.importorskip("fastavro")
    fields = [{"name": "sku", "type": "string"}]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    revision = Revision("0a0b0c0d", START, definition)
    typing = TypedReader("order", SchemaType.AVRO, revision, (revision,)) if of_schema else None
    config = TableConfig("shop.orders", use_topic_schema=of_schema, write_metadata=write_metadata)
    given = {"sku" if of_schema else "data", *(WRITTEN if write_metadata else ())}
    types = dict.fromkeys((*WRITTEN, "data", "sku"), pa.string())
    types["publish_time"] = pa.timestamp("us", "UTC")
    for required in types:
        columns = pa.schema(
            [pa.field(name, each, nullable=name != required) for name, each in types.items()]
        )
        why = RowConverter(config, "rows", columns, typing).mismatch()
        told = f"column {required} is NOT NULL, and nothing is written to it"
        assert why == (None if required in given else told)
