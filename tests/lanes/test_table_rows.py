"""What the rows of table subscriptions are, and what becomes of messages that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import StructType

from pubsub_delta import (
    DeadLetterPolicy,
    FailedPrecondition,
    InvalidArgument,
    Message,
    NotFound,
    PubSub,
    PushConfig,
    RetryPolicy,
    SchemaSettings,
    SchemaType,
    TableConfig,
    TableState,
)
from pubsub_delta.delivery import sources, table_subscriptions, table_writes
from pubsub_delta.tables.store import Tables
from tests.lanes.table_world import (
    BYTES,
    DEAD,
    METADATA,
    NAME,
    TEXTS,
    TOPIC,
    World,
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# What a row is


def test_data_and_metadata_are_columns(world: World) -> None:
    # "subscription_name, message_id and publish_time in their own columns, all other properties in
    # a JSON object in the attributes column"
    world.make(METADATA)
    world.subscribe(write_metadata=True)
    sent = Message(b"one", {"kind": "é"}, "key")
    (message_id,) = world.store.publish(TOPIC, [sent]).message_ids
    assert world.write() == (1, 0)
    (row,) = world.rows
    assert json.loads(row.pop("attributes")) == {"kind": "é", "ordering_key": "key"}
    assert row == {
        "data": b"one",
        "subscription_name": f"projects/local/subscriptions/{NAME}",
        "message_id": message_id,
        "publish_time": world.clock.now(),
    }
    assert world.write() == (0, 0)


def test_without_metadata_data_is_all_and_other_columns_are_null(world: World) -> None:
    world.make(METADATA)
    world.subscribe()
    world.publish(b"one")
    assert world.write() == (1, 0)
    assert world.rows == [{**dict.fromkeys(METADATA.names), "data": b"one"}]


def test_attributes_may_be_a_map(world: World) -> None:
    columns = METADATA.set(4, pa.field("attributes", pa.map_(pa.string(), pa.string())))
    world.make(columns)
    world.subscribe(write_metadata=True)
    world.store.publish(TOPIC, [Message(b"one", {"kind": "small"})])
    assert world.write() == (1, 0)
    assert world.rows[0]["attributes"] == [("kind", "small")]


AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}],
    }
)


def with_topic_schema(world: World) -> None:
    pytest.importorskip("fastavro")
    world.store.create_schema("order", SchemaType.AVRO, AVRO)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("order", "JSON"))


def test_the_fields_of_the_topics_schema_are_columns(world: World) -> None:
    # "When true, use the topic's schema as the columns to write to"
    with_topic_schema(world)
    world.make(pa.schema([("count", pa.int64()), ("sku", pa.string()), ("more", pa.string())]))
    world.subscribe(use_topic_schema=True)
    world.publish(b'{"sku": "a", "count": 3}')
    assert world.write() == (1, 0)
    assert world.rows == [{"count": 3, "sku": "a", "more": None}]


def test_a_field_without_a_column_is_refused_or_dropped(world: World) -> None:
    # "drops any fields that are part of the topic schema that are not part of the table schema"
    with_topic_schema(world)
    world.make(pa.schema([("sku", pa.string())]))
    with pytest.raises(InvalidArgument, match="the table has no column count"):
        world.subscribe(use_topic_schema=True)
    world.subscribe(use_topic_schema=True, drop_unknown_fields=True)
    world.publish(b'{"sku": "a", "count": 3}')
    assert world.write() == (1, 0)
    assert world.rows == [{"sku": "a"}]


def test_a_field_of_another_type_than_its_column_is_refused(world: World) -> None:
    with_topic_schema(world)
    world.make(pa.schema([("sku", pa.string()), ("count", pa.string())]))
    with pytest.raises(InvalidArgument, match="column count is string; int32 or int64"):
        world.subscribe(use_topic_schema=True)


def test_a_topic_without_a_schema_has_no_columns(world: World) -> None:
    world.make()
    with pytest.raises(InvalidArgument, match="has no schema"):
        world.subscribe(use_topic_schema=True)


JSON_COLUMNS = Schema(
    [
        Field("sku", "string", nullable=False),
        Field("count", "integer"),
        Field("price", "decimal(6,2)"),
        Field("at", "timestamp"),
        Field("box", StructType([Field("size", "integer")])),
    ]
)


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b'{"sku": "a"}', {"sku": "a", "count": None, "price": None, "at": None}),
        (b'{"sku": "a", "count": "3", "price": 1.25}', {"count": 3, "price": "1.25"}),
        (b'{"sku": "a", "at": "2026-01-01T00:00:00Z"}', {"at": "2026-01-01 00:00:00+00:00"}),
        (b'{"sku": "a", "box": {"size": 3}}', {"box": {"size": 3}}),
        (b'{"sku": "a", "box": {"size": 3, "unit": 1}}', "box: there is no field for unit"),
        (b"[1]", "data is not a JSON object"),
        (b"\xff", "data is not valid UTF-8"),
        (b'{"sku": null}', "column sku is NOT NULL"),
        (b'{"sku": 5}', "sku: 5 is no string"),
        (b'{"sku": "a", "count": 2147483648}', "count: 2147483648 is no int32"),
        (b'{"sku": "a", "count": 1.5}', "is no int32"),
        (b'{"sku": "a", "price": 12345.67}', "is no decimal"),
        (b'{"sku": "a", "price": 1.234}', "is no decimal"),
        (b'{"sku": "a", "at": "yesterday"}', "is no timestamp"),
        (b'{"sku": "a", "colour": 1}', "there is no column for colour"),
    ],
)
def test_the_members_of_json_are_columns(
    world: World, data: bytes, row: dict[str, Any] | str
) -> None:
    world.make(JSON_COLUMNS)
    world.subscribe(use_table_schema=True)
    world.publish(data)
    found = world.write()
    if isinstance(row, dict):
        assert found == (1, 0)
        assert {name: each for name, each in texts(world.rows[0]).items() if name in row} == texts(
            row
        )
    else:
        assert (found, world.rows) == ((0, 1), [])
        assert row in reason(world)


def texts(row: dict[str, Any]) -> dict[str, str]:
    return {name: str(each) for name, each in row.items()}


def reason(world: World) -> str:
    """Return why the only message does not fit."""
    source = sources.source(world.store._tables, world.store._subscription(NAME))
    spans = world.store._tables.ack_states.read(source.uid).spans
    (why,) = table_writes.reasons(world.store._tables, source, source.messages.rows(spans)).values()
    return why


def test_members_without_a_column_are_dropped_if_that_is_asked_for(world: World) -> None:
    world.make(JSON_COLUMNS)
    world.subscribe(use_table_schema=True, drop_unknown_fields=True)
    world.publish(b'{"sku": "a", "colour": 1}')
    assert world.write() == (1, 0)


# What does not fit


def test_what_does_not_fit_fails_and_the_others_are_written(world: World) -> None:
    world.make(TEXTS)
    world.subscribe()
    world.publish(b"a", b"\xff", b"c")
    assert world.write() == (2, 2)  # it fails once more, alone: then nothing fits
    assert world.data == ["a", "c"]
    assert world.states() == {"available": 1}


def test_a_retry_policy_makes_what_failed_wait(world: World) -> None:
    world.make(TEXTS)
    world.subscribe(retry_policy=RetryPolicy("10s", "600s"))
    world.publish(b"\xff")
    assert world.write() == (0, 1)
    assert world.write() == (0, 0)
    world.clock.advance(10)
    assert world.write() == (0, 1)


def test_after_its_last_attempt_it_is_a_dead_letter_that_tells_why(world: World) -> None:
    # "CloudPubSubDeadLetterSourceDeliveryErrorMessage … the reason that the message couldn't be
    # written"
    world.store.create_topic(DEAD)
    world.store.create_subscription("letters", DEAD)
    world.make(TEXTS)
    world.subscribe(dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b"a", b"\xff")
    assert world.write() == (1, 5)
    (letter,) = world.store.pull("letters")
    assert letter.data == b"\xff"
    told = {
        key.removeprefix("CloudPubSubDeadLetterSource"): v for key, v in letter.attributes.items()
    }
    assert told["DeliveryErrorMessage"] == "data is not valid UTF-8, as a text must be"
    assert (told["DeliveryCount"], told["Subscription"]) == ("5", NAME)
    assert world.states() == {}


def test_a_long_reason_fits_into_its_attribute(world: World) -> None:
    # "Attribute value size: 1,024 bytes"
    world.store.create_topic(DEAD)
    world.store.create_subscription("letters", DEAD)
    world.make()
    world.subscribe(use_table_schema=True, dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(json.dumps({"é" * 1000: 1}).encode())
    assert world.write() == (0, 5)
    (letter,) = world.store.pull("letters")
    why = letter.attributes["CloudPubSubDeadLetterSourceDeliveryErrorMessage"]
    assert why.startswith("there is no column for éé")
    assert 1022 < len(why.encode()) <= 1024


def test_a_key_waits_for_its_message_that_does_not_fit(world: World) -> None:
    # "a failed message is redelivered together with every later message of its key in its batch"
    world.make(TEXTS)
    world.subscribe(enable_message_ordering=True, retry_policy=RetryPolicy("10s", "600s"))
    world.publish(b"a", b"\xff", b"c", key="one")
    world.publish(b"b", key="two")
    assert world.write() == (2, 1)
    assert world.data == ["a", "b"]
    assert world.states() == {"available": 1, "backing_off": 1}


# What is refused


def test_nobody_pulls_what_is_written_to_a_table(world: World) -> None:
    world.make()
    world.subscribe()
    with pytest.raises(FailedPrecondition, match="clear its table_config to pull"):
        world.store.pull(NAME)
    with pytest.raises(FailedPrecondition, match="clear its table_config to pull"):
        world.store.subscribe(NAME, print)  # at once, and not by its future
    world.store.update_subscription(NAME, table_config=None)
    assert world.store.pull(NAME).message_count == 0
    with pytest.raises(FailedPrecondition, match="has no table_config"):
        world.store.write_table(NAME)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"push_config": PushConfig("https://example.com/")}, "together with a push_config"),
        ({"enable_exactly_once_delivery": True}, "together with enable_exactly_once_delivery"),
        ({"use_topic_schema": True, "use_table_schema": True}, "one of them is accepted"),
        ({"table": "/etc/passwd"}, "is not below"),
        ({"write_metadata": "no"}, "write_metadata: 'no' is neither True nor False"),
        ({"table": ""}, "names no table"),
        ({"table": "a.b.c.d"}, "names no table"),
        ({"table": "../orders"}, "names no table"),
        ({"table": "shop/../../topics"}, "names no table"),
        ({"table": "shop/\0orders"}, "names no table"),
        ({"table": "s3://bucket/orders"}, "is not below"),
    ],
)
def test_what_does_not_go_together_is_refused(
    world: World, fields: dict[str, Any], why: str
) -> None:
    world.make()
    with pytest.raises(InvalidArgument, match=why):
        world.subscribe(**fields)


def test_the_tables_of_the_store_are_nobodys_target(tmp_path: Path) -> None:
    world = World(tmp_path)
    store = PubSub(None, str(world.root), tables_root=str(tmp_path))
    uid = store.get_topic(TOPIC).uid
    for table in (f"{world.root}/messages/{uid}", f"store/messages/{uid}", "store.topics"):
        config = TableConfig(table)
        with pytest.raises(InvalidArgument, match="among the tables of the store"):
            store.create_subscription(NAME, TOPIC, table_config=config)
    world.make()
    made = store.create_subscription(NAME, TOPIC, table_config=TableConfig(str(world.table)))
    assert made.table_config is not None
    assert made.table_config.state is TableState.ACTIVE


def test_the_tables_of_a_store_are_nobodys_target_however_their_root_is_written(
    tmp_path: Path,
) -> None:
    """Nor are those of another store: as of one in a catalog, which is somewhere below the root."""
    world, other = World(tmp_path / "one"), World(tmp_path / "other")
    other.store.create_subscription("billing", TOPIC)
    topic, uid = other.store.get_topic(TOPIC).uid, other.store.get_subscription("billing").uid
    own = [f"messages/{topic}", f"positions/{topic}", f"ack_state/{uid}", "topics"]
    own += ["subscriptions", "snapshots", "schemas"]
    for root in (world.root, other.root):
        store = PubSub(None, str(root), tables_root=f"file:{tmp_path}")
        for table in own:
            with pytest.raises(InvalidArgument, match="among the tables of the store"):
                store.create_subscription(
                    NAME, TOPIC, table_config=TableConfig(f"other/store/{table}")
                )


def test_a_subscription_is_shown_while_the_storage_of_its_table_does_not_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table can be elsewhere than the store."""
    world.make()
    world.subscribe()

    def fail(*_: object, **__: object) -> None:
        raise OSError("no answer")

    monkeypatch.setattr(Tables, "target", fail)
    shown = world.store.get_subscription(NAME)
    assert shown.table_config is not None
    assert [each.table_config for each in world.store.list_subscriptions()] == [shown.table_config]


