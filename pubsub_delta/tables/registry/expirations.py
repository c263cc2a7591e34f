"""The expirations that have begun: subscriptions that a job deletes, and which are invisible.

The mark of one is the beginning of its row's etag, so that any change of the row shows it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.registry.resource_table import ResourceTable, Row
from pubsub_delta.tables.registry.rows import columns_of_fields, subscription_of

_MARK = "expiring."


class Expirations:
    """Hides the rows of subscriptions that expire, and deletes them or shows them again."""

    def __init__(self, subscriptions: ResourceTable) -> None:
        self._subscriptions = subscriptions

    def begin(self, uid: str, now: datetime, check: Callable[[Subscription], bool]) -> bool:
        """Make a subscription that passes a check invisible; return whether it was visible.

        Its name stays taken, and its messages and its dead-letter topic are kept.
        """
        return self._subscriptions.change(
            uid,
            {},
            lambda row: is_in_use(row) and check(subscription_of(row)),
            f"{_MARK}{to_micros(now)}.",
        )

    def begun(self) -> list[tuple[Subscription, datetime]]:
        """Return the invisible subscriptions, and since when they are."""
        found = ((row, expiring_since(row)) for row in self._subscriptions.rows())
        return [(subscription_of(row), since) for row, since in found if since is not None]

    def end(self, uid: str, if_shown: Mapping[str, Any] | None) -> bool:
        """Show an invisible subscription with changed fields; with None delete it.

        Return whether it was invisible.
        """
        if if_shown is None:
            return self._subscriptions.remove(uid, _is_expiring)
        return self._subscriptions.change(uid, columns_of_fields(if_shown), _is_expiring)


def expiring_since(row: Row) -> datetime | None:
    """Return when a job has found that a subscription expires; None if none has.

    >>> expiring_since({"etag": "expiring.1700000000000000.0a1b"}).year
    2023
    >>> expiring_since({"etag": "0a1b"})
    """
    etag = row["etag"] or ""
    return from_micros(int(etag.split(".")[1])) if etag.startswith(_MARK) else None


def is_in_use(row: Row) -> bool:
    """Return whether a subscription is visible."""
    return expiring_since(row) is None


def _is_expiring(row: Row) -> bool:
    return not is_in_use(row)
