"""Publish requests of many clients, gathered into one append after the other."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import pytest

from pubsub_delta.errors import Unavailable
from pubsub_delta.resources import Message
from pubsub_delta.server import publishing
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.publishing import Append, PublishBatcher

T = TypeVar("T")


class Log:
    """A topic whose appends take as long as the test says."""

    def __init__(self) -> None:
        self.appends: list[list[bytes]] = []
        self.looks = 0
        self.begun, self.landed = asyncio.Event(), asyncio.Event()

    def publisher(self) -> Append:
        return self.append

    def append(self, messages: Sequence[Message]) -> list[str]:
        self.appends.append([bytes(message.data) for message in messages])
        return [str(n) for n, _ in enumerate(messages)]

    async def blocking(self, work: Callable[[], T], /) -> T:
        if work == self.publisher:
            self.looks += 1
            return work()
        self.begun.set()
        await self.landed.wait()
        return work()

    def batcher(self, gather: float) -> PublishBatcher:
        return PublishBatcher(self.publisher, self.blocking, Counters(), lambda: None, gather)


def test_who_was_answered_by_an_append_may_be_in_the_next_one() -> None:
    """Clients that publish one request after the other stay together: half of them never waits for
    an append of the other half."""

    async def run() -> list[list[bytes]]:
        log = Log()
        batcher = log.batcher(0.02)
        first = asyncio.create_task(batcher.publish([Message(b"1st of a")], 8))
        await log.begun.wait()
        waiting = asyncio.create_task(batcher.publish([Message(b"1st of b")], 8))
        await asyncio.sleep(0)
        log.landed.set()
        await first
        await asyncio.gather(waiting, batcher.publish([Message(b"2nd of a")], 8))
        return log.appends

    assert asyncio.run(run()) == [[b"1st of a"], [b"1st of b", b"2nd of a"]]


def test_who_publishes_one_request_after_the_other_does_not_wait() -> None:
    """An append begins when so many requests are there as the last one answered and left waiting.

    Who does not come back is waited for once.
    """

    async def run() -> list[list[bytes]]:
        log = Log()
        batcher = log.batcher(1.0)

        async def twice(name: bytes) -> None:
            for number in (b"1", b"2"):
                await batcher.publish([Message(name + number)], 2)

        clients = [asyncio.create_task(twice(b"a"))]
        await log.begun.wait()
        clients.append(asyncio.create_task(twice(b"b")))
        await asyncio.sleep(0)
        log.landed.set()
        began = time.perf_counter()
        await clients[0]
        assert time.perf_counter() - began < 1
        await clients[1]
        assert time.perf_counter() - began >= 1
        return log.appends

    assert asyncio.run(run()) == [[b"a1"], [b"b1", b"a2"], [b"b2"]]


def test_a_request_after_a_pause_waits_for_nobody() -> None:
    """Those that come while it is appended gather."""

    async def run() -> tuple[float, list[list[bytes]]]:
        log = Log()
        log.landed.set()
        batcher = log.batcher(1.0)
        await batcher.publish([Message(b"a1"), Message(b"b1")], 2)
        await asyncio.sleep(1.2)
        began = time.perf_counter()
        await batcher.publish([Message(b"a2")], 2)
        return time.perf_counter() - began, log.appends

    waited, appends = asyncio.run(run())
    assert waited < 0.5
    assert appends == [[b"a1", b"b1"], [b"a2"]]


def test_a_server_that_ends_does_not_wait_for_who_may_come_back() -> None:
    async def run() -> float:
        log = Log()
        log.landed.set()
        batcher = log.batcher(3600)
        publishing_ = asyncio.create_task(batcher.publish([Message(b"a")], 1))
        await asyncio.sleep(0.01)
        began = time.perf_counter()
        await asyncio.wait_for(batcher.drain(), 5)
        assert publishing_.done()
        return time.perf_counter() - began

    assert asyncio.run(run()) < 1


def test_requests_that_fill_an_append_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "MOST_MESSAGES", 2)

    async def run() -> list[list[bytes]]:
        log = Log()
        log.landed.set()
        batcher = log.batcher(3600)
        both = (batcher.publish([Message(data)], 1) for data in (b"a", b"b"))
        await asyncio.wait_for(asyncio.gather(*both), 5)
        return log.appends

    assert asyncio.run(run()) == [[b"a", b"b"]]


def test_an_append_has_no_more_bytes_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger request is appended alone."""
    monkeypatch.setattr(publishing, "MOST_BYTES", 10)

    async def run() -> list[list[bytes]]:
        log = Log()
        batcher = log.batcher(0.02)
        sizes = {b"1st": 1, b"a": 6, b"b": 4, b"c": 6, b"large": 11, b"d": 1}
        sent = [asyncio.create_task(batcher.publish([Message(b"1st")], sizes.pop(b"1st")))]
        await log.begun.wait()
        sent += [asyncio.create_task(batcher.publish([Message(d)], n)) for d, n in sizes.items()]
        await asyncio.sleep(0)
        log.landed.set()
        await asyncio.gather(*sent)
        return log.appends

    assert asyncio.run(run()) == [[b"1st"], [b"a", b"b"], [b"c"], [b"large"], [b"d"]]


