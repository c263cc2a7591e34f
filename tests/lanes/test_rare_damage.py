"""Damage that an operator can do by hand, and that is told: never fewer messages, or old ones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubsub_delta import ManualClock, PubSub, SystemClock
from pubsub_delta.errors import DataLoss, FailedPrecondition
from pubsub_delta.tables.lanes.direct.table_snapshots import _positions_of
from tests.lanes.table_world import require

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


def test_positions_without_statistics_may_be_any(tmp_path: Path) -> None:
    """Another program may have rewritten a file without them: nothing of it is passed over."""
    rows = pa.table({"position": [7, 9], "data": [b"a", b"b"]})
    for name, has_statistics, found in (("with", True, (7, 9)), ("none", False, (0, 2**63 - 1))):
        path = tmp_path / name
        pq.write_table(rows, path, write_statistics=has_statistics)
        assert _positions_of(pq.ParquetFile(path), 0) == found


def test_a_dry_run_tells_how_many_commits_would_go_and_removes_none(tmp_path: Path) -> None:
    """ "`dry_run`: do nothing, and tell what would be done": a log that is cut stays cut."""
    clock = ManualClock(SystemClock().now())
    store = PubSub(None, str(tmp_path / "store"), clock=clock)
    store.create_topic(TOPIC)
    for _ in range(3):
        store.publish(TOPIC, [b"a"])
    log = tmp_path / "store" / "messages" / store.get_topic(TOPIC).uid / "_delta_log"
    before = sorted(each.name for each in log.iterdir())
    clock.advance(10 * 86_400)
    told = store.maintain(dry_run=True, log_retention="1d")
    assert list(told.forgotten.values()) == [3]
    assert sorted(each.name for each in log.iterdir()) == before
