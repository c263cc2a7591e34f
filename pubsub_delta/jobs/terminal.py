"""Options, progress, summaries and exit codes of the jobs.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an unexpected failure; commits before it stay |
| 2 | the command line is wrong |
| 3 | refused: the request breaks a rule, or names a resource that does not exist; running again
cannot help |
| 4 | messages are left that other consumers hold |
| 129, 143 | ended by SIGHUP or SIGTERM; commits before it stay |
| 75 | try again: concurrent writers were faster too often, a commit is in doubt, or the storage is
full or cannot be reached |
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pubsub_delta import Aborted, PubSubError, Unavailable, Unknown, local_session
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.jobs.outages import outage_in
from pubsub_delta.jobs.signals import raising_at_signals
from pubsub_delta.jobs.unwritten import drop_unwritten

if TYPE_CHECKING:  # some jobs need no Spark
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

UNEXPECTED, REFUSED, LEFT_OVER, TRY_AGAIN = 1, 3, 4, 75
_TEMPORARY = (Aborted, Unavailable, Unknown)
"""The errors after which a later run can succeed."""
_ENDED = "SessionEnded"
"""The error of a session that its cluster or its machine has ended; it is no public name."""
_HAVE_STARTED_SPARK = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION")
"""Variables of spark-submit and Databricks, whose session has the storage settings."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_SHORT_UNIT = re.compile(r"(?<=\d)[wdhms](?![a-z])")
"""The units of every other duration, as ``60s``, in the words of Spark."""


class JobConsole(Console):
    """Prints on standard output; what that does not take, as on a full disk, is left out.

    A job goes on, and its exit code and its summary tell what it has done.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, as far as standard output takes it."""
        with suppress(OSError):
            super().print(*objects, **options)


console = JobConsole(stderr=False, highlight=False, markup=False, emoji=False)
"""It prints as they are given: paths and patterns, which may have brackets, and errors."""


def text(value: str) -> str:
    """Return the text of an option; the command line is wrong if it is empty.

    It is empty where a schedule has a variable that is not set. That is no option that was left
    out: the job would do something else than it was asked for.
    """
    if not value.strip():
        raise click.BadParameter(f"{value!r} is empty; give a value, or leave the option out")
    return value


