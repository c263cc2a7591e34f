"""Which spans a server has for what it delivers and commits, without a server."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc")
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from pubsub_delta.resources import Message, ReceivedMessage
from pubsub_delta.server import otel
from pubsub_delta.server.assigner import Delivery
from tests.unit.builders import START, at
from tests.unit.serving import SUBSCRIPTION, TOPIC

PARENT = {"googclient_traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


class Traced:
    """The spans of a server that have ended."""

    def __init__(self) -> None:
        self._memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self.traces = otel.Traces(provider)

    def lease(self, ack_id: str, traced: bool = True) -> None:
        attributes = PARENT if traced else {}
        received = ReceivedMessage(ack_id, ack_id, START, b"x", attributes, "", None)
        delivery = Delivery(1, 1, 1, deadline=at(10), received=received)
        self.traces.leased(SUBSCRIPTION, [delivery], START)

    def told(self, verb: str, attribute: str) -> list[Any]:
        ended = [e for e in self._memory.get_finished_spans() if e.name.endswith(f" {verb}")]
        return [(each.attributes or {}).get(attribute) for each in ended]

    def failures(self) -> list[tuple[str, str | None]]:
        ended = self._memory.get_finished_spans()
        failed = [each for each in ended if each.status.status_code is StatusCode.ERROR]
        return [(each.name.split()[1], each.status.description) for each in failed]


RESULT = "messaging.gcp_pubsub.result"


def test_every_traced_delivery_of_a_response_has_a_span() -> None:
    """A message without a trace among them has none, and ends none."""
    traced = Traced()
    both = [
        Delivery(1, n, 1, deadline=at(10), received=ReceivedMessage(
            f"{n}", f"{n}", START, b"x", PARENT if n else {}, "", None
        ))
        for n in range(3)
    ]  # fmt: skip
    traced.traces.leased(SUBSCRIPTION, both, START)
    traced.traces.acknowledging(SUBSCRIPTION, ["0"], None, START)()
    assert traced.told("ack", RESULT) == []
    traced.traces.acknowledging(SUBSCRIPTION, ["0", "1"], None, START)()
    traced.traces.acknowledging(SUBSCRIPTION, ["2"], 0, START)()
    assert traced.told("lease", "messaging.message.id") == ["1", "2"]
    assert traced.told("lease", RESULT) == ["acked", "nacked"]
    assert traced.told("ack", "messaging.batch.message_count") == [2]


def test_the_oldest_deliveries_end_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(otel, "MOST_LEASED", 2)
    traced = Traced()
    for ack_id in "abc":
        traced.lease(ack_id)
    assert traced.told("lease", "messaging.message.id") == ["a"]
    assert traced.told("lease", RESULT) == ["untold"]
    traced.traces.stop()
    assert traced.told("lease", RESULT) == ["untold"] * 3


def test_a_publish_and_a_commit_that_fail_are_errors() -> None:
    traced = Traced()
    messages = [Message(b"x", PARENT), Message(b"y")]

    def refuse(_: Any) -> Any:
        raise OSError("the disk is full")

    append = traced.traces.appending(TOPIC, refuse)
    with pytest.raises(OSError, match="full"), traced.traces.publishing(TOPIC, messages):
        append(messages)
    assert traced.failures() == [("commit", "the disk is full"), ("publish", "the disk is full")]
    traced.lease("a")
    traced.traces.acknowledging(SUBSCRIPTION, ["a"], None, START)()
    with pytest.raises(OSError, match="gone"), traced.traces.committing(SUBSCRIPTION):
        raise OSError("gone")
    assert traced.failures()[2:] == [("commit", "gone")]


def test_each_traced_message_of_a_publish_is_told_by_its_own_id() -> None:
    traced = Traced()
    messages = [Message(b"x"), Message(b"y", PARENT), Message(b"z", PARENT)]
    with traced.traces.publishing(TOPIC, messages) as published:
        published(["7", "8", "9"])
    assert traced.told("publish", "messaging.message.id") == ["8", "9"]


def test_a_call_has_a_span_of_its_service_and_method() -> None:
    """OpenTelemetry: ``rpc.system``, ``rpc.service`` and ``rpc.method`` of a call of gRPC."""

    class Called:
        def invocation_metadata(self) -> list[tuple[str, str]]:
            return [("traceparent", PARENT["googclient_traceparent"]), ("authorization", "secret")]

    traced = Traced()
    with traced.traces.call("google.pubsub.v1.Publisher", "Publish", Called()):
        pass
    (span,) = traced._memory.get_finished_spans()
    assert (span.name, span.kind.name) == ("google.pubsub.v1.Publisher/Publish", "SERVER")
    assert dict(span.attributes or {}) == {
        "rpc.system": "grpc",
        "rpc.service": "google.pubsub.v1.Publisher",
        "rpc.method": "Publish",
    }
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"


def test_the_span_of_a_delivery_says_what_it_is_of() -> None:
    """OpenTelemetry, "Messaging": its size, ids, key and attempt; it begins where it was sent."""
    traced = Traced()
    received = ReceivedMessage("ack", "7", START, b"abcdef", PARENT, "key", 3)
    delivery = Delivery(1, 1, 1, deadline=at(10), received=received)
    traced.traces.leased(SUBSCRIPTION, [delivery], START)
    traced.traces.expired(at(11))
    spans = traced._memory.get_finished_spans()
    (span,) = (each for each in spans if each.name.endswith(" lease"))
    assert span.name == f"{SUBSCRIPTION.rpartition('/')[2]} lease"
    assert span.kind.name == "PRODUCER"
    told = {name: value for name, value in (span.attributes or {}).items() if "message." in name}
    assert told == {
        "messaging.message.id": "7",
        "messaging.message.body.size": 6,
        "messaging.gcp_pubsub.message.ack_id": "ack",
        "messaging.gcp_pubsub.message.ordering_key": "key",
        "messaging.gcp_pubsub.message.delivery_attempt": 3,
    }
