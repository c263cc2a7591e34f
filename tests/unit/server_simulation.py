"""Servers and their clients in virtual time, by a schedule that is drawn from a seed.

The servers are real from their methods to the tables, which are in memory; only threads are not:
what would run in one takes some virtual time. Clients are those of ``simulated_clients``, and an
``Observer`` sees what they see.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pubsub_delta.clock import Clock
from pubsub_delta.delivery import sources
from pubsub_delta.errors import PubSubError
from pubsub_delta.policy.ack_state import AckState, union
from pubsub_delta.resources import Message
from pubsub_delta.server import pushing
from pubsub_delta.server.dispatcher import _KEPT_FOR_THE_BUSY
from pubsub_delta.server.grpc_services import PUBLISHER, SUBSCRIBER
from pubsub_delta.server.subscription_workers import REFRESH_SECONDS
from pubsub_delta.server.timing import Timing
from tests.model.drivers import MemoryPubSub
from tests.model.memory import MemoryTables
from tests.model.memory import World as Tables
from tests.unit.builders import START
from tests.unit.server_observer import Observer, Rules
from tests.unit.serving_calls import NAME, TOPIC
from tests.unit.simulated_clients import Habits, PullingClient, StreamingClient
from tests.unit.simulated_servers import SimulatedEndpoint, SimulatedServer, task_of_a_server
from tests.unit.virtual_time import VirtualClock

DEAD, DEAD_NAME = "projects/local/topics/dead", "projects/local/subscriptions/dead"
SOON = 2.0
"""Seconds within which a server delivers what is available, by a few calls to the store."""
LONGEST_LEASE = 240
"""Seconds after which the last client has been given everything: deadlines are of 90 at most."""


@dataclass(frozen=True)
class Storm:
    """What may happen, and for how long.

    ``seconds``: until when clients come and messages are published. ``servers``: how many serve.
    ``balanced``: each call of a client goes to any of them, and not to the one of its stream.
    ``elsewhere``: the share of the messages that another process publishes. ``slow``: the share of
    the streams that are read slowly. ``refused``, ``lost``: the share of the calls to the store
    that fail, before and after they are carried out. ``seeks``, ``lives``, ``updates``,
    ``restarts``, ``kills``: seconds between two of them, 0 for none.
    """

    seconds: float = 40
    servers: int = 1
    balanced: bool = False
    elsewhere: float = 0.0
    slow: float = 0.0
    refused: float = 0.0
    lost: float = 0.0
    seeks: float = 0
    lives: float = 0
    updates: float = 0
    restarts: float = 0
    kills: float = 0

    def rules(self, fields: dict[str, Any]) -> Rules:
        """Return what is promised in it for a subscription of these fields."""
        ordered = fields.get("enable_message_ordering", False)
        exactly_once = fields.get("enable_exactly_once_delivery", False)
        policy = fields.get("dead_letter_policy")
        unsure = self.slow or self.refused or self.lost or self.seeks or self.lives
        calm = not (unsure or self.restarts or self.kills or self.updates)
        waits = "retry_policy" in fields or "push_config" in fields
        at_another = _KEPT_FOR_THE_BUSY if self.servers > 1 else 0
        polls = Timing().longest_poll if self.servers > 1 or self.elsewhere > 0 else 0
        return Rules(
            ordered=ordered,
            # A server has messages of a key that it may send before it learns of a nack elsewhere.
            in_order=ordered and not self.balanced,
            final=exactly_once and not self.updates,
            alone=not unsure and (exactly_once or not self.kills),
            latest=SOON + polls + at_another if calm and not waits else float("inf"),
            attempts=policy.max_delivery_attempts if policy else 0,
        )


class SimulatedStore(MemoryPubSub):
    """A process's store; the observer is told of a seek or a new life when it is committed."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(MemoryTables(simulation.tables), simulation.clock)
        self._simulation = simulation

    def seek(self, subscription: str, **to: Any) -> None:
        super().seek(subscription, **to)
        self._simulation.sought("a seek")

    def create_subscription(self, subscription: str, topic: str, **fields: Any) -> Any:
        made = super().create_subscription(subscription, topic, **fields)
        if subscription == NAME:
            self._simulation.sought("a new life")
        return made


