"""A server whose clients behave badly: its memory stays within the bound that the docs state."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
import grpc

from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES, STREAMING_PULL, SUBSCRIBER
from pubsub_delta.server.interceptors import MAX_STREAMS
from tests.acceptance.serving import LONG, ServerProcess, eventually

pytestmark = [pytest.mark.trial, pytest.mark.timeout(1500)]

BOUND = 1_000
"""Megabytes: what docs/server.md says of messages, and what the process takes without any."""
TOPIC = "projects/local/topics/bounds"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "store")
    process.start()
    yield process
    assert process.stop() == 0


def resident(server: ServerProcess) -> int:
    """Return the megabytes of memory that a server takes now."""
    assert server._process is not None
    status = Path(f"/proc/{server._process.pid}/status").read_text()
    (line,) = (each for each in status.splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


class Watch:
    """The most memory that a server takes while something happens."""

    def __init__(self, server: ServerProcess) -> None:
        self.before = self.most = resident(server)
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.most = max(self.most, resident(self._server))


def call(channel: Any, service: str, name: str, /, **fields: Any) -> Any:
    of = SERVICES[service][name]
    ask = channel.unary_unary(
        f"/{service}/{name}",
        request_serializer=of.request.SerializeToString,
        response_deserializer=of.response.FromString,
    )
    return ask(of.request(**fields), timeout=LONG)


def prepared(channel: Any, name: str, count: int, size: int) -> str:
    """Make a subscription with so many messages of so many bytes."""
    topic, subscription = f"{TOPIC}-{name}", f"projects/local/subscriptions/bounds-{name}"
    call(channel, PUBLISHER, "CreateTopic", name=topic)
    deadline = {"ack_deadline_seconds": 600}
    call(channel, SUBSCRIBER, "CreateSubscription", name=subscription, topic=topic, **deadline)
    a_time = max(1, min(1_000, 9_000_000 // size))
    for _ in range(count // a_time):
        messages = [{"data": b"x" * size}] * a_time
        call(channel, PUBLISHER, "Publish", topic=topic, messages=messages)
    return subscription


async def opened(address: str, subscription: str, count: int, connections: int) -> list[Any]:
    """Open streams that ask for everything, and read nothing of any."""
    of = SERVICES[SUBSCRIBER][STREAMING_PULL]
    options = [("grpc.max_receive_message_length", 2**25), ("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(address, options) for _ in range(connections)]
    streams: list[Any] = list(channels)
    for n in range(count):
        pull = channels[n % connections].stream_stream(
            f"/{SUBSCRIBER}/{STREAMING_PULL}",
            request_serializer=of.request.SerializeToString,
            response_deserializer=of.response.FromString,
        )()
        await pull.write(of.request(subscription=subscription, stream_ack_deadline_seconds=600))
        streams.append(pull)
    return streams


def run_with(
    server: ServerProcess, subscription: str, count: int, connections: int, act: Callable[[], Any]
) -> int:
    """Have so many streams open that read nothing; return the most memory meanwhile."""

    async def hold() -> int:
        with Watch(server) as watch:
            streams = await opened(server.address, subscription, count, connections)
            await asyncio.get_running_loop().run_in_executor(None, act)
            for channel in streams[:connections]:
                await channel.close()
        return watch.most

    return asyncio.run(hold())


def test_five_hundred_streams_that_nobody_reads_are_bounded(server: ServerProcess) -> None:
    # "500 streams opened and abandoned"
    with grpc.insecure_channel(server.address) as channel:
        subscription = prepared(channel, "streams", 50_000, 2_000)
        most = run_with(server, subscription, 500, 20, lambda: time.sleep(20))
        assert most < BOUND
        # they are forgotten, and others are served
        again = {"subscription": subscription, "max_messages": 1}
        eventually(lambda: call(channel, SUBSCRIBER, "Pull", **again) is not None)
    print(f"500 streams, not read: at most {most} MB, then {resident(server)} MB")  # noqa: T201


def test_large_messages_for_slow_readers_are_bounded(server: ServerProcess) -> None:
    # "10 MB messages to slow readers"
    with grpc.insecure_channel(server.address) as channel:
        subscription = prepared(channel, "large", 60, 9_900_000)
    most = run_with(server, subscription, 60, 60, lambda: time.sleep(20))
    print(f"60 streams, messages of 10 MB: at most {most} MB")  # noqa: T201
    assert most < BOUND


def test_a_client_that_never_acknowledges_is_bounded(server: ServerProcess) -> None:
    # "a client that never acknowledges"
    with grpc.insecure_channel(server.address) as channel, Watch(server) as watch:
        subscription = prepared(channel, "never", 200_000, 1_000)
        for _ in range(150):
            asked = {"subscription": subscription, "max_messages": 1_000}
            call(channel, SUBSCRIBER, "Pull", **asked)
    print(f"150,000 messages pulled, none acknowledged: at most {watch.most} MB")  # noqa: T201
    assert watch.most < BOUND


def test_more_streams_than_there_may_be_are_refused(server: ServerProcess) -> None:
    # "each with a limit and a clear refusal"
    with grpc.insecure_channel(server.address) as channel:
        subscription = prepared(channel, "refused", 0, 1)

    async def refused() -> list[str]:
        streams = await opened(server.address, subscription, MAX_STREAMS + 1, 20)
        # connections overtake one another: which stream comes one too late is the server's to say
        reads = [asyncio.ensure_future(each.read()) for each in streams[20:]]
        done, _ = await asyncio.wait(reads, timeout=LONG, return_when=asyncio.FIRST_EXCEPTION)
        for each in streams[:20]:
            await each.close()
        errors = [each.exception() for each in done]
        await asyncio.gather(*reads, return_exceptions=True)
        return [f"{error.code().name}: {error.details()}" for error in errors]

    (error,) = asyncio.run(refused())
    assert "RESOURCE_EXHAUSTED: 1,000 streams are open" in error
