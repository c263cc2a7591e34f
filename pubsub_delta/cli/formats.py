"""What ``--format`` says: a kind, and which fields, as gcloud's projections write them.

    table | json | yaml | csv | value, then perhaps [attributes], then perhaps (fields)
    field: dotted.path.transform(arguments):label=HEADING

Transforms: ``basename()``, ``decode(base64)``, ``list(separator=…)``.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pubsub_delta.errors import InvalidArgument

KINDS = ("table", "json", "yaml", "csv", "value")
ATTRIBUTES = ("box", "no-heading", "separator")
TRANSFORMS = ("basename", "decode", "list")

_FORMAT = re.compile(
    r"\s*(?P<kind>[a-z]+)\s*(\[(?P<attributes>.*?)\])?\s*(\((?P<fields>.*)\))?\s*", re.DOTALL
)
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)", re.DOTALL)
_INDEX = re.compile(r"[0-9]{1,9}$")
_QUOTES, _OPENING, _CLOSING = "'\"", "([", ")]"


@dataclass(frozen=True)
class Field:
    """Where in a record a value is, what is made of it, and what it is called."""

    path: tuple[str, ...]
    transforms: tuple[tuple[str, str], ...] = ()
    label: str | None = None

    @property
    def heading(self) -> str:
        """What stands over the column: the last name of the path, as gcloud writes it."""
        if self.label is not None:
            return self.label
        last = self.path[-1] if self.path else "name"
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).upper().replace("-", "_")

    def of(self, record: Any) -> Any:
        """Return the value in a record, or None where there is none."""
        found = record
        for name in self.path:
            if isinstance(found, Mapping):
                found = found.get(name)
            elif isinstance(found, Sequence) and not isinstance(found, str) and _INDEX.match(name):
                found = found[int(name)] if int(name) < len(found) else None
            else:
                return None
        for name, argument in self.transforms:
            found = _transformed(found, name, argument)
        return found


@dataclass(frozen=True)
class Format:
    """A kind, its attributes, and the fields; without any, the command or the records tell."""

    kind: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()


def parse_format(text: str) -> Format:
    """Return what a format says, or raise InvalidArgument.

    >>> [each.heading for each in parse_format("csv(name, message.messageId:label=ID)").fields]
    ['NAME', 'ID']
    """
    match = _FORMAT.fullmatch(text)
    if match is None or match["kind"] not in KINDS:
        raise InvalidArgument(
            f"format: {text!r} is not a format; "
            f"{', '.join(KINDS)} is accepted, perhaps with fields: value(name, topic)"
        )
    attributes = {}
    for each in _split(match["attributes"] or "", ","):
        name, _, value = each.partition("=")
        if name not in ATTRIBUTES:
            raise InvalidArgument(
                f"format: {name!r} is not an attribute; {', '.join(ATTRIBUTES)} are accepted"
            )
        attributes[name] = _unquoted(value)
    fields = tuple(map(_parse_field, _split(match["fields"] or "", ",")))
    return Format(match["kind"], attributes, fields)


def with_fields_of(given: Format, default: Format) -> Format:
    """Return a format with the fields of another one where it needs some and has none itself."""
    if given.fields or given.kind in ("json", "yaml"):
        return given
    attributes = given.attributes
    if given.kind == default.kind:
        attributes = {**default.attributes, **attributes}
    return Format(given.kind, attributes, default.fields)


def fields_of(records: Sequence[Any]) -> tuple[Field, ...]:
    """Return all fields of some records, the name first."""
    names = {name for each in records if isinstance(each, Mapping) for name in each}
    return tuple(Field((name,)) for name in sorted(names, key=lambda name: (name != "name", name)))


def projected(record: Any, fields: Sequence[Field]) -> Any:
    """Return a record with only the named fields, each where it was.

    >>> projected({"a": {"b": 1, "c": 2}, "d": 3}, [Field(("a", "b"))])
    {'a': {'b': 1}}
    """
    if not fields or not isinstance(record, Mapping):
        return record
    kept: dict[str, Any] = {}
    for each in fields:
        value = each.of(record)
        if value is None:
            continue
        if not each.path:
            return value
        place = kept
        for name in each.path[:-1]:
            place = place.setdefault(name, {})
        place[each.path[-1]] = value
    return kept


def text_of(value: Any, separator: str = ";") -> str:
    """Write a value in a cell: lists and mappings on one line.

    >>> text_of({"env": "test", "team": "a"}), text_of(None), text_of(True)
    ('env=test;team=a', '', 'True')
    """
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return separator.join(f"{key}={text_of(each, ',')}" for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return separator.join(text_of(each, ",") for each in value)
    return str(value)


def _parse_field(text: str) -> Field:
    body, *attributes = list(_split(text, ":")) or [text]
    label = None
    for each in attributes:
        name, _, value = each.partition("=")
        if name != "label":
            raise InvalidArgument(
                f"format: {each!r} in field {text!r}; only label=HEADING is accepted there"
            )
        label = _unquoted(value)
    path, transforms = [], []
    for part in _split(body, "."):
        if call := _CALL.fullmatch(part):
            if call["name"] not in TRANSFORMS:
                raise InvalidArgument(
                    f"format: {part!r} in field {text!r} is not a transform; "
                    f"{', '.join(TRANSFORMS)} are accepted"
                )
            transforms.append((call["name"], call["arguments"]))
        elif transforms or not re.fullmatch(r"[\w\-]+(\[\d+\])*", _unquoted(part)):
            raise InvalidArgument(
                f"format: {text!r} is not a field; a dotted path is accepted, "
                "such as message.messageId"
            )
        else:
            path += re.findall(r"[\w\-]+", _unquoted(part))
    return Field(tuple(path), tuple(transforms), label)


def _transformed(value: Any, name: str, argument: str) -> Any:
    if value is None:
        return None
    if name == "basename":
        return str(value).rsplit("/", 1)[-1]
    if name == "list":
        return text_of(value, _unquoted(argument.partition("=")[2]) if argument else ",")
    if _unquoted(argument) == "base64":
        try:
            return base64.b64decode(str(value)).decode("utf-8", "backslashreplace")
        except ValueError:
            raise InvalidArgument(
                f"format: decode(base64): {str(value)!r} is not base64; "
                "a field that is, such as message.data, is accepted"
            ) from None
    if _unquoted(argument).lower() in ("utf8", "utf-8"):
        return value  # texts are texts already
    raise InvalidArgument(f"format: decode({argument}); base64 and utf-8 are accepted")


def _split(text: str, separator: str) -> Iterator[str]:
    """Split a text where a separator is neither quoted nor in brackets; blanks are dropped."""
    part, depth, quote = "", 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == separator and not depth:
            if part.strip():
                yield part.strip()
            part = ""
            continue
        part += character
    if quote or depth:
        raise InvalidArgument(f"format: {text!r} has a quote or bracket that is not closed")
    if part.strip():
        yield part.strip()


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] in _QUOTES and text[-1] == text[0]
    return text[1:-1].replace("\\n", "\n").replace("\\t", "\t") if quoted else text
