"""PubSub: the one object that users hold. It only delegates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pubsub_delta.batches import AckIds, PulledBatch
from pubsub_delta.clock import Clock, SystemClock
from pubsub_delta.delivery import table_subscriptions
from pubsub_delta.durations import Duration
from pubsub_delta.inspection import Inspection
from pubsub_delta.metrics import MetricRow, Metrics
from pubsub_delta.names import ResourceName
from pubsub_delta.operations import (
    acknowledge,
    maintain,
    metrics,
    publish,
    pull,
    seek,
)
from pubsub_delta.operations.acknowledge import AckTargets
from pubsub_delta.operations.seek import SeekPreview
from pubsub_delta.resources import AckResult, Message
from pubsub_delta.session import Sessions, check_session
from pubsub_delta.tables.store import Tables

if TYPE_CHECKING:  # pyspark, pyarrow and prometheus_client take long to import
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from pubsub_delta.exporter import MetricsExporter


class PubSub(Inspection):
    """A message store under one root, with Google Cloud Pub/Sub's semantics.

    Args:
        spark: a session with Delta, whose configuration is never changed; or a function that
            returns one, which is called when it is first needed; or None, where there is to be no
            Spark: then all works but what takes or gives a DataFrame or a streaming query.
        root: where the tables are: a directory (``"/data/pubsub"``), a URL
            (``"s3a://bucket/pubsub"``) or a catalog schema (``"main.pubsub"``).
        project: the project that short ids mean.
        clock: what tells the time; a ManualClock in tests.
        tables_root: a directory or URL below which the tables are that subscriptions are written
            to (``table_config``); by default ``tables`` below the root.
        lane: ``"direct"`` or ``"spark"`` does all that is small that way; by default it is done
            directly where deltalake reaches the tables, and by Spark elsewhere.

    Names are short ids (``"flights"``) or full names (``"projects/p/topics/flights"``). Every
    error is a PubSubError, named by Google's canonical code.
    """

    def __init__(
        self,
        spark: Sessions,
        root: str,
        *,
        project: str = "local",
        clock: Clock | None = None,
        lane: Literal["direct", "spark"] | None = None,
        tables_root: str | None = None,
    ) -> None:
        if spark is not None and not callable(spark):  # one that is started later is checked then
            check_session(spark)
        time = clock if clock is not None else SystemClock()
        super().__init__(Tables(spark, root, lane=lane, tables_root=tables_root), project, time)

    @property
    def spark(self) -> SparkSession:
        """The session that does what is large; it is started now if it was not before.

        FailedPrecondition where the store was opened without one.
        """
        return self._tables.spark

    # Messages

    def publish(
        self,
        topic: str,
        messages: DataFrame | pa.Table | Iterable[Message | bytes | str],
        *,
        idempotency_id: tuple[str, int] | None = None,
        order_by: str | None = None,
    ) -> publish.PublishResult:
        """Publish messages in one atomic commit.

        A DataFrame, or an Arrow table, has ``data BINARY`` (or STRING), ``attributes
        MAP<STRING,STRING>`` and ``ordering_key STRING``, each of which may be absent, though not
        the first two together. One bad message fails the whole request with InvalidArgument, and
        nothing is written.

        ``idempotency_id``: (application id, version), rising versions; publishing the same one
        again writes nothing and returns the first result.

        ``order_by``: the column of a DataFrame that gives the order of receipt of the messages of
        an ordering key; it is not stored. Without it the order within a DataFrame is whatever
        Spark makes of it. Messages given one by one, or as an Arrow table, are received in that
        order.
        """
        name, tables = self._topic(topic), self._tables
        with tables.prefetching(name):
            return publish.publish(
                tables, tables.topic(name), messages, self._clock.now(), idempotency_id, order_by
            )

    def pull(self, subscription: str, max_messages: int | None = None) -> PulledBatch:
        """Lease up to so many available messages, oldest first, until now + the ack deadline.

        What failed comes after what was not tried. None means all that are available. The batch may
        be smaller, or empty.
        """
        name = self._subscription(subscription)
        leased = pull.pull(self._tables, name, max_messages, self._clock.now())
        return PulledBatch(
            leased,
            lambda: self._tables.spark,
            lambda ids: self._acknowledge(name, ids),
            lambda ids, seconds: self._modify_ack_deadline(name, ids, seconds),
        )

    def acknowledge(self, subscription: str, ack_ids: AckIds) -> AckResult:
        """Acknowledge deliveries: a list or Arrow array of ack ids, or rows with them.

        Rows are a DataFrame or an Arrow table with a column ``ack_id``.
        """
        return self._acknowledge(self._subscription(subscription), ack_ids)

    def modify_ack_deadline(
        self,
        subscription: str,
        ack_ids: AckIds,
        ack_deadline_seconds: int,
    ) -> AckResult:
        """Move the deadline of deliveries to so many seconds from now (1–600); 0 is a nack."""
        return self._modify_ack_deadline(
            self._subscription(subscription), ack_ids, ack_deadline_seconds
        )

    def seek(
        self,
        subscription: str,
        *,
        time: datetime | str | None = None,
        snapshot: str | None = None,
    ) -> None:
        """Acknowledge and un-acknowledge messages in bulk: one small commit, at once.

        ``time``: what was published before it becomes acknowledged, and what was published at
        that time or later becomes available again, as far as it is retained. A time in the future
        also acknowledges what is published until then. It is an aware datetime, or RFC 3339 text
        (``"2026-01-01T00:00:00Z"``). ``snapshot``: of the same topic; exactly
        what it holds becomes available, as far as it passes the subscription's filter.

        Leases, delivery attempts and backoffs from before the seek are void.
        """
        seek.seek(
            self._tables,
            self._subscription(subscription),
            self._clock.now(),
            time,
            None if snapshot is None else self._snapshot(snapshot),
        )

    def preview_seek(
        self,
        subscription: str,
        *,
        time: datetime | str | None = None,
        snapshot: str | None = None,
    ) -> SeekPreview:
        """Count what ``seek`` with the same arguments would change now; nothing is written.

        What ``seek`` would refuse is refused.
        """
        return seek.preview(
            self._tables,
            self._subscription(subscription),
            self._clock.now(),
            time,
            None if snapshot is None else self._snapshot(snapshot),
        )

    def write_table(self, subscription: str) -> table_subscriptions.TableWrites:
        """Write the messages of a table subscription to its table now, each once.

        A running server does that by itself, and ``maintain`` for those without one. All of them
        may do it at the same time. FailedPrecondition without a ``table_config``; what keeps
        messages from being written is told by the result.
        """
        return table_subscriptions.write_messages(
            self._tables, self._subscription(subscription), self._clock.now
        )

    # Metrics and upkeep

    def metrics(self, name: str, *, exact: bool = False) -> Metrics:
        """Return the metrics of a subscription, topic or snapshot, under Google's names.

        A short id means the subscription of that name if there is one, else the topic, else the
        snapshot. ``estimates`` of the result names the values that are estimates. The sizes in
        bytes are measured when they are first looked at.

        ``exact``: no estimates; sizes then take a scan of the messages that they are about.
        """
        return metrics.metrics(self._tables, name, self._project, self._clock.now(), exact=exact)

    def metrics_table(
        self, names: Iterable[str] | None = None, *, exact: bool = False
    ) -> DataFrame:
        """Return the metrics of all resources of the store, or of some, a row for each figure.

        Columns: ``kind`` (subscription, topic or snapshot), ``name`` (full), ``metric``,
        ``labels MAP<STRING,STRING>``, ``value DOUBLE``, ``unit`` (1, s or By), ``is_estimate``,
        and ``time``, which is the same in all rows. It is measured by the call, so that it can be
        appended to a table. ``ack_message_count`` has a row for each ``response_code``; a time
        stands in seconds since 1970.

        Args:
            names: as ``metrics`` takes them; by default everything, of every project.
            exact: no estimates. Without it ``backlog_bytes`` is estimated from the mean size of
                the topic's messages, so that only topics are read and not each backlog.
        """
        now = self._clock.now()
        return metrics.metrics_table(self._tables, names, self._project, now, exact=exact)

    def metrics_exporter(
        self,
        names: Iterable[str] | None = None,
        *,
        interval: Duration = "60s",
        exact: bool = False,
    ) -> MetricsExporter:
        """Return an exporter of the figures of ``metrics_table`` for Prometheus.

        ``with store.metrics_exporter() as exporter: exporter.serve(9464)`` measures every
        ``interval`` in the background and answers scrapes. It needs the extra ``prometheus``.
        """
        from pubsub_delta.exporter import MetricsExporter

        wanted = names if names is None or isinstance(names, str) else tuple(names)

        def measure() -> list[MetricRow]:
            now = self._clock.now()
            return metrics.rows(self._tables, wanted, self._project, now, exact=exact)

        return MetricsExporter(measure, self._clock.now, interval=interval)

    # Looking after it

    def maintain(
        self,
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
    ) -> maintain.MaintenanceReport:
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
        duties = maintain.Duties(
            tables=tables,
            dead_letters=dead_letters,
            expiration=expiration,
            retention=retention,
            exact=exact,
            optimize=optimize,
            vacuum=vacuum,
            log_retention=maintain.checked_log_retention(log_retention),
            dry_run=dry_run,
        )
        return maintain.maintain(self._tables, self._clock.now, duties)

    def _acknowledge(self, name: ResourceName, ack_ids: AckIds | AckTargets) -> AckResult:
        return acknowledge.acknowledge(self._tables, name, ack_ids, self._clock.now())

    def _modify_ack_deadline(
        self,
        name: ResourceName,
        ack_ids: AckIds | AckTargets,
        seconds: int,
    ) -> AckResult:
        return acknowledge.modify_ack_deadline(
            self._tables, name, ack_ids, seconds, self._clock.now()
        )
