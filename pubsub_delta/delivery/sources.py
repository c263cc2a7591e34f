"""A subscription with its topic's messages, and the questions of an ack state about the topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from pubsub_delta.errors import NotFound
from pubsub_delta.names import ResourceName, subscription_name
from pubsub_delta.policy import delivery, replay, retention
from pubsub_delta.policy.ack_state import Absorbed, AckState, Span, union
from pubsub_delta.policy.filters import parse_filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.messages.commits import NewCommits, new_commits
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.store import Tables


@dataclass(frozen=True)
class Source:
    """A subscription that is attached to a topic, and the topic's messages.

    ``heeds_announcements``: whether seeks leave out what retention has announced to delete.
    """

    subscription: Subscription
    topic_uid: str
    messages: Messages
    registry: Registry
    heeds_announcements: bool = True

    @property
    def uid(self) -> str:
        """The subscription's uid, which names its ack state."""
        return self.subscription.uid

    @property
    def terms(self) -> delivery.Terms:
        """The terms on which the subscription delivers."""
        return delivery.Terms(self.subscription, self.messages)

    def without_dead_letters(self) -> Source:
        """Return the source as if its subscription had no dead-letter policy."""
        return replace(self, subscription=replace(self.subscription, dead_letter_policy=None))

    def heeding_no_announcement(self) -> Source:
        """Return the source as retention sees it, which keeps what a seek may still bring back."""
        return replace(self, heeds_announcements=False)

    def catch_up(self, state: AckState, now: datetime) -> AckState:
        """Bring an ack state up to date, without writing it.

        Without new messages this costs one read of the topic's history. An ack state that an
        operator has restored may name messages that retention has deleted since; they are dropped
        from it.
        """
        log = self.log(state)
        current = replay.catch_up(state, self.terms, log, now)
        if not current.spans or not log.may_lack_messages:
            return current
        stored = self.messages.positions_within(union(current.spans))
        return replay.without_deleted_messages(current, stored)

    def carry_out_seeks(self, state: AckState) -> AckState:
        """Carry out the noted seeks of an ack state, without what was published since."""
        if not state.seeks:
            return state
        return replay.carry_out_seeks(state, self.terms, self.log(state))

    def has_lost_messages(self, after_version: int) -> bool:
        """Return whether messages may have been deleted after a version of the topic."""
        return TopicLog(self, after_version).may_lack_messages

    def clip_retained(self, state: AckState, now: datetime) -> AckState:
        """Drop every retained message that is older than its retention by now."""
        return retention.clip_retained(state, self.subscription, now, self.log(state).earlier)

    def log(self, state: AckState) -> TopicLog:
        """Return the log of the topic from the lowest version that an ack state needs."""
        return TopicLog(self, replay.lowest_version(state))

    def covered_from(self, now: datetime) -> datetime | None:
        """Return the time from which the topic itself retains every message, or None."""
        return retention.covered_from(self.registry.topic_of_uid(self.topic_uid), now)


def source(tables: Tables, name: ResourceName, uid: str | None = None) -> Source:
    """Return a subscription to pull from or acknowledge to, with its topic's messages.

    NotFound if it does not exist, or has another uid than ``uid``: then it was deleted and created
    again. FailedPrecondition if it is detached.
    """
    found, topic_uid = tables.attached(name)
    if uid not in (None, found.uid):
        raise NotFound(
            f"subscription {name} was deleted and created again; start a new pull, subscriber or "
            "query on it"
        )
    return source_of(tables, found, topic_uid)


def find_source(tables: Tables, name: ResourceName) -> Source | None:
    """Return a subscription with its topic's messages, also a detached one, or None."""
    found = tables.registry.source(str(name))
    return None if found is None else source_of(tables, *found)


def still_attached(tables: Tables, subscription: Subscription) -> Source | None:
    """Return a subscription as it is now; None if it was deleted or detached since it was read."""
    found = find_source(tables, subscription_name(subscription.name, ""))
    if found is None or found.uid != subscription.uid or found.subscription.detached:
        return None
    return found


def source_of(tables: Tables, subscription: Subscription, topic_uid: str) -> Source:
    """Return a subscription with the messages of its topic."""
    return Source(subscription, topic_uid, tables.messages(topic_uid), tables.registry)


class TopicLog:
    """The commits of a topic as a subscription sees them: implements policy's ``replay.Log``.

    The history is read once, from a version on.
    """

    def __init__(self, source: Source, after_version: int) -> None:
        self._source = source
        self._messages = source.messages
        self._after_version = after_version
        self._filter = parse_filter(source.subscription.filter)

    @cached_property
    def _new(self) -> NewCommits:
        if self._after_version < 0:  # what was announced before a noted seek was read must be seen
            self._messages.history.use_up_prefetched()
        return self._messages.history.commits_after(self._after_version)

    @property
    def may_lack_messages(self) -> bool:
        """Whether messages may have been deleted since the version that the log begins after."""
        return self._new.may_lack_messages

    def added(
        self,
        after_version: int,
        up_to: int | None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> tuple[list[Absorbed], int | None]:
        """Find the messages of some commits that pass the filter."""
        new = new_commits(self._new.commits, after_version)
        if up_to is not None:
            new = new.up_to(up_to)
        if not new.commits:
            return [], None
        found = self._messages.absorb(new, self._filter, earliest, before)
        return found, new.commits[0].version

    def covered(self, up_to: int, earliest: datetime) -> list[Absorbed]:
        """Find the messages that pass the filter, without those that retention is deleting."""
        new = new_commits(self._new.commits, -1)
        if self._source.heeds_announcements:
            if not new.is_complete:
                earliest = max(earliest, new.discards_before or earliest)
            new = new.without_discarded()
        return self._messages.absorb(new.up_to(up_to), self._filter, earliest)

    def earlier(self, spans: Sequence[Span], time: datetime) -> tuple[Positions, datetime | None]:
        """Find the messages of spans published before a time, and the first later time."""
        until = max(span.publish_time_max for span in spans)
        later, first = self._messages.published_within(time, until)
        return union(spans) - later, first

    def passing(self, spans: Sequence[Span]) -> Positions:
        """Return the messages of spans that pass the filter."""
        return self._messages.passing(spans, self._filter)

    def covered_from(self, now: datetime) -> datetime | None:
        """Return from when on the topic itself retains every message, or None."""
        return self._source.covered_from(now)
