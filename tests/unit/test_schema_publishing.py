"""Publishing to topics with a schema, on a store in memory: what fits, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("fastavro")

from pubsub_delta import (
    DeadLetterPolicy,
    Encoding,
    FailedPrecondition,
    InvalidArgument,
    Message,
    SchemaSettings,
)
from pubsub_delta.delivery.schemas import typed_reader_of
from pubsub_delta.operations.publish import publish_micro_batch
from tests.model.memory import LAYOUT
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.schema_cases import (
    AVRO,
    AVRO_INCOMPATIBLE,
    AVRO_WITH_AREA,
    CODE,
    NO_STATE,
    OHIO,
    PROTO,
    STATES,
    UTAH,
    avro_bytes,
    ids,
    record,
    states_world,
    told,
)

DELETED = "_deleted-schema_"


@pytest.fixture
def world() -> InMemory:
    return states_world()


# Publishing


def attributes(world: InMemory) -> list[dict[str, str]]:
    return [dict(message.attributes) for message in world.store.pull(NAME)]


def test_messages_that_fit_get_pubsubs_attributes(world: InMemory) -> None:
    """Pub/Sub: ``googclient_schemaencoding`` and its sisters, on each message of such a topic."""
    world.store.publish(TOPIC, [Message(UTAH, {"own": "1"})])
    assert attributes(world) == [
        {
            "own": "1",
            "googclient_schemaencoding": "JSON",
            "googclient_schemaname": STATES,
            "googclient_schemarevisionid": ids(world)[0],
        }
    ]


@pytest.mark.parametrize("name", ["encoding", "name", "revisionid"])
def test_clients_cannot_set_those_themselves(world: InMemory, name: str) -> None:
    for topic in (TOPIC, LETTERS):
        with pytest.raises(InvalidArgument, match="'goog'"):
            world.store.publish(topic, [Message(UTAH, {f"googclient_schema{name}": "x"})])


def test_one_that_does_not_fit_fails_the_whole_request(world: InMemory) -> None:
    wanted = (
        rf"messages\[1\].data: it does not fit schema {STATES} in JSON: field 'name' is missing"
    )
    with pytest.raises(InvalidArgument, match=wanted):
        world.store.publish(TOPIC, [UTAH, NO_STATE, UTAH])
    assert world.stored() == []


def test_rows_of_an_arrow_table_are_held_against_the_schema(world: InMemory) -> None:
    world.store.publish(TOPIC, pa.table({"data": [UTAH, UTAH]}))
    with pytest.raises(InvalidArgument, match=r"messages\[2\].data"):
        world.store.publish(TOPIC, pa.table({"data": [UTAH, UTAH, NO_STATE]}))
    assert world.stored() == [UTAH.decode()] * 2


def test_attributes_alone_are_no_message_of_a_record(world: InMemory) -> None:
    with pytest.raises(InvalidArgument, match="invalid JSON"):
        world.store.publish(TOPIC, [Message(b"", {"a": "1"})])


def test_the_newest_revision_that_a_message_fits_is_told(world: InMemory) -> None:
    first = ids(world)[0]
    world.store.commit_schema("states", AVRO_WITH_AREA)
    second = ids(world)[0]
    world.store.publish(TOPIC, [UTAH, OHIO])
    found = [each["googclient_schemarevisionid"] for each in attributes(world)]
    assert found == [first, second]


def test_fields_are_those_of_the_newest_revision_of_the_range(world: InMemory) -> None:
    """A table that a subscription is written to has the columns of the schema as it is now."""
    first = ids(world)[0]
    world.store.commit_schema("states", AVRO_WITH_AREA)
    settings = SchemaSettings("states", "JSON", last_revision_id=first)
    columns = []
    for given in (None, settings):
        if given is not None:
            world.store.update_topic(TOPIC, schema_settings=given)
        reader = typed_reader_of(world.tables, world.store.get_topic(TOPIC))
        columns.append([name for name, _ in reader.fields.fields])
    assert columns == [["name", "area"], ["name"]]


def test_only_revisions_of_the_range_count(world: InMemory) -> None:
    """Pub/Sub: ``first_revision_id`` and ``last_revision_id``, both inclusive."""
    first = ids(world)[0]
    world.store.commit_schema("states", AVRO_WITH_AREA)
    second = ids(world)[0]
    settings = SchemaSettings("states", "JSON", first_revision_id=second)
    world.store.update_topic(TOPIC, schema_settings=settings)
    with pytest.raises(InvalidArgument, match=rf"'area' is missing \(revision {second}\)"):
        world.store.publish(TOPIC, [UTAH])
    settings = SchemaSettings("states", "JSON", last_revision_id=first)
    world.store.update_topic(TOPIC, schema_settings=settings)
    with pytest.raises(InvalidArgument, match="'area' is not in the schema"):
        world.store.publish(TOPIC, [OHIO])


def test_where_a_bound_is_deleted_the_next_revision_counts(world: InMemory) -> None:
    first = ids(world)[0]
    world.store.commit_schema("states", AVRO_WITH_AREA)
    settings = SchemaSettings("states", "JSON", first, first)
    world.store.update_topic(TOPIC, schema_settings=settings)
    world.store.publish(TOPIC, [UTAH])
    world.store.delete_schema_revision(f"states@{first}")
    with pytest.raises(FailedPrecondition, match=r"no revision of .*states is left"):
        world.store.publish(TOPIC, [UTAH])
    changed = SchemaSettings("states", "JSON", first)  # as it is stored, with another end
    world.store.update_topic(TOPIC, schema_settings=changed)
    world.store.publish(TOPIC, [OHIO])


def test_binary_messages_are_held_against_binary_encoding(world: InMemory) -> None:
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", "BINARY"))
    world.store.publish(TOPIC, [avro_bytes(AVRO, {"name": "Utah"})])
    with pytest.raises(InvalidArgument, match="in BINARY: invalid Avro"):
        world.store.publish(TOPIC, [UTAH])


def test_protocol_buffers_are_published_in_both_encodings() -> None:
    pytest.importorskip("grpc_tools")
    world = InMemory()
    world.store.create_schema("states", "PROTOCOL_BUFFER", PROTO)
    for encoding, good, bad in (("JSON", UTAH, NO_STATE), ("BINARY", b"\x0a\x01a", b"\x10\x01")):
        world.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", encoding))
        world.store.publish(TOPIC, [good])
        with pytest.raises(InvalidArgument, match=rf"does not fit schema .* in {encoding}"):
            world.store.publish(TOPIC, [bad])


def test_a_publisher_fails_the_batch_with_what_does_not_fit(world: InMemory) -> None:
    """As with Google's client, whose batch is one request."""
    with world.store.publisher(TOPIC) as publisher:
        assert publisher.publish(UTAH).result(20)
        with pytest.raises(InvalidArgument, match="does not fit"):
            publisher.publish(NO_STATE).result(20)


