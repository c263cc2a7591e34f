"""How a streaming job counts messages: those of each micro-batch once, by its progress reports."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pubsub_delta.errors import NotFound
from pubsub_delta.jobs import stream_consume
from pubsub_delta.jobs.stream_publish import LAST_COMMITS, MessageCounter
from pubsub_delta.jobs.terminal import Summary, follow, progress, trigger
from tests.unit.in_memory import TOPIC, InMemory


class Reporting:
    """A query whose reports are looked at some times, and which ends then."""

    def __init__(self, looks: int, *counts: int) -> None:
        self.recentProgress = [{"batchId": n, "count": each} for n, each in enumerate(counts)]
        self._looks = looks

    @property
    def isActive(self) -> bool:
        return self._looks > 0

    def awaitTermination(self, _: int | None = None) -> None:
        self._looks -= 1

    def stop(self) -> None:
        self._looks = 0


def test_a_micro_batch_counts_once_however_often_it_is_reported() -> None:
    """Spark keeps the last reports: each look finds those of before, too."""
    summary, query = Summary("stream_publish"), Reporting(3, 2, 0, 3)
    asked: Any = query
    follow(asked, summary, lambda progress: int(progress["count"]))
    assert (summary.messages, summary.commits) == (5, 2)


class Growing(Reporting):
    """A query that ends another micro-batch, of one message, between two looks."""

    def awaitTermination(self, _: int | None = None) -> None:
        super().awaitTermination()
        self.recentProgress.append({"batchId": len(self.recentProgress), "count": 1})


def test_a_micro_batch_is_counted_that_is_reported_after_those_of_an_earlier_look() -> None:
    summary, query = Summary("stream_publish"), Growing(3, 2)
    asked: Any = query
    follow(asked, summary, lambda progress: int(progress["count"]))
    assert (summary.messages, summary.commits) == (6, 5)


class Full(io.StringIO):
    """A file on a disk that is full."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_job_goes_on_whose_progress_cannot_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code and the summary tell what a job has done; a full disk of its log ends none."""
    summary, query = Summary("stream_publish"), Reporting(3, 2, 0, 3)
    asked: Any = query
    monkeypatch.setattr(sys, "stdout", Full())
    follow(asked, summary, lambda progress: int(progress["count"]))
    summary.finish(None)
    assert (summary.messages, summary.commits) == (5, 2)


