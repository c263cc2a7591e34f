"""A consumer's callbacks without a store: what they are called with, and what they ask for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from pubsub_delta.callbacks import Callbacks, PulledMessage
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from tests.unit.builders import START

PATIENCE = 10.0


class Answers:
    """A callback that notes what it is called with, and waits where it is told to."""

    def __init__(self) -> None:
        self.called: list[PulledMessage] = []
        self.on: dict[int, Callable[[PulledMessage], object]] = {}
        self.otherwise: Callable[[PulledMessage], object] = lambda message: message.ack()
        self.begun = threading.Condition()

    def __call__(self, message: PulledMessage) -> None:
        with self.begun:
            self.called.append(message)
            self.begun.notify_all()
        self.on.get(int(message.message_id), self.otherwise)(message)

    @property
    def ids(self) -> list[int]:
        return [int(message.message_id) for message in self.called]

    def get(self, id_: int) -> PulledMessage:
        return self.called[self.ids.index(id_)]

    def wait_for(self, *ids: int) -> None:
        """Wait until these were called, in whatever order."""
        with self.begun:
            assert self.begun.wait_for(lambda: set(ids) <= set(self.ids), PATIENCE), self.ids


SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def put(callbacks: Callbacks, lease_id: int, *received: ReceivedMessage) -> None:
    """Let messages of a lease be read, which has more of them."""
    if lease_id not in callbacks.unread():
        leased = START + lease_id * SECOND
        callbacks.lease(lease_id, Positions.between(0, 99), leased, START + MINUTE, MINUTE)
    asked = Positions.of(int(each.message_id) for each in received)
    callbacks.put(lease_id, asked, received)


def asked_for(request: AckRequest) -> dict[str, Any]:
    """Return what a request asks for, without what it does not."""
    nacked = request.deadlines.get(timedelta(0), {})
    deadlines = {of: named for of, named in request.deadlines.items() if of}
    found: dict[str, Any] = {
        "acked": {lease: list(positions) for lease, positions in request.acknowledged.items()},
        "nacked": {lease: list(positions) for lease, positions in nacked.items()},
        "deadlines": {
            of: {lease: list(positions) for lease, positions in named.items()}
            for of, named in deadlines.items()
        },
    }
    return {kind: each for kind, each in found.items() if each}


def succeed(callbacks: Callbacks, request: AckRequest) -> None:
    """Let the store carry out a request, and all of it succeed."""
    deadlines = {of: Outcomes(dict(named)) for of, named in request.deadlines.items()}
    callbacks.apply(request, AckResponse(Outcomes(dict(request.acknowledged)), deadlines), START)


def exchange(callbacks: Callbacks) -> dict[str, Any]:
    """Let the store carry out the next request, and return what it asks for."""
    request = callbacks.request(START)
    succeed(callbacks, request)
    return asked_for(request)


def received(position: int, key: str = "", data: bytes = b"12345") -> ReceivedMessage:
    return ReceivedMessage(f"ack-{position}", str(position), START, data, {}, key, None)
