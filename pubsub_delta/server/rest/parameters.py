"""The query of a request: fields of the request, and the system parameters of Google's APIs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from pubsub_delta.errors import InvalidArgument, shortened
from pubsub_delta.server.rest.payload import field_named, is_map, is_repeated, is_written_as_text

_OF_NO_EFFECT = frozenset(
    {"key", "quotaUser", "userIp", "userProject", ".xgafv", "uploadType", "upload_protocol"}
)
"""Parameters for quotas and billing, which have no effect here."""
_JSON = re.compile(r"json(?:;enum-encoding=(?P<enums>int|string))?", re.IGNORECASE)
_MAX_PARAMETERS = 500


@dataclass(frozen=True)
class Parameters:
    """The query of a request.

    ``fields``: the fields of the request message, by name. ``pretty``: whether the response is
    indented. ``enums_as_numbers``: whether enums are written as numbers. ``token``: the token in
    place of the header. ``wanted``: the fields of the response that are returned.
    """

    fields: Mapping[str, Sequence[str]]
    pretty: bool = True
    enums_as_numbers: bool = False
    token: str | None = None
    wanted: str | None = None


def parsed(query: str) -> Parameters:
    """Read a query.

    >>> told = parsed("pageSize=5&%24alt=json%3Benum-encoding=int&key=x")
    >>> told.fields, told.enums_as_numbers
    ({'pageSize': ['5']}, True)
    """
    try:
        pairs = parse_qsl(
            query,
            keep_blank_values=True,
            max_num_fields=_MAX_PARAMETERS,
            errors="strict",
            separator="&",
        )
    except ValueError:
        raise InvalidArgument(
            f"query: it is not UTF-8, or has more than {_MAX_PARAMETERS} parameters; send fewer, "
            "in UTF-8"
        ) from None
    fields: dict[str, list[str]] = {}
    options = Parameters(fields)
    for name, value in pairs:
        plain = name.removeprefix("$")
        if plain == "callback":
            raise InvalidArgument(f"query: {name} is not accepted; JSON is not wrapped in a script")
        if plain in ("access_token", "oauth_token"):
            options = replace(options, token=value)
        elif plain == "fields":
            options = replace(options, wanted=value)
        elif plain == "prettyPrint":
            options = replace(options, pretty=_truth(name, value))
        elif plain == "alt":
            options = replace(options, enums_as_numbers=_as_numbers(name, value))
        elif plain not in _OF_NO_EFFECT:
            fields.setdefault(name, []).append(value)
    return options


def as_json(fields: Mapping[str, Sequence[str]], of: Descriptor) -> dict[str, Any]:
    """Return the fields of a query as JSON of a message.

    google.api.http: a dot leads to a nested field; a repeated field is given several times.
    """
    written: dict[str, Any] = {}
    for name, values in fields.items():
        *parents, last = name.split(".")
        inside, message = written, of
        for parent in parents:
            field = _field(message, parent, name)
            within = None if is_repeated(field) else field.message_type
            if within is None or is_written_as_text(within):
                raise _unbound(name)
            inside, message = inside.setdefault(parent, {}), within
        inside[last] = _value(_field(message, last, name), name, values)
    return written


def _field(of: Descriptor, part: str, name: str) -> FieldDescriptor:
    field = field_named(of, part)
    if field is None or is_map(field):
        raise _unbound(name)
    return field


def _value(field: FieldDescriptor, name: str, values: Sequence[str]) -> Any:
    if field.message_type is not None and not is_written_as_text(field.message_type):
        raise _unbound(name)
    read = [
        _truth(name, value) if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else value
        for value in values
    ]
    if is_repeated(field):
        return read
    if len(read) > 1:
        raise InvalidArgument(f"query: {name} is given {len(read)} times; once is accepted")
    return read[0]


def _truth(name: str, value: str) -> bool:
    truths = {"true": True, "1": True, "": True, "false": False, "0": False}
    if value.lower() not in truths:
        raise InvalidArgument(f"query: {name}={shortened(value, 60)}; true and false are accepted")
    return truths[value.lower()]


def _as_numbers(name: str, value: str) -> bool:
    found = _JSON.fullmatch(value)
    if found is None:
        raise InvalidArgument(f"query: {name}={shortened(value, 60)}; json is accepted")
    return found["enums"] == "int"


def _unbound(name: str) -> InvalidArgument:
    shown = shortened(name, 100)
    return InvalidArgument(
        f'Invalid JSON payload received. Unknown name "{shown}": Cannot bind query parameter. '
        f"Field '{shown}' could not be found in request message."
    )
