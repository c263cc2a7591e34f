"""Every table's columns and properties. All are plain Delta: reader protocol 1, writer protocol 2.

All important properties are explicit, since the defaults of a session reach every table that it
creates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa

from pubsub_delta.tables.layout_version import LAYOUT_VERSION, PROPERTY

TEXT = pa.string()
WHOLE = pa.int64()
TIME = pa.timestamp("us", tz="UTC")
TEXT_BY_TEXT = pa.map_(pa.string(), pa.string())


def _struct(**columns: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, type_) for name, type_ in columns.items()])


def _columns(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, type_) for name, type_ in columns.items()])


@dataclass(frozen=True)
class TableSchema:
    """The columns and properties of a new table."""

    columns: pa.Schema
    properties: dict[str, str]
    partitioned_by: tuple[str, ...] = ()


_PLAIN = {
    "delta.minReaderVersion": "1",
    "delta.minWriterVersion": "2",
    "delta.appendOnly": "false",
    "delta.columnMapping.mode": "none",
    "delta.checkpointPolicy": "classic",
    "delta.enableChangeDataFeed": "false",
    "delta.enableDeletionVectors": "false",
    "delta.enableInCommitTimestamps": "false",
    "delta.enableRowTracking": "false",
    "delta.enableTypeWidening": "false",
    "delta.checkpointInterval": "100",
}
CHECKPOINT_INTERVAL = 100
"""The versions from one checkpoint to the next."""

MESSAGE_COLUMNS = ("publish_time", "data", "attributes", "ordering_key")
"""The columns of a message that readers see, in order."""

MESSAGES = TableSchema(
    columns=_columns(
        position=WHOLE,
        publish_date=pa.date32(),
        publish_time=TIME,
        ordering_key=TEXT,
        attributes=TEXT_BY_TEXT,
        data=pa.binary(),
    ),
    partitioned_by=("publish_date",),  # the day in UTC, whatever a session's time zone
    properties={
        **_PLAIN,
        "delta.dataSkippingStatsColumns": "position,publish_time",  # none on payload
        # Open batches, as_of and streams read the past. Idle subscriptions find new messages by the
        # log. So only ``maintain`` cleans it, after it has brought their ack states up to date.
        "delta.enableExpiredLogCleanup": "false",
        "delta.logRetentionDuration": "interval 8 days",
        "delta.deletedFileRetentionDuration": "interval 8 days",
    },
)

_MESSAGE: dict[str, pa.DataType] = {
    "message_id": TEXT,
    **{name: MESSAGES.columns.field(name).type for name in MESSAGE_COLUMNS},
}

BATCH = _columns(ack_id=TEXT, **_MESSAGE, delivery_attempt=pa.int32())
"""The columns of a pulled batch."""

BACKLOG = _columns(**_MESSAGE, state=TEXT, delivery_attempt=pa.int32())
"""The columns of a backlog."""

METRICS = _columns(
    kind=TEXT,
    name=TEXT,
    metric=TEXT,
    labels=TEXT_BY_TEXT,
    value=pa.float64(),
    unit=TEXT,
    is_estimate=pa.bool_(),
    time=TIME,
)
"""The columns of a table of metrics."""

SPAN = _struct(
    state=TEXT,
    failures=pa.int32(),
    delivery_attempt=pa.int32(),
    lease_id=WHOLE,
    failed_lease_id=WHOLE,
    until=TIME,
    forward_to=TEXT,
    message_count=WHOLE,
    publish_time_min=TIME,
    publish_time_max=TIME,
    positions=pa.binary(),
)

CAPTURED = _struct(spans=pa.list_(SPAN), after_version=WHOLE, floor=TIME, filter=TEXT)

SEEK = _struct(at=TIME, at_version=WHOLE, time=TIME, covered_from=TIME, captured=CAPTURED)

STREAM = _struct(
    query_id=TEXT, batch_id=WHOLE, lease_id=WHOLE, message_count=WHOLE, positions=pa.binary()
)

COUNTERS = _struct(success=WHOLE, expired=WHOLE, invalid=WHOLE, dead_letters=WHOLE)

_NO_PAST = {
    # Nothing needs old versions of a table of one row that every commit rewrites, as a snapshot is
    # another table. Every read lists the commits and removed files that are kept.
    "delta.enableExpiredLogCleanup": "true",
    "delta.logRetentionDuration": "interval 1 minutes",
    "delta.deletedFileRetentionDuration": "interval 1 minutes",
}

ACK_STATE = TableSchema(
    columns=_columns(
        revision=WHOLE,
        commit_id=TEXT,
        recent_commits=pa.list_(TEXT),
        after_version=WHOLE,
        floor=TIME,
        absorbed_below=WHOLE,
        next_lease_id=WHOLE,
        first_lease_id=WHOLE,
        active_time=TIME,
        seeks=pa.list_(SEEK),
        spans=pa.list_(SPAN),
        streams=pa.list_(STREAM),
        counters=COUNTERS,
        # The totals of spans, for SQL and for the progress of each micro-batch.
        num_undelivered_messages=WHOLE,
        num_outstanding_messages=WHOLE,
        oldest_unacked_publish_time=TIME,
    ),
    properties={**_PLAIN, **_NO_PAST, "delta.dataSkippingStatsColumns": "revision"},
)

POSITIONS = TableSchema(
    columns=_columns(next_position=WHOLE, reservation_id=TEXT),
    properties={**_PLAIN, **_NO_PAST, "delta.dataSkippingStatsColumns": "next_position"},
)
"""One row: the lowest position of a topic that was never allocated."""

_RESOURCE = {"name": TEXT, "uid": TEXT, "etag": TEXT, "create_time": TIME}
"""The columns of every resource, before its own."""

_REGISTRY = {
    **_PLAIN,
    PROPERTY: str(LAYOUT_VERSION),
    "delta.enableExpiredLogCleanup": "true",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 1 days",
}

TOPICS = TableSchema(
    columns=_columns(
        **_RESOURCE,
        delete_time=TIME,
        message_retention_micros=WHOLE,
        retained_from=TIME,
        labels=TEXT_BY_TEXT,
        iam_policy=TEXT,
        schema=TEXT,
        schema_uid=TEXT,
        schema_encoding=TEXT,
        first_revision_id=TEXT,
        last_revision_id=TEXT,
    ),
    properties={**_REGISTRY, "delta.dataSkippingStatsColumns": "name,uid"},
)

SUBSCRIPTIONS = TableSchema(
    columns=_columns(
        **_RESOURCE,
        update_time=TIME,
        topic=TEXT,
        topic_uid=TEXT,
        ack_deadline_seconds=WHOLE,
        message_retention_micros=WHOLE,
        retain_acked_messages=pa.bool_(),
        expiration_ttl_micros=WHOLE,
        filter=TEXT,
        enable_message_ordering=pa.bool_(),
        enable_exactly_once_delivery=pa.bool_(),
        dead_letter_topic=TEXT,
        max_delivery_attempts=WHOLE,
        minimum_backoff_micros=WHOLE,
        maximum_backoff_micros=WHOLE,
        detached=pa.bool_(),
        labels=TEXT_BY_TEXT,
        push_endpoint=TEXT,
        push_write_metadata=pa.bool_(),
        push_service_account=TEXT,
        push_audience=TEXT,
        table_name=TEXT,
        use_topic_schema=pa.bool_(),
        use_table_schema=pa.bool_(),
        write_metadata=pa.bool_(),
        drop_unknown_fields=pa.bool_(),
        iam_policy=TEXT,
    ),
    properties={**_REGISTRY, "delta.dataSkippingStatsColumns": "name,uid,topic_uid"},
)

SNAPSHOTS = TableSchema(
    columns=_columns(
        **_RESOURCE,
        expire_time=TIME,
        topic=TEXT,
        topic_uid=TEXT,
        labels=TEXT_BY_TEXT,
        filter=TEXT,
        announced=TIME,
        iam_policy=TEXT,
    ),
    properties={**_REGISTRY, "delta.dataSkippingStatsColumns": "name,uid,topic_uid"},
)
"""``filter``: the filter of the subscription whose ack state the snapshot's table is a copy of.

