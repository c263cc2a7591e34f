"""The registry of a store in memory: topics, subscriptions and snapshots, each of them a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.policy.ack_state import Captured
from pubsub_delta.resources import Snapshot, Subscription, Topic
from pubsub_delta.tables.resource_rows import (
    columns_of,
    columns_of_fields,
    snapshot_of,
    subscription_of,
    topic_of,
)
from pubsub_delta.tables.seen import Seen
from pubsub_delta.tables.state_rows import captured_of_row, row_of_captured

Rows = dict[str, dict[str, Any]]


class MemoryRegistry:
    """Rows by uid, asked and changed as ``tables.registry`` is."""

    def __init__(self) -> None:
        self._topics: Rows = {}
        self._subscriptions: Rows = {}
        self._snapshots: Rows = {}
        self._snapshots_version = 0

    def check_newest_commit(self, kind: str) -> None:
        """There are no files here that could be damaged."""

    # Topics

    def topic(self, name: str) -> Topic | None:
        return next((each for each in self.topics("") if each.name == name), None)

    def topic_of_uid(self, uid: str) -> Topic | None:
        return next((each for each in self.topics("") if each.uid == uid), None)

    def topics(self, under: str) -> list[Topic]:
        rows = [row for row in self._topics.values() if row["delete_time"] is None]
        return [topic_of(row) for row in rows if row["name"].startswith(under)]

    def deleted_topics(self) -> list[tuple[Topic, datetime]]:
        rows = [row for row in self._topics.values() if row["delete_time"] is not None]
        return [(topic_of(row), row["delete_time"]) for row in rows]

    def add_topic(self, topic: Topic) -> bool:
        self._topics[topic.uid] = {**columns_of(topic), "delete_time": None}
        return True

    def change_topic(
        self, uid: str, fields: Mapping[str, Any], seen: Seen[Topic] | None = None
    ) -> bool:
        living = self.topic_of_uid(uid) is not None
        return living and _change(self._topics, uid, columns_of_fields(fields), seen)

    def remove_topic(self, uid: str, now: datetime) -> bool:
        return _change(self._topics, uid, {"delete_time": now})

    def forget_topic(self, uid: str) -> bool:
        return self._topics.pop(uid, None) is not None

    # Subscriptions

    def subscription(self, name: str) -> Subscription | None:
        found = self.source(name)
        if found is None:
            return None
        subscription, topic_uid = found
        topic = self.topic_of_uid(topic_uid)
        if topic is None:
            return replace(subscription, topic=DELETED_TOPIC)
        kept = topic.message_retention_duration
        return replace(subscription, topic_message_retention_duration=kept)

    def source(self, name: str) -> tuple[Subscription, str] | None:
        return next((each for each in self.sources() if each[0].name == name), None)

    def sources(self, topic_uid: str | None = None) -> list[tuple[Subscription, str]]:
        rows = self._subscriptions.values()
        wanted = [row for row in rows if topic_uid in (None, row["topic_uid"])]
        return [(subscription_of(row), row["topic_uid"]) for row in wanted]

    def subscriptions_of(self, topic: Topic) -> list[Subscription]:
        return [subscription for subscription, _ in self.sources(topic.uid)]

    def dead_lettering_to(self, topic: Topic) -> list[Subscription]:
        rows = self._subscriptions.values()
        return [subscription_of(row) for row in rows if row["dead_letter_topic"] == topic.name]

    def add_subscription(self, subscription: Subscription, topic_uid: str) -> bool:
        row = {**columns_of(subscription), "topic_uid": topic_uid}
        self._subscriptions[subscription.uid] = row
        return True

    def change_subscription(
        self, uid: str, fields: Mapping[str, Any], seen: Seen[Subscription] | None = None
    ) -> bool:
        return _change(self._subscriptions, uid, columns_of_fields(fields), seen)

    def remove_subscription(self, uid: str) -> bool:
        return self._subscriptions.pop(uid, None) is not None

    # Snapshots

    def snapshot(self, name: str, now: datetime) -> Snapshot | None:
        found = self.captured(name, now)
        return None if found is None else found[0]

    def captured(self, name: str, now: datetime) -> tuple[Snapshot, str, Captured] | None:
        for row in self._snapshots.values():
            if row["name"] == name and now < row["expire_time"]:
                return snapshot_of(row), row["topic_uid"], _captured(row)
        return None

    def captured_of(self, topic_uid: str, now: datetime) -> list[Captured]:
        rows = [row for row in self._snapshots.values() if now < row["expire_time"]]
        return [_captured(row) for row in rows if row["topic_uid"] == topic_uid]

    def expired_snapshots(self, now: datetime) -> list[Snapshot]:
        rows = self._snapshots.values()
        return [snapshot_of(row) for row in rows if row["expire_time"] <= now]

    def add_snapshot(self, snapshot: Snapshot, topic_uid: str, captured: Captured) -> bool:
        self._snapshots_version += 1
        held = {"topic_uid": topic_uid, "captured": row_of_captured(captured)}
        self._snapshots[snapshot.uid] = {**columns_of(snapshot), **held}
        return True

    def change_snapshot(
        self, uid: str, fields: Mapping[str, Any], seen: Seen[Snapshot] | None = None
    ) -> bool:
        self._snapshots_version += 1
        return _change(self._snapshots, uid, fields, seen)

    def remove_snapshot(self, uid: str) -> bool:
        self._snapshots_version += 1
        return self._snapshots.pop(uid, None) is not None

    def snapshots_version(self) -> int:
        return self._snapshots_version


def _change(rows: Rows, uid: str, fields: Mapping[str, Any], seen: Seen[Any] | None = None) -> bool:
    if uid not in rows or (seen is not None and not seen.columns.items() <= rows[uid].items()):
        return False
    rows[uid] = {**rows[uid], **fields}
    return True


def _captured(row: Mapping[str, Any]) -> Captured:
    return captured_of_row(row["captured"], "snapshots")
