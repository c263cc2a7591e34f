"""Views of the data of a message: by its schema, as JSON, as text, in hexadecimal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pubsub_delta.console.formatting import visible
from pubsub_delta.errors import counted

MAX_TEXT_BYTES = 64 * 1024
"""Bytes of data that a page shows as text."""
_HEX_BYTES = 1024
_ROW = 16
MAX_NODES = 2_000
"""Values in a tree; the others are in the text only."""
_DEEPEST = 40


@dataclass(frozen=True)
class Node:
    """A value of a tree.

    ``name``: of a field, or an index. ``kind``: the type, for its color. ``text``: the value, or
    the number of its parts.
    """

    name: str
    kind: str
    text: str
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True)
class DataView:
    """One view of data: a tree, or a text. ``note``: a remark, such as that data is cut off."""

    name: str
    label: str
    text: str = ""
    tree: Node | None = None
    note: str = ""


def data_views(data: bytes, whole: int) -> list[DataView]:
    """Return the views of data, best first. ``whole``: the size, if ``data`` is its beginning.

    >>> [view.name for view in data_views(b'{"a": 1}', 8)]
    ['json', 'text', 'hex']
    """
    found = []
    tree = json_tree(data) if len(data) == whole else None
    if tree is not None:
        found.append(DataView("json", "JSON", tree=tree))
    text = _text(data, whole)
    if text is not None:
        shown = text[:MAX_TEXT_BYTES]
        is_cut = len(shown) < len(text) or len(data) < whole
        note = f"The beginning of {whole:,} bytes; a download has all of them" if is_cut else ""
        found.append(DataView("text", "Text", visible(shown), note=note))
    hex_note = "" if whole <= _HEX_BYTES else f"The first {_HEX_BYTES:,} of {whole:,} bytes"
    found.append(DataView("hex", "Hexadecimal", hexadecimal(data[:_HEX_BYTES]), note=hex_note))
    return found


def schema_view(fields: Mapping[str, Any], name: str) -> DataView:
    """Return the view of fields that were decoded by a schema.

    >>> body = schema_view({"name": "Utah", "area": 7}, "states")
    >>> [(each.name, each.kind, each.text) for each in body.tree.parts]
    [('name', 'text', 'Utah'), ('area', 'number', '7')]
    """
    return DataView("schema", f"By schema {name}", tree=_node("", _as_json(fields), [MAX_NODES], 0))


def _as_json(value: Any) -> Any:
    """Return a value as JSON types: bytes in hexadecimal, other types as text."""
    if isinstance(value, Mapping):
        return _Pairs((str(name), _as_json(each)) for name, each in value.items())
    if isinstance(value, list) and value and all(isinstance(each, tuple) for each in value):
        return _Pairs((str(name), _as_json(each)) for name, each in value)  # a map
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, bytes):
        return value.hex(" ")
    return _Number(value) if isinstance(value, (int, float)) else str(value)


def _text(data: bytes, whole: int) -> str | None:
    """Return data as text, without a last character that is cut; None if it is not UTF-8."""
    for cut in range(4 if len(data) < whole else 1):
        try:
            return data[: len(data) - cut].decode()
        except UnicodeDecodeError:
            continue
    return None


def hexadecimal(data: bytes) -> str:
    r"""Write bytes in rows of sixteen: offset, hexadecimal and ASCII.

    >>> print(hexadecimal(b"late~\x7f\x00"))
    00000000  6c 61 74 65 7e 7f 00                              late~..
    """
    rows = []
    for start in range(0, len(data), _ROW):
        row = data[start : start + _ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{start:08x}  {row.hex(' '):<{3 * _ROW}}  {text}")
    return "\n".join(rows)


def json_tree(data: bytes) -> Node | None:
    """Return data as a tree; None if it is not a JSON object or list, or is too large."""
    if len(data) > MAX_TEXT_BYTES or data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        value = json.loads(
            data.decode(),
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_Number,
            object_pairs_hook=_Pairs,
        )
    except (ValueError, RecursionError):
        return None
    return _node("", value, [MAX_NODES], 0)


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object in order; a name may be repeated."""


class _Number(str):
    """A number as text, as it may have too many digits for Python."""


def _node(name: str, value: Any, left: list[int], depth: int) -> Node:
    left[0] -= 1
    name = visible(name)
    if isinstance(value, list):
        pairs = value if isinstance(value, _Pairs) else list(enumerate(value))
        count = counted(len(pairs), "field" if isinstance(value, _Pairs) else "item")
        parts = []
        for key, part in pairs:
            if left[0] <= 0 or depth >= _DEEPEST:
                parts.append(Node("…", "more", "more than a page shows; it stands in the text"))
                break
            parts.append(_node(str(key), part, left, depth + 1))
        kind = "object" if isinstance(value, _Pairs) else "list"
        return Node(name, kind, count, tuple(parts))
    if value is None or isinstance(value, bool):
        return Node(name, "constant", json.dumps(value))
    kind = "number" if isinstance(value, _Number) else "text"
    return Node(name, kind, visible(value))
