"""Servers whose threads are virtual time: what would run in one takes some, and may fail."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from pubsub_delta.clock import Clock
from pubsub_delta.errors import Unavailable
from pubsub_delta.server.backend import StoreBackend
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, SUBSCRIBER
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.lease_journals import LeaseJournals
from pubsub_delta.server.publisher_service import PublisherService
from pubsub_delta.server.push_endpoint import DEADLINE_EXCEEDED
from pubsub_delta.server.push_requests import PushRequest
from pubsub_delta.server.pushing import Pushers
from pubsub_delta.server.serve import TAKE_OVER_SECONDS
from pubsub_delta.server.streams import Stream
from pubsub_delta.server.subscriber_service import SubscriberService
from pubsub_delta.server.table_writing import TableWriters
from pubsub_delta.server.timing import Timing
from tests.model.drivers import MemoryPubSub
from tests.unit.server_observer import Client, Delivered, Observer
from tests.unit.serving_calls import Context, method_of

P = ParamSpec("P")
T = TypeVar("T")

SLOWEST_CALL = 0.05
"""Seconds before a call to the store is carried out, and after it, at most."""

_running: ContextVar[SimulatedServer | None] = ContextVar("_running", default=None)
"""The server whose code runs; what it starts is its own, too."""


class World(Protocol):
    """What servers know of the simulation."""

    chance: random.Random
    clock: Clock
    folder: Path
    observer: Observer

    @property
    def now(self) -> float: ...

    def note(self, what: str) -> None: ...

    def fault(self) -> str | None:
        """Draw whether a call to the store fails: "refused", or "lost" after it was carried out."""

    def open(self) -> MemoryPubSub:
        """Open the store as a process of its own does."""


class SimulatedBackend(StoreBackend):
    """A store whose calls take virtual time, and fail now and then."""

    def __init__(self, world: World) -> None:
        super().__init__(world.open())
        self._world = world
        self.is_dead = False

    async def blocking(self, work: Callable[[], T], /) -> T:
        """Carry out a call in one moment of the time that it takes."""
        await self._passes()
        fault = self._world.fault()
        if fault == "refused":
            raise Unavailable("the storage is busy")
        try:
            done = work()
        finally:
            await self._passes()
        if fault == "lost":
            raise Unavailable("the answer was lost")
        return done

    async def administer(self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        return await self.blocking(partial(work, *args, **named))

    async def _passes(self) -> None:
        await asyncio.sleep(self._world.chance.uniform(0, SLOWEST_CALL))
        if self.is_dead:
            await asyncio.Event().wait()


class SimulatedServer:
    """A server, its pushers and its journals, without sockets."""

    def __init__(self, world: World, number: int) -> None:
        self.number = number
        self.is_over = False
        self.counters = Counters()
        self.backend = SimulatedBackend(world)
        self.tasks: set[asyncio.Task[Any]] = set()
        self._journals = LeaseJournals(str(world.folder), str(number))
        self._hub = Hub(self.backend, self.counters, Timing(), world.clock.now, self._journals)
        self._pushers = Pushers(self._hub, world.clock.now)
        writers = TableWriters(self._hub, Timing())
        self._services = {
            PUBLISHER: PublisherService(self._hub),
            SUBSCRIBER: SubscriberService(self._hub, self._pushers, writers),
        }
        self._journals.begin()
        self._taking_over = self._own(self._take_over())
        self._own(self._start())

    async def call(self, service: str, name: str, /, **fields: Any) -> Any:
        """Call a method; Unavailable if the server is killed before it is answered."""
        asked = SERVICES[service][name].request(**fields)
        called = method_of(self._services[service], name)
        return await self._answer(partial(called, asked, Context()))

    async def stream(self, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the responses of a StreamingPull, and close it when they are not read further."""
        async with aclosing(Stream(self._hub).run(requests)) as responses:  # type: ignore[type-var]
            following = partial(anext, responses, None)
            while (response := await self._answer(following)) is not None:
                yield response

    async def stop(self) -> None:
        """End in order, as SIGTERM makes it."""
        self.is_over = True
        self._taking_over.cancel()
        await self._own(self._stop())

    async def kill(self) -> None:
        """End at once, as SIGKILL makes it: nothing is written or answered any more."""
        self.is_over = self.backend.is_dead = True
        killed = list(self.tasks)
        for task in killed:
            task.cancel()
        await asyncio.gather(*killed, return_exceptions=True)
        if self._journals._lock is not None:
            self._journals._lock.release()

    def _own(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task of this server; what it starts is of this server, too."""
        before = _running.set(self)
        try:
            return asyncio.ensure_future(work)
        finally:
            _running.reset(before)

    async def _answer(self, begin: Callable[[], Any]) -> Any:
        task = self._own(_begun(begin))
        try:
            if not self.backend.is_dead:
                return await task
        except asyncio.CancelledError:
            if not self.backend.is_dead:
                raise
        finally:
            task.cancel()
        raise Unavailable("the connection is lost")

    async def _start(self) -> None:
        self._pushers.start()

    async def _stop(self) -> None:
        await self._pushers.stop()
        await self._hub.stop()
        self._journals.end()

    async def _take_over(self) -> None:
        while True:
            with suppress(Unavailable):
                await self._hub.take_over()
            await asyncio.sleep(TAKE_OVER_SECONDS)


async def _begun(begin: Callable[[], Any]) -> Any:
    return await begin()


def task_of_a_server(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
    """Make a task, as a task factory of a loop, and note whose it is."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **more)
    owner = _running.get()
    if owner is not None:
        owner.tasks.add(task)
        task.add_done_callback(owner.tasks.discard)
    return task


class SimulatedEndpoint:
    """An endpoint that is pushed to, as a pusher calls it; how it answers is drawn.

    Args:
        failing: the share of the requests that fail or get no answer.
    """

    def __init__(self, world: World, failing: Callable[[], float]) -> None:
        self._world, self._failing = world, failing
        self._client = Client("the endpoint", 256, True, float("inf"))
        world.observer.joined(self._client)

    async def post(self, url: str, request: PushRequest, seconds: float) -> str:
        """Take one message; return the status code."""
        world, observer = self._world, self._world.observer
        given = self._given(json.loads(request.body))
        world.note(f"{given.position} to the endpoint")
        observer.delivered(self._client, given, world.now, world.now + seconds)
        drawn, failing = world.chance.random(), self._failing()
        takes = seconds if drawn < failing / 2 else world.chance.choice((0.0, 0.1, 2.0))
        succeeds = False
        try:
            await asyncio.sleep(takes)
            succeeds = drawn >= failing
        finally:  # perhaps cancelled, at the end of the server
            observer.answers(self._client, given, world.now, acks=succeeds)
            if not succeeds:
                observer.failed(given, world.now)
        return "204" if succeeds else DEADLINE_EXCEEDED if takes == seconds else "503"

    async def close(self) -> None:
        """Close the connections: there are none."""

    def _given(self, body: dict[str, Any]) -> Delivered:
        message = body["message"]
        data = base64.b64decode(message.get("data", "")).decode()
        position, key = int(message["messageId"]), message.get("orderingKey", "")
        return Delivered("", position, data, key, body.get("deliveryAttempt", 0))
