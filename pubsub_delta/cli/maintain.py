"""``pubsub-delta maintain``: runs the maintenance of a store."""

from __future__ import annotations

from dataclasses import asdict

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import Switch
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.rest import plain
from pubsub_delta.cli.terminal import printable
from pubsub_delta.jobs.maintenance_options import shared_options


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
@shared_options
@click.option("--exact", cls=Switch, help="Delete to the message, not only whole days.")
@click.option("--dry-run", cls=Switch, help="Only tell what would be done.")
@click.pass_obj
def maintain(
    app: App,
    duties: dict[str, bool],
    log_retention: str | None,
    exact: bool | None,
    dry_run: bool | None,
) -> None:
    """Write to tables, forward dead letters, delete expired resources and messages, tidy up.

    A duty that fails is reported and does not stop the others; the exit code is then 1. Run it
    again then. It can run late, twice, and beside publishers and consumers.
    """
    report = app.call_store(
        lambda store: store.maintain(
            **duties, log_retention=log_retention, exact=bool(exact), dry_run=bool(dry_run)
        )
    )
    if app.settings.format:
        app.show(plain(asdict(report)))
    else:
        for line in list(report.lines()) or ["nothing to do"]:
            app.print(f"{printable(line)}\n")
    if report.problems:
        raise click.exceptions.Exit(1)
