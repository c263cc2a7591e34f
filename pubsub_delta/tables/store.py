"""All tables of one store, and what is looked up in them by name."""

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
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.messages.commits import History, KnownCommits
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.messages.ranges import Ranges
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.registry.schemas import StoredSchema
from pubsub_delta.tables.targets import TablePlaces, Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOPICS_KNOWN = 1000
"""Names of which it is known which topic they are about; most of them may be deleted by now."""


def new_uid() -> str:
    """Return a name that nobody else has: 32 hexadecimal digits."""
    return uuid.uuid4().hex


class Tables:
    """The tables of one store.

    Args:
        spark: a session, what starts one when it is needed, or None.
        root: where the tables are.
        new_id: gives names that nobody else has.
        lane: which lane to take, instead of the one that fits.
        hadoop: settings of the storage (``fs.s3a.…``), where there is no session to ask for them.
        tables_root: below which subscriptions may be written to tables; by default ``tables`` below
            the store's root.
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
        self.layout = layout_of(root)
        self.lanes = Lanes(spark, self.layout, lane, hadoop)
        self.places = TablePlaces(self.layout, tables_root)
        self._commits = KnownCommits()
        self._topic_uids: dict[str, str] = {}

    @cached_property
    def registry(self) -> Registry:
        """Topics, subscriptions and snapshots."""
        held = SnapshotTables(self.lanes.control, self.layout)
        return Registry(self.lanes.control, self.layout, self.new_id, held)

    @cached_property
    def ack_state_tables(self) -> AckStateTables:
        """The tables of ack states."""
        return AckStateTables(self.lanes.control, self.layout.ack_state)

    @cached_property
    def ack_states(self) -> AckStates:
        """The ack states, as this process changes them."""
        return AckStates(self.ack_state_tables, self.new_id)

    @cached_property
    def _ranges(self) -> Ranges:
        return Ranges(self.lanes.control, self.new_id)

    @property
    def spark(self) -> SparkSession:
        """The session; it is started if need be. FailedPrecondition where there is none to have."""
        return self.lanes.spark

    @property
    def has_spark(self) -> bool:
        """Whether a session is at hand; none is started for the answer."""
        return self.lanes.has_spark

    @property
    def local_directory(self) -> str | None:
        """The root on the local file system, or None where it is elsewhere."""
        return self.layout.local_directory()

    @property
    def lane_line(self) -> str:
        """Which lane the store's tables take and why, in one line."""
        return self.lanes.line

    def messages(self, topic_uid: str) -> Messages:
        """Return the messages of a topic."""
        table = self.layout.messages(topic_uid)
        history = History(self.lanes.control, table, self._commits)
        positions = self.layout.positions(topic_uid)
        return Messages(self.lanes, table, positions, self._ranges, history)

    def target(self, table: str) -> Target:
        """Open the table that a subscription is written to. Unwritable where it cannot be."""
        return self.lanes.open_target(self.places.path(table))

    def looking_ahead(self, name: ResourceName, *tables: str) -> AbstractContextManager[None]:
        """Begin to look at a topic's messages while the registry is looked at, and at more tables.

        ``name``: of the topic, or of a subscription; it is known which topic that is, or it is not
        looked at. Object storage: looks that follow each other take a request's time each.
        """
        uid = self._topic_uids.get(str(name))
        messages = () if uid is None else (self.layout.messages(uid),)
        return self.lanes.control.looking_ahead(*messages, *tables)

    def topic(self, name: ResourceName) -> Topic:
        """Return a topic, or raise NotFound naming it."""
        found = self.registry.topic(str(name))
        if found is None:
            self.registry.check_newest_commit("topics")
            raise NotFound(f"topic {name} does not exist; create it first")
        self._note_topic(name, found.uid)
        return found

    def _note_topic(self, name: ResourceName, uid: str) -> None:
        if len(self._topic_uids) >= _TOPICS_KNOWN:
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
        """Tell whether somebody may get what is published to a topic.

        Nobody can where it was deleted, and no subscription is attached that it had.
        """
        if self.registry.topic_of_uid(topic_uid) is not None:
            return True
        return any(not each.detached for each, _ in self.registry.sources(topic_uid))

    def subscription(self, name: ResourceName) -> Subscription:
        """Return a subscription, or raise NotFound naming it."""
        found = self.registry.subscription(str(name))
        if found is None:
            raise self._no_subscription(name)
        return found

    def attached(self, name: ResourceName) -> tuple[Subscription, str]:
        """Return a subscription with the uid of its topic, to pull from or acknowledge to.

        NotFound where there is none, FailedPrecondition where it is detached.
        """
        found = self.registry.source(str(name))
        if found is None:
            raise self._no_subscription(name)
        if found[0].detached:
            raise FailedPrecondition(
                f"subscription {name} is detached from its topic and has no messages any more; "
                "delete it and create it anew"
            )
        self._note_topic(name, found[1])
        return found

    def _no_subscription(self, name: ResourceName) -> NotFound:
        self.registry.check_newest_commit("subscriptions")
        return NotFound(f"subscription {name} does not exist; create it first")
