"""A query that goes on with an older copy of its checkpoint loses nothing in silence."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from pubsub_delta import PubSub
from tests.delta.live import NAME, TOPIC, Live, texts

Consume = Callable[[Live, Path, str], None]
Publish = Callable[[Live, DataFrame, Path], None]


def consume_by_format(live: Live, checkpoint: Path, out: str) -> None:
    writer = live.stream(maxMessagesPerTrigger="1").writeStream.format("delta")
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    assert writer.start(out).awaitTermination(120)


def consume_by_verb(live: Live, checkpoint: Path, out: str) -> None:
    query_id: Future[str] = Future()

    def process(messages: DataFrame, batch_id: int) -> None:
        writer = messages.write.format("delta").mode("append")
        writer = writer.option("txnAppId", query_id.result()).option("txnVersion", batch_id)
        writer.save(out)

    query = PubSub(live.spark, live.root).subscribe_stream(
        NAME,
        process,
        checkpoint_location=str(checkpoint),
        trigger={"availableNow": True},
        max_messages=1,
    )
    query_id.set_result(query.id)
    assert query.awaitTermination(120)


@pytest.mark.parametrize("consume", [consume_by_format, consume_by_verb])
def test_what_the_sink_would_skip_is_not_leased(live: Live, consume: Consume) -> None:
    # "Started with an older copy of its checkpoint, a query loses no message"
    newer, older, out = live.at / "newer", live.at / "older", str(live.at / "out")
    live.publish("a")
    consume(live, newer, out)
    shutil.copytree(newer, older)
    live.publish("b")
    consume(live, newer, out)
    live.publish("c", "d")
    consume(live, older, out)
    assert texts(live.spark.read.format("delta").load(out)) == list("abcd")
    assert live.undelivered == 0


def publish_by_format(live: Live, rows: DataFrame, checkpoint: Path) -> None:
    writer = rows.writeStream.format("pubsub_delta").option("topic", TOPIC)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    assert writer.start(live.root).awaitTermination(120)


def publish_by_verb(live: Live, rows: DataFrame, checkpoint: Path) -> None:
    query = PubSub(live.spark, live.root).publish_stream(
        TOPIC, rows, checkpoint_location=str(checkpoint), trigger={"availableNow": True}
    )
    assert query.awaitTermination(120)


@pytest.mark.parametrize("publish", [publish_by_format, publish_by_verb])
def test_what_delta_would_skip_is_refused(live: Live, publish: Publish) -> None:
    # "Started with an older copy of its checkpoint, a query that publishes is refused"
    source = str(live.at / "rows")

    def add(*data: str) -> None:
        rows = live.spark.createDataFrame([(each,) for each in data], "data STRING")
        rows.coalesce(1).write.format("delta").mode("append").save(source)

    def run(checkpoint: Path) -> None:
        publish(live, live.spark.readStream.format("delta").load(source), checkpoint)

    newer, older = live.at / "newer", live.at / "older"
    add("a")
    run(newer)
    shutil.copytree(newer, older)
    for each in "bc":
        add(each)
        run(newer)
    add("d")
    with pytest.raises(StreamingQueryException, match="checkpoint: it is an older copy"):
        run(older)
    run(newer)
    assert sorted(texts(live.read(topic=TOPIC))) == list("abcd")
