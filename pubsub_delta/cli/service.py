"""What commands ask for: the verbs of Pub/Sub, of a store or of a server that speaks for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from pubsub_delta.durations import Duration
from pubsub_delta.resources import (
    AckResult,
    DeadLetterPolicy,
    ExpirationPolicy,
    Message,
    Page,
    PushConfig,
    ReceivedMessage,
    RetryPolicy,
    Snapshot,
    Subscription,
    Topic,
)


class Published(Protocol):
    """What a publish returns."""

    @property
    def message_ids(self) -> Sequence[str]:
        """The ids, in the order of the messages."""


class Batch(Protocol):
    """What a pull returns."""

    @property
    def message_count(self) -> int:
        """How many messages it leases."""

    def __iter__(self) -> Iterator[ReceivedMessage]: ...

    def ack(self) -> AckResult:
        """Acknowledge all of it."""

    def modify_ack_deadline(self, ack_deadline_seconds: int) -> AckResult:
        """Move the deadline of all of it to so far from now; 0 gives it back."""


class Service(Protocol):
    """The methods of google.pubsub.v1, as ``PubSub`` has them. Names are full names."""

    def create_topic(
        self,
        topic: str,
        *,
        message_retention_duration: Duration | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Topic: ...

    def get_topic(self, topic: str) -> Topic: ...

    def list_topics(
        self, *, project: str | None = None, page_token: str | None = None
    ) -> Page[Topic]: ...

    def update_topic(self, topic: str, **fields: Any) -> Topic: ...

    def delete_topic(self, topic: str) -> None: ...

    def list_topic_subscriptions(
        self, topic: str, *, page_token: str | None = None
    ) -> Page[str]: ...

    def list_topic_snapshots(self, topic: str, *, page_token: str | None = None) -> Page[str]: ...

    def publish(self, topic: str, messages: Sequence[Message]) -> Published: ...

    def create_subscription(
        self,
        subscription: str,
        topic: str,
        *,
        ack_deadline_seconds: int = 10,
        message_retention_duration: Duration = "7d",
        retain_acked_messages: bool = False,
        expiration_policy: ExpirationPolicy | None = None,
        filter: str = "",
        enable_message_ordering: bool = False,
        enable_exactly_once_delivery: bool = False,
        dead_letter_policy: DeadLetterPolicy | None = None,
        retry_policy: RetryPolicy | None = None,
        labels: Mapping[str, str] | None = None,
        push_config: PushConfig | None = None,
    ) -> Subscription: ...

    def get_subscription(self, subscription: str) -> Subscription: ...

    def list_subscriptions(
        self, *, project: str | None = None, page_token: str | None = None
    ) -> Page[Subscription]: ...

    def update_subscription(self, subscription: str, **fields: Any) -> Subscription: ...

    def delete_subscription(self, subscription: str) -> None: ...

    def detach_subscription(self, subscription: str) -> None: ...

    def pull(self, subscription: str, max_messages: int) -> Batch: ...

    def acknowledge(self, subscription: str, ack_ids: Iterable[str]) -> AckResult: ...

    def modify_ack_deadline(
        self, subscription: str, ack_ids: Iterable[str], ack_deadline_seconds: int
    ) -> AckResult: ...

    def seek(
        self, subscription: str, *, time: datetime | None = None, snapshot: str | None = None
    ) -> None: ...

    def create_snapshot(
        self, snapshot: str, subscription: str, *, labels: Mapping[str, str] | None = None
    ) -> Snapshot: ...

    def get_snapshot(self, snapshot: str) -> Snapshot: ...

    def list_snapshots(
        self, *, project: str | None = None, page_token: str | None = None
    ) -> Page[Snapshot]: ...

    def update_snapshot(self, snapshot: str, **fields: Any) -> Snapshot: ...

    def delete_snapshot(self, snapshot: str) -> None: ...
