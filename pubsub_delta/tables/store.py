"""All tables of one store, and the one step that several operations begin with."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from pyspark.sql import SparkSession

from pubsub_delta.errors import FailedPrecondition, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay, retention
from pubsub_delta.policy.ack_state import Absorbed, AckState, Span, union
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Subscription, Topic
from pubsub_delta.session import session_for_small_work
from pubsub_delta.tables.ack_state_tables import AckStateTables
from pubsub_delta.tables.ack_states import AckStates
from pubsub_delta.tables.ahead import Ahead, Readers
from pubsub_delta.tables.commits import Commits
from pubsub_delta.tables.history import Commit, History
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.looks import Looks
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.ordering import OrderingKeys
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.remembered import Remembered


def new_uid() -> str:
    """Return a name that nobody else has: 32 hexadecimal digits."""
    return uuid.uuid4().hex


class Tables:
    """The tables of one store. ``looks``: what looks that write nothing have found.

    Whatever is read or written by the million is so in the caller's session, ``spark``; commits and
    looks of few rows are made in ``small``.
    """

    looks: Looks | None = None

    def __init__(self, spark: SparkSession, root: str, new_id: Callable[[], str] = new_uid) -> None:
        self.spark = spark
        self.small = session_for_small_work(spark)
        self.new_id = new_id
        self._layout = layout_of(root)
        self._commits = Commits(spark, self.small, self._layout)
        self.remembered = Remembered(self.small, many_files=spark)
        self.ahead = Ahead(self.remembered.look, self.remembered.newest)
        self.readers = Readers()
        self.looks = Looks()
        self.registry = Registry(self.small, self._layout, self._commits, self.remembered)
        self.ack_state_tables = AckStateTables(
            self.small, self._layout.ack_state, self._commits, self.remembered
        )
        self.ack_states = AckStates(self.ack_state_tables, new_id)

    def messages(self, topic_uid: str) -> Messages:
        """Return the messages of a topic."""
        table = self._layout.messages(topic_uid)
        history = History(self.small, table, self.remembered)
        return Messages(self.spark, table, self._commits, self.remembered, history)

    def topic(self, name: ResourceName) -> Topic:
        """Return a topic, or raise NotFound naming it."""
        found = self.registry.topic(str(name))
        if found is None:
            self.registry.check_newest_commit("topics")
            raise NotFound(f"topic {name} does not exist; create_topic creates it")
        return found

    def subscription(self, name: ResourceName) -> Subscription:
        """Return a subscription, or raise NotFound naming it."""
        found = self.registry.subscription(str(name))
        if found is None:
            raise self._no_subscription(name)
        return found

    def source(self, name: ResourceName) -> Source:
        """Return a subscription to pull from or acknowledge to, with its topic's messages.

        NotFound where there is none, FailedPrecondition where it is detached.
        """
        source = self.find_source(name)
        if source is None:
            raise self._no_subscription(name)
        if source.subscription.detached:
            raise FailedPrecondition(
                f"subscription {name} is detached from its topic and has no messages any more; "
                "delete it and create it anew"
            )
        return source

    def looked_at(self, name: ResourceName) -> Source:
        """Return a subscription as ``source`` does, to look at: nothing may be written from it."""
        return replace(self.source(name), looks=self.looks)

    def find_source(self, name: ResourceName) -> Source | None:
        """Return a subscription with its topic's messages, also a detached one, or None."""
        found = self.registry.source(str(name))
        return None if found is None else self.source_of(*found)

    def _no_subscription(self, name: ResourceName) -> NotFound:
        self.registry.check_newest_commit("subscriptions")
        return NotFound(f"subscription {name} does not exist; create_subscription creates it")

    def prepare_to_read(self, source: Source) -> None:
        """Have the state of a topic put together beside what is done now; do not wait for it.

        Not where batches of the subscription are acknowledged and not read.
        """
        if self.readers.reads(source.uid):
            self.ahead.prepare_on_disk(self._layout.messages(source.topic_uid))

    def prepare_to_acknowledge(self, source: Source) -> None:
        """Have that of an ack state put together, for which the next change would wait."""
        self.ahead.prepare_on_disk(self._layout.ack_state(source.uid))

    def source_of(self, subscription: Subscription, topic_uid: str) -> Source:
        """Return a subscription with the messages of its topic."""
        return Source(subscription, topic_uid, self.messages(topic_uid), self.registry)


