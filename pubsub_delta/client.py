"""PubSub: the store as users see it, and the list of its methods.

The methods about messages are here. The others are functions of ``methods``, by subject. Each
parses the names and times that it is given, and calls one operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pubsub_delta.batches import AckIds, PulledBatch
from pubsub_delta.clock import CheckedClock, Clock, SystemClock
from pubsub_delta.methods import (
    inspection,
    maintenance,
    schemas,
    snapshots,
    streams,
    subscriptions,
    topics,
)
from pubsub_delta.methods import (
    metrics as measuring,
)
from pubsub_delta.names import (
    ResourceName,
    check_project,
    snapshot_name,
    subscription_name,
    topic_name,
)
from pubsub_delta.operations import (
    acknowledge,
    publish,
    pull,
    seek,
)
from pubsub_delta.operations.seek import SeekPreview
from pubsub_delta.policy.preconditions import check_if_unchanged, check_unchanged
from pubsub_delta.resources import AckResult, Message, Subscription, Topic
from pubsub_delta.session import Sessions, check_session
from pubsub_delta.tables.store import Tables
from pubsub_delta.threads import refuse_to_pickle

if TYPE_CHECKING:  # pyspark and pyarrow take long to import
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class PubSub:
    """A message store under one root, with Google Cloud Pub/Sub's semantics.

    Args:
        spark: a session with Delta, whose configuration is never changed; or a function that
            returns one, called at the first use; or None for no Spark. Without Spark everything
            works but DataFrames and streaming queries.
        root: where the tables are: a directory (``"/data/pubsub"``), a URL
            (``"s3a://bucket/pubsub"``) or a catalog schema (``"main.pubsub"``).
        project: the project that short ids mean.
        clock: the clock that returns the time; a ManualClock in tests.
        tables_root: the directory or URL of the tables of table subscriptions (``table_config``);
            by default ``tables`` below the root.
        lane: ``"direct"`` or ``"spark"`` forces the lane of small work. By default small work takes
            the direct lane where deltalake reaches the tables, and Spark elsewhere.

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
        if spark is not None and not callable(spark):  # a session that starts later is checked then
            check_session(spark)
        self._tables = Tables(spark, root, lane=lane, tables_root=tables_root)
        self._project = check_project(project)
        self._clock: CheckedClock = CheckedClock(SystemClock() if clock is None else clock)

    __reduce__ = refuse_to_pickle

    @property
    def spark(self) -> SparkSession:
        """The Spark session; it is started now if it was not before.

        FailedPrecondition if the store was opened without one.
        """
        return self._tables.spark

    @property
    def tables(self) -> Tables:
        """The tables of the store, for the server that works on the same store."""
        return self._tables

    @property
    def project(self) -> str:
        """The project that short ids mean."""
        return self._project

    @property
    def clock(self) -> Clock:
        """The clock that returns the time."""
        return self._clock.clock

    @property
    def lane(self) -> str:
        """The lane that does small work, and why, in one line."""
        return self._tables.lane_line

    # Administration

    create_topic = topics.create_topic
    get_topic = topics.get_topic
    list_topics = topics.list_topics
    update_topic = topics.update_topic
    delete_topic = topics.delete_topic
    list_topic_subscriptions = topics.list_topic_subscriptions
    list_topic_snapshots = topics.list_topic_snapshots

    create_subscription = subscriptions.create_subscription
    get_subscription = subscriptions.get_subscription
    list_subscriptions = subscriptions.list_subscriptions
    update_subscription = subscriptions.update_subscription
    delete_subscription = subscriptions.delete_subscription
    detach_subscription = subscriptions.detach_subscription

    create_snapshot = snapshots.create_snapshot
    get_snapshot = snapshots.get_snapshot
    list_snapshots = snapshots.list_snapshots
    update_snapshot = snapshots.update_snapshot
    delete_snapshot = snapshots.delete_snapshot

    create_schema = schemas.create_schema
    get_schema = schemas.get_schema
    list_schemas = schemas.list_schemas
    list_schema_revisions = schemas.list_schema_revisions
    commit_schema = schemas.commit_schema
    rollback_schema = schemas.rollback_schema
    delete_schema_revision = schemas.delete_schema_revision
    delete_schema = schemas.delete_schema
    validate_schema = schemas.validate_schema
    validate_message = schemas.validate_message
    message_fields = schemas.message_fields

    # Messages

    def publish(
        self,
        topic: str,
        messages: DataFrame | pa.Table | Iterable[Message | bytes | str],
        *,
        idempotency_id: tuple[str, int] | None = None,
        order_by: str | None = None,
        if_unchanged: Topic | None = None,
    ) -> publish.PublishResult:
        """Publish messages in one atomic commit.

        A DataFrame, or an Arrow table, has the columns ``data BINARY`` (or STRING), ``attributes
        MAP<STRING,STRING>`` and ``ordering_key STRING``. Each can be absent, but ``data`` or
        ``attributes`` is needed. One bad message fails the whole request with InvalidArgument, and
        nothing is written.

        ``idempotency_id``: (application id, version), with rising versions. Publishing with the
        same one again writes nothing and returns the first result.

        ``order_by``: the column of a DataFrame or an Arrow table by which the messages of an
        ordering key are ordered, null first and NaN last; it is not stored. Without it Spark
        decides the order within a DataFrame, and an Arrow table is received in its own order, as a
        list is.

        ``if_unchanged``: the topic as it was read. If the stored one differs, the call publishes
        nothing and raises Aborted.
        """
        name, tables = self._topic(topic), self._tables
        wanted = check_if_unchanged(if_unchanged, Topic, str(name))
        with tables.prefetching(name):
            stored = tables.topic(name)
            check_unchanged(stored, wanted)
            return publish.publish(
                tables, stored, messages, self._clock.now(), idempotency_id, order_by
            )

    def pull(self, subscription: str, max_messages: int | None = None) -> PulledBatch:
        """Lease up to ``max_messages`` available ones, oldest first, until now + the ack deadline.

        Messages that failed come after those that were not tried. None leases all available
        messages. The batch can be smaller, or empty. InvalidArgument if ``max_messages`` is less
        than 1; NotFound without the subscription; FailedPrecondition if it is detached, or writes
        to a table.
        """
        name = self._subscription(subscription)
        lease = pull.pull(self._tables, name, max_messages, self._clock.now)
        return PulledBatch(self._tables, name, lease, self._clock)

    def acknowledge(self, subscription: str, ack_ids: AckIds) -> AckResult:
        """Acknowledge deliveries: a list or an Arrow array of ack ids, or rows with ack ids.

        Rows are a DataFrame or an Arrow table with a column ``ack_id``. The result has the outcome
        of each id. InvalidArgument if there is no id, or none is well-formed.
        """
        name = self._subscription(subscription)
        return acknowledge.acknowledge(self._tables, name, ack_ids, self._clock.now())

    def modify_ack_deadline(
        self,
        subscription: str,
        ack_ids: AckIds,
        ack_deadline_seconds: int,
    ) -> AckResult:
        """Move the deadline of deliveries to 1 to 600 seconds from now; 0 seconds is a nack."""
        name = self._subscription(subscription)
        return acknowledge.modify_ack_deadline(
            self._tables, name, ack_ids, ack_deadline_seconds, self._clock.now
        )

    def seek(
        self,
        subscription: str,
        *,
        time: datetime | str | None = None,
        snapshot: str | None = None,
        if_unchanged: Subscription | None = None,
    ) -> None:
        """Acknowledge and un-acknowledge messages in bulk, by one small commit.

        ``time``: messages published before it become acknowledged, and retained messages published
        at that time or later become available again. A time in the future also acknowledges the
        messages that are published until then. It is an aware datetime, or RFC 3339 text
        (``"2026-01-01T00:00:00Z"``). ``snapshot``: a snapshot of the same topic; exactly the
        messages that it holds and that pass the subscription's filter become available.
        ``if_unchanged``: the subscription as it was read. If the stored one differs, the call
        changes nothing and raises Aborted.

        The seek voids earlier leases, delivery attempts and backoffs. InvalidArgument unless
        exactly one of the two is given; NotFound, FailedPrecondition if the snapshot cannot be
        used.
        """
        seek.seek(
            self._tables,
            self._subscription(subscription),
            self._clock.now(),
            time,
            None if snapshot is None else self._snapshot(snapshot),
            if_unchanged,
        )

    def preview_seek(
        self,
        subscription: str,
        *,
        time: datetime | str | None = None,
        snapshot: str | None = None,
    ) -> SeekPreview:
        """Count the messages that ``seek`` with the same arguments would change; write nothing.

        It raises the errors that ``seek`` would raise.
        """
        return seek.preview(
            self._tables,
            self._subscription(subscription),
            self._clock.now(),
            time,
            None if snapshot is None else self._snapshot(snapshot),
        )

    # Streams, callbacks and publishers

    subscribe = streams.subscribe
    publisher = streams.publisher
    subscribe_stream = streams.subscribe_stream
    publish_stream = streams.publish_stream
    read_topic_stream = streams.read_topic_stream

    # Stored messages

    read_topic = inspection.read_topic
    check_messages = inspection.check_messages
    topic_history = inspection.topic_history
    backlog = inspection.backlog
    peek = inspection.peek
    find_messages = inspection.find_messages
    survey_ack_state = inspection.survey_ack_state
    subscription_history = inspection.subscription_history
    subscription_metrics = inspection.subscription_metrics
    topic_metrics = inspection.topic_metrics
    messages_by_day = inspection.messages_by_day
    create_views = inspection.create_views

    # Metrics and maintenance

    metrics = measuring.metrics
    metrics_table = measuring.metrics_table
    metrics_exporter = measuring.metrics_exporter
    maintain = maintenance.maintain
    write_table = maintenance.write_table

    def _topic(self, name: str) -> ResourceName:
        return topic_name(name, self._project)

    def _subscription(self, name: str) -> ResourceName:
        return subscription_name(name, self._project)

    def _snapshot(self, name: str) -> ResourceName:
        return snapshot_name(name, self._project)

    def _project_or(self, project: str | None) -> str:
        return self._project if project is None else check_project(project)
