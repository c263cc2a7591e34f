"""The jobs, by spark-submit, from files in to a Delta table out."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import ManualClock, PubSub
from pubsub_delta.jobs.records import RecordCounts, Records
from tests.acceptance.processes import spark_submit
from tests.conftest import REPOSITORY


@pytest.mark.trial
def test_a_csv_goes_in_and_a_delta_table_comes_out(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    flights = tmp_path / "flights.csv"
    rows = [f"{1 + n % 2},UA,N{n},{n}" for n in range(100)]
    flights.write_text("\n".join(["month,carrier,tailnum,delay", *rows, "2,,,7"]))
    root, summary = str(tmp_path / "store"), tmp_path / "summary.json"
    store = PubSub(spark, root)
    store.create_topic("flights")
    store.create_subscription("delays", "flights", ack_deadline_seconds=600)

    publish = [
        *("--root", root, "--topic", "flights", "--input", str(flights)),
        *("--attribute", "carrier", "--ordering-key", "tailnum", "--batch-by", "month"),
        *("--idempotency-id", "flights", "--summary", str(summary)),
    ]
    code, told, _ = run_here("publish.py", publish, monkeypatch, capfd)
    assert code == 0
    assert "publish: 101 messages in 2 batches" in told
    assert json.loads(summary.read_text())["messages"] == 101
    assert store.metrics("projects/local/topics/flights")["message_count"] == 101
    last = store.read_topic("flights").where("ordering_key = ''").collect()
    assert [(bytes(row["data"]), row["attributes"]) for row in last] == [
        (b'{"month":"2","delay":"7"}', {})
    ]

    output = str(tmp_path / "out")
    done = spark_submit(
        *("consume.py", "--root", root, "--subscription", "delays", "--batch-size", "60"),
        *("--output", output, "--query"),
        "SELECT attributes['carrier'] AS carrier, count(*) AS flights FROM {messages} GROUP BY 1",
    )
    assert done.returncode == 0, done.stderr
    assert "consume: 101 messages in 2 batches" in done.stdout
    assert "101 acked" in done.stdout
    counted = spark.read.format("delta").load(output)
    totals = {row[0]: row[1] for row in counted.groupBy("carrier").sum("flights").collect()}
    assert totals == {"UA": 100, None: 1}
    assert store.metrics("delays")["num_undelivered_messages"] == 0


@pytest.mark.trial
def test_each_value_is_published_once_whatever_other_values_come(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A new value that sorts before the others moves their places, and not their ids."""
    source, root = str(tmp_path / "cities"), str(tmp_path / "store")
    store = PubSub(spark, root)
    store.create_topic("visits")
    store.create_subscription("all", "visits")
    publish = [
        *("--root", root, "--topic", "visits", "--input", source, "--format", "parquet"),
        *("--data", "visit", "--batch-by", "city", "--idempotency-id", "visits"),
    ]
    long = "x" * 300
    arriving: list[tuple[str | None, str]] = [("Nice", "1"), ("Oslo", "2"), ("a='b'/`c`=", "3")]
    arrived: list[str] = []
    for more in (arriving, [("Bern", "4"), (None, "5"), ("null", "6")], [(long, "7"), ("", "8")]):
        frame = spark.createDataFrame(more, "city STRING, visit STRING")
        frame.write.mode("append").parquet(source)
        arrived += [visit for _, visit in more]
        for _ in range(2):  # a second run of the same input adds nothing
            code, told, _ = run_here("publish.py", publish, monkeypatch, capfd)
            assert code == 0
            assert f"publish: {len(arrived)} messages in {len(arrived)} batches" in told
            stored = [bytes(row["data"]).decode() for row in store.read_topic("visits").collect()]
            assert sorted(stored) == arrived
    assert sorted(each.data.decode() for each in store.pull("all")) == arrived