``announced``: since when the snapshot is being taken, or removed; null for a finished one.
``iam_policy``, of every resource: JSON, null without a policy.
"""

REVISION = _struct(revision_id=TEXT, create_time=TIME, definition=TEXT, compiled=pa.binary())
"""``definition``: null once the revision is deleted.

``compiled``: a FileDescriptorSet of Protocol Buffers.
"""

SCHEMAS = TableSchema(
    columns=_columns(**_RESOURCE, type=TEXT, revisions=pa.list_(REVISION)),
    properties={**_REGISTRY, "delta.dataSkippingStatsColumns": "name,uid"},
)

_STATS = "delta.dataSkippingStatsColumns"
_OF_A_STORE = (TOPICS, SUBSCRIPTIONS, SNAPSHOTS, SCHEMAS, MESSAGES, ACK_STATE, POSITIONS)


def is_of_a_store(columns: Collection[str], properties: Mapping[str, str]) -> bool:
    """Return whether a table is one of a store's own, by its columns and a property.

    >>> is_of_a_store(POSITIONS.columns.names, POSITIONS.properties)
    True
    >>> is_of_a_store(POSITIONS.columns.names, {})
    False
    """
    return any(
        set(each.columns.names) <= set(columns)
        and properties.get(_STATS) == each.properties[_STATS]
        for each in _OF_A_STORE
    )
