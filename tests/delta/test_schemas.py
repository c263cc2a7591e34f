"""Topics with a schema by both lanes: lists, DataFrames, streams, the data source, typed reads."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pubsub_delta import FailedPrecondition, InvalidArgument, SchemaSettings
from tests.conftest import Bench
from tests.unit.schema_cases import (
    AREA,
    AVRO,
    AVRO_INCOMPATIBLE,
    AVRO_WITH_AREA,
    CODE,
    NAME,
    NO_STATE,
    OHIO,
    UTAH,
    avro_bytes,
    record,
)

PROTO = """
syntax = "proto3";
message State {
  string name = 1; uint64 area = 2; repeated string cities = 3; map<string, double> sizes = 4;
  enum Coast { NONE = 0; EAST = 1; } Coast coast = 5; message At { int32 x = 1; } At at = 6;
}
"""


def typed(bench: Bench, definition: str = AVRO, encoding: str = "JSON", type_: str = "AVRO") -> str:
    """Create a topic with a schema of its own, and return the topic's id."""
    schema, topic = bench.unused("schema"), bench.unused("topic")
    bench.store.create_schema(schema, type_, definition)
    bench.store.create_topic(topic, schema_settings=SchemaSettings(schema, encoding))
    return topic


def schema_of(bench: Bench, topic: str) -> str:
    settings = bench.store.get_topic(topic).schema_settings
    assert settings is not None
    return settings.schema


def revision(bench: Bench, topic: str) -> str:
    return bench.store.get_schema(schema_of(bench, topic)).revision_id


def names(bench: Bench, count: int, bad: int = 0) -> DataFrame:
    """Return so many states, of which some at the end are none."""
    field = F.when(F.col("id") < count - bad, "name").otherwise("nam")
    data = F.concat(F.lit('{"'), field, F.lit('": "n'), F.col("id").cast("string"), F.lit('"}'))
    own = F.create_map(F.lit("n"), F.col("id").cast("string"))
    rows = bench.spark.range(0, count, 1, 3)
    return rows.select(data.alias("data"), own.alias("attributes"))


def rows(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.select(*columns).collect())


# The registry


def test_revisions_come_and_go(bench: Bench) -> None:
    name = bench.unused("schema")
    first = bench.store.create_schema(name, "AVRO", AVRO)
    bench.clock.advance(1)
    second = bench.store.commit_schema(name, AVRO_WITH_AREA)
    other = bench.another()
    assert other.list_schema_revisions(name) == [second, first]
    with pytest.raises(InvalidArgument, match="incompatible with the previous revision"):
        other.commit_schema(name, AVRO_INCOMPATIBLE)
    other.delete_schema_revision(f"{name}@{first.revision_id}")
    assert bench.store.list_schema_revisions(name) == [second]
    other.delete_schema(name)
    assert bench.store.list_schemas(page_size=1000).count(second) == 0


def test_what_is_compiled_of_protocol_buffers_is_kept(bench: Bench) -> None:
    topic = typed(bench, PROTO, "BINARY", "PROTOCOL_BUFFER")
    other = bench.another()
    other.publish(topic, [b"\x0a\x04Utah"])
    with pytest.raises(InvalidArgument, match="a field that is not in the schema"):
        other.publish(topic, [b"\x78\x01"])


def test_a_list_that_does_not_fit_is_not_published(bench: Bench) -> None:
    topic = typed(bench)
    commits = bench.commits(bench.messages_table(topic))
    with pytest.raises(InvalidArgument, match=r"messages\[1\].data: it does not fit schema"):
        bench.store.publish(topic, [UTAH, NO_STATE])
    assert bench.commits(bench.messages_table(topic)) == commits


# DataFrames


def test_a_dataframe_that_fits_gets_the_attributes_in_one_commit(bench: Bench) -> None:
    topic = typed(bench)
    commits = bench.commits(bench.messages_table(topic))
    assert bench.store.publish(topic, names(bench, 100)).message_count == 100
    assert bench.commits(bench.messages_table(topic)) == commits + 1
    told = {
        "googclient_schemaencoding": "JSON",
        "googclient_schemaname": schema_of(bench, topic),
        "googclient_schemarevisionid": revision(bench, topic),
    }
    stored = bench.store.read_topic(topic).orderBy(F.col("message_id").cast("long")).collect()
    assert [row["attributes"] for row in stored] == [{"n": str(n), **told} for n in range(100)]


def test_rows_are_told_the_newest_revision_that_they_fit(bench: Bench) -> None:
    topic = typed(bench)
    first = revision(bench, topic)
    bench.store.commit_schema(schema_of(bench, topic), AVRO_WITH_AREA)
    both = names(bench, 2).select("data").union(bench.spark.sql(f"SELECT '{OHIO.decode()}'"))
    bench.store.publish(topic, both)
    told = F.col("attributes")["googclient_schemarevisionid"]
    counts = bench.store.read_topic(topic).groupBy(told.alias("id")).count().collect()
    assert {row["id"]: row["count"] for row in counts} == {first: 2, revision(bench, topic): 1}


