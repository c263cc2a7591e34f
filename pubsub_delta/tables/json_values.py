"""Converts values of JSON to columns of a table."""

from __future__ import annotations

import base64
import math
import re
from datetime import date, datetime
from decimal import Context, Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from pubsub_delta.clock import read_time
from pubsub_delta.policy.json_texts import is_number
from pubsub_delta.policy.schemas.validation import SchemaMismatch

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?", re.ASCII)
"""How a date is written, and a time without a zone; each release of Python reads other texts."""
_NO_NUMBER = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII)


def value_of(type_: pa.DataType, value: Any, name: str, *, drops_unknown: bool = False) -> Any:
    """Convert a JSON value for an Arrow type; SchemaMismatch with the name of the member.

    As in BigQuery a number can be a text, bytes are base64, a time is RFC 3339 and a date
    ``YYYY-MM-DD``; null is a value of every type. ``drops_unknown``: whether members of a record
    that has no such field are left out.
    """
    if value is None:
        return None
    try:
        return _value(type_, value, name, drops_unknown=drops_unknown)
    except (ValueError, TypeError, ArithmeticError, KeyError):
        raise SchemaMismatch(f"{name}: {_shown(value)} is no {type_}") from None


def _value(type_: pa.DataType, value: Any, name: str, *, drops_unknown: bool) -> Any:
    types, within = pa.types, partial(value_of, drops_unknown=drops_unknown)
    if types.is_list(type_):
        return [within(type_.value_type, each, name) for each in _of(list, value)]
    if types.is_map(type_):
        items = _of(dict, value).items()
        return [(key, within(type_.item_type, each, name)) for key, each in items]
    if types.is_struct(type_):
        fields = {each.name: each.type for each in type_}
        members = _of(dict, value)
        unknown = members.keys() - fields.keys()
        if unknown and not drops_unknown:
            raise SchemaMismatch(f"{name}: there is no field for {min(unknown)}")
        known = ((key, members[key]) for key in members if key in fields)
        return {key: within(fields[key], each, f"{name}.{key}") for key, each in known}
    if types.is_boolean(type_):
        return _of(bool, value)
    if types.is_integer(type_):
        return _whole(type_, value)
    if types.is_floating(type_):
        return _floating(type_, value)
    if types.is_decimal(type_):
        return _decimal(type_, value)
    text = _of(str, value)
    if types.is_binary(type_):
        return base64.b64decode(text, validate=True)
    if types.is_date(type_):
        return _date(text)
    if types.is_timestamp(type_):
        return read_time(text, name) if type_.tz else _without_zone(text, name)
    if types.is_string(type_):
        return text
    raise TypeError(type_)


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(value)
    return value


def _date(text: str) -> date:
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    return date.fromisoformat(text)


def _without_zone(text: str, name: str) -> datetime:
    """Return a time as it is on a watch; midnight for a date.

    A finer time than microseconds is the next one, as that of a column with a zone.
    """
    if not _TIME.fullmatch(text):
        text = f"{_date(text)}T00:00:00"
    return read_time(f"{text}Z", name).replace(tzinfo=None)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise TypeError(value)
    if isinstance(value, str) and not (is_number(value) or _NO_NUMBER.fullmatch(value)):
        raise ValueError(value)
    return value


def _whole(type_: pa.DataType, value: Any) -> int:
    number = Decimal(str(_number(value)))
    limit = 1 << (type_.bit_width - 1)
    # The range comes first: ``int`` of 1e1000000 has a million digits, and takes minutes.
    if not -limit <= number < limit or int(number) != number:
        raise ValueError(value)
    return int(number)


def _floating(type_: pa.DataType, value: Any) -> float:
    """Return a number that is finite in the type, unless it is a text such as ``Infinity``."""
    found = float(_number(value))
    if math.isinf(pa.scalar(found, type_).as_py()) and Decimal(str(value)).is_finite():
        raise ValueError(value)
    return found


def _decimal(type_: pa.DataType, value: Any) -> Decimal:
    """Return a decimal number that fits in the type without rounding."""
    number = Decimal(str(_number(value)))
    exact = number.quantize(Decimal(f"1E{-type_.scale}"), context=Context(type_.precision))
    if exact != number:
        raise ValueError(value)
    return exact


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
