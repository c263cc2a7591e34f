"""The tracing interface of the server, and its implementation without traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, Protocol

from pubsub_delta.resources import Message
from pubsub_delta.server.assigner import Delivery
from pubsub_delta.server.publishing import Append


class Tracing(Protocol):
    """Traces calls, messages and commits. Names are full names of topics or subscriptions."""

    def call(self, service: str, method: str, context: Any) -> AbstractContextManager[object]:
        """Trace a unary call; the metadata has the trace of the client."""

    def publishing(
        self, topic: str, messages: Sequence[Message]
    ) -> AbstractContextManager[Callable[[Sequence[str]], object]]:
        """Trace a publish; the context manager yields a callback for the message IDs."""

    def appending(self, topic: str, append: Append) -> Append:
        """Return an append with a span of its own."""

    def leased(self, subscription: str, deliveries: Iterable[Delivery], now: datetime) -> None:
        """Start the spans of deliveries to a consumer."""

    def expired(self, now: datetime) -> None:
        """End the spans of deliveries that have expired."""

    def acknowledging(
        self, subscription: str, ack_ids: Iterable[str], seconds: int | None, now: datetime
    ) -> Callable[[], object]:
        """Trace an ack (``seconds`` None), nack (0) or new deadline, until the result is called."""

    def committing(self, subscription: str) -> AbstractContextManager[object]:
        """Trace the commit of acks, nacks and new deadlines of a subscription."""

    def stop(self) -> None:
        """Export the remaining traces."""


class Untraced:
    """Records no traces."""

    def call(self, *_: object) -> AbstractContextManager[object]:
        """Do nothing."""
        return nullcontext()

    def publishing(self, *_: object) -> AbstractContextManager[Callable[[Sequence[str]], object]]:
        """Do nothing."""
        return nullcontext(_nothing)

    def appending(self, _: str, append: Append) -> Append:
        """Return the append as it is."""
        return append

    def leased(self, *_: object) -> None:
        """Note nothing."""

    def expired(self, _: datetime) -> None:
        """Note nothing."""

    def acknowledging(self, *_: object) -> Callable[[], object]:
        """Note nothing."""
        return _nothing

    def committing(self, _: str) -> AbstractContextManager[object]:
        """Do nothing."""
        return nullcontext()

    def stop(self) -> None:
        """Do nothing."""


def _nothing(*_: object) -> None:
    """Do nothing."""
