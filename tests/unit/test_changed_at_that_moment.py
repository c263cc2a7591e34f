"""A resource that others change or delete between a look at it and the commit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from pubsub_delta import SchemaSettings
from pubsub_delta.errors import InvalidArgument, NotFound
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.registry.schemas import SchemaRows
from tests.model.memory_lane import MemoryLane
from tests.unit.in_memory import NAME, TOPIC, InMemory
from tests.unit.test_races import another, once

AVRO = '{"type": "record", "name": "Flight", "fields": [%s]}'
FIELD = '{"name": "to", "type": ["null", "string"], "default": null}'


def test_a_subscription_that_is_updated_meanwhile_is_deleted_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    other = another(world)

    def update() -> None:
        other.update_subscription(NAME, ack_deadline_seconds=60)

    once(monkeypatch, MemoryLane, "delete", update, "before")
    world.store.delete_subscription(NAME)
    with pytest.raises(NotFound):
        world.store.get_subscription(NAME)
    with pytest.raises(NotFound):
        other.get_subscription(NAME)


@pytest.mark.parametrize("error", [Conflict("another was faster"), ConnectionError("lost")])
@pytest.mark.parametrize("lands", [True, False])
def test_a_creation_is_told_as_it_has_landed(
    monkeypatch: pytest.MonkeyPatch, error: Exception, lands: bool
) -> None:
    """Who lost a race decides again; an answer that is lost is looked for, and else an error."""
    world = InMemory()
    merge, left = MemoryLane.merge, [error]

    def loses_an_answer(*args: Any) -> int:
        if not left:
            return merge(*args)
        if lands:
            merge(*args)
        raise left.pop()

    monkeypatch.setattr(MemoryLane, "merge", loses_an_answer)
    is_told = lands or isinstance(error, Conflict)
    with nullcontext() if is_told else pytest.raises(ConnectionError):
        world.store.create_topic("arrivals")
    names = [each.name.rpartition("/")[2] for each in world.driver.open().list_topics()]
    assert ("arrivals" in names) is is_told


def test_what_another_has_deleted_is_not_told_as_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look-up, update and delete of something absent: NOT_FOUND, naming it."""
    world = InMemory()
    store, other = world.store, another(world)
    store.create_snapshot("kept", NAME)
    store.create_schema("plain", "AVRO", AVRO % "")
    deletions: list[tuple[object, str, Callable[[Any], object]]] = [
        (Registry, "hide_snapshot", lambda of: of.delete_snapshot("kept")),
        (SchemaRows, "remove", lambda of: of.delete_schema("plain")),
        (Registry, "remove_topic", lambda of: of.delete_topic(TOPIC)),
    ]
    for of, method, delete in deletions:
        with monkeypatch.context() as patched:
            once(patched, of, method, lambda delete=delete: delete(other), "before")  # type: ignore[misc]
            with pytest.raises(NotFound):
                delete(store)


def test_a_revision_of_a_schema_that_is_deleted_meanwhile_is_not_told_as_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = InMemory()
    store, other = world.store, another(world)
    store.create_schema("plain", "AVRO", AVRO % "")
    revision = store.commit_schema("plain", AVRO % FIELD).revision_id
    once(monkeypatch, SchemaRows, "change", lambda: other.delete_schema("plain"), "before")
    with pytest.raises(NotFound, match="plain"):
        store.delete_schema_revision(f"plain@{revision}")


def test_a_topic_that_loses_its_schema_meanwhile_takes_any_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Messages are checked against the settings that are stored when they are checked."""
    world = InMemory()
    store, other = world.store, another(world)
    store.create_schema("plain", "AVRO", AVRO % FIELD)
    store.update_topic(TOPIC, schema_settings=SchemaSettings("plain", "JSON"))
    with pytest.raises(InvalidArgument):
        store.publish(TOPIC, ["no JSON"])

    def clear() -> None:
        other.update_topic(TOPIC, schema_settings=None)

    once(monkeypatch, Registry, "schema_of", clear, "before")
    store.publish(TOPIC, ["no JSON"])
    assert world.stored() == ["no JSON"]
