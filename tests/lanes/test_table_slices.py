"""Slices of a table subscription: how long they are leased, and what cannot be read in them."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pubsub_delta import (
    DeadLetterPolicy,
    ReceivedMessage,
    RetryPolicy,
    TableConfig,
    TableState,
    UnreadableMessageWarning,
)
from pubsub_delta.delivery import table_writes
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.table_subscriptions import write_messages
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.ack_state import AckStateTables
from pubsub_delta.tables.lanes.direct.targets import DirectTarget
from tests.lanes.table_world import DEAD, NAME, TOPIC, World
from tests.unit.raw_rows import raw_maps
from tests.unit.test_races import once as act_once


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_became_unreadable_is_not_taken_for_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "A message that cannot be read … its delivery fails": it gets no row, so it is no ack
    world.make()
    world.subscribe()
    world.publish(b"a", b"b")
    world.die_before_append(monkeypatch)
    uid = world.store.get_topic(TOPIC).uid
    (file,) = (world.root / "messages" / uid).rglob("publish_date=*/*.parquet")
    rows = pq.ParquetFile(file).read()
    place = rows.column_names.index("attributes")
    pq.write_table(rows.set_column(place, "attributes", raw_maps([[], [(b"k", b"\xff")]])), file)
    other = world.another()
    with pytest.warns(UnreadableMessageWarning, match="its attributes are no valid UTF-8"):
        first = world.write(other)
    assert first == (0, 0)  # the write is given back
    with pytest.warns(UnreadableMessageWarning):
        second = world.write(other)
    assert second[0] == 1
    assert world.data == [b"a"]
    assert sum(world.states().values()) == 1


def test_a_slice_is_leased_for_a_minute_at_least(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "The shortest lease of a slice; if its writer takes longer, the delivery has failed."
    world.make()
    world.subscribe(ack_deadline_seconds=10)
    world.publish(b"a")
    real, by_another = table_writes.read_slice, list[tuple[int, int]]()

    def slowly(lease: Lease) -> tuple[list[ReceivedMessage], Positions]:
        if not by_another:
            world.clock.advance(59)
            by_another.append((-1, -1))
            by_another.append(world.write(world.another()))
        return real(lease)

    monkeypatch.setattr(table_writes, "read_slice", slowly)
    assert (world.write(), by_another[1:]) == ((1, 0), [(0, 0)])
    assert world.data == [b"a"]


def test_a_slice_is_leased_from_when_that_is_decided(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its minute begins after a wait for another process: else another writes the messages, too."""
    world.make()
    world.subscribe()
    world.publish(b"a")
    real, by_another = table_writes.read_slice, list[tuple[int, int]]()

    def meanwhile(lease: Lease) -> tuple[list[ReceivedMessage], Positions]:
        if not by_another:
            by_another.append((-1, -1))
            by_another.append(world.write(world.another()))
        return real(lease)

    monkeypatch.setattr(table_writes, "read_slice", meanwhile)
    act_once(monkeypatch, AckStateTables, "locked", partial(world.clock.advance, 61), "before")
    assert (world.write(world.another()), by_another[1:]) == ((1, 0), [(0, 0)])


def test_what_a_slice_has_no_room_for_is_no_failed_delivery(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what waits behind large messages would go to the dead-letter topic."""
    monkeypatch.setattr(table_writes, "SLICE_BYTES", 25)
    world.make()
    world.store.create_topic(DEAD)
    world.subscribe(dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b"x" * 20, b"y" * 20)
    tables, name = world.store._tables, world.store._subscription(NAME)
    done = write_messages(tables, name, world.clock.now, slices=1)
    assert (done.written, done.failed, done.is_done) == (1, 0, False)
    assert [each.delivery_attempt for each in world.store.peek(NAME)] == [1]


def test_what_was_written_counts_though_the_table_is_gone_by_now(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_writes, "SLICE_MESSAGES", 1)
    world.make()
    world.subscribe()
    world.publish(b"a", b"b", b"c")
    real = DirectTarget.append

    def once(self: DirectTarget, *given: Any) -> None:
        real(self, *given)
        shutil.move(world.table, world.root.parent / "elsewhere")

    monkeypatch.setattr(DirectTarget, "append", once)
    done = write_messages(world.store._tables, world.store._subscription(NAME), world.clock.now)
    assert (done.written, done.state) == (1, TableState.NOT_FOUND)


def test_a_dry_run_counts_nothing_for_a_table_that_is_gone(world: World) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    shutil.rmtree(world.table)
    dry, done = world.store.maintain(dry_run=True), world.store.maintain()
    assert (dry.written, done.written) == ({}, {})
    assert dry.problems == done.problems
    assert len(dry.problems) == 1


def test_a_dry_run_tells_what_a_run_would_write(world: World) -> None:
    """What is leased, or waits for its backoff, is in no slice yet."""
    world.make()
    retry = RetryPolicy("600s", "600s")
    world.store.create_subscription(NAME, TOPIC, retry_policy=retry)
    world.publish(b"a", b"b", b"c", b"d")
    leased, failed = list(world.store.pull(NAME, 2))
    world.store.modify_ack_deadline(NAME, [failed.ack_id], 0)
    world.store.update_subscription(NAME, table_config=TableConfig("shop.orders"))
    name = f"projects/local/subscriptions/{NAME}"
    assert world.store.maintain(dry_run=True).written == {name: 2}
    assert world.store.maintain().written == {name: 2}
    assert world.data == [b"c", b"d"]
    assert world.store.acknowledge(NAME, [leased.ack_id]).success
