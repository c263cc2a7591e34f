"""The hub: combines the requests of all clients, by topic and by subscription."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import ParamSpec, Protocol, TypeVar

from pubsub_delta.client import PubSub
from pubsub_delta.delivery import table_writes
from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.errors import DataLoss, FailedPrecondition, NotFound, Unavailable
from pubsub_delta.operations.exchange import Channel
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.resources import Message, Subscription
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.dispatcher import Dispatcher
from pubsub_delta.server.lease_journals import Abandoned, LeaseJournals
from pubsub_delta.server.lease_lengths import LEASE
from pubsub_delta.server.publishing import Append, PublishBatcher
from pubsub_delta.server.timing import Timing
from pubsub_delta.server.tracing import Tracing
from pubsub_delta.tables.store import Detached

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger("pubsub_delta.server")


class Backend(Protocol):
    """The store behind a server. Each of its functions may wait for Spark."""

    @property
    def administration(self) -> PubSub: ...

    def subscription(self, name: str) -> Subscription:
        """Return a subscription to lease from; NotFound, or Detached."""

    def channel(self, subscription: Subscription) -> Channel:
        """Return a channel to a subscription, without reading anything."""

    def push_subscriptions(self) -> Sequence[Subscription]:
        """Return the push subscriptions of all projects."""

    def table_subscriptions(self) -> Sequence[Subscription]:
        """Return the table subscriptions of all projects."""

    def write_table(self, name: str) -> TableWrites:
        """Write a slice of a subscription to its table."""

    def publisher(self, topic: str) -> Append:
        """Return a function that publishes to a topic; NotFound without the topic."""

    async def blocking(self, work: Callable[[], T], /) -> T:
        """Run an exchange or an append in a thread."""

    async def administer(self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Run anything else in a thread."""


