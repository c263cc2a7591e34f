"""Drain a subscription into a Delta table: the job for spark-submit.

    spark-submit --properties-file conf/spark-defaults.conf pubsub_delta/jobs/consume.py \
        --root /data/pubsub --subscription archive --output /data/archive

Each batch is leased, written in one commit, and acknowledged. Its lease is extended while it is
written. If the job dies in between, its batch is delivered again after the deadline, and may be in
the table twice.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from pyspark.sql import DataFrame

from pubsub_delta import PubSub, PulledBatch, local_session
from pubsub_delta.jobs import leases, outputs, terminal

POLL_SECONDS = 1.0


@click.command()
@terminal.store_options
@outputs.consuming_options
@click.option("--batch-size", default=50_000, show_default=True, type=click.IntRange(min=1))
@click.option("--max-batches", type=click.IntRange(min=1), help="The largest number of batches.")
@click.option(
    "--patience",
    default=60,
    show_default=True,
    type=click.IntRange(min=0),
    help="The seconds to wait for messages that other consumers have leased.",
)
def consume(
    root: str,
    project: str,
    summary: Path | None,
    subscription: str,
    output: str,
    query: str | None,
    merge_schema: bool,
    batch_size: int,
    max_batches: int | None,
    patience: int,
) -> None:
    """Drain a subscription into a Delta table, batch by batch."""
    totals = terminal.Summary("consume", counts={"acked": 0, "acked too late": 0})

    def job() -> int:
        spark = local_session(app_name=f"consume {subscription}")
        store = PubSub(spark, root, project=project)
        outputs.check_query(spark, query)
        name = store.get_subscription(subscription).name  # a topic may have the same id
        backlog = store.metrics(name)["num_undelivered_messages"]
        waiting_since: float | None = None
        left = 0
        with terminal.progress(f"consume {subscription}", total=backlog) as step:
            while max_batches is None or totals.commits < max_batches:
                batch = store.pull(name, batch_size)
                if batch.message_count:
                    waiting_since, left = None, 0
                    with leases.extended(batch, batch.ack_deadline_seconds):
                        rows = transformed(batch, query).coalesce(1)
                        outputs.append(rows, output, merge_schema=merge_schema)
                    totals.add(batch.message_count)
                    outcome = batch.ack()
                    totals.counts["acked"] += len(outcome.success)
                    totals.counts["acked too late"] += len(outcome.expired) + len(outcome.invalid)
                    step(batch.message_count)
                    continue
                left = store.metrics(name)["num_undelivered_messages"]
                waiting_since = waiting_since or time.monotonic()
                if not left or time.monotonic() - waiting_since > patience:
                    break
                time.sleep(POLL_SECONDS)
        if left:
            totals.counts["left, held or waiting"] = left
        return terminal.LEFT_OVER if left else 0

    terminal.run(job, totals.finishing(summary))


def transformed(batch: PulledBatch, query: str | None) -> DataFrame:
    """Return the rows of the query over a batch, or the messages without a query."""
    if query is None:
        return batch.df.drop("ack_id", "delivery_attempt")
    return batch.df.sparkSession.sql(query, messages=batch.df)


if __name__ == "__main__":
    consume()
