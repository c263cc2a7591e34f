"""OpenTelemetry: sends traces and metrics of a server by OTLP. It needs the extra ``otel``.

Spans have the names and attributes of Google's client libraries, which follow OpenTelemetry's
conventions for messaging. The trace context of a message is in its attribute
``googclient_traceparent``, that of a call in the metadata ``traceparent`` (W3C Trace Context).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pubsub_delta import __version__
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.exporter import family_names
from pubsub_delta.names import ResourceName, subscription_name, topic_name
from pubsub_delta.resources import Message
from pubsub_delta.server.assigner import Delivery
from pubsub_delta.server.exporting import own_names
from pubsub_delta.server.publishing import Append
from pubsub_delta.server.tracing import Tracing

PREFIX = "googclient_"
"""The prefix of ``traceparent`` and ``tracestate`` in attributes, as Google's clients write it."""
MOST_LINKS = 128
"""The largest number of links of a span (OpenTelemetry's limit)."""
MOST_LEASED = 20_000
"""The largest number of deliveries with an open span; above it the oldest spans are ended."""

_HEADERS = ("traceparent", "tracestate")
_PROPAGATOR = TraceContextTextMapPropagator()


def context_of(attributes: Mapping[str, str]) -> Context | None:
    """Return the trace context in the attributes of a message; None if it is not traced."""
    carried = {name: attributes[PREFIX + name] for name in _HEADERS if PREFIX + name in attributes}
    if "traceparent" not in carried:
        return None
    context = _PROPAGATOR.extract(carried)
    return context if _span_of(context).is_valid else None


def _span_of(context: Context) -> trace.SpanContext:
    return trace.get_current_span(context).get_span_context()


@dataclass
class _Leased:
    span: Span
    until: datetime


