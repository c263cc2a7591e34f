"""The methods of PubSub that measure and maintain a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pubsub_delta.delivery import table_subscriptions
from pubsub_delta.durations import Duration
from pubsub_delta.methods.store import Store
from pubsub_delta.metrics import MetricRow, Metrics
from pubsub_delta.operations import maintain as maintenance
from pubsub_delta.operations import metrics as measuring

if TYPE_CHECKING:  # pyspark and prometheus_client take long to import
    from pyspark.sql import DataFrame

    from pubsub_delta.exporter import MetricsExporter


def metrics(self: Store, name: str, *, exact: bool = False) -> Metrics:
    """Return the metrics of a subscription, topic or snapshot, under Google's names.

    A short id means the subscription of that name if there is one, else the topic, else the
    snapshot. ``estimates`` of the result names the values that are estimates. The sizes in bytes
    are measured at the first access. ``exact``: no estimates; each size then takes a scan of its
    messages. NotFound without such a resource.
    """
    return measuring.metrics(self._tables, name, self._project, self._clock.now(), exact=exact)


def metrics_table(
    self: Store, names: Iterable[str] | None = None, *, exact: bool = False
) -> DataFrame:
    """Return the metrics of all resources of the store, or of some, one row for each value.

    Columns: ``kind`` (subscription, topic or snapshot), ``name`` (full), ``metric``, ``labels
    MAP<STRING,STRING>``, ``value DOUBLE``, ``unit`` (1, s or By), ``is_estimate``, and ``time``,
    which is the same in all rows. The call measures all of it, so that the rows can be appended to
    a table. ``ack_message_count`` has a row for each ``response_code``; a time is in seconds since
    1970.

    Args:
        names: as ``metrics`` takes them; by default everything, of every project.
        exact: no estimates. Without it ``backlog_bytes`` is estimated from the mean size of the
            topic's messages, which reads only topics, and not each backlog.
    """
    now = self._clock.now()
    return measuring.metrics_table(self._tables, names, self._project, now, exact=exact)


def metrics_exporter(
    self: Store,
    names: Iterable[str] | None = None,
    *,
    interval: Duration = "60s",
    exact: bool = False,
) -> MetricsExporter:
    """Return an exporter of the metrics of ``metrics_table`` for Prometheus.

    ``with store.metrics_exporter() as exporter: exporter.serve(9464)`` measures once an
    ``interval`` in the background and responds to scrapes. It needs the extra ``prometheus``.
    """
    from pubsub_delta.exporter import MetricsExporter

    wanted = names if names is None or isinstance(names, str) else tuple(names)

    def measure() -> list[MetricRow]:
        now = self._clock.now()
        return measuring.rows(self._tables, wanted, self._project, now, exact=exact)

    return MetricsExporter(measure, self._clock.now, interval=interval)


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
