"""The source of one row a micro-batch, which carries a subscription's metrics to Spark."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import FailedPrecondition
from pubsub_delta.clock import to_micros
from pubsub_delta.policy.ack_state import AckState, Counters
from pubsub_delta.policy.metrics import metrics_of
from pubsub_delta.tables.lanes.spark.ticks import METRICS, PROCESSED, MetricsFile, TickReader
from tests.unit.builders import at, available_span

NOTHING = (None,) * len((*METRICS, PROCESSED))
NAME = "projects/local/subscriptions/delays"


def reading(path: Path, uid: str = "1") -> TickReader:
    return TickReader(path, NAME, uid)


def test_the_source_has_always_a_next_offset(tmp_path: Path) -> None:
    """Redeliveries must come also when nothing is published."""
    reader = reading(tmp_path / "metrics.json")
    offset = reader.initialOffset()
    for _ in range(3):
        rows, following = reader.read(offset)
        assert len(list(rows)) == 1
        assert following != offset
        offset = following


def test_a_row_has_the_metrics_that_were_written_last() -> None:
    file = MetricsFile()
    file.write(metrics_of(AckState(0)), 0)
    spans = (available_span(range(3), 1.5, 9),)
    counters = Counters(success=7, dead_letters=1)
    file.write(metrics_of(AckState(0, spans=spans, counters=counters)), 4)
    reader = reading(file.path)
    rows, following = reader.read(reader.initialOffset())
    expected = (3, 0, to_micros(at(1.5)), 7, 0, 0, 1, 4)
    assert list(rows) == [(*expected, False)]
    # A micro-batch that is run again has them as they are then.
    assert list(reader.readBetweenOffsets(reader.initialOffset(), following)) == [(*expected, True)]


def test_a_row_without_metrics_comes_where_their_file_cannot_be_read(tmp_path: Path) -> None:
    """A platform may run the source elsewhere: the query goes on."""
    reader = reading(tmp_path / "away" / "metrics.json")
    rows, _ = reader.read(reader.initialOffset())
    assert list(rows) == [(*NOTHING, False)]


def test_a_checkpoint_of_an_earlier_subscription_of_the_name_is_refused(tmp_path: Path) -> None:
    """Under a batch id that the sink has committed it would skip other messages: they were lost."""
    earlier, now = (reading(tmp_path / "metrics.json", uid) for uid in ("1", "2"))
    start = earlier.initialOffset()
    _, end = earlier.read(start)
    for ask in (lambda: now.read(end), lambda: now.readBetweenOffsets(start, end)):
        with pytest.raises(FailedPrecondition, match=rf"^checkpoint: .*{NAME} \(uid 1, here 2\)"):
            ask()


@pytest.mark.parametrize(
    "other",
    [
        {"format": 1, "subscription": "1", "reader": "2", "batch": 0},  # format("pubsub_delta")
        {"sourceVersion": 1, "reservoirId": "1", "index": 0},  # of a Delta table
        {"subscription": "1", "tick": None},
        7,  # of a rate
        "7",
    ],
)
def test_a_checkpoint_of_another_kind_of_query_is_refused(tmp_path: Path, other: Any) -> None:
    """A query of ``format("pubsub_delta")`` names the same subscription in its offsets."""
    reader = reading(tmp_path / "metrics.json")
    start = reader.initialOffset()
    for ask in (lambda: reader.read(other), lambda: reader.readBetweenOffsets(start, other)):
        with pytest.raises(FailedPrecondition, match=r"^checkpoint: .* is not an offset of subsc"):
            ask()


def test_a_file_that_cannot_be_written_is_logged_and_stops_no_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = MetricsFile()
    file.path.parent.rmdir()
    with caplog.at_level(logging.WARNING, "pubsub_delta"):
        file.write(metrics_of(AckState(0)), 0)
    assert "carries no newer metrics" in caplog.text
