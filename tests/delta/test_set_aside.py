"""``--bad-records`` of the publishing jobs: rows that the topic would refuse as messages, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("fastavro")
from click import Command
from click.testing import CliRunner
from pyspark.sql import SparkSession

from pubsub_delta import InvalidArgument, PubSub, SchemaSettings
from pubsub_delta.jobs.publish import publish
from pubsub_delta.jobs.stream_publish import stream_publish
from pubsub_delta.session import is_remote
from tests.unit.schema_cases import AVRO, AVRO_WITH_AREA

UTAH, OHIO, OHIO_WITH_AREA = '{"name":"Utah"}', '{"name":"Ohio"}', '{"name":"Ohio","area":116096}'
MISFIT, LONG = '{"nam":"Iowa"}', json.dumps({"name": "Long", "code": "x" * 1025})


class Jobs:
    """A store with a topic with a schema, and the publishing jobs over a directory."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.path, self.input, self.aside = path, path / "in", path / "aside"
        self.input.mkdir()
        self.store = PubSub(spark, str(path / "store"))
        self.store.create_schema("state", "AVRO", AVRO)
        self.store.create_topic("states", schema_settings=SchemaSettings("state", "JSON"))

    def run(self, job: Command, *more: str, topic: str = "states") -> str:
        given = ["--root", f"{self.path}/store", "--topic", topic, "--input", str(self.input)]
        aside = ["--bad-records", str(self.aside)]
        done = CliRunner().invoke(job, [*given, *aside, *more])
        assert done.exit_code == 0, (done.output, done.exception)
        return " ".join(done.output.split())

    def stream(self) -> str:
        options = ("--format=json", "--schema=line STRING", f"--checkpoint={self.path}/checkpoint")
        return self.run(stream_publish, *options, "--data=line", "--available-now")

    def published(self, topic: str = "states") -> list[str]:
        rows = self.store.read_topic(topic).collect()
        return sorted(bytes(row["data"]).decode() for row in rows)

    def set_aside(self) -> list[dict[str, str]]:
        found = [json.loads(line) for file in self.aside.glob("*.json") for line in file.open()]
        return sorted(found, key=lambda each: str(each.get("record", each.get("columns"))))


@pytest.fixture
def jobs(spark: SparkSession, tmp_path: Path) -> Jobs:
    if is_remote(spark):
        pytest.skip("the files are where the server looks for them")
    return Jobs(spark, tmp_path)


def test_rows_that_do_not_fit_the_schema_or_a_rule_are_set_aside_and_the_rest_is_published(
    jobs: Jobs,
) -> None:
    (jobs.input / "a.json").write_text("\n".join([UTAH, MISFIT, "nonsense", LONG]))
    told = jobs.run(publish, "--attribute=code", "--idempotency-id=states")
    assert jobs.published() == [UTAH]
    assert "publish: 1 messages in 1 batch" in told
    assert f"3 bad records, in {jobs.aside}" in told
    nonsense, misfit, long = jobs.set_aside()
    assert (misfit["record"], Path(misfit["file"]).name) == (MISFIT, "a.json")
    assert "data: it does not fit schema projects/local/schemas/state in JSON: " in misfit["why"]
    assert "field 'name' is missing" in misfit["why"]
    assert (long["record"], json.loads(long["columns"])["name"]) == (LONG, "Long")
    assert long["why"] == "an attribute value is a string of at most 1024 bytes"
    assert (nonsense["record"], nonsense["why"]) == ("nonsense", "it is not a JSON object")


def test_rows_of_a_table_are_set_aside_also_for_a_topic_that_the_job_creates(
    jobs: Jobs, spark: SparkSession
) -> None:
    """A row of Parquet is no text: its columns tell what it is."""
    rows = spark.sql("SELECT * FROM VALUES (1, 'a'), (2, ''), (3, NULL) AS t(id, data)")
    rows.write.mode("overwrite").parquet(str(jobs.input))
    told = jobs.run(publish, "--create-topic", "--data=data", topic="plain")
    assert "2 bad records" in told
    assert jobs.published("plain") == ["a"]
    assert [(each["columns"], each["why"]) for each in jobs.set_aside()] == [
        ('{"id":2,"data":""}', "data or at least one attribute is required"),
        ('{"id":3}', "data or at least one attribute is required"),
    ]


def test_a_stream_sets_aside_what_does_not_fit_the_schema_of_its_moment(jobs: Jobs) -> None:
    """ "A revision that another process commits counts at the next publish"."""
    line = [json.dumps({"line": each}) for each in (UTAH, OHIO_WITH_AREA, MISFIT)]
    (jobs.input / "a.json").write_text("\n".join([*line, "nonsense"]))
    assert "stream_publish: 1 messages in 1 batch" in jobs.stream()
    assert jobs.published() == [UTAH]
    why = {each["record"]: each["why"] for each in jobs.set_aside() if "record" in each}
    assert why == {"nonsense": "it is not a JSON object with line"}
    misfit = [each for each in jobs.set_aside() if "record" not in each]
    assert sorted(json.loads(each["columns"])["line"] for each in misfit) == [
        MISFIT,
        OHIO_WITH_AREA,
    ]
    jobs.store.commit_schema("state", AVRO_WITH_AREA)
    (jobs.input / "b.json").write_text(line[1])
    assert "stream_publish: 1 messages in 1 batch" in jobs.stream()
    assert jobs.published() == [OHIO_WITH_AREA, UTAH]
    assert len(jobs.set_aside()) == 3


def test_messages_are_checked_with_the_columns_that_are_beside_them(
    spark: SparkSession, jobs: Jobs
) -> None:
    rows = spark.sql(
        "SELECT 1 AS row, 'é' AS data, map('a', repeat('x', 1025)) AS attributes "
        f"UNION ALL SELECT 2, '{UTAH}', map('googx', 'b') UNION ALL SELECT 3, '{UTAH}', NULL "
        f"UNION ALL SELECT 4, '{MISFIT}', map('a', 'b')"
    )
    for topic, fits in ((None, True), ("states", False)):
        checked = jobs.store.check_messages(rows, topic).orderBy("row").collect()
        assert checked[0]["why"] == "an attribute value is a string of at most 1024 bytes"
        assert "an attribute key is 1 to 256 bytes" in checked[1]["why"]
        assert checked[2]["why"] is None
        assert (checked[3]["why"] is None) == fits
    assert checked[3].asDict().keys() == {"row", "data", "attributes", "why"}
    with pytest.raises(InvalidArgument, match="column 'why' is there already"):
        jobs.store.check_messages(rows.withColumnRenamed("row", "why"))
    with pytest.raises(InvalidArgument, match="column 'data' is INT"):
        jobs.store.check_messages(spark.sql("SELECT 1 AS data"))


def test_a_stream_counts_each_message_once_however_often_its_rows_are_read(jobs: Jobs) -> None:
    """A message of attributes alone is checked twice, and Spark counts rows at each reading."""
    jobs.store.create_topic("plain")
    (jobs.input / "a.json").write_text('{"a": "1"}\n{"a": "2"}\n')
    options = ("--format=json", "--schema=a STRING, d STRING", f"--checkpoint={jobs.path}/c")
    more = ("--attribute=a", "--data=d", "--available-now")
    assert "stream_publish: 2 messages in 1 batch" in jobs.run(
        stream_publish, *options, *more, topic="plain"
    )
