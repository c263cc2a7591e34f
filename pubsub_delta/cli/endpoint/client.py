"""A running server as commands ask it: the verbs of ``PubSub`` that google.pubsub.v1 has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from pubsub_delta.cli.endpoint import resources
from pubsub_delta.cli.endpoint.connection import Connection, connection_of
from pubsub_delta.cli.endpoint.failures import AckIdsRefused
from pubsub_delta.cli.settings import Settings
from pubsub_delta.clock import to_micros
from pubsub_delta.durations import Duration
from pubsub_delta.names import check_project
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.fields import check_labels, check_max_messages, check_new_deadline
from pubsub_delta.policy.messages import as_message
from pubsub_delta.resources import (
    AckResult,
    Ids,
    Message,
    Page,
    ReceivedMessage,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.server.protocol import PUBLISHER, SERVICES, SUBSCRIBER

_MOST = 2**31 - 1
"""The largest number that a request can tell."""


@dataclass(frozen=True)
class PublishedMessages:
    """The ids of what was published."""

    message_ids: Sequence[str]


@dataclass(frozen=True)
class PulledMessages:
    """The messages of one pull, and how all of them are answered for."""

    received: Sequence[ReceivedMessage]
    acknowledge: Callable[[Sequence[str]], AckResult]
    move_deadline: Callable[[Sequence[str], int], AckResult]

    def __iter__(self) -> Iterator[ReceivedMessage]:
        return iter(self.received)

    @property
    def message_count(self) -> int:
        """How many messages it leases."""
        return len(self.received)

    def ack(self) -> AckResult:
        """Acknowledge all of it."""
        return self.acknowledge(self._ack_ids)

    def modify_ack_deadline(self, ack_deadline_seconds: int) -> AckResult:
        """Move the deadline of all of it to so far from now."""
        return self.move_deadline(self._ack_ids, ack_deadline_seconds)

    @property
    def _ack_ids(self) -> list[str]:
        return [each.ack_id for each in self.received]


def connect(settings: Settings) -> EndpointClient:
    """Return the server that the settings name; it is asked with the first call only."""
    return EndpointClient(connection_of(settings), settings.project)


class EndpointClient:
    """The store behind a running server. Names are full names.

    Args:
        connection: the way to it.
        project: whose resources are listed unless another one is named.
    """

    def __init__(self, connection: Connection, project: str) -> None:
        self._connection = connection
        self._project = check_project(project)

    # Topics

    def create_topic(
        self,
        topic: str,
        *,
        message_retention_duration: Duration | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Topic:
        fields = {"message_retention_duration": message_retention_duration, "labels": labels}
        wanted = resources.topic_with(topic, fields)
        return resources.topic_of(self._connection.send(PUBLISHER, "CreateTopic", wanted))

    def get_topic(self, topic: str) -> Topic:
        return resources.topic_of(self._call(PUBLISHER, "GetTopic", topic=topic))

    def list_topics(
        self, *, project: str | None = None, page_token: str | None = None
    ) -> Page[Topic]:
        page = self._listing(PUBLISHER, "ListTopics", project, page_token)
        return Page(map(resources.topic_of, page.topics), page.next_page_token)

    def update_topic(self, topic: str, **fields: Any) -> Topic:
        wanted, mask = resources.topic_with(topic, fields), FieldMask(paths=fields)
        changed = self._call(PUBLISHER, "UpdateTopic", topic=wanted, update_mask=mask)
        return resources.topic_of(changed)

    def delete_topic(self, topic: str) -> None:
        self._call(PUBLISHER, "DeleteTopic", topic=topic)

    def list_topic_subscriptions(self, topic: str, *, page_token: str | None = None) -> Page[str]:
        name = "ListTopicSubscriptions"
        page = self._call(PUBLISHER, name, topic=topic, page_token=page_token)
        return Page(page.subscriptions, page.next_page_token)

    def list_topic_snapshots(self, topic: str, *, page_token: str | None = None) -> Page[str]:
        page = self._call(PUBLISHER, "ListTopicSnapshots", topic=topic, page_token=page_token)
        return Page(page.snapshots, page.next_page_token)

    def publish(self, topic: str, messages: Sequence[Message]) -> PublishedMessages:
        checked = [as_message(message, index) for index, message in enumerate(messages)]
        written = map(resources.message_of, checked)
        done = self._call(PUBLISHER, "Publish", topic=topic, messages=written)
        return PublishedMessages(list(done.message_ids))

    # Subscriptions

    def create_subscription(self, subscription: str, topic: str, **fields: Any) -> Subscription:
        wanted = resources.subscription_with(subscription, {"topic": topic, **fields})
        made = self._connection.send(SUBSCRIBER, "CreateSubscription", wanted)
        return resources.subscription_of(made)

    def get_subscription(self, subscription: str) -> Subscription:
        found = self._call(SUBSCRIBER, "GetSubscription", subscription=subscription)
        return resources.subscription_of(found)

    def list_subscriptions(
        self, *, project: str | None = None, page_token: str | None = None
    ) -> Page[Subscription]:
        page = self._listing(SUBSCRIBER, "ListSubscriptions", project, page_token)
        return Page(map(resources.subscription_of, page.subscriptions), page.next_page_token)

    def update_subscription(self, subscription: str, **fields: Any) -> Subscription:
        changed = self._call(
            SUBSCRIBER,
            "UpdateSubscription",
            subscription=resources.subscription_with(subscription, fields),
            update_mask=FieldMask(paths=fields),
        )
        return resources.subscription_of(changed)

    def delete_subscription(self, subscription: str) -> None:
        self._call(SUBSCRIBER, "DeleteSubscription", subscription=subscription)

    def detach_subscription(self, subscription: str) -> None:
        self._call(PUBLISHER, "DetachSubscription", subscription=subscription)

    def pull(self, subscription: str, max_messages: int) -> PulledMessages:
        """Lease what is there now, and wait for nothing."""
        check_max_messages(max_messages)
        pulled = self._call(
            SUBSCRIBER,
            "Pull",
            subscription=subscription,
            max_messages=min(max_messages, _MOST),
            return_immediately=True,
        )
        received = list(map(resources.received_of, pulled.received_messages))
        return PulledMessages(
            received,
            partial(self.acknowledge, subscription),
            partial(self.modify_ack_deadline, subscription),
        )

    def acknowledge(self, subscription: str, ack_ids: Iterable[str]) -> AckResult:
        """Acknowledge deliveries. ``expired`` is empty: the protocol does not tell these apart.

        Without exactly-once delivery a server does not tell which leases were over either: all
        that are ack ids have succeeded.
        """
        return self._say("Acknowledge", subscription, ack_ids)

    def modify_ack_deadline(
        self, subscription: str, ack_ids: Iterable[str], ack_deadline_seconds: int
    ) -> AckResult:
        """Move the deadline of deliveries; what is told of them is as with ``acknowledge``."""
        check_new_deadline(ack_deadline_seconds)
        seconds = {"ack_deadline_seconds": ack_deadline_seconds}
        return self._say("ModifyAckDeadline", subscription, ack_ids, **seconds)

    def seek(
        self, subscription: str, *, time: datetime | None = None, snapshot: str | None = None
    ) -> None:
        to = None
        if time is not None:
            to = Timestamp()
            to.FromMicroseconds(to_micros(time))
        self._call(SUBSCRIBER, "Seek", subscription=subscription, time=to, snapshot=snapshot)

    # Snapshots

    def create_snapshot(
        self, snapshot: str, subscription: str, *, labels: Mapping[str, str] | None = None
    ) -> Snapshot:
        made = self._call(
            SUBSCRIBER,
            "CreateSnapshot",
            name=snapshot,
            subscription=subscription,
            labels=check_labels(labels),
        )
        return resources.snapshot_of(made)

    def get_snapshot(self, snapshot: str) -> Snapshot:
        return resources.snapshot_of(self._call(SUBSCRIBER, "GetSnapshot", snapshot=snapshot))

    def list_snapshots(
        self, *, project: str | None = None, page_token: str | None = None
    ) -> Page[Snapshot]:
        page = self._listing(SUBSCRIBER, "ListSnapshots", project, page_token)
        return Page(map(resources.snapshot_of, page.snapshots), page.next_page_token)

    def update_snapshot(self, snapshot: str, **fields: Any) -> Snapshot:
        wanted, mask = resources.snapshot_with(snapshot, fields), FieldMask(paths=fields)
        changed = self._call(SUBSCRIBER, "UpdateSnapshot", snapshot=wanted, update_mask=mask)
        return resources.snapshot_of(changed)

    def delete_snapshot(self, snapshot: str) -> None:
        self._call(SUBSCRIBER, "DeleteSnapshot", snapshot=snapshot)

    # Inside

    def _call(self, service: str, name: str, /, **fields: Any) -> Any:
        """Call a method with a request of these fields; None leaves one out."""
        return self._connection.send(service, name, SERVICES[service][name].request(**fields))

    def _listing(self, service: str, name: str, project: str | None, token: str | None) -> Any:
        of = self._project if project is None else check_project(project)
        return self._call(service, name, project=f"projects/{of}", page_token=token)

    def _say(self, name: str, subscription: str, ack_ids: Iterable[str], **more: Any) -> AckResult:
        """Say something of deliveries.

        What is no ack id is not sent with others: one such would be all that the server tells of.
        """
        given = list(dict.fromkeys(ack_ids))
        wanted = [each for each in given if parse_ack_id(each) is not None] or given
        failed = set(given) - set(wanted)
        while wanted:
            try:
                self._call(SUBSCRIBER, name, subscription=subscription, ack_ids=wanted, **more)
                break
            except AckIdsRefused as error:
                refused = error.invalid(wanted)
                if refused is None:
                    raise  # some may succeed later
                failed |= refused
                wanted = [each for each in wanted if each not in failed]
        told = [each for each in given if each not in failed], [e for e in given if e in failed]
        return AckResult(success=Ids.of(told[0]), expired=Ids.of(()), invalid=Ids.of(told[1]))
