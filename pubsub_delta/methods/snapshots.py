"""The methods of PubSub for snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubsub_delta.methods.store import Store
from pubsub_delta.operations import snapshot as snapshots
from pubsub_delta.resources import Page, Snapshot


def create_snapshot(
    self: Store, snapshot: str, subscription: str, *, labels: Mapping[str, str] | None = None
) -> Snapshot:
    """Capture the unacknowledged messages of a subscription, and all that are published later.

    It lives for 7 days less the age of the oldest unacknowledged message; FailedPrecondition if
    that is less than an hour, or if the topic was deleted. NotFound without the subscription;
    AlreadyExists if the name is taken.
    """
    return snapshots.create_snapshot(
        self._tables,
        self._snapshot(snapshot),
        self._subscription(subscription),
        self._clock.now(),
        labels,
    )


def get_snapshot(self: Store, snapshot: str) -> Snapshot:
    """Return a snapshot. NotFound if there is none, or it has expired."""
    return snapshots.get_snapshot(self._tables, self._snapshot(snapshot), self._clock.now())


def list_snapshots(
    self: Store,
    *,
    project: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Page[Snapshot]:
    """List the snapshots of a project, by name."""
    return snapshots.list_snapshots(
        self._tables, self._project_or(project), self._clock.now(), page_size, page_token
    )


def update_snapshot(
    self: Store, snapshot: str, *, if_unchanged: Snapshot | None = None, **fields: Any
) -> Snapshot:
    """Change ``labels`` or ``expire_time`` (in the future, at most 7 days after creation).

    ``if_unchanged``: the snapshot as it was read. If the stored one differs, the call writes
    nothing and raises Aborted.
    """
    return snapshots.update_snapshot(
        self._tables, self._snapshot(snapshot), fields, self._clock.now(), if_unchanged
    )


def delete_snapshot(self: Store, snapshot: str, *, if_unchanged: Snapshot | None = None) -> None:
    """Delete a snapshot, and the messages that only it held.

    ``if_unchanged``: the snapshot as it was read. If the stored one differs, the call deletes
    nothing and raises Aborted.
    """
    snapshots.delete_snapshot(
        self._tables, self._snapshot(snapshot), self._clock.now(), if_unchanged
    )
