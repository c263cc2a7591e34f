"""Tables that no row may be written to: such as fill their columns, or are gone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Field, Schema

from pubsub_delta import DeadLetterPolicy, InvalidArgument, SchemaSettings, TableConfig, TableState
from pubsub_delta.delivery import table_subscriptions
from pubsub_delta.policy.table_configs import check_table_config
from pubsub_delta.tables.lanes.direct.targets import DirectTarget
from pubsub_delta.tables.targets import Unwritable
from tests.lanes.table_world import DEAD, METADATA, NAME, TEXTS, TOPIC, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_table_with_constraints_is_refused(world: World) -> None:
    world.make(TEXTS)
    DeltaTable(str(world.table)).alter.add_constraint({"short": "data <> 'x'"})
    with pytest.raises(InvalidArgument, match=r"delta\.constraints\.short"):
        world.subscribe()


@pytest.mark.parametrize("key", ["CURRENT_DEFAULT", "delta.generationExpression"])
def test_a_table_whose_columns_fill_themselves_is_refused(world: World, key: str) -> None:
    """Delta: a writer fills in such columns, which deltalake does not; the rows would lack them."""
    text = Field("data", "string", metadata={key: "'x'"})
    DeltaTable.create(str(world.table), Schema([text]))
    with pytest.raises(InvalidArgument, match=rf"data: {key}"):
        world.subscribe()


@pytest.mark.parametrize(
    ("feature", "by_readers"),
    [("clustering", False), ("rowTracking", False), ("typeWidening", True), ("unheardOf", True)],
)
def test_a_table_with_a_feature_that_deltalake_does_not_write_is_refused(
    world: World, feature: str, by_readers: bool
) -> None:
    """ "It is one that `deltalake` writes …; `INVALID_ARGUMENT` names what is in the way"."""
    world.make()
    world.require(feature, by_readers=by_readers)
    with pytest.raises(InvalidArgument, match=feature):
        world.subscribe()


def test_a_table_that_got_such_a_feature_takes_no_rows_and_has_its_state(world: World) -> None:
    """ "SCHEMA_MISMATCH, and everything waits": no delivery fails."""
    world.make()
    world.subscribe()
    world.publish(b"a")
    world.require("clustering")
    done = world.store.write_table(NAME)
    assert (done.state, done.written, done.failed) == (TableState.SCHEMA_MISMATCH, 0, 0)
    assert "clustering" in done.problem


def test_nothing_stays_leased_where_an_earlier_write_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the table "cannot be written, nothing is leased, and no delivery fails"."""

    def refuse(*_: Any) -> None:
        raise Unwritable(TableState.PERMISSION_DENIED, "403 Forbidden")

    world.make()
    world.subscribe()
    world.publish(b"a")
    world.die_before_append(monkeypatch)
    world.publish(b"b")
    with monkeypatch.context() as patched:
        patched.setattr(DirectTarget, "append", refuse)
        done = world.store.write_table(NAME)
    assert (done.state, done.written, done.failed) == (TableState.PERMISSION_DENIED, 0, 0)
    assert world.states() == {"writing": 1, "available": 1}
    assert world.write() == (2, 0)
    assert world.data == [b"a", b"b"]


@pytest.mark.parametrize(
    "fault", [lambda world: shutil.rmtree(world.table), World.damage], ids=["gone", "damaged"]
)
def test_a_table_that_is_gone_or_damaged_is_no_reason_why_a_message_did_not_fit(
    world: World, fault: Callable[[World], object]
) -> None:
    """An attribute tells "the reason that the message couldn't be written", where it is known."""
    world.store.create_topic(DEAD)
    world.store.create_subscription("letters", DEAD)
    world.make()
    world.subscribe(use_table_schema=True, dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b"no JSON")
    name = world.store._subscription(NAME)
    table_subscriptions.write_messages(
        world.store._tables, name, world.clock.now, slices=5, forward=True
    )
    fault(world)
    world.store.maintain(tables=False, expiration=False, retention=False)
    (letter,) = world.store.pull("letters")
    assert letter.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"
    assert "CloudPubSubDeadLetterSourceDeliveryErrorMessage" not in letter.attributes


@pytest.mark.parametrize(
    "table", ["a" * 1024, f"/{'a/' * 511}b", f"s3://{'b' * 1018}/"], ids=["name", "path", "URL"]
)
def test_a_table_is_named_by_up_to_1024_characters(table: str) -> None:
    """Neither a name nor a path or URL is too long that a catalog or a storage takes."""
    config = TableConfig(table)
    given: dict[str, Any] = {"push_config": None, "enable_exactly_once_delivery": False}
    assert len(table) == 1024
    assert check_table_config(config, **given) == config
    with pytest.raises(InvalidArgument, match="names no table"):
        check_table_config(TableConfig(f"{table}a"), **given)


def test_a_field_that_is_metadata_as_well_is_refused(world: World) -> None:
    """One column cannot have both; which of them it was, no reader could tell."""
    fields = [{"name": "message_id", "type": "string"}]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    world.store.create_schema("order", "AVRO", definition)
    world.store.update_topic(TOPIC, schema_settings=SchemaSettings("order", "JSON"))
    world.make(METADATA)
    with pytest.raises(InvalidArgument, match="message_id is a field of the topic's schema and me"):
        world.subscribe(use_topic_schema=True, write_metadata=True)
    world.subscribe(use_topic_schema=True)