def test_one_with_rows_that_do_not_fit_is_not_published(bench: Bench) -> None:
    """The error names the column, counts the rows, and shows one of them."""
    topic = typed(bench)
    commits = bench.commits(bench.messages_table(topic))
    told = (
        r"column 'data': it does not fit schema .* in JSON: field 'name' is missing .*: "
        r"3 offending rows; nothing was published; one of them: .*\"nam\""
    )
    with pytest.raises(InvalidArgument, match=told):
        bench.store.publish(topic, names(bench, 100, bad=3))
    assert bench.commits(bench.messages_table(topic)) == commits


def test_the_rules_of_every_message_hold_for_such_rows_too(bench: Bench) -> None:
    topic = typed(bench)
    own = names(bench, 3).withColumn("attributes", F.expr("map('googclient_schemaname', 'x')"))
    with pytest.raises(InvalidArgument, match=r"column 'attributes': .*'goog'.*: 3 offending rows"):
        bench.store.publish(topic, own)
    empty = names(bench, 3).withColumn("data", F.lit(None).cast("binary"))
    with pytest.raises(InvalidArgument, match=r"'data': it does not fit .* 3 offending rows"):
        bench.store.publish(topic, empty)


def test_rows_without_attributes_get_those_of_the_schema(bench: Bench) -> None:
    topic = typed(bench)
    bench.store.publish(topic, names(bench, 3).select("data"))
    nothing = F.lit(None).cast("map<string,string>")
    bench.store.publish(topic, names(bench, 3).withColumn("attributes", nothing))
    sizes = {len(row["attributes"]) for row in bench.store.read_topic(topic).collect()}
    assert sizes == {3}


def test_a_dataframe_is_not_published_to_a_topic_of_a_deleted_schema(bench: Bench) -> None:
    topic = typed(bench)
    bench.store.delete_schema(schema_of(bench, topic))
    with pytest.raises(FailedPrecondition, match="was deleted"):
        bench.store.publish(topic, names(bench, 3))


# Streams and the data source


def stream_of(bench: Bench, directory: Path, bad: int = 0) -> DataFrame:
    names(bench, 10, bad).write.parquet(str(directory))
    kind = "data STRING, attributes MAP<STRING, STRING>"
    return bench.spark.readStream.schema(kind).parquet(str(directory))


def test_a_stream_publishes_what_fits(bench: Bench, tmp_path: Path) -> None:
    topic = typed(bench)
    query = bench.store.publish_stream(
        topic,
        stream_of(bench, tmp_path / "in"),
        checkpoint_location=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    assert bench.store.read_topic(topic, typed=True).where("name IS NOT NULL").count() == 10


def test_a_stream_ends_with_what_does_not_fit(bench: Bench, tmp_path: Path) -> None:
    topic = typed(bench)
    query = bench.store.publish_stream(
        topic,
        stream_of(bench, tmp_path / "in", bad=2),
        checkpoint_location=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
    )
    with pytest.raises(StreamingQueryException, match=r"does not fit schema .* 2 offending rows"):
        query.awaitTermination()
    assert bench.store.read_topic(topic).count() == 0


def test_the_data_source_holds_rows_against_the_schema(bench: Bench) -> None:
    if bench.lane == "spark":
        pytest.skip("the data source stands on the direct lane")
    if tuple(map(int, bench.spark.version.split(".")[:2])) < (4, 2):
        pytest.skip("the data source needs Spark 4.2")
    topic = typed(bench)

    def write(frame: DataFrame) -> None:
        options = {"root": bench.root, "topic": topic}
        frame.write.format("pubsub_delta").options(**options).mode("append").save()

    write(names(bench, 10))
    told = r"InvalidArgument: messages\[\d\].data: it does not fit schema"
    with pytest.raises(PySparkException, match=told):
        write(names(bench, 10, bad=2))
    found = bench.store.read_topic(topic, typed=True)
    assert found.where("name IS NOT NULL").count() == found.count() == 10


# Typed reads


def test_fields_of_avro_are_columns(bench: Bench) -> None:
    fields: list[tuple[str, Any, Any]] = [
        ("name", "string", "Utah"),
        ("day", {"type": "int", "logicalType": "date"}, date(2026, 1, 2)),
        (
            "at",
            {"type": "long", "logicalType": "timestamp-micros"},
            datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc),
        ),
        (
            "cost",
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            Decimal("1.25"),
        ),
        ("ratio", "float", 0.5),
        ("raw", "bytes", b"\x00"),
        ("tags", {"type": "array", "items": "string"}, ["a", "b"]),
        ("by", {"type": "map", "values": "long"}, {"k": 1}),
        (
            "inner",
            {"type": "record", "name": "I", "fields": [{"name": "n", "type": "int"}]},
            {"n": 1},
        ),
        ("data", ["null", "string"], None),
    ]
    definition = record(*({"name": name, "type": type_} for name, type_, _ in fields))
    topic = typed(bench, definition, "BINARY")
    datum = {name: value for name, _, value in fields}
    bench.store.publish(topic, [avro_bytes(definition, datum)])
    found = bench.store.read_topic(topic, typed=True)
    expected = ["message_id", "publish_time", "data", "attributes", "ordering_key"]
    expected += [name for name, _, _ in fields[:-1]] + ["field_data", "schema_error"]
    assert found.columns == expected
    row = found.withColumn("at", F.unix_micros("at")).first()
    assert row is not None
    assert row["at"] == int(datum["at"].timestamp() * 1_000_000)
    assert row["inner"].asDict() == {"n": 1}
    for name in ("name", "day", "cost", "ratio", "tags", "by"):
        assert row[name] == datum[name]
    assert bytes(row["raw"]) == b"\x00"
    assert row["field_data"] is None
    assert row["schema_error"] is None


