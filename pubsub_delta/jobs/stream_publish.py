r"""Publish files or a Delta table to a topic as they grow, by a streaming query, for spark-submit.

    spark-submit --properties-file conf/spark-defaults.conf pubsub_delta/jobs/stream_publish.py \
        --root /data/pubsub --topic flights --create-topic --input /data/arriving --format json \
        --schema "carrier STRING, tailnum STRING" --attribute carrier \
        --checkpoint /data/arriving_checkpoint

Every row is published once, even if the job is killed and started again. Each micro-batch is one
commit of the topic, with the query's ID and its number.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
from pyspark.errors import StreamingQueryException

from pubsub_delta import PubSub, PubSubError, local_session
from pubsub_delta.jobs import inputs, outputs, readers, set_aside, sources, terminal

LAST_COMMITS = (20, 1000)
"""The commits of a topic among which that of a micro-batch is looked for: few, and then many."""


@click.command()
@terminal.store_options
@click.option(
    "--input",
    "path",
    required=True,
    type=terminal.text,
    help="A directory of files, or a Delta table.",
)
@inputs.reading_options
@terminal.stream_options
@inputs.message_options
def stream_publish(
    root: str,
    project: str,
    summary: Path | None,
    topic: str,
    create_topic: bool,
    path: str,
    format_: str | None,
    schema: str | None,
    multiline: bool,
    bad_records: str | None,
    checkpoint: str,
    interval: str,
    available_now: bool,
    data: str | None,
    attributes: tuple[str, ...],
    ordering_key: str | None,
) -> None:
    """Publish the rows that arrive in a directory or a Delta table, each exactly once."""
    outcome = terminal.Summary("stream_publish")

    def job() -> int:
        spark = local_session(app_name=f"stream to {topic}")
        store = PubSub(spark, root, project=project)
        source = sources.find(spark, path, format_)
        how = readers.ReadOptions(schema, multiline=multiline)
        found = readers.read_stream(spark, source, how)
        rows = found.checked if bad_records is None else found.good
        inputs.require(rows, [data, ordering_key, *attributes])
        if create_topic:
            inputs.create_unless_there(store, topic)
        trigger = terminal.trigger(interval, available_now=available_now)
        messages = partial(
            inputs.message_columns, data=data, attributes=attributes, ordering_key=ordering_key
        )
        prepare = None
        rows = rows.select(*messages(rows))
        if bad_records is not None:
            rows = found.parsed.rows
            prepare = set_aside.prepare(found, messages, store, topic, bad_records)
        query = store.publish_stream(
            topic, rows, checkpoint_location=checkpoint, trigger=trigger, prepare=prepare
        )
        setting_aside = None
        try:
            if bad_records is not None and found.may_be_bad:
                writer = found.bad.writeStream.format("json").trigger(**trigger)
                own = f"{checkpoint.rstrip('/')}/bad_records"
                with outputs.translating_outages("--bad-records", bad_records):
                    setting_aside = writer.option("checkpointLocation", own).start(bad_records)
            count = MessageCounter(store, topic)
            terminal.follow(query, outcome, count, beside=setting_aside)
            if setting_aside is not None and available_now:
                setting_aside.awaitTermination()
        except StreamingQueryException as error:
            raise found.failure(spark, error) from None
        finally:
            query.stop()
            if setting_aside is not None:
                setting_aside.stop()
        return 0

    terminal.run(job, outcome.finishing(summary))


class MessageCounter:
    """Counts the messages that the micro-batches of a query have published.

    They are told by the topic's history. Spark counts the rows of the input, which may be bad, and
    counts them again each time that it reads them. What cannot be read counts nothing.
    """

    def __init__(self, store: PubSub, topic: str) -> None:
        self._store = store
        self._topic = topic

    def __call__(self, progress: Any) -> int:
        published = (progress["id"], progress["batchId"])
        for most in LAST_COMMITS:
            try:
                commits = self._store.topic_history(self._topic, most)
            except PubSubError:
                return 0
            for each in commits:
                if each.idempotency_id == published:
                    return each.message_count or 0
        return 0


if __name__ == "__main__":
    stream_publish()
