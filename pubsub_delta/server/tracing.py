"""What a server traces: nothing, unless telemetry was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any

from pubsub_delta.resources import Message
from pubsub_delta.server.assigner import Delivery
from pubsub_delta.server.publishing import Append


class Tracing:
    """Traces nothing. ``otel.Traces`` traces calls, messages and commits.

    Names are full names of topics or subscriptions.
    """

    def call(self, service: str, method: str, context: Any) -> AbstractContextManager[object]:
        """Trace a unary call; the metadata has the trace of the client."""
        return nullcontext()

    def publishing(
        self, topic: str, messages: Sequence[Message]
    ) -> AbstractContextManager[Callable[[Sequence[str]], object]]:
        """Trace a publish; the context manager yields a callback for the message IDs."""
        return nullcontext(_nothing)

    def appending(self, topic: str, append: Append) -> Append:
        """Return an append with a span of its own."""
        return append

    def leased(self, subscription: str, deliveries: Iterable[Delivery], now: datetime) -> None:
        """Start the spans of deliveries to a consumer."""

    def expired(self, now: datetime) -> None:
        """End the spans of deliveries that have expired."""

    def acknowledging(
        self, subscription: str, ack_ids: Iterable[str], seconds: int | None, now: datetime
    ) -> Callable[[], object]:
        """Trace an ack (``seconds`` None), nack (0) or new deadline, until the result is called."""
        return _nothing

    def committing(self, subscription: str) -> AbstractContextManager[object]:
        """Trace the commit of acks, nacks and new deadlines of a subscription."""
        return nullcontext()

    def stop(self) -> None:
        """Export the remaining traces."""


def _nothing(*_: object) -> None:
    """Do nothing."""