def check_summary(_ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a summary that cannot be written, before the work begins; leave nothing behind.

    A URL would be a path below a new directory ``s3a:`` here, where no monitor looks.
    """
    if path is None:
        return None
    if _URL.match(str(path)):
        raise click.BadParameter(f"{path} is a URL; a file of this machine is accepted")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        path.open("a").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}") from error
    return path


def write_summary(path: Path | None, values: Mapping[str, Any]) -> None:
    """Write the summary of a job as JSON, if there is a path.

    A disk that is full by now is a warning: what the job has done is done, and its exit code tells.
    """
    if path is None:
        return
    try:
        path.write_text(json.dumps(values, indent=2, default=str))
    except OSError as error:
        _print_line("WARNING", f"summary: {path} cannot be written: {error.strerror}")


store_options = options(
    click.option(
        "--root",
        required=True,
        envvar="PUBSUB_DELTA_ROOT",
        show_envvar=True,
        help="The store: a directory, URL or schema.",
    ),
    click.option(
        "--project",
        default="local",
        show_default=True,
        envvar="PUBSUB_DELTA_PROJECT",
        show_envvar=True,
        help="The project of short ids.",
    ),
    click.option(
        "--summary",
        type=click.Path(path_type=Path),
        callback=check_summary,
        help="The JSON file for the counts of the run.",
    ),
)
"""The options of every job."""


def session_if_needed(app_name: str) -> SparkSession | Callable[[], SparkSession]:
    """Return the running session, or a function that starts one at its first use.

    Under spark-submit and on Databricks a session is running.
    """
    start = partial(local_session, app_name=app_name)
    return start() if any(name in os.environ for name in _HAVE_STARTED_SPARK) else start


stream_options = options(
    click.option(
        "--checkpoint",
        required=True,
        type=text,
        help="A directory or URL that only this query uses.",
    ),
    click.option(
        "--interval",
        type=text,
        default="1 second",
        show_default=True,
        help="The time between two batches.",
    ),
    click.option(
        "--available-now",
        is_flag=True,
        help="End when all messages or files of the start are processed.",
    ),
)
"""The options of every streaming job."""


def trigger(interval: str, *, available_now: bool) -> dict[str, Any]:
    """Return the trigger of the options of a streaming job."""
    asked = _SHORT_UNIT.sub(lambda unit: f" {_UNITS[unit[0]]} ", interval).strip()
    return {"availableNow": True} if available_now else {"processingTime": asked}


def follow(
    query: StreamingQuery,
    summary: Summary,
    count: Callable[[Any], int],
    beside: StreamingQuery | None = None,
) -> None:
    """Print the progress of a query until it ends; Ctrl+C and SIGTERM stop it.

    ``count``: returns the number of messages in a progress report. ``beside``: a query that does a
    part of the job; its error stops the query, and is raised.
    """
    with suppress(ValueError):  # a platform may run the task outside the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    seen = -1
    try:
        while query.isActive:
            query.awaitTermination(1)
            seen = _report(query, summary, count, seen)
            if beside is not None and beside.exception() is not None:
                query.stop()
                beside.awaitTermination()  # raises the error that ended it
        query.awaitTermination(1)  # raises the error that ended the query
    except KeyboardInterrupt:
        pass
    finally:
        query.stop()
    _report(query, summary, count, seen)


def _report(query: StreamingQuery, summary: Summary, count: Callable[[Any], int], seen: int) -> int:
    for progress in query.recentProgress:
        if progress["batchId"] <= seen:
            continue
        seen = progress["batchId"]
        messages = count(progress)
        if messages:
            summary.add(messages)
            console.print(f"{summary.job}: {summary.messages:,} messages, micro-batch {seen}")
    return seen


@dataclass
class Summary:
    """The summary of a job, for its last line and for other programs."""

    job: str
    messages: int = 0
    commits: int = 0
    seconds: float = 0.0
    counts: dict[str, Any] = field(default_factory=dict)
    timeline: list[dict[str, float]] = field(default_factory=list)
    started: float = field(default_factory=time.time)
    error: str | None = None

    def add(self, messages: int) -> None:
        """Count one batch."""
        self.messages += messages
        self.commits += 1
        self.timeline.append({"time": time.time(), "messages": messages})

    @contextmanager
    def finishing(self, path: Path | None) -> Iterator[None]:
        """Print the summary at the end of the block, and write it to ``path`` as JSON.

        Also if the block fails: its commits stay, and else the file would be that of an earlier
        run. Then it has the error, and is printed only if there are commits.
        """
        try:
            yield
        except BaseException as error:
            self.error = _described(error)
            raise
        finally:
            self.finish(path)

    def finish(self, path: Path | None) -> None:
        """Print the summary, and write it to ``path`` as JSON."""
        self.seconds = time.time() - self.started
        rate = self.messages / self.seconds if self.seconds else 0
        summary = ", ".join(f"{value:,} {name}" for name, value in self.counts.items())
        if self.commits or self.error is None:
            console.print(
                f"{self.job}: {self.messages:,} messages in {self.commits} "
                f"batch{'es' * (self.commits != 1)}, {self.seconds:.1f} s ({rate:,.0f} a second)"
                + (f"; {summary}" if summary else ""),
                soft_wrap=True,
            )
        write_summary(path, asdict(self))


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal, else a line for each step."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            bar.advance(task, count)
            if not console.is_terminal:
                of = f" of {total:,}" if total else ""
                console.print(f"{what}: {done:,}{of} messages")

        yield step


def run(command: Callable[[], int], ending: AbstractContextManager[None] | None = None) -> None:
    """Run a job and exit with its exit code; an error of the library is one line.

    The line goes to standard error, which spark-submit merges into standard output. ``ending``: the
    block in which the job runs, as that of a summary.
    """
    logging.getLogger("py4j").setLevel(logging.ERROR)
    try:
        if ending is None:
            code = command()
        else:
            with raising_at_signals(), ending:
                code = command()
    except PubSubError as error:
        print_error(error.code, str(error))
        code = _exit_code(type(error))
    except Exception as error:
        if type(error).__name__ != "StreamingQueryException":  # pyspark may not be installed
            raise
        name, why = cause_of(error)
        ours = _errors_by_name().get(name)
        print_error(getattr(ours, "code", name), why)
        code = UNEXPECTED if ours is None else _exit_code(ours)
    drop_unwritten()
    sys.exit(code)


def _errors(of: type[PubSubError] = PubSubError) -> Iterator[type[PubSubError]]:
    for each in of.__subclasses__():
        yield each
        yield from _errors(each)


def _errors_by_name() -> dict[str, type[PubSubError]]:
    return {each.__name__: each for each in _errors()}


def _exit_code(error: type[PubSubError]) -> int:
    if error.__name__ == _ENDED:
        return UNEXPECTED
    return TRY_AGAIN if issubclass(error, _TEMPORARY) else REFUSED


def _described(error: BaseException) -> str:
    """Return the code and the text of an error, or of the one that ended a query, in one line."""
    code, why = type(error).__name__, str(error)
    if isinstance(error, PubSubError):
        code = error.code
    if code == "StreamingQueryException":
        code, why = cause_of(error)
    return f"{code}: {' '.join(why.split())}"


def print_error(code: str, why: str) -> None:
    """Print an error as one line with the job and the canonical code."""
    _print_line("ERROR", f"{code}: {why}")


def _print_line(level: str, text: str) -> None:
    job = click.get_current_context().info_name
    with suppress(OSError):  # standard error takes nothing: the exit code tells
        click.echo(f"{level}: ({job}) {' '.join(text.split())}", err=True)


def cause_of(error: BaseException) -> tuple[str, str]:
    r"""Return the class name and the message of the Python error that ended a query.

    A storage that is full or away, as that of its checkpoint, is Unavailable.

    >>> query = "=== Streaming Query ===\nIdentifier: [id = 1]"
    >>> cause_of(Exception(f"pubsub_delta.errors.InvalidArgument: no\n{query}"))
    ('InvalidArgument', 'no')
    """
    text = str(error).partition("\n=== Streaming Query ===\n")[0]
    causes = re.findall(r"^(?:[\w.]+\.)?(\w+): (.+)$", text, flags=re.MULTILINE)
    name, why = causes[-1] if causes else ("StreamingQueryException", str(error).splitlines()[0])
    outage = None if name in _errors_by_name() else outage_in(error)
    if outage is None:
        return name, why
    return Unavailable.__name__, f"the query cannot go on now ({outage}); try again later"
