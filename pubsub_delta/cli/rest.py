"""Records of resources and messages as Google's REST API: camelCase, without empty fields."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pubsub_delta.clock import UTC
from pubsub_delta.metrics import Metrics
from pubsub_delta.resources import (
    ExpirationPolicy,
    Message,
    PushConfig,
    ReceivedMessage,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.schemas import Encoding, Schema, SchemaSettings
from pubsub_delta.table_config import TableConfig

if TYPE_CHECKING:  # it needs Spark
    from pubsub_delta.operations.history import TopicCommit

Record = dict[str, Any]
"""JSON values: strings, numbers, booleans, and mappings and lists of them."""

_STATE = "ACTIVE"
"""The state of topics and subscriptions without an error."""
UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)
"""Stands for a time that a response does not have; it is not printed."""


def topic_record(topic: Topic) -> Record:
    """Return the record of a topic."""
    return _without_empty(
        {
            "name": topic.name,
            "labels": in_key_order(topic.labels),
            "messageRetentionDuration": duration_text(topic.message_retention_duration),
            "schemaSettings": _schema_settings(topic.schema_settings),
            "state": _STATE,
            "createTime": _time_or_none(topic.create_time),
        }
    )


def schema_record(schema: Schema) -> Record:
    """Return the record of a schema revision."""
    return _without_empty(
        {
            "name": schema.name,
            "type": schema.type.value,
            "definition": schema.definition,
            "revisionId": schema.revision_id,
            "revisionCreateTime": _time_or_none(schema.revision_create_time),
        }
    )


def subscription_record(subscription: Subscription) -> Record:
    """Return the record of a subscription.

    The expiration policy is empty if it never expires, and the push config if it is pulled.
    """
    dead, retry = subscription.dead_letter_policy, subscription.retry_policy
    table = subscription.table_config
    record = _without_empty(
        {
            "name": subscription.name,
            "topic": subscription.topic,
            "ackDeadlineSeconds": subscription.ack_deadline_seconds,
            "messageRetentionDuration": duration_text(subscription.message_retention_duration),
            "retainAckedMessages": subscription.retain_acked_messages,
            "filter": subscription.filter,
            "enableMessageOrdering": subscription.enable_message_ordering,
            "enableExactlyOnceDelivery": subscription.enable_exactly_once_delivery,
            "deadLetterPolicy": dead
            and {
                "deadLetterTopic": dead.dead_letter_topic,
                "maxDeliveryAttempts": dead.max_delivery_attempts,
            },
            "retryPolicy": retry
            and {
                "minimumBackoff": duration_text(retry.minimum_backoff),
                "maximumBackoff": duration_text(retry.maximum_backoff),
            },
            "bigqueryConfig": _table_config(table),
            "labels": in_key_order(subscription.labels),
            "detached": subscription.detached,
            "topicMessageRetentionDuration": duration_text(
                subscription.topic_message_retention_duration
            ),
            "state": "RESOURCE_ERROR" if table is not None and table.is_refused else _STATE,
            "createTime": _time_or_none(subscription.create_time),
            "updateTime": _time_or_none(subscription.update_time),
        }
    )
    return {
        **record,
        "expirationPolicy": _expiration(subscription.expiration_policy),
        "pushConfig": _push_config(subscription.push_config),
    }


def snapshot_record(snapshot: Snapshot) -> Record:
    """Return the record of a snapshot."""
    return _without_empty(
        {
            "name": snapshot.name,
            "topic": snapshot.topic,
            "expireTime": time_text(snapshot.expire_time),
            "labels": in_key_order(snapshot.labels),
            "createTime": _time_or_none(snapshot.create_time),
        }
    )


def listed_snapshot_record(snapshot: Snapshot) -> Record:
    """Return the record of a snapshot in gcloud's listing, with the parts of its names."""
    _, project, _, short = snapshot.name.split("/")
    ids = {"projectId": project, "snapshotId": short, "topicId": snapshot.topic.split("/")[-1]}
    return {**snapshot_record(snapshot), **ids}


def received_record(received: ReceivedMessage) -> Record:
    """Return the record of a delivery, with data in base64."""
    return _without_empty(
        {
            "ackId": received.ack_id,
            "deliveryAttempt": received.delivery_attempt,
            "message": message_record(received.message, received.message_id, received.publish_time),
        }
    )


