"""Preconditions of changes: a resource is still stored as it was read."""

from __future__ import annotations

from typing import TypeVar

from pubsub_delta.errors import Aborted, InvalidArgument
from pubsub_delta.resources import Snapshot, Subscription, Topic, own_fields

R = TypeVar("R", Topic, Subscription, Snapshot)


def check_if_unchanged(if_unchanged: object, kind: type[R], name: str) -> R | None:
    """Return the resource as it was read, None without a precondition; InvalidArgument."""
    if if_unchanged is None:
        return None
    if not isinstance(if_unchanged, kind):
        raise InvalidArgument(
            f"if_unchanged: {if_unchanged!r} is not a {kind.__name__}; "
            f"{name} as it was read is accepted, or None"
        )
    if if_unchanged.name != name:
        raise InvalidArgument(
            f"if_unchanged: it is {if_unchanged.name!r}, but the call changes {name}; {name} as "
            "it was read is accepted, or None"
        )
    return if_unchanged


def check_unchanged(stored: R, read: R | None) -> None:
    """Raise Aborted if the stored resource differs from the one that was read, if one was.

    AIP-154: an update with an outdated etag fails with ABORTED.
    """
    if read is None:
        return
    then, now = own_fields(read), own_fields(stored)
    changed = [name for name in now if now[name] != then[name]]
    if changed:
        raise Aborted(
            f"{stored.name} has changed since if_unchanged was read ({', '.join(changed)}); "
            "nothing was written: read it again, and decide again"
        )
