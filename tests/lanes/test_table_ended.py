"""Table subscriptions that end, or get another table, while a writer is at work."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import DeadLetterPolicy, PubSub, SchemaSettings, TableConfig
from pubsub_delta.delivery import consuming, table_subscriptions
from pubsub_delta.errors import FailedPrecondition, NotFound, Unavailable
from pubsub_delta.policy import table_writes as steps
from pubsub_delta.table_config import TableState
from pubsub_delta.tables.lanes.direct.targets import DirectTarget
from pubsub_delta.tables.store import Tables
from pubsub_delta.tables.targets import Target, Unwritable
from tests.lanes.table_world import BYTES, DEAD, NAME, TOPIC, Killed, World, kill_before
from tests.lanes.test_table_rows import with_topic_schema
from tests.unit.test_races import once


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def begun(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Do something after a writer has read its subscription, and before its first commit."""
    real, left = consuming.commit, [meanwhile]

    def later(*args: Any, **named: Any) -> Any:
        if left:
            left.pop()()
        return real(*args, **named)

    monkeypatch.setattr(table_subscriptions, "commit", later)


@pytest.mark.parametrize("ends", ["delete_subscription", "detach_subscription"])
def test_what_is_published_after_the_end_of_a_subscription_is_not_written(
    world: World, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    # "Delete: the backlog is dropped at once; the name can be used again for an unrelated
    # subscription"
    world.make()
    world.subscribe()
    other = world.another()

    def end() -> None:
        getattr(other, ends)(NAME)
        other.publish(TOPIC, [b"late"])

    begun(monkeypatch, end)
    with pytest.raises(NotFound if ends == "delete_subscription" else FailedPrecondition):
        world.write()
    assert world.data == []


def test_what_is_published_after_a_subscription_was_created_anew_is_in_its_table_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    other = world.another()
    elsewhere = world.root / "tables" / "shop" / "later"
    DeltaTable.create(str(elsewhere), BYTES)

    def create_anew() -> None:
        other.delete_subscription(NAME)
        config = TableConfig("shop.later")
        other.create_subscription(NAME, TOPIC, table_config=config)
        other.publish(TOPIC, [b"late"])

    begun(monkeypatch, create_anew)
    with pytest.raises(NotFound, match="created again"):
        world.write()
    assert world.write() == (1, 0)
    assert world.data == []
    assert DeltaTable(str(elsewhere)).to_pyarrow_table()["data"].to_pylist() == [b"late"]


def test_what_is_published_after_a_table_was_changed_is_in_the_new_one_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    other = world.another()
    elsewhere = world.root / "tables" / "shop" / "later"
    DeltaTable.create(str(elsewhere), BYTES)

    def change() -> None:
        other.update_subscription(NAME, table_config=TableConfig("shop.later"))
        other.publish(TOPIC, [b"late"])

    begun(monkeypatch, change)
    assert world.write() == (1, 0)
    assert world.data == []
    assert DeltaTable(str(elsewhere)).to_pyarrow_table()["data"].to_pylist() == [b"late"]


def give_another_table(world: World, monkeypatch: pytest.MonkeyPatch, *, landed: bool) -> Path:
    """Have a writer die at its append, and the subscription given another table; return that."""
    world.make()
    world.subscribe()
    world.publish(b"a")
    with monkeypatch.context() as patched:
        if landed:
            kill_before(patched, steps, "written")
        else:
            kill_before(patched, DirectTarget, "append")
        with pytest.raises(Killed):
            world.write()
    elsewhere = world.root / "tables" / "shop" / "later"
    DeltaTable.create(str(elsewhere), BYTES)
    world.another().update_subscription(NAME, table_config=TableConfig("shop.later"))
    return elsewhere


@pytest.mark.parametrize("landed", [True, False])
def test_an_earlier_table_that_takes_no_rows_any_more_is_asked_whether_they_have_landed(
    world: World, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    """It can be read: so what is in it does not come into the later one, too."""
    elsewhere = give_another_table(world, monkeypatch, landed=landed)
    DeltaTable(str(world.table)).alter.add_constraint({"some": "data IS NOT NULL"})
    world.write(world.another())
    world.write(world.another())
    assert world.data == ([b"a"] if landed else [])
    later = DeltaTable(str(elsewhere)).to_pyarrow_table()["data"].to_pylist()
    assert later == ([] if landed else [b"a"])
    assert world.states() == {}


def test_an_earlier_table_that_may_not_be_written_is_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = give_another_table(world, monkeypatch, landed=False)

    def refuse(*_: object) -> None:
        raise Unwritable(TableState.PERMISSION_DENIED, "Permission denied")

    monkeypatch.setattr(DirectTarget, "cancel", refuse)
    world.write(world.another())
    world.write(world.another())
    assert DeltaTable(str(elsewhere)).to_pyarrow_table()["data"].to_pylist() == [b"a"]
    assert world.states() == {}


@pytest.mark.parametrize("fault", ["clustering", "damage"])
def test_who_pulls_does_not_wait_for_an_earlier_table_that_cannot_be_opened_or_written(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """ "An earlier table that is gone, or cannot be opened or written, is not waited for"."""
    give_another_table(world, monkeypatch, landed=False)
    world.store.update_subscription(NAME, table_config=None)
    world.damage() if fault == "damage" else world.require(fault)
    world.publish(b"b")
    pulled = [each.data for _ in range(2) for each in world.store.pull(NAME)]
    assert sorted(pulled) == [b"a", b"b"]
    assert world.states() == {"leased": 2}


def test_maintain_writes_for_others_beside_a_detached_subscription(world: World) -> None:
    """Of ``maintain``: "messages written to the tables of subscriptions", each that is attached."""
    world.make()
    for name in ("one", "two"):
        world.subscribe(name=name)
    world.store.detach_subscription("one")
    world.subscribe(name="three")  # however they are listed, one of the others is after it
    world.publish(b"a")
    written = world.store.maintain().written
    assert written == {f"projects/local/subscriptions/{name}": 1 for name in ("two", "three")}


@pytest.mark.parametrize(
    "end",
    [
        lambda store: store.delete_subscription(NAME),
        lambda store: store.detach_subscription(NAME),
        lambda store: store.update_subscription(NAME, table_config=None),
    ],
)
def test_maintain_has_no_problem_with_a_subscription_that_ends_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch, end: Callable[[PubSub], object]
) -> None:
    """Of ``maintain``: safe "concurrently with publishers, consumers and itself"."""
    world.make()
    world.subscribe()
    world.publish(b"a")
    with monkeypatch.context() as patched:
        once(patched, table_subscriptions, "write_messages", lambda: end(world.another()), "before")
        report = world.store.maintain()
    assert (report.written, report.problems) == ({}, {})


def test_maintain_tells_of_a_table_and_of_a_dead_letter_topic_that_are_gone(world: World) -> None:
    """Of a report: "why a duty failed", each of them."""
    world.make()
    world.store.create_topic(DEAD)
    world.subscribe(dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b"a")
    world.store.update_subscription(NAME, table_config=None)
    for _ in range(5):
        world.store.modify_ack_deadline(NAME, [e.ack_id for e in world.store.pull(NAME)], 0)
    world.store.update_subscription(NAME, table_config=TableConfig("shop.orders"))
    shutil.rmtree(world.table)
    shutil.rmtree(world.root / "messages" / world.store.get_topic(DEAD).uid)
    (told,) = world.store.maintain(expiration=False, retention=False).problems.values()
    assert "there is no Delta table" in told
    assert DEAD in told


def test_a_later_topic_of_the_name_has_no_say_in_the_columns(world: World) -> None:
    with_topic_schema(world)
    world.make(pa.schema([("count", pa.int64()), ("sku", pa.string())]))
    world.subscribe(use_topic_schema=True)
    world.publish(b'{"sku": "a", "count": 3}')
    world.store.delete_topic(TOPIC)
    world.store.create_topic(TOPIC, schema_settings=SchemaSettings("order", "JSON"))
    done = world.store.write_table(NAME)
    assert (done.written, done.state) == (0, TableState.SCHEMA_MISMATCH)
    assert done.problem == "the topic was deleted, and its schema settings with it"


@pytest.fixture
def away(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A write was decided, the table was taken away, and its storage does not respond."""
    world.make()
    world.subscribe()
    world.publish(b"a")
    world.die_before_append(monkeypatch)
    world.store.update_subscription(NAME, table_config=None)

    def target(*_: object, **__: object) -> Target:
        raise Unavailable("the storage of the table does not respond")

    monkeypatch.setattr(Tables, "target", target)
    return world


def test_a_pull_holds_while_the_storage_of_an_earlier_table_is_away(away: World) -> None:
    # design, section 8: what was told is true, whatever becomes of what follows a commit
    away.publish(b"b")
    batch = away.store.pull(NAME)
    assert [each.data for each in batch] == [b"b"]
    assert len(batch.ack().success) == 1
    assert away.states() == {"writing": 1}


def test_outcomes_hold_while_the_storage_of_an_earlier_table_is_away(away: World) -> None:
    away.store.update_subscription(NAME, enable_exactly_once_delivery=True)
    away.publish(b"b")
    (message,) = away.store.pull(NAME)
    told = away.store.acknowledge(NAME, [message.ack_id])
    assert list(told.success) == [message.ack_id]


def test_a_slice_tells_why_what_was_decided_before_cannot_be_finished(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make()
    world.subscribe()
    world.publish(b"a")
    world.die_before_append(monkeypatch)
    world.publish(b"b")
    with monkeypatch.context() as patched:
        real, asked = DirectTarget.outcome, []

        def outcome(*given: Any) -> Any:
            asked.append(given)
            if len(asked) == 1:
                raise Unavailable("the storage of the table does not respond")
            return real(*given)

        patched.setattr(DirectTarget, "outcome", outcome)
        with pytest.raises(Unavailable, match="does not respond"):
            world.write()
    assert world.write() == (2, 0)  # at once: no lease is left to wait for
    assert world.data == [b"a", b"b"]
