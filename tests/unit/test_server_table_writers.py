"""When a server looks for messages of table subscriptions, without a table."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

pytest.importorskip("grpc")
from pubsub_delta import TableConfig
from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.server.table_writing import TableWriters
from pubsub_delta.server.timing import Timing
from tests.unit.serving_calls import NAME, TOPIC, Calls, running, soon

SELDOM = Timing(shortest_poll=3600, longest_poll=3600)


def test_a_publish_wakes_the_writers_of_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """When no message is left, a writer waits for a publish through this server."""
    written: list[str] = []

    def write(name: str) -> TableWrites:
        written.append(name)
        return TableWrites()

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", write)
        writers = TableWriters(calls.hub, SELDOM)
        plain = calls.store.get_subscription(NAME)
        await writers.run_worker(replace(plain, table_config=TableConfig("shop.orders")))
        await soon(lambda: written == [NAME])
        calls.hub.published(TOPIC)
        await soon(lambda: written == [NAME, NAME])
        calls.hub.published("projects/local/topics/other")
        await asyncio.sleep(0.05)
        assert written == [NAME, NAME]
        await writers.end_workers()

    running(test)
