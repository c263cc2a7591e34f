"""The registry: one row per topic, per subscription and per snapshot.

A subscription or snapshot knows its topic by uid. A deleted topic's row stays, marked, until the
last of its messages is gone: so deleting a topic is one commit, a new topic of the same name is
another topic, and the maintenance job knows what is left to clear. An expired snapshot is not seen
any more, and its name is free.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.policy.ack_state import Captured
from pubsub_delta.resources import Snapshot, Subscription, Topic
from pubsub_delta.tables.columns import instant
from pubsub_delta.tables.commits import Commits, expected_errors, is_missing
from pubsub_delta.tables.damage import collected
from pubsub_delta.tables.layout import Layout
from pubsub_delta.tables.remembered import Remembered
from pubsub_delta.tables.removals import Removal, Removals
from pubsub_delta.tables.resource_rows import (
    columns_of,
    columns_of_fields,
    snapshot_of,
    subscription_of,
    topic_of,
)
from pubsub_delta.tables.schemas import PUSH_COLUMNS, SNAPSHOTS, SUBSCRIPTIONS, TOPICS
from pubsub_delta.tables.seen import Seen
from pubsub_delta.tables.state_rows import captured_of_row, row_of_captured

A = TypeVar("A", Subscription, Snapshot)

_SNAPSHOT_FIELDS = [name for name in SNAPSHOTS.columns.names if name != "captured"]


class Registry:
    """Reads and writes the rows of topics, subscriptions and snapshots."""

    def __init__(
        self, spark: SparkSession, layout: Layout, commits: Commits, remembered: Remembered
    ) -> None:
        self._spark = spark
        self._layout = layout
        self._commits = commits
        self._remembered = remembered
        self._removed_topics = Removals(commits, layout.topics, self._living, self._mark)
        self._removed_subscriptions = self._removals(layout.subscriptions)
        self._removed_snapshots = self._removals(layout.snapshots)

    # Topics

    def topic(self, name: str) -> Topic | None:
        """Return the topic of that full name, or None."""
        return self._topic("name", name)

    def topic_of_uid(self, uid: str) -> Topic | None:
        """Return the topic of that uid, or None if it was deleted."""
        return self._topic("uid", uid)

    def _topic(self, column: str, value: str) -> Topic | None:
        def read() -> Topic | None:
            return next(iter(self._topics_where(F.col(column) == value)), None)

        return self._remembered.recall(self._layout.topics, (column, value), read)

    def topics(self, under: str) -> list[Topic]:
        """Return the topics whose full names begin so."""
        return self._topics_where(_begins(under))

    def deleted_topics(self) -> list[tuple[Topic, datetime]]:
        """Return the deleted topics whose messages are not all cleared, and since when."""
        rows = self._rows(self._layout.topics, F.col("delete_time").isNotNull())
        return [(topic_of(row), row["delete_time"]) for row in rows]

    def add_topic(self, topic: Topic) -> bool:
        """Add a topic unless its name is taken; tell whether it was added."""
        return self._add(self._layout.topics, TOPICS.columns, columns_of(topic), _TAKEN_TOPIC)

    def change_topic(
        self, uid: str, fields: Mapping[str, Any], seen: Seen[Topic] | None = None
    ) -> bool:
        """Change fields of a topic; tell whether it was still there, and as it was seen."""
        row = columns_of_fields(fields)
        return self._change(self._layout.topics, TOPICS.columns, uid, row, seen, _NOT_DELETED)

    def remove_topic(self, uid: str, now: datetime) -> bool:
        """Mark a topic as deleted; tell whether it was still there."""
        return self._removed_topics.remove(uid, now)

    def _mark(self, deleted: list[Removal]) -> int:
        columns = StructType([TOPICS.columns[name] for name in ("uid", "delete_time")])
        rows = _arrow(columns, *({"uid": each.uid, "delete_time": each.time} for each in deleted))
        return self._commits.merge(self._layout.topics, rows, _MARK_DELETED)

    def forget_topic(self, uid: str) -> bool:
        """Delete the row of a deleted topic whose messages are all cleared."""
        return self._commits.delete(self._layout.topics, [uid]) > 0

    # Subscriptions

    def subscription(self, name: str) -> Subscription | None:
        """Return the subscription of that full name, or None."""
        found = self._rows(self._layout.subscriptions, F.col("name") == name)
        return next(iter(self._with_topics(found)), None)

    def subscriptions(self, under: str) -> list[Subscription]:
        """Return the subscriptions whose full names begin so."""
        return self._with_topics(self._rows(self._layout.subscriptions, _begins(under)))

    def source(self, name: str) -> tuple[Subscription, str] | None:
        """Return a subscription and the uid of its topic, without looking whether that is deleted.

        For the data path: a deleted topic's messages are still there for its subscriptions.
        """

        def read() -> tuple[Subscription, str] | None:
            found = self._rows(self._layout.subscriptions, F.col("name") == name)
            return (subscription_of(found[0]), found[0]["topic_uid"]) if found else None

        return self._remembered.recall(self._layout.subscriptions, ("source", name), read)

    def subscriptions_of(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions of a topic."""
        return [subscription for subscription, _ in self.sources(topic.uid)]

    def dead_lettering_to(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions whose dead-letter topic a topic is.

        Where no subscription was changed, what was read before, for all topics at once.
        """

        def read() -> list[Subscription]:
            found = self._rows(self._layout.subscriptions, F.col("dead_letter_topic").isNotNull())
            return [subscription_of(row) for row in found]

        every = self._remembered.recall(self._layout.subscriptions, "dead lettering", read)
        policies = ((each, each.dead_letter_policy) for each in every)
        return [
            each for each, policy in policies if policy and policy.dead_letter_topic == topic.name
        ]

    def sources(self, topic_uid: str | None = None) -> list[tuple[Subscription, str]]:
        """Return every subscription, or those of a topic, with the uid of its topic."""
        wanted = F.lit(True) if topic_uid is None else F.col("topic_uid") == topic_uid
        found = self._rows(self._layout.subscriptions, wanted)
        return [(subscription_of(row), row["topic_uid"]) for row in found]

    def push_subscriptions(self) -> list[Subscription]:
        """Return the subscriptions that push; where nothing was changed, what was read before."""

        def read() -> list[Subscription]:
            if not self._has_push_columns():
                return []
            found = self._rows(self._layout.subscriptions, F.col("push_endpoint").isNotNull())
            return [subscription_of(row) for row in found]

        return self._remembered.recall(self._layout.subscriptions, "push", read)

    def add_subscription(self, subscription: Subscription, topic_uid: str) -> bool:
        """Add a subscription unless its name is taken; tell whether it was added."""
        row = {**columns_of(subscription), "topic_uid": topic_uid}
        if row["push_endpoint"] is None:
            row = _without_push(row)
        else:
            self._add_push_columns()
        columns = StructType([each for each in SUBSCRIPTIONS.columns if each.name in row])
        return self._add(self._layout.subscriptions, columns, row, _TAKEN)

    def change_subscription(
        self, uid: str, fields: Mapping[str, Any], seen: Seen[Subscription] | None = None
    ) -> bool:
        """Change fields of a subscription; tell whether it was still there, and as it was seen."""
        row = columns_of_fields(fields)
        if row.get("push_endpoint") is not None:
            self._add_push_columns()
        elif "push_endpoint" in row and not self._has_push_columns():
            row = _without_push(row)
        return self._change(self._layout.subscriptions, SUBSCRIPTIONS.columns, uid, row, seen)

    def remove_subscription(self, uid: str) -> bool:
        """Delete a subscription's row; tell whether it was still there."""
        return self._removed_subscriptions.remove(uid)

    # Snapshots

    def snapshot(self, name: str, now: datetime) -> Snapshot | None:
        """Return the snapshot of that full name, or None; an expired one is no more."""
        return next(iter(self._snapshots_where(F.col("name") == name, now)), None)

    def snapshots(self, under: str, now: datetime) -> list[Snapshot]:
        """Return the snapshots whose full names begin so."""
        return self._snapshots_where(_begins(under), now)

    def snapshots_of(self, topic: Topic, now: datetime) -> list[Snapshot]:
        """Return the snapshots of a topic."""
        return self._snapshots_where(F.col("topic_uid") == topic.uid, now)

    def captured(self, name: str, now: datetime) -> tuple[Snapshot, str, Captured] | None:
        """Return a snapshot with the uid of its topic, and what it holds."""
        found = self._rows(self._layout.snapshots, (F.col("name") == name) & _unexpired(now))
        return self._with_content(found[0]) if found else None

    def captured_of(self, topic_uid: str, now: datetime) -> list[Captured]:
        """Return what the live snapshots of a topic hold."""
        wanted = (F.col("topic_uid") == topic_uid) & _unexpired(now)
        found = self._rows(self._layout.snapshots, wanted)
        return [self._with_content(row)[2] for row in found]

    def expired_snapshots(self, now: datetime) -> list[Snapshot]:
        """Return the snapshots whose time has come."""
        found = self._rows(self._layout.snapshots, ~_unexpired(now), _SNAPSHOT_FIELDS)
        return [snapshot_of(row) for row in found]

    def add_snapshot(self, snapshot: Snapshot, topic_uid: str, captured: Captured) -> bool:
        """Add a snapshot and what it holds unless its name is taken; tell whether it was added."""
        held = {"topic_uid": topic_uid, "captured": row_of_captured(captured)}
        row = {**columns_of(snapshot), **held}
        return self._add(self._layout.snapshots, SNAPSHOTS.columns, row, _TAKEN_SNAPSHOT)

    def change_snapshot(
        self, uid: str, fields: Mapping[str, Any], seen: Seen[Snapshot] | None = None
    ) -> bool:
        """Change fields of a snapshot; tell whether it was still there, and as it was seen."""
        return self._change(self._layout.snapshots, SNAPSHOTS.columns, uid, fields, seen)

    def remove_snapshot(self, uid: str) -> bool:
        """Delete a snapshot with what it holds; tell whether it was still there."""
        return self._removed_snapshots.remove(uid)

    def snapshots_version(self) -> int | None:
        """Return the version of the table of snapshots, None while there is none."""
        if self._frame(self._layout.snapshots) is None:
            return None
        return self._commits.version(self._layout.snapshots)

    # All of them

    def vacuum(self) -> None:
        """Remove the files that are not needed any more."""
        for table in self._tables:
            if self._frame(table) is not None:
                self._commits.vacuum(table)

    @property
    def _tables(self) -> list[str]:
        return [self._layout.topics, self._layout.subscriptions, self._layout.snapshots]

    def check_newest_commit(self, kind: Literal["topics", "subscriptions", "snapshots"]) -> None:
        """Raise DataLoss if the file of a table's newest commit was emptied.

        Delta takes such a commit for one that did nothing: what is not found may have been in it.
        """
        table: str = getattr(self._layout, kind)
        if self._frame(table) is not None:
            self._commits.version(table)

    def _removals(self, table: str) -> Removals:
        def there(uids: list[str]) -> Collection[str]:
            return [row["uid"] for row in self._rows(table, F.col("uid").isin(uids), ["uid"])]

        return Removals(self._commits, table, there)

    def _has_push_columns(self) -> bool:
        frame = self._frame(self._layout.subscriptions)
        return frame is not None and set(PUSH_COLUMNS) <= set(frame.columns)

    def _add_push_columns(self) -> None:
        """Add the columns for push to a table that was created without them."""
        if self._frame(self._layout.subscriptions) is not None and not self._has_push_columns():
            columns = StructType([SUBSCRIPTIONS.columns[name] for name in PUSH_COLUMNS])
            self._commits.add_columns(self._layout.subscriptions, columns)

    def _add(self, table: str, columns: StructType, row: Mapping[str, Any], taken: str) -> bool:
        names = ", ".join(columns.names)
        clauses = (
            f"ON {taken} WHEN NOT MATCHED THEN "
            f"INSERT ({names}) VALUES ({', '.join(f'new.{name}' for name in columns.names)})"
        )
        rows = _arrow(columns, row)
        try:
            return self._commits.merge(table, rows, clauses) > 0
        except Exception as error:
            if not is_missing(error):
                raise
        for each, schema in zip(self._tables, (TOPICS, SUBSCRIPTIONS, SNAPSHOTS), strict=True):
            self._commits.create_table(each, schema)
        return self._commits.merge(table, rows, clauses) > 0

    def _change(
        self,
        table: str,
        columns: StructType,
        uid: str,
        fields: Mapping[str, Any],
        seen: Seen[Any] | None = None,
        also: str = "",
    ) -> bool:
        row, schema = {"uid": uid, **fields}, [columns[name] for name in ("uid", *fields)]
        condition = ""
        if seen is not None:
            row, schema = {**row, **seen.row}, schema + seen.schema(columns)
            condition = f" AND {seen.condition(columns, self._spark.table(table).columns)}"
        assignments = ", ".join(f"old.{name} = new.{name}" for name in fields)
        changed = self._commits.merge(
            table,
            _arrow(StructType(schema), row),
            f"ON old.uid = new.uid{also} WHEN MATCHED{condition} THEN UPDATE SET {assignments}",
        )
        return changed > 0 or (seen is not None and self._commits.has_merged(table, seen.mark))

    def _rows(
        self, table: str, wanted: Column, columns: list[str] | None = None
    ) -> list[dict[str, Any]]:
        frame = self._frame(table)
        if frame is None:
            return []
        chosen = frame.where(wanted)
        return collected(chosen.select(*columns) if columns else chosen, table)

    def _frame(self, table: str) -> DataFrame | None:
        """Return a registry table, or None while the store has never been written to."""
        try:
            with expected_errors():
                frame = self._spark.table(table)
                frame.schema  # noqa: B018  Spark Connect finds a missing table only when asked
        except Exception as error:
            if is_missing(error):
                return None
            raise
        return frame

    def _topics_where(self, wanted: Column) -> list[Topic]:
        rows = self._rows(self._layout.topics, wanted & F.col("delete_time").isNull())
        return [topic_of(row) for row in rows]

    def _snapshots_where(self, wanted: Column, now: datetime) -> list[Snapshot]:
        rows = self._rows(self._layout.snapshots, wanted & _unexpired(now), _SNAPSHOT_FIELDS)
        living = self._living([row["topic_uid"] for row in rows])
        return [_under_topic(snapshot_of(row), living.get(row["topic_uid"])) for row in rows]

    def _with_content(self, row: Mapping[str, Any]) -> tuple[Snapshot, str, Captured]:
        held = captured_of_row(row["captured"], self._layout.snapshots)
        return snapshot_of(row), row["topic_uid"], held

    def _with_topics(self, rows: list[dict[str, Any]]) -> list[Subscription]:
        living = self._living([row["topic_uid"] for row in rows])
        found = []
        for row in rows:
            topic = living.get(row["topic_uid"])
            kept = topic.message_retention_duration if topic else None
            subscription = _under_topic(subscription_of(row), topic)
            found.append(replace(subscription, topic_message_retention_duration=kept))
        return found

    def _living(self, uids: list[str]) -> dict[str, Topic]:
        """Return those of some topics that are not deleted, by uid."""
        if not uids:
            return {}
        return {topic.uid: topic for topic in self._topics_where(F.col("uid").isin(uids))}


_TAKEN = "old.name = new.name"
_NOT_DELETED = " AND old.delete_time IS NULL"
_MARK_DELETED = (
    f"ON old.uid = new.uid{_NOT_DELETED} "
    "WHEN MATCHED THEN UPDATE SET old.delete_time = new.delete_time"
)
_TAKEN_TOPIC = f"{_TAKEN}{_NOT_DELETED}"
_TAKEN_SNAPSHOT = f"{_TAKEN} AND old.expire_time > new.create_time"


def _without_push(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in PUSH_COLUMNS}


def _under_topic(resource: A, topic: Topic | None) -> A:
    return resource if topic is not None else replace(resource, topic=DELETED_TOPIC)


def _begins(under: str) -> Column:
    return F.startswith(F.col("name"), F.lit(under))


def _unexpired(now: datetime) -> Column:
    return F.col("expire_time") > instant(now)


def _arrow(columns: StructType, *rows: Mapping[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([*map(dict, rows)], schema=to_arrow_schema(columns, timezone="UTC"))
