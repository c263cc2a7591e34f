"""Whether a server sends traces and metrics, as its options and OpenTelemetry's variables say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pubsub_delta.errors import InvalidArgument, needing_extra

if TYPE_CHECKING:
    from pubsub_delta.server.otel import Telemetry

_ENDPOINTS = tuple(f"OTEL_EXPORTER_OTLP_{part}ENDPOINT" for part in ("", "TRACES_", "METRICS_"))


def telemetry(
    endpoint: str | None, environment: Mapping[str, str]
) -> Callable[[Callable[[], Iterable[Any]]], Telemetry] | None:
    """Return a factory of telemetry, or None if no endpoint is configured.

    ``endpoint`` or one of OpenTelemetry's variables configures it. FailedPrecondition if the extra
    ``otel`` is not installed.
    """
    named = endpoint is not None or any(environment.get(name) for name in _ENDPOINTS)
    if not named or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if endpoint is not None and not endpoint.startswith(("http://", "https://")):
        raise InvalidArgument(
            f"otlp_endpoint: {endpoint!r}; http://host:port or https://host:port is accepted"
        )
    with needing_extra("otel"):
        for protocol in ("grpc", "http"):
            import_module(f"opentelemetry.exporter.otlp.proto.{protocol}")
        from pubsub_delta.server.otel import Telemetry
    return partial(Telemetry, endpoint, environment)
