"""Table subscriptions: every message becomes a row once, whoever dies, and whatever is changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake

from pubsub_delta import (
    DeadLetterPolicy,
    TableState,
)
from pubsub_delta.delivery import sources, table_writes
from pubsub_delta.delivery.table_writes import Prepared
from pubsub_delta.policy import delivery
from pubsub_delta.policy import table_writes as steps
from pubsub_delta.tables.lanes.direct.targets import DirectTarget
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.targets import Outcome
from tests.lanes.table_world import (
    BYTES,
    DEAD,
    METADATA,
    NAME,
    TEXTS,
    Killed,
    World,
    kill_before,
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# Whoever dies, and whatever happens in between


def test_killed_after_the_rows_have_landed_they_do_not_come_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a", b"b")
    with monkeypatch.context() as patched:
        kill_before(patched, steps, "written")
        with pytest.raises(Killed):
            world.write()
    assert world.states() == {"writing": 2}
    assert world.data == [b"a", b"b"]
    assert world.write(world.another()) == (2, 0)
    assert world.data == [b"a", b"b"]
    assert world.states() == {}


def test_killed_before_the_rows_have_landed_they_land_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a", b"b")
    world.die_before_append(monkeypatch)
    assert (world.states(), world.data) == ({"writing": 2}, [])
    assert world.write(world.another()) == (2, 0)
    assert world.data == [b"a", b"b"]


def interrupt(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], name: str = "append"
) -> None:
    """Do something right before the rows are appended, once."""
    real = getattr(DirectTarget, name)
    left = [work]

    def first(target: DirectTarget, *args: Any) -> None:
        if left:
            left.pop()()
        real(target, *args)

    monkeypatch.setattr(DirectTarget, name, first)


def test_of_two_that_write_the_same_one_lands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a", b"b")
    other = world.another()
    interrupt(monkeypatch, lambda: other.write_table(NAME))
    world.write()
    assert world.data == [b"a", b"b"]
    assert world.states() == {}


def test_another_writer_of_the_table_is_in_nobodys_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    rows = pa.table({"data": [b"z"]}, schema=BYTES)
    interrupt(monkeypatch, lambda: write_deltalake(str(world.table), rows, mode="append"))
    assert world.write() == (1, 0)
    assert world.data == [b"a", b"z"]


def add_column(world: World, column: Field) -> None:
    DeltaTable(str(world.table)).alter.add_columns([column])


def test_a_column_that_is_added_in_between_is_null(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    interrupt(monkeypatch, lambda: add_column(world, Field("more", "string")))
    assert world.write() == (1, 0)
    assert world.rows == [{"data": b"a", "more": None}]


def test_what_does_not_fit_any_more_is_given_back_and_can_never_land(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a", b"\xff")
    stale: list[Any] = []

    def replace_table() -> None:
        columns = pa.table({"data": []}, schema=TEXTS)
        write_deltalake(str(world.table), columns, mode="overwrite", schema_mode="overwrite")

    real = table_writes._carry_out

    def watch(*args: Any) -> Any:
        stale.append(args)
        return real(*args)

    monkeypatch.setattr(table_writes, "_carry_out", watch)
    interrupt(monkeypatch, replace_table)
    written, failed = world.write()
    assert (written, world.data) == (1, ["a"])
    assert failed >= 1
    monkeypatch.undo()
    tables, source, number, spans, _ = stale[0]
    rows = pa.table({"data": ["late", "later"]}, schema=TEXTS)
    write_id = table_writes._write_id(source, number, spans)
    target = tables.target("shop.orders")
    key = (f"pubsub_delta.{source.uid}", number)
    assert target.outcome(key, write_id) is Outcome.CANCELLED
    with pytest.raises(Conflict):  # as a process would that decided before and slept since
        Stale(target, number).append(rows, key, write_id)


class Stale:
    """A table as it was before anything was written to it."""

    def __init__(self, target: Any, number: int) -> None:
        self._target = DirectTarget(target._path, None)
        self._target._table.load_as_version(1)

    def append(self, *args: Any) -> None:
        self._target.append(*args)


def test_a_table_that_is_gone_keeps_everything_waiting_and_fails_nothing(world: World) -> None:
    # "NOT_FOUND: Cannot write to the BigQuery table because it does not exist"
    world.make()
    world.subscribe()
    world.publish(b"a")
    shutil.rmtree(world.table)
    done = world.store.write_table(NAME)
    assert (done.written, done.failed, done.state) == (0, 0, TableState.NOT_FOUND)
    assert "create it" in done.problem
    told = (world.store.get_subscription(NAME), *world.store.list_subscriptions())
    states = [each.table_config and each.table_config.state for each in told]
    assert states == [TableState.NOT_FOUND, TableState.NOT_FOUND]
    world.make(METADATA)
    assert world.write() == (1, 0)
    assert world.data == [b"a"]


def test_rows_of_a_table_that_was_created_anew_in_between_are_in_the_new_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    world.die_before_append(monkeypatch)
    shutil.rmtree(world.table)
    world.make()
    assert world.write() == (1, 0)
    assert world.data == [b"a"]


def test_columns_that_do_not_do_keep_everything_waiting(world: World) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    other = pa.table({"other": ["x"]})
    write_deltalake(str(world.table), other, mode="overwrite", schema_mode="overwrite")
    done = world.store.write_table(NAME)
    assert (done.failed, done.state) == (0, TableState.SCHEMA_MISMATCH)
    assert done.problem == "the table has no column data"


def test_with_a_dead_letter_topic_columns_that_do_not_do_fail_every_message(world: World) -> None:
    # "if the subscription has a dead-letter topic attached to it, Pub/Sub does not back off
    # delivery when message failures are due to schema compatibility errors"
    world.store.create_topic(DEAD)
    world.store.create_subscription("letters", DEAD)
    world.make()
    world.subscribe(dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b"a")
    other = pa.table({"other": ["x"]})
    write_deltalake(str(world.table), other, mode="overwrite", schema_mode="overwrite")
    done = world.store.write_table(NAME)
    assert (done.failed, done.state) == (5, TableState.SCHEMA_MISMATCH)
    (letter,) = world.store.pull("letters")
    told = letter.attributes["CloudPubSubDeadLetterSourceDeliveryErrorMessage"]
    assert told == "the table has no column data"


def test_what_was_decided_for_a_table_that_is_no_longer_wanted_is_pulled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    world.die_before_append(monkeypatch)
    world.store.update_subscription(NAME, table_config=None)
    world.publish(b"b")
    assert [each.data for _ in range(2) for each in world.store.pull(NAME)] == [b"b", b"a"]
    assert world.data == []


def test_a_seek_back_writes_rows_again(world: World) -> None:
    world.make()
    world.subscribe(retain_acked_messages=True)
    start = world.clock.now()
    world.publish(b"a")
    assert world.write() == (1, 0)
    world.store.seek(NAME, time=start)
    assert world.write() == (1, 0)
    assert world.data == [b"a", b"a"]


def test_a_subscription_of_the_same_name_has_numbers_of_its_own(world: World) -> None:
    world.make()
    world.subscribe()
    for each in (b"a", b"b", b"c"):
        world.publish(each)
        world.write()
    world.store.delete_subscription(NAME)
    world.subscribe()
    world.publish(b"d")
    assert world.write() == (1, 0)
    assert world.data == [b"a", b"b", b"c", b"d"]


def test_a_restored_ack_state_skips_no_message(world: World) -> None:
    # "RESTORE of an ack state by hand must neither repeat nor skip numbers that were given out"
    world.make()
    world.subscribe()
    uid = world.store.get_subscription(NAME).uid
    state = DeltaTable(str(world.root / "ack_state" / uid))
    before = state.version()
    world.publish(b"a")
    world.write()
    DeltaTable(str(world.root / "ack_state" / uid)).restore(before)
    world.publish(b"b")
    world.write(world.another())
    assert world.data in ([b"a", b"a", b"b"], [b"a", b"b"])  # what was acknowledged is not now
    assert world.states() == {}


def test_a_number_that_another_write_has_is_not_taken_for_this_one(world: World) -> None:
    world.make()
    world.subscribe()
    uid = world.store.get_subscription(NAME).uid
    target = DirectTarget(str(world.table), None)
    rows = pa.table({"data": [b"z"]}, schema=BYTES)
    target.append(rows, (f"pubsub_delta.{uid}", 1 << 34), "another write")
    world.publish(b"a")
    assert world.write() == (1, 0)
    assert world.data == [b"a", b"z"]


def test_a_number_that_a_restore_gives_again_is_not_that_of_other_messages(world: World) -> None:
    """However unlikely: which numbers are skipped after a read is drawn at random."""
    world.make()
    world.subscribe()
    state = world.root / "ack_state" / world.store.get_subscription(NAME).uid
    before, other = DeltaTable(str(state)).version(), world.another()
    for store in (world.store, other):
        store._tables.ack_states._lease_id_gap = lambda: 0
    world.publish(b"a")
    world.write()
    DeltaTable(str(state)).restore(before)
    world.publish(b"b")
    assert world.write(other) == (2, 0)
    assert world.data == [b"a", b"a", b"b"]


def test_a_backlog_is_written_in_slices(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.make()
    world.subscribe()
    world.publish(*(b"%03d" % n + b"x" * 1000 for n in range(50)))
    monkeypatch.setattr(table_writes, "SLICE_MESSAGES", 20)
    monkeypatch.setattr(table_writes, "SLICE_BYTES", 10_000)
    assert world.write() == (50, 0)
    assert len(world.rows) == 50
    commits = [
        each for each in DeltaTable(str(world.table)).history() if each["operation"] == "WRITE"
    ]
    assert len(commits) == 5
    assert world.states() == {}


def test_rows_that_were_made_for_other_messages_are_not_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lease was over while the rows were made, and somebody else has a part of the messages.
    world.make()
    world.subscribe()
    world.publish(b"a", b"b")
    real = table_writes.finish

    def late(tables: Any, source: Any, state: Any, prepared: Prepared) -> Any:
        return real(tables, source, state, replace(prepared, positions=prepared.positions.first(1)))

    monkeypatch.setattr(table_writes, "finish", late)
    assert world.write() == (2, 0)
    assert world.data == [b"a", b"b"]


def test_maintain_writes_for_those_without_a_server(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "``dry_run`` only reports": what it would write, of which a part is on its way already."""
    world.make()
    world.subscribe()
    world.publish(b"a")
    world.die_before_append(monkeypatch)
    world.publish(b"b")
    name = f"projects/local/subscriptions/{NAME}"
    assert list(world.store.maintain(dry_run=True).lines()) == [
        f"tables: {name}: 2 messages would be written"
    ]
    assert world.store.maintain(tables=False).written == {}
    assert world.store.maintain().written == {name: 2}
    assert world.data == [b"a", b"b"]


def test_what_is_on_its_way_holds_up_its_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # "While a key has leased or backing-off messages, pull returns none of that key"
    world.make()
    world.subscribe(enable_message_ordering=True)
    world.publish(b"a", key="one")
    world.die_before_append(monkeypatch)
    world.publish(b"b", key="one")
    tables, name = world.store._tables, world.store._subscription(NAME)
    source = sources.source(tables, name)
    state = source.catch_up(tables.ack_states.read(source.uid), world.clock.now())
    assert delivery.lease(state, 10, source.terms, world.clock.now())[1] == []


def test_a_late_writer_does_not_take_what_others_have(world: World) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    tables, source = (
        world.store._tables,
        sources.source(world.store._tables, world.store._subscription(NAME)),
    )
    state = source.catch_up(tables.ack_states.read(source.uid), world.clock.now())
    state, spans = delivery.lease(state, 10, source.terms, world.clock.now())
    first = spans[0].lease_id
    assert first is not None
    world.clock.advance(60)
    state = delivery.settle(state, source.terms, world.clock.now())
    state, spans = delivery.lease(state, 10, source.terms, world.clock.now())
    assert steps.decide(state, first, spans[0].positions, "shop.orders") == state
