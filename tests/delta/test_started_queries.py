"""Queries whose start fails half-way, or whose function runs nothing."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from pubsub_delta import streaming
from tests.conftest import Bench
from tests.delta.test_streaming import DRAIN, drain, undelivered


def test_a_query_that_nothing_would_end_is_stopped(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python: "can't start new thread", at a limit of the system."""
    start = threading.Thread.start

    def start_others(thread: threading.Thread) -> None:
        if getattr(thread, "_target", None) is streaming._stop_when_drained:
            raise RuntimeError("can't start new thread")
        start(thread)

    bench.store.create_topic("orders")
    bench.store.create_subscription("billing", "orders")
    monkeypatch.setattr(threading.Thread, "start", start_others)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        bench.store.subscribe_stream(
            "billing",
            lambda df, batch_id: None,
            checkpoint_location=str(tmp_path / "checkpoint"),
            trigger=DRAIN,
        )
    assert not bench.spark.streams.active


def test_a_query_acknowledges_nothing_of_which_nothing_has_run(
    bench: Bench, tmp_path: Path
) -> None:
    """A lambda may return a coroutine, and is none."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])

    async def process(*_: object) -> None: ...

    with pytest.raises(StreamingQueryException, match="returned a coroutine, which nobody runs"):
        drain(bench, subscription, lambda *given: process(*given), tmp_path)
    assert undelivered(bench, subscription) == 1


def test_a_query_whose_function_exits_ends(bench: Bench, tmp_path: Path) -> None:
    """Py4J hands on exceptions alone: the query waited for ever, as long as its JVM lived."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    with pytest.raises(StreamingQueryException, match=r"it has ended by SystemExit\(3\)"):
        drain(bench, subscription, lambda *_: sys.exit(3), tmp_path)
    assert undelivered(bench, subscription) == 1
