"""When a server looks for messages of table subscriptions, without a table."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Container, Coroutine
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta import FailedPrecondition, PushConfig, TableConfig, TableState
from pubsub_delta.delivery import table_writes
from pubsub_delta.delivery.table_subscriptions import TableWrites
from pubsub_delta.server import dispatcher, table_writing
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.table_writing import LONGEST_PAUSE, MOST_AT_ONCE, TableWriters
from pubsub_delta.server.timing import Timing
from tests.unit.serving import LONG
from tests.unit.serving_calls import NAME, TOPIC, Calls, opening, running, soon

SELDOM = Timing(shortest_poll=3600, longest_poll=3600)


class Written(list[str]):
    """The subscriptions that were written to their tables; there was no message for any."""

    def write(self, name: str) -> TableWrites:
        self.append(name)
        return TableWrites()


def test_a_publish_wakes_every_writer_of_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """When no message is left, a writer waits for a publish through this server."""
    written = Written()

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", written.write)
        writers = TableWriters(calls.hub, SELDOM)
        plain = replace(calls.store.get_subscription(NAME), table_config=TableConfig("shop.orders"))
        names = sorted([NAME, f"{NAME}-too", f"{NAME}-as-well"])
        for name in names:
            await writers.run_worker(replace(plain, name=name))
        await soon(lambda: sorted(written) == names)
        calls.hub.published(TOPIC)
        await soon(lambda: sorted(written) == sorted([*names, *names]))
        calls.hub.published("projects/local/topics/other")
        await asyncio.sleep(0.05)
        assert len(written) == 2 * len(names)
        await writers.end_workers()

    running(test)


def test_a_publish_during_a_write_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The write may have read the topic before: it would else come with the next check."""
    written: list[str] = []

    async def test(calls: Calls) -> None:
        loop, told = asyncio.get_running_loop(), threading.Event()

        def publish() -> None:
            calls.hub.published(TOPIC)
            told.set()

        def write(name: str) -> TableWrites:
            written.append(name)
            if len(written) == 1:
                loop.call_soon_threadsafe(publish)
                assert told.wait(LONG)
            return TableWrites()

        monkeypatch.setattr(calls.backend, "write_table", write)
        writers = TableWriters(calls.hub, SELDOM)
        plain = calls.store.get_subscription(NAME)
        await writers.run_worker(replace(plain, table_config=TableConfig("shop.orders")))
        await soon(lambda: written == [NAME, NAME])
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


def pauses_after(
    monkeypatch: pytest.MonkeyPatch,
    results: list[TableWrites],
    timing: Timing,
    published: Container[int] = (),
) -> list[float]:
    """Return the pauses of a writer after some slices.

    ``published``: the pauses that a publish ends.
    """
    pauses, hubs = list[float](), list[Hub]()

    def write(name: str) -> TableWrites:
        if not results:
            raise FailedPrecondition(f"{name} has no table")
        return results.pop(0)

    async def at_once(waiting: Coroutine[Any, Any, Any], seconds: float) -> None:
        waiting.close()
        pauses.append(seconds)
        if len(pauses) - 1 not in published:
            raise asyncio.TimeoutError
        hubs[0].published(TOPIC)

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", write)
        without_waits = SimpleNamespace(**{**vars(asyncio), "wait_for": at_once})
        monkeypatch.setattr(table_writing, "asyncio", without_waits)
        hubs.append(calls.hub)
        writers = TableWriters(calls.hub, timing)
        wanted = replace(calls.store.get_subscription(NAME), table_config=TableConfig("shop.a"))
        await writers.run_worker(wanted)
        await soon(lambda: all(each.is_over for each in writers._workers.values()))

    running(test)
    return pauses


def test_after_a_success_the_next_failure_pauses_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause is longer "after each failure in a row", and a success ends the row."""
    problem = TableWrites(state=TableState.PERMISSION_DENIED, problem="it is refused")
    results = [problem] * 3 + [TableWrites(), problem]
    pauses = pauses_after(monkeypatch, results, SELDOM)
    assert pauses == [0.1, 0.2, 0.4, SELDOM.shortest_poll, 0.1]


def test_messages_that_do_not_fit_among_others_are_no_failure_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pub/Sub backs off when it cannot write; where some rows were written, it can."""
    results = [TableWrites(written=9, failed=1), TableWrites(failed=1), TableWrites(failed=1)]
    assert pauses_after(monkeypatch, results, SELDOM) == [SELDOM.shortest_poll, 0.1, 0.2]


