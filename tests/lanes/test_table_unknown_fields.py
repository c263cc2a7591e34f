"""Fields that a table does not have, within records: left out where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("fastavro")

from pubsub_delta import InvalidArgument, SchemaSettings
from tests.lanes.table_world import TOPIC, World

BOX = pa.struct([("size", pa.int32())])
NESTED = pa.schema([("box", BOX), ("boxes", pa.list_(BOX)), ("by_name", pa.map_(pa.string(), BOX))])
GIVEN: dict[str, Any] = {"unit": "cm", "size": 3, "maker": {"name": "a"}}
MESSAGE = json.dumps({"box": GIVEN, "boxes": [GIVEN, {"size": 4}], "by_name": {"x": GIVEN}})
ROW = {"box": {"size": 3}, "boxes": [{"size": 3}, {"size": 4}], "by_name": [("x", {"size": 3})]}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_members_of_records_are_dropped_too(world: World) -> None:
    # Google: "drop any field that is present in the topic schema or message but not in the
    # BigQuery schema"
    world.make(NESTED)
    world.subscribe(use_table_schema=True, drop_unknown_fields=True)
    world.publish(MESSAGE.encode())
    assert world.write() == (1, 0)
    assert world.rows == [ROW]


def box(name: str, *more: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [*more, {"name": "size", "type": "int"}]}


def test_fields_of_records_of_the_topics_schema_are_dropped_too(world: World) -> None:
    maker = {"type": "record", "name": "Maker", "fields": [{"name": "name", "type": "string"}]}
    own = box("Box", {"name": "unit", "type": "string"}, {"name": "maker", "type": maker})
    fields = [
        {"name": "box", "type": own},
        {"name": "boxes", "type": {"type": "array", "items": "Box"}},
        {"name": "by_name", "type": {"type": "map", "values": "Box"}},
    ]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    world.store.create_schema("order", "AVRO", definition)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("order", "JSON"))
    reordered = pa.struct([("size", pa.int32()), ("unit", pa.string())])
    world.make(pa.schema([("box", reordered), ("boxes", pa.list_(BOX))]))
    with pytest.raises(InvalidArgument, match="column box is struct<size: int32, unit: string>; "):
        world.subscribe(use_topic_schema=True)
    world.subscribe(use_topic_schema=True, drop_unknown_fields=True)
    world.publish(json.dumps({"box": GIVEN, "boxes": [GIVEN, {**GIVEN, "size": 4}],
                              "by_name": {"x": GIVEN}}).encode())  # fmt: skip
    assert world.write() == (1, 0)
    row = {"box": {"size": 3, "unit": "cm"}, "boxes": [{"size": 3}, {"size": 4}]}
    assert world.rows == [row]


def test_a_record_with_a_field_that_the_topics_schema_does_not_have_is_refused(
    world: World,
) -> None:
    fields = [{"name": "box", "type": box("Box")}]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    world.store.create_schema("order", "AVRO", definition)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("order", "JSON"))
    world.make(pa.schema([("box", pa.struct([("size", pa.int32()), ("unit", pa.string())]))]))
    with pytest.raises(InvalidArgument, match="column box is struct<size: int32, unit: string>"):
        world.subscribe(use_topic_schema=True, drop_unknown_fields=True)
