"""Validates messages of a list or an Arrow table, and converts them to rows for storage.

An Arrow table can come from anywhere, so the types of its columns are checked before its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.messages import as_message
from pubsub_delta.resources import Message
from pubsub_delta.tables.arrow_types import are_pairs, is_bytes, is_sortable, is_text
from pubsub_delta.tables.schemas import TEXT_BY_TEXT

_IGNORED = ("message_id", "publish_time", "publish_date")
"""Columns that the store fills in; values that a client supplies for them are ignored."""
_ACCEPTED = "data BINARY (or STRING), attributes MAP<STRING,STRING> and ordering_key STRING"


def checked_rows(
    what: Iterable[object] | pa.Table | pa.RecordBatch, order_by: str | None
) -> pa.Table:
    """Check a list or an Arrow table of messages, and return them as rows in their order."""
    if isinstance(what, pa.RecordBatch):
        what = pa.Table.from_batches([what])
    if isinstance(what, pa.Table):
        what = _messages_of(what, order_by)
    elif _is_other_table(what):
        raise InvalidArgument(
            f"messages: a {type(what).__name__} gives the names of its columns, and not its rows; "
            "pass a list of messages, an Arrow table (pyarrow.Table.from_pandas) or a DataFrame of "
            "Spark"
        )
    try:
        given = iter(what)
    except TypeError:
        raise InvalidArgument(
            f"messages: a {type(what).__name__} is neither a DataFrame nor iterable; "
            "pass a list of Message, bytes or str"
        ) from None
    checked = [as_message(value, index) for index, value in enumerate(given)]
    if not checked:
        raise InvalidArgument("messages: an empty list; at least one message is needed")
    return rows_of(checked)


def _is_other_table(what: object) -> bool:
    """Return whether an object iterates over column names: a mapping, or a pandas DataFrame."""
    kind = type(what)  # a Column of Spark has every attribute that it is asked for
    return isinstance(what, Mapping) or (hasattr(kind, "columns") and hasattr(kind, "shape"))


def rows_of(messages: Sequence[Message]) -> pa.Table:
    """Return checked messages as rows: data, attributes, ordering_key."""
    return pa.table(
        {
            "data": pa.array([bytes(message.data) for message in messages], pa.binary()),
            "attributes": pa.array(
                [list(message.attributes.items()) for message in messages], TEXT_BY_TEXT
            ),
            "ordering_key": pa.array([m.ordering_key for m in messages], pa.string()),
        }
    )


def _messages_of(table: pa.Table, order_by: str | None) -> Iterable[Message]:
    """Return the rows of an Arrow table as messages; its columns are those of a DataFrame."""
    names = table.column_names
    if order_by is not None and order_by not in names:
        raise InvalidArgument(
            f"order_by: {order_by!r} is not a column; one of {', '.join(names)} is accepted"
        )
    unknown = [n for n in names if n not in (*_TYPES, *_IGNORED, order_by)]
    if unknown:
        raise InvalidArgument(
            f"column {unknown[0]!r} is not a column of a message; {_ACCEPTED} are accepted"
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"column {twice!r} appears twice in {names}; each once is accepted")
    if "data" not in names and "attributes" not in names:
        raise InvalidArgument(
            f"columns {sorted(names)}: neither 'data' nor 'attributes'; at least one is needed"
        )
    for name, (fits, accepted) in _TYPES.items():
        if name in names and not fits(table.field(name).type):
            raise InvalidArgument(
                f"column {name!r} is of Arrow's type {table.field(name).type}; {accepted} is "
                "accepted"
            )
    try:
        rows = table.select([n for n in names if n in _TYPES]).to_pylist()
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"messages: a text of the table is not UTF-8 ({error.reason} at byte {error.start}); "
            "valid UTF-8 is accepted; nothing was published"
        ) from None
    if order_by is not None:
        rows = [rows[place] for place in _order(table, order_by)]
    return [_message_of(row, index) for index, row in enumerate(rows)]


def _order(table: pa.Table, order_by: str) -> list[int]:
    """Return the rows of a table in the order of a column, as Spark sorts: null first, NaN last.

    The type is checked first: Arrow crashes the process when it sorts some types.
    """
    type_ = table.field(order_by).type
    try:
        if is_sortable(type_):
            values = table[order_by]
            sorted_by = pa.table({"is_valid": values.is_valid(), "value": values})
            keys = [("is_valid", "ascending"), ("value", "ascending")]
            found: list[int] = pc.sort_indices(sorted_by, keys).to_pylist()
            return found
    except (pa.ArrowException, NotImplementedError):
        pass
    raise InvalidArgument(
        f"order_by: column {order_by!r} is of Arrow's type {type_}, which is not sorted; a column "
        "of numbers, times, texts or bytes is accepted"
    )


def _message_of(row: dict[str, Any], index: int) -> Message:
    data = row.get("data")
    pairs = row.get("attributes")
    attributes = {} if pairs is None else dict(pairs)
    if pairs is not None and len(attributes) < len(pairs):
        raise InvalidArgument(
            f"messages[{index}].attributes: a key appears twice in {pairs}; each once is accepted"
        )
    key = row.get("ordering_key")
    return Message(
        data.encode() if isinstance(data, str) else data or b"",
        attributes,
        "" if key is None else key,
    )


_TYPES: dict[str, tuple[Callable[[pa.DataType], bool], str]] = {
    "data": (is_bytes, "binary or string"),
    "attributes": (are_pairs, "map<string, string>"),
    "ordering_key": (is_text, "string"),
}
"""The columns of a message: the Arrow types that they can have, and their names in errors."""
