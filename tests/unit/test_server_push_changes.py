"""What pushes notices what others change, goes on after failures, and ends."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("httpcore")
from google.api_core import exceptions

from pubsub_delta import PushConfig, Subscription
from pubsub_delta.errors import NotFound
from pubsub_delta.operations.exchange import Exchanged
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.push_window import PushWindow
from pubsub_delta.server import pushing, subscription_workers
from pubsub_delta.server.push_endpoint import PushEndpoint
from pubsub_delta.server.pushing import Pushers
from pubsub_delta.tables.store import Detached
from tests.endpoints import listening
from tests.unit.builders import PLAIN
from tests.unit.serving import LONG, SUBSCRIPTION, MemoryStore, clients, eventually, serving
from tests.unit.serving_calls import NAME, Calls, running, soon
from tests.unit.serving_push import SELDOM, publish_all, pushing_to

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@dataclass
class OfUid:
    """The way to the subscription of a uid."""

    store: MemoryStore
    uid: str

    def exchange(
        self,
        request: AckRequest,
        max_messages: int,
        now: datetime,
        deadline: timedelta | None = None,
    ) -> Exchanged:
        self.store.before_exchange()
        if self.store.subscription_now.uid != self.uid:
            raise NotFound("the subscription was deleted, and created anew")
        return self.store.exchange(request, max_messages, now, deadline)


class Looked(MemoryStore):
    """A store that counts how often somebody looked for push subscriptions."""

    looks = 0

    def push_subscriptions(self) -> list[Subscription]:
        self.looks += 1
        return super().push_subscriptions()

    def succeed(self, config: PushConfig) -> None:
        """Let another process delete the subscription, and create it anew without messages."""
        with self._lock:
            uid = "c" * 32
            self.subscription_now = replace(self.subscription_now, uid=uid, push_config=config)
            self.state = AckState(after_version=len(self.appends))
        before = self.looks
        eventually(lambda: self.looks > before + 2)

    def channel(self, subscription: Subscription) -> Any:
        """Return the way to a subscription, which a later one of its name is not."""
        return OfUid(self, subscription.uid)

    def set(self, config: PushConfig | None) -> None:
        """Change the field as another process does, and wait until that was noticed."""
        self.subscription_now = replace(self.subscription_now, push_config=config)
        before = self.looks
        eventually(lambda: self.looks > before + 2)


def test_what_another_process_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # "New subscriptions created by other processes are noticed at some cadence"
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    with listening() as one, listening() as other:
        store = Looked()
        with serving(store, SELDOM) as address, clients(address) as (publisher, subscriber):
            stream = subscriber.subscribe(SUBSCRIPTION, lambda message: message.ack())
            publish_all(publisher, "pulled")
            eventually(lambda: store.messages and store.unacked == [])
            store.set(PushConfig(one.url))
            with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages to"):
                stream.result(LONG)
            publish_all(publisher, "one")
            eventually(lambda: one.data == [b"one"] and store.unacked == [])
            store.set(PushConfig(other.url))
            publish_all(publisher, "other")
            eventually(lambda: other.data == [b"other"] and store.unacked == [])
            store.set(None)
            publish_all(publisher, "pulled again")
            pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
            assert pulled.received_messages[0].message.data == b"pulled again"
        assert len(one.requests) == len(other.requests) == 1


def test_connections_to_an_endpoint_end_with_the_last_request_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A subscription that is pulled from now on keeps no connection to where it was pushed."""
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    ended: list[str] = []
    close = PushEndpoint.close

    async def noted(endpoint: PushEndpoint) -> None:
        await close(endpoint)
        ended.append("closed")

    monkeypatch.setattr(PushEndpoint, "close", noted)
    released = threading.Event()
    with listening(lambda _: 204 if released.wait(LONG) else 500) as endpoint:
        store = Looked({"push_config": PushConfig(endpoint.url)})
        with serving(store, SELDOM) as address, clients(address) as (publisher, _):
            publish_all(publisher, "a")
            eventually(lambda: endpoint.requests)
            store.set(None)
            assert ended == []
            released.set()
            eventually(lambda: ended)
            assert endpoint.data == [b"a"]