@pytest.mark.parametrize("path", ["/data/[/bad]", "/data/[a-z]*", "arn:x:y", "/" + 120 * "x"])
def test_a_path_is_printed_as_it_is_given(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A job that fails after its work, as by ``[/`` in a name, is run again: it publishes twice."""
    summary = Summary("publish", counts={f"bad records, in {path}": 1})
    summary.finish(None)
    assert capfd.readouterr().out.endswith(f"; 1 bad records, in {path}\n")


def test_the_progress_of_a_job_is_a_line_for_each_step(capfd: pytest.CaptureFixture[str]) -> None:
    """A log has no bar: each line tells how far the job is."""
    with progress("publishing", 10_000) as step:
        step(3_000)
        step(4_000)
    with progress("draining", None) as step:
        step(5)
    assert capfd.readouterr().out == (
        "publishing: 3,000 of 10,000 messages\n"
        "publishing: 7,000 of 10,000 messages\n"
        "draining: 5 messages\n"
    )


def test_a_job_that_cannot_go_on_stops_its_query() -> None:
    """A query that is stopped gives back what it has leased."""
    query: Any = Reporting(3, 2)
    with pytest.raises(KeyError):
        follow(query, Summary("stream_publish"), lambda progress: int(progress["missing"]))
    assert not query.isActive


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("60s", "60 seconds"),
        ("1m30s", "1 minutes 30 seconds"),
        ("0.5s", "0.5 seconds"),
        ("10 minutes", "10 minutes"),
        ("500ms", "500ms"),
    ],
)
def test_an_interval_is_given_as_every_other_duration_or_as_sparks(given: str, asked: str) -> None:
    """export_metrics takes ``--interval 60s``, and a stream "1 second"."""
    assert trigger(given, available_now=False) == {"processingTime": asked}


def test_a_job_of_what_is_there_now_takes_no_interval() -> None:
    """``--available-now``: "End when all messages or files of the start are processed." """
    assert trigger("60s", available_now=True) == {"availableNow": True}
    assert trigger(" 5s ", available_now=False) == {"processingTime": "5 seconds"}


def test_messages_count_from_one_report_to_the_next() -> None:
    """What a job has written is told as its own, and not what all consumers have acknowledged.

    "A platform may run the source elsewhere: the query goes on", and its reports have none.
    """
    count = stream_consume.MessageCounter()
    totals = [None, 0, 4, None, 4, 10]
    told = [
        count(
            {
                "observedMetrics": {
                    "pubsub_delta": {
                        "processed_message_count": total,
                        "ack_message_count_success": 100 * place,
                    }
                }
            }
        )
        for place, total in enumerate(totals)
    ]
    assert told == [0, 0, 4, 0, 0, 6]


def test_published_messages_are_those_of_the_commit_of_their_micro_batch() -> None:
    """Spark counts the rows of the input, bad ones too, and again each time that it reads them."""
    store = InMemory().store
    store.publish(TOPIC, ["a", "b"], idempotency_id=("query", 0))
    store.publish(TOPIC, ["c"], idempotency_id=("another", 1))
    count = MessageCounter(store, TOPIC)
    reports = [{"id": "query", "batchId": n, "numInputRows": 9} for n in (0, 1)]
    assert [count(each) for each in reports] == [2, 0]
    for _ in range(LAST_COMMITS[0]):  # others publish meanwhile
        store.publish(TOPIC, ["d"])
    assert [count(each) for each in reports] == [2, 0]


def test_a_job_goes_on_where_the_history_of_its_topic_cannot_be_read() -> None:
    class Store:
        def topic_history(self, *_: object) -> None:
            raise NotFound("topic")

    gone: Any = Store()
    assert MessageCounter(gone, TOPIC)({"id": "query", "batchId": 0}) == 0


class Beside(Reporting):
    """A query that ends by an error at the second look."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(9)
        self._log = log

    def exception(self) -> Exception | None:
        self._log.append("look")
        return NotFound("gone") if self._log.count("look") > 1 else None

    def awaitTermination(self, _: int | None = None) -> None:
        self._log.append("raise")
        raise NotFound("gone")


def test_an_error_of_the_query_beside_stops_the_query_first_and_is_raised() -> None:
    """The query is stopped before its error: else it would lease messages for nobody."""
    log: list[str] = []

    class Stopping(Reporting):
        def stop(self) -> None:
            log.append("stop")
            super().stop()

    query: Any = Stopping(9, 4)
    beside: Any = Beside(log)
    summary = Summary("stream_consume")
    with pytest.raises(NotFound, match="gone"):
        follow(query, summary, lambda progress: int(progress["count"]), beside)
    assert log == ["look", "look", "stop", "raise", "stop"]
    assert summary.messages == 4, "what was done before is counted"


def test_each_micro_batch_with_messages_is_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    summary, query = Summary("stream_publish"), Reporting(2, 1_500, 0, 3)
    asked: Any = query
    follow(asked, summary, lambda progress: int(progress["count"]))
    assert capfd.readouterr().out == (
        "stream_publish: 1,500 messages, micro-batch 0\n"
        "stream_publish: 1,503 messages, micro-batch 2\n"
    )
    assert [each["messages"] for each in summary.timeline] == [1_500, 3]
    assert not asked.isActive


def test_an_interrupt_ends_the_query_and_counts_its_last_micro_batch() -> None:
    """Ctrl+C and SIGTERM stop a job."""

    class Interrupted(Reporting):
        def awaitTermination(self, _: int | None = None) -> None:
            self.recentProgress.append({"batchId": 7, "count": 2})
            raise KeyboardInterrupt

    summary, query = Summary("stream_publish"), Interrupted(3, 1)
    asked: Any = query
    follow(asked, summary, lambda progress: int(progress["count"]))
    assert (summary.messages, summary.commits, asked.isActive) == (3, 2, False)
