"""The client of a running server, with the methods of google.pubsub.v1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from pubsub_delta.cli.endpoint import resources
from pubsub_delta.cli.endpoint.connection import connection_of
from pubsub_delta.cli.endpoint.errors import AckIdsError
from pubsub_delta.cli.endpoint.methods import (
    CreateMethod,
    ListMethod,
    ListNamesMethod,
    NameMethod,
    UpdateMethod,
    nothing,
)
from pubsub_delta.cli.endpoint.schemas import EndpointSchemas
from pubsub_delta.cli.settings import Settings
from pubsub_delta.clock import to_micros
from pubsub_delta.ids import Ids
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.fields import check_labels, check_max_messages, check_new_deadline
from pubsub_delta.policy.messages import as_message
from pubsub_delta.resources import (
    AckResult,
    Message,
    ReceivedMessage,
    Snapshot,
    Subscription,
)

_MAX_INT32 = 2**31 - 1


@dataclass(frozen=True)
class PublishedMessages:
    """The IDs of published messages."""

    message_ids: Sequence[str]


@dataclass(frozen=True)
class PulledMessages:
    """The messages of one pull, which can be acknowledged together."""

    received: Sequence[ReceivedMessage]
    acknowledge: Callable[[Sequence[str]], AckResult]
    move_deadline: Callable[[Sequence[str], int], AckResult]

    def __iter__(self) -> Iterator[ReceivedMessage]:
        return iter(self.received)

    @property
    def message_count(self) -> int:
        """The number of leased messages."""
        return len(self.received)

    def ack(self) -> AckResult:
        """Acknowledge all messages."""
        return self.acknowledge(self._ack_ids)

    def modify_ack_deadline(self, ack_deadline_seconds: int) -> AckResult:
        """Set the deadline of all messages to ``ack_deadline_seconds`` from now."""
        return self.move_deadline(self._ack_ids, ack_deadline_seconds)

    def give_back(self) -> None:
        """Nack all messages: the API cannot take a delivery back, so it fails."""
        self.modify_ack_deadline(0)

    @property
    def _ack_ids(self) -> list[str]:
        return [each.ack_id for each in self.received]


def connect(settings: Settings) -> EndpointClient:
    """Return the client of the server in the settings; it connects at the first call."""
    return EndpointClient(connection_of(settings), settings.project)


class EndpointClient(EndpointSchemas):
    """A client of a server. Names are full names."""

    create_topic = CreateMethod(resources.topic_with, resources.topic_of)
    get_topic = NameMethod("topic", resources.topic_of)
    list_topics = ListMethod("topics", resources.topic_of)
    update_topic = UpdateMethod("topic", resources.topic_with, resources.topic_of)
    delete_topic = NameMethod("topic", nothing)
    list_topic_subscriptions = ListNamesMethod("subscriptions")
    list_topic_snapshots = ListNamesMethod("snapshots")

    get_subscription = NameMethod("subscription", resources.subscription_of)
    list_subscriptions = ListMethod("subscriptions", resources.subscription_of)
    update_subscription = UpdateMethod(
        "subscription", resources.subscription_with, resources.subscription_of
    )
    delete_subscription = NameMethod("subscription", nothing)
    detach_subscription = NameMethod("subscription", nothing)

    get_snapshot = NameMethod("snapshot", resources.snapshot_of)
    list_snapshots = ListMethod("snapshots", resources.snapshot_of)
    update_snapshot = UpdateMethod("snapshot", resources.snapshot_with, resources.snapshot_of)
    delete_snapshot = NameMethod("snapshot", nothing)

    def create_subscription(self, subscription: str, topic: str, **fields: Any) -> Subscription:
        wanted = resources.subscription_with(subscription, {"topic": topic, **fields})
        return resources.subscription_of(self.send("CreateSubscription", wanted))

    def create_snapshot(
        self, snapshot: str, subscription: str, *, labels: Mapping[str, str] | None = None
    ) -> Snapshot:
        named = {"name": snapshot, "subscription": subscription}
        made = self.call("CreateSnapshot", **named, labels=check_labels(labels))
        return resources.snapshot_of(made)

    def publish(self, topic: str, messages: Sequence[Message]) -> PublishedMessages:
        checked = [as_message(message, index) for index, message in enumerate(messages)]
        written = map(resources.message_of, checked)
        done = self.call("Publish", topic=topic, messages=written)
        return PublishedMessages(list(done.message_ids))

    def pull(self, subscription: str, max_messages: int) -> PulledMessages:
        """Pull available messages without waiting."""
        check_max_messages(max_messages)
        pulled = self.call(
            "Pull",
            subscription=subscription,
            max_messages=min(max_messages, _MAX_INT32),
            return_immediately=True,
        )
        received = list(map(resources.received_of, pulled.received_messages))
        return PulledMessages(
            received,
            partial(self.acknowledge, subscription),
            partial(self.modify_ack_deadline, subscription),
        )

    def acknowledge(self, subscription: str, ack_ids: Iterable[str]) -> AckResult:
        """Acknowledge deliveries. ``expired`` is always empty: the API does not report it.

        Without exactly-once delivery all well-formed ack IDs of the subscription succeed.
        """
        return self._send_ack_ids("Acknowledge", subscription, ack_ids)

    def modify_ack_deadline(
        self, subscription: str, ack_ids: Iterable[str], ack_deadline_seconds: int
    ) -> AckResult:
        """Set the deadline of deliveries; the result is as of ``acknowledge``."""
        check_new_deadline(ack_deadline_seconds)
        seconds = {"ack_deadline_seconds": ack_deadline_seconds}
        return self._send_ack_ids("ModifyAckDeadline", subscription, ack_ids, **seconds)

    def seek(
        self, subscription: str, *, time: datetime | None = None, snapshot: str | None = None
    ) -> None:
        to = None
        if time is not None:
            to = Timestamp()
            to.FromMicroseconds(to_micros(time))
        self.call("Seek", subscription=subscription, time=to, snapshot=snapshot)

    def _send_ack_ids(
        self, name: str, subscription: str, ack_ids: Iterable[str], **more: Any
    ) -> AckResult:
        """Send an ack or a new deadline.

        Malformed ack IDs are left out if there are others, as the server would report only them.
        """
        given = list(dict.fromkeys(ack_ids))
        wanted = [each for each in given if parse_ack_id(each) is not None] or given
        failed = set(given) - set(wanted)
        while wanted or not given:  # the server refuses a request without ack IDs
            try:
                self.call(name, subscription=subscription, ack_ids=wanted, **more)
                break
            except AckIdsError as error:
                refused = error.invalid(wanted)
                if refused is None:
                    raise  # a later try may succeed
                failed |= refused
                wanted = [each for each in wanted if each not in failed]
        halves = [each for each in given if each not in failed], [e for e in given if e in failed]
        return AckResult(success=Ids.of(halves[0]), expired=Ids.of(()), invalid=Ids.of(halves[1]))
