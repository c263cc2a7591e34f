"""The data of a message as a page shows it: by its schema, as JSON, as text, in hexadecimal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pubsub_delta.console.shown import visible

SHOWN = 64 * 1024
"""So many bytes of data a page shows as text."""
_HEX_BYTES = 1024
_ROW = 16
MOST_NODES = 2_000
"""So many values a tree has; the others are in the text."""
_DEEPEST = 40


@dataclass(frozen=True)
class Node:
    """A value of a tree. ``name``: of a field, or the place in a list. ``kind``: for its colour.

    ``text``: a value that has no parts, or how many parts there are.
    """

    name: str
    kind: str
    text: str
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Body:
    """One way to show data. ``kind``: ``tree``, where ``tree`` is there, or ``text``."""

    name: str
    label: str
    text: str = ""
    tree: Node | None = None
    note: str = ""


def bodies(data: bytes, whole: int) -> list[Body]:
    """Return the ways to show the first bytes of data, of which there are ``whole``; best first.

    >>> [body.name for body in bodies(b'{"a": 1}', 8)], [body.name for body in bodies(b"late", 4)]
    (['json', 'text', 'hex'], ['text', 'hex'])
    """
    found = []
    tree = tree_of(data) if len(data) == whole else None
    if tree is not None:
        found.append(Body("json", "JSON", tree=tree))
    text = _text(data, whole)
    if text is not None:
        shown = text[:SHOWN]
        is_cut = len(shown) < len(text) or len(data) < whole
        note = f"The beginning of {whole:,} bytes; a download has all of them" if is_cut else ""
        found.append(Body("text", "Text", visible(shown), note=note))
    hex_note = "" if whole <= _HEX_BYTES else f"The first {_HEX_BYTES:,} of {whole:,} bytes"
    found.append(Body("hex", "Hexadecimal", hexadecimal(data[:_HEX_BYTES]), note=hex_note))
    return found


def by_schema(fields: Mapping[str, Any], name: str) -> Body:
    """Return the fields that a schema makes of data.

    >>> body = by_schema({"name": "Utah", "area": 7}, "states")
    >>> [(each.name, each.kind, each.text) for each in body.tree.parts]
    [('name', 'text', 'Utah'), ('area', 'number', '7')]
    """
    return Body("schema", f"By schema {name}", tree=_node("", _as_json(fields), [MOST_NODES], 0))


def _as_json(value: Any) -> Any:
    """Return a value of a field as what JSON has; bytes in hexadecimal, the rest as text."""
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
    """Return data as text, None where it is none; a last character may be cut in two."""
    for cut in range(4 if len(data) < whole else 1):
        try:
            return data[: len(data) - cut].decode()
        except UnicodeDecodeError:
            continue
    return None


def hexadecimal(data: bytes) -> str:
    r"""Write bytes in rows of sixteen: where they begin, in hexadecimal, and as ASCII.

    >>> print(hexadecimal(b"late\x00"))
    00000000  6c 61 74 65 00                                    late.
    """
    rows = []
    for start in range(0, len(data), _ROW):
        row = data[start : start + _ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{start:08x}  {row.hex(' '):<{3 * _ROW}}  {text}")
    return "\n".join(rows)


def tree_of(data: bytes) -> Node | None:
    """Return data as a tree, None where it is no JSON object or list, or too large for a page."""
    if len(data) > SHOWN or data.lstrip()[:1] not in (b"{", b"["):
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
    return _node("", value, [MOST_NODES], 0)


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object in their order; a name may stand there twice."""


class _Number(str):
    """A number as it is written: it may be too long for Python."""


def _node(name: str, value: Any, left: list[int], depth: int) -> Node:
    left[0] -= 1
    name = visible(name)
    if isinstance(value, list):
        pairs = value if isinstance(value, _Pairs) else list(enumerate(value))
        count = f"{len(pairs):,} {'field' if isinstance(value, _Pairs) else 'item'}"
        parts = []
        for key, part in pairs:
            if left[0] <= 0 or depth >= _DEEPEST:
                parts.append(Node("…", "more", "more than a page shows; it stands in the text"))
                break
            parts.append(_node(str(key), part, left, depth + 1))
        kind = "object" if isinstance(value, _Pairs) else "list"
        return Node(name, kind, f"{count}{'s' * (len(pairs) != 1)}", tuple(parts))
    if value is None or isinstance(value, bool):
        return Node(name, "constant", json.dumps(value))
    kind = "number" if isinstance(value, _Number) else "text"
    return Node(name, kind, visible(value))
