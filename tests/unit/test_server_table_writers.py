"""When a server looks for messages of table subscriptions, without a table."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

pytest.importorskip("grpc")
from pubsub_delta import FailedPrecondition, TableConfig
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


def test_a_writer_that_has_ended_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends where its subscription is gone, or writes to no table; another one may follow."""
    written: list[str] = []

    def write(name: str) -> TableWrites:
        written.append(name)
        if len(written) == 1:
            raise FailedPrecondition(f"{name} has no table")
        return TableWrites()

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", write)
        writers = TableWriters(calls.hub, SELDOM)
        wanted = replace(calls.store.get_subscription(NAME), table_config=TableConfig("shop.a"))
        await writers.run_worker(wanted)
        await soon(lambda: written == [NAME])
        await soon(lambda: all(each.is_over for each in writers._workers.values()))
        await writers.run_worker(wanted)
        await soon(lambda: written == [NAME, NAME])
        await writers.end_workers()

    running(test)
