"""Damage: what is missing or altered is told, and whose it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pubsub_delta import ManualClock, PubSub
from pubsub_delta.errors import DataLoss, FailedPrecondition
from tests.lanes.builders import (
    at,
    numbers,
    topic,
)
from tests.lanes.conftest import Bench
from tests.lanes.table_world import require


def stored(bench: Bench) -> Path:
    return next(bench.path("messages", "0").rglob("publish_date=*/*.parquet"))


def test_a_file_that_is_gone_is_data_loss(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 3))
    stored(bench).unlink()
    with pytest.raises(DataLoss, match="messages of this topic are lost"):
        bench.another()[0].read(table)
    with pytest.raises(DataLoss, match="messages of this topic are lost"):
        bench.lane.delete(table, [("publish_time", "<", at(seconds=1)), ("position", "<", 2)])


@pytest.mark.parametrize("size", [0, 100])
def test_a_file_that_is_cut_off_is_data_loss(bench: Bench, size: int) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 3))
    os.truncate(stored(bench), size)
    with pytest.raises(DataLoss, match="messages of this topic are lost"):
        bench.another()[0].read(table)


def test_a_file_that_is_altered_is_data_loss(bench: Bench) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 3000))
    content = bytearray(stored(bench).read_bytes())
    content[200:2000] = bytes(1800)
    stored(bench).write_bytes(content)
    with pytest.raises(DataLoss):
        bench.another()[0].read(table)


@pytest.mark.parametrize("damage", ["gone", "cut", "garbage"])
def test_a_damaged_commit_is_data_loss(bench: Bench, damage: str) -> None:
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 3), numbers(3, 3))
    commit = bench.path("messages", "0", "_delta_log", f"{1:020d}.json")
    content = commit.read_bytes()
    match damage:
        case "gone":
            commit.unlink()
        case "cut":
            commit.write_bytes(content[: len(content) // 2])
        case "garbage":
            commit.write_bytes(b"\x00" * 100)
    with pytest.raises(DataLoss, match="messages of this topic are lost"):
        bench.another()[0].read(table)


def test_an_emptied_commit_is_data_loss(bench: Bench) -> None:
    """A crash leaves such a file, and deltalake takes it for a commit that changed nothing."""
    table = topic(bench.lane, bench.table("messages", "0"), numbers(0, 3), numbers(3, 3))
    log = bench.path("messages", "0", "_delta_log")
    before = bench.another()[0]
    assert before.version(table) == 2
    log.joinpath(f"{3:020d}.json").touch()
    for lane in (before, bench.another()[0]):
        with pytest.raises(DataLoss, match="commit 3"):
            lane.version(table)
    log.joinpath(f"{3:020d}.json").unlink()
    os.truncate(log / f"{1:020d}.json", 0)
    with pytest.raises(DataLoss):
        bench.another()[0].history(table)


TOPIC, NAME = "orders", "delays"


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    store = PubSub(None, str(tmp_path / "store"), clock=ManualClock())
    store.create_topic(TOPIC)
    store.create_subscription(NAME, TOPIC)
    return store


def test_a_topic_whose_newest_commits_are_gone_is_damaged(store: PubSub, tmp_path: Path) -> None:
    """An older copy of a topic's table: what is published next would be taken for known."""
    for data in (b"a", b"b"):
        store.publish(TOPIC, [data])
    batch = store.pull(NAME)
    assert batch.ack().counts["success"] == 2
    log = tmp_path / "store" / "messages" / store.get_topic(TOPIC).uid / "_delta_log"
    newest = max(log.glob("*.json"))
    newest.unlink()
    again = PubSub(None, str(tmp_path / "store"), clock=ManualClock())
    with pytest.raises(DataLoss, match="its last commit is 1, and a subscription has read 2"):
        again.pull(NAME)


def test_a_topic_with_a_feature_for_readers_is_refused_by_its_name(
    store: PubSub, tmp_path: Path
) -> None:
    """ "The library's tables need no feature": with deletion vectors, deleted rows would come."""
    store.publish(TOPIC, [b"a"])
    table = tmp_path / "store" / "messages" / store.get_topic(TOPIC).uid
    require(table, "deletionVectors", by_readers=True)
    again = PubSub(None, str(tmp_path / "store"), clock=ManualClock())
    with pytest.raises(FailedPrecondition, match=r"only Spark can read its features \(deletionV"):
        list(again.pull(NAME))