@dataclass(frozen=True)
class Source:
    """A subscription that is attached to a topic, and the topic's messages.

    ``looks``: what earlier looks have found, where nothing will be written.
    """

    subscription: Subscription
    topic_uid: str
    messages: Messages
    registry: Registry
    looks: Looks | None = None

    @property
    def uid(self) -> str:
        """The subscription's uid, which names its ack state."""
        return self.subscription.uid

    @property
    def terms(self) -> delivery.Terms:
        """The terms on which the subscription delivers."""
        return delivery.Terms(self.subscription, OrderingKeys(self.messages))

    def catch_up(self, state: AckState, now: datetime) -> AckState:
        """Bring an ack state up to date; nothing is written.

        Without new messages it costs one look at the topic's history.
        """
        return replay.catch_up(state, self.terms, self.look(state), now)

    def clip_retained(self, state: AckState, now: datetime) -> AckState:
        """Drop every retained message that is too old by now, to the message."""
        return retention.clip_retained(state, self.subscription, now, self.look(state).earlier)

    def look(self, state: AckState) -> Look:
        """Return what an ack state may ask of the topic, as the topic is now."""
        return Look(self, replay.lowest_version(state))

    def covered_from(self, now: datetime) -> datetime | None:
        """Return from when on the topic itself retains every message, or None."""
        return retention.covered_from(self.registry.topic_of_uid(self.topic_uid), now)


class Look:
    """One look at a topic for a subscription: the ``Log`` that policy asks.

    The history is read once, from a version on.
    """

    def __init__(self, source: Source, after_version: int) -> None:
        self._source = source
        self._messages = source.messages
        self._after_version = after_version
        self._filter = parse_filter(source.subscription.filter)

    @cached_property
    def _commits(self) -> list[Commit]:
        return self._messages.history.commits_after(self._after_version)[0]

    def added(
        self,
        after_version: int,
        up_to: int | None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> tuple[list[Absorbed], int | None]:
        """Find the messages of some commits that pass the filter."""
        new = [commit for commit in self._commits if commit.version > after_version]
        known = not new or len(new) == new[0].version - after_version
        commits = [commit for commit in new if up_to is None or commit.version <= up_to]
        if not commits:
            return [], None
        version = commits[0].version
        stands = known and not any(commit.moves_messages for commit in new)
        adding = [each for each in commits if each.adds_messages and each.may_be(earliest, before)]
        found = self._looked(adding, version) if stands else None
        if found is None:
            found = self._messages.absorb(
                after_version, commits, known, self._filter, earliest, before
            )
        return found, version

    def _looked(self, publishes: list[Commit], version: int) -> list[Absorbed] | None:
        """Return what publishes have added, if looks are remembered and nothing was rewritten."""
        looks, filter_ = self._source.looks, self._filter
        if looks is None:
            return None
        return looks.added(
            (self._source.topic_uid, filter_),
            publishes,
            lambda new: self._messages.added_by(new, version, filter_),
        )

    def earlier(self, spans: Sequence[Span], time: datetime) -> tuple[Positions, datetime | None]:
        """Find the messages of spans published before a time, and the first later time."""
        until = max(span.publish_time_max for span in spans)
        later, first = self._messages.published_within(time, until)
        return union(spans) - later, first

    def passing(self, spans: Sequence[Span]) -> Positions:
        """Find the messages of spans that pass the filter."""
        found = None if self._source.looks is None else self._looked_within(spans)
        if found is None:
            return self._messages.passing(spans, self._filter)
        return Positions.union(part.positions for part in found) & union(spans)

    def _looked_within(self, spans: Sequence[Span]) -> list[Absorbed] | None:
        """Return what was added between the times of spans, if nothing was rewritten."""
        earliest = min(span.publish_time_min for span in spans)
        latest = max(span.publish_time_max for span in spans)
        history = self._messages.history
        publishes = history.publishes_within(earliest, latest)
        return None if publishes is None else self._looked(publishes, history.newest_version())

    def covered_from(self, now: datetime) -> datetime | None:
        """Return from when on the topic itself retains every message, or None."""
        return self._source.covered_from(now)
