"""What seldom happens to a server: what it then tells, and that it goes on."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from google.protobuf.duration_pb2 import Duration

from pubsub_delta.clock import SystemClock
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy.positions import Positions
from pubsub_delta.server.grpc_services import PUBLISHER, SUBSCRIBER
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.push_keys import PushKeys
from tests.unit.raw_calls import Server, refused
from tests.unit.serving import LONG, QUICK, MemoryStore, serving
from tests.unit.serving_calls import NAME, Calls, opening, running
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_server_lease_journals import UID, given, here, killed, left_at
from tests.unit.test_server_leaser import Bench

TOPIC = "projects/p/topics/flights"
SUBSCRIPTION = "projects/p/subscriptions/delays"
SNAPSHOT = "projects/p/snapshots/before"


# Requests


def test_a_snapshot_is_updated_where_the_mask_says_so() -> None:
    """ "`update_snapshot` changes labels and expire_time"; only the named fields change."""
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        server = Server(channel)
        server.call(PUBLISHER, "CreateTopic", name=TOPIC)
        server.call(SUBSCRIBER, "CreateSubscription", name=SUBSCRIPTION, topic=TOPIC)
        made = {"name": SNAPSHOT, "subscription": SUBSCRIPTION, "labels": {"a": "1", "b": "2"}}
        before = server.call(SUBSCRIBER, "CreateSnapshot", **made)

        def update(path: str, **changed: Any) -> Any:
            asked = {"snapshot": {"name": SNAPSHOT, **changed}, "update_mask": {"paths": [path]}}
            return server.call(SUBSCRIBER, "UpdateSnapshot", **asked)

        earlier = before.expire_time.ToDatetime() - timedelta(days=1)
        update("expire_time", expire_time=earlier, labels={"a": "ignored"})
        update("labels.b", labels={"b": "3"}, expire_time=before.expire_time)
        found = server.call(SUBSCRIBER, "GetSnapshot", snapshot=SNAPSHOT)
        assert dict(found.labels) == {"a": "1", "b": "3"}
        assert found.expire_time.ToDatetime() == earlier
        with refused("INVALID_ARGUMENT", "'topic' cannot be changed"):
            update("topic", topic=TOPIC)


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


# Acks


def test_a_new_deadline_of_a_delivery_that_is_being_nacked_fails() -> None:
    """A nack ends the lease: what is said of it afterwards is invalid with exactly-once."""
    bench = Bench(1, exactly_once=True)
    ack_id = bench.ack_id(bench.lease(1), 0)
    nacked = bench.modify([ack_id], 0)
    moved = bench.modify([ack_id], 60)
    assert moved.done
    assert list(moved.failures) == [ack_id]
    bench.exchange()
    assert nacked.done
    assert not nacked.failures
    assert bench.leased == []


def test_a_dispatcher_goes_on_after_an_error_that_nobody_expected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test(calls: Calls) -> None:
        stream = calls.stream(opening())
        coming = asyncio.ensure_future(anext(stream))
        await calls.publish("a")
        assert (await coming).received_messages
        running_one = calls.hub.running(NAME)
        assert running_one is not None
        expire, left = running_one.leaser.expire, [1]

        def fails_once(now: datetime) -> int:
            if left:
                left.pop()
                raise RuntimeError("nobody expected this")
            return expire(now)

        running_one.leaser.expire = fails_once  # type: ignore[method-assign]
        coming = asyncio.ensure_future(anext(stream))
        await calls.publish("b")
        (got,) = (await asyncio.wait_for(coming, LONG)).received_messages
        assert (got.message.data, left) == (b"b", [])
        assert "the dispatcher goes on" in caplog.text

    running(test)


# What a killed server has left


def test_what_was_left_of_a_subscription_that_is_gone_holds_up_no_other(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        await calls.publish("a")
        await calls.pull(1)
        uid = calls.store.get_subscription(NAME).uid
        left = here(tmp_path, "first")
        left.journal(NAME, uid).leased(1, Positions.of([0]))
        left.journal("projects/local/subscriptions/gone", UID).leased(1, Positions.of([0]))
        killed(left)
        counters, now = calls.backend.counted, calls.backend.now
        await Hub(calls.backend, counters, QUICK, now, here(tmp_path)).take_over()
        assert left_at(tmp_path) == {}, "there is nothing to try again"

    running(test)


def test_a_journal_that_does_not_take_the_place_of_its_file_is_none(tmp_path: Path) -> None:
    """A server that is killed while it begins a file anew leaves the one before, which counts."""
    one = here(tmp_path, "first")
    one.journal("s", UID).leased(7, Positions.of(range(3)))
    (path,) = tmp_path.rglob(UID)
    path.with_suffix(".new").write_text(path.read_text().replace("s\n", "other\n", 1))
    killed(one)
    assert left_at(tmp_path) == {"s": {7: [0, 1, 2]}}


def test_a_line_that_a_disk_takes_in_part_ends_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is given next would end the broken line, and could be taken over."""
    one = here(tmp_path, "first")
    journal = one.journal("s", UID)
    journal.leased(7, Positions.of(range(3)))

    class Full:
        def write(self, written: bytes) -> int:
            return len(written) - 1

        def close(self) -> None: ...

    journal._file = Full()  # type: ignore[assignment]
    journal.given(given(0))
    journal.given(given(1))
    assert [*tmp_path.rglob(UID)] == []
    killed(one)
    assert left_at(tmp_path) == {}


# Keys of push requests


def test_a_file_of_public_keys_is_refused(tmp_path: Path) -> None:
    """Only a private key signs: a server that cannot sign says so, and which file it has read."""
    path = tmp_path / "push-keys.json"
    keys = PushKeys(path, SystemClock().now)
    keys.signing()
    written = json.loads(path.read_text())
    for each in written["keys"]:
        for secret in ("d", "p", "q", "dp", "dq", "qi"):
            each.pop(secret, None)
    path.write_text(json.dumps(written))
    with pytest.raises(FailedPrecondition, match=str(path)):
        PushKeys(path, SystemClock().now).signing()


def test_keys_that_cannot_be_read_are_an_error_and_no_empty_list(tmp_path: Path) -> None:
    """Receivers cache the document: without keys they would refuse every token for an hour."""
    path = tmp_path / "push-keys.json"
    path.write_text("no keys")
    with serving(MemoryStore(), push_keys=path) as address:
        connection = HTTPConnection(address, timeout=LONG)
        connection.request("GET", "/.well-known/jwks.json")
        reply = connection.getresponse()
        assert reply.status == 400
        assert "push-keys.json" in json.load(reply)["error"]["message"]
