"""A server in this process on a store in memory, which goes by the real policy."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import grpc
from google.cloud import pubsub_v1
from google.pubsub_v1 import PublisherClient, types
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from pubsub_delta.clock import SystemClock
from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.errors import NotFound
from pubsub_delta.operations.exchange import Exchanged
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_requests import AckRequest, apply
from pubsub_delta.policy.ack_state import Absorbed, AckState, Seek, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.replay import note_seek
from pubsub_delta.resources import Message, ReceivedMessage, Subscription
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.publishing import Append
from pubsub_delta.server.security import Security
from pubsub_delta.server.serve import Server, ServerSettings
from pubsub_delta.server.timing import Timing
from pubsub_delta.server.tracing import Tracing
from tests.unit.builders import PLAIN, KeysOf

P = ParamSpec("P")
T = TypeVar("T")

TOPIC = PLAIN.topic
SUBSCRIPTION = PLAIN.name
LONG = 20
"""Seconds that a test waits for what comes soon, before it gives up."""
QUICK = Timing(gather=0.01, shortest_poll=0.02, longest_poll=0.1)


@dataclass
class MemoryHolding:
    store: MemoryStore
    lease_id: int
    positions: Positions
    until: datetime

    def receive(self, wanted: Positions, max_bytes: int) -> list[ReceivedMessage]:
        got: list[ReceivedMessage] = []
        size = 0
        for n in wanted:
            message = self.store.messages[n]
            size += len(message.data)
            if got and size > max_bytes:
                break
            ack_id = AckId(self.store.subscription_now.uid, self.lease_id, n)
            published = self.store.times[n]
            got.append(
                ReceivedMessage(
                    str(ack_id),
                    str(n),
                    published,
                    message.data,
                    message.attributes,
                    message.ordering_key,
                    None,
                )
            )
        return got


@dataclass
class MemoryStore:
    """A topic with one subscription, whose messages are never forgotten.

    ``before_exchange`` is called in the worker's thread.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    before_exchange: Callable[[], object] = lambda: None
    messages: list[Message] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    appends: list[int] = field(default_factory=list)
    requests: list[tuple[AckRequest, int]] = field(default_factory=list)
    changes: int = 0
    gone: bool = False

    def __post_init__(self) -> None:
        self.administration: Any = self
        self.now = SystemClock().now
        self.state = AckState(after_version=0)
        self.subscription_now: Subscription = replace(PLAIN, **self.fields)
        self.counters = Counters()
        self._threads = ThreadPoolExecutor(4)
        self._lock = threading.Lock()

    def subscription(self, name: str) -> Subscription:
        if name != SUBSCRIPTION or self.gone:
            raise NotFound(f"subscription {name} does not exist")
        return self.subscription_now

    def channel(self, subscription: Subscription) -> MemoryStore:
        return self

    def push_subscriptions(self) -> list[Subscription]:
        now = self.subscription_now
        return [] if self.gone or now.push_config is None else [now]

    def table_subscriptions(self) -> list[Subscription]:
        return []

    def write_table(self, name: str) -> TableWrites:
        raise NotFound(name)

    def publisher(self, topic: str) -> Append:
        if topic != TOPIC:
            raise NotFound(f"topic {topic} does not exist")
        return self._append

    def _append(self, messages: Sequence[Message]) -> Sequence[str]:
        with self._lock:
            now, first = self.now(), len(self.messages)
            self.messages += messages
            self.times += [now] * len(messages)
            self.appends.append(len(messages))
            new = Positions.between(first, len(self.messages) - 1)
            self.state = delivery.absorb(self.state, [Absorbed(new, now, now)], len(self.appends))
            return [str(n) for n in new]

    def exchange(
        self,
        request: AckRequest,
        max_messages: int,
        now: datetime,
        deadline: timedelta | None = None,
    ) -> Exchanged:
        self.before_exchange()
        with self._lock:
            self.subscription(SUBSCRIPTION)
            self.requests.append((request, max_messages))
            keys = {n: message.ordering_key for n, message in enumerate(self.messages)}
            terms = delivery.Terms(self.subscription_now, KeysOf(keys))
            before = self.state
            state, answer = apply(delivery.settle(self.state, terms, now), request, terms, now)
            self.state, spans = delivery.lease(state, max_messages, terms, now, deadline)
            self.changes += self.state != before
            holding = None
            if spans:
                lease_id, until = spans[0].lease_id, spans[0].until
                assert lease_id is not None
                assert until is not None
                holding = MemoryHolding(self, lease_id, union(spans), until)
            return Exchanged(holding, answer, self.subscription_now)

    def seek(self, name: str, *, time: datetime | None, snapshot: str | None) -> None:
        """Make what is unacknowledged available anew: the leases are void."""
        with self._lock:
            now = self.now()
            asked = Seek(now, len(self.appends), time, None, None)
            terms = delivery.Terms(self.subscription_now, KeysOf({}))
            noted = note_seek(self.state, asked, terms)
            self.state = replace(noted, seeks=())

    async def blocking(self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        call = partial(work, *args, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    administer = blocking

    @property
    def unacked(self) -> list[int]:
        return list(union(self.state.unacked()))

    @property
    def leased(self) -> list[int]:
        return list(self.state.positions(State.LEASED))


@contextmanager
def serving(
    store: MemoryStore,
    timing: Timing = QUICK,
    security: Security | None = None,
    counters: Counters | None = None,
    push_keys: Path | None = None,
    tracing: Tracing | None = None,
    push_issuer: str | None = None,
) -> Iterator[str]:
    """Run a server in a thread of its own; give its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    settings = ServerSettings(
        "127.0.0.1", 0, security or Security(), timing, push_keys, push_issuer=push_issuer
    )

    async def start() -> tuple[Server, int]:
        told = counters or store.counters
        server = Server(store, store.now, settings, told, tracing=tracing)
        return server, await server.start()

    server, port = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def clients(address: str) -> Iterator[tuple[Any, Any]]:
    """Give an official client for publishing and one for subscribing."""
    with grpc.insecure_channel(address) as one, grpc.insecure_channel(address) as other:
        publisher = pubsub_v1.PublisherClient(transport=PublisherGrpcTransport(channel=one))
        subscriber = pubsub_v1.SubscriberClient(transport=SubscriberGrpcTransport(channel=other))
        yield publisher, subscriber
        publisher.stop()


class RawStream:
    """A StreamingPull without the client's own lease management."""

    def __init__(self, subscriber: Any, **first: Any) -> None:
        self._requests: queue.Queue[Any] = queue.Queue()
        start = {"subscription": SUBSCRIPTION, "stream_ack_deadline_seconds": 60}
        self.say(**{**start, **first})
        self._call = subscriber.api.streaming_pull(iter(self._requests.get, None), timeout=LONG)

    def say(self, **fields: Any) -> None:
        self._requests.put(types.StreamingPullRequest(**fields))

    def hear(self) -> Any:
        return next(self._call)

    def close(self) -> None:
        self._requests.put(None)
        self._call.cancel()


def publish(publisher: Any, request: Any) -> None:
    """Send one request as it is, without the client's own batches."""
    PublisherClient.publish(publisher, request=request, timeout=LONG)


def eventually(told: Callable[[], object]) -> None:
    """Wait until something is true."""
    pause = threading.Event()
    assert any(told() or pause.wait(0.01) for _ in range(LONG * 100)), "it never came true"