def test_what_waits_is_not_pushed_to_the_endpoint_of_a_successor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A subscription that was created anew under the name is another one, of another topic."""
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    released, stuck = threading.Event(), threading.Event()
    with listening(lambda _: 200 if released.wait(LONG) else 500) as one, listening() as other:
        store = Looked({"push_config": PushConfig(one.url)})
        with serving(store, SELDOM) as address, clients(address) as (publisher, _):
            publish_all(publisher, *(f"a{n}" for n in range(20)))
            eventually(lambda: len(one.requests) == 5)  # the others wait for their turn

            def wait() -> None:
                stuck.wait(LONG)  # the commit that would tell is under way for long

            store.before_exchange = wait
            store.succeed(PushConfig(other.url))
            released.set()
            looked = store.looks
            eventually(lambda: store.looks > looked + 2)
            stuck.set()
            publish_all(publisher, "b0")
            eventually(lambda: b"b0" in other.data)
            assert other.data == [b"b0"]
        assert set(one.data) <= {b"a%d" % n for n in range(20)}


def test_a_refresh_that_fails_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    with listening() as endpoint:
        store = pushing_to(endpoint)
        found = store.push_subscriptions
        failures = [RuntimeError("the disk is away")] * 2

        def fail() -> Any:
            if failures:
                raise failures.pop()
            return found()

        monkeypatch.setattr(store, "push_subscriptions", fail)
        with (
            caplog.at_level(logging.ERROR, "pubsub_delta.server"),
            serving(store) as address,
            clients(address) as (publisher, _),
        ):
            publish_all(publisher, "x")
            eventually(lambda: endpoint.data == [b"x"])
    assert "pushers: the subscriptions could not be read" in caplog.text


def test_a_subscription_that_cannot_be_read_now_is_pushed_from_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    with listening() as endpoint:
        store = pushing_to(endpoint)
        read = store.subscription
        failures = [RuntimeError("the disk is away")] * 2

        def fail(name: str) -> Subscription:
            if failures:
                raise failures.pop()
            return read(name)

        monkeypatch.setattr(store, "subscription", fail)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "x")
            eventually(lambda: endpoint.data == [b"x"])


@pytest.mark.parametrize("error", [NotFound("deleted"), Detached("detached")])
def test_the_end_of_a_subscription_ends_its_requests(error: Exception) -> None:
    released = threading.Event()
    with listening(lambda _: 200 if released.wait(LONG) else 500) as endpoint:
        store = pushing_to(endpoint, ack_deadline_seconds=1)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "x")
            eventually(lambda: endpoint.requests)
            store.before_exchange = Mock(side_effect=error)
            time.sleep(1.5)  # longer than the answer is waited for
            assert store.counters.pushes == Counter()
        released.set()


def test_a_new_endpoint_does_not_wait_for_the_requests_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever changes it does so as the old one hangs: up to 600 seconds for each request."""
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    released = threading.Event()
    with listening(lambda _: 200 if released.wait(LONG) else 500) as one, listening() as other:
        store = Looked({"push_config": PushConfig(one.url), "ack_deadline_seconds": 600})
        with serving(store, SELDOM) as address, clients(address) as (publisher, _):
            publish_all(publisher, *(f"a{n}" for n in range(7)))
            eventually(lambda: len(one.requests) == 5)  # the others wait for their turn
            store.set(PushConfig(other.url))
            eventually(lambda: len(other.requests) == 2)
            publish_all(publisher, "b")
            eventually(lambda: b"b" in other.data)
            released.set()  # what the old one has accepted is acknowledged all the same
            eventually(lambda: store.unacked == [])
        assert len(set(one.data) | set(other.data)) == 8
        assert (len(one.requests), len(other.requests)) == (5, 3)


@pytest.mark.parametrize("is_same_server", [False, True])
def test_a_new_endpoint_does_not_pause_for_the_failures_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch, is_same_server: bool
) -> None:
    """An endpoint is another one also where only its query differs, as with a new secret."""
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(PushWindow, "pause", lambda *_: timedelta(hours=1))
    with (
        listening(lambda asked: 204 if "new" in asked.path else 500) as one,
        listening() as other,
    ):
        store = Looked({"push_config": PushConfig(one.url)})
        with serving(store, SELDOM) as address, clients(address) as (publisher, _):
            publish_all(publisher, "a")
            eventually(lambda: one.requests)
            store.set(PushConfig(f"{one.url}?new" if is_same_server else other.url))
            eventually(lambda: store.unacked == [])
            assert len(one.requests) + len(other.requests) == 2


