"""Converts resources and messages of google.pubsub.v1 from and to those of the library.

The API has no fields for the uid and the times of creation and update; they are "" and
``UNKNOWN_TIME``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from pubsub_delta.cli.rest import UNKNOWN_TIME
from pubsub_delta.durations import parse_duration
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.fields import check_ack_deadline, check_dead_letter_policy, check_labels
from pubsub_delta.policy.schemas.revisions import check_settings
from pubsub_delta.resources import (
    ExpirationPolicy,
    Message,
    ReceivedMessage,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.schemas import Schema, SchemaType
from pubsub_delta.server import wire
from pubsub_delta.server.grpc_services import message_class
from pubsub_delta.server.schema_wire import type_name

T = TypeVar("T")

_Message = message_class("PubsubMessage")


def topic_of(message: Any) -> Topic:
    """Return the topic of a protobuf message."""
    fields = wire.topic_fields(message)
    return Topic(name=message.name, retained_from=None, create_time=UNKNOWN_TIME, uid="", **fields)


def subscription_of(message: Any) -> Subscription:
    """Return the subscription of a protobuf message."""
    fields = wire.subscription_fields(message)
    fields.setdefault("message_retention_duration", timedelta(days=7))
    fields["expiration_policy"] = fields["expiration_policy"] or ExpirationPolicy()
    if fields["table_config"] is not None:
        state = wire.state_of(message.bigquery_config)
        fields["table_config"] = replace(fields["table_config"], state=state)
    retained = message.HasField("topic_message_retention_duration")
    of_topic = wire.seconds_of(message.topic_message_retention_duration) if retained else None
    return Subscription(
        name=message.name,
        topic=message.topic,
        detached=message.detached,
        topic_message_retention_duration=of_topic,
        create_time=UNKNOWN_TIME,
        update_time=UNKNOWN_TIME,
        uid="",
        **fields,
    )


def schema_of(message: Any) -> Schema:
    """Return the schema revision of a protobuf message; in a listing some fields are empty."""
    there = message.HasField("revision_create_time")
    return Schema(
        name=message.name,
        type=SchemaType(type_name(message)),
        definition=message.definition,
        revision_id=message.revision_id,
        revision_create_time=wire.time_of(message.revision_create_time, until=True)
        if there
        else UNKNOWN_TIME,
        uid="",
    )


def snapshot_of(message: Any) -> Snapshot:
    """Return the snapshot of a protobuf message."""
    return Snapshot(
        name=message.name,
        topic=message.topic,
        expire_time=wire.time_of(message.expire_time, until=True),
        labels=dict(message.labels),
        create_time=UNKNOWN_TIME,
        uid="",
    )


def received_of(delivery: Any) -> ReceivedMessage:
    """Return the delivery of a protobuf message."""
    message = delivery.message
    return ReceivedMessage(
        ack_id=delivery.ack_id,
        message_id=message.message_id,
        publish_time=wire.time_of(message.publish_time, until=True),
        data=message.data,
        attributes=dict(message.attributes),
        ordering_key=message.ordering_key,
        delivery_attempt=delivery.delivery_attempt or None,
    )


def message_of(message: Message) -> Any:
    """Return a message to publish as a protobuf message."""
    return _Message(
        data=message.data,
        attributes=dict(message.attributes),
        ordering_key=message.ordering_key,
    )


def topic_with(name: str, fields: Mapping[str, Any]) -> Any:
    """Return a protobuf topic with these fields only."""
    return _written(wire.topic_message, replace(_TOPIC, name=name, **_checked(fields)))


def subscription_with(name: str, fields: Mapping[str, Any]) -> Any:
    """Return a protobuf subscription with these fields, and defaults for the others."""
    made = replace(_SUBSCRIPTION, name=name, **_checked(fields))
    return _written(wire.subscription_message, made)


def snapshot_with(name: str, fields: Mapping[str, Any]) -> Any:
    """Return a protobuf snapshot with these fields only."""
    return _written(wire.snapshot_message, replace(_SNAPSHOT, name=name, **_checked(fields)))


def _written(write: Callable[[T], Any], resource: T) -> Any:
    try:
        return write(resource)
    except ValueError as error:  # a string that is not UTF-8
        raise InvalidArgument(f"{error}; text that can be written as UTF-8 is accepted") from None


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Validate fields that protobuf would not carry as given.

    Numbers have 32 bits, and 0 delivery attempts would mean the default of 5.
    """
    arguments = dict(fields)
    if arguments.get("message_retention_duration") is not None:
        arguments["message_retention_duration"] = parse_duration(
            arguments["message_retention_duration"], "message_retention_duration"
        )
    if "labels" in arguments:
        arguments["labels"] = check_labels(arguments["labels"])
    if "schema_settings" in arguments:
        arguments["schema_settings"] = check_settings(arguments["schema_settings"])
    if "ack_deadline_seconds" in arguments:
        check_ack_deadline(arguments["ack_deadline_seconds"])
    if arguments.get("dead_letter_policy") is not None:
        check_dead_letter_policy(arguments["dead_letter_policy"], "", "")
    return arguments


_TOPIC = topic_of(message_class("Topic")())
_SUBSCRIPTION = subscription_of(message_class("Subscription")())
_SNAPSHOT = snapshot_of(message_class("Snapshot")())
"""Resources with default fields."""
