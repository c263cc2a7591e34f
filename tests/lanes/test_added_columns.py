"""What another program has changed of a table of the store: a column that it added stops nobody."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.schema import Field, PrimitiveType

from pubsub_delta import PubSub
from pubsub_delta.errors import FailedPrecondition
from tests.lanes.table_world import require
from tests.unit.in_memory import NAME, TOPIC

THEIRS = [Field("theirs", PrimitiveType("string"))]
OF_THE_REGISTRY = ("topics", "subscriptions", "snapshots")


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    return PubSub(None, str(tmp_path / "store"), lane="direct")


def columns(path: Path) -> list[str]:
    return [each.name for each in DeltaTable(path).schema().fields]


def test_a_store_works_whose_tables_got_another_column(store: PubSub, tmp_path: Path) -> None:
    # "every engine reads every table", and what such a program adds for itself is none of ours
    root = tmp_path / "store"
    topic, subscription = store.create_topic(TOPIC), store.create_subscription(NAME, TOPIC)
    store.create_snapshot("early", NAME)
    store.publish(TOPIC, [b"before"])
    tables = [root / each for each in OF_THE_REGISTRY]
    tables += [root / each / topic.uid for each in ("messages", "positions")]
    tables.append(root / "ack_state" / subscription.uid)
    for each in tables:
        DeltaTable(each).alter.add_columns(THEIRS)
    store.publish(TOPIC, [b"after"])
    batch = store.pull(NAME)
    assert [each.data for each in batch] == [b"before", b"after"]
    assert len(batch.ack().success) == 2
    store.create_topic("second")
    store.create_subscription("second", "second")
    store.update_subscription("second", labels={"a": "b"})
    store.create_snapshot("late", NAME)
    store.seek(NAME, snapshot="early")
    other = PubSub(None, str(root), lane="direct")  # takes positions and reads all anew
    other.publish(TOPIC, [b"by another process"])
    assert [each.data for each in other.pull(NAME)] == [b"before", b"after", b"by another process"]
    assert store.maintain().problems == {}
    assert all("theirs" in columns(each) for each in tables)


def test_a_column_that_was_taken_away_is_refused_by_name(store: PubSub, tmp_path: Path) -> None:
    # "Only documented errors, nothing half stored"
    uid = store.create_topic(TOPIC).uid
    store.create_subscription(NAME, TOPIC)
    path = tmp_path / "store" / "messages" / uid
    DeltaTable.create(path, pa.schema({"mine": pa.string()}), mode="overwrite")
    with pytest.raises(FailedPrecondition, match="no column position"):
        store.publish(TOPIC, [b"a"])


def test_a_feature_that_deltalake_does_not_write_is_refused_by_name(
    store: PubSub, tmp_path: Path
) -> None:
    """ "Every error is a PubSubError", also where another program has changed the table."""
    uid = store.create_topic(TOPIC).uid
    path = tmp_path / "store" / "messages" / uid
    require(path, "clustering")
    with pytest.raises(FailedPrecondition, match="only Spark can read or write it"):
        store.publish(TOPIC, [b"a"])
