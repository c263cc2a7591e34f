"""Converts resources and messages to google.pubsub.v1, and its requests to arguments."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from pubsub_delta.clock import from_nanos, to_micros
from pubsub_delta.durations import exactly
from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.policy.table_configs import SWITCHES
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    Message,
    NoWrapper,
    OidcToken,
    PushConfig,
    ReceivedMessage,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.server.grpc_services import message_class
from pubsub_delta.server.schema_wire import settings_message, settings_of
from pubsub_delta.table_config import TableConfig, TableState

TOPIC_FIELDS = ("labels", "message_retention_duration", "schema_settings")
SUBSCRIPTION_FIELDS = (
    "ack_deadline_seconds",
    "retain_acked_messages",
    "message_retention_duration",
    "labels",
    "enable_message_ordering",
    "expiration_policy",
    "filter",
    "dead_letter_policy",
    "retry_policy",
    "enable_exactly_once_delivery",
    "push_config",
    "bigquery_config",
)
SNAPSHOT_FIELDS = ("labels", "expire_time")
"""The fields of a resource that a client may set, besides its name and topic."""

_OUTPUT_ONLY = {
    "satisfies_pzs",
    "state",
    "detached",
    "topic_message_retention_duration",
    "analytics_hub_subscription_info",
}
_WHY_NOT = {
    "kms_key_name": "messages are encrypted as the storage of the store does it, by no key here",
    "message_storage_policy": "messages are where the root of the store is, in no other region",
    "ingestion_data_source_settings": "a topic takes in nothing by itself; publish to it",
    "message_transforms": "messages are delivered as they were published",
    "tags": "there is no resource manager that would know tags; labels are kept",
    "cloud_storage_config": "nothing is written to files of Cloud Storage; bigquery_config names a "
    "Delta table",
    "bigtable_config": "nothing is written to Bigtable; messages are in Delta tables already",
}
"""Fields that are refused with UNIMPLEMENTED, and why they would do nothing."""
STORED_AS = {"bigquery_config": "table_config"}
"""Fields with another name in the store: the table is a Delta table."""
_ACTIVE = 1
"""The state ACTIVE of a topic and of a subscription."""
_RESOURCE_ERROR = 2
"""The state of a subscription whose table cannot be written."""

_Topic = message_class("Topic")
_Subscription = message_class("Subscription")
_Snapshot = message_class("Snapshot")
_ReceivedMessage = message_class("ReceivedMessage")

Fields = dict[str, Any]


def topic_message(topic: Topic) -> Any:
    """Return a topic as a protobuf message."""
    settings = topic.schema_settings
    return _Topic(
        name=topic.name,
        labels=dict(topic.labels),
        message_retention_duration=_duration(topic.message_retention_duration),
        schema_settings=None if settings is None else settings_message(settings),
        state=_ACTIVE,
    )


def subscription_message(subscription: Subscription) -> Any:
    """Return a subscription as a protobuf message; push_config is empty for pull."""
    dead, retry = subscription.dead_letter_policy, subscription.retry_policy
    table = subscription.table_config
    message = _Subscription(
        name=subscription.name,
        topic=subscription.topic,
        ack_deadline_seconds=subscription.ack_deadline_seconds,
        retain_acked_messages=subscription.retain_acked_messages,
        message_retention_duration=_duration(subscription.message_retention_duration),
        labels=dict(subscription.labels),
        enable_message_ordering=subscription.enable_message_ordering,
        filter=subscription.filter,
        detached=subscription.detached,
        enable_exactly_once_delivery=subscription.enable_exactly_once_delivery,
        topic_message_retention_duration=_duration(subscription.topic_message_retention_duration),
        state=_RESOURCE_ERROR if table is not None and table.is_refused else _ACTIVE,
    )
    message.push_config.SetInParent()
    if subscription.push_config is not None:
        _write_push_config(subscription.push_config, message.push_config)
    if table is not None:
        _write_table_config(table, message.bigquery_config)
    message.expiration_policy.SetInParent()
    ttl = _duration(subscription.expiration_policy.ttl)
    if ttl is not None:
        message.expiration_policy.ttl.CopyFrom(ttl)
    if dead is not None:
        message.dead_letter_policy.dead_letter_topic = dead.dead_letter_topic
        message.dead_letter_policy.max_delivery_attempts = dead.max_delivery_attempts
    if retry is not None:
        message.retry_policy.minimum_backoff.CopyFrom(_duration(retry.minimum_backoff))
        message.retry_policy.maximum_backoff.CopyFrom(_duration(retry.maximum_backoff))
    return message


def snapshot_message(snapshot: Snapshot) -> Any:
    """Return a snapshot as a protobuf message."""
    return _Snapshot(
        name=snapshot.name,
        topic=snapshot.topic,
        expire_time=_timestamp(snapshot.expire_time),
        labels=dict(snapshot.labels),
    )


def received_message(received: ReceivedMessage) -> Any:
    """Return a delivery as a protobuf message."""
    made = _ReceivedMessage(ack_id=received.ack_id, delivery_attempt=received.delivery_attempt or 0)
    message = made.message
    message.data = received.data
    if received.attributes:
        message.attributes.update(received.attributes)
    message.message_id = received.message_id
    micros = to_micros(received.publish_time)
    message.publish_time.seconds, rest = divmod(micros, 1_000_000)
    message.publish_time.nanos = rest * 1000
    if received.ordering_key:
        message.ordering_key = received.ordering_key
    return made


def published_messages(request: Any) -> list[Message]:
    """Return the messages of a publish request, without the IDs and times in it."""
    return [
        Message(message.data, dict(message.attributes), message.ordering_key)
        for message in request.messages
    ]


def topic_fields(topic: Any) -> Fields:
    """Return the arguments of ``create_topic``."""
    refuse_unknown(topic, {"name", *TOPIC_FIELDS})
    return {name: _READ[name](topic) for name in TOPIC_FIELDS}


def subscription_fields(subscription: Any) -> Fields:
    """Return the arguments of ``create_subscription`` that the request gives."""
    refuse_unknown(subscription, {"name", "topic", *SUBSCRIPTION_FIELDS})
    fields = read_fields(subscription, SUBSCRIPTION_FIELDS)
    if fields["message_retention_duration"] is None:
        del fields["message_retention_duration"]
    return fields


def read_fields(resource: Any, names: Iterable[str]) -> Fields:
    """Return the values of fields of a resource, under the names that the store has for them."""
    return _renamed({name: _READ[name](resource) for name in names})


def check_targets(subscription: Any, names: Container[str]) -> None:
    """Raise InvalidArgument for a config that is given whole, and says what to do and not where.

    ``names``: the fields that the request gives whole. A config without any field is none.
    """
    if "push_config" in names:
        check_push_endpoint(subscription.push_config)
    config = subscription.bigquery_config
    said = next((name for name in SWITCHES if getattr(config, name)), None)
    if "bigquery_config" in names and said is not None and not config.table:
        raise InvalidArgument(
            f"bigquery_config.table: it is missing, and {said} is set; the table that messages are "
            "written to is accepted, or no bigquery_config"
        )


def check_push_endpoint(config: Any) -> None:
    """Raise InvalidArgument for a push config that says how to push, and not where to."""
    said = next((name for name in ("oidc_token", "no_wrapper") if config.HasField(name)), None)
    if said is not None and not config.push_endpoint:
        raise InvalidArgument(
            f"push_config.push_endpoint: it is missing, and {said} is set; the endpoint that "
            "messages are pushed to is accepted, or an empty push_config for pull"
        )


def push_config(given: Any) -> PushConfig | None:
    """Return a push config; None without an endpoint, which means pull delivery."""
    if not given.push_endpoint:
        return None
    bare = NoWrapper(given.no_wrapper.write_metadata) if given.HasField("no_wrapper") else None
    said = given.oidc_token
    has_token = given.HasField("oidc_token")
    token = OidcToken(said.service_account_email, said.audience) if has_token else None
    return PushConfig(given.push_endpoint, dict(given.attributes), bare, token)


def table_config(given: Any) -> TableConfig | None:
    """Return the config of a table subscription; None if the request names no table."""
    if given.service_account_email:
        raise Unimplemented(
            f"bigquery_config.service_account_email: {given.service_account_email!r}: tables are "
            "written with the keys of the server; leave it out"
        )
    if not given.table:
        return None
    return TableConfig(given.table, **{name: getattr(given, name) for name in SWITCHES})


def seconds_of(duration: Any) -> timedelta:
    """Return a protobuf duration as timedelta; InvalidArgument if it is out of range."""
    try:
        return exactly(duration.seconds + Fraction(duration.nanos, 10**9))
    except OverflowError:
        raise InvalidArgument(
            f"{duration.seconds} seconds are out of range; at most 31 days are accepted"
        ) from None


def time_of(timestamp: Any, *, until: bool = False) -> datetime:
    """Return a protobuf timestamp as datetime; InvalidArgument if it is out of range."""
    try:
        return from_nanos(timestamp.seconds * 10**9 + timestamp.nanos, until=until)
    except OverflowError:
        raise InvalidArgument(
            f"{timestamp.seconds} seconds since 1970 are out of range; years 1 to 9999 are accepted"
        ) from None


def project_of(name: str) -> str:
    """Return the project that ``projects/{project}`` names."""
    project = name.removeprefix("projects/")
    if project == name or "/" in project:
        raise InvalidArgument(f"project: {name!r}; projects/{{project}} is accepted")
    return project


def full_name(name: str, kind: str, field: str = "") -> str:
    """Return a name if it is a full name; else InvalidArgument, as in Pub/Sub.

    ``field``: the field of the request, if its name is not ``kind``.
    """
    if "/" not in name:
        raise InvalidArgument(
            f"{field or kind}: {name!r} is not a full name; "
            f"projects/{{project}}/{kind}s/{{id}} is accepted"
        )
    return name


def refuse_unknown(resource: Any, known: set[str]) -> None:
    """Raise Unimplemented for fields that would do nothing here, unless they are empty."""
    for field, value in resource.ListFields():
        if field.name in known | _OUTPUT_ONLY or _is_empty(value):
            continue
        why = _WHY_NOT.get(field.name, "is not supported")
        raise Unimplemented(f"{field.name}: {why}; leave it out")


def _is_empty(value: Any) -> bool:
    """Return whether a value is a message without fields."""
    list_fields = getattr(value, "ListFields", None)
    return list_fields is not None and not list_fields()


def _duration(value: object) -> Any:
    if not isinstance(value, timedelta):
        return None
    seconds, rest = divmod(value, timedelta(seconds=1))
    return Duration(seconds=seconds, nanos=rest // timedelta(microseconds=1) * 1000)


def _timestamp(time: datetime) -> Any:
    seconds, micros = divmod(to_micros(time), 1_000_000)
    return Timestamp(seconds=seconds, nanos=micros * 1000)


def _retention(resource: Any) -> timedelta | None:
    if not resource.HasField("message_retention_duration"):
        return None
    return seconds_of(resource.message_retention_duration)


def _expiration_policy(resource: Any) -> ExpirationPolicy | None:
    if not resource.HasField("expiration_policy"):
        return None
    policy = resource.expiration_policy
    return ExpirationPolicy(seconds_of(policy.ttl) if policy.HasField("ttl") else None)


def _dead_letter_policy(resource: Any) -> DeadLetterPolicy | None:
    if not resource.HasField("dead_letter_policy"):
        return None
    policy = resource.dead_letter_policy
    topic = full_name(policy.dead_letter_topic, "topic", "dead_letter_policy.dead_letter_topic")
    return DeadLetterPolicy(topic, policy.max_delivery_attempts or 5)


def _retry_policy(resource: Any) -> RetryPolicy | None:
    if not resource.HasField("retry_policy"):
        return None
    policy = resource.retry_policy
    given = {
        name: seconds_of(getattr(policy, name))
        for name in ("minimum_backoff", "maximum_backoff")
        if policy.HasField(name)
    }
    return RetryPolicy(**given)


def _write_push_config(config: PushConfig, message: Any) -> None:
    message.push_endpoint = config.push_endpoint
    message.attributes.update(config.attributes)
    if config.no_wrapper is not None:
        message.no_wrapper.SetInParent()
        message.no_wrapper.write_metadata = config.no_wrapper.write_metadata
    if config.oidc_token is not None:
        message.oidc_token.service_account_email = config.oidc_token.service_account_email
        message.oidc_token.audience = config.oidc_token.audience


def _write_table_config(config: TableConfig, message: Any) -> None:
    message.table = config.table
    for name in SWITCHES:
        setattr(message, name, getattr(config, name))
    if config.state is not None:
        message.state = _states(message).values_by_name[config.state.value].number


def state_of(given: Any) -> TableState | None:
    """Return the state of a table in a response; None if it has none."""
    named = _states(given).values_by_number.get(given.state)
    return None if named is None else TableState.__members__.get(named.name)


def _states(message: Any) -> Any:
    return message.DESCRIPTOR.enum_types_by_name["State"]


def _renamed(fields: Fields) -> Fields:
    """Return fields under the names that the store has for them."""
    return {STORED_AS.get(name, name): value for name, value in fields.items()}


def _plain(name: str) -> Callable[[Any], Any]:
    return lambda resource: getattr(resource, name)


_READ: Mapping[str, Callable[[Any], Any]] = {
    **{name: _plain(name) for name in SUBSCRIPTION_FIELDS},
    "labels": lambda resource: dict(resource.labels),
    "message_retention_duration": _retention,
    "expiration_policy": _expiration_policy,
    "dead_letter_policy": _dead_letter_policy,
    "retry_policy": _retry_policy,
    "schema_settings": settings_of,
    "push_config": lambda resource: push_config(resource.push_config),
    "bigquery_config": lambda resource: table_config(resource.bigquery_config),
    "expire_time": lambda resource: time_of(resource.expire_time),
}