def test_the_topic_is_looked_for_after_the_requests_that_are_published_to_it() -> None:
    """It may have been deleted, and created again, before the last of them was sent."""

    async def run() -> tuple[int, list[list[bytes]]]:
        log = Log()
        log.landed.set()
        batcher = log.batcher(0.5)
        await asyncio.gather(*(batcher.publish([Message(b"a")], 1) for _ in range(2)))
        first = asyncio.create_task(batcher.publish([Message(b"b")], 1))
        await asyncio.sleep(0.05)
        looks = log.looks
        await asyncio.gather(first, batcher.publish([Message(b"c")], 1))
        return log.looks - looks, log.appends

    assert asyncio.run(run()) == (1, [[b"a", b"a"], [b"b", b"c"]])


def test_what_waits_for_the_look_is_not_published_once_its_client_is_gone() -> None:
    async def run() -> list[list[bytes]]:
        log = Log()
        log.landed.set()
        looking, found = asyncio.Event(), asyncio.Event()

        async def blocking(work: Callable[[], T], /) -> T:
            if work == log.publisher:
                looking.set()
                await found.wait()
            return work()

        batcher = PublishBatcher(log.publisher, blocking, Counters(), lambda: None, 0.01)
        first = asyncio.create_task(batcher.publish([Message(b"gone")], 4))
        other = asyncio.create_task(batcher.publish([Message(b"waits")], 5))
        await looking.wait()
        first.cancel()
        await asyncio.sleep(0)
        found.set()
        await other
        return log.appends

    assert asyncio.run(run()) == [[b"waits"]]


def test_a_batcher_is_idle_when_nothing_is_under_way() -> None:
    async def run() -> list[bool]:
        log = Log()
        batcher = log.batcher(0.01)
        told = [batcher.is_idle]
        publishing = asyncio.create_task(batcher.publish([Message(b"a")], 1))
        await log.begun.wait()
        told.append(batcher.is_idle)
        log.landed.set()
        await publishing
        await batcher.drain()
        return [*told, batcher.is_idle]

    assert asyncio.run(run()) == [True, False, True]


def test_each_request_of_an_append_gets_the_ids_of_its_own_messages() -> None:
    """Who publishes goes by the ids: they name its messages, and nobody else's."""

    async def run() -> list[Sequence[str]]:
        log = Log()
        batcher = log.batcher(0.02)
        log.landed.set()
        requests = [[Message(b"x")] * count for count in (2, 1, 3)]
        return await asyncio.gather(*(batcher.publish(each, 1) for each in requests))

    ids = asyncio.run(run())
    assert [len(each) for each in ids] == [2, 1, 3]
    assert [each for request in ids for each in request] == [str(number) for number in range(6)]


def test_the_error_of_a_client_that_is_gone_is_no_forgotten_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log tells once that a publish failed, and asyncio does not tell it again."""
    caplog.set_level(logging.CRITICAL, "pubsub_delta.server")  # a record would keep the error

    async def run() -> list[str]:
        told: list[str] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: told.append(str(context["message"]))
        )
        log = Log()

        def failing(_: Sequence[Message]) -> list[str]:
            raise Unavailable("the storage is away")

        batcher = PublishBatcher(lambda: failing, log.blocking, Counters(), lambda: None, 0.0)
        client = asyncio.create_task(batcher.publish([Message(b"a")], 1))
        await log.begun.wait()
        client.cancel()
        with suppress(asyncio.CancelledError):
            await client
        log.landed.set()
        await batcher.drain()
        del batcher, client
        gc.collect()
        return told

    assert asyncio.run(run()) == []


def test_what_waits_for_an_append_is_not_published_once_its_client_is_gone() -> None:
    """Clients repeat a call whose time is over: a topic that another process writes for minutes
    would get all their attempts, and they would wait in memory beyond its limit."""

    async def run() -> list[list[bytes]]:
        log = Log()
        batcher = log.batcher(0.02)
        first = asyncio.create_task(batcher.publish([Message(b"in an append")], 12))
        await log.begun.wait()
        for _ in range(3):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(batcher.publish([Message(b"again")], 5), 0.01)
        first.cancel()
        again = asyncio.create_task(batcher.publish([Message(b"again")], 5))
        await asyncio.sleep(0)
        log.landed.set()
        await again
        return log.appends

    assert asyncio.run(run()) == [[b"in an append"], [b"again"]]


def test_nothing_is_appended_for_clients_that_have_all_gone() -> None:
    async def run() -> list[list[bytes]]:
        log = Log()
        log.landed.set()
        batcher = log.batcher(0.05)
        await batcher.publish([Message(b"a"), Message(b"b")], 2)
        await asyncio.gather(*(batcher.publish([Message(b"c")], 1) for _ in range(2)))
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(batcher.publish([Message(b"gone")], 4), 0.01)
        await batcher.drain()
        return log.appends

    assert asyncio.run(run()) == [[b"a", b"b"], [b"c", b"c"]]
