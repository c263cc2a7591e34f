"""What a server answers to calls that are legal and rare, or that come at a rare moment."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

pytest.importorskip("grpc")
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pubsub_delta.clock import UTC, CheckedClock
from pubsub_delta.server.authorization import store_authorizer
from pubsub_delta.server.grpc_services import PUBLISHER, SERVICES
from pubsub_delta.server.security import Security
from tests.unit.access_files import ADMIN, TOPIC, write
from tests.unit.raw_calls import refused
from tests.unit.serving import LONG
from tests.unit.serving_access import Caller
from tests.unit.serving_world import WorldBackend, served


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
