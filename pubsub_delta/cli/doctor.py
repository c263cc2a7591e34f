"""``pubsub-delta doctor``: finds problems of a store, and advises what to do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict

import click

from pubsub_delta.cli import checks, colors
from pubsub_delta.cli.application import App
from pubsub_delta.cli.checks import Finding
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.terminal import printable
from pubsub_delta.errors import FailedPrecondition, Unavailable
from pubsub_delta.tables.layout import layout_of

SYMBOLS = {"ok": "✓", "warning": "!", "problem": "✗"}


@click.command(
    "doctor", cls=Command, examples=["doctor --root=./pubsub", "doctor --endpoint=localhost:8085"]
)
@click.pass_obj
def doctor(app: App) -> None:
    """Check versions, storage and locks, and that every table of the store can be read.

    The command leases and writes nothing. Each problem is printed with advice, and sets the exit
    code 1; a warning does not.
    """
    found = list(_findings(app))
    if app.settings.format:
        app.show_all([{k: v for k, v in asdict(each).items() if v} for each in found])
    else:
        app.print_styled("".join(map(written, found)))
    if any(each.state == "problem" for each in found):
        raise click.exceptions.Exit(1)


def written(finding: Finding) -> str:
    """Write a finding with a colored symbol, and its advice below."""
    mark = colors.styled(SYMBOLS[finding.state], finding.state)
    line = f"{mark} {printable(finding.check):<14}  {printable(finding.found)}\n"
    return line + (f"    {printable(finding.advice)}\n" if finding.advice else "")


def _findings(app: App) -> Iterator[Finding]:
    settings = app.settings
    yield checks.versions()
    if settings.endpoint is not None:
        yield from _findings_of("server", lambda: app.call(lambda s: list(checks.resources(s))))
        return
    if settings.root is None:
        yield checks.spark(app.environment, needed=False)
        yield Finding(
            "store",
            "problem",
            "none is named",
            "--root or PUBSUB_DELTA_ROOT names one; `pubsub-delta demo` makes one to try",
        )
        return
    layout = layout_of(settings.root)
    yield checks.spark(app.environment, needed=layout.in_catalog and settings.remote is None)
    yield Finding("store", "ok", f"{settings.root}, project {settings.project}")
    if settings.remote is None:  # or else they are another machine's
        yield from _findings_of("storage", lambda: [checks.storage(layout)])
        yield from _findings_of("locks", lambda: [checks.locks(layout)])
    yield from _of_store(app)


def _of_store(app: App) -> Iterator[Finding]:
    now = app.read_time("now")

    def lane() -> list[Finding]:
        return [Finding("lane", "ok", app.call_store(lambda store: store.lane))]

    opened = list(_findings_of("lane", lane))
    yield from opened
    if any(each.state == "problem" for each in opened):
        return
    for name, check in (
        ("topics", checks.topics),
        ("subscriptions", checks.subscriptions),
        ("snapshots", checks.snapshots),
    ):

        def of_kind(check: checks.Check = check) -> list[Finding]:
            return app.call_store(lambda store: list(check(store, now)))

        if not (yield from _findings_of(name, of_kind)):
            return


def _findings_of(name: str, check: Callable[[], list[Finding]]) -> Generator[Finding, None, bool]:
    """Yield the findings of a check, or the finding of its error.

    Returns False if the next checks would fail in the same way, perhaps as slowly: Spark does not
    start, or the storage cannot be reached.
    """
    try:
        yield from check()
    except click.ClickException:
        raise
    except Exception as error:
        yield checks.failed(name, error)
        return not isinstance(error, (FailedPrecondition, Unavailable))
    return True
