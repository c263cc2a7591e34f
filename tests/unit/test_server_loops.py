"""What a server does again and again goes on after an unexpected failure, which is logged once."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("grpc")
from datetime import datetime

import grpc
import pyarrow as pa

from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.errors import NotFound
from pubsub_delta.server import authorization, memory, serve, table_writing
from pubsub_delta.server.authorization import Authorizer
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.logs import JsonFormatter
from pubsub_delta.server.rest import gateway
from pubsub_delta.server.table_writing import TableWriter
from pubsub_delta.server.timing import Timing
from tests.unit.serving import LONG, MemoryStore, eventually, serving
from tests.unit.serving_calls import NAME, Calls, opening, running, soon


class Failing:
    """Something that fails twice, and works from then on."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.calls <= 2:
            raise RuntimeError("no such luck")


def goes_on(loop: Callable[[], Coroutine[Any, Any, None]], work: Failing) -> None:
    """Run a loop until its work has failed twice and been done twice."""

    async def test() -> None:
        running = asyncio.create_task(loop())
        await soon(lambda: work.calls >= 4)
        assert not running.done()
        running.cancel()

    asyncio.run(test())


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def test_a_policy_file_is_looked_at_again_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(authorization, "RELOAD_CHECK_SECONDS", 0.001)
    look: Any = Failing()
    file: Any = SimpleNamespace(reload_if_changed=look)
    none: Any = None

    goes_on(Authorizer(file, none, none, none).watch, look)
    assert errors(caplog) == ["the policy file could not be checked for changes"] * 2


def test_free_memory_is_returned_again_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(memory, "RELEASE_SECONDS", 0.001)
    release = Failing()
    monkeypatch.setattr(pa, "default_memory_pool", lambda: SimpleNamespace(release_unused=release))

    goes_on(memory.release_unused_always, release)
    assert errors(caplog) == ["free memory could not be returned"] * 2


def test_a_table_is_written_again_after_a_failure_and_no_more_once_its_subscription_is_gone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(table_writing, "SHORTEST_PAUSE", 0.001)
    fail, counters = Failing(), Counters()

    async def write() -> TableWrites:
        fail()
        if fail.calls > 3:
            raise NotFound("the subscription does not exist")
        return TableWrites(written=5, is_done=False)

    async def test() -> None:
        writer = TableWriter("sss", "ttt", write, asyncio.Semaphore(), counters, Timing())
        await soon(lambda: writer.is_over)

    asyncio.run(test())
    assert (fail.calls, counters.table_rows) == (4, 5)
    assert errors(caplog) == ["sss: its table could not be written: no such luck"] * 2


def test_an_error_that_has_no_details_has_its_code_in_json() -> None:
    """Where gRPC itself refuses a call, as while the server ends, there is no google.rpc.Status."""

    def answer(code: grpc.StatusCode, text: str) -> tuple[int, dict[str, Any]]:
        none = grpc.aio.Metadata()
        response = gateway._failed(
            grpc.aio.AioRpcError(code, none, none, details=text), pretty=False
        )
        return response.status, json.loads(response.body)["error"]

    status, told = answer(grpc.StatusCode.UNAVAILABLE, "the connection is closed")
    assert (status, told["status"]) == (503, "UNAVAILABLE")
    assert told["message"] == "the server is shutting down; try again later"
    status, told = answer(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large")
    assert (status, told["code"], told["message"]) == (429, 429, "too large")
    status, told = answer(grpc.StatusCode.CANCELLED, "")
    assert (status, told["status"], told["message"]) == (499, "CANCELLED", "cancelled")


def test_a_record_of_a_failure_has_its_traceback_in_json() -> None:
    try:
        Failing()()
    except RuntimeError as error:
        exc_info: Any = (RuntimeError, error, error.__traceback__)
    record = logging.LogRecord("pubsub_delta", logging.ERROR, "", 0, "failed", (), exc_info)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["exception"].endswith("RuntimeError: no such luck")


def test_what_a_server_has_left_is_taken_over_though_the_first_attempt_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store may not be written for a while: the next look tries again."""
    looks: list[int] = []

    async def take_over(_: Hub) -> None:
        looks.append(1)
        if len(looks) < 3:
            raise OSError("no space is left")

    monkeypatch.setattr(Hub, "take_over", take_over)
    monkeypatch.setattr(serve, "TAKE_OVER_SECONDS", 0.02)
    with serving(MemoryStore()):
        eventually(lambda: len(looks) > 4)


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
