"""The channel of a StreamingPull to its subscription: a request, and the response to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from pubsub_delta.names import ResourceName
from pubsub_delta.operations import pull
from pubsub_delta.operations.pull import Exchanged, MayForward, always
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.tables.store import Tables


class Channel(Protocol):
    """A channel to a subscription."""

    def exchange(
        self, request: AckRequest, max_messages: int, deadline: timedelta | None = None
    ) -> Exchanged:
        """Carry out a request and lease up to ``max_messages`` (0: none), in one commit.

        ``deadline``: how long the lease is; by default the subscription's ack deadline. Aborted if
        nothing was written. NotFound if the subscription is gone, or another one has its name.
        """


class StoreChannel:
    """A channel to a subscription of a store by its uid, not to a later one of its name.

    Args:
        tables: those of the store.
        name: the subscription's name.
        uid: the uid of the subscription that is meant.
        now: returns the time.
        may_forward: returns whether the server may forward dead letters of the subscription.
    """

    def __init__(
        self,
        tables: Tables,
        name: ResourceName,
        uid: str,
        now: Callable[[], datetime],
        may_forward: MayForward = always,
    ) -> None:
        self._tables = tables
        self._name = name
        self._uid = uid
        self._now = now
        self._may_forward = may_forward

    def exchange(
        self, request: AckRequest, max_messages: int, deadline: timedelta | None = None
    ) -> Exchanged:
        """Carry out a request and lease up to ``max_messages`` (0: none), in one commit."""
        return pull.exchange(
            *(self._tables, self._name, request, max_messages, self._now(), deadline),
            uid=self._uid,
            may_forward=self._may_forward,
        )
