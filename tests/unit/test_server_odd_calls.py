"""What a server answers to calls that are legal and rare, or that come at a rare moment."""

from __future__ import annotations

import gc
import socket
import ssl
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from google.protobuf.duration_pb2 import Duration
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pubsub_delta.clock import UTC, CheckedClock
from pubsub_delta.server.authorization import store_authorizer
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES
from pubsub_delta.server.security import Security
from tests.unit.access_files import ADMIN, TOPIC, write
from tests.unit.raw_calls import Server, refused
from tests.unit.serving import LONG
from tests.unit.serving_access import Caller
from tests.unit.serving_calls import NAME, Calls, failing_exchanges, opening, running, soon
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_server_command import certificate


def test_a_token_that_cannot_be_checked_by_the_clock_is_told_so(tmp_path: Path) -> None:
    # "A server with such a clock answers so, by REST too."
    backend = WorldBackend()
    now = CheckedClock(backend.clock).now
    file = write(tmp_path / "policy.json")
    access = store_authorizer(file, lambda: backend.store._tables, now)
    backend.store.create_topic(TOPIC)
    with (
        served(backend, security=Security(access=access)) as address,
        grpc.insecure_channel(address) as channel,
    ):
        caller = Caller(channel, ADMIN)
        caller.call(PUBLISHER, "GetTopic", topic=TOPIC)
        backend.clock._now = datetime(9999, 6, 1, tzinfo=UTC)
        with refused("FAILED_PRECONDITION", "the clock of this process tells 9999"):
            caller.call(PUBLISHER, "GetTopic", topic=TOPIC)


@pytest.mark.parametrize("service", ["", *SERVICES])
def test_each_service_tells_its_health(service: str) -> None:
    # "`grpc.health.v1.Health` | for the server and for each of its services"
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        ask = health_pb2.HealthCheckRequest(service=service)
        told = health_pb2_grpc.HealthStub(channel).Check(ask, timeout=LONG)
        assert told.status == health_pb2.HealthCheckResponse.SERVING


def kill(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server say nothing more to the store."""

    async def nothing(_: int) -> bool:
        return False

    monkeypatch.setattr(calls.hub.running(NAME), "_exchange", nothing)


async def available_elsewhere(calls: Calls) -> list[bytes]:
    """Return the data of what another process can pull."""
    pulled = await calls.elsewhere(lambda: calls.other_process.pull(NAME))
    return [each.data for each in pulled]


@pytest.mark.parametrize("deadline", [10, 61, 90, 600])
def test_with_exactly_once_delivery_a_deadline_outlives_the_server(
    monkeypatch: pytest.MonkeyPatch, deadline: int
) -> None:
    # "What a client was given stays its own until its deadline, whoever serves", and with
    # exactly-once delivery there is no window in which it may end before
    async def test(calls: Calls) -> None:
        await calls.publish("a")
        await calls.pull(1)
        kill(calls, monkeypatch)
        calls.backend.clock.advance(deadline - 1)
        assert await available_elsewhere(calls) == []
        calls.backend.clock.advance(max(90 - deadline, 30) + 2)
        assert await available_elsewhere(calls) == [b"a"]

    running(test, enable_exactly_once_delivery=True, ack_deadline_seconds=deadline)


async def one_given_and_one_waiting(calls: Calls) -> Any:
    """Publish two messages; return a stream that was given one, while the other one waits."""
    await calls.publish("a", "b")
    stream = calls.stream(opening(max_outstanding_messages=1))
    assert len((await anext(stream)).received_messages) == 1
    found = calls.hub.running(NAME)
    assert found is not None
    await soon(lambda: len(found.leaser.assigner.waiting) == 1)
    return stream


def test_so_does_the_deadline_of_what_has_waited_for_its_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(calls: Calls) -> None:
        stream = await one_given_and_one_waiting(calls)
        calls.backend.clock.advance(25)
        await calls.pull(1)  # by a deadline of ten minutes, which the lease did not cover
        await stream.aclose()
        kill(calls, monkeypatch)
        calls.backend.clock.advance(599)
        assert await available_elsewhere(calls) == []

    running(test, enable_exactly_once_delivery=True, ack_deadline_seconds=600)


def test_a_server_whose_exchanges_fail_gives_away_no_lease_that_ends_too_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(calls: Calls) -> None:
        stream = await one_given_and_one_waiting(calls)
        busy = failing_exchanges(monkeypatch)
        busy += [None] * 3
        calls.backend.clock.advance(31)
        await calls.pull(1)
        assert not busy, "it was extended before it was given"
        await stream.aclose()

    running(test, enable_exactly_once_delivery=True, ack_deadline_seconds=60)


def test_a_client_that_breaks_its_tls_is_left_without_a_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever can connect could fill the log otherwise, also without a token."""
    proof, key = certificate(tmp_path)
    security = Security(certificate=proof, key=key, token="secret")
    with served(WorldBackend(), security=security) as address:
        host, _, port = address.rpartition(":")
        for begun in (b"", b"GET / HT"):
            with socket.create_connection((host, int(port)), timeout=LONG) as carrier:
                carrier.sendall(encrypted(carrier, begun))
                time.sleep(0.1)  # it is read before what follows
                carrier.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
                with suppress(ConnectionError):
                    while carrier.recv(65_536):
                        pass
        gc.collect()  # the end of a task that failed unseen
    assert "Traceback" not in caplog.text
    assert "SSL" not in caplog.text


def encrypted(carrier: socket.socket, text: bytes) -> bytes:
    """Shake hands by a connection; return a text as it is sent by it."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    come, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    inside = trust.wrap_bio(come, sent)
    while True:
        try:
            inside.do_handshake()
            break
        except ssl.SSLWantReadError:
            carrier.sendall(sent.read())
            come.write(carrier.recv(65_536))
    inside.write(text)
    return sent.read()


def test_a_duration_that_no_time_has_is_refused_by_name() -> None:
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        kept = Duration(seconds=2**62)
        with refused("INVALID_ARGUMENT", "out of range"):
            Server(channel).call(
                PUBLISHER, "CreateTopic", name=TOPIC, message_retention_duration=kept
            )


def test_schema_settings_without_a_schema_are_refused() -> None:
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        settings = {"encoding": "JSON"}
        with refused("INVALID_ARGUMENT", "schema_settings.schema: it is empty"):
            Server(channel).call(PUBLISHER, "CreateTopic", name=TOPIC, schema_settings=settings)
