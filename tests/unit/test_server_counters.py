"""What a server counts: nothing before anything happens, and then each thing where it belongs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc

from pubsub_delta.server.counters import Counters
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, STREAMING_PULL, SUBSCRIBER
from tests.unit.serving import LONG, eventually
from tests.unit.serving_calls import NAME, TOPIC, Calls, failing_exchanges, running, soon
from tests.unit.serving_world import WorldBackend, served

NUMBERS = [each.name for each in fields(Counters) if each.type == "int"]


def numbers(counters: Counters) -> dict[str, int]:
    return {name: getattr(counters, name) for name in NUMBERS if getattr(counters, name)}


def test_a_server_that_has_done_nothing_has_counted_nothing() -> None:
    assert len(NUMBERS) >= 10
    assert numbers(Counters()) == {}
    assert not Counters().requests
    assert not Counters().pushes


def test_messages_are_counted_when_they_are_published_delivered_and_acknowledged() -> None:
    async def test(calls: Calls) -> None:
        counted = calls.backend.counted
        await calls.publish("a", "b", "c")
        first, *_ = await calls.pull(3)
        assert numbers(counted) == {
            "published": 3,
            "publish_commits": 1,
            "delivered": 3,
            "exchanges": counted.exchanges,
        }
        before = counted.exchanges
        assert before >= 1
        await calls.acknowledge(first)
        await soon(lambda: counted.exchanges > before)
        assert counted.acknowledged == 1
        calls.backend.clock.advance(3600)
        await calls.pull(1)
        assert counted.expired == 2

    running(test)


def test_an_exchange_that_fails_is_counted_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_exchanges(monkeypatch).extend([1, 2])

    async def test(calls: Calls) -> None:
        counted = calls.backend.counted
        await calls.publish("a")
        assert len(await calls.pull(1)) == 1
        assert counted.failed_exchanges == 2
        assert counted.exchanges >= 1

    running(test)


def test_each_request_is_counted_once_by_how_it_ended() -> None:
    """Rates of errors are quotients of these counts, whatever the kind of a call."""
    backend = WorldBackend()
    backend.store.create_topic(TOPIC)
    backend.store.create_subscription(NAME, TOPIC)
    counted, is_over = backend.counted.requests, threading.Event()
    with served(backend) as address, grpc.insecure_channel(address) as channel:

        def start(service: str, method: str, **fields: Any) -> Any:
            of = SERVICES[service][method]
            streams = method == STREAMING_PULL
            call = channel.stream_stream if streams else channel.unary_unary
            ask = call(
                f"/{service}/{method}",
                request_serializer=of.request.SerializeToString,
                response_deserializer=of.response.FromString,
            )
            asked = of.request(**fields)
            if not streams:
                return ask.future(asked, timeout=LONG)
            return ask(until_over(asked), timeout=LONG)

        def until_over(asked: Any) -> Iterator[Any]:
            yield asked
            is_over.wait(LONG)

        start(PUBLISHER, "GetTopic", topic=TOPIC).result()
        assert start(PUBLISHER, "GetTopic", topic=f"{TOPIC}-absent").code().name == "NOT_FOUND"
        absent = {"subscription": f"{NAME}-absent", "stream_ack_deadline_seconds": 10}
        assert start(SUBSCRIBER, STREAMING_PULL, **absent).code().name == "NOT_FOUND"
        pull = start(SUBSCRIBER, "Pull", subscription=NAME, max_messages=1)
        eventually(lambda: backend.counted.exchanges)
        of_name = {"subscription": NAME, "stream_ack_deadline_seconds": 10}
        stream = start(SUBSCRIBER, STREAMING_PULL, **of_name)
        eventually(lambda: backend.counted.open_streams == 1)
        for each in (pull, stream):
            each.cancel()
        expected = {
            ("GetTopic", "OK"): 1,
            ("GetTopic", "NOT_FOUND"): 1,
            ("StreamingPull", "NOT_FOUND"): 1,
            ("Pull", "CANCELLED"): 1,
        }
        # gRPC may tell of the end of a stream's requests before it tells that it was cancelled.
        cancelled = [{("StreamingPull", code): 1} for code in ("CANCELLED", "OK")]
        eventually(lambda: dict(counted) in [expected | each for each in cancelled])
        is_over.set()
        assert backend.counted.open_streams == 0
