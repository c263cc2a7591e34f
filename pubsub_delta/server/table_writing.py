"""Writing to tables: who takes the messages of table subscriptions and keeps writing them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.errors import FailedPrecondition, NotFound
from pubsub_delta.resources import Subscription
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.hub import Hub, cannot_pull
from pubsub_delta.server.timing import Timing
from pubsub_delta.table_config import TableState

logger = logging.getLogger("pubsub_delta.server")

LOOK = 10.0
"""Seconds from one look for what other processes did to table subscriptions to the next."""
MOST_AT_ONCE = 2
"""Slices of all subscriptions that are written at a time: what they take of memory and threads."""
SHORTEST_PAUSE = 0.1
LONGEST_PAUSE = 60.0
"""Seconds that nothing is tried after a failure: twice as long after each one that follows
(Pub/Sub: it backs off where it cannot write, as with push)."""


class TableWriter:
    """Writes the messages of one subscription, a slice after the other.

    When nothing is left it waits until something is published through this server, or looks again
    after a while, a longer one each time.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        write: Callable[[], Awaitable[TableWrites]],
        counters: Counters,
        timing: Timing,
    ) -> None:
        self.topic = topic
        self._name = name
        self._write = write
        self._counters = counters
        self._timing = timing
        self._woken = asyncio.Event()
        self._ended = asyncio.Event()
        self._state = TableState.ACTIVE
        self._failures = 0
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"write {name}")

    @property
    def is_over(self) -> bool:
        """Whether it writes no more."""
        return self._task.done()

    def look(self) -> None:
        """Look for messages now; after a failure the pause goes on."""
        self._woken.set()

    async def stop(self) -> None:
        """Finish the slice that is being written, and end."""
        self._ended.set()
        self._woken.set()
        await self._task

    async def _run(self) -> None:
        pause = self._timing.shortest_look
        while not self._ended.is_set():
            self._woken.clear()
            try:
                done = await self._write()
            except (NotFound, FailedPrecondition) as error:
                logger.info("%s: nothing more is written to a table: %s", self._name, error)
                return
            except Exception as error:
                logger.warning("%s: its table could not be written: %s", self._name, error)
                await self._rest()
                continue
            self._note(done)
            if done.written:
                pause = self._timing.shortest_look
            if done.is_done and (done.problem or (done.failed and not done.written)):
                await self._rest()
                continue
            self._failures = 0
            if done.is_done and not self._ended.is_set():
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), pause)
                woken = self._woken.is_set()
                longer = min(pause * 1.25, self._timing.longest_look)
                pause = self._timing.shortest_look if woken else longer

    def _note(self, done: TableWrites) -> None:
        self._counters.table_rows += done.written
        self._counters.table_failures += done.failed
        if done.state is not self._state:
            level = logging.INFO if done.state is TableState.ACTIVE else logging.WARNING
            logger.log(level, "%s: %s %s", self._name, done.state.value, done.problem)
        self._state = done.state

    async def _rest(self) -> None:
        """Try nothing for a while, longer after each failure in a row."""
        wait = min(SHORTEST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 30)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended.wait(), wait)


class TableWriters:
    """The writers of a server: one for every table subscription of the store.

    What is done through this server takes effect at once. What other processes do is noticed at
    the next look, within ``LOOK`` seconds; other servers may write the same subscriptions.
    """

    def __init__(self, hub: Hub, timing: Timing) -> None:
        self._hub = hub
        self._timing = timing
        self._room = asyncio.Semaphore(MOST_AT_ONCE)
        hub.listeners.append(self._published)
        self._writers: dict[str, TableWriter] = {}
        self._changing = asyncio.Lock()
        self._learned = 0
        self._stopping = False
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write, and to look for what is to be written."""
        self._looking = asyncio.get_running_loop().create_task(self._look(), name="table writers")

    def _published(self, topic: str) -> None:
        """Let the subscriptions of a topic look for what was published."""
        for writer in self._writers.values():
            if writer.topic == topic:
                writer.look()

    async def learn(self, subscription: Subscription) -> None:
        """Go by the fields that a subscription was given by this server."""
        self._learned += 1
        async with self._changing:
            if subscription.table_config is None or subscription.detached:
                await self._end(subscription.name)
            else:
                self._go_by(subscription)

    async def look(self) -> None:
        """Go by what the store says of all table subscriptions."""
        learned = self._learned
        backend = self._hub.backend
        found = await backend.administer(backend.table_subscriptions)
        async with self._changing:
            if learned != self._learned:
                return  # it may be older than what was learned meanwhile
            for name in self._writers.keys() - {each.name for each in found}:
                await self._end(name)
            for subscription in found:
                self._go_by(subscription)

    async def stop(self) -> None:
        """Finish the slices that are being written."""
        self._stopping = True
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        async with self._changing:
            await asyncio.gather(*(each.stop() for each in self._writers.values()))

    async def _look(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:
                logger.exception("table subscriptions could not be looked for")
            await asyncio.sleep(LOOK)

    def _go_by(self, subscription: Subscription) -> None:
        name = subscription.name
        running = self._writers.get(name)
        if running is not None and not running.is_over:
            running.topic = subscription.topic
            running.look()
        elif not self._stopping:
            pulled = self._hub.running(name)
            if pulled is not None:
                pulled.learn(subscription)
                pulled.end(cannot_pull(subscription))
                pulled.leaser.give_back_waiting()
                pulled.look()
            self._writers[name] = TableWriter(
                name,
                subscription.topic,
                partial(self._write, name),
                self._hub.counters,
                self._timing,
            )

    async def _write(self, name: str) -> TableWrites:
        backend = self._hub.backend
        async with self._room:
            return await backend.administer(backend.write_table, name)

    async def _end(self, name: str) -> None:
        running = self._writers.pop(name, None)
        if running is not None:
            await running.stop()
