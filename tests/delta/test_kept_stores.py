"""A store that an earlier commit has written, read and used with Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import ManualClock, PubSub
from pubsub_delta.tables.lanes.choice import LaneName
from tests.fixtures.kept_store import WRITTEN_UNTIL, found_in
from tests.fixtures.reading import READABLE, backlog_of, copied, emptied, found_of
from tests.unit.builders import HOUR, at


@pytest.mark.parametrize("kept", READABLE, ids=lambda each: each.name)
def test_spark_reads_it_and_goes_on_with_it(
    spark: SparkSession, lane: LaneName, kept: Path, tmp_path: Path
) -> None:
    root = str(copied(kept, tmp_path))
    now = PubSub(spark, root, clock=ManualClock(at(WRITTEN_UNTIL)), lane=lane)
    assert found_in(tmp_path, now) == found_of(kept)
    store = PubSub(spark, root, clock=ManualClock(at(WRITTEN_UNTIL + HOUR)), lane=lane)
    stored = {row["data"].decode() for row in store.read_topic("flights").collect()}
    assert stored == {"", "f0", "f1", "f2", "f3", "once"}
    assert store.backlog("plain").count() == sum(backlog_of(kept, "plain").values())
    assert emptied(store, "plain") == backlog_of(kept, "plain")
    store.seek("plain", snapshot="before")
    batch = store.pull("plain")
    assert batch.df.count() == sum(backlog_of(kept, "plain").values())
    rows = spark.createDataFrame([(b"new",)], "data BINARY")
    assert store.publish("flights", rows).message_count == 1
    assert [each.data for each in store.pull("plain")] == [b"new"]
    assert store.maintain(exact=True).problems == {}
