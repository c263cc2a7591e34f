"""The methods of PubSub that maintain a store."""

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
    """Do the periodic work of a store; report problems instead of raising them.

    Args:
        tables: write the messages of table subscriptions to their tables.
        dead_letters: forward messages whose last delivery attempt failed.
        expiration: delete subscriptions idle for longer than their ttl, and old snapshots.
        retention: delete the messages that no subscription or snapshot can get: whole days of
            publishing, by metadata alone.
        exact: with retention, delete single messages, which rewrites or marks files.
        optimize: write many small files of a topic as few large ones.
        vacuum: remove the files that no version of the last 8 days needs.
        log_retention: remove older commits from the logs of topics, ``"1m"`` to ``"365d"``. Every
            writer lists a topic's log, so a topic with a commit a second becomes slow after some
            days. ``as_of``, open batches and streams reach back no further then. Commits that
            snapshots need stay.
        dry_run: only report what would be done.
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

    A running server does the same continuously, and ``maintain`` for stores without one. All of
    them can run at the same time. FailedPrecondition without a ``table_config``. The result says
    how many messages were written, and why others were not.
    """
    return table_subscriptions.write_messages(
        self._tables, self._subscription(subscription), self._clock.now
    )
