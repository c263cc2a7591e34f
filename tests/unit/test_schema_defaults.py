"""Avro: which defaults of fields are accepted, and what they are."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("avro")

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.schemas.avro import AvroCodec, check_definition
from pubsub_delta.schemas import Encoding
from tests.unit.schema_cases import AREA, ENUM, FIXED, INNER, logical, record


@pytest.mark.parametrize(
    ("type_", "default", "told"),
    [
        (["null", "int"], True, "of none of null, int"),
        (["null", {"type": "map", "values": "int"}], "a", "of none of null, map"),
        ("int", True, "type int"),
        ("int", 2**31, "type int"),
        ("long", 2**63, "type long"),
        ("string", "\ud800", "type string"),
        ("bytes", "\u0100", "up to U.00FF"),
        (FIXED, "a", "2 characters"),
        (ENUM, "C", "one of A, B"),
        ({"type": "array", "items": "bytes"}, ["\u0100"], "up to U.00FF"),
        ({"type": "map", "values": "int"}, {"\ud800": 1}, "type string"),
        (INNER, {}, "'n' is missing"),
        (logical("int", "date"), 2**31 - 1, "the years 1 to 9999"),
        (logical("long", "timestamp-millis"), 2**62, "the years 1 to 9999"),
        (logical("long", "time-micros"), 2**62, "the years 1 to 9999"),
        (logical("bytes", "decimal", precision=2, scale=1), "\u00ff\u0000", "more than 2 digits"),
    ],
)
def test_a_default_that_is_no_value_of_its_type_is_refused(
    type_: Any, default: Any, told: str
) -> None:
    """A definition that is accepted takes messages: it reads their fields by its defaults."""
    definition = record({"name": "x", "type": type_, "default": default})
    with pytest.raises(InvalidArgument, match=f"default of field 'x'.*{told}"):
        check_definition(definition)


@pytest.mark.parametrize(
    ("type_", "default", "expected"),
    [
        (["null", "string"], None, None),
        (["int", "null"], None, None),
        (["boolean", {"type": "array", "items": "int"}], [1], "[1]"),
        ({**INNER, "fields": [*INNER["fields"], {**AREA}]}, {"n": 1, "m": 2}, {"n": 1, "area": 0}),
        ("double", 10**300, 1e300),
    ],
)
def test_a_default_is_written_without_the_name_of_its_branch(
    type_: Any, default: Any, expected: Any
) -> None:
    """Avro: "the default value must correspond to one element of the union". Others are ignored."""
    definition = record({"name": "x", "type": type_, "default": default})
    check_definition(definition)
    codec = AvroCodec(definition)
    assert AvroCodec(record()).values(b"{}", Encoding.JSON, codec) == {"x": expected}


def test_a_default_of_types_within_each_other_is_looked_at_once() -> None:
    """A definition is untrusted: looking at each branch again at each level took hours."""
    second = {"type": "record", "name": "B", "fields": [{"name": "n", "type": ["null", "A", "B"]}]}
    first = {
        "type": "record",
        "name": "A",
        "fields": [{"name": "n", "type": ["null", "A", second]}],
    }
    for leaf, fits in ((None, True), ("x", False)):
        default: Any = leaf
        for _ in range(30):
            default = {"n": default}
        definition = record({"name": "x", "type": ["null", first], "default": default})
        refused = pytest.raises(InvalidArgument, match="of none of")
        outcome: AbstractContextManager[object] = nullcontext() if fits else refused
        with outcome:
            check_definition(definition)
