"""``pubsub-delta maintain``: runs the maintenance of a store."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import Switch, split_list
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.rest import plain
from pubsub_delta.cli.terminal import printable

DUTIES = ("tables", "dead-letters", "expiration", "retention", "optimize", "vacuum")


def read_duties(_: click.Context, __: click.Parameter, text: str) -> list[str]:
    """Parse a list of duties."""
    duties = [duty.strip() for duty in split_list(text) if duty.strip()]
    unknown = [duty for duty in duties if duty not in DUTIES]
    if unknown or not duties:
        raise click.BadParameter(
            f"{', '.join(unknown) or repr(text)} is not a duty; {', '.join(DUTIES)} are accepted"
        )
    return duties


@click.command(
    "maintain",
    cls=Command,
    examples=[
        "maintain",
        "maintain --dry-run",
        "maintain --duties=retention,vacuum",
        "maintain --duties=retention --log-retention=1d",
    ],
)
@click.option(
    "--duties",
    default="tables,dead-letters,expiration,retention",
    show_default=True,
    callback=read_duties,
    help="The duties to do, separated by commas; optimize and vacuum are accepted, too.",
)
@click.option(
    "--log-retention",
    metavar="DURATION",
    help="Remove older commits from the logs of topics, such as 1d; for topics with many commits.",
)
@click.option("--exact", cls=Switch, help="Delete single messages, not only whole days.")
@click.option("--dry-run", cls=Switch, help="Only report what would be done.")
@click.pass_obj
def maintain(
    app: App,
    duties: list[str],
    log_retention: str | None,
    exact: bool | None,
    dry_run: bool | None,
) -> None:
    """Write to tables, forward dead letters, delete expired resources and messages, tidy up.

    A duty that fails is reported and does not stop the others; the exit code is then 1. Run it
    again then. It can run late, twice, and beside publishers and consumers.
    """
    switches: dict[str, Any] = {duty.replace("-", "_"): duty in duties for duty in DUTIES}
    switches |= {"exact": bool(exact), "dry_run": bool(dry_run)}
    report = app.call_store(lambda store: store.maintain(**switches, log_retention=log_retention))
    if app.global_options.get("format"):
        app.show(plain(asdict(report)))
    else:
        for line in list(report.lines()) or ["nothing to do"]:
            app.print(f"{printable(line)}\n")
    if report.problems:
        raise click.exceptions.Exit(1)
