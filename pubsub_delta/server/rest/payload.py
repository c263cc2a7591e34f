"""Validates the JSON of a request, and parses it into a protobuf message.

protobuf's own JSON parser does the parsing. Before that, this module refuses mistakes that the
parser accepts silently or reports badly: unknown names, repeated fields, invalid base64, wrong
types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from pubsub_delta.errors import InvalidArgument, shortened
from pubsub_delta.policy.arguments import is_whole
from pubsub_delta.policy.json_texts import is_base64

_ONE_LABEL = re.compile(r"(^|,)labels\.")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_TIMES = {
    "Timestamp": re.compile(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)",
        re.ASCII,
    ),
    "Duration": re.compile(r"-?\d{1,20}(\.\d{1,9})?s", re.ASCII),
}
"""How JSON writes times. protobuf takes digits of any script, underscores and exponents, too."""
_WRITTEN = {"Timestamp": "a timestamp as RFC 3339 writes it", "Duration": "a duration as in 600.5s"}
_INTEGERS = frozenset(
    {FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64}
    | {FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64}
)
_SHOWN = 60
"""The length of a wrong value in an error."""


def loaded(body: bytes) -> Any:
    """Return the JSON of a body; None if it is empty."""
    if not body.strip():
        return None
    try:
        text = body.decode(json.detect_encoding(body))
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
        if _SURROGATE.search(text):
            _check_characters(found)
        return found
    except InvalidArgument:
        raise
    except RecursionError:
        raise InvalidArgument(
            "Invalid JSON payload received: it is nested too deeply; send fewer levels"
        ) from None
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"Invalid JSON payload received: byte {error.start} is not UTF-8; JSON in UTF-8 is "
            "accepted"
        ) from None
    except json.JSONDecodeError as error:
        raise InvalidArgument(
            f"Invalid JSON payload received: {error.msg}, at line {error.lineno}, column "
            f"{error.colno}"
        ) from None
    except ValueError:
        raise InvalidArgument(
            "Invalid JSON payload received: a number has too many digits"
        ) from None


def read(value: Any, message: Any) -> None:
    """Parse a JSON object into a protobuf message. InvalidArgument names a wrong field.

    Pub/Sub: unknown names are refused; a field may be named in camelCase or as in the API's proto.
    """
    _check(value, message.DESCRIPTOR, "")
    try:
        json_format.ParseDict(value, message)
    except json_format.ParseError as error:
        text = str(error).partition("\n")[0].rstrip(".")
        raise InvalidArgument(f"Invalid JSON payload received: {text}") from None


def field_named(of: Descriptor, name: str) -> FieldDescriptor | None:
    """Return a field of a message by its JSON name or by that of the proto."""
    field: FieldDescriptor | None = of.fields_by_camelcase_name.get(name) or of.fields_by_name.get(
        name
    )
    return field


def is_repeated(field: FieldDescriptor) -> bool:
    """Return whether a field is a list, or a map."""
    repeated = getattr(field, "is_repeated", None)  # older releases of protobuf have ``label``
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if repeated is None else repeated)


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def is_written_as_text(of: Descriptor) -> bool:
    """Return whether JSON writes a message as a string: a time, a duration or a field mask."""
    return of.full_name in (
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "google.protobuf.FieldMask",
    )


def in_camel_case(mask: str) -> str:
    """Return a field mask as JSON writes it; the names of the proto are accepted, too.

    >>> in_camel_case("labels,dead_letter_policy.max_delivery_attempts,retryPolicy")
    'labels,deadLetterPolicy.maxDeliveryAttempts,retryPolicy'
    """
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), mask)


def _check(value: Any, of: Descriptor, path: str) -> None:
    if not isinstance(value, dict):
        raise _wrong(path, value, "an object")
    seen: dict[str, str] = {}
    for name, given in value.items():
        field = field_named(of, name)
        if field is None:
            where = f" at '{path}'" if path else ""
            shown = shortened(json.dumps(name, ensure_ascii=False), _SHOWN)
            raise InvalidArgument(
                f"Invalid JSON payload received. Unknown name {shown}{where}: Cannot find field."
            )
        if field.name in seen:
            raise InvalidArgument(
                f"Invalid JSON payload received. {seen[field.name]!r} and {name!r} are the same "
                "field; it may be given once."
            )
        seen[field.name] = name
        if given is not None:
            value[name] = _checked(given, field, f"{path}.{name}" if path else name)


def _checked(given: Any, field: FieldDescriptor, path: str) -> Any:
    if is_map(field):
        if not isinstance(given, dict):
            raise _wrong(path, given, "an object")
        of_values = field.message_type.fields_by_name["value"]
        return {key: _checked_value(each, of_values, path) for key, each in given.items()}
    if is_repeated(field):
        if not isinstance(given, list):
            raise _wrong(path, given, "a list")
        return [_checked_value(each, field, f"{path}[{index}]") for index, each in enumerate(given)]
    return _checked_value(given, field, path)


def _checked_value(given: Any, field: FieldDescriptor, path: str) -> Any:
    of = field.message_type
    if of is not None:
        if not of.full_name.startswith("google.protobuf."):
            _check(given, of, path)
        elif is_written_as_text(of):
            _check_text(given, path)
            if of.name != "FieldMask":
                if not _TIMES[of.name].fullmatch(given):
                    raise _wrong(path, given, f"{_WRITTEN[of.name]} of up to nine decimals")
                return given
            if _ONE_LABEL.search(given):  # JSON's masks keep no "_" and no capital of a key
                raise _wrong(path, given, "a mask with labels as a whole")
            return in_camel_case(given)
    elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        _check_text(given, path)
        if field.type == FieldDescriptor.TYPE_BYTES and not is_base64(given):
            raise _wrong(path, given, "base64")
    elif field.cpp_type == FieldDescriptor.CPPTYPE_BOOL and not isinstance(given, bool):
        raise _wrong(path, given, "true or false")
    elif field.cpp_type in _INTEGERS and not _is_integer(given):
        raise _wrong(path, given, "a whole number")
    elif field.cpp_type == FieldDescriptor.CPPTYPE_ENUM and not _is_of_enum(given, field):
        names = ", ".join(field.enum_type.values_by_name)
        raise _wrong(path, given, f"one of {names}, or its number,")
    return given


def _check_text(given: Any, path: str) -> None:
    if not isinstance(given, str):
        raise _wrong(path, given, "a string")


def _is_integer(given: Any) -> bool:
    if isinstance(given, str):
        return _INTEGER.fullmatch(given) is not None
    if isinstance(given, float):
        return given.is_integer()
    return is_whole(given)


def _is_of_enum(given: Any, field: FieldDescriptor) -> bool:
    """Return whether JSON means a value of an enum, by its name or by a whole number.

    protobuf takes true for 1, 1.5 for 1, and digits of any script; and infinity ends it.
    """
    return _is_integer(given) or (
        isinstance(given, str) and given in field.enum_type.values_by_name
    )


def _wrong(path: str, given: Any, accepted: str) -> InvalidArgument:
    shown = shortened(json.dumps(given, ensure_ascii=False), _SHOWN)
    return InvalidArgument(
        f"Invalid value at '{path or 'the body'}': {shown}; {accepted} is accepted"
    )


def _check_characters(value: Any) -> None:
    """Raise InvalidArgument for half of a surrogate pair, which protobuf and UTF-8 do not have."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += [*each, *each.values()]
        elif isinstance(each, list):
            left += each
        elif isinstance(each, str) and any("\ud800" <= letter <= "\udfff" for letter in each):
            shown = shortened(json.dumps(each), _SHOWN)
            raise InvalidArgument(
                f"Invalid JSON payload received: {shown} has half of a surrogate pair; whole "
                "characters are accepted"
            )


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        shown = shortened(json.dumps(twice, ensure_ascii=False), _SHOWN)
        raise InvalidArgument(f"Invalid JSON payload received: {shown} appears twice in one object")
    return found


def _no_number(name: str) -> Any:
    raise InvalidArgument(f"Invalid JSON payload received: {name} is not JSON")
