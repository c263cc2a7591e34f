"""Topics, subscriptions and snapshots as rows of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from datetime import timedelta
from typing import Any

from pubsub_delta.policy.push_configs import PUSH_ATTRIBUTES
from pubsub_delta.policy.table_configs import SWITCHES
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    NoWrapper,
    OidcToken,
    PushConfig,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.schemas import Encoding, SchemaSettings
from pubsub_delta.table_config import TableConfig
from pubsub_delta.tables.ack_state.rows import utc

Row = Mapping[str, Any]

_MICROSECOND = timedelta(microseconds=1)
_NOT_STORED = ("topic_message_retention_duration",)
"""Fields of a subscription that follow from its topic."""


def columns_of(resource: Topic | Subscription | Snapshot) -> dict[str, Any]:
    """Return all fields of a resource as the columns that hold them."""
    names = (each.name for each in dataclass_fields(resource) if each.name not in _NOT_STORED)
    return columns_of_fields({name: getattr(resource, name) for name in names})


def columns_of_fields(fields: Row) -> dict[str, Any]:
    """Return some fields of a resource as the columns that hold them."""
    row: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "message_retention_duration":
            row["message_retention_micros"] = _micros(value)
        elif name == "expiration_policy":
            row["expiration_ttl_micros"] = _micros(value.ttl)
        elif name == "dead_letter_policy":
            row["dead_letter_topic"] = value and value.dead_letter_topic
            row["max_delivery_attempts"] = value and value.max_delivery_attempts
        elif name == "retry_policy":
            for bound in ("minimum_backoff", "maximum_backoff"):
                row[f"{bound}_micros"] = value and _micros(getattr(value, bound))
        elif name == "schema_settings":
            row["schema"] = value and value.schema
            row["schema_encoding"] = value and Encoding(value.encoding).value
            for bound in ("first_revision_id", "last_revision_id"):
                row[bound] = value and getattr(value, bound)
        elif name == "push_config":
            bare = value and value.no_wrapper
            row["push_endpoint"] = value and value.push_endpoint
            row["push_write_metadata"] = bare and bare.write_metadata
            token = value and value.oidc_token
            row["push_service_account"] = token and token.service_account_email
            row["push_audience"] = token and token.audience
        elif name == "table_config":
            row["table_name"] = value and value.table
            for switch in SWITCHES:
                row[switch] = value and getattr(value, switch)
        else:
            row[name] = value
    return row


def topic_of(row: Row) -> Topic:
    """Convert a row to a topic."""
    return Topic(
        name=row["name"],
        message_retention_duration=_duration(row["message_retention_micros"]),
        retained_from=utc(row["retained_from"]),
        labels=dict(row["labels"]),
        create_time=utc(row["create_time"]),
        uid=row["uid"],
        schema_settings=None if row["schema"] is None else _schema_settings(row),
    )


def _schema_settings(row: Row) -> SchemaSettings:
    encoding, first = Encoding(row["schema_encoding"]), row["first_revision_id"]
    return SchemaSettings(row["schema"], encoding, first, row["last_revision_id"])


def subscription_of(row: Row) -> Subscription:
    """Convert a row to a subscription; its topic may be deleted by now."""
    dead_letters, retry = None, None
    if row["dead_letter_topic"] is not None:
        dead_letters = DeadLetterPolicy(row["dead_letter_topic"], row["max_delivery_attempts"])
    if row["minimum_backoff_micros"] is not None:
        retry = RetryPolicy(
            row["minimum_backoff_micros"] * _MICROSECOND,
            row["maximum_backoff_micros"] * _MICROSECOND,
        )
    return Subscription(
        name=row["name"],
        topic=row["topic"],
        ack_deadline_seconds=row["ack_deadline_seconds"],
        message_retention_duration=row["message_retention_micros"] * _MICROSECOND,
        retain_acked_messages=row["retain_acked_messages"],
        expiration_policy=ExpirationPolicy(_duration(row["expiration_ttl_micros"])),
        filter=row["filter"],
        enable_message_ordering=row["enable_message_ordering"],
        enable_exactly_once_delivery=row["enable_exactly_once_delivery"],
        dead_letter_policy=dead_letters,
        retry_policy=retry,
        labels=dict(row["labels"]),
        detached=row["detached"],
        topic_message_retention_duration=None,
        create_time=utc(row["create_time"]),
        update_time=utc(row["update_time"]),
        uid=row["uid"],
        push_config=_push_config(row),
        table_config=_table_config(row),
    )


def snapshot_of(row: Row) -> Snapshot:
    """Convert a row to a snapshot; its topic may be deleted by now."""
    return Snapshot(
        name=row["name"],
        topic=row["topic"],
        expire_time=utc(row["expire_time"]),
        labels=dict(row["labels"]),
        create_time=utc(row["create_time"]),
        uid=row["uid"],
    )


def _push_config(row: Row) -> PushConfig | None:
    endpoint = row["push_endpoint"]
    if endpoint is None:
        return None
    metadata = row["push_write_metadata"]
    bare = None if metadata is None else NoWrapper(metadata)
    account = row["push_service_account"]
    token = None if account is None else OidcToken(account, row["push_audience"])
    return PushConfig(endpoint, dict(PUSH_ATTRIBUTES), bare, token)


def _table_config(row: Row) -> TableConfig | None:
    if row["table_name"] is None:
        return None
    return TableConfig(row["table_name"], **{switch: row[switch] for switch in SWITCHES})


def _micros(duration: timedelta | None) -> int | None:
    return None if duration is None else duration // _MICROSECOND


def _duration(micros: int | None) -> timedelta | None:
    return None if micros is None else micros * _MICROSECOND
