"""Threads that cannot be started, or whose start Ctrl-C interrupts: nobody has them to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from pubsub_delta.clock import ManualClock
from pubsub_delta.console.measurements import Measurements
from pubsub_delta.exporter import MetricsExporter
from pubsub_delta.metrics import MetricRow
from pubsub_delta.publisher import Publisher
from pubsub_delta.resources import BatchSettings, PublishFlowControl
from pubsub_delta.threads import start_threads
from tests.unit.pulling import eventually

Fail = Callable[[threading.Thread], None]
_START = threading.Thread.start


def refuse(_: threading.Thread) -> None:
    """Python: raised at a limit of the system."""
    raise RuntimeError("can't start new thread")


def interrupt(thread: threading.Thread) -> None:
    """Ctrl-C while the caller waits for the thread to begin."""
    _START(thread)
    raise KeyboardInterrupt


FAILURES = pytest.mark.parametrize("fail", [refuse, interrupt])
FAILED = (RuntimeError, KeyboardInterrupt)


def once(monkeypatch: pytest.MonkeyPatch, fail: Fail) -> None:
    """Let the next start of a thread fail."""

    def start(thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", _START)
        fail(thread)

    monkeypatch.setattr(threading.Thread, "start", start)


@FAILURES
def test_those_that_run_are_stopped(fail: Fail) -> None:
    stopped = threading.Event()
    threads = [threading.Thread(target=stopped.wait) for _ in range(3)]

    class Last(threading.Thread):
        def start(self) -> None:
            fail(self)

    with pytest.raises(FAILED):
        start_threads([*threads, Last(target=stopped.wait)], stopped.set)
    assert stopped.is_set()
    for each in threads:
        each.join(30)


@FAILURES
def test_a_publisher_that_nobody_has_leaves_no_thread(
    fail: Fail, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = threading.active_count()
    once(monkeypatch, fail)
    with pytest.raises(FAILED):
        Publisher(lambda _: [], BatchSettings(), PublishFlowControl())
    eventually(lambda: threading.active_count() == before)


@FAILURES
def test_an_exporter_can_be_started_again(fail: Fail, monkeypatch: pytest.MonkeyPatch) -> None:
    """start: "Start measuring in the background"; stop: does nothing where nothing was started."""
    measured, before = threading.Event(), threading.active_count()

    def measure() -> list[MetricRow]:
        measured.set()
        return []

    exporter = MetricsExporter(measure, ManualClock().now, interval=timedelta(days=1))
    once(monkeypatch, fail)
    with pytest.raises(FAILED):
        exporter.start()
    exporter.stop()
    eventually(lambda: threading.active_count() == before)
    measured.clear()
    with exporter:
        assert measured.wait(30)
    assert threading.active_count() == before


def test_a_page_measures_though_the_thread_of_the_one_before_was_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock()
    known = Measurements(lambda _: 1.0, lambda value: value, clock.now)
    once(monkeypatch, refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        known.latest({"a": "1"}, ["a"], 0)
    assert known.latest({"a": "1"}, ["a"], 30)["a"].value == 1.0
    known.close()
