"""What a server counts: nothing before anything happens, and then each thing where it belongs."""

from __future__ import annotations

from dataclasses import fields

import pytest

pytest.importorskip("grpc")
from pubsub_delta.server.counters import Counters
from tests.unit.serving_calls import Calls, failing_exchanges, running, soon

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
