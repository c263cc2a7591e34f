"""The publishing jobs keep what an input holds, and lose nothing of it without a word."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from tests.acceptance.test_jobs import run_here

pytestmark = pytest.mark.trial


class Publishing:
    """Runs a publishing job for a topic of its own each time."""

    def __init__(self, spark: SparkSession, root: str, run: Callable[..., tuple[object, str, str]]):
        self.store = PubSub(spark, root)
        self._root, self._run, self._topics = root, run, 0
        self.told = self.errors = ""

    def __call__(self, path: Path, *more: str, job: str = "publish.py") -> object:
        self._topics += 1
        where = ("--root", self._root, "--topic", self.topic, "--create-topic")
        code, self.told, self.errors = self._run(job, [*where, "--input", str(path), *more])
        return code

    @property
    def topic(self) -> str:
        return f"topic{self._topics}"

    @property
    def data(self) -> list[str]:
        rows = self.store.read_topic(self.topic).selectExpr("string(data)").collect()
        return sorted(row[0] for row in rows)

    def published(self, path: Path, *more: str) -> list[str]:
        assert self(path, *more) == 0, self.errors
        return self.data

    def refused(self, path: Path, *more: str) -> str:
        """Return the one line of a refusal."""
        assert self(path, *more) == 3
        (line,) = [each for each in self.errors.splitlines() if each.startswith("ERROR: ")]
        assert "_corrupt_record" not in line
        assert not {f"topics/{self.topic}"} & {each.name for each in self.store.list_topics()}
        return line


@pytest.fixture
def publish(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Publishing:
    root = str(tmp_path / "store")
    return Publishing(spark, root, lambda job, args: run_here(job, args, monkeypatch, capfd))


CSV = 'id,price,at,note\n00501,1.10,2026-03-29 02:30:00,"say ""hi"""\n1e3,,2026-03-08,""\n'


def test_csv_arrives_as_it_stands_unless_types_are_asked_for(
    publish: Publishing, tmp_path: Path
) -> None:
    # "`00501`, `1.10`, `1e3` and `2026-03-29 02:30:00` arrive as they stand"; the session is in
    # New York, where 02:30 on 2026-03-08 is no time
    flights = tmp_path / "flights.CSV"
    flights.write_text(CSV)
    assert publish.published(flights) == [
        r'{"id":"00501","price":"1.10","at":"2026-03-29 02:30:00","note":"say \"hi\""}',
        '{"id":"1e3","at":"2026-03-08","note":""}',
    ]
    assert publish.published(flights, "--data", "id") == ["00501", "1e3"]
    typed = tmp_path / "typed.csv"
    typed.write_text("id,price,at\n00501,1.10,2026-03-08 02:30:00\n")
    assert publish.published(typed, "--infer-schema") == [
        '{"id":501,"price":1.1,"at":"2026-03-08T02:30:00.000000"}'
    ]
    schema = ("--schema", "id BIGINT, price DECIMAL(10,2), at STRING")
    assert publish.published(typed, *schema) == [
        '{"id":501,"price":1.10,"at":"2026-03-08 02:30:00"}'
    ]


def test_a_value_that_is_no_text_becomes_its_text(
    publish: Publishing, spark: SparkSession, tmp_path: Path
) -> None:
    # "A number or date column as `--data` becomes its text", "timestamps as ISO text independent of
    # the session's time zone", "booleans, decimals, structs/arrays/maps as JSON text"
    values = {
        "CAST(7 AS INT)": "7",
        "CAST(1.10 AS DECIMAL(10,2))": "1.10",
        "true": "true",
        "DATE'2026-03-29'": "2026-03-29",
        "TIMESTAMP'2026-03-08T02:30:00.25Z'": "2026-03-08T02:30:00.250000Z",
        "TIMESTAMP_NTZ'2026-03-08 02:30:00'": "2026-03-08T02:30:00.000000",
        "struct(1.50 AS a, TIMESTAMP'2026-03-08T02:30:00Z' AS t)": (
            '{"a":1.50,"t":"2026-03-08T02:30:00.000000Z"}'
        ),
        "array(1, 2)": "[1,2]",
        "map('k', true)": '{"k":true}',
        "CAST('raw' AS BINARY)": "raw",
    }
    columns = [f"{value} AS c{n}" for n, value in enumerate(values)]
    spark.sql(f"SELECT {', '.join(columns)}").write.parquet(str(tmp_path / "values"))
    chosen = [f"--attribute=c{n}" for n in range(len(values))]
    assert publish(tmp_path / "values", "--data=c4", "--ordering-key=c3", *chosen) == 0
    row = publish.store.read_topic(publish.topic).collect()[0]
    assert [row["attributes"][f"c{n}"] for n in range(len(values))] == list(values.values())
    assert (bytes(row["data"]), row["ordering_key"]) == (
        b"2026-03-08T02:30:00.250000Z",
        "2026-03-29",
    )
    assert publish.published(tmp_path / "values", "--data=c0") == ["7"]
    (whole,) = publish.published(tmp_path / "values")
    assert '"c3":"2026-03-29","c4":"2026-03-08T02:30:00.250000Z"' in whole


