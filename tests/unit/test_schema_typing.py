"""Fields of messages as columns, without Spark: by which revision each message is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastavro")

from pubsub_delta.clock import from_micros
from pubsub_delta.policy.schemas.revisions import Revision
from pubsub_delta.policy.schemas.types import DecimalOf, FieldType, ListOf, MapOf, RecordOf
from pubsub_delta.policy.schemas.validation import SchemaMismatch, SchemaValidator, TypedReader
from pubsub_delta.schemas import Encoding, SchemaType
from pubsub_delta.tables.schemas import TEXT_BY_TEXT
from pubsub_delta.tables.typed import arrow_type, column_names, typed_rows, typed_schema
from tests.unit.builders import at
from tests.unit.schema_cases import (
    AREA,
    AVRO,
    AVRO_WITH_AREA,
    CODE,
    NAME,
    NO_STATE,
    OHIO,
    STATES,
    UTAH,
    avro_bytes,
    logical,
    record,
)

FIRST, SECOND, THIRD = (
    Revision(f"{n:08x}", at(n), definition)
    for n, definition in enumerate([AVRO, AVRO_WITH_AREA, record(NAME, AREA, CODE)])
)
TYPING = TypedReader(STATES, SchemaType.AVRO, THIRD, (FIRST, SECOND, THIRD))


def told(revision: Revision, encoding: Encoding = Encoding.JSON, name: str = STATES) -> Any:
    return SchemaValidator(name, SchemaType.AVRO, encoding, (revision,)).attributes(
        revision.revision_id
    )


def rows(data: bytes, attributes: Mapping[str, str]) -> pa.Table:
    """Return one message as it is stored."""
    return pa.table(
        {
            "message_id": ["1"],
            "publish_time": pa.array([at(0)], pa.timestamp("us", "UTC")),
            "data": [data],
            "attributes": pa.array([[*attributes.items()]], TEXT_BY_TEXT),
            "ordering_key": [""],
        }
    )


def test_a_message_is_held_against_the_newest_revision_first() -> None:
    validator = SchemaValidator(STATES, SchemaType.AVRO, Encoding.JSON, (SECOND, FIRST))
    assert validator.revision_of(OHIO) == SECOND.revision_id
    assert validator.revision_of(UTAH) == FIRST.revision_id
    again = Revision("0badcafe", at(9), AVRO)
    validator = SchemaValidator(STATES, SchemaType.AVRO, Encoding.JSON, (again, SECOND, FIRST))
    assert validator.revision_of(UTAH) == "0badcafe"
    with pytest.raises(SchemaMismatch, match=r"'name' is missing \(revision 0badcafe\)"):
        validator.revision_of(NO_STATE)


def test_who_is_refused_is_told_why_by_the_newest_revision() -> None:
    """Pub/Sub: a message must fit any revision of the range; clients write the newest."""
    area, name = (
        Revision(f"{n:08x}", at(n), definition)
        for n, definition in enumerate([record(AREA), record(NAME)])
    )
    validator = SchemaValidator(STATES, SchemaType.AVRO, Encoding.JSON, (area, name))
    with pytest.raises(SchemaMismatch, match=r"'area' is missing \(revision 00000000\)"):
        validator.revision_of(b"{}")


def test_each_message_is_read_by_its_own_revision() -> None:
    assert TYPING.values(UTAH, told(FIRST)) == {"name": "Utah", "area": 0, "code": None}
    assert TYPING.values(OHIO, told(SECOND)) == {"name": "Ohio", "area": 116096, "code": None}
    earlier = TypedReader(STATES, SchemaType.AVRO, FIRST, (FIRST, SECOND))
    assert earlier.values(OHIO, told(SECOND)) == {"name": "Ohio"}


DEFAULTS: list[tuple[Any, Any, object]] = [
    ("bytes", "\u00ff", b"\xff"),
    ({"type": "fixed", "name": "Two", "size": 2}, "\u0000\u00e9", b"\x00\xe9"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "\u00ff", "-0.01"),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18},
        (10**38 - 1).to_bytes(16, "big").decode("latin-1"),
        f"{'9' * 20}.{'9' * 18}",
    ),
    ({"type": "long", "logicalType": "timestamp-millis"}, 5, from_micros(5000)),
    ({"type": "int", "logicalType": "time-millis"}, 1000, "00:00:01"),
    (["null", "bytes"], None, None),
    (["bytes", "null"], "\u00ff", b"\xff"),
    ({"type": "map", "values": "bytes"}, {"a": "\u00ff"}, [("a", b"\xff")]),
    ({"type": "array", "items": ["long", "null"]}, [5], [5]),
    (json.loads(record(NAME, AREA, name="Inner")), {"name": "a"}, {"name": "a", "area": 0}),
]


@pytest.mark.parametrize(("type_", "default", "expected"), DEFAULTS)
def test_a_default_is_a_value_of_its_type(type_: Any, default: Any, expected: object) -> None:
    """Avro: bytes are "JSON strings" of ISO-8859-1, and a logical type is one of its base type."""
    field = {"name": "f", "type": type_, "default": default}
    wider = Revision("0badcafe", at(9), record(NAME, field))
    typing = TypedReader(STATES, SchemaType.AVRO, wider, (FIRST, wider))
    found = typing.values(UTAH, told(FIRST))["f"]
    assert (str(found) if isinstance(found, Decimal) else found) == expected
    assert typed_rows(rows(UTAH, told(FIRST)), typing)["schema_error"].to_pylist() == [None]


SECOND_OF_1970 = from_micros(1_000_000)


@pytest.mark.parametrize(
    ("writer", "reader", "value", "expected"),
    [
        ("long", logical("long", "timestamp-millis"), 1000, SECOND_OF_1970),
        (logical("long", "timestamp-millis"), "long", 1000, 1000),
        (
            logical("long", "timestamp-micros"),
            logical("long", "timestamp-millis"),
            1000,
            SECOND_OF_1970,
        ),
        ("int", logical("long", "timestamp-millis"), 1000, SECOND_OF_1970),
        (logical("int", "time-millis"), "int", 5, 5),
        ("bytes", logical("bytes", "decimal", precision=2, scale=1), "\u0001", Decimal("0.1")),
        (logical("bytes", "decimal", precision=2), "bytes", "\u0001", b"\x01"),
        (
            ["null", "long"],
            ["null", logical("long", "timestamp-millis")],
            {"long": 1000},
            SECOND_OF_1970,
        ),
    ],
)
def test_a_logical_type_is_that_of_the_revision_that_defines_the_columns(
    writer: Any, reader: Any, value: Any, expected: object
) -> None:
    """Avro: schemas are resolved by their types; what a logical type means is said by the reader.

    Revisions whose logical types differ are compatible.
    """
    before, after = (
        Revision(f"{n:08x}", at(n), record({"name": "f", "type": type_}))
        for n, type_ in enumerate([writer, reader])
    )
    typing = TypedReader(STATES, SchemaType.AVRO, after, (before, after))
    data = json.dumps({"f": value}).encode()
    assert typing.values(data, told(before)) == {"f": expected}
    assert typed_rows(rows(data, told(before)), typing)["f"].to_pylist() == [expected]


def test_a_decimal_with_too_many_digits_for_the_columns_cannot_be_read() -> None:
    before, after = (
        Revision(f"{n:08x}", at(n), record({"name": "f", "type": type_}))
        for n, type_ in enumerate([logical("bytes", "decimal", precision=n) for n in (3, 2)])
    )
    typing = TypedReader(STATES, SchemaType.AVRO, after, (before, after))
    found = typed_rows(rows(b'{"f": "\\u0000d"}', told(before)), typing)
    assert found["schema_error"].to_pylist() == ["a decimal has more than 2 digits"]
    assert found["f"].to_pylist() == [None]


def test_each_message_is_read_in_its_own_encoding() -> None:
    """The topic's encoding may be another one by now."""
    binary = avro_bytes(AVRO, {"name": "Utah"})
    found = TYPING.values(binary, told(FIRST, Encoding.BINARY))
    assert found == {"name": "Utah", "area": 0, "code": None}


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({}, "published when the topic had no schema"),
        (
            told(FIRST, name="projects/local/schemas/other"),
            "published under projects/local/schemas/o",
        ),
        (told(Revision("0badcafe", at(0), AVRO)), "revision 0badcafe of .* was deleted"),
    ],
)
def test_what_has_no_such_revision_cannot_be_read(attributes: Mapping[str, str], why: str) -> None:
    with pytest.raises(SchemaMismatch, match=why):
        TYPING.values(UTAH, attributes)


