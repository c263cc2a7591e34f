"""Messages pushed by a server to a real HTTP endpoint, from a store in memory."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

pytest.importorskip("httpcore")
from google.api_core import exceptions

from pubsub_delta import NoWrapper, PushConfig, RetryPolicy
from pubsub_delta.policy import push_window
from pubsub_delta.policy.push_window import FIRST_SIZE
from pubsub_delta.server import dispatcher, pushing
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.exporting import ServerExporter
from tests.endpoints import Pushed, listening
from tests.servers import free_port
from tests.unit.serving import (
    LONG,
    SUBSCRIPTION,
    TOPIC,
    MemoryStore,
    clients,
    eventually,
    serving,
)
from tests.unit.serving_calls import NAME, Calls, running
from tests.unit.serving_push import SELDOM, publish_all, pushing_to

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.mark.parametrize("code", [102, 200, 201, 202, 204])
def test_a_success_acknowledges_the_message(code: int) -> None:
    # "deliver by HTTP POST with the wrapped JSON format, ack on 102/200/201/202/204"
    with listening(lambda _: code) as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (publisher, _):
            publisher.publish(TOPIC, b"hello", kind="greeting").result(LONG)
            eventually(lambda: store.messages and store.unacked == [])
        (request,) = endpoint.requests
        assert request.told["subscription"] == SUBSCRIPTION
        assert request.told["message"]["attributes"] == {"kind": "greeting"}
        assert request.told["message"]["messageId"] == "0"
        assert request.data == b"hello"
        assert request.attempt is None
        assert store.counters.pushes == Counter({str(code): 1})


@pytest.mark.parametrize("code", [203, 302, 400, 503])
def test_any_other_answer_is_a_nack_and_the_message_comes_again(code: int) -> None:
    with listening(lambda _: code if len(endpoint.requests) < 4 else 200) as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (publisher, _):
            publisher.publish(TOPIC, b"again").result(LONG)
            eventually(lambda: store.messages and store.unacked == [])
        assert endpoint.data == [b"again"] * 4
        assert store.counters.pushes == Counter({str(code): 3, "200": 1})
        nacks = [turn for turn, _ in store.requests if any(turn.deadlines.values())]
        assert len(nacks) == 3


@pytest.mark.parametrize(("code", "unacked"), [(200, []), (500, [0])])
def test_an_answer_without_its_end_counts_when_the_server_ends(
    code: int, unacked: list[int]
) -> None:
    # "answers are waited for 2 seconds. Messages that have none by then are given back"
    begun = threading.Event()

    class Endless(StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            self.wfile.write(b"HTTP/1.1 %d Answer\r\nContent-Length: 9\r\n\r\nx" % code)
            begun.set()
            self.rfile.read()  # until the server closes the connection

    with ThreadingTCPServer(("127.0.0.1", 0), Endless) as endpoint:
        threading.Thread(target=endpoint.serve_forever, args=(0.02,), daemon=True).start()
        store = pushing_to(f"http://127.0.0.1:{endpoint.server_address[1]}/")
        with serving(store) as address, clients(address) as (publisher, _):
            publisher.publish(TOPIC, b"x").result(LONG)
            assert begun.wait(LONG)
        endpoint.shutdown()
    assert store.unacked == unacked
    assert store.counters.pushes == Counter({str(code): 1})
    assert store.leased == []


def test_an_endpoint_that_nobody_listens_at_is_tried_again() -> None:
    store = pushing_to(f"http://127.0.0.1:{free_port()}/")
    with serving(store) as address, clients(address) as (publisher, _):
        publisher.publish(TOPIC, b"x").result(LONG)
        eventually(lambda: store.counters.pushes["unreachable"] >= 3)
    assert store.unacked == [0]
    assert store.leased == []


def test_no_answer_within_the_ack_deadline_is_a_nack() -> None:
    released = threading.Event()

    def answer(_: Pushed) -> int:
        if len(endpoint.requests) == 1:
            released.wait(LONG)
        return 200

    with listening(answer) as endpoint:
        store = pushing_to(endpoint, ack_deadline_seconds=1)
        with serving(store) as address, clients(address) as (publisher, _):
            publisher.publish(TOPIC, b"slow").result(LONG)
            eventually(lambda: store.messages and store.unacked == [])
        released.set()
        assert store.counters.pushes == Counter({"deadline_exceeded": 1, "200": 1})
        assert store.counters.expired == 0


def test_a_failing_endpoint_is_backed_off_from() -> None:
    # "stops delivering messages … between 100 milliseconds to 60 seconds", exponentially
    times: list[float] = []

    def answer(_: Pushed) -> int:
        times.append(time.monotonic())
        return 500

    with listening(answer) as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "a")
            eventually(lambda: len(times) >= 5)
    pauses = [later - one for one, later in pairwise(times)]
    for least, pause in zip((0.1, 0.2, 0.4, 0.8), pauses, strict=False):
        assert pause >= least


def test_one_bad_message_does_not_keep_the_others() -> None:
    with listening(lambda request: 500 if request.data == b"bad" else 200) as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "bad", *(f"{n}" for n in range(40)))
            eventually(lambda: store.unacked == [0])
            assert endpoint.data.count(b"bad") >= 1
            assert len(set(endpoint.data)) == 41


def test_with_a_retry_policy_the_failed_message_waits_and_no_other() -> None:
    # "With the subscription's retry policy … the redelivery delay comes from that policy"
    with listening(lambda request: 500 if request.data == b"bad" else 200) as endpoint:
        store = pushing_to(endpoint, retry_policy=RetryPolicy("600s", "600s"))
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "bad", "bad", "bad", "good")
            eventually(lambda: store.unacked == [0, 1, 2])
            publish_all(publisher, *(f"{n}" for n in range(20)))
            eventually(lambda: store.unacked == [0, 1, 2] and len(store.messages) == 24)
        assert endpoint.data.count(b"bad") == 3


def test_with_a_retry_policy_there_is_no_push_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    # "otherwise push backoff applies"
    monkeypatch.setattr(push_window, "SHORTEST_PAUSE", timedelta(minutes=1))
    with listening(lambda _: 500) as endpoint:
        store = pushing_to(endpoint, retry_policy=RetryPolicy("0s", "0s"))
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "a")
            eventually(lambda: len(endpoint.requests) >= 4)


def test_a_failure_during_a_pause_makes_it_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pub/Sub: push backoff "exponentially increases"; the end of the first pause is none then."""
    pauses = iter([timedelta(seconds=0.01), timedelta(hours=1)])
    monkeypatch.setattr(push_window.PushWindow, "pause", lambda *_: next(pauses))

    async def test(calls: Calls) -> None:
        config = PushConfig("http://127.0.0.1:1/")
        pushed = replace(calls.store.get_subscription(NAME), push_config=config)
        serves = await calls.hub.pulled(NAME)
        pusher = pushing.Pusher(serves, pushed, Counters(), calls.backend.now, None)
        for _ in range(2):
            pusher._back_off(calls.backend.now(), "500")
        await asyncio.sleep(0.05)
        assert pusher._consumer.is_paused
        await pusher.stop(0)

    running(test)


