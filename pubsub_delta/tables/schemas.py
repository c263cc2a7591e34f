"""Every table's columns and properties."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

LABELS = MapType(StringType(), StringType())


def _struct(not_null: Container[str] = (), /, **columns: DataType) -> StructType:
    return StructType(
        [StructField(name, type_, name not in not_null) for name, type_ in columns.items()]
    )


@dataclass(frozen=True)
class TableSchema:
    """What CREATE TABLE needs to know."""

    columns: StructType
    properties: dict[str, str]
    partitioned_by: tuple[str, ...] = ()
    generated: dict[str, str] = field(default_factory=dict)


MESSAGE_COLUMNS = ("publish_time", "data", "attributes", "ordering_key")
"""The columns of a message that its readers see, in their order."""

EMPTY_BATCH = _struct(
    ("ack_id", "message_id"),
    ack_id=StringType(),
    message_id=StringType(),
    publish_time=TimestampType(),
    data=BinaryType(),
    attributes=MapType(StringType(), StringType()),
    ordering_key=StringType(),
    delivery_attempt=IntegerType(),
)
"""The columns of a pulled batch, for one without messages."""

CHECKPOINT_INTERVAL = 100
"""Versions from one checkpoint to the next."""
KEPT_COMMITS = "pubsub_delta.keptCommits"
"""Property of a table: how many of its last commits stay in its log, where nobody needs others."""

_KEEP_A_WEEK_AND_A_DAY = {
    # A message is kept for at most 7 days; what an open batch of it reads must outlive that.
    "delta.logRetentionDuration": "interval 8 days",
    "delta.deletedFileRetentionDuration": "interval 8 days",
}

MESSAGES = TableSchema(
    columns=_struct(
        publish_date=DateType(),
        publish_time=TimestampType(),
        ordering_key=StringType(),
        attributes=MapType(StringType(), StringType()),
        data=BinaryType(),
    ),
    partitioned_by=("publish_date",),
    # The day in UTC whatever the session's time zone: CAST(publish_time AS DATE) would put the
    # same message on different days for writers and readers in different zones.
    generated={
        "publish_date": "date_add(DATE'1970-01-01', "
        "CAST(floor(unix_timestamp(publish_time) / 86400) AS INT))"
    },
    properties={
        "delta.enableRowTracking": "true",  # row ids are the message positions
        "delta.enableInCommitTimestamps": "true",
        "delta.enableDeletionVectors": "true",
        "delta.dataSkippingStatsColumns": "publish_time",  # none on payload
        "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
        **_KEEP_A_WEEK_AND_A_DAY,
    },
)

EMPTY_BACKLOG = _struct(
    message_id=StringType(),
    publish_time=TimestampType(),
    data=BinaryType(),
    attributes=MapType(StringType(), StringType()),
    ordering_key=StringType(),
    state=StringType(),
    delivery_attempt=IntegerType(),
)
"""The columns of a backlog, for one without messages."""

SPAN = _struct(
    state=StringType(),
    failures=IntegerType(),
    delivery_attempt=IntegerType(),
    lease_id=LongType(),
    until=TimestampType(),
    forward_to=StringType(),
    message_count=LongType(),
    publish_time_min=TimestampType(),
    publish_time_max=TimestampType(),
    positions=BinaryType(),
)

CAPTURED = _struct(
    spans=ArrayType(SPAN),
    after_version=LongType(),
    floor=TimestampType(),
    filter=StringType(),
)

SEEK = _struct(
    at=TimestampType(),
    at_version=LongType(),
    time=TimestampType(),
    covered_from=TimestampType(),
    captured=CAPTURED,
)

STREAM = _struct(
    query_id=StringType(),
    batch_id=LongType(),
    lease_id=LongType(),
    message_count=LongType(),
    positions=BinaryType(),
)

COUNTERS = _struct(
    success=LongType(), expired=LongType(), invalid=LongType(), dead_letters=LongType()
)

_SMALL_AND_HOT = {
    # One row that every commit rewrites: a deletion vector would only be one more file to read.
    "delta.enableDeletionVectors": "false",
    "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
    **_KEEP_A_WEEK_AND_A_DAY,
}

ACK_STATE = TableSchema(
    columns=_struct(
        revision=LongType(),
        recent_commits=ArrayType(StringType()),
        after_version=LongType(),
        floor=TimestampType(),
        absorbed_below=LongType(),
        next_lease_id=LongType(),
        first_lease_id=LongType(),
        active_time=TimestampType(),
        seeks=ArrayType(SEEK),
        spans=ArrayType(SPAN),
        streams=ArrayType(STREAM),
        counters=COUNTERS,
    ),
    properties={
        "delta.dataSkippingStatsColumns": "revision",
        # Delta lists the whole log for each commit, and keeps a day of it at least.
        KEPT_COMMITS: "1000",
        **_SMALL_AND_HOT,
    },
)

TOPICS = TableSchema(
    columns=_struct(
        name=StringType(),
        uid=StringType(),
        create_time=TimestampType(),
        delete_time=TimestampType(),
        message_retention_micros=LongType(),
        retained_from=TimestampType(),
        labels=LABELS,
    ),
    properties={"delta.dataSkippingStatsColumns": "name", **_SMALL_AND_HOT},
)

SUBSCRIPTIONS = TableSchema(
    columns=_struct(
        name=StringType(),
        uid=StringType(),
        create_time=TimestampType(),
        update_time=TimestampType(),
        topic=StringType(),
        topic_uid=StringType(),
        ack_deadline_seconds=LongType(),
        message_retention_micros=LongType(),
        retain_acked_messages=BooleanType(),
        expiration_ttl_micros=LongType(),
        filter=StringType(),
        enable_message_ordering=BooleanType(),
        enable_exactly_once_delivery=BooleanType(),
        dead_letter_topic=StringType(),
        max_delivery_attempts=LongType(),
        minimum_backoff_micros=LongType(),
        maximum_backoff_micros=LongType(),
        detached=BooleanType(),
        labels=LABELS,
        push_endpoint=StringType(),
        push_write_metadata=BooleanType(),
    ),
    properties={"delta.dataSkippingStatsColumns": "name,topic_uid", **_SMALL_AND_HOT},
)

PUSH_COLUMNS = ("push_endpoint", "push_write_metadata")
"""Columns that earlier stores lack: a table gets them with its first push_config.

Without an endpoint messages are pulled. ``push_write_metadata`` is null for JSON around each
message.
"""

SNAPSHOTS = TableSchema(
    columns=_struct(
        name=StringType(),
        uid=StringType(),
        create_time=TimestampType(),
        expire_time=TimestampType(),
        topic=StringType(),
        topic_uid=StringType(),
        labels=LABELS,
        captured=CAPTURED,
    ),
    properties={"delta.dataSkippingStatsColumns": "name,topic_uid", **_SMALL_AND_HOT},
)
