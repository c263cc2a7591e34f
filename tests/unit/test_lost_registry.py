"""A store that was restored by half: what its lost tables kept must not be deleted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from pubsub_delta import DataLoss, SchemaSettings
from pubsub_delta.tables.registry.registry import Registry
from tests.model.memory import LAYOUT
from tests.unit.in_memory import NAME, TOPIC, InMemory
from tests.unit.test_layout_version import REGISTRY, USES, Use

PLACE = '{"type": "record", "name": "Place", "fields": [{"name": "town", "type": "string"}]}'
LOST = ("topics", "subscriptions", "snapshots")
each_lost = pytest.mark.parametrize("lost", LOST)


def lose(world: InMemory, *kinds: str) -> dict[str, Any]:
    """Take tables away from a store, which a new process opens; return them by their names."""
    tables = world.driver.world.lane.tables
    taken = {name: tables.pop(name) for name in (getattr(LAYOUT, kind) for kind in kinds)}
    world.store = world.driver.open()
    return taken


@each_lost
def test_nothing_is_deleted_while_a_table_of_the_registry_is_gone(lost: str) -> None:
    """ "Nothing that a live subscription … may still deliver is ever deleted from the topic." """
    world = InMemory()
    world.publish("tea")
    taken = lose(world, lost)
    (name,) = taken
    with pytest.raises(DataLoss, match=f"^{re.escape(name)}: this table of the registry is gone"):
        world.store.maintain(exact=True)
    world.driver.world.lane.tables.update(taken)
    world.store = world.driver.open()
    assert [message.data for message in world.store.pull(NAME)] == [b"tea"]


@pytest.mark.parametrize(
    ("lost", "use"),
    [
        ("topics", "create_topic"),
        ("topics", "list_topics"),
        ("topics", "publish"),
        ("subscriptions", "create_subscription"),
        ("subscriptions", "pull"),
        ("snapshots", "create_snapshot"),
        ("snapshots", "list_snapshots"),
    ],
)
def test_a_lost_table_of_the_registry_is_not_created_anew(lost: str, use: str) -> None:
    world = InMemory()
    (name,) = lose(world, lost)
    with pytest.raises(DataLoss, match="restore it from a copy"):
        USES[use](world.store)
    assert name not in world.driver.world.lane.tables


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.create_schema("another", "AVRO", PLACE),
        lambda store: list(store.list_schemas()),
        lambda store: store.get_topic("typed"),
        lambda store: store.update_topic("typed", labels={"a": "b"}),
        lambda store: store.publish("typed", [b'{"town": "Bern"}']),
        lambda store: store.maintain(exact=True),
    ],
    ids=["create_schema", "list_schemas", "get_topic", "update_topic", "publish", "maintain"],
)
def test_a_lost_table_of_schemas_is_told_by_the_topics_that_name_one(use: Use) -> None:
    """ "The schema was deleted" would be the wrong word, and lead to one that is created anew."""
    world = InMemory()
    world.store.create_schema("place", "AVRO", PLACE)
    world.store.create_topic("typed", schema_settings=SchemaSettings("place", "JSON"))
    taken = lose(world, "schemas")
    with pytest.raises(DataLoss, match="restore it from a copy"):
        use(world.store)
    assert taken.keys().isdisjoint(world.driver.world.lane.tables)
    world.driver.world.lane.tables.update(taken)
    world.driver.open().publish("typed", [b'{"town": "Bern"}'])


def test_without_its_table_of_schemas_the_rest_of_a_store_works() -> None:
    world = InMemory()
    world.store.create_schema("place", "AVRO", PLACE)
    world.store.create_topic("typed", schema_settings=SchemaSettings("place", "JSON"))
    lose(world, "schemas")
    world.publish("tea")
    assert [message.data for message in world.store.pull(NAME)] == [b"tea"]


def test_a_creation_that_was_cut_short_is_gone_on_with() -> None:
    """Tables that are created later are missing then; they have never had a row."""
    world = InMemory()
    lose(world, *REGISTRY[1:])
    assert list(world.store.list_subscriptions()) == []
    world.store.create_subscription("another", TOPIC)
    assert len(list(world.store.list_subscriptions())) == 1


def test_maintenance_names_a_lost_table_by_the_documented_class() -> None:
    world = InMemory()
    uid = world.store.get_topic(TOPIC).uid
    del world.driver.world.lane.tables[LAYOUT.messages(uid)]
    problems = world.driver.open().maintain().problems
    assert problems
    assert all(why.startswith("DataLoss: ") for why in problems.values()), problems


@pytest.mark.parametrize(
    ("kind", "ask"),
    [
        ("topics", lambda store: store.get_topic("absent")),
        ("topics", lambda store: store.publish("absent", [b"tea"])),
        ("topics", lambda store: store.metrics("projects/local/topics/absent")),
        ("subscriptions", lambda store: store.get_subscription("absent")),
        ("subscriptions", lambda store: store.pull("absent")),
        ("subscriptions", lambda store: store.metrics("projects/local/subscriptions/absent")),
        ("snapshots", lambda store: store.get_snapshot("absent")),
        ("snapshots", lambda store: store.seek(NAME, snapshot="absent")),
        ("snapshots", lambda store: store.metrics("projects/local/snapshots/absent")),
        ("schemas", lambda store: store.get_schema("absent")),
    ],
)
def test_what_a_damaged_commit_may_have_is_not_told_to_be_absent(
    monkeypatch: pytest.MonkeyPatch, kind: str, ask: Callable[[Any], object]
) -> None:
    """ "Damage is told": a row of the newest commit, if that cannot be read, is not `NotFound`."""

    def check(_: Registry, checked: str) -> None:
        if checked == kind:
            raise DataLoss(f"{checked}: its newest commit is damaged")

    world = InMemory()
    monkeypatch.setattr(Registry, "check_newest_commit", check)
    with pytest.raises(DataLoss, match=f"^{kind}: its newest commit"):
        ask(world.store)


def test_a_store_whose_first_call_died_is_one_without_topics() -> None:
    """Its tables are created one after the other, that of topics first; the next call goes on."""
    world = InMemory()
    world.store.delete_subscription(NAME)
    for each in world.store.list_topics():
        world.store.delete_topic(each.name)
    world.store.maintain()
    lose(world, "subscriptions", "snapshots", "schemas")
    assert world.store.maintain().problems == {}
    world.store.create_topic("again")
    assert world.store.maintain().problems == {}
