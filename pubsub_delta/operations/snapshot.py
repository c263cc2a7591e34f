"""Create, find, list, change and delete snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from pubsub_delta.errors import AlreadyExists, FailedPrecondition, NotFound
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import fields as rules
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import Captured, State
from pubsub_delta.policy.paging import page
from pubsub_delta.policy.unchanged import check_if_unchanged, check_unchanged
from pubsub_delta.resources import Page, Snapshot
from pubsub_delta.tables import dead_letters
from pubsub_delta.tables.commits import repeat_on_conflict
from pubsub_delta.tables.seen import Seen, change_as_seen
from pubsub_delta.tables.store import Source, Tables


def create_snapshot(
    tables: Tables,
    name: ResourceName,
    subscription: ResourceName,
    now: datetime,
    labels: Mapping[str, str] | None,
) -> Snapshot:
    """Capture what is unacknowledged on a subscription, and everything published later.

    One commit: the row of the registry holds the captured state, a copy of its own.
    """
    checked = rules.check_labels(labels)
    source = tables.source(subscription)
    topic = tables.registry.topic_of_uid(source.topic_uid)
    if topic is None:
        raise FailedPrecondition(
            f"subscription {subscription}: its topic was deleted; "
            "a snapshot needs a topic that still exists"
        )
    if tables.registry.snapshot(str(name), now) is not None:
        raise _taken(name)
    state = tables.ack_states.read(source.uid)
    if state.in_state(State.FORWARDING):  # what is on its way goes first
        dead_letters.forward(tables, source, now)
        state = tables.ack_states.read(source.uid)
    state = source.catch_up(state, now)
    captured = replay.capture(state, source.subscription.filter)
    snapshot = Snapshot(
        name=str(name),
        topic=topic.name,
        expire_time=replay.snapshot_expiry(str(name), now, _oldest(source, captured)),
        labels=checked,
        create_time=now,
        uid=tables.new_id(),
    )
    add = partial(tables.registry.add_snapshot, snapshot, topic.uid, captured)
    if not repeat_on_conflict(add, str(name)):
        raise _taken(name)
    return snapshot


def get_snapshot(tables: Tables, name: ResourceName, now: datetime) -> Snapshot:
    """Return a snapshot, or raise NotFound naming it."""
    found = tables.registry.snapshot(str(name), now)
    if found is None:
        tables.registry.check_newest_commit("snapshots")
        raise NotFound(f"snapshot {name} does not exist, or has expired")
    return found


def list_snapshots(
    tables: Tables, project: str, now: datetime, page_size: int | None, page_token: str | None
) -> Page[Snapshot]:
    """List the snapshots of a project by name."""
    found = tables.registry.snapshots(f"projects/{project}/", now)
    return page(found, page_size, page_token)


def list_topic_snapshots(
    tables: Tables,
    topic: ResourceName,
    now: datetime,
    page_size: int | None,
    page_token: str | None,
) -> Page[str]:
    """List the names of the snapshots of a topic."""
    held = tables.registry.snapshots_of(tables.topic(topic), now)
    found = page(held, page_size, page_token)
    return Page((each.name for each in found), found.next_page_token)


def update_snapshot(
    tables: Tables,
    name: ResourceName,
    fields: Mapping[str, Any],
    now: datetime,
    if_unchanged: Snapshot | None,
) -> Snapshot:
    """Change the labels of a snapshot, or when it expires; if asked for, only as it was read."""
    wanted = check_if_unchanged(if_unchanged, Snapshot, str(name))
    snapshot = get_snapshot(tables, name, now)
    if wanted is not None:
        check_unchanged(snapshot, wanted)
    changes = rules.check_snapshot_update(fields, snapshot, now)
    if not changes:
        return snapshot
    seen = None if wanted is None else Seen(snapshot, tables.new_id())
    change = partial(tables.registry.change_snapshot, snapshot.uid, changes)
    read = partial(tables.registry.snapshot, str(name), now)
    if not change_as_seen(str(name), change, seen, read):
        raise NotFound(f"{name} was deleted just now")
    return replace(snapshot, **changes)


def delete_snapshot(tables: Tables, name: ResourceName, now: datetime) -> None:
    """Delete a snapshot, and with it what only it held."""
    uid = get_snapshot(tables, name, now).uid
    if not repeat_on_conflict(partial(tables.registry.remove_snapshot, uid), str(name)):
        raise NotFound(f"{name} was deleted just now")


def _oldest(source: Source, captured: Captured) -> datetime | None:
    """Return when the oldest captured message was published, to the message."""
    if not captured.spans:
        return None
    first = min(captured.spans, key=lambda span: span.publish_time_min)
    if first.publish_time_min == first.publish_time_max:
        return first.publish_time_min
    reaching = [s for s in captured.spans if s.publish_time_min <= first.publish_time_max]
    return source.messages.earliest(reaching) or first.publish_time_min


def _taken(name: ResourceName) -> AlreadyExists:
    return AlreadyExists(f"snapshot {name} exists already; choose another name or delete it first")
