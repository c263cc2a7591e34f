"""Seeded bugs of ``server/otel.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_otel.py",
    "tests/unit/test_server_traces.py",
)

BUGS = (
    Bug(
        "a-message-begins-a-trace-of-its-own",
        "The spans of a message are not in the trace that its publisher began.",
        "name, context=context, kind=kind",
        "name, context=Context(), kind=kind",
    ),
    Bug(
        "a-call-forgets-its-trace",
        "A call is not in the trace that its metadata name.",
        "for k, v in context.invocation_metadata() or () if k in _HEADERS",
        "for k, v in context.invocation_metadata() or () if PREFIX + k in _HEADERS",
    ),
    Bug(
        "any-text-is-a-trace",
        "A message whose traceparent is no trace is traced all the same.",
        "return context if _span_of(context).is_valid else None",
        "return context",
    ),
    Bug(
        "deliveries-never-lapse",
        "The span of a delivery whose deadline has passed stays open.",
        "if held.until <= now]",
        "if held.until < held.until]",
    ),
    Bug(
        "an-ack-has-no-links",
        "The span of an acknowledgement does not tell of which deliveries.",
        "for _, each in held][:MOST_LINKS]",
        "for _, each in held][:0]",
    ),
    Bug(
        "metrics-under-other-names",
        "A counter has another name by OTLP than for Prometheus, and no value.",
        "if family.name == name:",
        'if family.name == f"{name}_total":',
    ),
    Bug(
        "otlp-over-http-without-paths",
        "Over HTTP what is sent goes to the endpoint itself, where receivers have nothing.",
        'given = {"endpoint": f"{endpoint.rstrip(\'/\')}/v1/{signal}"}',
        'given = {"endpoint": endpoint}',
    ),
    Bug(
        "otlp-speaks-http-for-any-protocol",
        "A protocol of OTLP that is not there is taken for another one.",
        'if protocol not in ("grpc", "http/protobuf"):',
        "if not protocol:",
    ),
    Bug(
        "span-ends-before-its-deadline",
        "The span of a delivery whose deadline was moved ends as expired.",
        "            for _, each in held:\n"
        "                each.until = now + timedelta(seconds=seconds)\n",
        "",
    ),
    Bug(
        "oldest-links-are-kept",
        "Of too many links of a commit the oldest are kept, and the newest dropped.",
        "        del links[:-MOST_LINKS]",
        "        del links[MOST_LINKS:]",
    ),
    Bug(
        "general-otlp-protocol-wins",
        "OTEL_EXPORTER_OTLP_PROTOCOL overrides the variable of the signal.",
        '        f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL",\n'
        '        environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),',
        '        "OTEL_EXPORTER_OTLP_PROTOCOL",\n'
        '        environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "grpc"),',
    ),
    Bug(
        "otlp-by-http-is-encrypted",
        "An http:// endpoint of OTLP by gRPC is asked with TLS.",
        '"insecure": not endpoint.startswith("https:")',
        '"insecure": not endpoint.startswith("http")',
    ),
    Bug(
        "one-lease-of-a-response-is-traced",
        "Of the traced messages of a response only the first has a span.",
        "        for delivery in deliveries:\n            received",
        "        for delivery in list(deliveries)[:1]:\n            received",
    ),
    Bug(
        "traced-by-the-first-id",
        "Every traced message of a publish is told by the id of the first one.",
        'span.set_attribute("messaging.message.id", ids[place])',
        'span.set_attribute("messaging.message.id", ids[0])',
    ),
    Bug(
        "a-delivery-without-its-size",
        "The span of a delivery has the size of its id.",
        '"messaging.message.body.size": len(received.data),',
        '"messaging.message.body.size": len(received.ack_id),',
    ),
)
