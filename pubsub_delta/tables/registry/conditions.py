"""What is asked of a row of the registry before it is seen or changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.policy.unchanged import R, check_unchanged
from pubsub_delta.resources import Snapshot, Subscription, Topic
from pubsub_delta.tables.registry.resource_table import Check, Row
from pubsub_delta.tables.registry.rows import columns_of_fields

TAKEN = "old.name = new.name"
TAKEN_TOPIC = f"{TAKEN} AND old.delete_time IS NULL"
TAKEN_SNAPSHOT = f"{TAKEN} AND old.expire_time > new.create_time"
"""When a name is taken, as a condition of a MERGE."""

A = TypeVar("A", Subscription, Snapshot)

Fields: TypeAlias = "Mapping[str, Any] | Callable[[R], Mapping[str, Any]]"
"""New values of fields, or what tells them by the resource that they are written over."""

ABANDONED_AFTER = timedelta(hours=1)
"""How long a snapshot may take to be taken. Later nobody is at it any more."""


def columns_over(read: Callable[[Row], R], fields: Fields[R]) -> Row | Callable[[Row], Row]:
    """Return new values of fields as those of columns."""
    if not callable(fields):
        return columns_of_fields(fields)
    return lambda row: columns_of_fields(fields(read(row)))


def checking(read: Callable[[Row], R], is_there: Check, if_unchanged: R | None) -> Check:
    """Return a check that a row is there, and that it is as it was read, where that is asked for.

    It raises Aborted where it is not.
    """

    def check(row: Row) -> bool:
        if not is_there(row):
            return False
        if if_unchanged is not None:
            check_unchanged(read(row), if_unchanged)
        return True

    return check


def is_living(row: Row) -> bool:
    """Tell whether a topic is not deleted."""
    return row["delete_time"] is None


def is_live(row: Row, now: datetime) -> bool:
    """Tell whether a snapshot is there, and has not expired."""
    return row["announced"] is None and bool(row["expire_time"] > now)


def has_no_time_left(row: Row, now: datetime) -> bool:
    """Tell whether a snapshot has expired, or its creation was begun long ago and never ended."""
    if row["announced"] is None:
        return bool(row["expire_time"] <= now)
    return bool(row["announced"] <= now - ABANDONED_AFTER)


def is_being_taken(row: Row) -> bool:
    """Tell whether a snapshot was announced, and neither finished nor lapsed."""
    return row["announced"] is not None and bool(row["expire_time"] > row["announced"])


def named_under(under: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose full names begin so."""
    return [row for row in rows if row["name"].startswith(under)]


def under_topic(resource: A, topic: Topic | None) -> A:
    """Return a resource with ``_deleted-topic_`` where its topic was deleted."""
    return resource if topic is not None else replace(resource, topic=DELETED_TOPIC)
