"""Tracing: what a server tells of the traces that its clients start, if it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.resources import Message
from pubsub_delta.server.assigner import Delivery
from pubsub_delta.server.publishing import Append

if TYPE_CHECKING:
    from pubsub_delta.server.otel import Telemetry


class Tracing(Protocol):
    """Tells of calls, messages and commits. Names are full ones, of topics or subscriptions."""

    def call(self, service: str, method: str, context: Any) -> AbstractContextManager[object]:
        """Surround a call that is answered once; the client's trace is in its metadata."""

    def publishing(
        self, topic: str, messages: Sequence[Message]
    ) -> AbstractContextManager[Callable[[Sequence[str]], object]]:
        """Surround the publishing of messages; what is entered is told their ids."""

    def appending(self, topic: str, append: Append) -> Append:
        """Return an append that is a span of its own."""

    def leased(self, subscription: str, deliveries: Iterable[Delivery], now: datetime) -> None:
        """Note that messages are given to a consumer."""

    def lapsed(self, now: datetime) -> None:
        """Note that time has passed: deliveries may have expired."""

    def answered(
        self, subscription: str, ack_ids: Iterable[str], seconds: int | None, now: datetime
    ) -> Callable[[], object]:
        """Note what was asked for deliveries (None: an ack); call the result when it is written."""

    def committing(self, subscription: str) -> AbstractContextManager[object]:
        """Surround the commit of what was asked of a subscription."""

    def stop(self) -> None:
        """Send what is left."""


class Untraced:
    """Tells nothing: nobody has asked for traces."""

    def call(self, *_: object) -> AbstractContextManager[object]:
        """Surround a call."""
        return nullcontext()

    def publishing(self, *_: object) -> AbstractContextManager[Callable[[Sequence[str]], object]]:
        """Surround the publishing of messages."""
        return nullcontext(_nothing)

    def appending(self, _: str, append: Append) -> Append:
        """Return the append as it is."""
        return append

    def leased(self, *_: object) -> None:
        """Note nothing."""

    def lapsed(self, _: datetime) -> None:
        """Note nothing."""

    def answered(self, *_: object) -> Callable[[], object]:
        """Note nothing."""
        return _nothing

    def committing(self, _: str) -> AbstractContextManager[object]:
        """Surround a commit."""
        return nullcontext()

    def stop(self) -> None:
        """Send nothing."""


def _nothing(*_: object) -> None:
    """Do nothing."""


_ENDPOINTS = tuple(f"OTEL_EXPORTER_OTLP_{part}ENDPOINT" for part in ("", "TRACES_", "METRICS_"))


def telemetry(
    endpoint: str | None, environment: Mapping[str, str]
) -> Callable[[Callable[[], Iterable[Any]]], Telemetry] | None:
    """Return what makes the telemetry that is asked for; None where none is.

    It is asked for by an endpoint, or by OpenTelemetry's own variables. FailedPrecondition where
    the extra ``otel`` is not installed.
    """
    named = endpoint is not None or any(environment.get(name) for name in _ENDPOINTS)
    if not named or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if endpoint is not None and not endpoint.startswith(("http://", "https://")):
        raise InvalidArgument(
            f"otlp_endpoint: {endpoint!r}; http://host:port or https://host:port is accepted"
        )
    try:
        for protocol in ("grpc", "http"):
            import_module(f"opentelemetry.exporter.otlp.proto.{protocol}")
        from pubsub_delta.server.otel import Telemetry
    except ModuleNotFoundError as missing:
        raise FailedPrecondition(
            f"the module {missing.name} is not installed; pip install 'pubsub-delta[otel]' "
            "installs it"
        ) from missing
    return partial(Telemetry, endpoint, environment)
