"""The registry: one row per topic and per subscription.

A subscription knows its topic by uid, and the topic is deleted when no row of that uid is left:
so deleting a topic is one commit, and a new topic of the same name is another topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from dataclasses import fields as dataclass_fields
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pubsub_delta.clock import UTC
from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy, Subscription, Topic
from pubsub_delta.tables.commits import Commits, expected_errors, is_missing
from pubsub_delta.tables.layout import Layout
from pubsub_delta.tables.schemas import SUBSCRIPTIONS, TOPICS


class Registry:
    """Reads and writes the rows of topics and subscriptions."""

    def __init__(self, spark: SparkSession, layout: Layout, commits: Commits) -> None:
        self._spark = spark
        self._layout = layout
        self._commits = commits

    def topic(self, name: str) -> Topic | None:
        """Return the topic of that full name, or None."""
        found = self._read(self._layout.topics, TOPICS.columns, name=name)
        return _topic(found[0]) if found else None

    def topics(self, under: str) -> list[Topic]:
        """Return the topics whose full names begin so."""
        found = self._read(self._layout.topics, TOPICS.columns, under=under)
        return [_topic(row) for row in found]

    def subscription(self, name: str) -> Subscription | None:
        """Return the subscription of that full name, or None."""
        found = self._read(self._layout.subscriptions, SUBSCRIPTIONS.columns, name=name)
        return self._with_topics(found)[0] if found else None

    def subscriptions(self, under: str) -> list[Subscription]:
        """Return the subscriptions whose full names begin so."""
        found = self._read(self._layout.subscriptions, SUBSCRIPTIONS.columns, under=under)
        return self._with_topics(found)

    def source(self, name: str) -> tuple[Subscription, str] | None:
        """Return a subscription and the uid of its topic, without looking whether that is deleted.

        For the data path: a deleted topic's messages are still there for its subscriptions.
        """
        found = self._read(self._layout.subscriptions, SUBSCRIPTIONS.columns, name=name)
        return (_subscription(found[0]), found[0]["topic_uid"]) if found else None

    def subscriptions_of(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions of a topic."""
        return self._subscriptions_where(F.col("topic_uid") == topic.uid)

    def dead_lettering_to(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions whose dead-letter topic a topic is."""
        return self._subscriptions_where(F.col("dead_letter_topic") == topic.name)

    def sources(self) -> list[tuple[Subscription, str]]:
        """Return every subscription with the uid of its topic."""
        frame = self._frame(self._layout.subscriptions)
        rows = [] if frame is None else _rows(frame)
        return [(_subscription(row), row["topic_uid"]) for row in rows]

    def topic_name(self, uid: str) -> str | None:
        """Return the full name of the topic of that uid, or None if it was deleted."""
        frame = self._frame(self._layout.topics)
        rows = [] if frame is None else _rows(frame.where(F.col("uid") == uid).select("name"))
        return rows[0]["name"] if rows else None

    def add_topic(self, topic: Topic) -> bool:
        """Add a topic unless its name is taken; tell whether it was added."""
        return self._add(self._layout.topics, TOPICS.columns, asdict(topic))

    def add_subscription(self, subscription: Subscription, topic_uid: str) -> bool:
        """Add a subscription unless its name is taken; tell whether it was added."""
        fields = {
            each.name: getattr(subscription, each.name) for each in dataclass_fields(subscription)
        }
        row = {**_columns_of(fields), "topic_uid": topic_uid}
        return self._add(self._layout.subscriptions, SUBSCRIPTIONS.columns, row)

    def change_topic(self, uid: str, fields: Mapping[str, Any]) -> bool:
        """Change fields of a topic; tell whether it was still there."""
        return self._change(self._layout.topics, TOPICS.columns, uid, fields)

    def change_subscription(self, uid: str, fields: Mapping[str, Any]) -> bool:
        """Change fields of a subscription; tell whether it was still there."""
        row = _columns_of(fields)
        return self._change(self._layout.subscriptions, SUBSCRIPTIONS.columns, uid, row)

    def remove_topic(self, uid: str) -> bool:
        """Delete a topic's row; tell whether it was still there."""
        return self._commits.delete(self._layout.topics, uid) > 0

    def remove_subscription(self, uid: str) -> bool:
        """Delete a subscription's row; tell whether it was still there."""
        return self._commits.delete(self._layout.subscriptions, uid) > 0

    def _add(self, table: str, columns: StructType, row: Mapping[str, Any]) -> bool:
        names = ", ".join(columns.names)
        clauses = (
            f"ON old.name = new.name WHEN NOT MATCHED THEN "
            f"INSERT ({names}) VALUES ({', '.join(f'new.{name}' for name in columns.names)})"
        )
        rows = _arrow(columns, row)
        try:
            return self._commits.merge(table, rows, clauses) > 0
        except Exception as error:
            if not is_missing(error):
                raise
        self._commits.create_table(self._layout.topics, TOPICS)
        self._commits.create_table(self._layout.subscriptions, SUBSCRIPTIONS)
        return self._commits.merge(table, rows, clauses) > 0

    def _change(self, table: str, columns: StructType, uid: str, fields: Mapping[str, Any]) -> bool:
        changed = StructType([columns["uid"], *(columns[name] for name in fields)])
        assignments = ", ".join(f"old.{name} = new.{name}" for name in fields)
        return (
            self._commits.merge(
                table,
                _arrow(changed, {"uid": uid, **fields}),
                f"ON old.uid = new.uid WHEN MATCHED THEN UPDATE SET {assignments}",
            )
            > 0
        )

    def _read(
        self, table: str, columns: StructType, *, name: str = "", under: str = ""
    ) -> list[dict[str, Any]]:
        frame = self._frame(table)
        if frame is None:
            return []
        wanted = F.col("name") == name if name else F.startswith(F.col("name"), F.lit(under))
        return _rows(frame.where(wanted).select(*columns.names))

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

    def _subscriptions_where(self, wanted: Column) -> list[Subscription]:
        frame = self._frame(self._layout.subscriptions)
        return [] if frame is None else [_subscription(row) for row in _rows(frame.where(wanted))]

    def _with_topics(self, rows: list[dict[str, Any]]) -> list[Subscription]:
        frame = self._frame(self._layout.topics)
        uids = [row["topic_uid"] for row in rows]
        alive = _rows(frame.where(F.col("uid").isin(uids)).select("uid")) if frame else []
        living = {row["uid"] for row in alive}
        return [
            found if row["topic_uid"] in living else replace(found, topic=DELETED_TOPIC)
            for row, found in ((row, _subscription(row)) for row in rows)
        ]


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    return list(frame.toArrow().to_pylist())


def _arrow(columns: StructType, row: Mapping[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([dict(row)], schema=to_arrow_schema(columns, timezone="UTC"))


def _topic(row: Mapping[str, Any]) -> Topic:
    return Topic(
        name=row["name"],
        labels=dict(row["labels"]),
        create_time=row["create_time"].astimezone(UTC),
        uid=row["uid"],
    )


def _subscription(row: Mapping[str, Any]) -> Subscription:
    dead_letters, retry = None, None
    if row["dead_letter_topic"] is not None:
        dead_letters = DeadLetterPolicy(row["dead_letter_topic"], row["max_delivery_attempts"])
    if row["minimum_backoff_micros"] is not None:
        retry = RetryPolicy(
            timedelta(microseconds=row["minimum_backoff_micros"]),
            timedelta(microseconds=row["maximum_backoff_micros"]),
        )
    return Subscription(
        name=row["name"],
        topic=row["topic"],
        ack_deadline_seconds=row["ack_deadline_seconds"],
        message_retention_duration=timedelta(seconds=row["message_retention_seconds"]),
        filter=row["filter"],
        enable_message_ordering=row["enable_message_ordering"],
        enable_exactly_once_delivery=row["enable_exactly_once_delivery"],
        dead_letter_policy=dead_letters,
        retry_policy=retry,
        labels=dict(row["labels"]),
        detached=row["detached"],
        create_time=row["create_time"].astimezone(UTC),
        uid=row["uid"],
    )


def _columns_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a subscription's fields, all or some, as the columns that hold them."""
    row: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "message_retention_duration":
            row["message_retention_seconds"] = value // timedelta(seconds=1)
        elif name == "dead_letter_policy":
            row["dead_letter_topic"] = value and value.dead_letter_topic
            row["max_delivery_attempts"] = value and value.max_delivery_attempts
        elif name == "retry_policy":
            for bound in ("minimum_backoff", "maximum_backoff"):
                row[f"{bound}_micros"] = value and getattr(value, bound) // timedelta(
                    microseconds=1
                )
        else:
            row[name] = value
    return row
