"""The layout version in the store: whoever finds another one than its own reads and writes nothing.

A table of the registry carries it as a property; an upgrade sets it in a commit of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta import FailedPrecondition
from pubsub_delta.tables import schemas
from pubsub_delta.tables.layout_version import (
    CATALOG_PROPERTY,
    LAYOUT_VERSION,
    PROPERTY,
    check_layout_version,
)
from tests.model.memory import LAYOUT
from tests.unit.in_memory import NAME, TOPIC, InMemory

Use = Callable[[Any], object]
NEWER = f"it has layout version 2, and this library reads version {LAYOUT_VERSION}"
REGISTRY = ("topics", "subscriptions", "snapshots", "schemas")
USES: dict[str, Use] = {
    "publish": lambda store: store.publish(TOPIC, ["a"]),
    "pull": lambda store: store.pull(NAME),
    "acknowledge": lambda store: store.acknowledge(NAME, ["x"]),
    "seek": lambda store: store.seek(NAME, time="2026-01-01T00:00:00Z"),
    "list_topics": lambda store: list(store.list_topics()),
    "list_snapshots": lambda store: list(store.list_snapshots()),
    "list_schemas": lambda store: list(store.list_schemas()),
    "create_topic": lambda store: store.create_topic("another"),
    "create_subscription": lambda store: store.create_subscription("another", TOPIC),
    "create_snapshot": lambda store: store.create_snapshot("before", NAME),
    "delete_subscription": lambda store: store.delete_subscription(NAME),
    "metrics": lambda store: store.metrics(NAME),
    "maintain": lambda store: store.maintain(),
}


def upgrade(world: InMemory, version: str | None = "2", named: str = PROPERTY) -> dict[str, int]:
    """Set a property in each table of the registry, as a newer library would its version.

    Return how many versions each table of the store then has.
    """
    tables = world.driver.world.lane.tables
    for name in REGISTRY:
        table = tables[getattr(LAYOUT, name)]
        properties = {**table.schema.properties}
        properties.pop(named, None)
        if version is not None:
            properties[named] = version
        table.schema = replace(table.schema, properties=properties)
        table.commit("SET TBLPROPERTIES", table.versions[-1])
    return {name: len(table.versions) for name, table in tables.items()}


def versions(world: InMemory) -> dict[str, int]:
    return {name: len(each.versions) for name, each in world.driver.world.lane.tables.items()}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_newer_store_is_refused_by_name_and_nothing_is_written(
    use: Use,
) -> None:
    world = InMemory()
    before = upgrade(world)
    with pytest.raises(FailedPrecondition, match=NEWER):
        use(world.driver.open())
    assert versions(world) == before


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_the_directory_of_a_store_in_a_catalog_is_no_root(use: Use) -> None:
    """There a topic is listed, and its table "is gone": by that error somebody would delete it."""
    world = InMemory()
    before = upgrade(world, "true", CATALOG_PROPERTY)
    with pytest.raises(FailedPrecondition, match=r"in a catalog.* open .* by its schema"):
        use(world.driver.open())
    assert versions(world) == before


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_process_that_runs_while_the_store_is_upgraded_notices_with_its_next_read(
    use: Use,
) -> None:
    world = InMemory()
    world.publish("a")
    world.pull(1)
    before = upgrade(world)
    with pytest.raises(FailedPrecondition, match=NEWER):
        use(world.store)
    assert versions(world) == before


def test_batches_and_publishers_of_a_running_process_write_nothing_any_more() -> None:
    world = InMemory()
    world.publish("a")
    batch = world.store.pull(NAME)
    with world.store.publisher(TOPIC) as publisher:
        publisher.publish(b"b").result(60)
        before = upgrade(world)
        for use in (batch.ack, batch.nack, publisher.publish(b"c").result):
            with pytest.raises(FailedPrecondition, match=NEWER):
                use()
    assert versions(world) == before


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (None, f"it has no layout version (property {PROPERTY})"),
        ("0", "read it with the pubsub-delta that wrote it"),
        ("two", "is 'two', which is not a version"),
        ("9" * 5_000, "which is not a version"),
        ("", "is '', which is not a version"),
    ],
)
def test_a_store_of_another_mark_or_none_is_refused_with_what_to_do(
    version: str | None, told: str
) -> None:
    world = InMemory()
    upgrade(world, version)
    with pytest.raises(FailedPrecondition, match=re.escape(told)):
        world.driver.open().get_topic(TOPIC)


def test_an_upgrade_that_stopped_half_way_is_noticed() -> None:
    world = InMemory()
    tables = world.driver.world.lane.tables
    topics = tables[LAYOUT.topics]
    newer = {**topics.schema.properties, PROPERTY: "2"}
    topics.schema = replace(topics.schema, properties=newer)
    with pytest.raises(FailedPrecondition, match=NEWER):
        world.driver.open().create_subscription("another", TOPIC)


def test_every_table_of_the_registry_is_created_with_the_version() -> None:
    of_registry = (schemas.TOPICS, schemas.SUBSCRIPTIONS, schemas.SNAPSHOTS, schemas.SCHEMAS)
    assert [each.properties[PROPERTY] for each in of_registry] == [str(LAYOUT_VERSION)] * 4
    for each in of_registry:
        check_layout_version("a table", each.properties)
