"""Run the maintenance of a store: the job for a scheduler.

    spark-submit --properties-file conf/spark-defaults.conf pubsub_delta/jobs/maintain.py \
        --root /data/pubsub --duties tables,dead-letters,expiration,retention

It can run late, twice, and at the same time as publishers, consumers and itself. A failure is
reported, and the other duties go on; the exit code is then 1, and the next run tries again. By
plain ``python`` it runs without Spark, unless the store is in a catalog.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import click

from pubsub_delta import MaintenanceReport, PubSub
from pubsub_delta.jobs import maintenance_options, terminal

FAILED = 1


@click.command()
@terminal.store_options
@maintenance_options.shared_options
@click.option(
    "--tables-root",
    type=terminal.text,
    envvar="PUBSUB_DELTA_TABLES_ROOT",
    show_envvar=True,
    help=(
        "The directory or URL of the tables of table subscriptions. Default: tables below the root."
    ),
)
@click.option("--exact", is_flag=True, help="Delete single messages, not only whole days.")
@click.option("--dry-run", is_flag=True, help="Only report what would be done.")
def maintain(
    root: str,
    project: str,
    summary: Path | None,
    duties: dict[str, bool],
    log_retention: str | None,
    tables_root: str | None,
    exact: bool,
    dry_run: bool,
) -> None:
    """Write to tables, forward dead letters, delete expired resources, tidy up and VACUUM."""

    def job() -> int:
        session = terminal.session_if_needed("maintain")
        store = PubSub(session, root, project=project, tables_root=tables_root)
        report = store.maintain(**duties, log_retention=log_retention, exact=exact, dry_run=dry_run)
        names = [name.replace("_", "-") for name, is_on in duties.items() if is_on]
        print_report(report, names)
        terminal.write_summary(summary, asdict(report))
        return FAILED if report.problems else 0

    terminal.run(job)


def print_report(report: MaintenanceReport, duties: Iterable[str]) -> None:
    """Print a line for each change, and one for the totals."""
    for line in report.lines():
        terminal.console.print(line, soft_wrap=True)
    would = "would be " if report.dry_run else ""
    wording = ", ".join(totals(report, would)) or "nothing to do"
    terminal.console.print(f"maintain ({', '.join(duties)}): {wording}", soft_wrap=True)


def totals(report: MaintenanceReport, would: str) -> Iterator[str]:
    """Yield the totals that are not 0."""
    for count, what, done in (
        (sum(report.written.values()), "message", "written to tables"),
        (sum(report.dead_letters.values()), "message", "forwarded"),
        (len(report.expired), "subscription or snapshot", "deleted"),
        (sum(report.discarded.values()), "message", "deleted"),
        (sum(report.optimized.values()), "small file", "replaced"),
        (len(report.vacuumed), "topic", "vacuumed"),
        (sum(report.forgotten.values()), "commit", "forgotten"),
    ):
        if count:
            yield f"{counted(count, what)} {would}{done}"
    if report.problems:
        yield f"{counted(len(report.problems), 'thing')} not done"


def counted(count: int, what: str) -> str:
    """Write a count with its noun.

    >>> counted(1, "message"), counted(2000, "small file")
    ('1 message', '2,000 small files')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


if __name__ == "__main__":
    maintain()