def test_json_lines_and_arrays_are_published_as_they_stand(
    publish: Publishing, tmp_path: Path
) -> None:
    # "JSON lines, and whole-file JSON arrays (`--multiline`, or recognised by the first non-blank
    # character `[`)"
    lines = ['{"n": 1.10, "big": 12345678901234567890.123, "none": null}', '{"n":2}']
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n\n".join(lines).encode()))
    assert publish.published(tmp_path / "a.jsonl.gz", "--attribute", "n") == sorted(lines)
    (tmp_path / "b.json").write_text('\n [\n{"n": 1,\n "s": "x"}, {"n": null}]\n')
    assert publish.published(tmp_path / "b.json", "--attribute", "s") == [
        '{"n":1,"s":"x"}',
        '{"n":null}',
    ]
    (tmp_path / "c.json").write_text('{\n"n": 1\n}\n')
    assert publish.published(tmp_path / "c.json", "--multiline", "--data", "n") == ["1"]
    # "`1e3` … arrive as they stand", also where it is no decimal's; keys that differ by case, or
    # stand twice, are not told apart as columns
    (tmp_path / "e.json").write_text('{"n": 1e3, "a": 1, "A": 2}\n{"n": 2, "b": 1, "b": 2}\n')
    assert publish.published(tmp_path / "e.json", "--attribute", "n") == [
        '{"n": 1e3, "a": 1, "A": 2}',
        '{"n": 2, "b": 1, "b": 2}',
    ]
    folder = tmp_path / "d" / "code=00501"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"n": 1}\n{}')
    assert publish.published(tmp_path / "d") == ['{"code":"00501"}', '{"n": 1,"code":"00501"}']
    codes = publish.store.spark.createDataFrame([("1", "00501")], "n STRING, code STRING")
    codes.write.partitionBy("code").parquet(str(tmp_path / "f"))
    assert publish.published(tmp_path / "f") == ['{"n":"1","code":"00501"}']


@pytest.mark.parametrize(
    ("name", "text", "more", "where"),
    [
        ("a.csv", "a,b\n1,2\n\n3\n", (), "a.csv, line 4: '3' is not a record of 2 columns: a, b"),
        ("a.csv", "a,b\n1,2,3\n4\n", ("--data", "a"), "line 2: '1,2,3' is not a record"),
        ("a.csv", "a\n1\nx\n", ("--schema", "a INT"), "line 3: 'x' is not a record of 1 columns"),
        ("a.json", '{"a":1}\n{"a":\n', (), "a.json, line 2: '{\"a\":' is not a JSON object"),
        ("a.json", '{"a":1} {"a":2}\n', (), "a.json, line 1: "),
        ("a.json", '"text"\n', (), "a.json, line 1: "),
        ("a.json", '{"a":"x"}\n', ("--schema", "a INT"), "is not a JSON object with a INT"),
        ("a.json", '[{"a":1}, 7]', (), "a.json, element 2: '7' is not a JSON object"),
        ("a.json", '[{"a":1}]\n[{"a":2}]', (), "a.json, line 1: "),
    ],
)
def test_a_bad_line_is_one_error_with_its_file_and_line(
    publish: Publishing, tmp_path: Path, name: str, text: str, more: tuple[str, ...], where: str
) -> None:
    # "A bad line is one clear error with its file and line number"
    (tmp_path / name).write_text(text)
    assert where in publish.refused(tmp_path / name, *more)


def test_bad_records_go_where_it_is_said_and_the_others_are_published(
    publish: Publishing, tmp_path: Path
) -> None:
    # "or goes where `--bad-records PATH` says"
    aside = tmp_path / "aside"
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3\n4,5,6\n")
    assert publish.published(tmp_path / "a.csv", "--bad-records", str(aside), "--data", "a") == [
        "1"
    ]
    assert f"2 bad records, in {aside}" in " ".join(publish.told.split())
    (tmp_path / "a.json").write_text('{"a":1}\nnonsense\n')
    assert publish.published(tmp_path / "a.json", "--bad-records", str(aside)) == ['{"a":1}']
    found = [json.loads(line) for file in aside.glob("*.json") for line in file.open()]
    assert sorted((Path(each["file"]).name, each["record"]) for each in found) == [
        ("a.csv", "3"),
        ("a.csv", "4,5,6"),
        ("a.json", "nonsense"),
    ]


def test_a_delta_table_is_read_as_one_and_its_files_are_not(
    publish: Publishing, spark: SparkSession, tmp_path: Path
) -> None:
    # "a directory with a `_delta_log` that is read as Parquet publishes deleted rows"
    table = tmp_path / "table"
    spark.range(3).selectExpr("string(id) AS n").coalesce(1).write.format("delta").save(str(table))
    spark.sql(f"DELETE FROM delta.`{table}` WHERE n = '1'")
    assert publish.published(Path(f"file:{table}"), "--data", "n") == ["0", "2"]
    assert "is a Delta table" in publish.refused(table, "--format", "parquet")
    assert "files of a Delta table" in publish.refused(table / "*.parquet")
    spark.sql(f"DELETE FROM delta.`{table}`")
    assert publish.published(table) == []