class Traces(Tracing):
    """Creates the spans of a server, in the event loop and in its threads.

    Args:
        provider: exports the spans.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("pubsub_delta.server", __version__)
        self._leased: dict[str, _Leased] = {}
        self._links: dict[str, list[Link]] = {}

    @contextmanager
    def call(self, service: str, method: str, context: Any) -> Iterator[None]:
        """Run a call in a span of the trace in its metadata."""
        carried = {k: v for k, v in context.invocation_metadata() or () if k in _HEADERS}
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
        with self._tracer.start_as_current_span(
            f"{service}/{method}", _PROPAGATOR.extract(carried), SpanKind.SERVER, attributes
        ):
            yield

    @contextmanager
    def publishing(
        self, topic: str, messages: Sequence[Message]
    ) -> Iterator[Callable[[Sequence[str]], object]]:
        """Publish in a span for each traced message."""
        spans = dict[int, Span]()
        for place, message in enumerate(messages):
            context = context_of(message.attributes)
            if context is not None:
                attributes = {
                    **_about(topic_name(topic, ""), "publish"),
                    "messaging.message.body.size": len(message.data),
                    "messaging.gcp_pubsub.message.ordering_key": message.ordering_key,
                }
                spans[place] = self._start(topic, "publish", SpanKind.SERVER, attributes, context)

        def published(ids: Sequence[str]) -> None:
            for place, span in spans.items():
                span.set_attribute("messaging.message.id", ids[place])

        try:
            yield published
        except BaseException as error:
            for span in spans.values():
                _fail(span, error)
            raise
        finally:
            for span in spans.values():
                span.end()

    def appending(self, topic: str, append: Append) -> Append:
        """Return an append that runs in a span with links to the messages that it commits."""

        def traced(messages: Sequence[Message]) -> Sequence[str]:
            contexts = (context_of(each.attributes) for each in messages)
            links = [Link(_span_of(each)) for each in contexts if each is not None]
            if not links:
                return append(messages)
            attributes = {
                **_about(topic_name(topic, ""), "commit"),
                "messaging.batch.message_count": len(messages),
            }
            with self._committing(topic, attributes, links):
                return append(messages)

        return traced

    def leased(self, subscription: str, deliveries: Iterable[Delivery], now: datetime) -> None:
        """Start the spans of deliveries of traced messages."""
        for delivery in deliveries:
            received = delivery.received
            context = context_of(received.attributes)
            if context is None:
                continue
            attributes = {
                **_about(subscription_name(subscription, ""), "subscribe"),
                "messaging.message.id": received.message_id,
                "messaging.message.body.size": len(received.data),
                "messaging.gcp_pubsub.message.ack_id": received.ack_id,
                "messaging.gcp_pubsub.message.ordering_key": received.ordering_key,
                "messaging.gcp_pubsub.message.delivery_attempt": received.delivery_attempt or 0,
            }
            span = self._start(subscription, "lease", SpanKind.PRODUCER, attributes, context)
            self._leased[received.ack_id] = _Leased(span, delivery.deadline or now)
        while len(self._leased) > MOST_LEASED:
            self._end(next(iter(self._leased)), "untold")

    def expired(self, now: datetime) -> None:
        """End the spans of deliveries whose deadline has passed."""
        for ack_id in [each for each, held in self._leased.items() if held.until <= now]:
            self._end(ack_id, "expired")

    def acknowledging(
        self, subscription: str, ack_ids: Iterable[str], seconds: int | None, now: datetime
    ) -> Callable[[], object]:
        """Start a span for an ack, nack or new deadline; the result ends it, after the commit."""
        named = list(ack_ids)
        held = [(each, self._leased[each]) for each in named if each in self._leased]
        if not held:
            return lambda: None
        verb = "ack" if seconds is None else "modack" if seconds else "nack"
        links = [Link(each.span.get_span_context()) for _, each in held][:MOST_LINKS]
        attributes = {
            **_about(subscription_name(subscription, ""), verb),
            "messaging.batch.message_count": len(named),
        }
        if seconds:
            attributes["messaging.gcp_pubsub.message.ack_deadline"] = seconds
            for _, each in held:
                each.until = now + timedelta(seconds=seconds)
        else:
            for ack_id, _ in held:
                self._end(ack_id, f"{verb}ed")
        span = self._start(subscription, verb, SpanKind.SERVER, attributes, None, links)
        links = self._links.setdefault(subscription, [])
        links.append(Link(span.get_span_context()))
        del links[:-MOST_LINKS]
        return span.end

    @contextmanager
    def committing(self, subscription: str) -> Iterator[None]:
        """Commit in a span with links to the traced requests that it writes."""
        links = self._links.pop(subscription, [])
        if not links:
            yield
            return
        about = _about(subscription_name(subscription, ""), "commit")
        with self._committing(subscription, about, links):
            yield

    def stop(self) -> None:
        """End open spans, and export all."""
        for ack_id in list(self._leased):
            self._end(ack_id, "untold")
        self._provider.shutdown()

    def _start(
        self,
        of: str,
        verb: str,
        kind: SpanKind,
        attributes: Mapping[str, Any],
        context: Context | None = None,
        links: Sequence[Link] = (),
    ) -> Span:
        name = f"{of.rpartition('/')[2]} {verb}"
        return self._tracer.start_span(
            name, context=context, kind=kind, attributes=attributes, links=links
        )

    @contextmanager
    def _committing(
        self, of: str, attributes: Mapping[str, Any], links: Sequence[Link]
    ) -> Iterator[None]:
        """Run the commit of many messages in a span of a new trace, with links to theirs."""
        kind, links = SpanKind.INTERNAL, links[:MOST_LINKS]
        span = self._start(of, "commit", kind, attributes, Context(), links)
        try:
            yield
        except BaseException as error:
            _fail(span, error)
            raise
        finally:
            span.end()

    def _end(self, ack_id: str, result: str) -> None:
        held = self._leased.pop(ack_id)
        held.span.set_attribute("messaging.gcp_pubsub.result", result)
        held.span.end()


def _about(name: ResourceName, operation: str) -> dict[str, Any]:
    return {
        "messaging.system": "gcp_pubsub",
        "messaging.destination.name": name.id,
        "gcp.project_id": name.project,
        "messaging.operation.name": operation,
    }


def _fail(span: Span, error: BaseException) -> None:
    span.record_exception(error)
    span.set_status(Status(StatusCode.ERROR, str(error)))


class Telemetry:
    """Traces and metrics of a server, each if an endpoint is configured for it.

    Args:
        endpoint: the URL of an OTLP receiver; None for OpenTelemetry's variables.
        environment: the environment variables.
        collect: returns the metrics, in Prometheus' families.
    """

    def __init__(
        self,
        endpoint: str | None,
        environment: Mapping[str, str],
        collect: Callable[[], Iterable[Any]],
    ) -> None:
        self.tracing = Tracing()
        self._meters: MeterProvider | None = None
        named = Resource.create(
            {
                SERVICE_NAME: environment.get("OTEL_SERVICE_NAME", "pubsub-delta"),
                SERVICE_VERSION: __version__,
            }
        )
        if _is_wanted("TRACES", endpoint, environment):
            provider = TracerProvider(resource=named, shutdown_on_exit=False)
            provider.add_span_processor(
                BatchSpanProcessor(_exporter("traces", endpoint, environment))
            )
            self.tracing = Traces(provider)
        if _is_wanted("METRICS", endpoint, environment):
            reader = PeriodicExportingMetricReader(_exporter("metrics", endpoint, environment))
            self._meters = MeterProvider([reader], resource=named, shutdown_on_exit=False)
            observe(self._meters.get_meter("pubsub_delta.server", __version__), collect)

    def stop(self) -> None:
        """Export the remaining spans and metrics."""
        self.tracing.stop()
        if self._meters is not None:
            self._meters.shutdown()


def _is_wanted(signal: str, endpoint: str | None, environment: Mapping[str, str]) -> bool:
    exporter = environment.get(f"OTEL_{signal}_EXPORTER") or "otlp"
    if exporter not in ("otlp", "none"):
        raise InvalidArgument(f"OTEL_{signal}_EXPORTER: {exporter!r}; otlp and none are accepted")
    if exporter == "none":
        return False
    named = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return endpoint is not None or any(environment.get(name) for name in named)


def _exporter(signal: str, endpoint: str | None, environment: Mapping[str, str]) -> Any:
    """Return the OTLP exporter of spans or metrics; without an endpoint the environment decides."""
    protocol = environment.get(
        f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL",
        environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    )
    if protocol not in ("grpc", "http/protobuf"):
        raise InvalidArgument(
            f"OTEL_EXPORTER_OTLP_PROTOCOL: {protocol!r}; grpc and http/protobuf are accepted"
        )
    is_http = protocol != "grpc"
    given: dict[str, Any] = {}
    if endpoint is not None and is_http:
        given = {"endpoint": f"{endpoint.rstrip('/')}/v1/{signal}"}
    elif endpoint is not None:
        given = {"endpoint": endpoint, "insecure": not endpoint.startswith("https:")}
    kind, name = ("trace", "OTLPSpanExporter")
    if signal == "metrics":
        kind, name = ("metric", "OTLPMetricExporter")
    package = f"opentelemetry.exporter.otlp.proto.{'http' if is_http else 'grpc'}"
    return getattr(import_module(f"{package}.{kind}_exporter"), name)(**given)


def observe(meter: Meter, collect: Callable[[], Iterable[Any]]) -> None:
    """Register the metrics of the store and the server with a meter, under Prometheus' names."""
    for name, is_counter in {**family_names(), **own_names()}.items():
        make = meter.create_observable_counter if is_counter else meter.create_observable_gauge
        make(name, [_observations(name, collect)])


def _observations(
    name: str, collect: Callable[[], Iterable[Any]]
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(_: CallbackOptions) -> Iterable[Observation]:
        for family in collect():
            if family.name == name:
                for sample in family.samples:
                    if not sample.name.endswith("_created"):
                        yield Observation(sample.value, dict(sample.labels))

    return read
