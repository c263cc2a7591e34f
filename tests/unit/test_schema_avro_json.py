"""Avro's JSON: what is no value of its type."""

from __future__ import annotations

import json

import pytest

from pubsub_delta.errors import InvalidArgument
from tests.unit.in_memory import InMemory

ARRAY = json.dumps(
    {
        "type": "record",
        "name": "Flight",
        "fields": [{"name": "legs", "type": {"type": "array", "items": "int"}}],
    }
)


@pytest.mark.parametrize("value", ["5", '"12"', '{"0": 1}', "null"])
def test_an_array_of_avro_is_an_array_of_json(value: str) -> None:
    store = InMemory().store
    with pytest.raises(InvalidArgument, match="an array is accepted"):
        store.validate_message(f'{{"legs": {value}}}', "JSON", type="AVRO", definition=ARRAY)
    store.validate_message('{"legs": [1, 2]}', "JSON", type="AVRO", definition=ARRAY)


@pytest.mark.parametrize("type_", ["double", "long"])
def test_a_number_of_too_many_digits_is_told_as_one(type_: str) -> None:
    """An error tells what is wrong and what is accepted, and not how to set up Python."""
    record = {"type": "record", "name": "A", "fields": [{"name": "n", "type": type_}]}
    given = f'{{"n": {"7" * 5_000}}}'
    with pytest.raises(InvalidArgument, match="a number has too many digits") as told:
        InMemory().store.validate_message(given, "JSON", type="AVRO", definition=json.dumps(record))
    assert "sys." not in str(told.value)