def test_no_link_leads_to_the_tables_of_the_store(tmp_path: Path) -> None:
    world = World(tmp_path / "made")
    uid = world.store.get_topic(TOPIC).uid
    (tmp_path / "linked").symlink_to(tmp_path / "made")
    linked = PubSub(None, str(world.root), tables_root=str(tmp_path / "linked"))
    world.make()
    world.table.with_name("own").symlink_to(world.root / "messages" / uid)
    for store, table in (
        (linked, f"{tmp_path}/linked/store/messages/{uid}"),
        (world.store, "shop.own"),
    ):
        with pytest.raises(InvalidArgument, match="among the tables of the store"):
            store.create_subscription(NAME, TOPIC, table_config=TableConfig(table))
    world.table.with_name("other").symlink_to(world.table)
    assert world.store.create_subscription(NAME, TOPIC, table_config=TableConfig("shop.other"))


def test_a_table_must_be_there(world: World) -> None:
    with pytest.raises(NotFound, match="there is no Delta table"):
        world.subscribe()


def test_a_directory_beside_the_root_is_not_below_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    lake, beside = tmp_path / "lake", tmp_path / "lake-of-others" / "orders"
    store = PubSub(None, str(world.root), tables_root=str(lake))
    DeltaTable.create(str(beside), BYTES)
    with pytest.raises(InvalidArgument, match="is not below"):
        store.create_subscription(NAME, TOPIC, table_config=TableConfig(str(beside)))


def test_one_slice_is_one_commit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_writes, "SLICE_MESSAGES", 2)
    world.make()
    world.subscribe()
    world.publish(b"a", b"b", b"c")
    name = world.store._subscription(NAME)
    done = table_subscriptions.write_messages(world.store._tables, name, world.clock.now, slices=1)
    assert (done.written, done.is_done) == (2, False)
    assert world.data == [b"a", b"b"]
