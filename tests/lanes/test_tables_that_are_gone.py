"""A table of the store that is gone is told as damage, by whatever is asked of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pubsub_delta import ManualClock, PubSub
from pubsub_delta.cli import checks
from pubsub_delta.errors import DataLoss, NotFound
from tests.unit.in_memory import NAME, TOPIC

SNAPSHOT = "before"

CALLS: dict[str, Callable[[PubSub], object]] = {
    "publish": lambda store: store.publish(TOPIC, [b"b"]),
    "pull": lambda store: list(store.pull(NAME)),
    "seek to a time": lambda store: store.seek(NAME, time="2026-01-01T00:00:00Z"),
    "seek to a snapshot": lambda store: store.seek(NAME, snapshot=SNAPSHOT),
    "take a snapshot": lambda store: store.create_snapshot("another", NAME),
    "metrics": lambda store: store.metrics(NAME),
    "create a subscription": lambda store: store.create_subscription("second", TOPIC),
}
MET = {
    "messages": set(CALLS),
    "positions": {"publish"},
    "ack_state": set(CALLS) - {"publish", "create a subscription"},
}


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "opened later"])
@pytest.mark.parametrize(
    ("table", "call"), [(table, call) for table, calls in MET.items() for call in sorted(calls)]
)
def test_a_table_that_is_gone_is_data_loss(
    tmp_path: Path, table: str, call: str, is_open: bool
) -> None:
    store: Any = PubSub(None, str(tmp_path / "store"), lane="direct")
    uid = store.create_topic(TOPIC).uid
    subscription = store.create_subscription(NAME, TOPIC)
    store.publish(TOPIC, [b"a"])
    store.create_snapshot(SNAPSHOT, NAME)
    if table == "positions" or not is_open:  # a process has positions left that it has taken
        store = PubSub(None, str(tmp_path / "store"), lane="direct")
    owner = subscription.uid if table == "ack_state" else uid
    shutil.rmtree(tmp_path / "store" / table / owner)
    with pytest.raises(DataLoss, match=f"{table}/{owner}: this table is gone"):
        CALLS[call](store)


def test_a_deleted_snapshot_that_a_restore_brings_back_is_told_and_stops_retention_alone(
    tmp_path: Path,
) -> None:
    """Nobody knows what it held. To delete it helps, and it expires."""
    root = tmp_path / "store"
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))
    store = PubSub(None, str(root), lane="direct", clock=clock)
    topic = store.create_topic(TOPIC).name
    store.create_subscription(NAME, TOPIC, message_retention_duration="10m")
    for data in (b"a", b"b"):
        store.publish(TOPIC, [data])
    snapshot = store.create_snapshot(SNAPSHOT, NAME).name
    before = DeltaTable(root / "snapshots").version()
    store.delete_snapshot(SNAPSHOT)
    DeltaTable(root / "snapshots").restore(before)
    store = PubSub(None, str(root), lane="direct", clock=clock)
    store.pull(NAME).ack()
    clock.advance(2 * 86_400)
    told = store.maintain(optimize=True)
    assert set(told.problems) == {topic}
    assert told.problems[topic].startswith(f"DataLoss: {snapshot}: ")
    assert told.problems[topic].endswith("or delete the snapshot")
    assert (told.discarded, told.optimized) == ({}, {topic: 2})
    found = next(iter(checks.snapshots(store, clock.now())))
    assert (found.check, found.state) == (f"snapshot {SNAPSHOT}", "problem")
    assert found.found.endswith("or delete the snapshot")
    store.delete_snapshot(SNAPSHOT)
    told = store.maintain()
    assert (told.problems, told.discarded) == ({}, {topic: 2})


def test_a_deleted_snapshot_that_a_restore_brings_back_expires(tmp_path: Path) -> None:
    root = tmp_path / "store"
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))
    store = PubSub(None, str(root), lane="direct", clock=clock)
    topic = store.create_topic(TOPIC).name
    store.create_subscription(NAME, TOPIC, message_retention_duration="10m")
    store.publish(TOPIC, [b"a"])
    snapshot = store.create_snapshot(SNAPSHOT, NAME).name
    before = DeltaTable(root / "snapshots").version()
    store.delete_snapshot(SNAPSHOT)
    DeltaTable(root / "snapshots").restore(before)
    store = PubSub(None, str(root), lane="direct", clock=clock)
    clock.advance(8 * 86_400)
    told = store.maintain()
    assert (told.problems, told.expired, told.discarded) == ({}, [snapshot], {topic: 1})


def test_messages_that_are_gone_are_data_loss_for_who_has_leased_them(tmp_path: Path) -> None:
    store = PubSub(None, str(tmp_path / "store"), lane="direct")
    uid = store.create_topic(TOPIC).uid
    store.create_subscription(NAME, TOPIC)
    store.publish(TOPIC, [b"a"])
    batch = store.pull(NAME)
    shutil.rmtree(tmp_path / "store" / "messages" / uid)
    with pytest.raises(DataLoss, match="this table is gone"):
        list(batch)
    with pytest.raises(DataLoss, match="this table is gone"):
        batch.arrow()
    assert len(batch.ack().success) == 1


def test_a_store_whose_directory_was_removed_begins_anew(tmp_path: Path) -> None:
    """docs/guide/roots.md: "A program that has it open can create it anew there." """
    store = PubSub(None, str(tmp_path / "store"), lane="direct")
    for data in (b"first", b"second", b"third"):
        store.create_topic(TOPIC)
        store.create_subscription(NAME, TOPIC)
        store.publish(TOPIC, [data])
        assert [message.data for message in store.pull(NAME)] == [data]
        shutil.rmtree(tmp_path / "store")
        assert store.list_topics() == []
        with pytest.raises(NotFound):
            store.publish(TOPIC, [b"nowhere"])


def test_a_store_that_another_program_creates_anew_is_read(tmp_path: Path) -> None:
    """Its tables have as many versions as those of the earlier store, and other ids."""
    store = PubSub(None, str(tmp_path / "store"), lane="direct")
    for data in (b"first", b"second", b"third"):
        another = PubSub(None, str(tmp_path / "store"), lane="direct")
        another.create_topic(TOPIC)
        another.create_subscription(NAME, TOPIC)
        another.publish(TOPIC, [data])
        assert [message.data for message in store.pull(NAME)] == [data]
        (tmp_path / "store").rename(tmp_path / data.decode())
