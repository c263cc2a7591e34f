"""Deletes a subscription that was idle for longer than its ttl, unless it is used meanwhile.

Activity is written to the ack state, which is another table than the registry. So the subscription
is made invisible first, and its ack state is read again after that. With activity since, it is
visible again, and so it is if nobody can tell. All the while its row is there: so its name, its
messages and its dead-letter topic are kept, and a process that is killed in between leaves it to
the next run::

    visible ──> expiring ──> no row
       └───<──────┘
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from pubsub_delta.policy import retention
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.store import Tables


def is_idle(tables: Tables, now: datetime, subscription: Subscription) -> bool:
    """Return whether a subscription was idle for longer than its ttl."""
    active_time = tables.ack_states.read(subscription.uid).active_time
    return retention.is_idle(subscription, active_time, now)


def expire(tables: Tables, subscription: Subscription, now: datetime) -> bool:
    """Delete a subscription if it is idle as it is stored now; tell whether it was deleted."""
    idle = partial(is_idle, tables, now)
    if not tables.registry.expirations.begin(subscription.uid, now, idle):
        return False
    return _end(tables, subscription, now, {})


def resume(tables: Tables, subscription: Subscription, since: datetime, now: datetime) -> bool:
    """Go on with an expiration that another run has begun; tell whether this one has deleted.

    Nobody could use the subscription meanwhile. So one that is shown again is as if it were updated
    now: else it would expire at once.
    """
    return _end(tables, subscription, since, {"update_time": now})


def _end(
    tables: Tables, subscription: Subscription, since: datetime, if_shown: Mapping[str, Any]
) -> bool:
    """Delete an invisible subscription that was idle when its expiration began, or show it."""
    begun, uid = tables.registry.expirations, subscription.uid
    try:
        expires = is_idle(tables, since, subscription)
    except (Exception, KeyboardInterrupt, SystemExit):
        with suppress(Exception):  # the next run goes on
            begun.end(uid, if_shown)
        raise
    ended = begun.end(uid, None if expires else if_shown)
    if expires and ended:
        tables.ack_states.forget(uid)
    return expires and ended
