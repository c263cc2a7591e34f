"""What a server answers to calls that are legal and rare, or that come at a rare moment."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

pytest.importorskip("grpc")
import grpc

from pubsub_delta.clock import UTC, CheckedClock
from pubsub_delta.server.authorization import store_authorizer
from pubsub_delta.server.grpc_services import PUBLISHER
from pubsub_delta.server.security import Security
from tests.unit.access_files import ADMIN, TOPIC, write
from tests.unit.raw_calls import refused
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
