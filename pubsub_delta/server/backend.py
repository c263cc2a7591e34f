"""The store behind a server, and the threads in which its commits are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from pubsub_delta.client import PubSub
from pubsub_delta.clock import CheckedClock
from pubsub_delta.delivery import table_subscriptions
from pubsub_delta.delivery.consuming import MayForward
from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.metrics import MetricRow
from pubsub_delta.names import subscription_name, topic_name
from pubsub_delta.operations import metrics, publish
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.resources import Message, Subscription
from pubsub_delta.server.publishing import Append

P = ParamSpec("P")
T = TypeVar("T")

_ADMINISTRATORS = 8
"""The most administrative requests at a time."""


class StoreBackend:
    """A store for a server.

    Args:
        store: the store, with its project and its clock.
        workers: how many appends and exchanges run at a time.
        may_forward: returns whether to forward dead letters of a subscription.
    """

    def __init__(
        self,
        store: PubSub,
        workers: int = 4,
        may_forward: MayForward = lambda _: True,
    ) -> None:
        self._store = store
        self._may_forward = may_forward
        self._now = CheckedClock(store.clock).now
        self._project = store.project
        self._tables = store.tables
        self._workers = ThreadPoolExecutor(workers, "pubsub-server")
        self._administrators = ThreadPoolExecutor(_ADMINISTRATORS, "pubsub-server-admin")

    @property
    def administration(self) -> PubSub:
        """Topics, subscriptions, snapshots and schemas."""
        return self._store

    def subscription(self, name: str) -> Subscription:
        """Return a subscription to lease from; NotFound, or Detached."""
        return self._tables.attached(subscription_name(name, self._project))[0]

    def channel(self, subscription: Subscription) -> StoreChannel:
        """Return a channel to a subscription."""
        name = subscription_name(subscription.name, self._project)
        return StoreChannel(self._tables, name, subscription.uid, self._now, self._may_forward)

    def push_subscriptions(self) -> list[Subscription]:
        """Return the push subscriptions of all projects."""
        found = self._tables.registry.subscriptions_to("push_endpoint")
        return [each for each in found if not each.detached]

    def table_subscriptions(self) -> list[Subscription]:
        """Return the table subscriptions of all projects."""
        found = self._tables.registry.subscriptions_to("table_name")
        return [each for each in found if not each.detached]

    def write_table(self, name: str) -> TableWrites:
        """Write a slice of a subscription to its table."""
        subscription = subscription_name(name, self._project)
        forward = self._may_forward(self._tables.attached(subscription)[0])
        return table_subscriptions.write_messages(
            self._tables, subscription, self._now, slices=1, forward=forward
        )

    def publisher(self, topic: str) -> Append:
        """Return a function that publishes messages in one commit; NotFound without the topic.

        It returns their message ids.
        """
        found = self._tables.topic(topic_name(topic, self._project))

        def append(messages: Sequence[Message]) -> list[str]:
            done = publish.publish(self._tables, found, messages, self._now(), None)
            return list(done.message_ids)

        return append

    def metric_rows(self) -> list[MetricRow]:
        """Return the metrics of everything in the store."""
        return list(metrics.rows(self._tables, None, self._project, self._now(), exact=False))

    async def blocking(self, work: Callable[[], T], /) -> T:
        """Run an exchange or an append in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)

    async def administer(self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Run anything else in a thread."""
        call = partial(work, *args, **named)
        return await asyncio.get_running_loop().run_in_executor(self._administrators, call)

    def close(self) -> None:
        """Stop the threads, after their running calls."""
        for threads in (self._workers, self._administrators):
            threads.shutdown()
