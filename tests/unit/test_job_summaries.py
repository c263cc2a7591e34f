"""The summary of a job that fails: what it has done stays, and the file is of no earlier run."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pubsub_delta.errors import Aborted
from pubsub_delta.jobs.terminal import TRY_AGAIN, Summary, run
from tests.unit.test_job_consume import Slow


def ended(
    path: Path,
    error: BaseException | None,
    *batches: int,
    end: Callable[[], None] = lambda: None,
) -> tuple[int, str]:
    @click.command("publish")
    def job() -> None:
        outcome = Summary("publish")

        def work() -> int:
            for batch in batches:
                outcome.add(batch)
            end()
            if error is not None:
                raise error
            return 0

        run(work, outcome.finishing(path))

    done = CliRunner().invoke(job)
    return done.exit_code, done.stdout


def test_a_job_that_fails_tells_what_it_has_done(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    code, told = ended(path, Aborted("others were faster"), 3, 4)
    assert code == TRY_AGAIN
    assert told.startswith("publish: 7 messages in 2 batches, ")
    counts = json.loads(path.read_text())
    assert (counts["messages"], counts["commits"]) == (7, 2)
    assert counts["error"] == "ABORTED: others were faster"


@pytest.mark.parametrize("error", [ValueError("why"), KeyboardInterrupt()])
def test_the_counts_of_an_earlier_run_do_not_stay_after_a_failed_one(
    tmp_path: Path, error: BaseException
) -> None:
    """A monitor would take yesterday's counts for those of today."""
    path = tmp_path / "counts.json"
    code, told = ended(path, None, 3)
    assert (code, json.loads(path.read_text())["error"]) == (0, None)
    assert told.startswith("publish: 3 messages in 1 batch, ")
    code, told = ended(path, error)
    assert (code, told.strip()) in ((1, ""), (1, "Aborted!"))
    counts = json.loads(path.read_text())
    assert (counts["messages"], counts["commits"]) == (0, 0)
    assert counts["error"].startswith(type(error).__name__)


class StreamingQueryException(Exception):
    """As Spark raises it: the class of the error that ended the query stands in the text."""


def test_the_error_is_that_of_the_query_without_its_plan(tmp_path: Path) -> None:
    text = "pubsub_delta.errors.Aborted: others were\n=== Streaming Query ===\nid = 1"
    ended(tmp_path / "counts.json", StreamingQueryException(text))
    assert json.loads((tmp_path / "counts.json").read_text())["error"] == "Aborted: others were"


def test_what_was_written_and_not_acknowledged_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The batch comes again, and is in the table twice: its commit counts, and no ack."""
    table = Slow(monkeypatch)
    table.turned.set()
    table.world.publish(*"abc")

    def fail(*_: Any, **__: Any) -> None:
        raise Aborted("others were faster")

    monkeypatch.setattr("pubsub_delta.PulledBatch.ack", fail)
    code, told = table.consume()
    assert code == TRY_AGAIN
    assert "consume: 3 messages in 1 batch, " in told
    assert "; 0 acked, 0 acked too late" in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_job_that_a_signal_ends_tells_what_it_has_done(
    tmp_path: Path, number: signal.Signals
) -> None:
    """A scheduler ends a job whose time is over; a monitor must not take it for yesterday's."""
    path = tmp_path / "counts.json"
    before = signal.signal(number, signal.SIG_DFL)
    ended(path, None, 3)

    code, told = ended(path, None, 4, end=lambda: os.kill(os.getpid(), number))
    assert (code, "4 messages in 1 batch" in told) == (128 + number, True)
    counts = json.loads(path.read_text())
    assert (counts["messages"], counts["error"]) == (4, f"Ended: by {number.name}")
    assert signal.signal(number, before) is signal.SIG_DFL
