"""Table subscriptions while the storage of their table fails, or the table takes rows no more."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import DeadLetterPolicy, TableState
from pubsub_delta.errors import DataLoss
from pubsub_delta.policy import table_writes
from pubsub_delta.tables.store import Tables
from tests.lanes.table_world import DEAD, NAME, Killed, World, kill_before


def fails_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """Let the table be damaged for one look at it, the ``call``-th from now on."""
    target, calls = Tables.target, iter(range(1, 99))

    def look(self: Tables, *args: Any, **named: Any) -> Any:
        if next(calls) == call:
            raise DataLoss("the table cannot be read now")
        return target(self, *args, **named)

    monkeypatch.setattr(Tables, "target", look)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("has_landed", [False, True])
def test_a_table_that_cannot_be_asked_for_a_moment_has_each_message_once(
    world: World, monkeypatch: pytest.MonkeyPatch, has_landed: bool
) -> None:
    """ "The next consumer completes writes that are under way": what may have landed waits."""
    world.make()
    world.subscribe()
    world.publish(b"a")
    if has_landed:
        with monkeypatch.context() as patched:
            kill_before(patched, table_writes, "written")
            with pytest.raises(Killed):
                world.write()
    else:
        world.die_before_append(monkeypatch)
    assert world.data == ([b"a"] if has_landed else [])
    with monkeypatch.context() as patched:
        fails_at(patched, 2)
        with pytest.raises(DataLoss, match="now"):
            world.store.write_table(NAME)
    assert world.states() == {"writing": 1}
    assert world.write() == (1, 0)
    assert world.data == [b"a"]


def test_a_message_whose_table_takes_none_any_more_becomes_a_dead_letter(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If its columns fit no message, each is delivered to the dead-letter topic in the end."""
    world.store.create_topic(DEAD)
    world.store.create_subscription("letters", DEAD)
    world.make()
    world.subscribe(dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b"a")
    world.die_before_append(monkeypatch)
    shutil.rmtree(world.table)
    DeltaTable.create(str(world.table), pa.schema([("other", pa.string())]))
    for _ in range(8):
        told = world.another().write_table(NAME)
        assert (told.written, told.state) == (0, TableState.SCHEMA_MISMATCH)
    assert [each.data for each in world.store.pull("letters")] == [b"a"]
    assert world.states() == {}
    assert world.rows == []


def test_a_storage_that_does_not_respond_hides_no_subscription(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    config = world.store.get_subscription(NAME).table_config
    assert config is not None
    assert config.state is TableState.ACTIVE

    def away(*_: Any, **__: Any) -> Any:
        raise OSError("no answer")

    monkeypatch.setattr(Tables, "target", away)
    config = world.store.get_subscription(NAME).table_config
    assert config is not None
    assert (config.table, config.state) == ("shop.orders", None)
    assert [each.name for each in world.store.list_subscriptions()]
