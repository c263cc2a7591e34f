"""The history of a topic: its commits, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pubsub_delta.clock import from_micros
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.tables.lanes.protocol import LoggedCommit
from pubsub_delta.tables.messages.commits import metadata_of
from pubsub_delta.tables.store import Tables

PUBLISH = "publish"
"""The operation of a commit that a publish made."""

_COUNTS = ("numOutputRows", "num_added_rows", "numDeletedRows", "num_deleted_rows")
"""The metrics of Spark and of delta-rs that count messages: of a publish, and of a delete."""


@dataclass(frozen=True)
class TopicCommit:
    """A commit of a topic.

    ``operation`` is ``publish``, or Delta's own word in small letters: ``create table``,
    ``delete``, ``optimize``, ``vacuum start``. ``time`` is the publish time of a publish, by the
    store's clock; of another commit it is Delta's commit time. ``message_count`` is the number of
    published or deleted messages, None if Delta does not record it. ``idempotency_id`` is the
    publish's, None without one.
    """

    version: int
    time: datetime
    operation: str
    message_count: int | None
    publish_id: str | None = None
    idempotency_id: tuple[str, int] | None = None


def topic_history(tables: Tables, name: ResourceName, limit: int | None) -> list[TopicCommit]:
    """Return the last commits of a topic, newest first; with ``limit=None`` all in its log."""
    if limit is not None and (type(limit) is not int or not 0 < limit < 2**31):
        raise InvalidArgument(
            f"limit: {limit!r}; a whole number from 1 to 2,147,483,647, or None is accepted"
        )
    history = tables.messages(tables.topic(name).uid).history
    return [_topic_commit(each) for each in history.logged(limit)]


def _topic_commit(logged: LoggedCommit) -> TopicCommit:
    metadata = metadata_of(logged.user_metadata)
    stamp, publish_id = metadata.get("publish_time"), metadata.get("publish_id")
    return TopicCommit(
        version=logged.version,
        time=from_micros(stamp) if isinstance(stamp, int) else logged.time,
        operation=PUBLISH if isinstance(stamp, int) else logged.operation.lower(),
        message_count=metadata.get("message_count", _count(logged.metrics)),
        publish_id=publish_id if isinstance(publish_id, str) else None,
        idempotency_id=idempotency_id_of(publish_id) if isinstance(publish_id, str) else None,
    )


def idempotency_id_of(publish_id: str) -> tuple[str, int] | None:
    """Return the idempotency id that a publish id was made from; None if it is a random one.

    >>> idempotency_id_of("flights-2013:7"), idempotency_id_of("5a3f1bd0")
    (('flights-2013', 7), None)
    """
    application, colon, version = publish_id.rpartition(":")
    return (application, int(version)) if colon and version.isdecimal() else None


def _count(metrics: Mapping[str, Any]) -> int | None:
    return next((int(metrics[name]) for name in _COUNTS if name in metrics), None)
