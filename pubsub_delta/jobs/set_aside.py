"""Sets records aside whose messages a topic would refuse, as ``--bad-records`` asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from pyspark.sql import Column, DataFrame

from pubsub_delta import FailedPrecondition, NotFound, PubSub
from pubsub_delta.jobs.outputs import translating_outages
from pubsub_delta.jobs.records import Records


class Messages(Protocol):
    """Returns the columns of messages of rows, as ``inputs.message_columns`` does."""

    def __call__(self, rows: DataFrame, *, whole: Column | None = None) -> list[Column]: ...


def held(found: Records, messages: Messages, store: PubSub, topic: str) -> Records:
    """Return records, of which those are bad, too, that the topic would refuse as messages.

    A topic that is created later has no schema. If its schema was deleted, the publish says so,
    unless it has landed before.
    """
    try:
        return found.held_against(messages, partial(store.check_messages, topic=topic))
    except (FailedPrecondition, NotFound):
        return found.held_against(messages, store.check_messages)


def prepare(
    found: Records, messages: Messages, store: PubSub, topic: str, bad_records: str
) -> Callable[[DataFrame, int], DataFrame]:
    """Return what makes messages of a micro-batch of parsed records, and sets others aside.

    They are added before the micro-batch is published, by the schema that the topic has then. So
    none is lost, and some are there twice if the query ends in between.
    """

    def messages_of(rows: DataFrame, _: int) -> DataFrame:
        batch = Records(rows, found.path, found.form)
        checked = held(batch, messages, store, topic)
        good = batch.good
        if checked.count().bad:
            add_to(bad_records, checked)
            good = checked.good
        return good.select(*messages(good))

    return messages_of


def add_to(path: str, records: Records) -> None:
    """Add the bad ones of records to the JSON files of a directory."""
    with translating_outages("--bad-records", path):
        records.bad.coalesce(1).write.mode("append").json(path)
