"""Create, find, list, change and delete snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from pubsub_delta.delivery import dead_letters, sources
from pubsub_delta.delivery.sources import Source
from pubsub_delta.errors import Aborted, AlreadyExists, FailedPrecondition, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import fields as rules
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured, State
from pubsub_delta.policy.paging import page
from pubsub_delta.policy.preconditions import check_if_unchanged, check_unchanged
from pubsub_delta.resources import Page, Snapshot
from pubsub_delta.tables.store import Tables


def create_snapshot(
    tables: Tables,
    name: ResourceName,
    subscription: ResourceName,
    now: datetime,
    labels: Mapping[str, str] | None,
) -> Snapshot:
    """Capture the unacknowledged messages of a subscription, and all that are published later.

    The snapshot is announced first, so that retention deletes nothing of its topic. Then the ack
    state is read, brought up to date, and written as the snapshot's table (decision 0029). Last it
    becomes visible. A failure, Ctrl-C or the exit of the program removes it again.
    """
    checked = rules.check_labels(labels)
    layout = tables.layout
    with tables.lanes.control.prefetching(layout.topics, layout.snapshots):
        source, snapshot = _planned(tables, name, subscription, now, checked)
        try:
            filter_ = source.subscription.filter
            is_announced = tables.registry.announce_snapshot(snapshot, source.topic_uid, filter_)
            if is_announced:
                snapshot = _completed(tables, name, subscription, source, snapshot)
        except (Exception, KeyboardInterrupt, SystemExit):
            with suppress(Exception):  # ``maintain`` removes the remains
                tables.registry.remove_snapshot(snapshot.uid)
            raise
    if not is_announced:
        raise AlreadyExists(
            f"snapshot {name} exists already, or is being created (a call that was killed, or "
            "whose storage failed, keeps the name for 10 minutes); choose another name or delete "
            "it first"
        )
    return snapshot


def _planned(
    tables: Tables,
    name: ResourceName,
    subscription: ResourceName,
    now: datetime,
    labels: Mapping[str, str],
) -> tuple[Source, Snapshot]:
    """Return the subscription with its topic, and a snapshot that is not stored yet."""
    source = sources.source(tables, subscription)
    topic = tables.registry.topic_of_uid(source.topic_uid)
    if topic is None:
        raise FailedPrecondition(
            f"subscription {subscription}: its topic was deleted; "
            "a snapshot needs a topic that still exists"
        )
    snapshot = Snapshot(
        name=str(name),
        topic=topic.name,
        expire_time=now + replay.SNAPSHOT_LIFETIME,
        labels=labels,
        create_time=now,
        uid=tables.new_id(),
    )
    return source, snapshot


def _completed(
    tables: Tables,
    name: ResourceName,
    subscription: ResourceName,
    source: Source,
    announced: Snapshot,
) -> Snapshot:
    """Write the table of an announced snapshot, and make it visible."""
    now = announced.create_time
    state = _caught_up(tables, subscription, source, now)
    tables.registry.capture_snapshot(announced.uid, state)
    captured = replay.capture(state, source.subscription.filter)
    expire_time = replay.snapshot_expiry(str(name), now, _oldest(source, captured))
    if not tables.registry.finish_snapshot(announced.uid, expire_time):
        raise Aborted(
            f"snapshot {name} took too long to be created, and another one got its name; "
            "it was removed, and trying again is safe"
        )
    return replace(announced, expire_time=expire_time)


def _caught_up(
    tables: Tables, subscription: ResourceName, source: Source, now: datetime
) -> AckState:
    """Complete forwardings that are under way; return the ack state, brought up to date.

    It is not stored: the next pull does the same. The source's filter does not apply to what a
    snapshot holds of later messages, so it is applied to all messages that there are by now.
    """
    with tables.prefetching(subscription, tables.layout.ack_state(source.uid)):
        state = tables.ack_states.read(source.uid)
        if state.in_state(State.FORWARDING):
            dead_letters.forward(tables, source, now)
            state = tables.ack_states.read(source.uid)
        return source.catch_up(state, now)


def get_snapshot(tables: Tables, name: ResourceName, now: datetime) -> Snapshot:
    """Return a snapshot, or raise NotFound naming it."""
    found = tables.registry.snapshot(str(name), now)
    if found is None:
        raise tables.no_snapshot(name)
    return found


def list_snapshots(
    tables: Tables, project: str, now: datetime, page_size: int | None, page_token: str | None
) -> Page[Snapshot]:
    """List the snapshots of a project by name."""
    found = tables.registry.snapshots(f"projects/{project}/", now)
    return page(found, page_size, page_token, f"projects/{project}/snapshots/")


def list_topic_snapshots(
    tables: Tables,
    topic: ResourceName,
    now: datetime,
    page_size: int | None,
    page_token: str | None,
) -> Page[str]:
    """List the names of the snapshots of a topic."""
    held = tables.registry.snapshots_of(tables.topic(topic).uid, now)
    found = page(held, page_size, page_token, "/snapshots/")
    return Page((each.name for each in found), found.next_page_token)


def that_can_be_sought(tables: Tables, subscription: ResourceName, now: datetime) -> list[str]:
    """Return the names of the snapshots of a subscription's topic, which may be deleted."""
    found = sources.find_source(tables, subscription)
    if found is None or found.subscription.detached:
        return []
    return sorted(each.name for each in tables.registry.snapshots_of(found.topic_uid, now))