class Simulation:
    """One schedule: ``fields`` of the subscription, a storm, and what is drawn from the seed."""

    def __init__(self, seed: str, fields: dict[str, Any], storm: Storm, folder: Path) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.storm, self.fields = storm, fields
        self.tables = Tables()
        self._loop = asyncio.get_running_loop()
        self._loop.set_task_factory(task_of_a_server)
        self.clock: Clock = VirtualClock(self._loop)
        self.observer = Observer(storm.rules(fields))
        self.exactly_once = self.observer.rules.final
        self.acks_count = self.observer.rules.alone and not storm.kills
        self.happened: list[str] = []
        self._is_peaceful = False
        self._published = 0
        self.store = SimulatedStore(self)
        self.store.create_topic(DEAD)
        self.store.create_subscription(DEAD_NAME, DEAD)
        self.store.create_topic(TOPIC, message_retention_duration=timedelta(days=1))
        self.store.create_subscription(NAME, TOPIC, **fields)
        self.servers = [SimulatedServer(self, number) for number in range(storm.servers)]

    @property
    def now(self) -> float:
        return self._loop.time()

    @property
    def pushes(self) -> bool:
        """Whether the subscription pushes."""
        return "push_config" in self.fields

    def open(self) -> MemoryPubSub:
        """Open the store as a process of its own does."""
        return SimulatedStore(self)

    def note(self, what: str) -> None:
        self.happened.append(f"{self.now:9.3f} {what}")

    def running(self, server: Any = None) -> SimulatedServer:
        """Return that server if it runs and calls are not balanced, or any that runs."""
        running = [each for each in self.servers if not each.is_over]
        stays = server in running and not self.storm.balanced
        return server if stays else self.chance.choice(running)

    def fault(self) -> str | None:
        """Draw whether a call to the store fails, and when."""
        drawn = 1.0 if self._is_peaceful else self.chance.random()
        if drawn < self.storm.refused:
            return "refused"
        return "lost" if drawn < self.storm.refused + self.storm.lost else None

    def sought(self, what: str) -> None:
        """Tell the observer of a seek or a new life that was just committed."""
        state, uid = self._state()
        self.note(what)
        self.observer.sought(set(union(state.unacked())), uid, state.first_lease_id)

    # The schedule

    async def run(self) -> None:
        """Carry out the schedule, and check the end."""
        storm = self.storm
        acts = [self._publish() for _ in range(2)]
        consumers = 0 if self.pushes and not storm.updates else 3
        acts += [self._consume(number) for number in range(consumers)]
        acts.append(self._now_and_then(storm.seeks, self._seek))
        acts.append(self._now_and_then(storm.lives, self._begin_anew))
        acts.append(self._now_and_then(storm.updates, self._update))
        acts.append(self._now_and_then(storm.restarts, self._restart))
        acts.append(self._now_and_then(storm.kills, self._kill))
        endpoint = partial(SimulatedEndpoint, self, self._failing)
        with patch.object(pushing, "PushEndpoint", endpoint):
            await asyncio.gather(*acts)
            await self._drain()

    async def _now_and_then(
        self, every: float, act: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        while every:
            await asyncio.sleep(self.chance.expovariate(1 / every))
            if self.now > self.storm.seconds:
                return
            with suppress(PubSubError):
                await act()

    async def _publish(self) -> None:
        while self.now < self.storm.seconds:
            await asyncio.sleep(self.chance.expovariate(1))
            count = self.chance.choice((1, 1, 2, 5))
            key = self.chance.choice(("", "a", "b", "c")) if self.observer.rules.ordered else ""
            self._published += count
            numbers = range(self._published - count, self._published)
            data = [str(n) + " " * self.chance.choice((0, 0, 50)) for n in numbers]
            with suppress(PubSubError):
                for n, each in zip(await self._publish_all(data, key), data, strict=True):
                    self.note(f"published {n} {key}")
                    self.observer.promised(int(n), each, key, self.now)

    async def _publish_all(self, data: list[str], key: str) -> list[str]:
        if self.chance.random() < self.storm.elsewhere:
            done = self.store.publish(TOPIC, [Message(each.encode(), {}, key) for each in data])
            return list(done.message_ids)
        messages = [{"data": each.encode(), "ordering_key": key} for each in data]
        answer = await self.running().call(PUBLISHER, "Publish", topic=TOPIC, messages=messages)
        return list(answer.message_ids)

    async def _consume(self, number: int) -> None:
        """Come and go as one client after the other."""
        while self.now < self.storm.seconds:
            await asyncio.sleep(self.chance.expovariate(1 / 3))
            habits = Habits.drawn(self.chance, self.storm.slow)
            kind = StreamingClient if self.chance.random() < 0.7 else PullingClient
            name = f"{kind.__name__} {number} of {self.now:.0f}"
            with suppress(PubSubError):
                await kind(self, habits, name).run()

    def _failing(self) -> float:
        """Return the share of the pushes that fail."""
        return 0.0 if self._is_peaceful else 0.3

    async def _drain(self) -> None:
        """Let one good client have everything that is left, and end the servers."""
        self._is_peaceful = True
        self.note("peace")
        pushes = self.pushes and not self.storm.updates
        if self.storm.updates:
            await self._push(False)
            await asyncio.sleep(REFRESH_SECONDS + SOON)
        last = StreamingClient(self, Habits(stays=LONGEST_LEASE), "the last client")
        reading = [] if pushes else [asyncio.ensure_future(last.run())]
        until = self.now + LONGEST_LEASE
        while self.now < until and self._unacked():
            await asyncio.sleep(1)
        last.leave()
        await asyncio.gather(*reading)
        began = self.now
        running = [each for each in self.servers if not each.is_over]
        await asyncio.gather(*(each.stop() for each in running))
        if self.now - began > SOON:
            raise self.observer.violated("a server ends soon", f"it took {self.now - began:.1f} s")
        self._check_end()

    def _check_end(self) -> None:
        dead = self.store.pull(DEAD_NAME, 1000)
        self.observer.check_end(self._unacked(), [each.data.decode() for each in dead])
        for each in self.servers:
            held = each.counters.memory
            if not each.backend.is_dead and (held.messages or held.bytes or held.publishing):
                raise self.observer.violated(
                    "memory is given back", f"{held.messages}, {held.bytes}"
                )
        left = [each for server in self.servers for each in server.tasks]
        if left:
            raise self.observer.violated("no task goes on", f"{left}")

    def _unacked(self) -> set[int]:
        return set(union(self._state()[0].unacked()))

    def _state(self) -> tuple[AckState, str]:
        """Return what is stored of the subscription, and its uid."""
        tables = self.store._tables
        source = sources.source(tables, self.store._subscription(NAME))
        state = source.catch_up(tables.ack_states.read(source.uid), self.clock.now())
        return state, source.uid

    # Operators

    async def _seek(self) -> None:
        server, snapshot = self.running(), "projects/local/snapshots/seen"
        to = self.chance.choice(("start", "now", "snapshot"))
        if to != "snapshot":
            time = START if to == "start" else self.clock.now()
            await server.call(SUBSCRIBER, "Seek", subscription=NAME, time=time)
            return
        await server.call(SUBSCRIBER, "CreateSnapshot", name=snapshot, subscription=NAME)
        await asyncio.sleep(self.chance.uniform(0, 5))
        await self.running().call(SUBSCRIBER, "Seek", subscription=NAME, snapshot=snapshot)
        await server.call(SUBSCRIBER, "DeleteSnapshot", snapshot=snapshot)

    async def _begin_anew(self) -> None:
        with suppress(PubSubError):  # perhaps only its answer was lost
            await self.running().call(SUBSCRIBER, "DeleteSubscription", subscription=NAME)
        await asyncio.sleep(self.chance.choice((0, 1, 10)))
        self.store.create_subscription(NAME, TOPIC, **self.fields)

    async def _update(self) -> None:
        chance = self.chance
        field, value = chance.choice(
            (
                ("push_config", None),
                ("ack_deadline_seconds", chance.choice((10, 30, 60))),
                ("enable_exactly_once_delivery", chance.random() < 0.5),
                ("retry_policy", {"minimum_backoff": {}} if chance.random() < 0.5 else None),
            )
        )
        self.note(f"{field} = {value}")
        if field == "push_config":
            await self._push(chance.random() < 0.5)
            return
        changed: dict[str, Any] = {"name": NAME, "topic": TOPIC, field: value}
        asked = {"subscription": changed, "update_mask": {"paths": [field]}}
        await self.running().call(SUBSCRIBER, "UpdateSubscription", **asked)

    async def _push(self, pushes: bool) -> None:
        config = {"push_endpoint": "https://example.com/push"} if pushes else {}
        asked = {"subscription": NAME, "push_config": config}
        await self.running().call(SUBSCRIBER, "ModifyPushConfig", **asked)

    async def _restart(self) -> None:
        server = self._replaced()
        self.note(f"server {server.number} stops")
        await server.stop()

    async def _kill(self) -> None:
        server = self._replaced()
        self.note(f"server {server.number} is killed")
        await server.kill()

    def _replaced(self) -> SimulatedServer:
        """Start another server, and return the one that it replaces."""
        server = self.running()
        self.servers.append(SimulatedServer(self, len(self.servers)))
        return server
