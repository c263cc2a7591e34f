"""Reads and writes the registry: topics, subscriptions, snapshots, and ``schemas``.

A subscription or snapshot refers to its topic by uid. The row of a deleted topic stays, with its
``delete_time``, until its last message is deleted. So deleting a topic is one commit, a new topic
of the same name is another topic, and ``maintain`` finds the messages to delete. An expired
snapshot is not visible, and its name is free. Nor is a subscription visible that a job deletes
since it has expired (``expirations``); its name is taken.

A snapshot is announced before its table is created, and lapses before the table is dropped. So a
process that crashes in between leaves a row by which ``maintain`` finds the table::

    announce ──> capture ──> finish ──> ... ──> lapse ──> drop ──> no row

An announced snapshot is not visible. It reserves its name, and retains all messages of its topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.ack_state import AckState, Captured
from pubsub_delta.resources import Snapshot, Subscription, Topic
from pubsub_delta.tables.ack_state.snapshots import SnapshotTables
from pubsub_delta.tables.lanes.protocol import Lane
from pubsub_delta.tables.layout import Layout
from pubsub_delta.tables.registry.expirations import Expirations, is_in_use
from pubsub_delta.tables.registry.iam_policies import IamPolicies
from pubsub_delta.tables.registry.predicates import (
    ABANDONED_AFTER,
    TAKEN,
    TAKEN_SNAPSHOT,
    TAKEN_TOPIC,
    Fields,
    columns_of_changes,
    gives_way_at,
    is_announced,
    is_live,
    is_living,
    may_be_removed,
    precondition,
    with_prefix,
    with_retention,
    with_stored_topic,
)
from pubsub_delta.tables.registry.resource_table import Check, ResourceTable, Row
from pubsub_delta.tables.registry.rows import (
    columns_of,
    columns_of_fields,
    snapshot_of,
    subscription_of,
    topic_of,
)
from pubsub_delta.tables.registry.schemas import SchemaRows, StoredSchema
from pubsub_delta.tables.schemas import SNAPSHOTS, SUBSCRIPTIONS, TOPICS

Kind: TypeAlias = Literal["topics", "subscriptions", "snapshots", "schemas"]

EVERY_MESSAGE = Captured((), after_version=-1)
"""The capture of an announced snapshot, which can have any message."""


class Registry:
    """Reads and writes the rows of topics, subscriptions and snapshots.

    ``if_unchanged``: a resource as the caller read it; Aborted if it has changed since.

    Args:
        lane: reads and writes the tables.
        layout: the locations of the tables.
        new_id: makes unique ids.
        snapshot_tables: the tables of snapshots.
    """

    def __init__(
        self, lane: Lane, layout: Layout, new_id: Callable[[], str], snapshot_tables: SnapshotTables
    ) -> None:
        self._snapshot_tables = snapshot_tables
        names = layout.topics, layout.subscriptions, layout.snapshots, layout.schemas
        self._topics, self._subscriptions, self._snapshots = (
            ResourceTable(lane, names[n], schema, new_id, self._create, names[n + 1 :])
            for n, schema in enumerate((TOPICS, SUBSCRIPTIONS, SNAPSHOTS))
        )
        self.schemas = SchemaRows(lane, layout.schemas, new_id, self._create, self._has_schemas)
        self.iam_policies = IamPolicies(self._topics, self._subscriptions, self._snapshots)
        self.expirations = Expirations(self._subscriptions)

    # Topics

    def topic(self, name: str) -> Topic | None:
        """Return the topic of that full name, or None."""
        return self._first_topic(lambda row: row["name"] == name)

    def topic_of_uid(self, uid: str) -> Topic | None:
        """Return the topic of that uid, or None if it was deleted."""
        return self._first_topic(lambda row: row["uid"] == uid)

    def _first_topic(self, wanted: Check) -> Topic | None:
        found = (row for row in self._topics.rows() if wanted(row) and is_living(row))
        return next(map(self._topic_of, found), None)

    def _topic_of(self, row: Row) -> Topic:
        return self.schemas.with_stored_schema(topic_of(row), row["schema_uid"])

    def topics(self, prefix: str) -> list[Topic]:
        """Return the topics whose full names begin with a prefix."""
        rows = with_prefix(prefix, self._topics.rows())
        return [self._topic_of(row) for row in rows if is_living(row)]

    def schema_of(self, topic: Topic) -> tuple[Topic, StoredSchema | None]:
        """Return a topic as it is stored, and its schema; None without an existing schema."""
        row = self._topics.row(topic.uid)
        if row is None or row["schema_uid"] is None:
            return replace(topic, schema_settings=None), None
        return topic_of(row), self.schemas.of_uid(row["schema_uid"])

    def deleted_topics(self) -> list[tuple[Topic, datetime]]:
        """Return the deleted topics that still have messages, with the time of deletion."""
        rows = self._topics.rows()
        return [(topic_of(row), row["delete_time"]) for row in rows if not is_living(row)]

    def add_topic(self, topic: Topic, schema_uid: str | None = None) -> bool:
        """Add a topic unless its name is taken; return whether it was added."""
        return self._topics.add({**columns_of(topic), "schema_uid": schema_uid}, TAKEN_TOPIC)

    def change_topic(
        self, uid: str, fields: Fields[Topic], if_unchanged: Topic | None = None
    ) -> bool:
        """Change fields of a topic; return whether it was still there."""
        check = precondition(self._topic_of, is_living, if_unchanged)
        return self._topics.change(uid, columns_of_changes(topic_of, fields), check)

    def remove_topic(
        self, uid: str, now: datetime, check: Callable[[], None] = lambda: None
    ) -> bool:
        """Set the ``delete_time`` of a topic; return whether it still existed.

        ``check`` can raise an error that refuses it, and can be called again.
        """

        def may_go(row: Row) -> bool:
            if not is_living(row):
                return False
            check()
            return True

        return self._topics.change(uid, {"delete_time": now}, may_go)

    def forget_topic(self, uid: str) -> bool:
        """Delete the row of a deleted topic without messages."""
        return self._topics.remove(uid)

    # Subscriptions

    def subscription(self, name: str) -> Subscription | None:
        """Return the subscription of that full name, or None."""
        named = [row for row in self._in_use() if row["name"] == name]
        return next(iter(self._with_topics(named)), None)

    def subscriptions(self, prefix: str) -> list[Subscription]:
        """Return the subscriptions whose full names begin with a prefix."""
        return self._with_topics(with_prefix(prefix, self._in_use()))

    def source(self, name: str) -> tuple[Subscription, str] | None:
        """Return a subscription and the uid of its topic, also of a deleted topic.

        The messages of a deleted topic stay for its subscriptions. So this reads one table only.
        """
        found = (row for row in self._in_use() if row["name"] == name)
        return next(map(_source_of, found), None)

    def subscriptions_of(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions of a topic."""
        return [subscription_of(r) for r in self._in_use() if r["topic_uid"] == topic.uid]

    def dead_lettering_to(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions that have a topic as their dead-letter topic, or had it."""
        rows = self._subscriptions.rows()
        return [subscription_of(row) for row in rows if row["dead_letter_topic"] == topic.name]

    def sources(self) -> list[tuple[Subscription, str]]:
        """Return every subscription with the uid of its topic."""
        return list(map(_source_of, self._in_use()))

    def holders(self, topic_uid: str) -> list[tuple[Subscription, str]]:
        """Return who keeps messages of a topic: its subscriptions, and those that expire now."""
        rows = self._subscriptions.rows()
        return [_source_of(row) for row in rows if row["topic_uid"] == topic_uid]

    def subscriptions_to(self, where: Literal["push_endpoint", "table_name"]) -> list[Subscription]:
        """Return the subscriptions that push, or those that are written to tables."""
        return [subscription_of(row) for row in self._in_use() if row[where] is not None]

    def _in_use(self) -> list[Row]:
        return [row for row in self._subscriptions.rows() if is_in_use(row)]

    def add_subscription(self, subscription: Subscription, topic_uid: str) -> bool:
        """Add a subscription unless its name is taken; tell whether it was added."""
        return self._subscriptions.add({**columns_of(subscription), "topic_uid": topic_uid}, TAKEN)

    def change_subscription(
        self, uid: str, fields: Fields[Subscription], if_unchanged: Subscription | None = None
    ) -> bool:
        """Change fields of a subscription; return whether it was still there."""
        check = precondition(subscription_of, lambda _: True, if_unchanged)
        return self._subscriptions.change(uid, columns_of_changes(subscription_of, fields), check)

    def remove_subscription(self, uid: str, if_unchanged: Subscription | None = None) -> bool:
        """Delete a subscription's row; tell whether it was still there."""
        check = precondition(subscription_of, lambda _: True, if_unchanged)
        return self._subscriptions.remove(uid, check)

    # Snapshots

    def snapshot(self, name: str, now: datetime) -> Snapshot | None:
        """Return the snapshot of that full name, or None; not an expired one."""
        found = [row for row in self._live_snapshots(now) if row["name"] == name]
        return next(iter(self._of_topics(found)), None)

    def snapshot_of_uid(self, uid: str) -> Snapshot | None:
        """Return the snapshot of that uid, an expired one too; None if it was deleted."""
        row = self._snapshots.row(uid)
        return None if row is None or row["announced"] is not None else snapshot_of(row)

    def snapshots(self, prefix: str, now: datetime) -> list[Snapshot]:
        """Return the snapshots whose full names begin with a prefix."""
        return self._of_topics(with_prefix(prefix, self._live_snapshots(now)))

    def snapshots_of(self, topic_uid: str, now: datetime) -> list[Snapshot]:
        """Return the snapshots of a topic, which may be deleted."""
        live = self._live_snapshots(now)
        return self._of_topics([row for row in live if row["topic_uid"] == topic_uid])

    def captured(self, name: str, now: datetime) -> tuple[Snapshot, str, Captured] | None:
        """Return a snapshot with the uid of its topic, and its captured messages."""
        for row in self._live_snapshots(now):
            if row["name"] == name:
                held = self._content(row)
                return None if held is None else (snapshot_of(row), row["topic_uid"], held)
        return None

    def captured_of(self, topic_uid: str, now: datetime | None = None) -> list[Captured]:
        """Return what a topic's snapshots captured, and EVERY_MESSAGE for announced ones.

        An expired one counts until it has lapsed: by another clock it lives, and may be given more
        time. ``now``: only what lives then counts.
        """
        rows = [row for row in self._snapshots.rows() if row["topic_uid"] == topic_uid]
        kept = [r for r in rows if r["announced"] is None and (now is None or is_live(r, now))]
        held = [content for row in kept if (content := self._content(row)) is not None]
        return held + [EVERY_MESSAGE for row in rows if is_announced(row)]

    def expired_snapshots(self, now: datetime) -> list[Snapshot]:
        """Return the snapshots that have expired."""
        rows = [row for row in self._snapshots.rows() if row["announced"] is None]
        return [snapshot_of(row) for row in rows if row["expire_time"] <= now]

    def abandoned_snapshots(self, now: datetime) -> list[Snapshot]:
        """Return the snapshots whose creation or removal was begun an hour ago and not finished."""
        rows = [row for row in self._snapshots.rows() if row["announced"] is not None]
        return [snapshot_of(row) for row in rows if row["announced"] <= now - ABANDONED_AFTER]

    def announce_snapshot(self, snapshot: Snapshot, topic_uid: str, filter_: str) -> bool:
        """Announce a snapshot unless its name is taken; return whether it was announced.

        An expired one of that name lapses first: by another clock it lives, and may be given more
        time. So does one that was announced ten minutes ago and is not finished. ``filter_``: that
        of the subscription whose ack state will be captured.
        """
        now, gives_way = snapshot.create_time, partial(gives_way_at, snapshot.create_time)
        lasting = replace(snapshot, expire_time=now + ABANDONED_AFTER)
        of_source = {"topic_uid": topic_uid, "filter": filter_, "announced": now}
        for each in self._snapshots.rows():
            if each["name"] == snapshot.name and gives_way(each):
                self._hide(each["uid"], gives_way)
        return self._snapshots.add({**columns_of(lasting), **of_source}, TAKEN_SNAPSHOT)

    def capture_snapshot(self, uid: str, state: AckState) -> None:
        """Write an ack state as the table of a snapshot."""
        self._snapshot_tables.create(uid, state)

    def finish_snapshot(self, uid: str, expire_time: datetime) -> bool:
        """Make an announced snapshot visible; return whether it had not lapsed."""
        columns = {"announced": None, "expire_time": expire_time}
        return self._snapshots.change_added(uid, columns, is_announced)

    def change_snapshot(
        self, uid: str, fields: Mapping[str, Any], if_unchanged: Snapshot | None = None
    ) -> bool:
        """Change fields of a snapshot; return whether it was still there."""
        check = precondition(snapshot_of, lambda row: row["announced"] is None, if_unchanged)
        return self._snapshots.change(uid, columns_of_fields(fields), check)

    def hide_snapshot(self, uid: str, if_unchanged: Snapshot | None = None) -> bool:
        """Make a snapshot invisible for good; return whether it was visible."""
        check = precondition(snapshot_of, lambda row: row["announced"] is None, if_unchanged)
        return self._hide(uid, check)

    def remove_expired_snapshot(self, uid: str, now: datetime) -> bool:
        """Delete a snapshot that has expired or was not finished; tell whether it is gone."""
        self.remove_snapshot(uid, lambda row: may_be_removed(row, now))
        return self._snapshots.row(uid) is None

    def remove_snapshot(self, uid: str, check: Check = lambda _: True) -> bool:
        """Delete a snapshot that passes a check, and its table; return whether it existed."""
        is_there = False

        def is_to_go(row: Row) -> bool:
            nonlocal is_there
            is_there = row["announced"] is None or is_announced(row)
            return is_there and check(row)

        if not self._hide(uid, is_to_go) and is_there:
            return False
        self.remove_hidden_snapshot(uid)  # also one that lapsed before a process crashed
        return is_there

    def remove_hidden_snapshot(self, uid: str) -> None:
        """Delete the table of a snapshot that is invisible for good, and its row."""
        self._snapshot_tables.drop(uid)
        self._snapshots.remove(uid)

    def snapshots_version(self) -> int | None:
        """Return the version of the table of snapshots, None while there is none."""
        return self._snapshots.version()

    def _hide(self, uid: str, check: Check) -> bool:
        """Make a snapshot invisible for good, finished or not; return whether it was changed."""
        row = self._snapshots.row(uid)
        if row is None:
            return False
        begun = row["create_time"]
        return self._snapshots.change(uid, {"announced": begun, "expire_time": begun}, check)

    def _live_snapshots(self, now: datetime) -> list[Row]:
        return [row for row in self._snapshots.rows() if is_live(row, now)]

    def _content(self, row: Row) -> Captured | None:
        """Return the capture of a snapshot; None if it was deleted meanwhile."""
        held = self._snapshot_tables.captured(row["uid"], row["filter"])
        if held is None:
            now = self._snapshots.row(row["uid"])
            if now is not None and now["announced"] is None:
                table = self._snapshot_tables.table(row["uid"])
                raise DataLoss(
                    f"{row['name']}: {table}, which holds its messages, is gone: restore it from "
                    "a copy, or delete the snapshot"
                )
        return held

    # All resources

    def is_created(self) -> bool:
        """Return whether a first topic or schema has created the tables."""
        return self._topics.is_created()

    def vacuum(self) -> None:
        """Join small files, and VACUUM unneeded ones."""
        for table in self._tables:
            table.vacuum()

    def check_newest_commit(self, kind: Kind) -> None:
        """Raise DataLoss if the newest commit of a table, which may have a row, is damaged."""
        dict(zip(get_args(Kind), self._tables, strict=True))[kind].version()

    @property
    def _tables(self) -> tuple[ResourceTable | SchemaRows, ...]:
        return self._topics, self._subscriptions, self._snapshots, self.schemas

    def _create(self) -> None:
        for table in self._tables:
            table.create()

    def _has_schemas(self) -> bool:
        return any(row["schema_uid"] is not None for row in self._topics.rows())

    def _of_topics(self, rows: Sequence[Row]) -> list[Snapshot]:
        living = self._living(rows)
        return [with_stored_topic(snapshot_of(row), living.get(row["topic_uid"])) for row in rows]

    def _with_topics(self, rows: Sequence[Row]) -> list[Subscription]:
        living = self._living(rows)
        return [with_retention(subscription_of(row), living.get(row["topic_uid"])) for row in rows]

    def _living(self, rows: Sequence[Row]) -> dict[str, Topic]:
        """Return the topics of subscription or snapshot rows that are not deleted, by uid."""
        uids = {row["topic_uid"] for row in rows}
        found = [row for row in self._topics.rows() if row["uid"] in uids and is_living(row)]
        return {row["uid"]: topic_of(row) for row in found}


def _source_of(row: Row) -> tuple[Subscription, str]:
    return subscription_of(row), row["topic_uid"]
