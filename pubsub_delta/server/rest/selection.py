"""Partial responses: the fields that the parameter ``fields`` selects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor

from pubsub_delta.errors import InvalidArgument, shortened
from pubsub_delta.server.rest.payload import field_named, is_map

Selection = Mapping[str, Any]
"""The selected fields of a message by JSON name, each with a selection; an empty one is all."""

_TOKEN = re.compile(r"[A-Za-z0-9_]+|[*/,()]")
_LONGEST = 1_000
_DEEPEST = 10


def selection(text: str, of: Descriptor) -> Selection:
    """Parse the parameter ``fields``; InvalidArgument if the response has no such field.

    ``a,b`` selects both; ``a/b`` selects b in a; ``a(b,c)`` selects both in a; ``*`` is any name.
    """
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text or not 0 < len(text) <= _LONGEST:
        raise _wrong(text)
    reader = _Reader(text, tokens)
    found = reader.list(of, 0)
    if reader.tokens:
        raise _wrong(text)
    return found


def selected(value: Any, wanted: Selection) -> Any:
    """Return the selected fields of a response.

    >>> selected({"a": [{"b": 1, "c": 2}, {"c": 3}], "d": 4}, {"a": {"b": {}}})
    {'a': [{'b': 1}, {}]}
    """
    if not wanted:
        return value
    if isinstance(value, list):
        return [selected(each, wanted) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: selected(each, wanted.get(name, wanted.get("*")))
        for name, each in value.items()
        if name in wanted or "*" in wanted
    }


class _Reader:
    """A recursive-descent parser of the tokens."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self.text = text
        self.tokens = tokens[::-1]

    def list(self, of: Descriptor | None, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            name, inside = self._item(of, depth)
            found[name] = _joined(found[name], inside) if name in found else inside
            if not self._next(","):
                return found

    def _item(self, of: Descriptor | None, depth: int) -> tuple[str, dict[str, Any]]:
        if depth > _DEEPEST or not self.tokens:
            raise _wrong(self.text)
        name, within = self.tokens.pop(), None
        if name in "/,()":
            raise _wrong(self.text)
        if name != "*" and of is not None:
            field = field_named(of, name)
            if field is None:
                raise _wrong(self.text)
            name = field.json_name
            within = None if is_map(field) else field.message_type
        if self._next("/"):
            below, inside = self._item(within, depth + 1)
            return name, {below: inside}
        if self._next("("):
            listed = self.list(within, depth + 1)
            if not self._next(")"):
                raise _wrong(self.text)
            return name, listed
        return name, {}

    def _next(self, mark: str) -> bool:
        if self.tokens and self.tokens[-1] == mark:
            self.tokens.pop()
            return True
        return False


def _joined(one: Selection, other: Selection) -> dict[str, Any]:
    """Return the union of two selections."""
    if not one or not other:
        return {}
    both = {name: _joined(one[name], other[name]) for name in one if name in other}
    return {**one, **other, **both}


def _wrong(text: str) -> InvalidArgument:
    return InvalidArgument(
        f"query: fields={shortened(text, 100)}; fields of the response are accepted, as in "
        "name,labels or topics(name,labels/key)"
    )
