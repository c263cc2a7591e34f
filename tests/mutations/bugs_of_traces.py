"""Bugs of the traces and metrics that a server sends."""

from __future__ import annotations

from tests.mutations.bug import Bug

_OTEL = "server/otel.py"

BUGS_OF_TRACES = (
    Bug(
        "a-message-begins-a-trace-of-its-own",
        "The spans of a message are not in the trace that its publisher began.",
        _OTEL,
        "name, context=context, kind=kind",
        "name, context=Context(), kind=kind",
    ),
    Bug(
        "a-call-forgets-its-trace",
        "A call is not in the trace that its metadata name.",
        _OTEL,
        "for k, v in context.invocation_metadata() or () if k in _HEADERS",
        "for k, v in context.invocation_metadata() or () if PREFIX + k in _HEADERS",
    ),
    Bug(
        "any-text-is-a-trace",
        "A message whose traceparent is no trace is traced all the same.",
        _OTEL,
        "return context if _span_of(context).is_valid else None",
        "return context",
    ),
    Bug(
        "deliveries-never-lapse",
        "The span of a delivery whose deadline has passed stays open.",
        _OTEL,
        "if held.until <= now]",
        "if held.until < held.until]",
    ),
    Bug(
        "an-ack-has-no-links",
        "The span of an acknowledgement does not tell of which deliveries.",
        _OTEL,
        "for _, each in held][:MOST_LINKS]",
        "for _, each in held][:0]",
    ),
    Bug(
        "metrics-under-other-names",
        "A counter has another name by OTLP than for Prometheus, and no value.",
        "server/otel.py",
        "if family.name == name:",
        'if family.name == f"{name}_total":',
    ),
    Bug(
        "traces-that-nobody-asked-for",
        "OpenTelemetry is on though its own variable turns it off.",
        "server/telemetry.py",
        'environment.get("OTEL_SDK_DISABLED", "").lower() == "true"',
        'environment.get("OTEL_SDK_DISABLED", "").lower() == "yes"',
    ),
)