def test_the_time_between_checks_grows_until_something_is_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "The time between checks grows while no message comes", wanted by its filter or not."""
    timing = Timing(shortest_poll=1, longest_poll=1.5)
    results = [TableWrites()] * 4 + [TableWrites(written=1)] + [TableWrites()]
    pauses = pauses_after(monkeypatch, results, timing, published={2})
    assert pauses == [1, 1.25, 1.5, 1, 1, 1.25]


def test_a_publish_does_not_end_the_pause_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pub/Sub backs off when it cannot write: every publish would ask the broken table again."""
    monkeypatch.setattr(table_writing, "SHORTEST_PAUSE", LONGEST_PAUSE)
    written: list[str] = []

    def write(name: str) -> TableWrites:
        written.append(name)
        return TableWrites(state=TableState.PERMISSION_DENIED, problem="it is refused")

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", write)
        writers = TableWriters(calls.hub, SELDOM)
        plain = calls.store.get_subscription(NAME)
        await writers.run_worker(replace(plain, table_config=TableConfig("shop.orders")))
        await soon(lambda: [each for each in writers._workers.values() if each._failures])
        calls.hub.published(TOPIC)
        await asyncio.sleep(0.05)
        await writers.end_workers()

    running(test)
    assert written == [NAME]


def test_a_table_that_this_server_has_set_is_written_to_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # "A change by this server takes effect at once", and by another one at the next refresh
    written = Written()

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", written.write)
        monkeypatch.setattr(table_writes, "check", lambda *_: None)
        await calls.set_table("shop.orders")
        await soon(lambda: written == [NAME])

    running(test)


def test_what_waits_for_a_consumer_can_be_written_to_the_table_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # "A change by this server takes effect at once", also for what it has leased ahead
    monkeypatch.setattr(dispatcher, "_KEPT_FOR_NOBODY", 3600.0)

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", Written().write)
        monkeypatch.setattr(table_writes, "check", lambda *_: None)
        await calls.publish("a", "b", "c")
        stream = calls.stream(opening(max_outstanding_messages=1))
        assert len((await anext(stream)).received_messages) == 1
        pulled = await calls.hub.dispatcher(NAME)
        await soon(lambda: pulled.leaser.waiting == 2)
        await calls.set_table("shop.orders")
        await soon(lambda: calls.store.metrics(NAME)["num_outstanding_messages"] == 1)

    running(test)


def test_another_table_that_this_server_has_set_is_written_to_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # "A change by this server takes effect at once": its writer waits for nothing else
    written = Written()

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", written.write)
        writers = TableWriters(calls.hub, SELDOM)
        plain = calls.store.get_subscription(NAME)
        for n in range(3):
            await writers.run_worker(replace(plain, table_config=TableConfig(f"shop.orders{n}")))
            await soon(lambda: written == [NAME] * (n + 1))  # noqa: B023
        await writers.end_workers()

    running(test)


def test_nobody_can_pull_from_a_table_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its messages are written to the table: a pull is refused before it waits for any."""

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(table_writes, "check", lambda *_: None)
        monkeypatch.setattr(calls.backend, "write_table", Written().write)
        await calls.set_table("shop.orders")
        with pytest.raises(FailedPrecondition, match="clear its table_config"):
            await calls.hub.pulled(NAME)

    running(test)


def test_of_a_detached_subscription_nothing_is_written_or_pushed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "A detached subscription … retains no messages": at each refresh there is none to write."""

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(table_writes, "check", lambda *_: None)
        monkeypatch.setattr(calls.backend, "write_table", Written().write)
        calls.store.create_subscription(
            "pushed", TOPIC, push_config=PushConfig("https://example.com/")
        )
        await calls.set_table("shop.orders")
        backend = calls.backend
        assert [each.name for each in backend.table_subscriptions()] == [NAME]
        assert len(backend.push_subscriptions()) == 1
        await calls.detach()
        calls.store.detach_subscription("pushed")
        assert backend.table_subscriptions() == backend.push_subscriptions() == []

    running(test)


def test_a_table_that_is_still_written_holds_up_no_other_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slice takes as long as the storage of its table does, and others wait for their turn."""
    written = Written()

    async def test(calls: Calls) -> None:
        monkeypatch.setattr(calls.backend, "write_table", written.write)
        monkeypatch.setattr(table_writes, "check", lambda *_: None)
        writers = calls.writers
        for _ in range(MOST_AT_ONCE):  # as of two other subscriptions
            await writers._room.acquire()
        await calls.set_table("shop.orders")
        await asyncio.wait_for(calls.set_table(""), 5)
        await asyncio.wait_for(calls.create(f"{NAME}-too"), 5)
        for _ in range(MOST_AT_ONCE):
            writers._room.release()
        await asyncio.wait_for(writers.stop(), LONG)
        assert written == [], "it writes to its table no more when its turn comes"

    running(test)
