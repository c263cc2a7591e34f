"""jobs/maintain.py: the duties that a scheduler asks for, and what it is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pubsub_delta import MaintenanceReport
from pubsub_delta.jobs.maintain import maintain


def run(root: Path, *more: str) -> Result:
    return CliRunner().invoke(maintain, ["--root", str(root), *more])


def reporting(monkeypatch: pytest.MonkeyPatch, report: MaintenanceReport) -> None:
    monkeypatch.setattr("pubsub_delta.PubSub.maintain", lambda *_, **__: report)


def test_a_duty_that_failed_fails_the_job_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is reported, and the exit code is 1: a scheduler tells it, and tries again."""
    failed = MaintenanceReport(dead_letters={"s": 2}, problems={"t": "Aborted: others"})
    reporting(monkeypatch, failed)
    result = run(tmp_path)
    assert result.exit_code == 1
    assert "not done: t: Aborted: others" in result.output
    assert "2 messages forwarded, 1 thing not done" in result.output
    reporting(monkeypatch, MaintenanceReport(dead_letters={"s": 2}))
    assert run(tmp_path).exit_code == 0


@pytest.mark.parametrize("duties", ["", " , ", "vacuum,sweep"])
def test_duties_that_say_nothing_are_refused(tmp_path: Path, duties: str) -> None:
    """A schedule with an empty variable in it would do nothing for ever."""
    result = run(tmp_path, "--duties", duties)
    assert result.exit_code == 2
    assert "is not a duty; tables, dead-letters, expiration" in result.output
