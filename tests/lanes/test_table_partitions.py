"""Tables of subscriptions that are partitioned: values that cannot be those of a partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import InvalidArgument, Message, RetryPolicy
from tests.lanes.table_world import NAME, TOPIC, World

NUMBER = pa.int64()
LONGEST = 255 - len("place=")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def make(world: World, place: pa.Field) -> None:
    """Make a table that is partitioned by one column, and have objects written to it."""
    columns = pa.schema([place, ("number", NUMBER)])
    DeltaTable.create(str(world.table), columns, partition_by=[place.name])
    world.subscribe(use_table_schema=True, retry_policy=RetryPolicy("10s", "600s"))


def places(world: World) -> list[Any]:
    return [row["place"] for row in sorted(world.rows, key=lambda row: row["number"])]


@pytest.mark.parametrize(
    ("column", "wrong", "right"),
    [
        # deltalake commits '0.-5', and nobody can open the table any more
        (pa.field("place", pa.decimal128(9, 2)), '"-0.05"', '"-3.00"'),
        (pa.field("place", pa.decimal128(9, 2)), '"-7.25"', '"7.25"'),
        # a directory is named by the value
        (pa.field("place", pa.string()), f'"{"x" * (LONGEST + 1)}"', f'"{"x" * LONGEST}"'),
        (pa.field("place", pa.string()), f'"{" " * 84}"', f'"{" " * 83}"'),
        (pa.field("place", pa.float64()), "1e-300", "1e200"),
        # Delta: an empty text is NULL
        (pa.field("place", pa.string(), nullable=False), '""', '" "'),
    ],
    ids=["decimal", "decimal-of-more", "long", "long-as-encoded", "long-number", "empty"],
)
def test_a_value_that_no_partition_can_have_fails_its_message_alone(
    world: World, column: pa.Field, wrong: str, right: str
) -> None:
    """ "It does not fit. That is a failed delivery": the others are written, before and after."""
    make(world, column)
    first, second, third = (
        f'{{"place": {text}, "number": {number}}}'.encode()
        for number, text in enumerate([right, wrong, right])
    )
    world.publish(first, second)
    assert world.write() == (1, 1)
    world.publish(third)
    assert world.write() == (1, 0)
    assert len(set(places(world))) == 1
    assert len(places(world)) == 2


def test_a_table_that_is_partitioned_by_binary_values_is_refused(world: World) -> None:
    """Its readers would get other bytes: deltalake writes b"a" as "\\u0061"."""
    columns = pa.schema([("data", pa.binary()), ("number", NUMBER)])
    DeltaTable.create(str(world.table), columns, partition_by=["data"])
    with pytest.raises(InvalidArgument, match="data: BINARY"):
        world.subscribe()


def test_metadata_may_be_the_partition(world: World) -> None:
    columns = pa.schema(
        [
            ("data", pa.binary()),
            ("subscription_name", pa.string()),
            ("message_id", pa.string()),
            ("publish_time", pa.timestamp("us", "UTC")),
            ("attributes", pa.string()),
        ]
    )
    by = ["subscription_name", "publish_time"]
    DeltaTable.create(str(world.table), columns, partition_by=by)
    world.subscribe(write_metadata=True)
    world.store.publish(TOPIC, [Message(b"a"), Message(b"b", {"kind": "ä"}, "key")])
    assert world.write() == (2, 0)
    assert world.data == [b"a", b"b"]
    assert {row["subscription_name"] for row in world.rows} == {
        f"projects/local/subscriptions/{NAME}"
    }
    assert {row["publish_time"] for row in world.rows} == {world.clock.now()}
