"""Converts values of JSON to columns of a table."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from pubsub_delta.clock import read_time
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.schemas.validation import SchemaMismatch


def value_of(type_: pa.DataType, value: Any, name: str) -> Any:
    """Convert a JSON value for an Arrow type; SchemaMismatch with the name of the member.

    As in BigQuery a number can be a text, bytes are base64, a time is RFC 3339 and a date
    ``YYYY-MM-DD``; null is a value of every type.
    """
    if value is None:
        return None
    try:
        return _value(type_, value, name)
    except (ValueError, TypeError, InvalidOperation, binascii.Error, InvalidArgument, KeyError):
        raise SchemaMismatch(f"{name}: {_shown(value)} is no {type_}") from None


def _value(type_: pa.DataType, value: Any, name: str) -> Any:
    types = pa.types
    if types.is_list(type_):
        return [value_of(type_.value_type, each, name) for each in _of(list, value)]
    if types.is_map(type_):
        return [
            (key, value_of(type_.item_type, each, name)) for key, each in _of(dict, value).items()
        ]
    if types.is_struct(type_):
        return _record(type_, _of(dict, value), name)
    if types.is_boolean(type_):
        return _of(bool, value)
    if types.is_integer(type_):
        return _whole(type_, value)
    if types.is_floating(type_):
        return float(_number(value))
    if types.is_decimal(type_):
        return _decimal(type_, value)
    text = _of(str, value)
    if types.is_binary(type_):
        return base64.b64decode(text, validate=True)
    if types.is_date(type_):
        return date.fromisoformat(text)
    if types.is_timestamp(type_):
        return read_time(text, name) if type_.tz else datetime.fromisoformat(text)
    if types.is_string(type_):
        return text
    raise TypeError(type_)


def _record(type_: pa.DataType, value: Mapping[str, Any], name: str) -> dict[str, Any]:
    fields = {each.name: each.type for each in type_}
    unknown = value.keys() - fields.keys()
    if unknown:
        raise SchemaMismatch(f"{name}: there is no field for {min(unknown)}")
    return {key: value_of(fields[key], each, f"{name}.{key}") for key, each in value.items()}


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise TypeError(value)
    return value


def _whole(type_: pa.DataType, value: Any) -> int:
    number = Decimal(str(_number(value)))
    whole = int(number)
    limit = 1 << (type_.bit_width - 1)
    if whole != number or not -limit <= whole < limit:
        raise ValueError(value)
    return whole


def _decimal(type_: pa.DataType, value: Any) -> Decimal:
    """Return a decimal number that fits in the type without rounding."""
    number = Decimal(str(_number(value)))
    exact = number.quantize(Decimal(1).scaleb(-type_.scale))
    if exact != number or len(exact.as_tuple().digits) > type_.precision:
        raise ValueError(value)
    return exact


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