def test_a_dead_letter_is_forwarded_whatever_the_schema_of_its_topic(world: InMemory) -> None:
    # A message that was received is not lost because another topic would not have taken it.
    world.store.create_schema("letters", "AVRO", record(CODE, name="Letter"))
    world.store.update_topic(LETTERS, schema_settings=SchemaSettings("letters", "JSON"))
    policy = DeadLetterPolicy(LETTERS, 5)
    world.store.update_subscription(NAME, dead_letter_policy=policy)
    world.store.publish(TOPIC, [UTAH])
    for _ in range(5):
        assert [each.data for each in world.pull()] == [UTAH.decode()]
        world.driver.clock.advance(11)
    assert world.pull() == []
    assert world.stored(LETTERS) == [UTAH.decode()]


def test_a_publish_that_has_landed_is_repeated_whatever_the_schema_is_by_now(
    world: InMemory,
) -> None:
    """A caller-supplied idempotency id makes the second attempt a no-op."""
    first = world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 1))
    world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 2))
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", "BINARY"))
    again = world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 1))
    assert list(again.message_ids) == list(first.message_ids)
    world.store.delete_schema("states")
    assert world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 1)).message_count == 1
    with pytest.raises(FailedPrecondition, match="was deleted"):
        world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 3))
    assert world.stored() == [UTAH.decode()] * 2


def forget_publishes(world: InMemory) -> None:
    """Have the log forget all but one more publish, as ``maintain(log_retention=…)`` does."""
    world.store.publish(TOPIC, [UTAH])
    world.driver.world.lane.cut_log(LAYOUT.messages(world.store.get_topic(TOPIC).uid))
    world.store = world.driver.open()


def test_one_that_has_landed_and_that_the_log_has_forgotten_is_repeated(world: InMemory) -> None:
    """The table knows the last publish of each application."""
    world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 1))
    forget_publishes(world)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", "BINARY"))
    world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 1))
    with pytest.raises(InvalidArgument, match="does not fit schema"):
        world.store.publish(TOPIC, [UTAH], idempotency_id=("job", 2))
    assert world.stored() == [UTAH.decode()] * 2


def test_a_micro_batch_that_the_log_has_forgotten_is_found_published(world: InMemory) -> None:
    """ "the query finds it published whenever it is started again" """
    world.store.publish(TOPIC, [UTAH], idempotency_id=("query", 7))
    forget_publishes(world)
    world.store.delete_schema("states")

    def run(batch_id: int) -> None:
        frame: Any = None  # it is not read
        topic, tables = world.store.get_topic(TOPIC), world.tables
        publish_micro_batch(tables, topic, frame, world.now, "query", batch_id, None)

    run(7)
    with pytest.raises(FailedPrecondition, match="was deleted"):
        run(8)
    assert world.stored() == [UTAH.decode()] * 2


# Deleted, and created anew


def test_a_topic_whose_schema_is_deleted_says_so_and_takes_nothing(world: InMemory) -> None:
    """Pub/Sub: "_deleted-schema_"; "attempts to publish to topics that use it fail"."""
    world.store.delete_schema("states")
    settings = told(world)
    assert settings is not None
    assert (settings.schema, settings.encoding) == (DELETED, Encoding.JSON)
    with pytest.raises(FailedPrecondition, match=r"schema of topic .* was deleted"):
        world.store.publish(TOPIC, [UTAH])
    assert world.store.update_topic(TOPIC, labels={"a": "b"}).schema_settings == settings


def test_a_schema_of_the_same_name_is_another_one(world: InMemory) -> None:
    """A topic knows its schema by uid: the new one has nothing of the old one."""
    world.store.delete_schema("states")
    world.store.create_schema("states", "AVRO", AVRO_INCOMPATIBLE)
    settings = told(world)
    assert settings is not None
    assert settings.schema == DELETED
    with pytest.raises(FailedPrecondition, match="was deleted"):
        world.store.publish(TOPIC, [UTAH])
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("states", "JSON"))
    world.store.publish(TOPIC, [b'{"name": 1}'])


def test_a_topic_of_the_same_name_has_no_schema(world: InMemory) -> None:
    world.store.delete_topic(TOPIC)
    world.store.create_topic(TOPIC)
    assert told(world) is None


def test_a_topic_that_is_forgotten_while_somebody_publishes_has_no_schema(world: InMemory) -> None:
    topic = world.store.get_topic(TOPIC)
    world.store.delete_topic(TOPIC)
    world.tables.registry.forget_topic(topic.uid)
    told = world.tables.registry.schema_of(topic)
    assert told == (replace(topic, schema_settings=None), None)
