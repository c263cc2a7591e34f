"""A whole store in memory, the same for two ways of asking: in this process, and by a server."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from click.testing import CliRunner, Result

from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.clock import ManualClock
from pubsub_delta.long_running import LongRunning
from pubsub_delta.names import subscription_name
from pubsub_delta.operations import pull
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.messages import as_message
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.turns import Turn
from pubsub_delta.resources import (
    AckResult,
    Message,
    ReceivedMessage,
    Snapshot,
    Subscription,
    Topic,
)
from pubsub_delta.server.figures import Figures
from pubsub_delta.server.leasing import Exchanged, Pace
from pubsub_delta.server.publishing import Append
from pubsub_delta.server.security import Security
from pubsub_delta.tables.leases import Lease
from pubsub_delta.tables.resource_rows import snapshot_of
from tests.model.drivers import MemoryDriver, MemoryPubSub
from tests.model.memory import MemoryMessages, MemoryTables
from tests.model.memory_registry import MemoryRegistry
from tests.unit.builders import at
from tests.unit.serving import QUICK, MemoryStore, serving

T = TypeVar("T")


@dataclass
class MemoryLease:
    """A lease, and what is read under it."""

    lease: Lease
    subscription: Subscription

    @property
    def lease_id(self) -> int:
        return self.lease.lease_id

    @property
    def positions(self) -> Positions:
        return self.lease.positions

    @property
    def until(self) -> datetime:
        return self.lease.until

    def receive(self, wanted: Positions, max_bytes: int) -> list[ReceivedMessage]:
        topic = cast(MemoryMessages, self.lease.source.messages)
        counted = self.subscription.dead_letter_policy is not None
        attempts = {n: each.delivery_attempt for each in self.lease.spans for n in each.positions}
        received = []
        for n in wanted:
            message = topic.contents[n]
            received.append(
                ReceivedMessage(
                    str(AckId(self.lease.source.uid, self.lease_id, n)),
                    str(n),
                    at(topic.stored.messages[n].published),
                    message.data,
                    message.attributes,
                    message.ordering_key,
                    attempts[n] if counted else None,
                )
            )
        return received


@dataclass(frozen=True)
class Ids:
    message_ids: Sequence[str]


@dataclass(frozen=True)
class MemoryBatch:
    store: WorldStore
    subscription: str
    received: Sequence[ReceivedMessage]

    def __iter__(self) -> Iterator[ReceivedMessage]:
        return iter(self.received)

    def ack(self) -> AckResult:
        return self.store.acknowledge(self.subscription, [each.ack_id for each in self.received])


class WorldStore(MemoryPubSub):
    """The client on tables in memory, which also publishes and pulls."""

    def __init__(self, tables: MemoryTables, project: str, clock: ManualClock) -> None:
        LongRunning.__init__(self, tables, project, clock)

    def publish(self, topic: str, messages: Any, **_: Any) -> Any:
        uid = self._tables.topic(self._topic(topic)).uid
        checked = [as_message(each, index) for index, each in enumerate(messages)]
        log = cast(MemoryMessages, self._tables.messages(uid))
        first = log.next_position
        log.append(checked, self._clock.now())
        return Ids([str(first + n) for n in range(len(checked))])

    def pull(self, subscription: str, max_messages: int | None = None) -> Any:
        name, now = self._subscription(subscription), self._clock.now()
        lease = pull.pull(self._tables, name, max_messages, now)
        found = self._tables.source(name).subscription
        received = [] if lease is None else MemoryLease(lease, found).receive(lease.positions, 0)
        return MemoryBatch(self, subscription, received)


class Registry(MemoryRegistry):
    """One that also lists subscriptions and snapshots."""

    def subscriptions(self, under: str) -> list[Subscription]:
        return [each for each, _ in self.sources() if each.name.startswith(under)]

    def push_subscriptions(self) -> list[Subscription]:
        return [each for each in self.subscriptions("") if each.push_config is not None]

    def snapshots(self, under: str, now: datetime) -> list[Snapshot]:
        found = [snapshot_of(row) for row in self._snapshots.values()]
        return [each for each in found if each.name.startswith(under) and now < each.expire_time]

    def snapshots_of(self, topic: Topic, now: datetime) -> list[Snapshot]:
        return [each for each in self.snapshots("", now) if each.topic == topic.name]


class WorldBackend:
    """That store behind a server."""

    def __init__(self) -> None:
        driver = MemoryDriver()
        self.clock = driver.clock
        self._world = driver.world
        self._world.registry = Registry()
        self.store = self.open("local")
        self.figures = Figures()
        self._tables = self.store._tables
        self._threads = ThreadPoolExecutor(4)
        self._lock = threading.Lock()

    def open(self, project: str) -> WorldStore:
        """Open the store anew, as another process does."""
        return WorldStore(MemoryTables(self._world), project, self.clock)

    @property
    def now(self) -> Callable[[], datetime]:
        return self.clock.now

    @property
    def administration(self) -> WorldStore:
        return self.store

    def subscription(self, name: str) -> Subscription:
        return self._tables.source(subscription_name(name, "")).subscription

    def channel(self, subscription: Subscription) -> WorldChannel:
        return WorldChannel(self, subscription.name)

    def push_subscriptions(self) -> Sequence[Subscription]:
        found: Sequence[Subscription] = self._tables.registry.push_subscriptions()
        return found

    def publisher(self, topic: str) -> Append:
        self.store.get_topic(topic)

        def append(messages: Sequence[Message]) -> Sequence[str]:
            ids: Sequence[str] = self.store.publish(topic, messages).message_ids
            return ids

        return append

    def seek(self, name: str, *, time: datetime | None, snapshot: str | None) -> None:
        self.store.seek(name, time=time, snapshot=snapshot)

    async def blocking(self, work: Callable[[], T], /) -> T:
        def alone() -> T:
            with self._lock:
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._threads, alone)

    administer = blocking


def served(
    backend: WorldBackend, pace: Pace = QUICK, security: Security | None = None
) -> AbstractContextManager[str]:
    """Run a server on that store; give its address."""
    return serving(cast(MemoryStore, backend), pace, security)


@dataclass(frozen=True)
class WorldChannel:
    """The way to a subscription of that store."""

    backend: WorldBackend
    name: str

    def exchange(self, turn: Turn, max_messages: int, deadline: timedelta) -> Exchanged:
        tables, name = self.backend._tables, subscription_name(self.name, "")
        found = tables.source(name).subscription
        now = self.backend.now()
        lease, answer = pull.exchange(tables, name, turn, max_messages, now, deadline)
        holding = None if lease is None else MemoryLease(lease, found)
        return Exchanged(holding, answer, found)


class Terminal:
    """Command lines, one after the other; ``{ids}`` stands for those of the last pull.

    Args:
        backend: whose clock the process goes by.
        address: of a server; None for the store itself.
    """

    def __init__(self, backend: WorldBackend, address: str | None) -> None:
        self._backend = backend
        where = {"ROOT": "/r"} if address is None else {"ENDPOINT": address}
        self.variables = {f"PUBSUB_DELTA_{name}": text for name, text in where.items()}
        self._ids: list[str] = []

    def app(self, **more: str) -> App:
        """Return what a process is, perhaps one with more variables."""
        return App(
            lambda said: self._backend.open(said.project),
            self._backend.clock,
            {**self.variables, **more},
        )

    def run(self, line: str, **more: str) -> Result:
        """Run a command line in such a process."""
        last = "".join(self._ids[-1:])
        words = shlex.split(line.format(ids=",".join(self._ids), last=last))
        result = CliRunner().invoke(cli, words, obj=self.app(**more))
        if "pull" in words and "--format=json" in words:
            self._ids = [each["ackId"] for each in json.loads(result.stdout)] or self._ids
        return result

    def told(self, line: str) -> tuple[int, str, str]:
        """Run a line; return its exit code and what it printed, without what no server tells."""
        result = self.run(line)
        shown = re.sub(r'^ *"?(create|update)Time.*\n', "", result.stdout, flags=re.MULTILINE)
        return result.exit_code, anonymous(shown), anonymous(result.stderr)


def anonymous(text: str) -> str:
    """Return a text without the numbers of leases: how many there are depends on the moment."""
    text = re.sub(r"[0-9a-f]{32}\.[0-9]+\.([0-9]+)\.[0-9]+", r"<delivery of \1>", text)
    for wide, narrow in ((" +", " "), ("─+", "─"), (r",(\n *})", r"\1")):
        text = re.sub(wide, narrow, text)
    return text