@pytest.mark.trial
def test_streaming_jobs_bring_each_row_once_from_files_into_a_table(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    root, arriving, output = str(tmp_path / "store"), tmp_path / "arriving", str(tmp_path / "out")
    arriving.mkdir()
    publish = [
        *("--root", root, "--topic", "flights", "--create-topic", "--input", str(arriving)),
        *("--format", "json", "--schema", "carrier STRING, delay INT", "--attribute", "carrier"),
        *("--checkpoint", str(tmp_path / "publishing"), "--available-now"),
    ]
    consume = [
        *("--root", root, "--subscription", "delays", "--output", output, "--batch-size", "2"),
        *("--checkpoint", str(tmp_path / "consuming"), "--available-now"),
    ]

    def arrive(*delays: int) -> str:
        rows = [json.dumps({"carrier": "UA", "delay": delay}) for delay in delays]
        (arriving / f"{delays[0]}.json").write_text("\n".join(rows))
        code, told, _ = run_here("stream_publish.py", publish, monkeypatch, capfd)
        assert code == 0
        return told

    assert "stream_publish: 1 messages in 1 batch" in arrive(1)
    store = PubSub(spark, root)
    store.create_subscription("delays", "flights")
    assert "stream_publish: 3 messages in 1 batch" in arrive(2, 3, 4)
    for more in (3, 0):
        code, told, _ = run_here("stream_consume.py", consume, monkeypatch, capfd)
        assert code == 0
        assert f"stream_consume: {more} messages" in told
    rows = spark.read.format("delta").load(output).selectExpr("string(data)", "attributes.carrier")
    assert sorted(map(tuple, rows.collect())) == [
        (f'{{"carrier":"UA","delay":{n}}}', "UA") for n in (2, 3, 4)
    ]
    code, _, errors = run_here("stream_publish.py", [*publish, "--data", "x"], monkeypatch, capfd)
    assert (code, "column 'x' is not in the input" in errors) == (3, True)
    bad = [*publish, "--data", "carrier"]
    (arriving / "bad.json").write_text('{"carrier": "", "delay": 5}')
    bad[bad.index("--attribute") : bad.index("--attribute") + 2] = []
    code, _, errors = run_here("stream_publish.py", bad, monkeypatch, capfd)
    assert code == 3
    assert "INVALID_ARGUMENT: column 'data': data or at least one attribute is required" in errors


@pytest.mark.trial
def test_a_table_gets_columns_only_where_that_is_asked_for(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    # "jobs/consume.py `--query` and jobs/stream_consume.py can evolve the target table"
    root, output = str(tmp_path / "store"), str(tmp_path / "out")
    store = PubSub(spark, root)
    store.create_topic("flights")
    for name in ("delays", "archive"):
        store.create_subscription(name, "flights", ack_deadline_seconds=600)
    store.publish("flights", ["late"])
    spark.sql("SELECT 'early' AS data").write.format("delta").save(output)
    query = "SELECT string(data) AS data, message_id AS id FROM {messages}"
    where = ["--root", root, "--output", output, "--query", query]
    once = ["--checkpoint", str(tmp_path / "checkpoint"), "--available-now"]
    consume = ["--subscription", "delays", *where]
    follow = ["--subscription", "archive", *where, *once]
    for job, args in (("consume.py", consume), ("stream_consume.py", follow)):
        code, _, errors = run_here(job, args, monkeypatch, capfd)
        assert code == 3
        assert f"INVALID_ARGUMENT: --output: '{output}' cannot be written: " in errors
        assert "--merge-schema adds columns that the table does not have" in errors
        store.seek(args[1], time=store.get_topic("flights").create_time)
        assert run_here(job, [*args, "--merge-schema"], monkeypatch, capfd)[0] == 0
        table = spark.read.format("delta").load(output)
        assert table.columns == ["data", "id"]
        assert table.where("data = 'late' AND id IS NOT NULL").count() == 1
        table.where("id IS NULL").select("data").write.format("delta").mode("overwrite").option(
            "overwriteSchema", True
        ).save(output)


def run_here(
    job: str, args: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[object, str, str]:
    """Run a job in the suite's own session; return its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", [job, *args])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(REPOSITORY / "pubsub_delta/jobs" / job), run_name="__main__")
    told = capfd.readouterr()
    return left.value.code, told.out, told.err


_ARCHIVE = ["--subscription", "archive", "--output", "/tmp/x"]

REFUSALS = {
    "a query that is no SQL": (
        *("consume.py", [*_ARCHIVE, "--query", "SELEC {messages}"]),
        *("INVALID_ARGUMENT", "'SELEC {messages}' cannot be run: [PARSE_SYNTAX_ERROR]"),
    ),
    "a query of a column that messages do not have": (
        *(
            "stream_consume.py",
            [*_ARCHIVE, "--checkpoint=/tmp/c", "--query=SELECT x FROM {messages}"],
        ),
        *("INVALID_ARGUMENT", "`x` cannot be resolved"),
    ),
    "a query with a brace": (
        *("consume.py", [*_ARCHIVE, "--query", "SELECT '{' FROM {messages}"]),
        *("INVALID_ARGUMENT", "with other braces doubled"),
    ),
    "an absent subscription": (
        *("consume.py", ["--subscription", "nobody", "--output", "/tmp/x"]),
        *("NOT_FOUND", "nobody"),
    ),
    "an absent column of an attribute": (
        *("publish.py", ["--topic", "flights", "--create-topic", "--attribute", "seat"]),
        *("INVALID_ARGUMENT", "column 'seat' is not in the input, whose columns are carrier"),
    ),
}


@pytest.mark.parametrize(("job", "more", "kind", "why"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_one_line_and_exit_code_3(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    job: str,
    more: list[str],
    kind: str,
    why: str,
) -> None:
    if job == "publish.py":
        (tmp_path / "a.csv").write_text("carrier\nUA\n")
        more = [*more, "--input", str(tmp_path / "a.csv")]
    root = str(tmp_path / "store")
    code, _, errors = run_here(job, ["--root", root, *more], monkeypatch, capfd)
    assert code == 3
    told = [line for line in errors.splitlines() if line.startswith("ERROR: ")]
    assert len(told) == 1
    assert told[0].startswith(f"ERROR: ({job}) {kind}: ")
    assert why in told[0]
    assert list(PubSub(None, root).list_topics()) == []


def test_a_job_that_is_refused_leaves_no_query_behind(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A platform's session goes on after the job, and would set bad records aside for ever."""
    (tmp_path / "in").mkdir()
    args = [
        *("--root", str(tmp_path / "store"), "--topic", "nowhere", "--input", f"{tmp_path}/in"),
        *("--format", "json", "--schema", "a INT", "--bad-records", f"{tmp_path}/bad"),
        *("--checkpoint", f"{tmp_path}/checkpoint"),
    ]
    before = len(spark.streams.active)
    code, _, errors = run_here("stream_publish.py", args, monkeypatch, capfd)
    assert (code, "NOT_FOUND" in errors) == (3, True)
    assert len(spark.streams.active) == before


def test_a_record_that_is_bad_since_it_was_counted_stops_the_job(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """By default a bad record stops the job: none is left out without a word."""
    file, root = tmp_path / "a.csv", str(tmp_path / "store")
    file.write_text("carrier\nUA\nAAAA\n")
    counting = Records.count

    def count_and_change(records: Records) -> RecordCounts:
        counted = counting(records)
        file.write_text("carrier\nUA\nA,BC\n")
        return counted

    monkeypatch.setattr(Records, "count", count_and_change)
    args = ["--root", root, "--topic", "flights", "--create-topic", "--input", str(file)]
    code, _, errors = run_here("publish.py", args, monkeypatch, capfd)
    assert code == 3, errors
    assert "a.csv, line 3: 'A,BC' is not a record of 1 columns: carrier" in errors
    assert PubSub(None, root).metrics("flights")["message_count"] == 0


@pytest.mark.trial
def test_the_maintenance_job_tells_what_it_would_do_and_does_it(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    root, summary = str(tmp_path / "store"), tmp_path / "summary.json"
    store = PubSub(spark, root, clock=ManualClock())  # which is long ago
    store.create_topic("flights")
    store.create_subscription("idle", "flights")
    store.publish("flights", ["a", "b"])

    def maintain(*more: str) -> str:
        code, told, _ = run_here("maintain.py", ["--root", root, *more], monkeypatch, capfd)
        assert code == 0
        return told

    told = maintain("--dry-run", "--duties", "retention")
    assert "retention: projects/local/topics/flights: 2 messages would be deleted" in told
    assert store.read_topic("flights").count() == 2
    told = maintain("--summary", str(summary))
    assert "1 subscription or snapshot deleted, 2 messages deleted" in told
    assert json.loads(summary.read_text())["expired"] == ["projects/local/subscriptions/idle"]
    assert store.read_topic("flights").count() == 0
    assert "nothing to do" in maintain("--duties", "dead-letters")
    code, _, errors = run_here("maintain.py", ["--root", root, "--duties", "x"], monkeypatch, capfd)
    assert (code, "x is not a duty" in errors) == (2, True)
