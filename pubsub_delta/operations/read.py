"""Read without leasing: the backlog of a subscription, and the messages of a topic."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from pubsub_delta.clock import read_time
from pubsub_delta.delivery.schemas import typed_reader_of
from pubsub_delta.delivery.sources import source
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.policy.arguments import is_whole
from pubsub_delta.tables.messages.stored import StoredMessages
from pubsub_delta.tables.store import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def backlog(tables: Tables, name: ResourceName, now: datetime) -> DataFrame:
    """Return the unacknowledged messages with their state and delivery attempt.

    A message that waits for an earlier one of its ordering key is ``available``.
    """
    found = source(tables, name)
    spark = tables.lanes.session_for(found.messages.table)
    state = found.catch_up(tables.ack_states.read(found.uid), now)
    counted = found.subscription.dead_letter_policy is not None
    from pubsub_delta.tables.lanes.spark import frames  # this is what needs Spark

    return frames.backlog(spark, found.messages.table, state.unacked(), counted=counted)


def read_topic(
    tables: Tables,
    name: ResourceName,
    as_of: int | datetime | str | None,
    *,
    typed: bool = False,
) -> DataFrame:
    """Return the stored messages of a topic, as of now, of a version or of a time.

    ``typed``: adds the fields of their data as columns, by the present schema.
    """
    topic = tables.topic(name)
    typing = typed_reader_of(tables, topic) if typed else None
    rows = _stored(tables, tables.messages(topic.uid), as_of)
    if typing is None:
        return rows
    from pubsub_delta.tables.lanes.spark import schemas  # this is what needs Spark

    return schemas.typed(rows, typing)


def _stored(
    tables: Tables, messages: StoredMessages, as_of: int | datetime | str | None
) -> DataFrame:
    spark = tables.lanes.session_for(messages.table)
    from pubsub_delta.tables.lanes.spark import frames  # this is what needs Spark

    table = messages.table
    if as_of is None:
        messages.history.version()  # DataLoss if the newest commit is damaged
        return frames.everything(spark, table)
    version, until = version_as_of(messages, as_of)
    return frames.as_of(spark, table, version, until=until)


def version_as_of(
    messages: StoredMessages, as_of: int | datetime | str
) -> tuple[int, datetime | None]:
    """Return the version of ``as_of``, and the last publish time to read."""
    if isinstance(as_of, (datetime, str)):
        time = read_time(as_of, "as_of", until=True)
        return messages.history.version_at(time), time
    return _version(messages, as_of, "as_of"), None


def read_topic_stream(
    tables: Tables,
    name: ResourceName,
    start: int | datetime | str | None,
    clock: Callable[[], datetime],
) -> DataFrame:
    """Return the messages of a topic as a streaming DataFrame, from a version or a time on.

    ``clock``: returns the time of the machine, which VACUUM goes by.
    """
    messages = tables.messages(tables.topic(name).uid)
    spark = tables.lanes.session_for(messages.table)
    from pubsub_delta.tables.lanes.spark import frames  # this is what needs Spark

    table = messages.table
    if start is None:
        return frames.stream(spark, table)
    if isinstance(start, (datetime, str)):
        time = read_time(start, "start")
        first = messages.version_to_stream(time, clock())
        return frames.stream(spark, table, first, since=time)
    return frames.stream(spark, table, _version(messages, start, "start"))


def _version(messages: StoredMessages, given: object, field: str) -> int:
    newest = messages.history.version()
    if is_whole(given) and 0 <= given <= newest:
        return given
    raise InvalidArgument(
        f"{field}: {given!r} is neither a time nor a version; a time, or a version from 0 to "
        f"{newest}, is accepted"
    )
