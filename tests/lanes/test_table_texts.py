"""Tables of subscriptions whose texts have a length: CHAR(n) and VARCHAR(n)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pubsub_delta import InvalidArgument, RetryPolicy
from tests.lanes.table_world import World

DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("declared", ["varchar(3)", "char(3)"])
def test_a_text_that_is_too_long_for_its_column_fails_its_message_alone(
    world: World, declared: str
) -> None:
    """Spark: DELTA_EXCEED_CHAR_VARCHAR_LIMIT, ``length(size) <= 3``: characters, not bytes."""
    size = pa.field("size", pa.string(), metadata={DECLARED: declared})
    world.make(pa.schema([size, ("colour", pa.string())]))
    world.subscribe(use_table_schema=True, retry_policy=RetryPolicy("10s", "600s"))
    world.publish(b'{"size": "long"}', '{"size": "é€😀"}'.encode(), b'{"size": null}')
    world.publish(b'{"size": "", "colour": "magenta"}', b'{"size": "L   "}')
    assert world.write() == (3, 2)
    assert {row["size"] for row in world.rows} == {"é€😀", None, ""}


@pytest.mark.parametrize(
    ("type_", "declared"),
    [
        (pa.list_(pa.string()), "array<varchar(2)>"),
        (pa.struct([("x", pa.string())]), "struct<x:char(2)>"),
    ],
)
def test_lengths_within_other_types_are_refused(
    world: World, type_: pa.DataType, declared: str
) -> None:
    """ "A table that ``deltalake`` cannot write is refused by name": it holds to no length."""
    sizes = pa.field("sizes", type_, metadata={DECLARED: declared})
    world.make(pa.schema([sizes]))
    with pytest.raises(InvalidArgument, match=r"sizes: .*(char|varchar)\(2\)"):
        world.subscribe(use_table_schema=True)
