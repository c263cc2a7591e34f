"""The asynchronous pull and the publisher, on real tables."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pubsub_delta import (
    BatchSettings,
    FailedPrecondition,
    FlowControl,
    InvalidArgument,
    Message,
    NotFound,
    PulledMessage,
)
from tests.conftest import Bench


def test_callbacks_get_every_message_and_their_acks_are_few_commits(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    published = bench.store.publish(topic, [Message(b"%d" % n, {"k": f"{n}"}) for n in range(300)])
    table = bench.ack_state_table(subscription)
    commits, seen, done = bench.commits(table), [], threading.Event()

    def callback(message: PulledMessage) -> None:
        seen.append(message)
        message.ack()
        if len(seen) == 300:
            done.set()

    with bench.store.subscribe(subscription, callback, max_workers=2):
        assert done.wait(60)
    assert sorted(int(message.data) for message in seen) == list(range(300))
    assert {message.message_id for message in seen} == set(published.message_ids)
    assert {message.publish_time for message in seen} == {published.publish_time}
    assert all(message.attributes == {"k": message.data.decode()} for message in seen)
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 0
    assert bench.commits(table) - commits <= 3  # a lease, its acks, and perhaps some between


@pytest.mark.trial
def test_nacks_come_again_and_what_was_not_processed_goes_back(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    bench.store.publish(topic, ["bad", *(f"{n}" for n in range(3))])
    twice, hold = threading.Event(), threading.Event()
    times: list[bytes] = []

    def callback(message: PulledMessage) -> None:
        times.append(message.data)
        if message.data != b"bad":
            hold.wait(60)
            message.ack()
        elif times.count(b"bad") == 1:
            raise ValueError("an error in a callback nacks")
        else:
            assert message.ack_with_response().result(60) == "success"
            twice.set()

    pull = bench.store.subscribe(
        subscription, callback, flow_control=FlowControl(max_messages=4), max_workers=4
    )
    try:
        assert twice.wait(60)
        bench.store.publish(topic, [f"{n}" for n in range(3, 9)])
    finally:
        hold.set()
        returned = pull.cancel()
    pull.result(0)
    left = bench.store.metrics(subscription)
    assert left["num_outstanding_messages"] == 0
    assert left["num_undelivered_messages"] == 10 - left["ack_message_count"]["success"]
    assert returned <= 3


@pytest.mark.trial
def test_memory_is_bounded_by_bytes(bench: Bench) -> None:
    # "maximum outstanding messages and bytes"
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    bench.store.publish(topic, [bytes(1000) + b"%02d" % n for n in range(12)])
    loaded: list[int] = []
    seen: list[int] = []
    started, done = threading.Event(), threading.Event()

    def callback(message: PulledMessage) -> None:
        started.wait(60)
        loaded.append(pull._callbacks.loaded()[1])
        seen.append(int(message.data[1000:]))
        message.ack()
        if len(seen) == 12:
            done.set()

    flow_control = FlowControl(max_bytes=5_100)
    pull = bench.store.subscribe(subscription, callback, flow_control=flow_control, max_workers=1)
    started.set()
    assert done.wait(60)
    pull.cancel()
    assert seen == list(range(12))
    assert max(loaded) == 5 * 1002


@pytest.mark.trial
def test_ordered_messages_are_called_in_order(bench: Bench) -> None:
    topic, subscription = bench.pair(enable_message_ordering=True, ack_deadline_seconds=600)
    bench.store.publish(topic, [Message(b"%d" % n, ordering_key=f"key{n % 3}") for n in range(60)])
    seen: dict[str, list[int]] = {}
    done, count = threading.Semaphore(0), 60

    def callback(message: PulledMessage) -> None:
        seen.setdefault(message.ordering_key, []).append(int(message.data))
        message.ack()
        done.release()

    with bench.store.subscribe(subscription, callback):
        for _ in range(count):
            assert done.acquire(timeout=60)
    assert seen == {f"key{k}": list(range(k, 60, 3)) for k in range(3)}


def test_the_end_of_the_subscription_reaches_the_future(bench: Bench) -> None:
    # "an error of the loop reaches .result()"
    topic, subscription = bench.pair()
    pull = bench.store.subscribe(subscription, lambda message: message.ack())
    bench.store.delete_subscription(subscription)
    with pytest.raises(NotFound, match=subscription):
        pull.result(60)
    with pytest.raises(NotFound):
        bench.store.subscribe(subscription, print)
    with pytest.raises(InvalidArgument, match="max_workers: 0"):
        bench.store.subscribe(bench.subscription(topic), print, max_workers=0)


def test_single_publishes_from_many_threads_are_few_commits(bench: Bench) -> None:
    # "1,000 single-message publishes from 8 threads land in ≤ 20 commits"
    topic = bench.topic()
    table = bench.messages_table(topic)
    commits = bench.commits(table)
    settings = BatchSettings(max_latency=0.2)
    with (
        bench.store.publisher(topic, batch_settings=settings) as publisher,
        ThreadPoolExecutor(8) as threads,
    ):
        futures = list(threads.map(lambda n: publisher.publish(f"{n}", n=f"{n}"), range(1000)))
    rows = bench.store.read_topic(topic).selectExpr("message_id", "string(data)", "attributes.n")
    stored = {row[0]: row[1:] for row in rows.collect()}
    assert [stored[future.result(0)] for future in futures] == [(f"{n}",) * 2 for n in range(1000)]
    assert bench.commits(table) - commits <= 20
    with pytest.raises(FailedPrecondition, match="stopped"):
        publisher.publish("late")
    with pytest.raises(NotFound, match="absent"):
        bench.store.publisher("absent")
