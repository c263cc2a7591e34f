"""google.pubsub.v1.Subscriber on a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from google.protobuf.empty_pb2 import Empty

from pubsub_delta.errors import InvalidArgument, NotFound, Unavailable
from pubsub_delta.names import subscription_name, topic_name
from pubsub_delta.policy.fields import check_max_messages, check_new_deadline
from pubsub_delta.resources import Snapshot, Subscription
from pubsub_delta.server import partial_updates, update_masks, wire
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS, TRANSIENT
from pubsub_delta.server.ack_futures import AckFuture
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver
from pubsub_delta.server.authorization import Authorizer
from pubsub_delta.server.dispatcher import Dispatcher
from pubsub_delta.server.grpc_services import SUBSCRIBER, message_class
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.publisher_service import listed
from pubsub_delta.server.pushing import Pushers
from pubsub_delta.server.status import AckIdFailure, can_name_all, check_lengths
from pubsub_delta.server.streams import Stream
from pubsub_delta.server.table_writing import TableWriters

LONGEST_PULL = 20.0
"""Seconds that a pull waits for a first message, if its client waits that long."""
PULLED_MESSAGES = 1_000
PULLED_BYTES = 3_000_000
"""The most bytes of one pull: clients accept responses of 4 MiB, encoding included."""

_Pulled = message_class("PullResponse")
_Subscriptions = message_class("ListSubscriptionsResponse")
_Snapshots = message_class("ListSnapshotsResponse")
_Sought = message_class("SeekResponse")


class SubscriberService:
    """Subscriptions and snapshots, and delivery."""

    def __init__(
        self,
        hub: Hub,
        pushers: Pushers,
        writers: TableWriters,
        access: Authorizer | None = None,
    ) -> None:
        self._access = access
        self._hub = hub
        self._pushers = pushers
        self._writers = writers
        self._admin = hub.backend.administration
        self._do = hub.backend.administer
        self._updating = WeakValueDictionary[str, asyncio.Lock]()

    # Subscriptions

    async def create_subscription(self, request: Any, _: Any) -> Any:
        """Create a subscription, and start its pusher or table writer."""
        topic = wire.full_name(request.topic, "topic")
        name = request.name or self._new_name("subscription", topic_name(topic, "").project)
        name = wire.full_name(name, "subscription", "name")
        fields = wire.subscription_fields(request)
        wire.check_targets(request, wire.SUBSCRIPTION_FIELDS)
        self._pushers.check(fields.get("push_config"))
        made = await self._do(self._admin.create_subscription, name, topic, **fields)
        await self._pushers.apply(made)
        await self._writers.apply(made)
        return wire.subscription_message(made)

    async def get_subscription(self, request: Any, _: Any) -> Any:
        """Return a subscription."""
        name = _subscription(request.subscription)
        return wire.subscription_message(await self._do(self._admin.get_subscription, name))

    async def update_subscription(self, request: Any, context: Any) -> Any:
        """Change the fields of a subscription that the mask names."""
        name = wire.full_name(request.subscription.name, "subscription", "subscription.name")
        wire.check_targets(request.subscription, request.update_mask.paths)

        async def write(stored: Subscription, unchanged: Subscription | None) -> Any:
            if self._access is not None and unchanged is not None:
                # Once more: the token of a push can be another one since the first check.
                await self._access.check(f"{SUBSCRIBER}/UpdateSubscription", request, context)
            fields = update_masks.changed_fields(
                request.subscription,
                request.update_mask,
                wire.subscription_message(stored),
                wire.SUBSCRIPTION_FIELDS,
            )
            if fields.get("message_retention_duration", ...) is None:
                fields["message_retention_duration"] = timedelta(days=7)
            return wire.subscription_message(await self._updated(name, fields, unchanged))

        read = partial(self._do, self._admin.get_subscription, name)
        return await partial_updates.update(request.update_mask, read, write)

    async def list_subscriptions(self, request: Any, _: Any) -> Any:
        """List the subscriptions of a project."""
        project = wire.project_of(request.project)
        fetch = partial(self._do, self._admin.list_subscriptions, project=project)
        found, token = await listed(fetch, wire.subscription_message, request)
        return _Subscriptions(subscriptions=found, next_page_token=token)

    async def delete_subscription(self, request: Any, _: Any) -> Any:
        """Delete a subscription; its streams end."""
        name = _subscription(request.subscription)
        dispatcher = self._hub.running(name)
        await self._between_exchanges(name, partial(self._admin.delete_subscription, name))
        if dispatcher is not None:
            dispatcher.close(NotFound(f"subscription {name} was deleted; create it again"))
        return Empty()

    async def modify_push_config(self, request: Any, _: Any) -> Any:
        """Set the push configuration; an empty one means pull."""
        name = _subscription(request.subscription)
        wire.check_push_endpoint(request.push_config)
        await self._updated(name, {"push_config": wire.push_config(request.push_config)})
        return Empty()

    # Messages

    async def streaming_pull(self, requests: Any, _: Any) -> AsyncIterator[Any]:
        """Deliver messages until the client or the server ends it."""
        async for response in Stream(self._hub).run(requests):
            yield response

    async def pull(self, request: Any, context: Any) -> Any:
        """Return the first available messages, perhaps after a wait."""
        name = _subscription(request.subscription)
        check_max_messages(request.max_messages)
        dispatcher = await self._hub.pulled(name)
        patience = LONGEST_PULL
        remaining = context.time_remaining()
        if remaining is not None:
            patience = min(patience, remaining * 0.8)
        given = await _pulled(
            dispatcher,
            Consumer(
                min(request.max_messages, PULLED_MESSAGES),
                PULLED_BYTES,
                dispatcher.subscription.ack_deadline_seconds,
            ),
            patience,
            at_once=request.return_immediately,
        )
        response = _Pulled(received_messages=[wire.received_message(d.received) for d in given])
        for delivery in given:
            delivery.was_sent()
        return response

    async def acknowledge(self, request: Any, _: Any) -> Any:
        """Acknowledge deliveries."""
        dispatcher = await self._of(request)
        together = can_name_all(request.ack_ids)
        future = dispatcher.acknowledge(list(request.ack_ids), together=together)
        await answered(dispatcher, future, request.ack_ids)
        return Empty()

    async def modify_ack_deadline(self, request: Any, _: Any) -> Any:
        """Move the deadlines of deliveries; 0 is a nack."""
        check_new_deadline(request.ack_deadline_seconds)
        dispatcher = await self._of(request)
        seconds = request.ack_deadline_seconds
        future = dispatcher.modify_ack_deadline(request.ack_ids, seconds)
        await answered(dispatcher, future, request.ack_ids)
        return Empty()

    async def seek(self, request: Any, _: Any) -> Any:
        """Seek to a time or to a snapshot, which voids all leases."""
        name = _subscription(request.subscription)
        time = wire.time_of(request.time) if request.HasField("time") else None
        snapshot = _snapshot(request.snapshot) if request.HasField("snapshot") else None
        seek = partial(self._admin.seek, name, time=time, snapshot=snapshot)
        await self._between_exchanges(name, seek, voids=True)
        return _Sought()

    # Snapshots

    async def create_snapshot(self, request: Any, _: Any) -> Any:
        """Create a snapshot."""
        wire.refuse_unknown(request, {"name", "subscription", "labels"})
        subscription = _subscription(request.subscription)
        project = subscription_name(subscription, "").project
        name = request.name or self._new_name("snapshot", project)
        name = wire.full_name(name, "snapshot", "name")
        create = self._admin.create_snapshot
        labels = dict(request.labels)
        made = await self._between_exchanges(
            subscription, partial(create, name, subscription, labels=labels)
        )
        return wire.snapshot_message(made)

    async def get_snapshot(self, request: Any, _: Any) -> Any:
        """Return a snapshot."""
        name = _snapshot(request.snapshot)
        return wire.snapshot_message(await self._do(self._admin.get_snapshot, name))

    async def update_snapshot(self, request: Any, _: Any) -> Any:
        """Change the fields of a snapshot that the mask names."""
        name = wire.full_name(request.snapshot.name, "snapshot", "snapshot.name")

        async def write(stored: Snapshot, unchanged: Snapshot | None) -> Any:
            fields = update_masks.changed_fields(
                request.snapshot,
                request.update_mask,
                wire.snapshot_message(stored),
                wire.SNAPSHOT_FIELDS,
            )
            update = partial(self._admin.update_snapshot, name, if_unchanged=unchanged, **fields)
            return wire.snapshot_message(await self._do(update))

        read = partial(self._do, self._admin.get_snapshot, name)
        return await partial_updates.update(request.update_mask, read, write)

    async def delete_snapshot(self, request: Any, _: Any) -> Any:
        """Delete a snapshot."""
        await self._do(self._admin.delete_snapshot, _snapshot(request.snapshot))
        return Empty()

    async def list_snapshots(self, request: Any, _: Any) -> Any:
        """List the snapshots of a project."""
        project = wire.project_of(request.project)
        fetch = partial(self._do, self._admin.list_snapshots, project=project)
        found, token = await listed(fetch, wire.snapshot_message, request)
        return _Snapshots(snapshots=found, next_page_token=token)

    # Inside

    def _new_name(self, kind: str, project: str) -> str:
        """Return a generated name (Pub/Sub: a snapshot without a name gets one)."""
        return f"projects/{project}/{kind}s/{kind}-{self._admin.tables.new_id()}"

    async def _updated(
        self, name: str, fields: wire.Fields, if_unchanged: Subscription | None = None
    ) -> Subscription:
        """Change a subscription, and use its new fields: what is stored last is used last."""
        self._pushers.check(fields.get("push_config"))
        update = partial(self._admin.update_subscription, name, if_unchanged=if_unchanged, **fields)
        lock = self._updating.setdefault(name, asyncio.Lock())
        async with lock:
            changed: Subscription = await self._between_exchanges(name, update)
            dispatcher = self._hub.running(name)
            if dispatcher is not None:
                dispatcher.update(changed)
            await self._pushers.apply(changed)
            await self._writers.apply(changed)
        return changed

    async def _of(self, request: Any) -> Dispatcher:
        name = _subscription(request.subscription)
        if not request.ack_ids:
            raise InvalidArgument("ack_ids: an empty list; at least one ack id is needed")
        check_lengths(request.ack_ids)
        return await self._hub.acknowledging(name, request.ack_ids)

    async def _between_exchanges(
        self, name: str, work: Callable[[], Any], *, voids: bool = False
    ) -> Any:
        """Run an operation on a subscription after its pending acks are written."""
        dispatcher = self._hub.running(name)
        if dispatcher is None:
            return await self._do(work)
        async with dispatcher.between_exchanges():
            done = await self._do(work)
            if voids:
                dispatcher.drop_leases()
        return done


async def answered(dispatcher: Dispatcher, future: AckFuture, ack_ids: Iterable[str]) -> None:
    """Wait for the outcomes of ack ids, if the response waits for them; raise their failures.

    Without exactly-once delivery an ack id whose lease is over is not a failure.
    """
    if not future.done:
        settled = asyncio.Event()
        future.add_done_callback(settled.set)
        await settled.wait()
    if dispatcher.leaser.exactly_once:
        failures = {**future.failures, **dict.fromkeys(future.malformed, INVALID_ACK_ID)}
        if failures:
            raise AckIdFailure(failures, of=ack_ids)
        dispatcher.leaser.forget_confirmed(ack_ids)
        return
    if {TRANSIENT, OF_OTHERS} & set(future.failures.values()):
        raise Unavailable("nothing was written in several attempts; try again later")
    future.check(dispatcher.name)


async def _pulled(
    dispatcher: Dispatcher, consumer: Consumer, patience: float, *, at_once: bool
) -> Sequence[Delivery]:
    """Return the first messages; none if none come within ``patience`` seconds, or at one look."""
    given: asyncio.Future[Sequence[Delivery]] = asyncio.get_running_loop().create_future()

    def take(deliveries: Sequence[Delivery]) -> None:
        if (deliveries or at_once) and not given.done():
            dispatcher.leave(consumer)
            given.set_result(deliveries)

    def fail(error: Exception) -> None:
        if not given.done():
            given.set_exception(error)

    dispatcher.join(Receiver(consumer, take, fail))
    try:
        # From Python 3.12 on ``wait_for`` drops a result that comes at the instant of its timeout.
        await asyncio.wait([given], timeout=patience)
    except asyncio.CancelledError:  # the client has gone away
        if given.done() and given.exception() is None:
            dispatcher.give_back(given.result())
        raise
    finally:
        dispatcher.leave(consumer)
    return given.result() if given.done() else ()


def _subscription(name: str) -> str:
    return wire.full_name(name, "subscription")


def _snapshot(name: str) -> str:
    return wire.full_name(name, "snapshot")
