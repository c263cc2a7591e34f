"""Streams that read along, begun long after their first message was published."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.conftest import Bench
from tests.delta.test_streaming import gather, undelivered


@pytest.mark.parametrize("lane", ["direct"], indirect=True)
def test_a_stream_begins_at_a_time_whose_files_are_gone(bench: Bench, tmp_path: Path) -> None:
    """OPTIMIZE replaces the files of each version, and VACUUM removes those after 8 days."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["old"])
    bench.clock.advance(1)
    since = bench.clock.now()
    for each in ("a", "b"):
        bench.store.publish(topic, [each])
    table = DeltaTable(bench.messages_table(topic).split("`")[1])
    table.alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 0 seconds"})
    assert bench.store.maintain(optimize=True, vacuum=True).optimized
    found: list[str] = []
    query = (
        bench.store.read_topic_stream(topic, start=since)
        .writeStream.foreachBatch(partial(gather, found))
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert sorted(found) == ["a", "b"]
    assert undelivered(bench, subscription) == 3
