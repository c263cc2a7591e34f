"""Predicates on rows of the registry: whether they are visible, and can be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.policy.preconditions import R, check_unchanged
from pubsub_delta.resources import Snapshot, Subscription, Topic
from pubsub_delta.tables.lanes.protocol import Match
from pubsub_delta.tables.registry.resource_table import Check, Row
from pubsub_delta.tables.registry.rows import columns_of_fields

TAKEN: Sequence[Match] = (("name", "=", "name"),)
TAKEN_TOPIC: Sequence[Match] = (*TAKEN, ("delete_time", "is null", None))
TAKEN_SNAPSHOT: Sequence[Match] = (*TAKEN, ("expire_time", ">", "create_time"))
"""The condition of a MERGE for rows with the name of the new one."""

A = TypeVar("A", Subscription, Snapshot)

Fields: TypeAlias = "Mapping[str, Any] | Callable[[R], Mapping[str, Any]]"
"""New values of fields, or a function that returns them for the stored resource."""

NAME_RESERVED_FOR = timedelta(minutes=10)
"""How long an announced snapshot reserves its name; then another snapshot may take it."""
ABANDONED_AFTER = timedelta(hours=1)
"""The longest creation of a snapshot; after it the process counts as dead."""


def columns_of_changes(read: Callable[[Row], R], fields: Fields[R]) -> Row | Callable[[Row], Row]:
    """Return new values of fields as values of columns."""
    if not callable(fields):
        return columns_of_fields(fields)
    return lambda row: columns_of_fields(fields(read(row)))


def precondition(read: Callable[[Row], R], is_there: Check, if_unchanged: R | None) -> Check:
    """Return a check that a row exists, and with ``if_unchanged`` that it is as it was read.

    The check raises Aborted if the row has changed.
    """

    def check(row: Row) -> bool:
        if not is_there(row):
            return False
        if if_unchanged is not None:
            check_unchanged(read(row), if_unchanged)
        return True

    return check


def is_living(row: Row) -> bool:
    """Return whether a topic is not deleted."""
    return row["delete_time"] is None


def is_live(row: Row, now: datetime) -> bool:
    """Return whether a snapshot is finished and has not expired."""
    return row["announced"] is None and bool(row["expire_time"] > now)


def may_be_removed(row: Row, now: datetime) -> bool:
    """Return whether a snapshot has expired, or its creation has taken too long."""
    if row["announced"] is None:
        return bool(row["expire_time"] <= now)
    return bool(row["announced"] <= now - ABANDONED_AFTER)


def gives_way_at(now: datetime, row: Row) -> bool:
    """Tell whether another snapshot may have the name: of one that has expired, or never began."""
    if row["announced"] is None:
        return bool(row["expire_time"] <= now)
    return is_announced(row) and bool(row["announced"] <= now - NAME_RESERVED_FOR)


def is_announced(row: Row) -> bool:
    """Return whether a snapshot is announced: its creation is neither finished nor cancelled."""
    return row["announced"] is not None and bool(row["expire_time"] > row["announced"])


def with_prefix(prefix: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose full names begin with a prefix."""
    return [row for row in rows if row["name"].startswith(prefix)]


def with_stored_topic(resource: A, topic: Topic | None) -> A:
    """Return a resource with ``_deleted-topic_`` if its topic was deleted."""
    return resource if topic is not None else replace(resource, topic=DELETED_TOPIC)


def with_retention(subscription: Subscription, topic: Topic | None) -> Subscription:
    """Return a subscription with what follows from its topic; None: that was deleted."""
    kept = topic.message_retention_duration if topic else None
    found = with_stored_topic(subscription, topic)
    return replace(found, topic_message_retention_duration=kept)
