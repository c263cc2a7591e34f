r"""Follow a subscription into a Delta table by a streaming query: the job for spark-submit.

    spark-submit --properties-file conf/spark-defaults.conf pubsub_delta/jobs/stream_consume.py \
        --root /data/pubsub --subscription archive --output /data/archive \
        --checkpoint /data/archive_checkpoint

Every message is in the table once, even if the job is killed and started again. Each micro-batch is
written with the query's ID and its number, and Delta skips a number that it has. Start the job
again with the same checkpoint; a new checkpoint is a new query.
"""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame

from pubsub_delta import PubSub, local_session
from pubsub_delta.jobs import outputs, terminal


@click.command()
@terminal.store_options
@outputs.consuming_options
@terminal.stream_options
@click.option("--batch-size", default=500_000, show_default=True, type=click.IntRange(min=1))
def stream_consume(
    root: str,
    project: str,
    summary: Path | None,
    subscription: str,
    output: str,
    checkpoint: str,
    interval: str,
    available_now: bool,
    query: str | None,
    merge_schema: bool,
    batch_size: int,
) -> None:
    """Follow a subscription into a Delta table, each message exactly once."""
    outcome = terminal.Summary("stream_consume")

    def job() -> int:
        spark = local_session(app_name=f"stream {subscription}")
        outputs.check_query(spark, query)
        store = PubSub(spark, root, project=project)
        query_id: Future[str] = Future()

        def write(messages: DataFrame, batch_id: int) -> None:
            rows = messages.drop("ack_id", "delivery_attempt")
            if query is not None:
                rows = messages.sparkSession.sql(query, messages=messages)
            numbered = {"txnAppId": query_id.result(), "txnVersion": batch_id}
            outputs.append(rows, output, merge_schema=merge_schema, **numbered)

        started = store.subscribe_stream(
            subscription,
            write,
            checkpoint_location=checkpoint,
            trigger=terminal.trigger(interval, available_now=available_now),
            max_messages=batch_size,
        )
        query_id.set_result(started.id)
        terminal.follow(started, outcome, MessageCounter())
        return 0

    terminal.run(job, outcome.finishing(summary))


class MessageCounter:
    """Counts the messages that the query has written between two progress reports.

    The acks of the subscription are those of all its consumers. A report without metrics, as of a
    platform that runs their source elsewhere, counts nothing.
    """

    def __init__(self) -> None:
        self._before = 0

    def __call__(self, progress: Any) -> int:
        metrics = progress["observedMetrics"]["pubsub_delta"]
        processed: int | None = metrics["processed_message_count"]
        if processed is None:
            return 0
        more = processed - self._before
        self._before = processed
        return more


if __name__ == "__main__":
    stream_consume()
