"""What was acknowledged when a subscription was given a table is not written to it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import FlowControl, PubSub, TableConfig
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.operations import pull
from tests.unit.in_memory import NAME, TOPIC

PATIENCE = 20
"""Seconds that a test waits for what comes soon, before it gives up."""


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    made = PubSub(None, str(tmp_path / "store"), lane="direct")
    made.create_topic(TOPIC)
    made.create_subscription(NAME, TOPIC)
    DeltaTable.create(str(tmp_path / "store/tables/rows"), pa.schema([("data", pa.string())]))
    return made


def give_a_table(store: PubSub) -> None:
    """Have another process give the subscription a table."""
    other = PubSub(None, str(store.tables.local_directory), lane="direct")
    other.update_subscription(NAME, table_config=TableConfig("rows"))


def left(store: PubSub) -> int:
    count: int = store.metrics(NAME)["num_undelivered_messages"]
    return count


def test_acknowledgements_of_callbacks_are_written(store: PubSub) -> None:
    store.publish(TOPIC, [b"a"])

    def callback(message: Any) -> None:
        give_a_table(store)
        message.ack()
        acknowledged.set()

    acknowledged = threading.Event()
    one = FlowControl(max_messages=1)  # so no exchange comes before that of the acknowledgement
    future = store.subscribe(NAME, callback, flow_control=one)
    assert acknowledged.wait(PATIENCE)
    with pytest.raises(FailedPrecondition, match="clear its table_config to pull from it"):
        future.result(PATIENCE)
    assert left(store) == 0


def test_a_callback_is_told_that_its_acknowledgement_succeeded(store: PubSub) -> None:
    # the outcome is that of the one commit that wrote it
    store.publish(TOPIC, [b"a"])
    outcomes: list[Any] = []

    def callback(message: Any) -> None:
        give_a_table(store)
        outcomes.append(message.ack_with_response())

    future = store.subscribe(NAME, callback, flow_control=FlowControl(max_messages=1))
    with pytest.raises(FailedPrecondition, match="clear its table_config to pull from it"):
        future.result(PATIENCE)
    assert outcomes[0].result(PATIENCE) == "success"
    assert left(store) == 0


def test_a_micro_batch_that_was_processed_is_acknowledged(store: PubSub) -> None:
    store.publish(TOPIC, [b"a"])
    uid, name = store.get_subscription(NAME).uid, store._subscription(NAME)
    now = store.clock.now
    first = pull.pull_micro_batch(store.tables, name, "query", 0, None, now, uid=uid)
    assert first.lease is not None
    store.publish(TOPIC, [b"b"])
    give_a_table(store)
    with pytest.raises(FailedPrecondition, match="clear its table_config to pull from it"):
        pull.pull_micro_batch(store.tables, name, "query", 1, None, now, uid=uid)
    assert left(store) == 1
