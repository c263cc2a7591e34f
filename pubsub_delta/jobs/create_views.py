"""Create or update views of topics and backlogs for SQL: the job for a scheduler.

    spark-submit --properties-file conf/spark-defaults.conf pubsub_delta/jobs/create_views.py \
        --root main.pubsub --schema main.bi

The view of a backlog shows it as of the job's run. A view that cannot be created is reported, and
the other views are created; the exit code is then 1.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from pubsub_delta import PubSub, local_session
from pubsub_delta.jobs import terminal

REFUSED_SOME = 1


@click.command()
@terminal.store_options
@click.option(
    "--schema",
    type=terminal.text,
    help="The schema of the catalog for the views. Default: that of a store in a catalog.",
)
@click.option("--prefix", default="", help="The beginning of the names of all views.")
def create_views(
    root: str, project: str, summary: Path | None, schema: str | None, prefix: str
) -> None:
    """Create a view of each topic, and of each subscription's backlog, in the catalog."""

    def job() -> int:
        store = PubSub(local_session(app_name="create views"), root, project=project)
        report = store.create_views(
            schema, temporary=False if schema is None else None, prefix=prefix
        )
        for line in report.lines():
            terminal.console.print(line, soft_wrap=True)
        terminal.console.print(
            f"create_views: {len(report.views)} views, {len(report.created)} created, "
            f"{len(report.replaced)} replaced, {len(report.dropped)} dropped, "
            f"{len(report.refused)} refused",
            soft_wrap=True,
        )
        terminal.write_summary(summary, asdict(report))
        return REFUSED_SOME if report.refused else 0

    terminal.run(job)


if __name__ == "__main__":
    create_views()
