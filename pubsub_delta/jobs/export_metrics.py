"""Serve the metrics of a store to Prometheus, until it is stopped (Ctrl+C, SIGTERM).

    spark-submit --properties-file conf/spark-defaults.conf pubsub_delta/jobs/export_metrics.py \
        --root /data/pubsub --port 9464 --interval 60s

With --output the job appends the metrics to a Delta table instead, one row for each, with the time
of the measurement. That needs Spark.

A scrape gets the last measurement and does not wait for the store. With --once the job measures
once, prints the metrics in Prometheus' text format, and ends. By plain ``python`` it runs without
Spark, unless the store is in a catalog. Beside a damaged resource the others are measured, and the
error is the last line.
"""

from __future__ import annotations

import signal
import warnings
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import click

from pubsub_delta import DataLoss, InvalidArgument, NotMeasuredWarning, PubSub
from pubsub_delta.jobs import terminal
from pubsub_delta.jobs.unwritten import writing_stdout


@click.command()
@terminal.store_options
@click.option(
    "--port", default=9464, show_default=True, help="The port to listen at; 0 for a free one."
)
@click.option(
    "--address",
    type=terminal.text,
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at; 0.0.0.0 lets other machines scrape.",
)
@click.option(
    "--interval",
    type=terminal.text,
    default="60s",
    show_default=True,
    help="The time between two measurements.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    type=terminal.text,
    help="Export only this resource. Repeatable.",
)
@click.option("--exact", is_flag=True, help="Read messages for sizes, without estimates.")
@click.option("--once", is_flag=True, help="Measure once, print the metrics, and end.")
@click.option(
    "--output",
    type=terminal.text,
    metavar="TABLE",
    help="With --once: add the metrics to this Delta table, a path or a name, instead.",
)
def export_metrics(
    root: str,
    project: str,
    summary: Path | None,
    port: int,
    address: str,
    interval: str,
    names: tuple[str, ...],
    exact: bool,
    once: bool,
    output: str | None,
) -> None:
    """Serve the metrics of a store to Prometheus."""

    def job() -> int:
        if output is not None and not once:
            raise InvalidArgument("--output needs --once")
        store = PubSub(terminal.session_if_needed("export-metrics"), root, project=project)
        if output is not None:
            add_to_table(store, names or None, output, summary, exact=exact)
            return 0
        exporter = store.metrics_exporter(names or None, interval=interval, exact=exact)
        if once:
            try:
                exporter.refresh()
            finally:  # beside a damaged resource the others are measured
                if exporter.measurement.time is not None:
                    with writing_stdout():
                        click.echo(exporter.text(), nl=False)
        else:
            listening = exporter.serve(port, address)
            host = f"[{address}]" if ":" in address else address
            line = f"export-metrics: http://{host}:{listening}/metrics"
            terminal.console.print(line, soft_wrap=True)
            with exporter:
                wait_for_interrupt()
        terminal.write_summary(summary, counts(exporter.measurement))
        return 0

    terminal.run(job)


def add_to_table(
    store: PubSub, names: tuple[str, ...] | None, output: str, summary: Path | None, *, exact: bool
) -> None:
    """Append a row for each metric to a Delta table, in one commit.

    DataLoss if a resource is damaged; the rows of the others are appended before.
    """
    from pubsub_delta.jobs import outputs  # it imports pyspark, which only --output needs

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        metrics = store.metrics_table(names, exact=exact)
    count = metrics.count()
    outputs.append(metrics.coalesce(1), output)
    line = f"export-metrics: {count:,} metrics added to {output}"
    terminal.console.print(line, soft_wrap=True)
    terminal.write_summary(summary, {"job": "export-metrics", "metrics": count})
    for each in told:
        if issubclass(each.category, NotMeasuredWarning):
            raise DataLoss(str(each.message))


def wait_for_interrupt() -> None:
    """Return after SIGINT or SIGTERM."""
    with suppress(ValueError):  # as in terminal.follow
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        Event().wait()


def counts(measurement: Any) -> dict[str, Any]:
    """Return the number of measurements for a summary."""
    return {
        "job": "export-metrics",
        "measurements": measurement.measurements,
        "failures": measurement.failures,
        "metrics": len(measurement.rows),
        "seconds": measurement.seconds,
    }


if __name__ == "__main__":
    export_metrics()
