"""Retry policies, attempts and exactly-once delivery through real tables (sections 4 and 5)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from pyspark.sql import functions as F

from pubsub_delta import (
    DeadLetterPolicy,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PubSub,
    RetryPolicy,
)
from tests.conftest import Bench, states


def test_a_failed_message_waits_and_others_keep_flowing(bench: Bench) -> None:
    # "Per message: other messages keep flowing"
    topic, subscription = bench.pair(retry_policy=RetryPolicy("20s", "30s"))
    bench.store.publish(topic, ["a", "b", "c"])
    batch = bench.store.pull(subscription, 2)
    ids = {message.data: message.ack_id for message in batch}
    assert batch.nack([ids[b"a"]]).counts["success"] == 1
    assert states(bench, subscription) == {b"a": "backing_off", b"b": "leased", b"c": "available"}
    bench.clock.advance(19.999999)
    assert [message.data for message in bench.store.pull(subscription)] == [b"c"]
    bench.clock.advance(0.000001)
    assert [message.data for message in bench.store.pull(subscription)] == [b"a"]
    # "after the k-th consecutive failure … min(maximum_backoff, …)": expiry counts as a nack does
    bench.clock.advance(10 + 30 - 0.000001)
    others = {b"b": "available", b"c": "available"}  # after one failure each
    assert states(bench, subscription) == {b"a": "backing_off", **others}
    bench.clock.advance(0.000001)
    assert states(bench, subscription)[b"a"] == "available"


def test_policies_are_kept_as_they_were_given(bench: Bench) -> None:
    topic, dead = bench.topic(), bench.topic()
    policy = DeadLetterPolicy(dead, 7)
    subscription = bench.subscription(
        topic,
        retry_policy=RetryPolicy(0.5, "10m"),
        dead_letter_policy=policy,
        enable_message_ordering=True,
        enable_exactly_once_delivery=True,
        filter='attributes:"é"',
    )
    found = bench.store.get_subscription(subscription)
    assert found.retry_policy == RetryPolicy(timedelta(milliseconds=500), timedelta(minutes=10))
    assert found.dead_letter_policy == DeadLetterPolicy(f"projects/local/topics/{dead}", 7)
    assert (found.enable_message_ordering, found.enable_exactly_once_delivery) == (True, True)
    assert found.filter == 'attributes:"é"'
    cleared = bench.store.update_subscription(
        subscription,
        retry_policy=None,
        dead_letter_policy=None,
        enable_exactly_once_delivery=False,
    )
    assert (cleared.retry_policy, cleared.dead_letter_policy) == (None, None)
    assert not cleared.enable_exactly_once_delivery
    assert bench.store.get_subscription(subscription) == cleared


@pytest.mark.trial
def test_a_dead_letter_topic_exists_and_stays_while_it_is_needed(bench: Bench) -> None:
    topic, dead = bench.topic(), bench.topic()
    with pytest.raises(NotFound, match="topics/nowhere does not exist"):
        bench.subscription(topic, dead_letter_policy=DeadLetterPolicy("nowhere"))
    with pytest.raises(InvalidArgument, match="own topic"):
        bench.subscription(topic, dead_letter_policy=DeadLetterPolicy(topic))
    subscription = bench.subscription(topic)
    with pytest.raises(NotFound, match="topics/nowhere does not exist"):
        bench.store.update_subscription(
            subscription, dead_letter_policy=DeadLetterPolicy("nowhere")
        )
    bench.store.update_subscription(subscription, dead_letter_policy=DeadLetterPolicy(dead))
    # "Deleting a topic that is another subscription's dead-letter topic → FAILED_PRECONDITION"
    with pytest.raises(FailedPrecondition, match=f"subscriptions/{subscription}"):
        bench.store.delete_topic(dead)
    bench.store.update_subscription(subscription, dead_letter_policy=None)
    bench.store.delete_topic(dead)


@pytest.mark.trial
def test_attempts_count_only_while_there_is_a_policy(bench: Bench) -> None:
    # "counted and shown only while a dead-letter policy is set"; "Clearing the policy forgets"
    topic, dead = bench.topic(), bench.topic()
    subscription = bench.subscription(topic)
    bench.store.publish(topic, ["a"])
    (message,) = bench.store.pull(subscription)
    assert message.delivery_attempt is None
    bench.clock.advance(10)  # it fails before there is a policy, and that is noticed only later
    bench.store.update_subscription(subscription, dead_letter_policy=DeadLetterPolicy(dead))
    for attempt in (1, 2):
        batch = bench.store.pull(subscription)
        assert [row.delivery_attempt for row in batch.df.collect()] == [attempt]
        batch.nack()
    bench.store.update_subscription(subscription, dead_letter_policy=None)
    bench.store.update_subscription(subscription, dead_letter_policy=DeadLetterPolicy(dead))
    (message,) = bench.store.pull(subscription)
    assert message.delivery_attempt == 1


def test_exactly_once_refuses_every_id_but_that_of_a_live_lease(bench: Bench) -> None:
    # "A stale, expired or unknown id fails … (per id: the good ids of the same call succeed)"
    topic, subscription = bench.pair(enable_exactly_once_delivery=True)
    bench.store.publish(topic, ["a", "b"])
    old = [message.ack_id for message in bench.store.pull(subscription)]
    bench.clock.advance(10)
    new = [message.ack_id for message in bench.store.pull(subscription)]
    result = bench.store.acknowledge(subscription, [old[0], old[1], new[0]])
    assert result.success == [new[0]]
    assert sorted(result.invalid) == sorted(old)
    # "A repeated ack of an already successful id is reported invalid"
    assert bench.store.acknowledge(subscription, [new[0]]).invalid == [new[0]]
    moved = bench.store.modify_ack_deadline(subscription, [*old, *new], 30)
    assert moved.success == [new[1]]
    assert sorted(moved.invalid) == sorted([*old, new[0]])
    # "none after a successful ack"
    bench.clock.advance(30)
    assert [message.data for message in bench.store.pull(subscription)] == [b"b"]
    assert bench.store.metrics(subscription)["ack_message_count"] == {
        "success": 1,
        "expired": 0,
        "invalid": 3,
    }


@pytest.mark.trial
def test_with_exactly_once_consumers_in_threads_ack_every_message_once(bench: Bench) -> None:
    # "no redelivery while leased, none after a successful ack, shown with concurrent consumers"
    topic, subscription = bench.pair(enable_exactly_once_delivery=True, ack_deadline_seconds=600)
    bench.store.publish(topic, [f"{n:03}" for n in range(30)])

    def drain(store: PubSub) -> list[str]:
        acked: list[str] = []
        while (batch := store.pull(subscription, 10)).message_count:
            ids = [row["message_id"] for row in batch.df.select("message_id").collect()]
            assert len(batch.ack().success) == len(ids)
            acked += ids
        return acked

    with ThreadPoolExecutor(2) as pool:
        acked = [
            each for part in pool.map(drain, [bench.another(), bench.another()]) for each in part
        ]
    assert len(acked) == len(set(acked)) == 30
    assert bench.store.metrics(subscription)["ack_message_count"]["success"] == 30


@pytest.mark.trial
def test_a_dataframe_of_ids_nacks_and_moves_deadlines_too(bench: Bench) -> None:
    # "acks, nacks and deadline changes given as a DataFrame are folded on the executors"
    topic, subscription = bench.pair(retry_policy=RetryPolicy("10s", "10s"))
    bench.store.publish(topic, [f"{n}" for n in range(200)])
    df = bench.store.pull(subscription).df.withColumn("n", F.col("message_id").cast("bigint"))
    moved = bench.store.modify_ack_deadline(
        subscription, df.where("n % 3 = 0").select("ack_id"), 600
    )
    nacked = bench.store.modify_ack_deadline(
        subscription, df.where("n % 3 = 1").select("ack_id"), 0
    )
    assert (moved.counts["success"], nacked.counts["success"]) == (67, 67)
    counted = bench.store.backlog(subscription).groupBy("state").count().collect()
    assert {row[0]: row[1] for row in counted} == {"leased": 133, "backing_off": 67}
    bench.clock.advance(10)
    # The scattered positions come back, by bitmaps; the others' deadline has passed just now.
    again = bench.store.pull(subscription)
    numbers = sorted(int(row[0]) for row in again.df.select("message_id").collect())
    assert numbers == [n for n in range(200) if n % 3 == 1]
