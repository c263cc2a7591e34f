"""What the names of an input's files say to the publishing jobs."""

from __future__ import annotations

import pytest

from pubsub_delta import InvalidArgument
from pubsub_delta.jobs.file_formats import format_of, format_of_all


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.csv", "csv"),
        ("A.CSV", "csv"),
        ("a.csv.gz", "csv"),
        ("a.Json.GZ", "json"),
        ("a.jsonl.zst", "json"),
        ("a.ndjson.bz2", "json"),
        ("part-00000-x.c000.snappy.parquet", "parquet"),
        ("a.gz.parquet", "parquet"),
        ("s3a://bucket/a.b/x.jsonl", "json"),
        ("a.txt", None),
        ("a.gz", None),
        ("a", None),
    ],
)
def test_a_name_says_the_format_however_it_is_written_and_packed(
    name: str, format_: str | None
) -> None:
    # "`.csv.gz`, `.CSV` (upper case), `.jsonl.zst`/`.jsonl.gz` etc. recognised by name"
    assert format_of(name) == format_


def test_files_without_an_ending_have_that_of_their_directory() -> None:
    assert format_of_all(["/d/flights.csv/part-0", "/d/flights.csv/part-1.gz"], "/d/flights.csv")
    assert format_of_all([], "/d/flights.csv") is None


def test_a_packing_in_capitals_is_unpacked() -> None:
    assert format_of_all(["/d/a.CSV.GZ", "/d/b.csv.Zst"], "/d") == "csv"


@pytest.mark.parametrize(
    ("found", "asked", "told"),
    [
        (["a.csv", "b.csv", "c.parquet"], None, "holds 2 csv files and 1 parquet file"),
        (["a.csv", "c.parquet"], "csv", "holds 1 csv file and 1 parquet file"),
        (["a.csv", "b.txt", "c"], None, "holds 1 .txt file, 1 csv file and 1 nameless file"),
        (["b.txt"], None, "holds 1 .txt file, whose names show no format; give --format csv"),
        (["a.csv.xz"], None, "'a.csv.xz': Spark does not unpack .xz; unpack it, or pack it as .gz"),
        (["a.json.ZIP"], None, "Spark does not unpack .ZIP"),
        (["a.bin.tgz"], "csv", "Spark does not unpack .tgz"),
        (["a.parquet.gz"], None, "Spark does not unpack .gz around parquet; unpack it"),
    ],
)
def test_what_cannot_be_read_as_one_input_is_refused_with_what_was_found(
    found: list[str], asked: str | None, told: str
) -> None:
    # "A directory of mixed files (csv and parquet) is refused with what was found"
    # "what it cannot read is refused by name with what to do"
    with pytest.raises(InvalidArgument) as refused:
        format_of_all(found, "/data", asked)
    assert str(refused.value).startswith("--input: ")
    assert told in str(refused.value)


def test_a_format_that_is_asked_for_is_that_of_files_whose_names_say_nothing() -> None:
    assert format_of_all(["a.txt", "b.csv"], "/data", "csv") == "csv"
    assert format_of_all(["a.json"], "/data", "csv") == "csv"
