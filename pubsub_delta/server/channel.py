"""The way from a server to a subscription of its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeVar

from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.resources import Subscription
from pubsub_delta.subscriber import Holding

T = TypeVar("T")


@dataclass(frozen=True)
class Exchanged:
    """What came of an exchange: perhaps a lease, the answer, and the subscription as it is."""

    holding: Holding | None
    answer: AckResponse
    subscription: Subscription


class Channel(Protocol):
    """The way to a subscription."""

    def exchange(self, turn: AckRequest, max_messages: int, deadline: timedelta) -> Exchanged:
        """Say a turn and lease up to so many messages for so long, in one commit.

        Aborted: nothing was written. NotFound: the subscription is gone, or another one has its
        name.
        """


class Blocking(Protocol):
    """Runs a function that waits for a store in a thread, and gives what it returns."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...
