"""The options of the jobs: a variable of a schedule that is not set is an empty one."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

pytest.importorskip("pyspark")

from pubsub_delta.jobs.consume import consume
from pubsub_delta.jobs.create_views import create_views
from pubsub_delta.jobs.export_metrics import export_metrics
from pubsub_delta.jobs.maintain import maintain
from pubsub_delta.jobs.publish import publish
from pubsub_delta.jobs.stream_consume import stream_consume
from pubsub_delta.jobs.stream_publish import stream_publish
from pubsub_delta.jobs.terminal import text

JOBS = (consume, create_views, export_metrics, maintain, publish, stream_consume, stream_publish)
CHECKED_ELSEWHERE = {"root", "project", "duties", "log_retention"}
"""Options that the library refuses if they are empty, or that have a check of their own."""
MAY_BE_EMPTY = {"prefix"}

TEXTS = [
    (job, option)
    for job in JOBS
    for option in job.params
    if option.name not in CHECKED_ELSEWHERE | MAY_BE_EMPTY
    and getattr(option.type, "func", option.type) in (text, click.STRING)
]


@pytest.mark.parametrize(
    ("job", "option"), TEXTS, ids=[f"{job.name} {option.name}" for job, option in TEXTS]
)
def test_an_option_that_is_empty_is_a_wrong_command_line(
    tmp_path: Path, job: click.Command, option: click.Parameter
) -> None:
    """``--idempotency-id "$RUN"`` published everything anew, and ``--schema ""`` nothing."""
    required = {
        each.opts[0]: "x" for each in job.params if isinstance(each, click.Option) and each.required
    }
    for empty in ("", " "):
        given = {**required, "--root": str(tmp_path / "store"), option.opts[0]: empty}
        done = CliRunner().invoke(job, [part for pair in given.items() for part in pair])
        assert done.exit_code == 2, done.output
        assert f"'{empty}' is empty; give a value, or leave the option out" in done.output


def test_there_is_something_to_check() -> None:
    assert len(TEXTS) >= 25
    assert {option.name for _, option in TEXTS} >= {"idempotency_id", "schema", "output", "query"}