def test_a_table_is_read_by_its_name_in_sql(
    publish: Publishing, spark: SparkSession, tmp_path: Path
) -> None:
    # "a Delta table is recognised by URL as well as by path"; "catalogs as they are"
    table = tmp_path / "a table"
    columns = "id BIGINT GENERATED ALWAYS AS IDENTITY, `n o` STRING, twice INT"
    spark.sql(
        f"CREATE TABLE named_orders ({columns}) USING delta LOCATION '{table}' TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true')"
    )
    try:
        spark.sql("INSERT INTO named_orders (`n o`, twice) VALUES ('a', 2), ('b', 4), ('c', NULL)")
        spark.sql("DELETE FROM named_orders WHERE `n o` = 'a'")
        spark.sql("ALTER TABLE named_orders RENAME COLUMN twice TO `2 x`")
        expected = ['{"n o":"b","2 x":4}', '{"n o":"c"}']
        for named in (f"delta.`{table}`", f"Delta.`file:{table}`"):
            found = publish.published(Path(named))
            assert [re.sub(r'"id":\d+,', "", each) for each in found] == expected
        found = publish.published(
            Path("default.named_orders"), "--format", "table", "--data", "n o"
        )
        assert found == ["b", "c"]
        assert "TABLE_OR_VIEW_NOT_FOUND" in publish.refused(Path("no.such"), "--format", "table")
        told = publish.refused(Path("named_orders"), "--format", "table", "--schema", "a INT")
        assert "--schema does not apply to table" in told
    finally:
        spark.sql("DROP TABLE named_orders")


def test_an_empty_input_is_no_error(publish: Publishing, tmp_path: Path) -> None:
    # "Empty input is no error (0 messages published, exit 0, said so)"
    (tmp_path / "nothing").mkdir()
    (tmp_path / "blank.json").write_text("\n")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "header.csv").write_text("a,b\n")
    for name in ("nothing", "blank.json", "empty.csv", "header.csv"):
        assert publish.published(tmp_path / name) == []
        told = " ".join(publish.told.split())
        assert "has no rows to publish" in told
        assert "publish: 0 messages in 0 batches" in told
    assert "column 'x' is not in the input" in publish.refused(
        tmp_path / "header.csv", "--data", "x"
    )


def test_what_cannot_be_read_is_refused_in_one_line(publish: Publishing, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "a.csv").write_text("a,b\n1,2\n")
    (mixed / "b.parquet").write_bytes(b"no")
    assert "holds 1 csv file and 1 parquet file" in publish.refused(mixed)
    assert "CSV header" in publish.refused(mixed / "a.csv", "--schema", "a STRING, c STRING")
    (tmp_path / "latin.csv").write_bytes(b"a,b\n1,2\n3,caf\xe9\n")
    assert "latin.csv, line 3: it is not UTF-8" in publish.refused(tmp_path / "latin.csv")
    (tmp_path / "replaced.csv").write_text("a\n\ufffd\n")
    assert publish.published(tmp_path / "replaced.csv", "--data", "a") == ["\ufffd"]
    (tmp_path / "twice.csv").write_text("Id,ID\n1,2\n")
    assert "names column 'Id' twice" in publish.refused(tmp_path / "twice.csv")
    assert "cannot be read" in publish.refused(mixed / "b.parquet")
    assert "cannot be read" in publish.refused(mixed / "absent.csv")
    (mixed / "b.parquet").rename(mixed / "b.csv")
    (mixed / "b.csv").write_text("b,a\n1,2\n")
    assert "CSV header does not conform" in publish.refused(mixed)
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"a":1}\n' * 9999)[:-20])
    assert "cannot be read: Encountered error while reading file" in publish.refused(
        tmp_path / "cut.json.gz"
    )
    assert "Unsupported data type" in publish.refused(mixed / "a.csv", "--schema", "a INTT")
    (tmp_path / "fine.csv.bz2").write_bytes(bz2.compress(b"a\n1\n"))
    assert publish.published(tmp_path / "fine.csv.bz2", "--data", "a") == ["1"]


def test_a_stream_refuses_a_bad_line_or_sets_it_aside(publish: Publishing, tmp_path: Path) -> None:
    arriving, aside = tmp_path / "arriving", tmp_path / "aside"
    arriving.mkdir()
    (arriving / "a.json").write_text('{"n": 1}\n{"n": "x"}\n')
    stream = ("--schema", "n INT", "--available-now", "--data", "n")

    def run(checkpoint: str, *more: str) -> object:
        where = ("--checkpoint", str(tmp_path / checkpoint))
        return publish(arriving, *stream, *where, *more, job="stream_publish.py")

    assert run("first") == 3
    assert 'a.json, line 2: \'{"n": "x"}\' is not a JSON object with n INT' in publish.errors
    for _ in range(2):
        assert run("second", "--bad-records", str(aside)) == 0
    assert publish.data == []  # of the second topic, which came with the second start
    found = [json.loads(line) for file in aside.glob("*.json") for line in file.open()]
    assert [each["record"] for each in found] == ['{"n": "x"}']
