"""Keys: paths of values in records, such as ``message.attributes.carrier`` or ``ids[0]``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from pubsub_delta.cli.grammar.syntax import parse, unquoted
from pubsub_delta.errors import InvalidArgument

Key: TypeAlias = "tuple[str | int | None, ...]"
"""Names, indices, and None for a slice ``[]``. The empty key is the whole record."""

_PART = re.compile(
    r"""\[(?P<index>[^\]]*)\]|\.|(?P<name>(?:\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^.\[\]"'\\])+)"""
)
_SNAKE = re.compile(r"(?<=[a-z0-9])[A-Z]+|(?!^)[A-Z](?=[a-z])")
_PLAIN = re.compile(r"[-@\w]+")


@lru_cache(maxsize=256)
def parse_key(text: str) -> Key:
    """Parse a key; InvalidArgument if it is not one.

    >>> parse_key("a.'b.c'[0].d[]"), parse_key(".")
    (('a', 'b.c', 0, 'd', None), ())
    """
    token = parse("key", text, "key").children[0]
    return () if str(token) == "." else key_of(str(token))


def key_of(token: str) -> Key:
    """Return the key of a KEY token."""
    key: list[str | int | None] = []
    for part in _PART.finditer(token):
        if part["name"]:
            key.append(unquoted(part["name"]))
        elif part["index"] is not None:
            inner = unquoted(part["index"].strip())
            key.append(int(inner) if re.fullmatch(r"-?[0-9]{1,9}", inner) else inner or None)
    return tuple(key)


def key_name(key: Key) -> str:
    """Write a key.

    >>> key_name(("a", 0, "b c", None))
    'a[0]."b c"[]'
    """
    text = ""
    for part in key:
        if part is None or isinstance(part, int):
            text += "[]" if part is None else f"[{part}]"
        else:
            quoted = part.replace("\\", "\\\\").replace('"', '\\"')
            text += ("." if text else "") + (part if _PLAIN.fullmatch(part) else f'"{quoted}"')
    return text or "."


def value_at(record: Any, key: Key) -> Any:
    """Return the value of a key in a record; None if there is none.

    ``message_id`` finds ``messageId``, and the other way round. A slice, or a name in a list of
    mappings, gives a list.

    >>> value_at({"message": {"messageId": "7"}}, ("message", "message_id"))
    '7'
    >>> value_at({"a": [{"b": 1}, {"b": 2}]}, ("a", None, "b"))
    [1, 2]
    >>> value_at({"a": {"x": {"b": 1}, "y": {"b": 2}}}, ("a", None, "b"))
    [1, 2]
    """
    found = record
    for at, part in enumerate(key):
        rest = key[at + 1 :]
        if isinstance(found, Mapping):
            if part is None:
                return [value_at(found, (name, *rest)) for name in found] if rest else found
            name = spelled(part, found)
            if name is None:
                return None
            found = found[name]
        elif isinstance(found, Sequence):
            if part is None:
                return [value_at(each, rest) for each in found] if rest else found
            if isinstance(part, str):
                among = not isinstance(found, str) and any(isinstance(e, Mapping) for e in found)
                return [value_at(each, (part, *rest)) for each in found] if among else None
            if not -len(found) <= part < len(found):
                return None
            found = found[part]
        else:
            return None
    return found


def snake_case(name: str) -> str:
    """Return a name in upper snake case, for headings.

    >>> snake_case("messageRetentionDuration")
    'MESSAGE_RETENTION_DURATION'
    """
    return _SNAKE.sub(lambda match: f"_{match[0]}", name).upper()


def camel_case(name: str) -> str:
    """Return a name in camel case, as in REST."""
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)


def resolve_alias(key: Key, aliases: Mapping[str, Key]) -> Key:
    """Return a key whose first name is replaced if it is an alias."""
    first = key[0] if key else None
    return aliases[first] + key[1:] if isinstance(first, str) and first in aliases else key


def argument_key(text: str) -> Key:
    """Return the key in an argument of a transform; an invalid key finds nothing."""
    try:
        return parse_key(text)
    except InvalidArgument:
        return (text,)


def spelled(part: str | int, record: Mapping[Any, Any]) -> str | int | None:
    """Return a name as a record spells it; None if it has no such name.

    >>> spelled("message_id", {"messageId": "7"})
    'messageId'
    """
    if part in record:
        return part
    if isinstance(part, str):
        return next((n for n in (camel_case(part), snake_case(part).lower()) if n in record), None)
    return None