def message_record(message: Message, message_id: str, publish_time: datetime) -> Record:
    """Return the record of a message, with data in base64."""
    return _without_empty(
        {
            "data": base64.b64encode(message.data).decode("ascii"),
            "attributes": in_key_order(message.attributes),
            "messageId": message_id,
            "publishTime": time_text(publish_time),
            "orderingKey": message.ordering_key,
        }
    )


def commit_record(commit: TopicCommit) -> Record:
    """Return the record of a commit of a topic."""
    record: Record = {
        "version": commit.version,
        "time": time_text(commit.time),
        "operation": commit.operation,
        "messageCount": commit.message_count,
        "publishId": commit.publish_id,
    }
    if commit.idempotency_id is not None:
        application, version = commit.idempotency_id
        record["idempotencyId"] = {"applicationId": application, "version": version}
    return {key: value for key, value in record.items() if value is not None}


def metrics_record(metrics: Metrics) -> Record:
    """Return the record of metrics, with the names of estimates."""
    estimates = sorted(metrics.estimates)
    return {**plain(metrics), **({"estimates": estimates} if estimates else {})}


def plain(value: Any) -> Any:
    """Return a value with its times and durations as text, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return time_text(value)
    return duration_text(value) if isinstance(value, timedelta) else value


def in_key_order(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return labels or attributes sorted by key; the maps of protobuf have no order.

    >>> in_key_order({"zone": "1", "env": "2"})
    {'env': '2', 'zone': '1'}
    """
    return dict(sorted(pairs.items()))


def duration_text(duration: object) -> str | None:
    """Write a duration in seconds; None stays None.

    >>> duration_text(timedelta(days=7)), duration_text(timedelta(milliseconds=500))
    ('604800s', '0.5s')
    """
    if not isinstance(duration, timedelta):
        return None
    seconds, rest = divmod(duration, timedelta(seconds=1))
    fraction = f"{rest // timedelta(microseconds=1):06}".rstrip("0")
    return f"{seconds}.{fraction}s" if fraction else f"{seconds}s"


def time_text(time: datetime) -> str:
    """Write a time in UTC, with 0, 3 or 6 digits of the second.

    >>> time_text(datetime(2026, 11, 20, 10, 0, 0, 250_000, tzinfo=UTC))
    '2026-11-20T10:00:00.250Z'
    """
    timespec = "microseconds" if time.microsecond % 1000 else "milliseconds"
    if not time.microsecond:
        timespec = "seconds"
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def _push_config(config: PushConfig | None) -> Record:
    if config is None:
        return {}
    bare, token = config.no_wrapper, config.oidc_token
    body: Record = {
        "pushEndpoint": config.push_endpoint,
        "attributes": in_key_order(config.attributes),
    }
    if token is not None:
        named = {"serviceAccountEmail": token.service_account_email, "audience": token.audience}
        body["oidcToken"] = _without_empty(named)
    return body if bare is None else {**body, "noWrapper": {"writeMetadata": bare.write_metadata}}


def _table_config(config: TableConfig | None) -> Record | None:
    if config is None:
        return None
    return _without_empty(
        {
            "table": config.table,
            "useTopicSchema": config.use_topic_schema,
            "useTableSchema": config.use_table_schema,
            "writeMetadata": config.write_metadata,
            "dropUnknownFields": config.drop_unknown_fields,
            "state": config.state and config.state.value,
        }
    )


def _schema_settings(settings: SchemaSettings | None) -> Record | None:
    if settings is None:
        return None
    return _without_empty(
        {
            "schema": settings.schema,
            "encoding": Encoding(settings.encoding).value,
            "firstRevisionId": settings.first_revision_id,
            "lastRevisionId": settings.last_revision_id,
        }
    )


def _time_or_none(time: datetime) -> str | None:
    return None if time == UNKNOWN_TIME else time_text(time)


def _expiration(policy: ExpirationPolicy) -> Record:
    return _without_empty({"ttl": duration_text(policy.ttl)})


def _without_empty(record: Record) -> Record:
    return {key: value for key, value in record.items() if value not in (None, "", {}, False)}
