"""The exit code of a job tells a scheduler whether a later run can succeed (docs/guide/jobs.md)."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pubsub_delta.errors import (
    Aborted,
    DataLoss,
    FailedPrecondition,
    InvalidArgument,
    Unavailable,
    Unknown,
)
from pubsub_delta.jobs.terminal import (
    REFUSED,
    TRY_AGAIN,
    UNEXPECTED,
    Summary,
    follow,
    run,
    store_options,
    write_summary,
)
from pubsub_delta.jobs.unwritten import writing_stdout
from pubsub_delta.session_end import SessionEnded
from pubsub_delta.tables.lanes.storage_errors import StorageRefused

CODES = [
    (Aborted, TRY_AGAIN),
    (Unknown, TRY_AGAIN),
    (Unavailable, TRY_AGAIN),
    (InvalidArgument, REFUSED),
    (DataLoss, REFUSED),
    (StorageRefused, REFUSED),
    (SessionEnded, UNEXPECTED),
]


class StreamingQueryException(Exception):
    """As Spark raises it: the class of the error that ended the query stands in the text."""


def exit_code(error: Exception) -> tuple[int, str]:
    @click.command("publish")
    def job() -> None:
        def fail() -> int:
            raise error

        run(fail)

    result = CliRunner().invoke(job)
    return result.exit_code, result.stderr


@pytest.mark.parametrize(("error", "code"), CODES)
def test_an_error_of_the_library_is_one_line_and_its_code(
    error: type[Exception], code: int
) -> None:
    found, told = exit_code(error("it is why"))
    assert found == code
    assert told.count("\n") == 1
    assert "it is why" in told


@pytest.mark.parametrize(("error", "code"), CODES)
def test_what_ends_a_query_counts_as_outside_of_one(error: type[Exception], code: int) -> None:
    text = f"{error.__module__}.{error.__name__}: it is why\n=== Streaming Query ===\nid = 1"
    found, told = exit_code(StreamingQueryException(text))
    assert found == code
    assert "it is why" in told


@pytest.mark.parametrize(("error", "code"), CODES)
def test_the_cause_of_what_ends_a_query_counts_and_not_what_is_around_it(
    error: type[Exception], code: int
) -> None:
    """As Spark writes an error of a Python worker."""
    text = (
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        '  File "writer.py", line 7, in write\n'
        f"{error.__module__}.{error.__name__}: it is why\n\n=== Streaming Query ===\nid = 1"
    )
    found, told = exit_code(StreamingQueryException(text))
    assert found == code
    assert told.endswith("it is why\n")


def test_what_the_library_does_not_know_is_an_unexpected_failure() -> None:
    assert exit_code(StreamingQueryException("java.io.IOException: no"))[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: No space left on "
        "device SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: [id = 1]",
        "java.io.IOException: No space left on device\n=== Streaming Query ===\nid = 1",
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_worth_another_run(text: str) -> None:
    """ "75: the storage is full or cannot be reached", also if Spark itself found that out."""
    found, told = exit_code(StreamingQueryException(text))
    assert found == TRY_AGAIN
    assert "UNAVAILABLE: the query cannot go on now (No space left on device)" in told


def test_an_error_of_the_library_is_its_own_whatever_it_says_of_a_disk() -> None:
    text = "pubsub_delta.errors.DataLoss: lost, No space left on device\n=== Streaming Query ===\n"
    assert exit_code(StreamingQueryException(text))[0] == REFUSED


class Query:
    """A query that runs until it is stopped, or has ended with an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.isActive = error is None
        self.recentProgress: list[object] = []
        self._error = error

    def exception(self) -> Exception | None:
        return self._error

    def awaitTermination(self, timeout: int | None = None) -> None:
        self.turns = getattr(self, "turns", 0) + 1
        assert self.turns < 5, f"it was waited for in vain ({timeout})"
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        self.isActive = False


def test_a_job_whose_other_query_has_failed_tells_it() -> None:
    """ "The job leaves out no bad record without a word", also if it cannot set them aside."""
    query: Any = Query()
    setting_aside: Any = Query(StreamingQueryException("it cannot be written"))
    with pytest.raises(StreamingQueryException, match="it cannot be written"):
        follow(query, Summary("stream_publish"), lambda _: 0, beside=setting_aside)
    assert not query.isActive


@click.command("publish")
@store_options
def summing(summary: Path | None, **_: Any) -> None:
    """Do the work, and write its summary."""
    assert summary is None or not summary.exists() or summary.read_text() == "of an earlier run"
    click.echo("done")
    if summary is not None and summary.name == "full.json":
        summary.mkdir()
    write_summary(summary, {"messages": 3})


def test_a_summary_is_written(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "last.json"
    assert CliRunner().invoke(summing, ["--root=x", f"--summary={path}"]).exit_code == 0
    assert json.loads(path.read_text()) == {"messages": 3}
    path.write_text("of an earlier run")
    assert CliRunner().invoke(summing, ["--root=x", f"--summary={path}"]).exit_code == 0
    assert json.loads(path.read_text()) == {"messages": 3}


def test_a_summary_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    """A job that failed after its work is run again, and publishes twice."""
    (tmp_path / "file").touch()
    for wrong in (tmp_path, tmp_path / "file" / "last.json"):
        result = CliRunner().invoke(summing, ["--root=x", f"--summary={wrong}"])
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{wrong} cannot be written" in " ".join(result.stderr.split())
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("url", ["s3a://bucket/last.json", "dbfs:/last.json"])
def test_a_summary_is_a_file_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """It was written below a new directory ``s3a:``, where no monitor looks."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(summing, ["--root=x", f"--summary={url}"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is a URL; a file of this machine is" in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


def test_a_summary_that_cannot_be_written_any_more_fails_nothing(tmp_path: Path) -> None:
    """The exit code tells what was done."""
    path = tmp_path / "full.json"
    result = CliRunner().invoke(summing, ["--root=x", f"--summary={path}"])
    assert (result.exit_code, result.stdout) == (0, "done\n")
    told = f"WARNING: (publish) summary: {path} cannot be written: Is a directory\n"
    assert result.stderr == told


def test_a_reader_of_the_output_that_has_gone_is_no_error_of_the_disk() -> None:
    """As of ``… | head -1``: it wants no more, and nobody has to be told."""
    with pytest.raises(BrokenPipeError), writing_stdout():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    with pytest.raises(FailedPrecondition, match="No space left on device"), writing_stdout():
        raise OSError(errno.ENOSPC, "")
