"""The version from which a stream that reads along begins, on tables as they are on disk."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pubsub_delta import ManualClock, PubSub
from pubsub_delta.clock import SystemClock
from pubsub_delta.tables.messages.messages import Messages


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    made = PubSub(None, str(tmp_path / "root"), clock=ManualClock())
    made.create_topic("orders")
    return made


def messages_of(store: PubSub) -> Messages:
    return store.tables.messages(store.get_topic("orders").uid)


def have_kept(store: PubSub, root: Path, interval: str) -> None:
    """Set how long VACUUM keeps the files of a topic."""
    table = DeltaTable(root / "messages" / store.get_topic("orders").uid)
    table.alter.set_table_properties({"delta.deletedFileRetentionDuration": interval})


@pytest.mark.parametrize(
    ("interval", "kept"),
    [
        (None, timedelta(days=8)),
        ("interval 2 weeks", timedelta(weeks=2)),
        ("INTERVAL 1 hour", timedelta(hours=1)),
        ("interval 1 month", timedelta(0)),  # not understood: nothing is taken for kept
    ],
)
def test_a_stream_begins_with_a_version_while_its_files_are_kept(
    store: PubSub, tmp_path: Path, interval: str | None, kept: timedelta
) -> None:
    """VACUUM removes the files of earlier versions, and then Spark reads none of them."""
    since: datetime = store.clock.now()
    store.publish("orders", ["a"])
    if interval is not None:
        have_kept(store, tmp_path / "root", interval)
    messages, now = messages_of(store), SystemClock().now()
    assert messages.version_to_stream(since, now + kept + timedelta(minutes=1)) is None
    if kept:
        assert messages.version_to_stream(since, now + kept - timedelta(minutes=1)) == 1
