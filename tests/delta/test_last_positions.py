"""The end of a topic's positions, which a query of years may reach."""

from __future__ import annotations

import pyspark.sql.functions as F
import pytest
from deltalake import DeltaTable

from pubsub_delta import FailedPrecondition
from pubsub_delta.policy.ack_ids import END_OF_POSITIONS
from pubsub_delta.policy.message_queries import MessageQuery
from tests.conftest import Bench

OF_A_FRAME = 1 << 36


def use_up(bench: Bench, topic: str, *, but: int) -> None:
    """Have a topic with so many positions left."""
    table = DeltaTable(f"{bench.root}/positions/{bench.store.get_topic(topic).uid}")
    table.update({"next_position": f"arrow_cast({END_OF_POSITIONS - but}, 'Int64')"})


def test_the_last_positions_are_as_good_as_the_first(bench: Bench) -> None:
    """ "A message has a message ID", and its delivery an ack id, up to the end of positions."""
    topic, subscription = bench.pair(enable_message_ordering=True)
    use_up(bench, topic, but=2 * OF_A_FRAME)
    frame = bench.spark.range(6).select(F.col("id").cast("string").alias("data"))
    assert bench.store.publish(topic, frame).message_count == 6
    assert bench.store.publish(topic, [b"a", b"b"]).message_count == 2
    batch = bench.store.pull(subscription)
    by_data = {each.data: each for each in batch}
    assert {
        int(each.message_id) >= END_OF_POSITIONS - 2 * OF_A_FRAME for each in by_data.values()
    } == {True}
    found = MessageQuery(message_id=int(by_data[b"b"].message_id))
    search = bench.store.find_messages(f"projects/local/topics/{topic}", found)
    assert [each.data for each in search.messages()] == [b"b"]
    bench.store.create_snapshot(bench.unused("snapshot"), subscription)
    frame = batch.df.where("data = CAST('1' AS BINARY)").select("ack_id")
    assert bench.store.acknowledge(subscription, frame).counts["success"] == 1
    assert bench.store.acknowledge(subscription, [by_data[b"a"].ack_id]).counts["success"] == 1
    assert batch.ack(where=F.expr("data = CAST('2' AS BINARY)")).counts["success"] == 1
    assert batch.nack().counts["success"] == 5
    again = bench.store.pull(subscription)
    assert {each.data for each in again} == {b"0", b"3", b"4", b"5", b"b"}
    assert again.ack().counts["success"] == 5
    assert bench.store.metrics(subscription)["num_undelivered_messages"] == 0


def test_a_topic_without_positions_refuses_a_publish(bench: Bench) -> None:
    topic, subscription = bench.pair()
    use_up(bench, topic, but=100)
    for messages in ([b"a"], bench.spark.createDataFrame([(b"a",)], "data BINARY")):
        with pytest.raises(FailedPrecondition, match="publish to a new topic"):
            bench.another().publish(topic, messages)
    assert bench.store.pull(subscription).message_count == 0
