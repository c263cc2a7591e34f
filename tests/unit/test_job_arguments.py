"""What the jobs ask the library for, by their options, and the exit codes of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

pytest.importorskip("pyspark")

from pubsub_delta import MaintenanceReport, NotFound, ViewsReport
from pubsub_delta.jobs import create_views, maintain, outputs, publish, stream_consume, terminal

ROOT = ("--root", "bi.pubsub", "--project", "shop")


class Store:
    """Takes one call, and answers it."""

    def __init__(self, answer: Any) -> None:
        self.opened: tuple[Any, ...] = ()
        self.given: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self._answer = answer

    def __call__(self, _: Any, root: str, **more: Any) -> Store:
        self.opened = (root, more)
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.given = args, more
            return self._answer

        return call


def run(job: click.Command, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(job, [*ROOT, *more])
    return done.exit_code, done.output


def test_maintenance_is_asked_for_all_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(MaintenanceReport())
    monkeypatch.setattr(maintain, "PubSub", store)
    more = ("--duties=vacuum", "--log-retention=2d", "--exact", "--dry-run", "--tables-root=/t")
    assert run(maintain.maintain, *more)[0] == 0
    assert store.opened == ("bi.pubsub", {"project": "shop", "tables_root": "/t"})
    asked = store.given[1]
    assert (asked["vacuum"], asked["retention"]) == (True, False)
    assert (asked["log_retention"], asked["exact"], asked["dry_run"]) == ("2d", True, True)
    run(maintain.maintain)
    asked = store.given[1]
    assert [name for name, wanted in asked.items() if wanted is True] == [
        *("tables", "dead_letters", "expiration", "retention")
    ]
    assert (asked["log_retention"], asked["exact"], asked["dry_run"]) == (None, False, False)


@pytest.mark.parametrize(("refused", "code"), [({}, 0), ({"orders": "a table is there"}, 1)])
def test_a_view_that_is_refused_fails_the_job_that_created_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refused: dict[str, str], code: int
) -> None:
    """ "The other views are created; the exit code is then 1"."""
    store = Store(ViewsReport(created=("flights",), refused=refused))
    monkeypatch.setattr(create_views, "PubSub", store)
    monkeypatch.setattr(create_views, "local_session", lambda **_: None)
    summary = tmp_path / "counts.json"
    found, told = run(create_views.create_views, "--prefix=p_", "--summary", str(summary))
    assert found == code
    assert f"1 views, 1 created, 0 replaced, 0 dropped, {len(refused)} refused" in told
    assert store.given == ((None,), {"temporary": False, "prefix": "p_"})
    assert json.loads(summary.read_text())["refused"] == refused
    run(create_views.create_views, "--schema=main.bi")
    asked: Any = store.given
    assert asked == (("main.bi",), {"temporary": None, "prefix": ""})


class Query:
    """A query that has ended."""

    id = "query"

    def __init__(self) -> None:
        self.isActive = False
        self.recentProgress = ()

    def awaitTermination(self, _: int | None = None) -> None: ...

    def stop(self) -> None: ...


def test_each_micro_batch_is_written_under_its_number_without_what_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "Delta skips a number that it has", so that a repeated micro-batch is in the table once."""
    store, written = Store(Query()), []
    monkeypatch.setattr(stream_consume, "PubSub", store)
    monkeypatch.setattr(stream_consume, "local_session", lambda **_: None)
    monkeypatch.setattr(outputs, "append", lambda *args, **more: written.append((args, more)))
    where = ("--subscription=s", "--output=/data/o", "--checkpoint=/c", "--batch-size=7")
    assert run(stream_consume.stream_consume, *where, "--merge-schema", "--interval=5s")[0] == 0
    (name, write), asked = store.given
    assert (name, asked["max_messages"], asked["checkpoint_location"]) == ("s", 7, "/c")
    assert asked["trigger"] == {"processingTime": "5 seconds"}

    class Messages:
        def drop(self, *names: str) -> tuple[str, ...]:
            return names

    write(Messages(), 3)
    numbered = {"merge_schema": True, "txnAppId": "query", "txnVersion": 3}
    assert written == [((("ack_id", "delivery_attempt"), "/data/o"), numbered)]


def test_an_input_has_the_id_that_its_page_tells() -> None:
    """Another version, as of a later release, would publish the input of an earlier run again."""
    rows: Any = object()
    assert list(publish.split(rows, None, "flights-2013")) == [(("flights-2013", 1), rows)]
    assert list(publish.split(rows, None, None)) == [(None, rows)]


def test_what_was_published_long_ago_counts_nothing() -> None:
    class Result:
        @property
        def message_count(self) -> int:
            raise NotFound("it is no longer in the topic's history")

    long_ago: Any = Result()
    assert publish.written_by(long_ago) == 0


@pytest.mark.parametrize(
    "name", ["PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION"]
)
def test_a_session_that_runs_is_taken_and_none_is_started_without_need(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It has the storage settings; by plain ``python`` a job runs without Spark."""
    for each in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setattr(terminal, "local_session", lambda app_name: f"session of {app_name}")
    found: Any = terminal.session_if_needed("maintain")
    assert callable(found)
    assert found() == "session of maintain"
    monkeypatch.setenv(name, "1")
    found = terminal.session_if_needed("maintain")
    assert found == "session of maintain"
