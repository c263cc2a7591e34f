"""``pubsub-delta maintain``: look after a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from pubsub_delta.cli.application import App, one_line
from pubsub_delta.cli.arguments import Switch, split_list
from pubsub_delta.cli.commands import Verb
from pubsub_delta.cli.rest import plain
from pubsub_delta.operations.maintain import MaintenanceReport

DUTIES = ("dead-letters", "expiration", "retention", "optimize", "vacuum")


def read_duties(_: click.Context, __: click.Parameter, text: str) -> list[str]:
    """Read a list of duties, separated by commas."""
    duties = [duty.strip() for duty in split_list(text) if duty.strip()]
    unknown = [duty for duty in duties if duty not in DUTIES]
    if unknown or not duties:
        raise click.BadParameter(
            f"{', '.join(unknown) or repr(text)} is no duty; there are {', '.join(DUTIES)}"
        )
    return duties


@click.command(
    "maintain",
    cls=Verb,
    examples=["maintain", "maintain --dry-run", "maintain --duties=retention,vacuum"],
)
@click.option(
    "--duties",
    default="dead-letters,expiration,retention",
    show_default=True,
    callback=read_duties,
    help="What to do, separated by commas; also optimize and vacuum.",
)
@click.option("--exact", cls=Switch, help="Delete to the message, not only whole days.")
@click.option("--dry-run", cls=Switch, help="Only tell what would be done.")
@click.pass_obj
def maintain(app: App, duties: list[str], exact: bool | None, dry_run: bool | None) -> None:
    """Forward dead letters, delete what is over, tidy up.

    What fails is told and stops nothing else; the exit code is then 1, and running it again is
    right. It may run late, twice, and beside publishers and consumers.
    """
    switches: dict[str, Any] = {duty.replace("-", "_"): duty in duties for duty in DUTIES}
    report = app.call(
        lambda store: store.maintain(**switches, exact=bool(exact), dry_run=bool(dry_run))
    )
    if app.given.get("format"):
        app.show(plain(asdict(report)))
    else:
        for line in told(report):
            click.echo(line)
    if report.problems:
        raise click.exceptions.Exit(1)


def told(report: MaintenanceReport) -> Iterator[str]:
    """Tell each thing that was done, or would be, in one line."""
    would = "would be " if report.dry_run else ""
    for resource, count in report.dead_letters.items():
        yield f"dead-letters: {resource}: {counted(count, 'message')} {would}forwarded"
    for resource in report.expired:
        yield f"expiration: {resource}: {would}deleted"
    for resource, count in report.discarded.items():
        kept = _kept(report.kept_from.get(resource))
        yield f"retention: {resource}: {counted(count, 'message')} {would}deleted; {kept}"
    for resource, count in report.optimized.items():
        if count:
            yield f"optimize: {resource}: {counted(count, 'small file')} replaced"
    for resource in report.vacuumed:
        yield f"vacuum: {resource}: unneeded files removed"
    for resource, why in report.problems.items():
        yield f"not done: {resource}: {one_line(why)}"
    done = (report.dead_letters, report.expired, report.discarded, report.vacuumed)
    if not any((*done, any(report.optimized.values()), report.problems)):
        yield "nothing to do"


def counted(count: int, what: str) -> str:
    """Write a number of things.

    >>> counted(1, "message"), counted(2000, "small file")
    ('1 message', '2,000 small files')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def _kept(time: datetime | None) -> str:
    return "nobody needs any" if time is None else f"needed from {time:%Y-%m-%d %H:%M} UTC on"