def test_the_end_gives_back_what_is_under_way_at_each_earlier_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the end of a server "what is under way is given back"."""
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(pushing, "GRACE", 0.3)
    released = threading.Event()

    def hang(_: Any) -> int:
        return 200 if released.wait(LONG) else 500

    with listening(hang) as one, listening(hang) as other, listening(hang) as last:
        store = Looked({"push_config": PushConfig(one.url)})
        with serving(store, SELDOM) as address, clients(address) as (publisher, _):
            for data, endpoint in zip("abc", (one, other, last), strict=True):
                if endpoint is not one:
                    store.set(PushConfig(endpoint.url))
                publish_all(publisher, data)
                eventually(lambda: endpoint.requests)  # noqa: B023
        released.set()
    assert (store.unacked, store.leased) == ([0, 1, 2], [])


class Noting(subscription_workers.SubscriptionWorkers[str]):
    """Workers that are the fields that they were given last; a read of the registry takes long."""

    def __init__(self) -> None:
        super().__init__("noting")
        self.reads, self.may_end = asyncio.Event(), asyncio.Event()

    def needs_worker(self, _: Subscription) -> bool:
        return True

    async def subscriptions(self) -> Sequence[Subscription]:
        self.reads.set()
        await self.may_end.wait()
        return [replace(PLAIN, filter="before")]

    async def run_worker(self, subscription: Subscription) -> None:
        self._workers[subscription.name] = subscription.filter

    async def end_worker(self, name: str) -> None:
        del self._workers[name]

    async def end_workers(self) -> None:
        self._workers.clear()


def test_a_change_during_a_read_of_the_registry_is_not_undone_by_what_was_read() -> None:
    async def test() -> None:
        workers = Noting()
        reading = asyncio.create_task(workers.refresh())
        await workers.reads.wait()
        await workers.apply(replace(PLAIN, filter="after"))
        workers.may_end.set()
        await reading
        assert workers._workers == {SUBSCRIPTION: "after"}
        await workers.refresh()
        assert workers._workers == {SUBSCRIPTION: "before"}, "the next read counts"

    asyncio.run(test())


def test_a_detached_subscription_has_no_worker() -> None:
    """It can still be changed, and its push_config stays; nothing comes to it any more."""

    async def test() -> None:
        workers = Noting()
        await workers.apply(PLAIN)
        assert workers._workers == {SUBSCRIPTION: ""}
        await workers.apply(replace(PLAIN, detached=True))
        assert workers._workers == {}

    asyncio.run(test())


def test_a_refresh_that_fails_is_followed_by_a_pause() -> None:
    """The registry is read once in REFRESH_SECONDS, also while the storage does not answer."""

    class Failing(Noting):
        looks = 0

        async def subscriptions(self) -> Sequence[Subscription]:
            self.looks += 1
            await asyncio.sleep(0)
            raise RuntimeError("the disk is away")

    async def test() -> None:
        workers = Failing()
        workers.start()
        for _ in range(20):
            await asyncio.sleep(0)
        await workers.stop()
        assert workers.looks == 1

    asyncio.run(test())


def test_a_server_that_ends_starts_no_worker() -> None:
    """A change may be stored while the server ends: nobody would end a worker of it."""

    async def test(calls: Calls) -> None:
        pushers = Pushers(calls.hub, calls.backend.now)
        await pushers.stop()
        stored = calls.store.get_subscription(NAME)
        await pushers.apply(replace(stored, push_config=PushConfig("http://127.0.0.1:9/")))
        assert pushers._workers == {}

    running(test)


def test_a_response_in_its_last_moment_acknowledges() -> None:
    """The response is due at the ack deadline; a delivery expires some seconds later."""

    async def test(calls: Calls) -> None:
        released = threading.Event()
        pushers = Pushers(calls.hub, calls.backend.now)
        with listening(lambda _: 200 if released.wait(LONG) else 500) as endpoint:
            stored = calls.store.update_subscription(NAME, push_config=PushConfig(endpoint.url))
            await pushers.apply(stored)
            await calls.publish("a")
            await soon(lambda: endpoint.requests)
            calls.backend.clock.advance(stored.ack_deadline_seconds + 1)
            await calls.publish("b")  # the server looks what has expired
            await soon(lambda: len(endpoint.requests) > 1)
            released.set()
            await soon(lambda: not calls.store.metrics(NAME)["num_undelivered_messages"])
            await pushers.stop()
            assert sorted(endpoint.data) == [b"a", b"b"]
        assert calls.backend.counted.expired == 0

    running(test)
