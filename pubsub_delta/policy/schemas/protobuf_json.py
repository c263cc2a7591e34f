"""Protocol Buffers in JSON: refuses what Python's parser takes for another value.

It takes ``true`` for a number, 1.5 for an enum, ``1_000`` for an integer, a text beyond the range
of a float for infinity, and text that is no base64 for fewer bytes. Other parsers refuse these
(protobuf.dev: ProtoJSON format).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from pubsub_delta.errors import shortened
from pubsub_delta.policy.json_texts import is_base64, is_number
from pubsub_delta.policy.schemas.types import SchemaMismatch

_SHOWN = 60
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
"""The texts of floating-point values that are no numbers."""


def checked(value: Mapping[str, Any], of: Descriptor) -> Mapping[str, Any]:
    """Return a JSON object of a message for the parser; SchemaMismatch for what it would misread.

    The parser refuses the rest: unknown names, values of wrong types, and integers out of range.
    """
    fields = _fields(of)
    return {
        name: _field(given, fields[name]) if name in fields else given
        for name, given in value.items()
    }


@lru_cache(maxsize=1024)
def _fields(of: Descriptor) -> Mapping[str, FieldDescriptor]:
    """Return the fields of a message by both of their names."""
    return {**of.fields_by_name, **{each.json_name: each for each in of.fields}}


def _field(given: Any, field: FieldDescriptor) -> Any:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry and isinstance(given, Mapping):
        key, value = (inner.fields_by_name[name] for name in ("key", "value"))
        if key.cpp_type in _INTEGERS:
            for each in given:
                _must(is_number(each), each, key)
        return {each: _one(given[each], value) for each in given}
    if field.is_repeated and isinstance(given, list):
        return [_one(each, field) for each in given]
    return _one(given, field)


def _one(given: Any, field: FieldDescriptor) -> Any:
    if given is None:
        return None
    if field.message_type is not None:
        # The parser takes an empty text or list for an empty message.
        _must(isinstance(given, Mapping), given, field)
        return checked(given, field.message_type)
    read = _READ.get(field.cpp_type)
    return given if read is None else read(given, field)


def _integer(given: Any, field: FieldDescriptor) -> Any:
    _must(not isinstance(given, str) or is_number(given), given, field)
    return given


def _floating(given: Any, field: FieldDescriptor) -> Any:
    """Return a number, so that the parser looks at its range, also of one that is a text."""
    _must(not isinstance(given, bool), given, field)
    if not isinstance(given, str) or given in _NO_NUMBERS:
        return given
    _must(is_number(given), given, field)
    return float(given)


def _enum(given: Any, field: FieldDescriptor) -> Any:
    if isinstance(given, str):
        _must(given in field.enum_type.values_by_name or is_number(given), given, field)
    elif isinstance(given, (bool, float)):
        _must(float(given).is_integer() and not isinstance(given, bool), given, field)
    return given


def _text_or_bytes(given: Any, field: FieldDescriptor) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        _must(isinstance(given, str) and is_base64(given), given, field)
    return given


_INTEGERS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)
_READ: Mapping[int, Callable[[Any, FieldDescriptor], Any]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    FieldDescriptor.CPPTYPE_FLOAT: _floating,
    FieldDescriptor.CPPTYPE_DOUBLE: _floating,
    FieldDescriptor.CPPTYPE_ENUM: _enum,
    FieldDescriptor.CPPTYPE_STRING: _text_or_bytes,
}


def _must(fits: bool, given: Any, field: FieldDescriptor) -> None:
    if not fits:
        shown = shortened(json.dumps(given, ensure_ascii=False), _SHOWN)
        raise SchemaMismatch(f"invalid message: field {field.full_name}: {shown} does not fit")
