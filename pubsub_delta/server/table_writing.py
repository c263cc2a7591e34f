"""Table subscriptions: writes their messages to Delta tables."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.errors import FailedPrecondition, NotFound
from pubsub_delta.resources import Subscription
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.hub import Hub, cannot_pull
from pubsub_delta.server.subscription_workers import SubscriptionWorkers
from pubsub_delta.server.timing import Timing
from pubsub_delta.table_config import TableState

logger = logging.getLogger("pubsub_delta.server")

MOST_AT_ONCE = 2
"""Slices that are written at a time, of all subscriptions; each takes memory and a thread."""
SHORTEST_PAUSE = 0.1
LONGEST_PAUSE = 60.0
"""Seconds of the pause after a failure; each further failure doubles it (Pub/Sub backs off when it
cannot write, as with push).
"""


class TableWriter:
    """Writes the messages of one subscription, one slice after the other.

    When no message is left, it waits for a publish through this server, or for the next check. The
    time between checks grows while no message comes.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        write: Callable[[], Awaitable[TableWrites]],
        room: asyncio.Semaphore,
        counters: Counters,
        timing: Timing,
    ) -> None:
        self.topic = topic
        self._name = name
        self._write = write
        self._room = room
        self._counters = counters
        self._timing = timing
        self._woken = asyncio.Event()
        self._ended = asyncio.Event()
        self._state = TableState.ACTIVE
        self._failures = 0
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"write {name}")

    @property
    def is_over(self) -> bool:
        """Whether the writer has ended."""
        return self._task.done()

    def wake(self) -> None:
        """Check for messages now; a pause after a failure goes on."""
        self._woken.set()

    def end(self) -> None:
        """Begin no more slices. The current one is finished."""
        self._ended.set()
        self._woken.set()

    async def stop(self) -> None:
        """Finish the current slice, and end."""
        self.end()
        await self._task

    async def _run(self) -> None:
        pause = self._timing.shortest_poll
        while not self._ended.is_set():
            self._woken.clear()
            try:
                async with self._room:
                    if self._ended.is_set():  # while it has waited for its turn
                        return
                    done = await self._write()
            except (NotFound, FailedPrecondition) as error:
                logger.info("%s: nothing more is written to a table: %s", self._name, error)
                return
            except Exception as error:
                logger.warning("%s: its table could not be written: %s", self._name, error)
                await self._pause()
                continue
            self._note(done)
            if done.written:
                pause = self._timing.shortest_poll
            if done.is_done and (done.problem or (done.failed and not done.written)):
                await self._pause()
                continue
            self._failures = 0
            if done.is_done and not self._ended.is_set():
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), pause)
                woken = self._woken.is_set()
                longer = min(pause * 1.25, self._timing.longest_poll)
                pause = self._timing.shortest_poll if woken else longer

    def _note(self, done: TableWrites) -> None:
        self._counters.table_rows += done.written
        self._counters.table_failures += done.failed
        if done.state is not self._state:
            level = logging.INFO if done.state is TableState.ACTIVE else logging.WARNING
            logger.log(level, "%s: %s %s", self._name, done.state.value, done.problem)
        self._state = done.state

    async def _pause(self) -> None:
        """Pause, longer after each failure in a row."""
        wait = min(SHORTEST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 30)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended.wait(), wait)


class TableWriters(SubscriptionWorkers[TableWriter]):
    """The writers of a server: one for every table subscription of the store.

    Other servers may write the same subscriptions.
    """

    def __init__(self, hub: Hub, timing: Timing) -> None:
        super().__init__("table writers")
        self._hub = hub
        self._timing = timing
        self._room = asyncio.Semaphore(MOST_AT_ONCE)
        self._ended: list[TableWriter] = []
        hub.listeners.append(self._published)

    def needs_worker(self, subscription: Subscription) -> bool:
        return subscription.table_config is not None

    async def subscriptions(self) -> Sequence[Subscription]:
        backend = self._hub.backend
        return await backend.administer(backend.table_subscriptions)

    async def run_worker(self, subscription: Subscription) -> None:
        """Start writing the messages of a subscription, or use its new fields."""
        name = subscription.name
        running = self._workers.get(name)
        if running is not None and not running.is_over:
            running.topic = subscription.topic
            running.wake()
        elif not self._is_stopping:
            pulled = self._hub.running(name)
            if pulled is not None:
                pulled.update(subscription)
                pulled.end(cannot_pull(subscription))
                pulled.leaser.give_back_waiting()
                pulled.poll()
            self._workers[name] = TableWriter(
                name,
                subscription.topic,
                partial(self._write, name),
                self._room,
                self._hub.counters,
                self._timing,
            )

    async def end_worker(self, name: str) -> None:
        """Let a writer end. Nobody waits for its slice: that takes as long as its storage does."""
        running = self._workers.pop(name, None)
        if running is not None:
            running.end()
            self._ended = [each for each in (*self._ended, running) if not each.is_over]

    async def end_workers(self) -> None:
        """Finish the slices that are being written."""
        writers = (*self._workers.values(), *self._ended)
        await asyncio.gather(*(each.stop() for each in writers))

    def _published(self, topic: str) -> None:
        """Wake the writers of a topic's subscriptions after a publish."""
        for writer in self._workers.values():
            if writer.topic == topic:
                writer.wake()

    async def _write(self, name: str) -> TableWrites:
        backend = self._hub.backend
        return await backend.administer(backend.write_table, name)
