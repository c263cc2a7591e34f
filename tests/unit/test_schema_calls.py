"""Schemas on a store in memory: the calls, what topics make of them, and what races do."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("fastavro")

from pubsub_delta import (
    AlreadyExists,
    Encoding,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Schema,
    SchemaSettings,
    SchemaType,
)
from pubsub_delta.errors import Aborted
from pubsub_delta.policy.schemas import validation
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.registry.schemas import SchemaRows
from tests.unit.in_memory import TOPIC, InMemory
from tests.unit.schema_cases import (
    AVRO,
    AVRO_INCOMPATIBLE,
    AVRO_WITH_AREA,
    CODE,
    NO_STATE,
    OHIO,
    PROTO,
    PROTO_WITH_AREA,
    STATES,
    UTAH,
    avro_bytes,
    ids,
    record,
    states_world,
    told,
)
from tests.unit.test_races import another, once

DELETED = "_deleted-schema_"


@pytest.fixture
def world() -> InMemory:
    return states_world()


# Schemas


def test_a_schema_is_created_found_and_listed(world: InMemory) -> None:
    found = world.store.get_schema("states")
    assert (found.name, found.type, found.definition) == (STATES, SchemaType.AVRO, AVRO)
    assert len(found.revision_id) == 8
    assert found.revision_create_time == world.now
    assert world.store.list_schemas() == [found] == world.store.list_schema_revisions(STATES)
    assert world.store.get_schema(f"states@{found.revision_id}") == found
    assert world.store.list_schemas(project="other") == []


def test_a_name_that_is_taken_is_refused_whatever_its_definition(world: InMemory) -> None:
    with pytest.raises(AlreadyExists, match=STATES):
        world.store.create_schema("states", "AVRO", AVRO)


@pytest.mark.parametrize("name", ["states@0", "states@0123456X", "ab", "goog-states", 7])
def test_names_are_those_of_resources(world: InMemory, name: Any) -> None:
    with pytest.raises(InvalidArgument, match="schema:"):
        world.store.get_schema(name)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.get_schema("absent"),
        lambda store: store.get_schema("states@01234567"),
        lambda store: store.list_schema_revisions("absent"),
        lambda store: store.commit_schema("absent", AVRO),
        lambda store: store.rollback_schema("states", "01234567"),
        lambda store: store.delete_schema_revision("states@01234567"),
        lambda store: store.delete_schema("absent"),
        lambda store: store.validate_message(b"{}", "JSON", "absent"),
        lambda store: store.create_topic("more", schema_settings=SchemaSettings("absent", "JSON")),
        lambda store: store.update_topic(
            TOPIC, schema_settings=SchemaSettings("states", "JSON", "01234567")
        ),
    ],
)
def test_what_is_not_there_is_not_found(world: InMemory, call: Any) -> None:
    with pytest.raises(NotFound, match=r"absent|01234567"):
        call(world.store)


def test_a_revision_that_goes_together_is_committed(world: InMemory) -> None:
    first = world.store.get_schema("states")
    world.be_at(60)
    second = world.store.commit_schema("states", AVRO_WITH_AREA)
    assert second.definition == AVRO_WITH_AREA
    assert second.revision_create_time == world.now
    assert world.store.list_schema_revisions("states") == [second, first]
    assert world.store.get_schema("states") == second == world.store.list_schemas()[0]


def test_one_that_does_not_is_refused_by_the_revision(world: InMemory) -> None:
    (first,) = ids(world)
    with pytest.raises(InvalidArgument, match=f"incompatible with the previous revision {first}"):
        world.store.commit_schema("states", AVRO_INCOMPATIBLE)
    assert ids(world) == [first]


def test_a_revision_is_held_against_all_that_are_there() -> None:
    """Pub/Sub: an earlier one counts, though the one in between does not have the field."""
    world = InMemory()
    pytest.importorskip("grpc_tools")
    world.store.create_schema("states", "PROTOCOL_BUFFER", PROTO_WITH_AREA)
    (first,) = ids(world)
    world.store.commit_schema("states", PROTO)
    with pytest.raises(InvalidArgument, match=f"previous revision {first}: area = 2 of type str"):
        world.store.commit_schema("states", PROTO_WITH_AREA.replace("int64", "string"))


def test_a_revision_is_of_the_type_of_its_schema(world: InMemory) -> None:
    with pytest.raises(InvalidArgument, match=r"PROTOCOL_BUFFER, and schema .* is AVRO"):
        world.store.commit_schema("states", PROTO, "PROTOCOL_BUFFER")


def test_a_rollback_is_a_new_revision_with_an_earlier_definition(world: InMemory) -> None:
    first = world.store.get_schema("states")
    world.store.commit_schema("states", AVRO_WITH_AREA)
    world.be_at(60)
    back = world.store.rollback_schema("states", first.revision_id)
    assert (back.definition, back.revision_create_time) == (AVRO, world.now)
    assert back.revision_id not in (first.revision_id, ids(world)[1])
    assert len(ids(world)) == 3


def test_a_deleted_revision_is_gone(world: InMemory) -> None:
    first = world.store.get_schema("states")
    world.store.commit_schema("states", AVRO_WITH_AREA)
    named = f"states@{first.revision_id}"
    assert world.store.delete_schema_revision(named) == first
    assert len(ids(world)) == 1
    with pytest.raises(NotFound, match=first.revision_id):
        world.store.get_schema(named)
    with pytest.raises(FailedPrecondition, match="the only one"):
        world.store.delete_schema_revision(f"states@{ids(world)[0]}")
    with pytest.raises(InvalidArgument, match="names no revision"):
        world.store.delete_schema_revision("states")


def test_revisions_are_listed_by_pages_though_some_are_deleted_meanwhile(world: InMemory) -> None:
    for _ in range(3):
        world.store.rollback_schema("states", ids(world)[0])
    d, c, b, a = ids(world)
    page = world.store.list_schema_revisions("states", page_size=2)
    assert [each.revision_id for each in page] == [d, c]
    world.store.delete_schema_revision(f"states@{c}")
    world.store.delete_schema_revision(f"states@{b}")
    page = world.store.list_schema_revisions("states", page_token=page.next_page_token)
    assert [each.revision_id for each in page] == [a]
    with pytest.raises(InvalidArgument, match="page_token"):
        world.store.list_schema_revisions("states", page_token="x")


def test_a_definition_and_a_message_are_validated_without_writing(world: InMemory) -> None:
    world.store.validate_schema("AVRO", AVRO)
    world.store.validate_message(UTAH, "JSON", "states")
    world.store.validate_message('{"name": "Utah"}', Encoding.JSON, type="AVRO", definition=AVRO)
    world.store.validate_message(avro_bytes(AVRO, {"name": "Utah"}), "BINARY", STATES)
    with pytest.raises(InvalidArgument, match="not an Avro schema"):
        world.store.validate_schema("AVRO", "{}")
    with pytest.raises(InvalidArgument, match=r"does not fit .*states in JSON: field 'name' is mi"):
        world.store.validate_message(NO_STATE, "JSON", "states")
    with pytest.raises(InvalidArgument, match="does not fit the definition in BINARY"):
        world.store.validate_message(UTAH, "BINARY", type="AVRO", definition=AVRO)
    with pytest.raises(InvalidArgument, match="either a schema, or a type"):
        world.store.validate_message(UTAH, "JSON")
    with pytest.raises(InvalidArgument, match="either a schema, or a type"):
        world.store.validate_message(UTAH, "JSON", "states", type="AVRO", definition=AVRO)
    for half in ({"type": "AVRO"}, {"definition": AVRO}):
        with pytest.raises(InvalidArgument, match="either a schema, or a type"):
            world.store.validate_message(UTAH, "JSON", "states", **half)


def test_a_message_is_held_against_the_revision_that_is_named(world: InMemory) -> None:
    first = ids(world)[0]
    world.store.commit_schema("states", AVRO_WITH_AREA)
    world.store.validate_message(UTAH, "JSON", f"states@{first}")
    with pytest.raises(InvalidArgument, match="'area' is missing"):
        world.store.validate_message(UTAH, "JSON", "states")


# Topics


def test_a_topic_keeps_its_settings_by_full_name(world: InMemory) -> None:
    assert told(world) == SchemaSettings(STATES, Encoding.JSON)
    first = ids(world)[0]
    wanted = SchemaSettings(STATES, "BINARY", first, first)
    assert world.store.create_topic("more", schema_settings=wanted).schema_settings == wanted
    assert told(world, "more") == wanted
    assert [each.schema_settings for each in world.store.list_topics()] == [
        told(world),
        None,
        wanted,
    ]


def test_a_topic_without_settings_takes_anything(world: InMemory) -> None:
    assert world.store.update_topic(TOPIC, schema_settings=None).schema_settings is None
    world.publish("anything")
    assert world.pull()[0].data == "anything"


def test_settings_are_changed_alone(world: InMemory) -> None:
    world.store.update_topic(TOPIC, labels={"team": "maps"})
    assert told(world) == SchemaSettings(STATES, Encoding.JSON)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", "BINARY"))
    assert world.store.get_topic(TOPIC).labels == {"team": "maps"}


def test_a_change_of_settings_is_a_change_for_if_unchanged(world: InMemory) -> None:
    seen = world.store.get_topic(TOPIC)
    world.store.update_topic(TOPIC, schema_settings=None)
    with pytest.raises(Aborted, match="schema_settings"):
        world.store.update_topic(TOPIC, labels={}, if_unchanged=seen)


# Two processes at once


def test_both_of_two_revisions_at_once_are_there(
    world: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another(world)
    first = ids(world)[0]
    crossing: list[Schema] = []

    def commit() -> None:
        crossing.append(
            other.commit_schema("states", record(CODE, {"name": "name", "type": "string"}))
        )

    once(monkeypatch, validation, "check_compatible", commit, "after")
    mine = world.store.commit_schema("states", AVRO_WITH_AREA)
    assert ids(world) == [mine.revision_id, crossing[0].revision_id, first]


def test_a_revision_is_held_against_one_that_came_between(
    world: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check is made again on what the revision is added to."""
    other = another(world)
    floor = record(
        {"name": "name", "type": "string"}, {"name": "area", "type": "string", "default": ""}
    )
    once(
        monkeypatch,
        validation,
        "check_compatible",
        lambda: other.commit_schema("states", floor),
        "after",
    )
    with pytest.raises(InvalidArgument, match="incompatible with the previous revision"):
        world.store.commit_schema("states", AVRO_WITH_AREA)
    assert len(ids(world)) == 2