def test_fields_of_protocol_buffers_are_columns(bench: Bench) -> None:
    topic = typed(bench, PROTO, "JSON", "PROTOCOL_BUFFER")
    told = {"name": "Utah", "area": str(2**64 - 1), "cities": ["Provo"], "sizes": {"a": 1.5}}
    bench.store.publish(topic, [json.dumps({**told, "coast": "EAST", "at": {"x": 1}})])
    row = bench.store.read_topic(topic, typed=True).first()
    assert row is not None
    assert (row["name"], row["area"], row["cities"]) == ("Utah", Decimal(2**64 - 1), ["Provo"])
    assert (row["sizes"], row["coast"], row["at"].asDict()) == ({"a": 1.5}, "EAST", {"x": 1})


def test_messages_are_read_by_the_revision_that_they_were_published_under(bench: Bench) -> None:
    topic = typed(bench, record(NAME, CODE))
    schema = schema_of(bench, topic)
    bench.store.publish(topic, ['{"name": "Utah", "code": {"string": "UT"}}'])
    bench.store.commit_schema(schema, record(NAME, AREA))
    bench.store.publish(topic, [OHIO])
    found = bench.store.read_topic(topic, typed=True)
    assert rows(found, "name", "area", "schema_error") == [
        ("Ohio", 116096, None),
        ("Utah", 0, None),
    ]
    assert rows(found.where("area > 0"), "name") == [("Ohio",)]


def test_the_range_of_the_topic_gives_the_columns(bench: Bench) -> None:
    topic = typed(bench)
    first, schema = revision(bench, topic), schema_of(bench, topic)
    bench.store.commit_schema(schema, AVRO_WITH_AREA)
    bench.store.publish(topic, [OHIO])
    settings = SchemaSettings(schema, "JSON", last_revision_id=first)
    bench.store.update_topic(topic, schema_settings=settings)
    found = bench.store.read_topic(topic, typed=True)
    assert "area" not in found.columns
    assert rows(found, "name") == [("Ohio",)]


def test_what_cannot_be_read_is_told_by_its_row(bench: Bench) -> None:
    topic = bench.topic()
    bench.store.publish(topic, ["before"])
    for schema in (bench.unused("schema"), bench.unused("schema")):
        bench.store.create_schema(schema, "AVRO", AVRO)
        settings = SchemaSettings(schema, "JSON")
        bench.store.update_topic(topic, schema_settings=settings)
        bench.store.publish(topic, [UTAH])
    old = revision(bench, topic)
    bench.store.commit_schema(schema, AVRO_WITH_AREA)
    bench.store.delete_schema_revision(f"{schema}@{old}")
    bench.store.publish(topic, [OHIO])
    found = bench.store.read_topic(topic, typed=True).orderBy(F.col("message_id").cast("long"))
    told = [(row["name"], row["schema_error"] or "") for row in found.collect()]
    assert [name for name, _ in told] == [None, None, None, "Ohio"]
    assert told[0][1] == "it was published when the topic had no schema"
    assert told[1][1].startswith("it was published under projects/local/schemas/")
    assert told[2][1] == f"revision {old} of {schema_of(bench, topic)} was deleted"


def test_a_topic_can_be_read_typed_as_of_a_version(bench: Bench) -> None:
    topic = typed(bench)
    bench.store.publish(topic, [UTAH])
    time = bench.clock.now()
    bench.clock.advance(10)
    bench.store.publish(topic, ['{"name": "Ohio"}'])
    assert rows(bench.store.read_topic(topic, as_of=time, typed=True), "name") == [("Utah",)]


def test_a_topic_without_a_schema_has_no_fields(bench: Bench) -> None:
    with pytest.raises(FailedPrecondition, match="has no schema"):
        bench.store.read_topic(bench.topic(), typed=True)
