"""What the publishing jobs make of the rows of an input, and which of them are bad records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from pubsub_delta import InvalidArgument, Message
from pubsub_delta.jobs import consume, inputs, readers, sources
from pubsub_delta.jobs.records import Records
from pubsub_delta.session import is_remote
from pubsub_delta.tables.schemas import MESSAGE_COLUMNS
from tests.conftest import Bench


def as_messages(
    rows: DataFrame, data: str | None, attributes: tuple[str, ...], ordering_key: str | None
) -> DataFrame:
    return rows.select(*inputs.message_columns(rows, data, attributes, ordering_key))


@pytest.fixture
def here(spark: SparkSession, tmp_path: Path) -> Path:
    if is_remote(spark):
        pytest.skip("the files are where the server looks for them")
    return tmp_path


def records(spark: SparkSession, path: str) -> Records:
    return readers.read(spark, sources.find(spark, path, None), readers.ReadOptions())


def test_a_row_becomes_a_message_without_what_is_null(spark: SparkSession) -> None:
    """Null attributes and keys are left out, and times are in UTC, whatever the session says."""
    rows = spark.sql(
        "SELECT 'UA' AS carrier, CAST(NULL AS STRING) AS gate, "
        "TIMESTAMP'2026-03-08 12:00:00 America/New_York' AS at, 'a.b' AS `x.y`"
    )
    (message,) = as_messages(rows, None, ("carrier", "gate", "at", "x.y"), "gate").collect()
    at = "2026-03-08T16:00:00.000000Z"
    assert message["attributes"] == {"carrier": "UA", "at": at, "x.y": "a.b"}
    assert message["ordering_key"] == ""
    assert json.loads(bytes(message["data"])) == {"carrier": "UA", "at": at, "x.y": "a.b"}
    with pytest.raises(InvalidArgument, match="column 'seat' is not in the input"):
        inputs.require(rows, [None, "carrier", "seat"])


def test_an_empty_text_of_a_file_is_one_and_bad_records_are_counted(
    spark: SparkSession, here: Path
) -> None:
    """A bad record is refused with its line, and the number of others."""
    file = here / "a[1]*.csv"
    file.write_text('id,note\n1,""\n2\n3,x\n4,y,z\n')
    (here / "a1b.csv").write_text("id,note\n7,seven\n2\n")
    found = records(spark, sources.pattern_of(str(file)))
    counted = found.count()
    assert (counted.good, counted.bad) == (2, 2)
    assert [(row["id"], row["note"]) for row in found.good.sort("id").collect()] == [
        *(("1", ""), ("3", "x"))
    ]
    refused = str(found.refusal(spark, counted.first, counted.bad))
    assert f"{file}, line 3: '2' is not a record of 2 columns: id, note (and 1 more)" in refused


def test_an_attribute_that_is_asked_for_twice_is_one(spark: SparkSession) -> None:
    """It ended in a traceback of Spark's, of a map with a key twice."""
    rows = spark.sql("SELECT 'UA' AS carrier")
    messages = as_messages(rows, "carrier", ("carrier", "carrier"), None)
    assert [row["attributes"] for row in messages.collect()] == [{"carrier": "UA"}]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_names_that_are_no_utf_8_are_refused_as_values_are(
    spark: SparkSession, here: Path, encoding: str
) -> None:
    """ "Text is UTF-8; a file that is not is refused": Spark replaces the bytes of names, too."""
    (here / "a.csv").write_bytes("straße,b\n1,2\n".encode(encoding))
    with pytest.raises(InvalidArgument, match=r"a.csv, line 1: it is not UTF-8"):
        records(spark, str(here)).count()
    (here / "a.csv").write_text("stra\ufffde,b\n1,2\n")
    assert records(spark, str(here)).count().good == 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_plain_letters_in_utf_16_are_no_utf_8(
    spark: SparkSession, here: Path, encoding: str
) -> None:
    """ "Text is UTF-8; a file that is not is refused": without a byte order mark it looks so."""
    (here / "a.csv").write_bytes("id,name\n1,x\n".encode(encoding))
    with pytest.raises(
        InvalidArgument, match=r"a.csv, line 1: it is not UTF-8: .* NUL bytes, as in"
    ):
        records(spark, str(here)).count()
    (here / "a.csv").write_text("id,name\n1,a\0b\n")
    assert [row["name"] for row in records(spark, str(here)).good.collect()] == ["a\0b"]


def test_a_control_letter_is_a_text_as_it_stands(spark: SparkSession, here: Path) -> None:
    """ "Texts, as they stand; an empty text in quotes is not the same as none"."""
    (here / "a.csv").write_text('id,name\n1,\x01\n2,""\n3,\n')
    found = {row["id"]: row["name"] for row in records(spark, str(here)).good.collect()}
    assert found == {"1": "\x01", "2": "", "3": None}


@pytest.mark.parametrize("others", [(), ("b.csv",), ("x/y/b.csv", "c.csv")])
def test_files_in_folders_of_any_name_arrive(
    spark: SparkSession, here: Path, others: tuple[str, ...]
) -> None:
    """ "What an input holds arrives": Spark passes over folders that are no partitions."""
    for number, name in enumerate(("2026/11/a.csv", *others)):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(f"id,city\n{number},Nice\n")
    found = records(spark, str(here))
    assert found.count().good == 1 + len(others)
    assert sorted(row["id"] for row in found.good.collect()) == [
        str(number) for number in range(1 + len(others))
    ]


def test_a_line_that_is_no_utf_8_is_found_in_a_folder(spark: SparkSession, here: Path) -> None:
    (here / "x").mkdir()
    (here / "x" / "a.csv").write_bytes("city\nKöln\n".encode("latin-1"))
    with pytest.raises(InvalidArgument, match=r"x/a.csv, line 2: it is not UTF-8"):
        records(spark, str(here)).count()


def test_the_folder_of_a_line_is_one_of_its_fields(spark: SparkSession, here: Path) -> None:
    (here / "month=01").mkdir()
    (here / "month=01" / "a.json").write_text('{ "id": 1 }\n{}\n{"id": 2}\n')
    found = records(spark, str(here))
    assert found.count().bad == 0
    lines = [bytes(row["data"]) for row in as_messages(found.good, None, (), None).collect()]
    assert sorted((json.loads(line) for line in lines), key=lambda row: row.get("id", 0)) == [
        *({"month": "01"}, {"id": 1, "month": "01"}, {"id": 2, "month": "01"})
    ]


def test_what_is_consumed_has_the_columns_of_a_message_or_those_of_the_query(bench: Bench) -> None:
    """A delivery is over when its row is read: its ack id and its attempt mean nothing there."""
    topic, name = bench.pair()
    bench.store.publish(topic, [Message(b"a", {"k": "v"})])
    batch = bench.store.pull(name)
    assert consume.transformed(batch, None).columns == ["message_id", *MESSAGE_COLUMNS]
    asked = consume.transformed(batch, "SELECT attributes['k'] AS k, ack_id FROM {messages}")
    assert [row["k"] for row in asked.collect()] == ["v"]
