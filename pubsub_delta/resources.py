"""The values of the interface: messages, topics, subscriptions, and the results of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, TypeVar

from pubsub_delta.clock import FIRST_TIME
from pubsub_delta.durations import Duration, parse_duration, parse_duration_from_zero
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.ids import Ids
from pubsub_delta.schemas import SchemaSettings
from pubsub_delta.table_config import TableConfig

T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """A message to publish: data or at least one attribute, and perhaps an ordering key."""

    data: bytes = b""
    attributes: Mapping[str, str] = field(default_factory=dict)
    ordering_key: str = ""


@dataclass(frozen=True)
class ReceivedMessage:
    """One delivery of a message to a subscription.

    ``message_id`` is the same for every delivery of the message; ``ack_id`` is new each time.
    ``delivery_attempt`` is None while the subscription has no dead-letter policy.
    """

    ack_id: str
    message_id: str
    publish_time: datetime
    data: bytes
    attributes: Mapping[str, str]
    ordering_key: str
    delivery_attempt: int | None

    @property
    def message(self) -> Message:
        """The message as it was published, with the attributes that a schema has added."""
        return Message(self.data, self.attributes, self.ordering_key)


@dataclass(frozen=True)
class Topic:
    """A named log of messages. ``uid`` distinguishes it from an earlier topic of the same name.

    ``message_retention_duration``: how long the topic keeps every message, acknowledged or not, so
    that any subscription can seek back to it; None if it does not. ``retained_from``: the time
    since which it does; earlier messages are not covered. ``schema_settings``: the schema of its
    messages; None for any data. The store sets ``retained_from``, ``create_time`` and ``uid`` when
    it creates the topic.
    """

    name: str
    message_retention_duration: timedelta | None = None
    retained_from: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    create_time: datetime = FIRST_TIME
    uid: str = ""
    schema_settings: SchemaSettings | None = None


@dataclass(frozen=True)
class RetryPolicy:
    """How long a message waits after a failed delivery (Pub/Sub: exponential backoff).

    After the k-th consecutive failure: ``minimum_backoff`` × 2^(k-1), at most ``maximum_backoff``.
    Each is from 0 to 600 seconds. The values are stored as timedelta.

    >>> RetryPolicy("20s").minimum_backoff
    datetime.timedelta(seconds=20)
    """

    minimum_backoff: Duration = "10s"
    maximum_backoff: Duration = "600s"

    def __post_init__(self) -> None:
        for name in ("minimum_backoff", "maximum_backoff"):
            duration = parse_duration(getattr(self, name), f"retry_policy.{name}")
            object.__setattr__(self, name, duration)


@dataclass(frozen=True)
class DeadLetterPolicy:
    """The topic for messages that failed too often, and the number of attempts.

    ``dead_letter_topic``: id or full name of another topic, perhaps in another project.
    ``max_delivery_attempts``: 5 to 100.
    """

    dead_letter_topic: str
    max_delivery_attempts: int = 5


@dataclass(frozen=True)
class ExpirationPolicy:
    """How long a subscription can be idle (Pub/Sub: any pull, ack, seek or update is activity).

    ``ttl``: after a longer time ``maintain`` deletes it. At least 1 day, and longer than the
    subscription's ``message_retention_duration``; None means never. It is stored as timedelta.

    >>> ExpirationPolicy().ttl
    datetime.timedelta(days=31)
    """

    ttl: Duration | None = "31d"

    def __post_init__(self) -> None:
        if self.ttl is not None:
            object.__setattr__(self, "ttl", parse_duration(self.ttl, "expiration_policy.ttl"))


@dataclass(frozen=True)
class NoWrapper:
    """Pushes with the bare data of a message as the body, without JSON around it.

    ``write_metadata``: whether headers of the request carry the message's id, publish time,
    ordering key and attributes; otherwise they are not sent.
    """

    write_metadata: bool = False


@dataclass(frozen=True)
class OidcToken:
    """A token in each push, by which its receiver identifies the sender (OpenID Connect).

    ``service_account_email``: the sender that the token names. ``audience``: its receiver; by
    default the endpoint.
    """

    service_account_email: str
    audience: str = ""


@dataclass(frozen=True)
class PushConfig:
    """The endpoint to which messages are pushed, by HTTP POST.

    ``push_endpoint``: an absolute http or https URL. ``attributes``: ``x-goog-version`` is ``v1``,
    the format of the requests; a stored configuration always has it. ``no_wrapper``: None for JSON
    around each message. ``oidc_token``: the token that requests carry in their ``Authorization``
    header; None for none. Only a running ``pubsub-delta serve`` pushes; the library stores the
    field.
    """

    push_endpoint: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    no_wrapper: NoWrapper | None = None
    oidc_token: OidcToken | None = None


@dataclass(frozen=True)
class Subscription:
    """A named reader of a topic, with its own acknowledgement of every message.

    ``topic`` is ``_deleted-topic_`` once the topic is gone. ``message_retention_duration``: how
    long after publishing an unacknowledged message stays available, and, with
    ``retain_acked_messages``, a seek can restore an acknowledged one.
    ``topic_message_retention_duration`` is the topic's own. Without a ``retry_policy`` a failed
    message is available again at once. ``update_time`` is the time of the last change of a field.
    ``push_config``: the endpoint to which a running server pushes the messages; ``table_config``:
    the table to which they are written; None if they are pulled. The store sets ``detached``, the
    topic's retention, the times and ``uid``.
    """

    name: str
    topic: str
    ack_deadline_seconds: int = 10
    message_retention_duration: timedelta = timedelta(days=7)
    retain_acked_messages: bool = False
    expiration_policy: ExpirationPolicy = ExpirationPolicy()
    filter: str = ""
    enable_message_ordering: bool = False
    enable_exactly_once_delivery: bool = False
    dead_letter_policy: DeadLetterPolicy | None = None
    retry_policy: RetryPolicy | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    detached: bool = False
    topic_message_retention_duration: timedelta | None = None
    create_time: datetime = FIRST_TIME
    update_time: datetime = FIRST_TIME
    uid: str = ""
    push_config: PushConfig | None = None
    table_config: TableConfig | None = None


@dataclass(frozen=True)
class Snapshot:
    """The unacknowledged messages of a subscription at a moment, and all that are published later.

    ``topic`` is ``_deleted-topic_`` once the topic is gone. The snapshot expires at
    ``expire_time``.
    """

    name: str
    topic: str
    expire_time: datetime
    labels: Mapping[str, str]
    create_time: datetime
    uid: str


_OF_OTHERS = frozenset({"topic", "topic_message_retention_duration", "retained_from"})


def own_fields(resource: Topic | Subscription | Snapshot) -> dict[str, Any]:
    """Return the fields of a resource that only a change of the resource itself changes.

    The topic of a subscription or a snapshot is not among them, nor its retention, nor
    ``retained_from``. The uid is: a resource that was deleted and created again is another one.
    """
    names = (each.name for each in fields(resource) if each.name not in _OF_OTHERS)
    return {name: getattr(resource, name) for name in names}


@dataclass(frozen=True)
class FlowControl:
    """The limits of a callback subscriber.

    ``max_messages`` and ``max_bytes`` (of data, attributes and ordering keys): the most outstanding
    messages, which are leased and not acked or nacked yet; a single larger message is still
    delivered. ``max_lease_duration``: how long the lease of a message is extended while it waits or
    its callback runs; after that it is delivered again.
    """

    max_messages: int = 10_000
    max_bytes: int = 100 * 1024 * 1024
    max_lease_duration: Duration = "1h"

    def __post_init__(self) -> None:
        _must_be_positive("flow_control.max_messages", self.max_messages)
        _must_be_positive("flow_control.max_bytes", self.max_bytes)
        _keep_duration(self, "flow_control", "max_lease_duration")


class LimitExceededBehavior(str, Enum):
    """What ``publish`` does with a message beyond a limit (Google's three choices).

    BLOCK: ``publish`` waits for room. ERROR: its future fails with ResourceExhausted. IGNORE: the
    message is queued anyway, without a bound on memory.
    """

    IGNORE = "ignore"
    BLOCK = "block"
    ERROR = "error"


@dataclass(frozen=True)
class PublishFlowControl:
    """The limits of a publisher's queue: messages that are neither committed nor failed yet.

    ``byte_limit`` counts data, attributes and ordering keys. ``limit_exceeded_behavior`` is a
    LimitExceededBehavior or its value.
    """

    message_limit: int = 1_000
    byte_limit: int = 10_000_000
    limit_exceeded_behavior: LimitExceededBehavior | str = LimitExceededBehavior.BLOCK

    def __post_init__(self) -> None:
        _must_be_positive("flow_control.message_limit", self.message_limit)
        _must_be_positive("flow_control.byte_limit", self.byte_limit)
        try:
            behavior = LimitExceededBehavior(self.limit_exceeded_behavior)
        except ValueError:
            raise InvalidArgument(
                f"flow_control.limit_exceeded_behavior: {self.limit_exceeded_behavior!r}; "
                "'block', 'error' or 'ignore' is accepted"
            ) from None
        object.__setattr__(self, "limit_exceeded_behavior", behavior)


@dataclass(frozen=True)
class BatchSettings:
    """The size and latency at which a publisher commits its queued messages.

    It commits as soon as there are ``max_messages`` or ``max_bytes`` of them, or the first one has
    waited for ``max_latency``. During a commit the next batch fills.
    """

    max_messages: int = 1_000
    max_bytes: int = 10_000_000
    max_latency: Duration = 0.05

    def __post_init__(self) -> None:
        _must_be_positive("batch_settings.max_messages", self.max_messages)
        _must_be_positive("batch_settings.max_bytes", self.max_bytes)
        _keep_duration(self, "batch_settings", "max_latency")


def _must_be_positive(field: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise InvalidArgument(f"{field}: {value!r}; a whole number from 1 is accepted")


def _keep_duration(settings: object, owner: str, name: str) -> None:
    duration = parse_duration_from_zero(getattr(settings, name), f"{owner}.{name}")
    object.__setattr__(settings, name, duration)


class Page(list[T]):
    """One page of a listing, ordered by name; ``next_page_token`` is empty on the last page."""

    def __init__(self, items: Iterable[T] = (), next_page_token: str = "") -> None:
        super().__init__(items)
        self.next_page_token = next_page_token


def all_pages(fetch: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """Yield the items of a listing to its end; ``fetch`` returns the page of a token."""
    page = fetch(None)
    yield from page
    while page.next_page_token:
        page = fetch(page.next_page_token)
        yield from page


@dataclass(frozen=True)
class AckResult:
    """The outcome of each ack id of a call; an id that is given twice has one outcome.

    ``success``: the lease was live, or the message was already acknowledged. ``expired``: the lease
    was over. ``invalid``: not an ack id of this subscription. With exactly-once delivery every id
    except that of a live lease is ``invalid``.
    """

    success: Ids
    expired: Ids
    invalid: Ids

    @property
    def counts(self) -> dict[str, int]:
        """The number of ids by outcome, as Pub/Sub's ``response_code`` label names them."""
        return {
            "success": len(self.success),
            "expired": len(self.expired),
            "invalid": len(self.invalid),
        }
