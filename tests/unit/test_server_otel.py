"""Traces and metrics of a server, as a real receiver of OTLP gets them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen

import grpc
import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc")
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.types import PublisherOptions, SubscriberOptions
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport
from opentelemetry import trace
from opentelemetry.proto.collector.metrics.v1 import (
    metrics_service_pb2,
    metrics_service_pb2_grpc,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pubsub_delta import FailedPrecondition, InvalidArgument
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server import otel
from pubsub_delta.server.assigner import Delivery
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.exporting import ServerExporter
from pubsub_delta.server.otel import Telemetry
from pubsub_delta.server.telemetry import telemetry
from tests.unit.builders import START, at
from tests.unit.serving import LONG, SUBSCRIPTION, TOPIC, MemoryStore, eventually, serving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Receiver:
    """What is sent to a receiver of OTLP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.services: set[str] = set()

    def Export(self, request: Any, _: Any) -> Any:
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            for resource in request.resource_spans:
                told = {each.key: each.value.string_value for each in resource.resource.attributes}
                self.services.add(told["service.name"])
                for scope in resource.scope_spans:
                    self.spans += scope.spans
            return trace_service_pb2.ExportTraceServiceResponse()
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                self.metrics.update({each.name: each for each in scope.metrics})
        return metrics_service_pb2.ExportMetricsServiceResponse()

    def named(self, name: str) -> list[Any]:
        return [each for each in self.spans if each.name == name]

    def of_trace(self, trace_id: str) -> set[str]:
        return {each.name for each in self.spans if each.trace_id.hex() == trace_id}


