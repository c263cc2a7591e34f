"""Clients of simulated servers: streams and pulls that handle each message as they are drawn."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from pubsub_delta.errors import PubSubError
from pubsub_delta.server.grpc_services import SUBSCRIBER
from pubsub_delta.server.status import AckIdFailure
from tests.unit.server_observer import Client, Delivered, Observer
from tests.unit.serving_calls import NAME, request

UNLIMITED = 10_000
"""The messages of a stream that asks for no limit (see ``docs/server.md``)."""
PATIENCE = 60
"""Seconds within which an ack on a stream is confirmed, with exactly-once delivery."""
JOINED_AFTER = 0.5
"""Seconds after which a client has surely joined."""


class Server(Protocol):
    """What clients ask."""

    async def call(self, service: str, name: str, /, **fields: Any) -> Any: ...

    def stream(self, requests: AsyncIterator[Any]) -> AsyncIterator[Any]: ...


class Simulation(Protocol):
    """What clients know of the world."""

    chance: random.Random
    observer: Observer
    exactly_once: bool
    acks_count: bool
    """Whether an ack counts that was not confirmed."""

    @property
    def now(self) -> float: ...

    def note(self, what: str) -> None: ...

    def running(self, server: Server | None = None) -> Server:
        """Return that server if it runs, or another one."""


@dataclass
class Habits:
    """How a client goes about its messages, in shares of them and seconds.

    ``acks``, ``nacks``, ``forgets``: the rest is extended once, and then acknowledged. ``takes``:
    the seconds to handle a message on average. ``stays``: how long it stays. ``reads_after``: how
    long it waits after each response. ``cancels``: whether it leaves without a word.
    """

    most: int = 0
    most_bytes: int = 0
    deadline: int = 60
    acks: float = 1
    nacks: float = 0
    forgets: float = 0
    takes: float = 0
    stays: float = 0
    reads_after: float = 0
    cancels: bool = False

    @classmethod
    def drawn(cls, chance: random.Random, slow: float) -> Habits:
        """Draw some; ``slow`` is the share of those that read slowly."""
        return cls(
            most=chance.choice((0, 1, 2, 5, 20)),
            most_bytes=chance.choice((0, 0, 0, 200)),
            deadline=chance.choice((10, 10, 20, 60)),
            acks=chance.choice((1, 0.9, 0.6)),
            nacks=chance.choice((0, 0.05, 0.3)),
            forgets=chance.choice((0, 0, 0.05)),
            takes=chance.choice((0.0, 0.2, 1, 5)),
            stays=chance.uniform(5, 40),
            reads_after=chance.uniform(1, 30) if chance.random() < slow else 0,
            cancels=chance.random() < 0.5,
        )


class SimulatedClient:
    """What streams and pulls have in common: what they do with a message."""

    def __init__(self, simulation: Simulation, habits: Habits, name: str) -> None:
        self.simulation, self.habits, self.name = simulation, habits, name
        self.server = simulation.running()
        self._handling: set[asyncio.Task[None]] = set()

    async def handled(self) -> None:
        """Wait until every message is handled."""
        while self._handling:
            await asyncio.gather(*self._handling)

    def _take(self, client: Client, received: Any, deadline: int) -> None:
        now, message = self.simulation.now, received.message
        data, key = message.data.decode(), message.ordering_key
        position, attempt = int(message.message_id), received.delivery_attempt
        given = Delivered(received.ack_id, position, data, key, attempt)
        self.simulation.note(f"{position} to {self.name} by lease {given.lease_id}")
        self.simulation.observer.delivered(client, given, now, now + deadline)
        task = asyncio.ensure_future(self._handle(client, given))
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    async def _handle(self, client: Client, given: Delivered) -> None:
        chance, habits = self.simulation.chance, self.habits
        await asyncio.sleep(chance.expovariate(1 / habits.takes) if habits.takes else 0)
        drawn = chance.random()
        with suppress(PubSubError):
            if drawn < habits.acks:
                await self._acknowledge(client, given)
            elif drawn < habits.acks + habits.nacks:
                await self._nack(client, given)
            elif drawn >= habits.acks + habits.nacks + habits.forgets:
                await self._extend(client, given, chance.choice((10, 30, 90)))
                await asyncio.sleep(chance.uniform(1, 40))
                await self._acknowledge(client, given)

    async def _acknowledge(self, client: Client, given: Delivered) -> None:
        held = self._answers(client, given, "acked")
        confirmed = await self._say(None, given)
        if confirmed or (confirmed is None and held and self.simulation.acks_count):
            self.simulation.observer.acknowledged(given)
        elif confirmed is False and held and self.simulation.acks_count:
            raise self.simulation.observer.violated(
                "an ack in time succeeds", f"{given} at {self.simulation.now:.3f}"
            )

    async def _nack(self, client: Client, given: Delivered) -> None:
        if self._answers(client, given, "nacked"):
            self.simulation.observer.failed(given, self.simulation.now)
        await self._say(0, given)

    def _answers(self, client: Client, given: Delivered, how: str) -> bool:
        """Tell the observer of an answer; return whether it comes in time."""
        simulation = self.simulation
        held = simulation.observer.holds(client, given, simulation.now)
        simulation.note(f"{given.position} {how} by {self.name}{'' if held else ', late'}")
        simulation.observer.answers(client, given, simulation.now, acks=how == "acked")
        return held

    async def _extend(self, client: Client, given: Delivered, seconds: int) -> None:
        simulation = self.simulation
        if simulation.observer.holds(client, given, simulation.now):
            simulation.note(f"{given.position} for {seconds} s more for {self.name}")
            simulation.observer.extended(client, given, simulation.now + seconds)
        await self._say(seconds, given)

    async def _say(self, seconds: int | None, given: Delivered) -> bool | None:
        """Answer by a call; return whether it was confirmed, None where nothing is promised."""
        name = "Acknowledge" if seconds is None else "ModifyAckDeadline"
        asked = {} if seconds is None else {"ack_deadline_seconds": seconds}
        server = self.simulation.running(self.server)
        try:
            await server.call(SUBSCRIBER, name, subscription=NAME, ack_ids=[given.ack_id], **asked)
        except AckIdFailure:
            return False
        return True if self.simulation.exactly_once else None


class PullingClient(SimulatedClient):
    """One pull after the other."""

    async def run(self) -> None:
        simulation = self.simulation
        until = simulation.now + self.habits.stays
        most = self.habits.most or 100
        try:
            while simulation.now < until:
                await self._pull(most)
                await asyncio.sleep(simulation.chance.expovariate(1))
        finally:
            await self.handled()

    async def _pull(self, most: int) -> None:
        client = Client(self.name, most, True, self.simulation.now + JOINED_AFTER)
        self.simulation.observer.joined(client)
        try:
            asked = {"subscription": NAME, "max_messages": most}
            pulled = await self.server.call(SUBSCRIBER, "Pull", **asked)
            for received in pulled.received_messages:
                self._take(client, received, 10)
        finally:
            client.leaves()


class StreamingClient(SimulatedClient):
    """A StreamingPull; some answers go by the stream, and some by calls."""

    def __init__(self, simulation: Simulation, habits: Habits, name: str) -> None:
        super().__init__(simulation, habits, name)
        self._requests: asyncio.Queue[Any] = asyncio.Queue()
        self._is_open = True
        self._leaves = asyncio.Event()
        self._confirmed: dict[str, asyncio.Future[bool]] = {}

    def leave(self) -> None:
        """Leave before the time."""
        self._leaves.set()

    async def run(self) -> None:
        habits = self.habits
        joined = self.simulation.now + JOINED_AFTER
        most, prompt = habits.most or UNLIMITED, not habits.reads_after
        client = Client(self.name, most, prompt, joined, habits.most_bytes)
        self.simulation.observer.joined(client)
        reading = asyncio.ensure_future(self._read(client))
        leaving = asyncio.ensure_future(self._leaves.wait())
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait([reading, leaving], timeout=habits.stays, return_when=first)
            client.leaves()
            self.simulation.note(f"{self.name} leaves")
            self._is_open = False
            if habits.cancels:
                reading.cancel()
            self._requests.put_nowait(None)
            with suppress(asyncio.CancelledError):
                await reading
        finally:
            leaving.cancel()
            for each in self._confirmed.values():
                each.cancel()
            client.leaves()
            await self.handled()

    async def _read(self, client: Client) -> None:
        async with aclosing(self.server.stream(self._says())) as responses:  # type: ignore[type-var]
            async for response in responses:
                for received in response.received_messages:
                    self._take(client, received, self.habits.deadline)
                self._hear(response.acknowledge_confirmation)
                self._hear(response.modify_ack_deadline_confirmation)
                if self.habits.reads_after:
                    await asyncio.sleep(self.habits.reads_after)

    def _hear(self, confirmation: Any) -> None:
        succeeded = dict.fromkeys(confirmation.ack_ids, True)
        failed = (*confirmation.invalid_ack_ids, *confirmation.temporary_failed_ack_ids)
        for ack_id, success in {**succeeded, **dict.fromkeys(failed, False)}.items():
            waiting = self._confirmed.pop(ack_id, None)
            if waiting is not None:
                waiting.set_result(success)

    async def _says(self) -> AsyncIterator[Any]:
        yield request(
            subscription=NAME,
            stream_ack_deadline_seconds=self.habits.deadline,
            max_outstanding_messages=self.habits.most,
            max_outstanding_bytes=self.habits.most_bytes,
        )
        while (said := await self._requests.get()) is not None:
            yield said

    async def _say(self, seconds: int | None, given: Delivered) -> bool | None:
        if not self._is_open or self.simulation.chance.random() < 0.3:
            return await super()._say(seconds, given)
        said: dict[str, Any] = {"ack_ids": [given.ack_id]}
        if seconds is not None:
            moved = {"modify_deadline_seconds": [seconds]}
            said = {"modify_deadline_ack_ids": [given.ack_id], **moved}
        if not self.simulation.exactly_once:
            self._requests.put_nowait(request(**said))
            return None
        confirmed = self._confirmed[given.ack_id] = asyncio.get_running_loop().create_future()
        self._requests.put_nowait(request(**said))
        done, _ = await asyncio.wait([confirmed], timeout=PATIENCE)
        if not done and self.simulation.acks_count and self._is_open:
            raise self.simulation.observer.violated("each ack on a stream is confirmed", f"{given}")
        return confirmed.result() if done and not confirmed.cancelled() else None