def test_two_deletions_at_once_leave_one_revision(
    world: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.commit_schema("states", AVRO_WITH_AREA)
    second, first = ids(world)
    other = another(world)
    once(
        monkeypatch,
        SchemaRows,
        "change",
        lambda: other.delete_schema_revision(f"states@{first}"),
        "before",
    )
    with pytest.raises(FailedPrecondition, match="the only one"):
        world.store.delete_schema_revision(f"states@{second}")
    assert ids(world) == [second]


def test_a_revision_for_a_schema_that_is_created_anew_meanwhile_is_not_added(
    world: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another(world)

    def anew() -> None:
        other.delete_schema("states")
        other.create_schema("states", "AVRO", AVRO)

    once(monkeypatch, SchemaRows, "change", anew, "before")
    with pytest.raises(NotFound, match="deleted meanwhile"):
        world.store.commit_schema("states", AVRO_WITH_AREA)
    assert len(ids(world)) == 1


def test_a_topic_that_is_created_as_its_schema_is_deleted_says_so(
    world: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another(world)
    once(monkeypatch, Messages, "create", lambda: other.delete_schema("states"), "before")
    world.store.create_topic("more", schema_settings=SchemaSettings("states", "JSON"))
    found = told(world, "more")
    assert found is not None
    assert found.schema == DELETED


def test_a_publish_goes_by_the_schema_as_it_is_when_it_begins(world: InMemory) -> None:
    """Another process's revision counts at once, without a new look at the store."""
    other = another(world)
    with pytest.raises(InvalidArgument, match="does not fit"):
        world.store.publish(TOPIC, [OHIO])
    other.commit_schema("states", AVRO_WITH_AREA)
    world.store.publish(TOPIC, [OHIO])
    other.delete_schema("states")
    with pytest.raises(FailedPrecondition, match="was deleted"):
        world.store.publish(TOPIC, [OHIO])


# Without the extra


@pytest.mark.parametrize(
    ("module", "type_", "definition"),
    [
        ("fastavro", "AVRO", AVRO),
        ("avro", "AVRO", AVRO),
        ("grpc_tools", "PROTOCOL_BUFFER", PROTO),
    ],
)
def test_without_the_extra_it_is_said_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, module: str, type_: str, definition: str
) -> None:
    world = InMemory()
    monkeypatch.delitem(sys.modules, "pubsub_delta.policy.schemas.avro", raising=False)
    from pubsub_delta.policy import schemas

    monkeypatch.delattr(schemas, "avro", raising=False)
    for each in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, each)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FailedPrecondition, match=r"pip install 'pubsub-delta\[schemas\]'"):
        world.store.create_schema("states", type_, definition)
    world.publish("anything")
