"""Discard: delete the messages and the old commits of a topic that nobody can get any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial

from pubsub_delta.clock import start_of_day
from pubsub_delta.delivery.sources import Source, source_of
from pubsub_delta.errors import Aborted, FailedPrecondition
from pubsub_delta.policy import retention
from pubsub_delta.policy.fields import MAX_SUBSCRIPTION_RETENTION
from pubsub_delta.resources import Topic
from pubsub_delta.tables.messages.stored import StoredMessages
from pubsub_delta.tables.registry import EVERY_MESSAGE
from pubsub_delta.tables.store import Tables

_ATTEMPTS = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FOR_EVER = timedelta(days=36_500)
_FORGET_AFTER = MAX_SUBSCRIPTION_RETENTION + timedelta(days=14)
"""How long the row of a deleted topic stays, so that VACUUM can remove its files: subscriptions may
keep its messages for the longest retention, and VACUUM keeps their files for 8 days more.
"""


@dataclass(frozen=True)
class StoredTopic:
    """A topic with stored messages, and its name in the report."""

    name: str
    topic: Topic
    deleted: datetime | None = None

    def is_vacuumed(self, now: datetime) -> bool:
        """Return whether the topic was deleted so long ago that VACUUM has removed its files."""
        return self.deleted is not None and now - self.deleted > _FORGET_AFTER


@dataclass(frozen=True)
class Discarded:
    """How many messages of a topic were deleted, or would be, and why none was.

    ``kept_from``: the earliest publish time that a subscription, a snapshot or the topic's own
    retention needs; None without any.
    """

    count: int
    kept_from: datetime | None
    problem: str | None = None


def stored_topics(tables: Tables) -> list[StoredTopic]:
    """Return all topics with stored messages, deleted ones too."""
    topics = [StoredTopic(each.name, each) for each in tables.registry.topics("")]
    deleted = tables.registry.deleted_topics()
    return topics + [
        StoredTopic(f"{topic.name} (deleted)", topic, since) for topic, since in deleted
    ]


def discard(
    tables: Tables,
    kept: StoredTopic,
    now: datetime,
    *,
    exact: bool,
    dry_run: bool,
    after_expiration: bool,
) -> Discarded:
    """Delete the messages of a topic that no subscription or snapshot can get.

    ``exact``: to the message, and not only whole days of publishing. ``after_expiration``: whether
    a dry run tells what is deleted once what has expired is. The needed messages are found twice,
    as a seek may need acknowledged ones again, and the deletion is announced in between. So a seek
    that is noted meanwhile is seen here, or whoever carries it out sees the announcement. A topic
    that was deleted, and whose files are gone by now, is forgotten.
    """
    messages = tables.messages(kept.topic.uid)
    version = messages.history.version()
    wanted = (tables, kept, now, now if dry_run and after_expiration else None)
    needed, holders = _needed_from(*wanted)
    bound = _bound(kept, needed, holders, now)
    if not (exact or bound > now):
        bound = start_of_day(bound)
    found = messages.count_before(bound)
    if found and not dry_run:
        discard_id = tables.new_id()
        messages.announce_discard(min(bound, now), discard_id)
        again = _bound(kept, *_needed_from(*wanted), now)
        if again < bound or not messages.discard_before(bound, version, discard_id):
            return Discarded(
                0,
                needed,
                f"a slow publisher committed messages from before {bound.isoformat()} just now, or "
                "a seek or RESTORE brought them back; nothing was deleted, and the next run will",
            )
    elif not found and bound > now and kept.is_vacuumed(now) and not dry_run:
        tables.registry.forget_topic(kept.topic.uid)
    return Discarded(found, needed)


def _bound(kept: StoredTopic, needed: datetime | None, holders: int, now: datetime) -> datetime:
    """Return a time before which no messages are needed.

    It is later than now where a topic is deleted and none of its messages is needed.
    """
    if kept.deleted is not None and not holders:
        return now + _FOR_EVER
    return min(needed or now, now)


def _needed_from(
    tables: Tables, kept: StoredTopic, now: datetime, as_of: datetime | None
) -> tuple[datetime | None, int]:
    """Return the earliest publish time that is needed, and how many holders need messages.

    ``as_of``: what has expired by then does not count; None: all count that are stored.
    """
    topic, messages = kept.topic, tables.messages(kept.topic.uid)
    for _ in range(_ATTEMPTS):
        version = tables.registry.snapshots_version()
        times = [] if kept.deleted else [retention.covered_from(topic, now)]
        captured = tables.registry.captured_of(topic.uid, as_of)
        for each in captured:
            if each == EVERY_MESSAGE:
                times.append(_earliest_stored(messages))
                continue
            following = messages.history.commits_after(each.after_version)
            if not following.is_complete:
                raise FailedPrecondition(
                    f"the history of {topic.name} does not reach back to its snapshots; restore "
                    "the commits of its log, or delete the snapshots"
                )
            times.append(retention.needed_by_snapshot(each, following.first_publish_time))
        holders = len(captured)
        for source in _attached(tables, topic.uid):
            state = tables.ack_states.read(source.uid)
            if as_of is not None and retention.is_idle(
                source.subscription, state.active_time, as_of
            ):
                continue
            holders += 1
            state = source.heeding_no_announcement().catch_up(state, now)
            times.append(retention.needed_by_subscription(state, source.subscription, now))
        if tables.registry.snapshots_version() == version:
            needed = min((time for time in times if time is not None), default=None)
            return needed, holders
    raise Aborted(
        f"snapshots were created or deleted {_ATTEMPTS} times meanwhile; run maintain again"
    )


def _earliest_stored(messages: StoredMessages) -> datetime | None:
    """Return a time before which no message of a topic was published; None without a message."""
    return min((each.publish_time_min or _EPOCH for each in messages.files()), default=None)


def _attached(tables: Tables, topic_uid: str) -> Sequence[Source]:
    return [
        source_of(tables, subscription, uid)
        for subscription, uid in tables.registry.holders(topic_uid)
        if not subscription.detached
    ]


def forget_commits(
    tables: Tables, topic: Topic, keep: timedelta, clock: Callable[[], datetime], *, dry_run: bool
) -> int:
    """Remove commits older than ``keep`` from a topic's log that nobody needs.

    It returns how many were removed, or would be. An ack state finds new messages by the commits
    since its tail. So all ack states are brought up to date first, by a commit each. If that takes
    long, a snapshot since may need what is old then, and Aborted is raised.
    """
    messages, now = tables.messages(topic.uid), clock()
    old = [each for each in messages.history.logged()[1:] if now - each.time > keep]
    held = [each.after_version for each in tables.registry.captured_of(topic.uid)]
    if not old or min(held, default=old[0].version) < old[0].version:
        return 0
    if dry_run:
        return len(old)
    for source in _attached(tables, topic.uid):
        tables.ack_states.update(source.uid, partial(source.catch_up, now=now))
    if clock() - now > keep / 2:
        raise Aborted(f"this took over half of log_retention, {keep}; choose a longer one")
    return messages.clean_log(keep)
