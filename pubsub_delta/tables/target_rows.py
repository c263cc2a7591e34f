"""Converts messages to rows of a target table, and explains why others do not fit.

Pub/Sub: the columns of a BigQuery subscription. Without a schema ``data`` is a column. Otherwise
the fields of the topic's schema are the columns, or the members of a JSON object that are columns
of the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from pubsub_delta.policy.schemas.json_data import unique_members
from pubsub_delta.policy.schemas.validation import SchemaMismatch, TypedReader
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.table_config import TableConfig
from pubsub_delta.tables import partition_values, text_lengths
from pubsub_delta.tables.json_values import value_of
from pubsub_delta.tables.schemas import TEXT, TEXT_BY_TEXT, TIME
from pubsub_delta.tables.typed import arrow_type

_METADATA: Mapping[str, tuple[pa.DataType, ...]] = {
    "subscription_name": (TEXT,),
    "message_id": (TEXT,),
    "publish_time": (TIME,),
    "attributes": (TEXT, TEXT_BY_TEXT),
}
"""The columns of ``write_metadata``, and the types that they can have."""
_DATA = (pa.binary(), TEXT)
_WIDER = {
    pa.int32(): (pa.int64(), pa.float64()),
    pa.float32(): (pa.float64(),),
}
ORDERING_KEY = "ordering_key"
"""Written among the attributes: the ordering key, if there is one (Pub/Sub: it has no column)."""

Values = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """The rows of messages that fit a table, and why the others do not, by their index."""

    rows: pa.Table
    unfit: Mapping[int, str]


class RowConverter:
    """Converts messages of a subscription to rows of a table.

    Args:
        config: defines the columns.
        subscription: its full name, which is written.
        columns: the table's.
        typing: the fields of the topic's schema, if they are the columns.
        partitioned_by: the names of the partition columns.
    """

    def __init__(
        self,
        config: TableConfig,
        subscription: str,
        columns: pa.Schema,
        typing: TypedReader | None,
        partitioned_by: Sequence[str] = (),
    ) -> None:
        self._config = config
        self._subscription = subscription
        self._columns = columns
        self._typing = typing
        self._required = [each for each in columns if _is_required(each)]
        self._rules = [
            (each, text_lengths.broken_rule)
            for each in columns
            if text_lengths.longest(each) is not None
        ]
        self._rules += [
            (columns.field(each), partition_values.broken_rule) for each in partitioned_by
        ]
        self._by_metadata = config.write_metadata
        self._fields: dict[str, pa.DataType] = {}
        if typing is not None:
            self._fields = {name: arrow_type(type_) for name, type_ in typing.fields.fields}

    def mismatch(self) -> str | None:
        """Return why no message can be written; None if messages can."""
        config, wrong = self._config, list[str]()
        if self._by_metadata:
            for name, types in _METADATA.items():
                wrong += self._lacks(name, types)
                if name in self._fields:
                    wrong.append(f"{name} is a field of the topic's schema and metadata as well")
        if not config.use_topic_schema and not config.use_table_schema:
            wrong += self._lacks("data", _DATA)
        for name, type_ in self._fields.items():
            if name not in self._columns.names and config.drop_unknown_fields:
                continue
            wrong += self._lacks(name, (type_, *_WIDER.get(type_, ())))
        if not config.use_table_schema:
            given = {*self._fields, *(_METADATA if self._by_metadata else ())}
            given |= set() if config.use_topic_schema else {"data"}
            for column in self._columns:
                if not column.nullable and column.name not in given:
                    wrong.append(f"column {column.name} is NOT NULL, and nothing is written to it")
        return "; ".join(wrong) or None

    def rows(self, messages: Sequence[ReceivedMessage]) -> Rows:
        """Return the rows of messages, with all columns of the table."""
        found, unfit = list[Values](), dict[int, str]()
        for place, message in enumerate(messages):
            try:
                found.append(self._checked(self._values(message)))
            except SchemaMismatch as why:
                unfit[place] = str(why)
        try:
            return Rows(self._table(found), unfit)
        except _UNFIT:
            return self._one_by_one(messages, unfit)

    def _one_by_one(self, messages: Sequence[ReceivedMessage], unfit: dict[int, str]) -> Rows:
        """Convert rows one by one, to find the values that do not fit their columns."""
        found = []
        for place, message in enumerate(messages):
            if place in unfit:
                continue
            values = self._checked(self._values(message))
            try:
                self._table([values])
                found.append(values)
            except _UNFIT as error:
                unfit[place] = str(error)
        return Rows(self._table(found), unfit)

    def _table(self, found: Sequence[Values]) -> pa.Table:
        arrays = []
        for column in self._columns:
            values = [each.get(column.name) for each in found]
            source = self._fields.get(column.name, column.type)
            if source == column.type or pa.types.is_nested(source):
                arrays.append(pa.array(values, column.type))
            else:
                arrays.append(pa.array(values, source).cast(column.type))
        return pa.Table.from_arrays(arrays, schema=self._columns)

    def _values(self, message: ReceivedMessage) -> Values:
        if self._typing is not None:
            values = self._typing.values(message.data, message.attributes)
            values = {name: each for name, each in values.items() if name in self._columns.names}
        elif self._config.use_table_schema:
            values = self._members(message.data)
        else:
            values = {"data": self._data(message.data)}
        return values | self._metadata(message) if self._by_metadata else values

    def _data(self, data: bytes) -> bytes | str:
        if self._columns.field("data").type != TEXT:
            return data
        return _text(data)

    def _members(self, data: bytes) -> Values:
        """Read a JSON object as the columns of the table."""
        try:
            members = json.loads(
                _text(data),
                object_pairs_hook=unique_members,
                parse_constant=_no_number,
                parse_float=Decimal,
                parse_int=_whole_number,
            )
        except (ValueError, RecursionError) as error:
            raise SchemaMismatch(f"data is not JSON: {error}") from None
        if not isinstance(members, dict):
            raise SchemaMismatch("data is not a JSON object")
        values = Values()
        for name, value in members.items():
            if name in self._columns.names and not (self._by_metadata and name in _METADATA):
                type_, drops = self._columns.field(name).type, self._config.drop_unknown_fields
                values[name] = value_of(type_, value, name, drops_unknown=drops)
            elif not self._config.drop_unknown_fields:
                raise SchemaMismatch(f"there is no column for {name}")
        return values

    def _metadata(self, message: ReceivedMessage) -> Values:
        attributes = dict(message.attributes)
        if message.ordering_key:
            attributes[ORDERING_KEY] = message.ordering_key
        as_text = self._columns.field("attributes").type == TEXT
        return {
            "subscription_name": self._subscription,
            "message_id": message.message_id,
            "publish_time": message.publish_time,
            "attributes": json.dumps(attributes, ensure_ascii=False)
            if as_text
            else list(attributes.items()),
        }

    def _checked(self, values: Values) -> Values:
        for column in self._required:
            if _lacks_a_value(column, values.get(column.name)):
                raise SchemaMismatch(
                    f"column {column.name} is NOT NULL, and there is no value for it"
                )
        for column, broken_rule in self._rules:
            broken = broken_rule(column, values.get(column.name))
            if broken is not None:
                raise SchemaMismatch(broken)
        return values

    def _lacks(self, name: str, types: Sequence[pa.DataType]) -> list[str]:
        if name not in self._columns.names:
            return [f"the table has no column {name}"]
        found, drops = self._columns.field(name).type, self._config.drop_unknown_fields
        if any(_same(found, each, drops_unknown=drops) for each in types):
            return []
        wanted = " or ".join(map(str, types))
        return [f"column {name} is {found}; {wanted} is needed"]


_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)
_MOST_DIGITS = 4_000
"""Digits of a whole number that becomes an ``int``; Python converts no more than 4,300."""


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SchemaMismatch("data is not valid UTF-8, as a text must be") from None


def _whole_number(text: str) -> int | Decimal:
    return int(text) if len(text) <= _MOST_DIGITS else Decimal(text)


def _no_number(text: str) -> Callable[[], object]:
    raise ValueError(f"{text} is not a JSON number")


def _is_required(column: pa.Field) -> bool:
    """Return whether a column, or a part of its values, is NOT NULL."""
    return not column.nullable or any(map(_is_required, _parts(column.type)))


def _parts(type_: pa.DataType) -> list[pa.Field]:
    if pa.types.is_list(type_):
        return [type_.value_field]
    if pa.types.is_map(type_):
        return [type_.item_field]
    return list(type_) if pa.types.is_struct(type_) else []


def _lacks_a_value(column: pa.Field, value: Any) -> bool:
    if value is None:
        return not column.nullable
    type_ = column.type
    if pa.types.is_list(type_):
        return any(_lacks_a_value(type_.value_field, each) for each in value)
    if pa.types.is_map(type_):
        pairs = value.items() if isinstance(value, dict) else value
        return any(_lacks_a_value(type_.item_field, each) for _, each in pairs)
    if pa.types.is_struct(type_):
        return any(_lacks_a_value(each, value.get(each.name)) for each in type_)
    return False


def _same(one: pa.DataType, other: pa.DataType, *, drops_unknown: bool) -> bool:
    """Return whether types are the same, without the names of the parts of lists and maps.

    ``drops_unknown``: whether a record of the other type can have more fields.
    """
    same = partial(_same, drops_unknown=drops_unknown)
    if pa.types.is_list(one) and pa.types.is_list(other):
        return same(one.value_type, other.value_type)
    if pa.types.is_map(one) and pa.types.is_map(other):
        return same(one.item_type, other.item_type) and same(one.key_type, other.key_type)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        mine, theirs = ([each.name for each in fields] for fields in (one, other))
        fits = {*mine} <= {*theirs} if drops_unknown else mine == theirs
        return fits and all(same(each.type, other.field(each.name).type) for each in one)
    return bool(one == other)
