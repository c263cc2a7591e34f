"""Exchange: one request of a StreamingPull to its subscription, and the response to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from pubsub_delta.delivery.consuming import MayForward, always, consume
from pubsub_delta.delivery.leases import LeasedMessages
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse, apply
from pubsub_delta.policy.ack_state import AckState, Span
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.store import Tables


@dataclass(frozen=True)
class Exchanged:
    """What came of a request: perhaps a lease, the response, and the subscription as it is."""

    leased: LeasedMessages | None
    response: AckResponse
    subscription: Subscription


class Channel(Protocol):
    """What a StreamingPull sends its requests through, to one subscription."""

    def exchange(
        self,
        request: AckRequest,
        max_messages: int,
        now: datetime,
        deadline: timedelta | None = None,
    ) -> Exchanged:
        """Apply an ack request and lease up to so many messages (0: none), in one commit.

        ``deadline``: the length of the lease, where it is not the subscription's ack deadline.
        A subscription whose messages a table gets leases none: the request is applied all the same.
        Aborted: nothing was written. NotFound: the subscription is gone, or another one has its
        name.
        """


@dataclass(frozen=True)
class StoreChannel:
    """The channel to a subscription of a store, by its uid: not to a later one of its name.

    ``may_forward``: whether exhausted messages go to the dead-letter topic; else no delivery
    attempts are counted (Pub/Sub: as without the permission to forward). ``clock``: returns the
    time, for leases that begin when they are decided; else they begin at the time of the request.
    """

    tables: Tables
    name: ResourceName
    uid: str
    may_forward: MayForward = always
    clock: Callable[[], datetime] | None = field(default=None, kw_only=True)

    def exchange(
        self,
        request: AckRequest,
        max_messages: int,
        now: datetime,
        deadline: timedelta | None = None,
    ) -> Exchanged:
        """Apply an ack request and lease messages, in one commit."""

        def apply_request(state: AckState, terms: Terms) -> tuple[AckState, AckResponse]:
            return apply(state, request, terms, now)

        def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
            begins = now if self.clock is None else self.clock()
            return delivery.lease(state, max_messages, terms, begins, deadline)

        result, response = consume(
            *(self.tables, self.name, now, lease, apply_request),
            uid=self.uid,
            may_forward=self.may_forward,
            leases=max_messages > 0,
        )
        return Exchanged(result.lease, response or AckResponse(), result.subscription)
