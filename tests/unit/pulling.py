"""A subscription in memory, on the real policy, for asynchronous pulls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pubsub_delta.callbacks import PulledMessage
from pubsub_delta.clock import ManualClock
from pubsub_delta.operations.exchange import Exchanged
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_requests import AckRequest, apply
from pubsub_delta.policy.ack_state import AckState, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import FlowControl, ReceivedMessage
from pubsub_delta.subscriber import StreamingPull
from tests.unit.builders import START, committed, terms


@dataclass
class Exchange:
    """One commit: the request, how many messages were asked for, and which were leased."""

    request: AckRequest
    asked: int
    leased: list[int]

    @property
    def extended(self) -> dict[float, list[int]]:
        """Messages of the first lease by their new deadline in seconds; 0 is a nack."""
        deadlines = self.request.deadlines.items()
        return {of.total_seconds(): list(held[1]) for of, held in deadlines if 1 in held}


@dataclass
class Leased:
    store: Store
    lease_id: int
    positions: Positions
    until: datetime

    def receive(self, wanted: Positions, max_bytes: int) -> list[ReceivedMessage]:
        got: list[int] = []
        for n in wanted - self.store.unreadable:
            if got and sum(self.store.sizes[each] for each in [*got, n]) > max_bytes:
                break
            got.append(n)
        self.store.receives.append(got)
        if self.store.receive_errors:
            raise self.store.receive_errors.pop(0)
        return [self.store.message(self.lease_id, n) for n in got]


@dataclass
class Store:
    """A subscription to messages of these sizes and ordering keys, on the real policy.

    It notes down what each exchange asks for, and what each receive returns.
    """

    sizes: list[int]
    keys: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)  # of the next exchanges
    subscription: str = "projects/p/subscriptions/s"
    receive_errors: list[Exception] = field(default_factory=list)  # of the next receives
    unreadable: Positions = field(default_factory=Positions)
    exchanges: list[Exchange] = field(default_factory=list)
    receives: list[list[int]] = field(default_factory=list)
    during: Callable[[], object] = lambda: None  # what happens while a commit is under way

    def __post_init__(self) -> None:
        self.clock = ManualClock(START)
        self.on = terms(dict(enumerate(self.keys)) if self.keys else None, **self.fields)
        self.state = AckState(after_version=0)
        self.publish(*range(len(self.sizes)))

    def publish(self, *positions: int) -> None:
        self.state = delivery.absorb(self.state, [committed(positions)], 1)

    def message(self, lease_id: int, n: int) -> ReceivedMessage:
        key = self.keys[n : n + 1]
        data = b"x" * (self.sizes[n] - len(key))
        return ReceivedMessage(f"{lease_id}.{n}", str(n), START, data, {}, key, None)

    def now(self) -> datetime:
        return self.clock.now()

    def exchange(
        self,
        request: AckRequest,
        max_messages: int,
        now: datetime,
        deadline: timedelta | None = None,
    ) -> Exchanged:
        self.during()
        if self.errors:
            raise self.errors.pop(0)
        settled = delivery.settle(self.state, self.on, now)
        state, response = apply(settled, request, self.on, now)
        self.state, spans = delivery.lease(state, max_messages, self.on, now, deadline)
        self.exchanges.append(Exchange(request, max_messages, list(union(spans))))
        if not spans:
            return Exchanged(None, response, self.on.subscription)
        lease_id, until = spans[0].lease_id, spans[0].until
        assert lease_id is not None
        assert until is not None
        leased = Leased(self, lease_id, union(spans), until)
        return Exchanged(leased, response, self.on.subscription)

    @property
    def unacked(self) -> list[int]:
        return list(union(self.state.unacked()))

    def pass_requests(self, count: int = 2) -> None:
        """Wait for so many more exchanges."""
        before = len(self.exchanges)
        eventually(lambda: len(self.exchanges) >= before + count)


@dataclass
class Work:
    """A callback that notes every ack id, and waits at one message before it answers."""

    answer: Callable[[PulledMessage], object] = lambda message: message.ack()
    waits_at: int | None = None
    called: list[PulledMessage] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)

    def __call__(self, message: PulledMessage) -> object:
        self.called.append(message)
        if int(message.message_id) == self.waits_at:
            assert self.go_on.wait(10)
        return self.answer(message)

    @property
    def ack_ids(self) -> list[str]:
        return [message.ack_id for message in self.called]


def leave(message: PulledMessage) -> None:
    """Answer nothing."""


def a_moment() -> None:
    """Let things happen that must not."""
    threading.Event().wait(0.03)


def eventually(told: Callable[[], object]) -> None:
    pause = threading.Event()
    assert any(told() or pause.wait(0.001) for _ in range(10_000)), "it never came true"


Start = Callable[..., StreamingPull]


def pulls() -> Iterator[Start]:
    """Give what starts asynchronous pulls, which are ended with the test."""
    started: list[tuple[StreamingPull, Work]] = []

    def start(
        store: Store, work: Work, *, max_workers: int = 4, interval: float = 0.005, **flow: Any
    ) -> StreamingPull:
        pull = StreamingPull(
            store,
            store.subscription,
            store.now,
            work,
            flow_control=FlowControl(**flow),
            max_workers=max_workers,
            ordered=bool(store.keys),
            interval=interval,
        )
        started.append((pull, work))
        return pull

    yield start
    for pull, work in started:
        work.go_on.set()
        pull.cancel()