class Hub:
    """All batchers and dispatchers of a server."""

    def __init__(
        self,
        backend: Backend,
        counters: Counters,
        timing: Timing,
        now: Callable[[], datetime],
        journals: LeaseJournals | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._journals = journals or LeaseJournals(None, "")
        self._tracing = tracing or Tracing()
        self.backend = backend
        self.counters = counters
        self._timing = timing
        self._now = now
        self._memory = counters.memory
        self.listeners: list[Callable[[str], object]] = []
        self._batchers: dict[str, PublishBatcher] = {}
        self._dispatchers: dict[str, Dispatcher] = {}
        self._opening = asyncio.Lock()
        self._stopping = False

    async def publish(self, topic: str, messages: Sequence[Message], size: int) -> Sequence[str]:
        """Publish checked messages of ``size`` bytes together, and return their ids."""
        self._refuse_if_stopping()
        batcher = self._batchers.get(topic)
        if batcher is None:
            for each in [name for name, known in self._batchers.items() if known.is_idle]:
                del self._batchers[each]
            batcher = self._batchers[topic] = PublishBatcher(
                lambda: self._tracing.appending(topic, self.backend.publisher(topic)),
                self.backend.blocking,
                self.counters,
                lambda: self.published(topic),
                self._timing.gather,
            )
        tracing = self._tracing.publishing(topic, messages)
        with self._memory.to_publish(size), tracing as published:
            ids = await batcher.publish(messages, size)
            published(ids)
            return ids

    def published(self, topic: str) -> None:
        """Start exchanges of a topic's dispatchers after a publish, and call the listeners."""
        for tell in self.listeners:
            tell(topic)
        for dispatcher in self._dispatchers.values():
            if dispatcher.subscription.topic == topic:
                dispatcher.poll()

    def running(self, name: str) -> Dispatcher | None:
        """Return the dispatcher of a subscription if it has one."""
        found = self._dispatchers.get(name)
        return None if found is None or found.is_over else found

    async def dispatcher(self, name: str) -> Dispatcher:
        """Return the dispatcher of a subscription; NotFound if there is no subscription."""
        found = self.running(name)
        if found is None:
            async with self._opening:
                found = self.running(name)
                if found is None:
                    found = await self._open(name)
        return found

    async def dispatcher_of(self, subscription: Subscription) -> Dispatcher:
        """Return the dispatcher of a subscription; NotFound if another one has its name.

        A dispatcher that has leased from an earlier subscription of that name is ended.
        """
        name, uid = subscription.name, subscription.uid
        running = self.running(name)
        if running is not None and running.leaser.uid != uid:
            await self._refresh(running)
        found = await self.dispatcher(name)
        if found.leaser.uid != uid:
            raise replaced(name)
        return found

    async def pulled(self, name: str) -> Dispatcher:
        """Return the dispatcher of a subscription for a new pull or stream.

        FailedPrecondition for a push or table subscription (Pub/Sub: nobody can pull from those).
        """
        running = self.running(name)
        if running is not None:
            await self._refresh(running)
        found = await self.dispatcher(name)
        fields = found.subscription
        if fields.push_config is not None or fields.table_config is not None:
            raise cannot_pull(found.subscription)
        return found

    async def acknowledging(self, name: str, ack_ids: Iterable[str]) -> Dispatcher:
        """Return the dispatcher of a subscription for some ack ids.

        Ids of another subscription can be those of a later one with its name.
        """
        found = await self.dispatcher(name)
        if any(not each.startswith(found.leaser.uid) for each in ack_ids):
            await self._refresh(found)
            found = await self.dispatcher(name)
        return found

    async def stop(self) -> None:
        """Finish pending requests: publish, write acks, give back prefetched messages."""
        self._stopping = True
        error = Unavailable("the server is shutting down; ask another server, or try again later")
        await asyncio.gather(
            *(batcher.drain() for batcher in self._batchers.values()),
            *(each.stop(error) for each in self._dispatchers.values() if not each.is_over),
        )

    async def take_over(self) -> None:
        """Make the messages available that dead servers had leased and not sent.

        A subscription for which it fails holds up no other. Its error is raised at the end.
        """
        with self._journals.abandoned() as abandoned:
            done = await asyncio.gather(*map(self._take_over, abandoned), return_exceptions=True)
            for error in done:
                if error is not None:
                    raise error

    async def _take_over(self, left: Abandoned) -> None:
        name, request = left.subscription, AckRequest(given_back=left.waiting)
        try:
            found = await self.backend.blocking(lambda: self.backend.subscription(name))
            if found.uid != left.uid:
                return
            channel = self.backend.channel(found)
            await self.backend.blocking(lambda: channel.exchange(request, 0, self._now(), LEASE))
        except (NotFound, Detached):
            return
        except DataLoss as error:
            logger.warning("%s: nothing of a server that is gone is available: %s", name, error)
            return
        logger.info(
            "%s: %d messages of a server that is gone are available",
            name,
            sum(map(len, left.waiting.values())),
        )
        running = self.running(name)
        if running is not None:
            running.poll()

    async def _refresh(self, dispatcher: Dispatcher) -> None:
        """Read the fields of a dispatcher's subscription, which another process may have changed.

        If it was deleted, the dispatcher ends. It and the messages that it has leased belong to
        consumers of that subscription, and not to those of a later one with its name.
        """
        name, known = dispatcher.name, dispatcher.subscription
        try:
            stored = await self.backend.blocking(lambda: self.backend.subscription(name))
        except (NotFound, Detached) as error:
            dispatcher.close(error)
            return
        if stored.uid != dispatcher.leaser.uid:
            dispatcher.close(replaced(name))
        elif dispatcher.subscription is known:  # an update or an exchange may have read later ones
            dispatcher.update(stored)

    def _refuse_if_stopping(self) -> None:
        if self._stopping:
            raise Unavailable("the server is shutting down and did nothing; try again later")

    async def _open(self, name: str) -> Dispatcher:
        subscription = await self.backend.blocking(lambda: self.backend.subscription(name))
        self._refuse_if_stopping()
        dispatcher = Dispatcher(
            name,
            self.backend.channel(subscription),
            subscription,
            self.backend.blocking,
            self.counters,
            self._timing,
            self._now,
            self._journals.journal(name, subscription.uid),
            self._memory.part(),
            self._tracing,
        )
        over = [each for each, known in self._dispatchers.items() if known.is_over]
        for each in over:
            del self._dispatchers[each]
        self._dispatchers[name] = dispatcher
        return dispatcher


def cannot_pull(subscription: Subscription) -> FailedPrecondition:
    """Return why nobody can pull from a subscription that pushes, or is written to a table."""
    if subscription.push_config is None:
        return table_writes.cannot_pull(subscription)
    shown = subscription.push_config.push_endpoint.partition("?")[0]  # the rest can be a secret
    return FailedPrecondition(
        f"subscription {subscription.name} pushes its messages to {shown!r}; clear its "
        "push_config to pull from it"
    )


def replaced(name: str) -> NotFound:
    """Return the error for consumers of a subscription whose name another one has now."""
    return NotFound(f"subscription {name} was deleted, and created again; send a new request")
