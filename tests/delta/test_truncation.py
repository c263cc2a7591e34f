"""Tables of many commits are made to forget them, and nothing is lost (`maintain`)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import Row

from benchmarks.aging import age, version_of
from pubsub_delta.policy import truncation
from tests.conftest import Bench

COMMITS = 60
NO_DUTIES = {"dead_letters": False, "expiration": False, "retention": False}
HOUR = 3600


@pytest.fixture(autouse=True)
def short_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be worth it for a fifth of the commits that it must be otherwise."""
    monkeypatch.setattr(truncation, "LEAST", COMMITS - 20)


def with_checkpoints(bench: Bench, *tables: Path) -> None:
    """Have a checkpoint written every ten commits, for the same reason."""
    for table in tables:
        properties = "SET TBLPROPERTIES ('delta.checkpointInterval' = '10')"
        bench.spark.sql(f"ALTER TABLE delta.`{table}` {properties}")


def let_an_hour_go_by(bench: Bench, tables: Iterable[Path]) -> None:
    """Advance the store's clock, and make files of logs an hour older, by which Delta goes."""
    bench.clock.advance(HOUR)
    for table in tables:
        for file in (table / "_delta_log").glob("*.*"):
            os.utime(file, (file.stat().st_atime, file.stat().st_mtime - HOUR))


def first_known(table: Path) -> int:
    names = os.listdir(table / "_delta_log")
    return min(int(name[:20]) for name in names if name[20:] == ".json")


def protocol(bench: Bench, table: Path) -> list[Row]:
    columns = ("minReaderVersion", "minWriterVersion", "tableFeatures")
    return bench.spark.sql(f"DESCRIBE DETAIL delta.`{table}`").select(*columns).collect()


def followed(bench: Bench, table: Path, checkpoint: Path) -> int:
    """Run a stream of the user's own over a topic's table; return how many rows were new."""
    counted: list[int] = []
    stream = bench.spark.readStream.format("delta").load(str(table))
    query = (
        stream.writeStream.foreachBatch(lambda rows, _: counted.append(rows.count()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    return sum(counted)


@pytest.mark.trial
def test_old_commits_are_forgotten_and_every_message_is_still_delivered(
    bench: Bench, tmp_path: Path
) -> None:
    # Delta's commits have the time of the machine
    bench.clock.advance((datetime.now(timezone.utc) - bench.clock.now()).total_seconds())
    topic, reader = bench.pair()
    sleeper = bench.subscription(topic)
    root, store, acked = Path(bench.root), bench.store, list[str]()
    messages = root / "messages" / store.get_topic(topic).uid
    ack_state = root / "ack_state" / store.get_subscription(reader).uid
    tables = {
        f"projects/local/topics/{topic}": messages,
        f"projects/local/subscriptions/{reader}": ack_state,
    }

    with_checkpoints(bench, *tables.values())

    def commit() -> None:
        store.publish(topic, ["a"])
        acked.extend(store.pull(reader, 1).ack().success)

    snapshot = bench.unused("snapshot")
    store.create_snapshot(snapshot, reader)
    age([messages, ack_state], COMMITS, commit)
    let_an_hour_go_by(bench, tables.values())
    published = store.read_topic(topic).count()
    assert published > COMMITS - 10
    assert followed(bench, messages, tmp_path / "stream") == published
    before = [protocol(bench, table) for table in tables.values()]

    # "what snapshots need stays", and where few are old, none goes: the sleeper's
    topic_name, reader_name = tables
    told = store.maintain(**NO_DUTIES, truncate_history="30m", dry_run=True)
    assert set(told.truncated) == {reader_name}
    store.delete_snapshot(snapshot)
    told = store.maintain(**NO_DUTIES, truncate_history="30m", dry_run=True)
    assert set(told.truncated) == {topic_name, reader_name}
    assert all(count > truncation.LEAST for count in told.truncated.values())
    # "dry_run: only tell what would be done"
    assert [first_known(table) for table in tables.values()] == [0, 0]

    # "where the second statement fails, the next truncation drops it": it was killed before
    half_way = (
        "'delta.feature.checkpointProtection' = 'supported', "
        "'delta.requireCheckpointProtectionBeforeVersion' = '1'"
    )
    bench.spark.sql(f"ALTER TABLE delta.`{messages}` SET TBLPROPERTIES ({half_way})")
    assert protocol(bench, messages) != before[0]

    told = store.maintain(**NO_DUTIES, truncate_history="30m")
    assert (set(told.truncated), told.problems) == (set(tables), {})
    for name, table in tables.items():
        assert first_known(table) >= COMMITS, "that is the version of the last checkpoint"
        assert first_known(table) == told.truncated[name], "the first was 0"
        assert version_of(table) - first_known(table) < 10
    assert [protocol(bench, table) for table in tables.values()] == before
    assert store.maintain(**NO_DUTIES, truncate_history="30m").truncated == {}

    commit()
    assert store.pull(sleeper, 10_000).message_count == published + 1
    assert store.pull(reader, 10_000).message_count == published + 1 - len(acked)
    assert followed(bench, messages, tmp_path / "stream") == 1
    assert store.maintain(exact=True).problems == {}
