"""The workers of a server: one for each subscription that the server itself consumes.

Pushing and writing to tables use it. A worker starts when a subscription needs one, uses changed
fields, and stops when the subscription is deleted or no longer needs one.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from pubsub_delta.resources import Subscription

W = TypeVar("W")

logger = logging.getLogger("pubsub_delta.server")

REFRESH_SECONDS = 10.0
"""The time between two reads of the registry."""


class SubscriptionWorkers(ABC, Generic[W]):
    """The workers of one kind, by the name of their subscription.

    A change by this server takes effect at once, by ``apply``. A change by another process takes
    effect at the next ``refresh``, within ``REFRESH_SECONDS``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._workers: dict[str, W] = {}
        self._changing = asyncio.Lock()
        self._applied = 0
        self._is_stopping = False
        self._refreshing: asyncio.Task[None] | None = None

    @abstractmethod
    def needs_worker(self, subscription: Subscription) -> bool:
        """Return whether a subscription needs a worker of this kind."""

    @abstractmethod
    async def subscriptions(self) -> Sequence[Subscription]:
        """Read the subscriptions that need a worker from the store."""

    @abstractmethod
    async def run_worker(self, subscription: Subscription) -> None:
        """Start the worker of a subscription, or give it the new fields."""

    @abstractmethod
    async def end_worker(self, name: str) -> None:
        """End the worker of a subscription, if there is one."""

    @abstractmethod
    async def end_workers(self) -> None:
        """End all workers when the server ends."""

    def start(self) -> None:
        """Start refreshing."""
        loop = asyncio.get_running_loop()
        self._refreshing = loop.create_task(self._refresh_always(), name=self.name)

    async def apply(self, subscription: Subscription) -> None:
        """Use the fields that this server has just stored for a subscription."""
        self._applied += 1
        async with self._changing:
            if self.needs_worker(subscription) and not subscription.detached:
                await self.run_worker(subscription)
            else:
                await self.end_worker(subscription.name)

    async def refresh(self) -> None:
        """Start, change and end workers according to the registry."""
        applied = self._applied
        found = await self.subscriptions()
        async with self._changing:
            if applied != self._applied:
                return  # the fields that were read may be older than those applied meanwhile
            for name in self._workers.keys() - {each.name for each in found}:
                await self.end_worker(name)
            for subscription in found:
                await self.run_worker(subscription)

    async def stop(self) -> None:
        """Stop refreshing, and end all workers."""
        self._is_stopping = True
        if self._refreshing is not None:
            self._refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await self._refreshing
        async with self._changing:
            await self.end_workers()

    async def _refresh_always(self) -> None:
        while True:
            try:
                await self.refresh()
            except Exception:
                logger.exception("%s: the subscriptions could not be read", self.name)
            await asyncio.sleep(REFRESH_SECONDS)
