"""Ack states on the driver's disk forget their old commits by themselves, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pubsub_delta.tables import ack_state_tables, messages, removed_files
from tests.conftest import Bench


def known(table: Path) -> list[int]:
    """Return the versions whose commits the log of a table tells."""
    names = os.listdir(table / "_delta_log")
    return sorted(int(name[:20]) for name in names if name[20:] == ".json")


@pytest.mark.trial
def test_an_ack_state_forgets_old_commits_as_its_property_says(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pubsub_delta.keptCommits`: so many of the last ones stay; those from a checkpoint on do."""
    monkeypatch.setattr(ack_state_tables, "CHECKPOINT_INTERVAL", 10)
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    other, store = bench.another(), bench.store
    table = Path(bench.root, "ack_state", store.get_subscription(subscription).uid)

    def alter(change: str) -> None:
        bench.spark.sql(f"ALTER TABLE delta.`{table}` {change}")

    def commit_until(version: int) -> None:
        while known(table)[-1] < version:
            store.pull(subscription, 1).ack()

    alter("SET TBLPROPERTIES ('delta.checkpointInterval' = '10', 'pubsub_delta.keptCommits' = '5')")
    store.publish(topic, [f"{n:02}" for n in range(30)])
    commit_until(11)
    assert known(table)[0] == 0, "the checkpoint at 10 is not 5 commits old"
    assert [m.data for m in other.pull(subscription, 1)] == [b"05"]
    commit_until(20)
    assert known(table) == list(range(10, known(table)[-1] + 1))
    assert sums(table)[0] == 20, "the last checkpoint, and what came after it"
    assert not list((table / "_delta_log").glob(f"*{9:020d}*"))

    # nothing else has changed: who knew an old version, and who knows none
    left = store.metrics(subscription)["num_undelivered_messages"]
    for reader in (other, bench.another()):
        assert reader.pull(subscription, 1).message_count == 1
        assert reader.metrics(subscription)["num_undelivered_messages"] == left
    moments = store.subscription_history(subscription, points=100)
    assert len(moments) >= len(known(table)) - 2
    assert moments[-1].num_undelivered_messages == left

    # "where it is not set all stay"
    first = known(table)[0]
    alter("UNSET TBLPROPERTIES ('pubsub_delta.keptCommits')")
    commit_until(31)
    assert known(table)[0] == first


def removed(table: Path) -> int:
    """Count the files that the last checkpoint of a table tells to be removed."""
    last = sorted((table / "_delta_log").glob("*.checkpoint.parquet"))[-1]
    return sum(mark is not None for mark in pq.read_table(last, columns=["remove"])[0].to_pylist())


@pytest.mark.trial
def test_an_ack_state_forgets_what_only_forgotten_commits_have_removed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta carries a mark of each file along for 8 days; "as many commits as it keeps" will do."""
    monkeypatch.setattr(ack_state_tables, "CHECKPOINT_INTERVAL", 10)
    monkeypatch.setattr(removed_files, "MARGIN", 5)
    monkeypatch.setattr(removed_files, "WORTH_IT", 12)
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    store, table = bench.store, Path(bench.root, "ack_state")
    table /= store.get_subscription(subscription).uid

    def properties() -> tuple[str, str]:
        told: dict[str, str] = dict(
            bench.spark.sql(f"SHOW TBLPROPERTIES delta.`{table}`").collect()
        )
        return told["delta.deletedFileRetentionDuration"], told["delta.checkpointInterval"]

    def alter(**changes: str) -> None:
        told = ", ".join(f"'delta.{name}' = '{value}'" for name, value in changes.items())
        bench.spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ({told})")

    def commit_until(version: int) -> None:
        while known(table)[-1] < version:
            store.pull(subscription, 1).ack()

    kept = {"checkpointInterval": "10", "deletedFileRetentionDuration": "interval 5 days"}
    alter(**kept)
    bench.spark.sql(
        f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('pubsub_delta.keptCommits' = '5')"
    )
    store.publish(topic, [f"{n:02}" for n in range(30)])
    commit_until(13)
    assert removed(table) >= 4, "of the first ten commits"
    time.sleep(8)
    commit_until(22)
    assert 5 <= removed(table) <= 8, "of twenty: those that are kept, and of five seconds before"
    assert properties() == ("interval 5 days", "10")
    moments = store.subscription_history(subscription, points=100)
    assert len(moments) >= 10, "every commit that is kept tells what was stored"
    assert bench.spark.sql(f"SELECT * FROM delta.`{table}` VERSION AS OF 10").count() == 1

    # "Where a process is killed in between, the next one that comes here changes them back"
    alter(deletedFileRetentionDuration="interval 61 seconds", checkpointInterval="1")
    monkeypatch.setattr(ack_state_tables, "CHECKPOINT_INTERVAL", 1)
    commit_until(known(table)[-1] + 1)
    assert properties() == ("interval 8 days", "100")
    left = store.metrics(subscription)["num_undelivered_messages"]
    assert bench.another().metrics(subscription)["num_undelivered_messages"] == left


def sums(table: Path) -> list[int]:
    """Return the versions of whose commits the log of a table has checksums."""
    names = [name.lstrip(".") for name in os.listdir(table / "_delta_log")]
    endings = (".crc", ".crc.crc", ".json.crc")
    return sorted({int(name[:20]) for name in names if name[20:] in endings})


@pytest.mark.trial
def test_a_topic_forgets_old_checksums_and_none_of_its_past(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of four names in a log are sums. Every version can be read without them."""
    monkeypatch.setattr(messages, "CHECKPOINT_INTERVAL", 10)
    topic, subscription = bench.pair()
    table = Path(bench.root, "messages", bench.store.get_topic(topic).uid)
    named = f"delta.`{table}`"
    bench.spark.sql(f"ALTER TABLE {named} SET TBLPROPERTIES ('delta.checkpointInterval' = '10')")
    first = known(table)[-1] + 1
    while known(table)[-1] < 11:
        assert sums(table) == [each for each in known(table) if each >= known(table)[-1] // 10 * 10]
        bench.store.publish(topic, ["more"])
    assert sums(table) == [10, 11]
    assert known(table) == list(range(12)), "each commit is there as before"
    for version in range(first, 12):
        assert bench.store.read_topic(topic, as_of=version).count() == version - first + 1
    assert bench.spark.sql(f"DESCRIBE HISTORY {named}").count() == 12
    changes = bench.spark.readStream.format("delta").option("startingVersion", "0").load(str(table))
    query = changes.writeStream.format("memory").queryName("told").trigger(availableNow=True)
    query.option("checkpointLocation", f"{bench.root}-stream").start().awaitTermination(60)
    assert bench.spark.table("told").count() == 12 - first
    bench.spark.catalog.dropTempView("told")
    for store in (bench.store, bench.another()):
        assert store.pull(subscription, 1).message_count == 1
    bench.spark.sql(f"RESTORE TABLE {named} TO VERSION AS OF {first}")
    assert bench.store.read_topic(topic).count() == 1
