"""What happened to a topic: its commits, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Row

from pubsub_delta.clock import from_micros
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.tables.history import mark_of
from pubsub_delta.tables.store import Tables

PUBLISH = "publish"
"""The operation of a commit that carries a publish's mark."""

_COUNTS = ("numOutputRows", "numDeletedRows")
"""Delta's metrics that count messages: of a publish, and of a delete."""


@dataclass(frozen=True)
class TopicCommit:
    """A commit of a topic.

    ``operation`` is ``publish``, or Delta's own word in small letters: ``create table``,
    ``delete``, ``optimize``, ``vacuum start``. ``time`` is the publish time of a publish, by the
    store's clock, and of anything else when Delta committed it. ``message_count`` is how many
    messages were published or deleted, None where Delta does not tell. ``idempotency_id`` is that
    of a publish that had one.
    """

    version: int
    time: datetime
    operation: str
    message_count: int | None
    publish_id: str | None = None
    idempotency_id: tuple[str, int] | None = None


def topic_history(tables: Tables, name: ResourceName, limit: int | None) -> list[TopicCommit]:
    """Return the last commits of a topic, newest first; None means all that are still known."""
    if limit is not None and (type(limit) is not int or not 0 < limit < 2**31):
        raise InvalidArgument(
            f"limit: {limit!r} is not one; a number from 1 to 2,147,483,647, or None is accepted"
        )
    history = tables.messages(tables.topic(name).uid).history
    return [_told(row) for row in history.told(limit)]


def _told(row: Row) -> TopicCommit:
    mark = mark_of(row["userMetadata"])
    stamp, publish_id = mark.get("publish_time"), mark.get("publish_id")
    published = isinstance(stamp, int)
    return TopicCommit(
        version=row["version"],
        time=from_micros(stamp if isinstance(stamp, int) else row["micros"]),
        operation=PUBLISH if published else row["operation"].lower(),
        message_count=_count(row["operationMetrics"] or {}),
        publish_id=publish_id if isinstance(publish_id, str) else None,
        idempotency_id=idempotency_id_of(publish_id) if isinstance(publish_id, str) else None,
    )


def idempotency_id_of(publish_id: str) -> tuple[str, int] | None:
    """Return the idempotency id that a publish id was made from, None where it is a random one.

    >>> idempotency_id_of("flights-2013:7"), idempotency_id_of("5a3f1bd0")
    (('flights-2013', 7), None)
    """
    application, colon, version = publish_id.rpartition(":")
    return (application, int(version)) if colon and version.isdecimal() else None


def _count(metrics: dict[str, str]) -> int | None:
    return next((int(metrics[name]) for name in _COUNTS if name in metrics), None)