@contextmanager
def receiving() -> Iterator[tuple[Receiver, str]]:
    receiver, server = Receiver(), grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(receiver, server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(receiver, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield receiver, f"http://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@contextmanager
def receiving_http() -> Iterator[tuple[Receiver, str]]:
    """Run a receiver of OTLP over HTTP, with the paths and bodies of OpenTelemetry's protocol."""
    receiver = Receiver()
    requests: dict[str, Any] = {
        "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
        "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    }

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/x-protobuf"
            response = receiver.Export(requests[self.path].FromString(body), None)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(response.SerializeToString())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    try:
        yield receiver, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def traced(store: MemoryStore) -> Iterator[tuple[Receiver, str]]:
    """Run a server that is traced; what it told has come when it has ended."""
    exporter = ServerExporter(store.counters, list, store.now, "60s")
    with receiving() as (receiver, endpoint):
        told = Telemetry(endpoint, {}, exporter.collect)
        try:
            with serving(store, tracing=told.tracing) as address:
                yield receiver, address
        finally:
            told.stop()


@pytest.fixture
def own_spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Let Google's client make spans, and give them."""
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    monkeypatch.setattr(trace, "get_tracer", lambda name, *_, **__: provider.get_tracer(name))
    yield memory
    provider.shutdown()


def hexed(span: ReadableSpan) -> str:
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}"


def test_one_trace_leads_from_the_publisher_to_the_subscriber(
    own_spans: InMemorySpanExporter,
) -> None:
    # "the server takes part in the traces that clients start"
    came = threading.Event()

    def callback(message: Any) -> None:
        message.ack_with_response()
        came.set()

    store = MemoryStore()
    with traced(store) as (receiver, address), grpc.insecure_channel(address) as channel:
        publisher = pubsub_v1.PublisherClient(
            publisher_options=PublisherOptions(enable_open_telemetry_tracing=True),
            transport=PublisherGrpcTransport(channel=channel),
        )
        subscriber = pubsub_v1.SubscriberClient(
            subscriber_options=SubscriberOptions(enable_open_telemetry_tracing=True),
            transport=SubscriberGrpcTransport(channel=channel),
        )
        future = subscriber.subscribe(SUBSCRIPTION, callback)
        (message_id,) = [publisher.publish(TOPIC, b"hello").result(LONG)]
        assert came.wait(LONG)
        eventually(lambda: store.unacked == [])
        future.cancel()
        future.result(LONG)
        publisher.stop()
    topic, subscription = TOPIC.split("/")[3], SUBSCRIPTION.split("/")[3]
    (created,) = [each for each in own_spans.get_finished_spans() if "create" in each.name]
    found = hexed(created)
    subscribed = [e for e in own_spans.get_finished_spans() if "subscribe" in e.name]
    assert {hexed(each) for each in subscribed} == {found}
    assert receiver.of_trace(found) == {f"{topic} publish", f"{subscription} lease"}
    (lease,) = receiver.named(f"{subscription} lease")
    told = {each.key: each.value for each in lease.attributes}
    assert told["messaging.system"].string_value == "gcp_pubsub"
    assert told["messaging.message.id"].string_value == message_id
    assert told["messaging.gcp_pubsub.result"].string_value == "acked"
    (ack,) = receiver.named(f"{subscription} ack")
    assert [link.span_id for link in ack.links] == [lease.span_id]
    committed = receiver.named(f"{topic} commit") + receiver.named(f"{subscription} commit")
    links = [link for each in committed for link in each.links]
    assert found in {link.trace_id.hex() for link in links}
    assert ack.span_id in {link.span_id for link in links}
    assert receiver.services == {"pubsub-delta"}


def test_a_call_is_a_part_of_the_trace_in_its_metadata() -> None:
    with traced(MemoryStore()) as (receiver, address):
        body = b'{"messages": [{"data": "eA=="}]}'
        url = f"http://{address}/v1/{TOPIC}:publish"
        headers = {"Content-Type": "application/json", "traceparent": PARENT, "tracestate": "a=1"}
        with urlopen(Request(url, body, headers)) as answer:
            assert answer.status == 200
    assert receiver.of_trace(TRACE) == {"google.pubsub.v1.Publisher/Publish"}
    (span,) = receiver.named("google.pubsub.v1.Publisher/Publish")
    assert span.trace_state == "a=1"


def test_a_call_that_fails_is_an_error() -> None:
    with traced(MemoryStore()) as (receiver, address):
        url = f"http://{address}/v1/projects/p/topics/absent:publish"
        headers = {"Content-Type": "application/json", "traceparent": PARENT}
        with pytest.raises(Exception, match="404"):
            urlopen(Request(url, b'{"messages": [{"data": "eA=="}]}', headers))
    (span,) = receiver.named("google.pubsub.v1.Publisher/Publish")
    assert span.status.code == span.status.STATUS_CODE_ERROR


def test_what_is_not_sampled_and_what_is_no_trace_have_no_spans() -> None:
    # W3C Trace Context: the last two digits tell whether the caller records; anything may be sent
    unsampled = PARENT[:-1] + "0"
    for parent in (unsampled, "nonsense", ""):
        store = MemoryStore()
        with traced(store) as (receiver, address), grpc.insecure_channel(address) as channel:
            publisher = pubsub_v1.PublisherClient(transport=PublisherGrpcTransport(channel=channel))
            publisher.publish(TOPIC, b"x", googclient_traceparent=parent).result(LONG)
            publisher.stop()
        assert receiver.of_trace(TRACE) == set()
        assert receiver.named(f"{TOPIC.split('/')[3]} publish") == []


def test_metrics_have_the_names_that_prometheus_has() -> None:
    counters = Counters()
    counters.published = 3
    counters.requests["Publish", "OK"] = 2
    store = MemoryStore()
    exporter = ServerExporter(counters, list, store.now, "60s")
    with receiving() as (receiver, endpoint):
        Telemetry(endpoint, {"OTEL_TRACES_EXPORTER": "none"}, exporter.collect).stop()
    (point,) = receiver.metrics["pubsub_delta_server_published"].sum.data_points
    assert (point.as_double or point.as_int) == 3
    (point,) = receiver.metrics["pubsub_delta_server_requests"].sum.data_points
    told = {each.key: each.value.string_value for each in point.attributes}
    assert told == {"method": "Publish", "code": "OK"}


def test_the_metrics_of_a_store_and_a_server_have_all_their_names() -> None:
    from pubsub_delta.server.exporting import own_names

    store = MemoryStore()
    exporter = ServerExporter(Counters(), list, store.now, "60s")
    found = {each.name for each in exporter.collect() if "_server_" in each.name}
    assert found == set(own_names())


@pytest.mark.parametrize("names_it", ["the option", "the variables", "those of the signals"])
@pytest.mark.parametrize(
    ("protocol", "listening"), [("grpc", receiving), ("http/protobuf", receiving_http)]
)
def test_otlp_goes_over_grpc_and_over_http(
    protocol: str,
    listening: Callable[[], AbstractContextManager[tuple[Receiver, str]]],
    names_it: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # OpenTelemetry: OTEL_EXPORTER_OTLP_PROTOCOL is grpc or http/protobuf; over HTTP the paths are
    # /v1/traces and /v1/metrics below the endpoint
    store = MemoryStore()
    exporter = ServerExporter(store.counters, list, store.now, "60s")
    with listening() as (receiver, endpoint):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        if names_it == "the variables":
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        if names_it == "those of the signals":  # which take precedence over the general ones
            other = "http/protobuf" if protocol == "grpc" else "grpc"
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", other)
            for signal, path in (("TRACES", "/v1/traces"), ("METRICS", "/v1/metrics")):
                monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", protocol)
                url = endpoint if protocol == "grpc" else f"{endpoint}{path}"
                monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", url)
        option = endpoint if names_it == "the option" else None
        told = Telemetry(option, os.environ, exporter.collect)
        with serving(store, tracing=told.tracing) as address:
            url = f"http://{address}/v1/{TOPIC}:publish"
            headers = {"Content-Type": "application/json", "traceparent": PARENT}
            urlopen(Request(url, b'{"messages": [{"data": "eA=="}]}', headers)).close()
        told.stop()
    assert receiver.of_trace(TRACE) == {"google.pubsub.v1.Publisher/Publish"}
    assert "pubsub_delta_server_published" in receiver.metrics
    assert receiver.services == {"pubsub-delta"}


@pytest.mark.parametrize(
    ("variable", "value", "accepted"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "grpc and http/protobuf are accepted"),
        ("OTEL_TRACES_EXPORTER", "zipkin", "otlp and none are accepted"),
        ("OTEL_METRICS_EXPORTER", "console", "otlp and none are accepted"),
    ],
)
def test_a_protocol_or_an_exporter_that_is_not_there_is_refused(
    variable: str, value: str, accepted: str
) -> None:
    store = MemoryStore()
    exporter = ServerExporter(store.counters, list, store.now, "60s")
    with pytest.raises(InvalidArgument, match=f"{variable}.*{accepted}"):
        Telemetry("http://localhost:4318", {variable: value}, exporter.collect)


def test_it_is_off_unless_somebody_asks() -> None:
    assert telemetry(None, {}) is None
    assert telemetry("http://localhost:4317", {"OTEL_SDK_DISABLED": "true"}) is None
    assert telemetry(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317"}) is not None
    with pytest.raises(InvalidArgument, match="http://host:port"):
        telemetry("localhost:4317", {})


def test_without_the_extra_it_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("pubsub_delta.server.telemetry.import_module", absent)
    with pytest.raises(FailedPrecondition, match=r"pip install 'pubsub-delta\[otel\]'"):
        telemetry("http://localhost:4317", {})


def test_a_commit_of_many_requests_has_links_to_the_last_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "A span has at most 128 links", and the newest requests are those that somebody looks at."""
    monkeypatch.setattr(otel, "MOST_LINKS", 2)
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    traces = otel.Traces(provider)
    parent = {"googclient_traceparent": PARENT}
    for name in "abcd":
        received = ReceivedMessage(name, "1", START, b"x", parent, "", None)
        traces.leased(SUBSCRIPTION, [Delivery(1, 1, 1, received=received)], START)
        traces.acknowledging(SUBSCRIPTION, [name], None, START)()
    with traces.committing(SUBSCRIPTION):
        pass
    spans = memory.get_finished_spans()
    acks = [each.get_span_context() for each in spans if each.name.endswith(" ack")]
    (commit,) = (each for each in spans if each.name.endswith(" commit"))
    assert [each.context for each in commit.links] == acks[-2:]
    traces.stop()


def test_a_delivery_whose_deadline_was_moved_goes_on_until_then() -> None:
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    traces = otel.Traces(provider)
    received = ReceivedMessage("id", "1", START, b"x", {"googclient_traceparent": PARENT}, "", None)
    delivery = Delivery(1, 1, 1, deadline=at(10), received=received)

    def results() -> list[Any]:
        lapsed = [each for each in memory.get_finished_spans() if each.name.endswith(" lease")]
        return [(each.attributes or {})["messaging.gcp_pubsub.result"] for each in lapsed]

    traces.leased(SUBSCRIPTION, [delivery], START)
    traces.acknowledging(SUBSCRIPTION, ["id"], 60, at(5))
    traces.expired(at(64))
    assert results() == []
    traces.expired(at(65))
    assert results() == ["expired"]
    traces.stop()


def test_a_delivery_whose_deadline_passes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore({"ack_deadline_seconds": 1})
    monkeypatch.setattr(otel, "MOST_LEASED", 10)
    with traced(store) as (receiver, address), grpc.insecure_channel(address) as channel:
        publisher = pubsub_v1.PublisherClient(transport=PublisherGrpcTransport(channel=channel))
        subscriber = pubsub_v1.SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))
        publisher.publish(TOPIC, b"x", googclient_traceparent=PARENT).result(LONG)
        assert subscriber.pull(subscription=SUBSCRIPTION, max_messages=1).received_messages
        eventually(
            lambda: subscriber.pull(subscription=SUBSCRIPTION, max_messages=1).received_messages
        )
        publisher.stop()
    results = [
        each.value.string_value
        for span in receiver.named(f"{SUBSCRIPTION.split('/')[3]} lease")
        for each in span.attributes
        if each.key == "messaging.gcp_pubsub.result"
    ]
    assert sorted(results) == ["expired", "untold"]
