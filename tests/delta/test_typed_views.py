"""Fields of messages as columns of views: in a session by Python, in a catalog by SQL alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

from pubsub_delta import Message, PubSub, SchemaSettings
from tests.conftest import Bench
from tests.unit.schema_cases import AREA, AVRO, NAME, PROTO, UTAH, avro_bytes, record

OF_A_MESSAGE = ["message_id", "publish_time", "data", "attributes", "ordering_key"]


@pytest.fixture
def store(own_bench: Bench) -> PubSub:
    return own_bench.store


def typed(store: PubSub, definition: str = AVRO, encoding: str = "JSON", kind: str = "AVRO") -> str:
    """Create the topic ``states`` with a schema, and return the name of its typed view."""
    store.create_schema("state", kind, definition)
    store.create_topic("states", schema_settings=SchemaSettings("state", encoding))
    return "states_typed"


def rows(own_bench: Bench, view: str, *columns: str) -> list[tuple[Any, ...]]:
    found = own_bench.spark.table(view).selectExpr(*(columns or ("*",))).collect()
    return sorted(map(tuple, found), key=repr)


@pytest.mark.parametrize("where", ["catalog", "session"])
def test_a_view_has_the_fields_of_messages_as_columns(
    own_bench: Bench, store: PubSub, schema: str, where: str
) -> None:
    # "`store.read_topic(topic, typed=True)` and views give the message's fields as columns"
    place, dot = (schema, f"{schema}.") if where == "catalog" else (None, "")
    view = typed(store, record(NAME, AREA))
    store.publish("states", [b'{"name": "Ohio", "area": 116096}'])
    report = store.create_views(place)
    assert (report.views, report.untyped) == (("states", view), {})
    assert own_bench.spark.table(f"{dot}{view}").columns == [
        *OF_A_MESSAGE,
        *("name", "area", "schema_error"),
    ]
    assert rows(own_bench, f"{dot}{view}", "name", "area + 1", "schema_error") == [
        ("Ohio", 116097, None)
    ]
    assert store.create_views(place).unchanged == report.views
    store.commit_schema("state", record(NAME, AREA, {**NAME, "name": "capital", "default": "?"}))
    assert store.create_views(place).replaced == (view,)
    assert rows(own_bench, f"{dot}{view}", "name", "capital") == [("Ohio", "?")]
    store.update_topic("states", schema_settings=None)
    assert store.create_views(place).dropped == (view,)


@pytest.mark.parametrize("where", ["catalog", "session"])
def test_such_a_view_tells_that_its_topic_is_another_one_by_now(
    own_bench: Bench, store: PubSub, schema: str, where: str
) -> None:
    place, dot = (schema, f"{schema}.") if where == "catalog" else (None, "")
    view = typed(store)
    store.publish("states", [UTAH])
    store.create_views(place)
    store.delete_topic("states")
    with pytest.raises(Exception, match="was deleted, or created anew, since this view was made"):
        rows(own_bench, f"{dot}{view}")
    assert store.create_views(place).dropped == ("states", view)


def test_what_sql_alone_does_not_read_is_told_and_the_other_views_are_made(
    own_bench: Bench, store: PubSub, schema: str
) -> None:
    view = typed(store, PROTO, "BINARY", "PROTOCOL_BUFFER")
    store.publish("states", [b"\x0a\x04Utah"])
    report = store.create_views(schema)
    assert (report.views, report.refused) == (("states",), {})
    (why,) = report.untyped.values()
    assert why.startswith("its schema is one of Protocol Buffers, which SQL alone does not read")
    assert any(line.startswith("without fields: projects/local/t") for line in report.lines())
    assert view in store.create_views(temporary=True).views
    assert rows(own_bench, view, "name") == [("Utah",)]
    store.delete_schema("state")
    report = store.create_views(temporary=True)
    assert "was deleted" in report.untyped["projects/local/topics/states"]
    assert report.dropped == (view,)


def nullable(type_: Any) -> list[Any]:
    return ["null", type_]


POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "double"}]}
EVERYTHING: list[tuple[str, Any, Any, Any]] = [
    ("flag", "boolean", True, False),
    ("small", "int", -7, 2**31 - 1),
    ("large", "long", 2**62, -(2**63)),
    ("short", "float", 0.1, 1e30),
    ("ratio", "double", 0.1, 3),
    ("text", "string", 'ä "quoted" \\ \u2028 🙂', ""),
    ("raw", "bytes", "\x00\xff", "a"),
    ("pair", {"type": "fixed", "name": "Pair", "size": 2}, "\x01é", "ab"),
    ("coast", {"type": "enum", "name": "Coast", "symbols": ["EAST", "WEST"]}, "EAST", "WEST"),
    ("day", {"type": "int", "logicalType": "date"}, 20_000, -1),
    ("at", {"type": "long", "logicalType": "timestamp-millis"}, 1_700_000_000_123, -1),
    ("then", {"type": "long", "logicalType": "timestamp-micros"}, 1_700_000_000_123_456, 0),
    (
        "id",
        {"type": "string", "logicalType": "uuid"},
        "0b9a3a7e-5f0d-4b1c-9a51-3f4c5d6e7f80",
        "1b9a3a7e-5f0d-4b1c-9a51-3f4c5d6e7f80",
    ),
    ("note", nullable("string"), {"string": "a"}, None),
    ("size", nullable("long"), {"long": 5}, None),
    ("point", nullable(POINT), {"Point": {"x": 1.5}}, None),
    ("points", {"type": "array", "items": "Point"}, [{"x": 1.0}, {"x": -2.5}], []),
    ("tags", {"type": "array", "items": nullable("bytes")}, [{"bytes": "ÿ"}, None], []),
    ("by", {"type": "map", "values": nullable("int")}, {"a b": {"int": 1}, "": None}, {}),
    ("Data", "string", "its name is that of a column", ""),
]


def test_a_view_in_a_catalog_reads_what_python_reads(
    own_bench: Bench, store: PubSub, schema: str
) -> None:
    # "`from_json`": the two readers of one message agree, whatever its types
    definition = record(*({"name": name, "type": type_} for name, type_, _, _ in EVERYTHING))
    view = typed(store, definition)
    datums = [{each[0]: each[2 + which] for each in EVERYTHING} for which in (0, 1)]
    own_bench.spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        store.publish("states", [json.dumps(each).encode() for each in datums])
        assert store.create_views(schema).untyped == {}
        expected = store.read_topic("states", typed=True)
        found = own_bench.spark.table(f"{schema}.{view}")
        assert found.columns == expected.columns
        assert [each.dataType for each in found.schema] == [
            each.dataType for each in expected.schema
        ]
        assert rows(own_bench, f"{schema}.{view}") == sorted(
            map(tuple, expected.collect()), key=repr
        )
    finally:
        own_bench.spark.conf.unset("spark.sql.ansi.enabled")


MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
DATE = {"type": "int", "logicalType": "date"}
UUID = {"type": "string", "logicalType": "uuid"}
LONG = "1" + "0" * 1_200
OF_ONE: list[tuple[str, Any, str, str | None]] = [
    ("millis", MILLIS, "9000000000000000000", "not within the years 1 to 9999"),
    ("of_year_0", MILLIS, "-62135596800001", "not within the years 1 to 9999"),
    ("last", MILLIS, "253402300799999", None),
    ("micros", MICROS, "253402300800000000", "not within the years 1 to 9999"),
    ("first", MICROS, "-62135596800000000", None),
    ("day", nullable(DATE), '{"int": 2932897}', "not within the years 1 to 9999"),
    ("days", {"type": "array", "items": DATE}, "[1, -719163]", "not within the years 1 to 9999"),
    (
        "by_name",
        {"type": "map", "values": MICROS},
        f'{{"a": {2**62}}}',
        "not within the years 1 to",
    ),
    ("number", "double", LONG, "SQL reads no such JSON"),
    ("uuid", UUID, '"none"', "no UUID"),
    ("urn", UUID, '"urn:uuid:{0B9A3A7E5f0d4b1c9a513f4c5d6e7f80}"', None),
]
"""A field, its type, its value in JSON, and why a view has none."""


def test_a_value_that_sql_does_not_read_is_told_and_leaves_the_other_messages(
    own_bench: Bench, store: PubSub, schema: str
) -> None:
    # "`schema_error`": a time that is too late ended each query of the view, and a number of more
    # than 1,000 digits was null without a word
    for name, type_, value, _ in OF_ONE:
        store.create_schema(name, "AVRO", record({"name": "f", "type": type_}))
        store.create_topic(name, schema_settings=SchemaSettings(name, "JSON"))
        store.publish(name, [f'{{"f": {value}}}'.encode()])
    assert store.create_views(schema).untyped == {}
    for name, _, _, why in OF_ONE:
        ((found, error),) = rows(own_bench, f"{schema}.{name}_typed", "string(f)", "schema_error")
        typed_ = store.read_topic(name, typed=True).selectExpr("string(f)", "schema_error")
        ((expected, told),) = typed_.collect()
        assert (error is None) == (why is None), (name, error)
        assert why is None or why in error
        if why != "SQL reads no such JSON":
            assert (found, error is None) == (expected, told is None)


def test_a_message_is_read_there_by_the_revision_that_it_was_published_under(
    own_bench: Bench, store: PubSub, schema: str
) -> None:
    first = record({"name": "name", "type": "string"}, {"name": "n", "type": "int"})
    view = typed(store, first)
    store.publish("states", [b'{"name": "old", "n": 1}'])
    wider: list[dict[str, Any]] = [
        {"name": "name", "type": "string"},
        {"name": "n", "type": "int"},
        {"name": "code", "type": ["null", "string"], "default": None},
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "many", "type": {"type": "array", "items": "int"}, "default": []},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 1},
    ]
    store.commit_schema("state", record(*wider))
    new = {"name": "new", "n": 2, "code": {"string": "c"}, "raw": "", "many": [1], "day": 2}
    store.publish("states", [json.dumps(new).encode()])
    store.update_topic("states", schema_settings=None)
    store.publish("states", [b"none"])
    store.create_schema("other", "AVRO", AVRO)
    store.update_topic("states", schema_settings=SchemaSettings("other", "JSON"))
    store.publish("states", [UTAH])
    store.update_topic("states", schema_settings=SchemaSettings("state", "JSON"))
    assert store.create_views(schema).untyped == {}
    columns = ("name", "n", "code", "raw", "many", "day", "schema_error")
    expected = store.read_topic("states", typed=True).selectExpr(*columns).collect()
    assert len(expected) == 4
    assert rows(own_bench, f"{schema}.{view}", *columns) == sorted(map(tuple, expected), key=repr)


def test_a_message_in_another_encoding_is_told_there(
    own_bench: Bench, store: PubSub, schema: str
) -> None:
    view = typed(store, AVRO, "BINARY")
    store.publish("states", [Message(avro_bytes(AVRO, {"name": "Iowa"}))])
    assert "binary encoding" in str(store.create_views(schema).untyped)
    store.update_topic("states", schema_settings=SchemaSettings("state", "JSON"))
    store.publish("states", [UTAH])
    store.create_views(schema)
    assert rows(own_bench, f"{schema}.{view}", "name", "schema_error") == [
        ("Utah", None),
        (None, "it is not in JSON, and SQL reads no other"),
    ]


@pytest.mark.parametrize(
    ("type_", "told"),
    [
        (["null", "int", "string"], "field 'f' is a union of several types"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4},
            "field 'f' is of type decimal",
        ),
        ({"type": "long", "logicalType": "time-micros"}, "field 'f' is of type time-micros"),
        ({"type": "array", "items": ["null", "State"]}, "field 'f[]' is a type within itself"),
        (record(NAME, {**NAME, "name": "NAME"}, name="Two"), "the fields of record Two differ by"),
    ],
)
def test_types_that_have_no_plain_sql_are_told(
    store: PubSub, schema: str, type_: Any, told: str
) -> None:
    field_type = json.loads(type_) if isinstance(type_, str) else type_
    typed(store, record({"name": "f", "type": field_type}))
    report = store.create_views(schema)
    assert report.untyped["projects/local/topics/states"].startswith(told)
    assert report.views == ("states",)