def test_rows_keep_their_columns_and_get_their_fields_and_what_is_wrong() -> None:
    messages = pa.table(
        {
            "message_id": ["1", "2"],
            "publish_time": pa.array([at(1), at(2)], pa.timestamp("us", tz="UTC")),
            "data": pa.array([UTAH, b"else"], pa.large_binary()),  # as Spark gives it at times
            "attributes": pa.array([list(told(FIRST).items()), None], TEXT_BY_TEXT),
            "ordering_key": ["", "k"],
        }
    )
    found = typed_rows(messages, TYPING)
    assert found.schema == typed_schema(TYPING)
    assert found.drop_columns(["attributes", "publish_time"]).to_pylist() == [
        {
            "message_id": "1",
            "data": UTAH,
            "ordering_key": "",
            "name": "Utah",
            "area": 0,
            "code": None,
            "schema_error": None,
        },
        {
            "message_id": "2",
            "data": b"else",
            "ordering_key": "k",
            "name": None,
            "area": None,
            "code": None,
            "schema_error": "it was published when the topic had no schema",
        },
    ]


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("string", "é"),
        ("int", -(2**31)),
        ("long", 2**63 - 1),
        ("float", 0.5),
        ("double", 0.1),
        ("boolean", True),
        ("binary", b"\x00"),
        ("timestamp", at(1)),
        (DecimalOf(20, 0), Decimal(2**64 - 1)),
        (ListOf("int"), [1, None]),
        (MapOf("int"), [("k", 1)]),
        (RecordOf((("n", "int"),)), {"n": 1}),
    ],
)
def test_every_type_has_a_column_that_holds_its_values(type_: FieldType, value: Any) -> None:
    assert pa.array([value, None], arrow_type(type_)).to_pylist() == [value, None]


@given(
    st.lists(st.sampled_from(["sku", "SKU", "Sku", "Data", "field_data", "Field_SKU"]), unique=True)
)
def test_no_two_columns_differ_by_case_alone(fields: list[str]) -> None:
    """Spark and many catalogs take such columns for one."""
    names = column_names(fields)
    lower = [each.lower() for each in names]
    assert len(set(lower)) == len(fields)
    assert not {"data", "attributes", "publish_time"} & set(lower)
    assert all(name.endswith(field) for name, field in zip(names, fields, strict=True))
