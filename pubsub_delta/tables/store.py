"""All tables of one store, and its resources by name."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

from pubsub_delta.errors import FailedPrecondition, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.resources import Subscription, Topic
from pubsub_delta.tables.ack_state import AckStates, AckStateTables, SnapshotTables
from pubsub_delta.tables.lanes.choice import LaneName, Lanes
from pubsub_delta.tables.layout import Layout, layout_of
from pubsub_delta.tables.messages.commits import CommitCache, History
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.messages.position_allocator import PositionAllocator
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.registry.schemas import StoredSchema
from pubsub_delta.tables.targets import TableLocations, Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CACHED_TOPICS = 1000
"""The most names whose topic is cached; most of them may be deleted by now."""


def new_uid() -> str:
    """Return a unique id: 32 hexadecimal digits."""
    return uuid.uuid4().hex


class Detached(FailedPrecondition):
    """The subscription is detached: whoever consumes it ends."""


def detached(name: str) -> Detached:
    """Return the error for a subscription that is detached."""
    return Detached(
        f"subscription {name} is detached from its topic and has no messages any more; "
        "delete it and create it again"
    )


class Tables:
    """The tables of one store.

    Args:
        spark: a session, a function that starts one when it is needed, or None.
        root: the directory, URL or catalog schema of the tables.
        new_id: makes unique ids.
        lane: the lane to take, instead of the one that fits the storage.
        hadoop: settings of the storage (``fs.s3a.…``), if there is no session that has them.
        tables_root: the directory or URL of the tables of table subscriptions; by default
            ``tables`` below the store's root.
    """

    def __init__(
        self,
        spark: SparkSession | Callable[[], SparkSession] | None,
        root: str,
        new_id: Callable[[], str] = new_uid,
        lane: LaneName | None = None,
        hadoop: Mapping[str, str] | None = None,
        tables_root: str | None = None,
    ) -> None:
        self.new_id = new_id
        layout = layout_of(root)
        self.lanes = Lanes(spark, layout, lane, hadoop)
        self.local_directory = layout.local_directory()
        """The root on the local file system, or None if it is elsewhere."""
        self.table_locations = TableLocations(layout, tables_root)
        self._commits = CommitCache()
        self._topic_uids: dict[str, str] = {}

    @property
    def layout(self) -> Layout:
        """The locations of the tables; in a catalog this starts the session."""
        return self.lanes.layout

    @cached_property
    def registry(self) -> Registry:
        """Topics, subscriptions and snapshots."""
        snapshots = SnapshotTables(self.lanes.control, self.layout)
        return Registry(self.lanes.control, self.layout, self.new_id, snapshots)

    @cached_property
    def ack_state_tables(self) -> AckStateTables:
        """The tables of ack states."""
        return AckStateTables(self.lanes.control, self.layout.ack_state)

    @cached_property
    def ack_states(self) -> AckStates:
        """The ack states, as this process changes them."""
        return AckStates(self.ack_state_tables, self.new_id)

    @cached_property
    def _allocator(self) -> PositionAllocator:
        return PositionAllocator(self.lanes.control, self.new_id)

    @property
    def spark(self) -> SparkSession:
        """The session, which is started if needed; FailedPrecondition if the store has none."""
        return self.lanes.spark

    @property
    def has_spark(self) -> bool:
        """Whether there is a session now; this starts none."""
        return self.lanes.has_spark

    @property
    def lane_line(self) -> str:
        """The lane of the store's tables and why it is taken, in one line."""
        return self.lanes.line

    def messages(self, topic_uid: str) -> Messages:
        """Return the messages of a topic."""
        table = self.layout.messages(topic_uid)
        history = History(self.lanes.control, table, self._commits)
        positions = self.layout.positions(topic_uid)
        return Messages(self.lanes, table, positions, self._allocator, history)

    def target(self, table: str, *, takes_rows: bool = True) -> Target:
        """Open the table of a table subscription; Unwritable if it cannot be written.

        ``takes_rows``: false for one that the subscription had before, of which it is only asked
        what has landed.
        """
        return self.lanes.open_target(self.table_locations.path(table), takes_rows=takes_rows)

    def prefetching(self, name: ResourceName, *tables: str) -> AbstractContextManager[None]:
        """Start reading the logs of a topic's messages and of other tables, all at the same time.

        ``name``: of a topic or a subscription; its messages are left out if its topic is not
        cached. In object storage each log takes a request.
        """
        uid = self._topic_uids.get(str(name))
        messages = () if uid is None else (self.layout.messages(uid),)
        return self.lanes.control.prefetching(*messages, *tables)

    def check_created(self) -> None:
        """Raise NotFound if nobody has created the store, for what is done with all of a store.

        A root that is misspelt, or a disk that is not mounted, is not a store without topics.
        """
        if not self.registry.is_created():
            raise NotFound(
                f"{self.layout.base}: there is no store here; its first topic or schema creates "
                "one, and the root of a store that exists is accepted"
            )

    def topic(self, name: ResourceName) -> Topic:
        """Return a topic, or raise NotFound naming it."""
        found = self.registry.topic(str(name))
        if found is None:
            self.registry.check_newest_commit("topics")
            raise NotFound(f"topic {name} does not exist; create it first")
        self._cache_topic(name, found.uid)
        return found

    def _cache_topic(self, name: ResourceName, uid: str) -> None:
        if len(self._topic_uids) >= _CACHED_TOPICS:
            self._topic_uids.clear()
        self._topic_uids[str(name)] = uid

    def schema(self, name: ResourceName) -> StoredSchema:
        """Return a schema with its revisions, or raise NotFound naming it."""
        found = self.registry.schemas.find(str(name))
        if found is None:
            self.registry.check_newest_commit("schemas")
            raise NotFound(f"schema {name} does not exist; create it first")
        return found

    def is_received(self, topic_uid: str) -> bool:
        """Return whether a subscription can get messages that are published to a topic.

        None can if the topic was deleted and none of its subscriptions is attached.
        """
        if self.registry.topic_of_uid(topic_uid) is not None:
            return True
        return any(not each.detached for each, _ in self.registry.holders(topic_uid))

    def subscription(self, name: ResourceName) -> Subscription:
        """Return a subscription, or raise NotFound naming it."""
        found = self.registry.subscription(str(name))
        if found is None:
            raise self._no_subscription(name)
        return found

    def attached(self, name: ResourceName) -> tuple[Subscription, str]:
        """Return a subscription with the uid of its topic, to pull from or acknowledge to.

        NotFound if it does not exist, Detached if it is detached.
        """
        found = self.registry.source(str(name))
        if found is None:
            raise self._no_subscription(name)
        if found[0].detached:
            raise detached(str(name))
        self._cache_topic(name, found[1])
        return found

    def _no_subscription(self, name: ResourceName) -> NotFound:
        self.registry.check_newest_commit("subscriptions")
        return NotFound(f"subscription {name} does not exist; create it first")

    def no_snapshot(self, name: ResourceName) -> NotFound:
        """Return the error for a snapshot that is not visible; DataLoss if it may be there."""
        self.registry.check_newest_commit("snapshots")
        return NotFound(
            f"snapshot {name} does not exist, or has expired; list the snapshots to "
            "see those that exist"
        )
