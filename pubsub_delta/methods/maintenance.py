"""The methods of PubSub that do what nobody may come to do by pulling."""

from __future__ import annotations

from pubsub_delta.delivery import table_subscriptions
from pubsub_delta.durations import Duration
from pubsub_delta.methods.store import Store
from pubsub_delta.operations import maintain as maintenance


def maintain(
    self: Store,
    *,
    tables: bool = True,
    dead_letters: bool = True,
    expiration: bool = True,
    retention: bool = True,
    exact: bool = False,
    optimize: bool = False,
    vacuum: bool = False,
    log_retention: Duration | None = None,
    dry_run: bool = False,
) -> maintenance.MaintenanceReport:
    """Do what must be done even where nobody pulls. Problems are reported, not raised.

    Args:
        tables: write the messages of table subscriptions to their tables.
        dead_letters: forward messages whose last delivery attempt failed.
        expiration: delete subscriptions idle for longer than their ttl, and old snapshots.
        retention: delete the messages that nobody can get any more: whole days of publishing,
            by metadata alone.
        exact: with retention, delete to the message, which rewrites or marks files.
        optimize: write many small files of a topic as few large ones.
        vacuum: remove the files that no version of the last 8 days needs.
        log_retention: forget the commits of topics that are older, from ``"1m"`` to
            ``"365d"``. Every writer lists what is known of a topic's log, so one of a commit a
            second becomes slow after some days. ``as_of``, open batches and streams from an
            earlier version reach back no further then. What snapshots need stays.
        dry_run: only tell what would be done.
    """
    duties = maintenance.Duties(
        tables=tables,
        dead_letters=dead_letters,
        expiration=expiration,
        retention=retention,
        exact=exact,
        optimize=optimize,
        vacuum=vacuum,
        log_retention=maintenance.checked_log_retention(log_retention),
        dry_run=dry_run,
    )
    return maintenance.maintain(self._tables, self._clock.now, duties)


def write_table(self: Store, subscription: str) -> table_subscriptions.TableWrites:
    """Write the messages of a table subscription to its table now, each once.

    A running server does that by itself, and ``maintain`` for those without one. All of them
    may do it at the same time. FailedPrecondition without a ``table_config``; what keeps
    messages from being written stands in the result.
    """
    return table_subscriptions.write_messages(
        self._tables, self._subscription(subscription), self._clock.now
    )