def test_after_a_pause_what_failed_is_looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pub/Sub: push backoff stops delivery "between 100 milliseconds to 60 seconds", not longer."""
    monkeypatch.setattr(dispatcher, "_TICK", 60)
    with listening(lambda _: 200 if len(endpoint.requests) > 1 else 500) as endpoint:
        store = pushing_to(endpoint)
        with serving(store, SELDOM) as address, clients(address) as (publisher, _):
            publish_all(publisher, "a")
            eventually(lambda: store.messages and store.unacked == [])


def test_requests_at_a_time_begin_with_a_few_and_become_more() -> None:
    gates = [threading.Event(), threading.Event()]

    def answer(request: Pushed) -> int:
        gates[int(request.data) >= FIRST_SIZE].wait(LONG)
        return 200

    with listening(answer) as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, *(f"{n}" for n in range(40)))
            for gate, most in zip(gates, (FIRST_SIZE, 2 * FIRST_SIZE), strict=True):
                eventually(partial(endpoint.has_had, most))
                time.sleep(0.2)
                assert endpoint.most_at_once == most
                gate.set()
            eventually(lambda: store.unacked == [])
        assert sorted(map(int, endpoint.data)) == list(range(40))


def test_a_key_has_one_request_at_a_time_and_goes_on_after_its_ack() -> None:
    # "ordered: one outstanding per key; next is sent after the previous was acknowledged"
    under_way: Counter[str] = Counter()
    most: Counter[str] = Counter()
    lock = threading.Lock()

    def answer(request: Pushed) -> int:
        key = request.told["message"]["orderingKey"]
        with lock:
            under_way[key] += 1
            most[key] = max(most[key], under_way[key])
        while endpoint.most_at_once < 2:  # keys do not wait for each other
            time.sleep(0.01)
        time.sleep(0.01)
        with lock:
            under_way[key] -= 1
        return 200

    with listening(answer) as endpoint:
        store = pushing_to(endpoint, enable_message_ordering=True)
        with serving(store) as address, clients(address) as (publisher, _):
            for n in range(10):
                for key in ("a", "b", "c"):
                    publish_all(publisher, f"{n}", key=key)
            eventually(lambda: len(store.messages) == 30 and store.unacked == [])
    assert most == Counter({"a": 1, "b": 1, "c": 1})
    for key in ("a", "b", "c"):
        came = [each for each in endpoint.requests if each.told["message"]["orderingKey"] == key]
        assert [each.data for each in came] == [b"%d" % n for n in range(10)]


def test_a_failed_message_of_a_key_comes_again_before_the_next_one() -> None:
    with listening(lambda request: 200 if len(endpoint.requests) > 2 else 500) as endpoint:
        store = pushing_to(endpoint, enable_message_ordering=True)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "1", "2", "3", key="k")
            eventually(lambda: store.messages and store.unacked == [])
    assert endpoint.data == [b"1", b"1", b"1", b"2", b"3"]


def test_without_the_wrapper_the_body_is_the_data() -> None:
    with listening() as endpoint:
        config = PushConfig(endpoint.url, no_wrapper=NoWrapper(write_metadata=True))
        store = MemoryStore({"push_config": config})
        with serving(store) as address, clients(address) as (publisher, _):
            publisher.publish(TOPIC, b"\x00bare", kind="raw").result(LONG)
            eventually(lambda: store.messages and store.unacked == [])
    (request,) = endpoint.requests
    assert request.body == b"\x00bare"
    assert request.headers["kind"] == "raw"
    assert request.headers["x-goog-pubsub-message-id"] == "0"


def test_nobody_can_pull_from_a_subscription_that_pushes() -> None:
    # "This method is not supported for push subscriptions." (FAILED_PRECONDITION)
    with listening() as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (_, subscriber):
            with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages to"):
                subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
            stream = subscriber.subscribe(SUBSCRIPTION, lambda message: message.ack())
            with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages to"):
                stream.result(LONG)


def test_the_query_of_an_endpoint_is_in_no_log_and_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with listening(lambda _: 500 if len(endpoint.requests) == 1 else 200) as endpoint:
        store = pushing_to(endpoint)
        with (
            caplog.at_level(logging.DEBUG, "pubsub_delta.server"),
            serving(store) as address,
            clients(address) as (publisher, subscriber),
        ):
            publish_all(publisher, "x")
            eventually(lambda: store.messages and store.unacked == [])
            with pytest.raises(exceptions.FailedPrecondition) as told:
                subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
    url, _, query = endpoint.url.partition("?")
    assert f"{url}: 500; backing off" in caplog.text
    assert f"{url} answers again" in caplog.text
    assert query == "token=abc"
    assert query not in caplog.text
    assert query not in str(told.value)


def test_the_end_gives_back_what_is_under_way_and_keeps_what_was_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # "what was answered is acked; what is under way is given back"
    monkeypatch.setattr(pushing, "GRACE", 0.3)
    stuck = threading.Event()
    with listening(lambda r: 500 if r.data != b"ok" and stuck.wait(LONG) else 200) as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "ok", "stuck", "ok", "stuck")
            eventually(lambda: len(endpoint.requests) == 4)
        stuck.set()
    assert store.unacked == [1, 3]
    assert store.leased == []
    # no delivery failed: nothing was nacked
    assert all(not any(turn.deadlines.values()) for turn, _ in store.requests)


def test_the_end_waits_a_moment_for_answers() -> None:
    def answer(_: Pushed) -> int:
        time.sleep(0.3)
        return 200

    with listening(answer) as endpoint:
        store = pushing_to(endpoint)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "x")
            eventually(lambda: endpoint.requests)
    assert store.unacked == []


def test_pushes_are_counted_by_code_for_prometheus() -> None:
    store = MemoryStore()
    store.counters.pushes.update({"200": 3, "unreachable": 1})
    exporter = ServerExporter(store.counters, list, store.now, "60s")
    family = next(each for each in exporter.collect() if "pushes" in each.name)
    counted = {each.labels["code"]: each.value for each in family.samples}
    assert family.name == "pubsub_delta_server_pushes"
    assert counted == {"200": 3, "unreachable": 1}
