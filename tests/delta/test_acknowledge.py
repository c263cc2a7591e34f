"""Acknowledge, nack and modify_ack_deadline through real tables."""

from __future__ import annotations

import pytest

from pubsub_delta import InvalidArgument
from pubsub_delta.policy.ack_ids import END_OF_POSITIONS, AckId, parse_ack_id
from pubsub_delta.tables.lanes.spark.columns import named_leases
from tests.conftest import Bench
from tests.unit.test_ack_ids import OTHER_FORMS, UID, with_check


def test_acks_are_idempotent_and_reported_by_id(bench: Bench) -> None:
    topic, subscription = bench.pair()
    other = bench.subscription(topic)
    bench.store.publish(topic, ["a", "b", "c"])
    ids = [message.ack_id for message in bench.store.pull(subscription)]
    foreign = [message.ack_id for message in bench.store.pull(other)]
    # "An id given twice gets one outcome"; "Malformed, or of another subscription → invalid"
    result = bench.store.acknowledge(subscription, [ids[0], ids[0], foreign[0], ids[1][:-1]])
    assert result.success == [ids[0]]
    assert sorted(result.invalid) == sorted([foreign[0], ids[1][:-1]])
    assert bench.store.acknowledge(subscription, ids[:1]).success == ids[:1]
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 2
    assert bench.store.metrics(other)["num_undelivered_messages"] == 3


def test_a_late_ack_is_expired_and_still_prevents_redelivery(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=10)
    bench.store.publish(topic, ["a", "b"])
    batch = bench.store.pull(subscription)
    first, second = (message.ack_id for message in batch)
    bench.clock.advance(10)
    assert bench.store.acknowledge(subscription, [first]).expired == [first]
    again = bench.store.pull(subscription)
    assert [message.data for message in again] == [b"b"]
    # "unless it is under another lease"
    assert bench.store.acknowledge(subscription, [second]).expired == [second]
    assert again.ack().counts == {"success": 1, "expired": 0, "invalid": 0}


def test_a_call_without_any_well_formed_id_is_refused(bench: Bench) -> None:
    _, subscription = bench.pair()
    for ids in ([], ["nonsense"], ["", "x.1.2.3"]):
        with pytest.raises(InvalidArgument, match="ack_ids"):
            bench.store.acknowledge(subscription, ids)
        with pytest.raises(InvalidArgument, match="ack_ids"):
            bench.store.modify_ack_deadline(subscription, ids, 10)


def test_ack_ids_are_read_alike_in_a_dataframe_and_in_a_list(bench: Bench) -> None:
    # The twin of parse_ack_id: "an id counts only if writing its parts gives the same text"
    genuine = [
        str(AckId(UID, 0, 0)),
        str(AckId(UID, 7, 42)),
        str(AckId(UID, END_OF_POSITIONS - 1, END_OF_POSITIONS - 1)),
    ]
    damaged = [f"{genuine[1]}{more}" for more in ("\n", "0", ".", " ")] + [f" {genuine[1]}"]
    another = str(AckId(UID[::-1], 7, 42))
    texts = [*genuine, *map(with_check, OTHER_FORMS), *damaged, another, None]
    frame = bench.spark.createDataFrame([(text,) for text in texts], "ack_id STRING")
    read = {row.ack_id: (row.lease, row.position) for row in named_leases(UID, frame).collect()}
    for text in texts:
        parsed = parse_ack_id(text) if text != another else None
        expected = (parsed.lease_id, parsed.position) if parsed else (None, None)
        assert read[text] == expected, text


def test_a_dataframe_of_ack_ids_counts_like_a_list(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, [f"{n}" for n in range(50)])
    batch = bench.store.pull(subscription)
    some = batch.df.where("CAST(message_id AS BIGINT) % 2 = 0").select("ack_id")
    broken = bench.spark.sql("SELECT 'broken' AS ack_id UNION ALL SELECT NULL")
    result = bench.store.acknowledge(subscription, some.union(some).union(broken))
    assert result.counts == {"success": 25, "expired": 0, "invalid": 2}
    assert sorted(result.success) == sorted(row[0] for row in some.collect())
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 25
    refusal = r"('broken'|None) is not an ack id, nor is any other of 2;"
    with pytest.raises(InvalidArgument, match=refusal):
        bench.store.acknowledge(subscription, broken)
    with pytest.raises(InvalidArgument, match="the DataFrame has no rows"):
        bench.store.acknowledge(subscription, some.limit(0))
    with pytest.raises(InvalidArgument, match="'ack_id' is needed"):
        bench.store.acknowledge(subscription, batch.df.select("data"))


def test_nacked_messages_come_back_at_once(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b"])
    batch = bench.store.pull(subscription)
    first = next(iter(batch)).ack_id
    assert batch.nack([first]).success == [first]
    assert [message.data for message in bench.store.pull(subscription)] == [b"a"]
    assert batch.nack().counts == {"success": 1, "expired": 1, "invalid": 0}


def test_a_deadline_can_be_moved_for_all_or_some(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=10)
    bench.store.publish(topic, ["a", "b"])
    batch = bench.store.pull(subscription)
    first = next(iter(batch)).ack_id
    assert batch.modify_ack_deadline(60).counts["success"] == 2
    assert batch.modify_ack_deadline(20, [first]).success == [first]
    bench.clock.advance(20)
    assert [message.data for message in bench.store.pull(subscription)] == [b"a"]
    for wrong in (-1, 601, 1.5):
        with pytest.raises(InvalidArgument, match="ack_deadline_seconds"):
            bench.store.modify_ack_deadline(subscription, [first], wrong)  # type: ignore[arg-type]
