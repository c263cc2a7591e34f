"""PubSub: the one object that users hold. It only delegates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pubsub_delta.batches import AckIds, PulledBatch
from pubsub_delta.clock import Clock, SystemClock
from pubsub_delta.delivery.surveys import AckStateSurvey
from pubsub_delta.durations import Duration
from pubsub_delta.long_running import LongRunning
from pubsub_delta.metrics import MetricRow, Metrics
from pubsub_delta.names import ResourceName
from pubsub_delta.operations import (
    acknowledge,
    find,
    history,
    maintain,
    measure,
    metrics,
    publish,
    pull,
    seek,
    survey,
    views,
)
from pubsub_delta.operations.acknowledge import Named
from pubsub_delta.operations.seek import SeekPreview
from pubsub_delta.resources import AckResult, Message
from pubsub_delta.session import Sessions, check_session
from pubsub_delta.tables.ack_state.figures import SubscriptionFigures
from pubsub_delta.tables.store import Tables

if TYPE_CHECKING:  # pyspark, pyarrow and prometheus_client take long to import
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from pubsub_delta.exporter import MetricsExporter


class PubSub(LongRunning):
    """A message store under one root, with Google Cloud Pub/Sub's semantics.

    Args:
        spark: a session with Delta, whose configuration is never changed; or a function that
            returns one, which is called when it is first needed; or None, where there is to be no
            Spark: then all works but what takes or gives a DataFrame or a streaming query.
        root: where the tables are: a directory (``"/data/pubsub"``), a URL
            (``"s3a://bucket/pubsub"``) or a catalog schema (``"main.pubsub"``).
        project: the project that short ids mean.
        clock: what tells the time; a ManualClock in tests.
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
    ) -> None:
        if spark is not None and not callable(spark):  # one that is started later is checked then
            check_session(spark)
        time = clock if clock is not None else SystemClock()
        super().__init__(Tables(spark, root, lane=lane), project, time)

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
        found = self._tables.topic(self._topic(topic))
        return publish.publish(
            self._tables,
            found,
            messages,
            self._clock.now(),
            idempotency_id,
            order_by,
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

    # Looking in

    def read_topic(
        self, topic: str, *, as_of: int | datetime | str | None = None, typed: bool = False
    ) -> DataFrame:
        """Return the stored messages of a topic: message_id and the message's columns.

        ``as_of``: as they were stored then. An int is a version of the Delta table. A time is one
        of the store's clock: the messages stamped until then, of the table as it was before the
        first publish with a later stamp. The history reaches back 8 days, or to what
        ``maintain(log_retention=...)`` left.

        ``typed``: with the fields of the messages as further columns, those of the newest revision
        that the topic accepts. Each message is read by the revision that it was published under.
        ``schema_error`` tells why the fields of one are null that cannot be read so.
        FailedPrecondition where the topic has no schema.
        """
        return measure.read_topic(self._tables, self._topic(topic), as_of, typed=typed)

    def topic_history(self, topic: str, limit: int | None = None) -> list[history.TopicCommit]:
        """Return the last commits of a topic, newest first, with what each published or deleted.

        None means all that are still known: those of the last 8 days at least, unless
        ``maintain(log_retention=...)`` kept fewer.
        """
        return history.topic_history(self._tables, self._topic(topic), limit)

    def backlog(self, subscription: str) -> DataFrame:
        """Return the unacknowledged messages of a subscription; nothing is leased or written.

        Columns: message_id and the message's columns, ``state`` (available, leased, backing_off
        or forwarding), and ``delivery_attempt``, the one under way or to come. It is one above
        the permitted ones where the message waits to be forwarded.
        """
        return measure.backlog(self._tables, self._subscription(subscription), self._clock.now())

    def peek(
        self, subscription: str, max_messages: int = 25, *, max_bytes: int = 4096
    ) -> list[survey.PeekedMessage]:
        """Return the first unacknowledged messages in the order of receipt; nothing is leased.

        Leased and waiting ones are among them. ``max_bytes``: of the data of each.
        """
        name = self._subscription(subscription)
        return survey.peek(self._tables, name, max_messages, max_bytes, self._clock.now())

    def find_messages(
        self, name: str, wanted: find.MessageQuery | None = None
    ) -> find.MessageSearch:
        """Return a search among the messages that a topic stores, or of a subscription's topic.

        ``name``: full, ``projects/p/topics/t`` or ``projects/p/subscriptions/s``. Nothing is leased
        or written, and nothing is read before the search is asked for messages.
        """
        wanted = find.MessageQuery() if wanted is None else wanted
        return find.search(self._tables, name, wanted, self._project, self._clock.now())

    def survey_ack_state(self, subscription: str) -> AckStateSurvey:
        """Return the spans that make up the ack state of a subscription, for a picture of it.

        There are at most some 1,500 however many messages there are.
        """
        return survey.ack_state(self._tables, self._subscription(subscription), self._clock.now())

    def subscription_history(
        self, subscription: str, points: int = 30
    ) -> list[survey.SubscriptionMoment]:
        """Return the figures of a subscription over time, the earliest first.

        Every commit of its ack state that its table still has is such a point; of many, about
        ``points`` are read. The last point is now. For a busy subscription they reach back some
        minutes.
        """
        name = self._subscription(subscription)
        return survey.over_time(self._tables, name, points, self._clock.now())

    def subscription_figures(self, subscription: str) -> SubscriptionFigures:
        """Return the figures of a subscription as they are now, without a size in bytes.

        They are those of ``metrics``, for who looks at many subscriptions.
        """
        name = self._subscription(subscription)
        return survey.subscription_figures(self._tables, name, self._clock.now())

    def topic_figures(self, topic: str) -> survey.TopicFigures:
        """Return how much a topic stores and how fast it grows, as its log tells it."""
        return survey.topic_figures(self._tables, self._topic(topic), self._clock.now())

    def messages_by_day(self, topic: str) -> list[survey.DayCount]:
        """Return how many of the stored messages of a topic were published on each day, in UTC."""
        return survey.messages_by_day(self._tables, self._topic(topic))

    def create_views(
        self, schema: str | None = None, *, temporary: bool | None = None, prefix: str = ""
    ) -> views.ViewsReport:
        """Create a view of each topic, and of each subscription's backlog, under plain names.

        ``orders`` has the messages of a topic, ``orders_billing_backlog`` what a subscription has
        not acknowledged. Called again, it makes them those of the resources that are there: stale
        views go, and a view whose resource was created anew is of the new one. Tables and views of
        others are never touched; the report names those that were in the way.

        In a schema of the catalog a backlog is shown as it was at this call, with that time as
        ``as_of``. A temporary one is looked at by each query, in Spark 4.2 and where ``store.lane``
        is direct.

        Args:
            schema: where the views are to be; by default that of the store, and for a store under a
                path none, as the views are temporary then.
            temporary: True for views of this session, also of a store in a catalog.
            prefix: what all names are to begin with.
        """
        return views.create_views(
            self._tables, self._project, self._clock.now(), schema, prefix, temporary=temporary
        )

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
            dead_letters=dead_letters,
            expiration=expiration,
            retention=retention,
            exact=exact,
            optimize=optimize,
            vacuum=vacuum,
            log_retention=maintain.checked_log_retention(log_retention),
            dry_run=dry_run,
        )
        return maintain.maintain(self._tables, self._clock.now(), duties)

    def _acknowledge(self, name: ResourceName, ack_ids: AckIds | Named) -> AckResult:
        return acknowledge.acknowledge(self._tables, name, ack_ids, self._clock.now())

    def _modify_ack_deadline(
        self,
        name: ResourceName,
        ack_ids: AckIds | Named,
        seconds: int,
    ) -> AckResult:
        return acknowledge.modify_ack_deadline(
            self._tables, name, ack_ids, seconds, self._clock.now()
        )