def who_can_seek(tables: Tables, snapshot: Snapshot, now: datetime) -> list[str]:
    """Return the names of the subscriptions of a snapshot's topic, which may be deleted."""
    found = tables.registry.captured(snapshot.name, now)
    if found is None or found[0].uid != snapshot.uid:
        return []
    every = tables.registry.sources()
    return sorted(each.name for each, uid in every if uid == found[1] and not each.detached)


def update_snapshot(
    tables: Tables,
    name: ResourceName,
    fields: Mapping[str, Any],
    now: datetime,
    if_unchanged: Snapshot | None,
) -> Snapshot:
    """Change the labels or the expire_time of a snapshot; with ``if_unchanged`` only as read."""
    wanted = check_if_unchanged(if_unchanged, Snapshot, str(name))
    snapshot = get_snapshot(tables, name, now)
    check_unchanged(snapshot, wanted)
    changes = rules.check_snapshot_update(fields, snapshot, now)
    if not changes:
        return snapshot
    changed = tables.registry.change_snapshot(snapshot.uid, changes, wanted)
    found = tables.registry.snapshot(str(name), now) if changed else None
    if found is None or found.uid != snapshot.uid:
        raise NotFound(f"{name} was deleted meanwhile; create it again")
    return found


def delete_snapshot(
    tables: Tables, name: ResourceName, now: datetime, if_unchanged: Snapshot | None
) -> None:
    """Delete a snapshot and its table; a table that cannot be deleted is left to ``maintain``.

    With ``if_unchanged`` only as it was read.
    """
    wanted = check_if_unchanged(if_unchanged, Snapshot, str(name))
    stored = get_snapshot(tables, name, now)
    check_unchanged(stored, wanted)
    if not tables.registry.hide_snapshot(stored.uid, wanted):
        raise NotFound(f"{name} was deleted meanwhile; create it again")
    with suppress(Exception):  # the snapshot is deleted, and an error would deny it
        tables.registry.remove_hidden_snapshot(stored.uid)


def _oldest(source: Source, captured: Captured) -> datetime | None:
    """Return the exact publish time of the oldest captured message."""
    if not captured.spans:
        return None
    first = min(captured.spans, key=lambda span: span.publish_time_min)
    if first.publish_time_min == first.publish_time_max:
        return first.publish_time_min
    reaching = [s for s in captured.spans if s.publish_time_min <= first.publish_time_max]
    return source.messages.earliest(reaching) or first.publish_time_min
