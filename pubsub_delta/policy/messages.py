"""The rules of messages (Pub/Sub: PubsubMessage and its quotas).

The same rules stand once more as Spark columns in ``tables/lanes/spark/columns``; one table of
cases in the tests holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.resources import Message, ReceivedMessage

MAX_MESSAGE_BYTES = 10_000_000
"""Bytes of data, attributes and ordering key together."""
MAX_ATTRIBUTES = 100
MAX_KEY_BYTES = 256
MAX_VALUE_BYTES = 1024
MAX_ORDERING_KEY_BYTES = 1024
RESERVED_PREFIX = "goog"
"""The reserved beginning of attribute keys, in upper or lower case."""
TRACE_KEYS = ("googclient_traceparent", "googclient_tracestate")
"""The reserved keys that a publisher can set: client libraries do, with OpenTelemetry."""

EMPTY = "data or at least one attribute is required"
TOO_LARGE = f"at most {MAX_MESSAGE_BYTES:,} bytes of data, attributes and ordering key together"
TOO_MANY_ATTRIBUTES = f"at most {MAX_ATTRIBUTES} attributes"
BAD_KEY = (
    f"an attribute key is 1 to {MAX_KEY_BYTES} bytes and does not start with 'goog', in upper or "
    f"lower case, but for {' and '.join(TRACE_KEYS)}"
)
BAD_VALUE = f"an attribute value is a string of at most {MAX_VALUE_BYTES} bytes"
BAD_ORDERING_KEY = f"an ordering key is at most {MAX_ORDERING_KEY_BYTES} bytes"

_NOTHING = "; nothing was published"
_OF_A_MESSAGE = re.compile(rf"messages\[([0-9]+)\](?:\.|: )(.*?)(?:{_NOTHING})?", re.DOTALL)

_SURE_ATTRIBUTES = 10
_SURE_DATA = (
    MAX_MESSAGE_BYTES
    - MAX_ORDERING_KEY_BYTES
    - _SURE_ATTRIBUTES * (MAX_KEY_BYTES + MAX_VALUE_BYTES)
)
"""Bytes of data that fit with any attributes of such a message."""

FIELD_OF_RULE = {
    EMPTY: "data",
    TOO_LARGE: "data",
    TOO_MANY_ATTRIBUTES: "attributes",
    BAD_KEY: "attributes",
    BAD_VALUE: "attributes",
    BAD_ORDERING_KEY: "ordering_key",
}
"""Every rule, in the order of the checks, with its field."""


def size_of(message: Message | ReceivedMessage) -> int:
    """Return the bytes of a message that count: data, attributes and ordering key together.

    >>> size_of(Message(b"four", {"é": "1"}, "key"))
    10
    """
    size = len(message.data) + _bytes(message.ordering_key)
    return size + sum(_bytes(key) + _bytes(value) for key, value in message.attributes.items())


def is_reserved(key: str) -> bool:
    """Return whether a publisher cannot set an attribute key.

    >>> is_reserved("GoogClient"), is_reserved("googclient_traceparent"), is_reserved("good")
    (True, False, False)
    """
    return key[: len(RESERVED_PREFIX)].lower() == RESERVED_PREFIX and key not in TRACE_KEYS


def broken_rule(message: Message) -> str | None:
    """Return the first rule that a message breaks, or None.

    >>> broken_rule(Message(b"", {})) == EMPTY
    True
    """
    checks = {
        EMPTY: bool(message.data) or bool(message.attributes),
        TOO_LARGE: size_of(message) <= MAX_MESSAGE_BYTES,
        TOO_MANY_ATTRIBUTES: len(message.attributes) <= MAX_ATTRIBUTES,
        BAD_KEY: all(
            1 <= _bytes(key) <= MAX_KEY_BYTES and not is_reserved(key) for key in message.attributes
        ),
        BAD_VALUE: all(_bytes(value) <= MAX_VALUE_BYTES for value in message.attributes.values()),
        BAD_ORDERING_KEY: _bytes(message.ordering_key) <= MAX_ORDERING_KEY_BYTES,
    }
    return next((rule for rule, kept in checks.items() if not kept), None)


def as_message(value: object, index: int) -> Message:
    """Return a Message, bytes or text (as UTF-8) as a Message; InvalidArgument for anything else.

    InvalidArgument, too, if it breaks a rule. ``index``: its place in the request from 0, for the
    error.
    """
    if isinstance(value, str):
        value = Message(_utf8(value, f"messages[{index}].data"))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        value = Message(bytes(value))
    if not isinstance(value, Message):
        raise InvalidArgument(
            f"messages[{index}]: {_shown(value)} is a {type(value).__name__}; "
            "a Message, bytes or str is accepted"
        )
    if _surely_valid(value):
        return value
    _check_types(value, index)
    rule = broken_rule(value)
    if rule is not None:
        fault = _fault(value, rule)
        raise InvalidArgument(f"messages[{index}]: {fault}: {rule}{_NOTHING}")
    return value


def refused_message(error: str) -> tuple[int, str] | None:
    """Return which message of a request an error names, and the reason; None if it names none.

    The error is that of a publish, here or by a server.

    >>> refused_message("messages[7].data: it does not fit; nothing was published")
    (7, 'data: it does not fit')
    """
    found = _OF_A_MESSAGE.fullmatch(error)
    return None if found is None else (int(found[1]), found[2])


def _fault(message: Message, rule: str) -> str:
    """Describe the part of a message that breaks a rule, without the payload.

    >>> _fault(Message(b"x", {"k": "v" * 1025}), BAD_VALUE)
    "attributes: the value of 'k' has 1,025 bytes"
    """
    if rule == TOO_LARGE:
        return f"{size_of(message):,} bytes"
    if rule == TOO_MANY_ATTRIBUTES:
        return f"attributes: {len(message.attributes)} of them"
    if rule == BAD_KEY:
        for size in map(_bytes, message.attributes):
            if not 1 <= size <= MAX_KEY_BYTES:
                return f"attributes: a key of {size:,} bytes"
        reserved = next(filter(is_reserved, message.attributes))
        return f"attributes: {reserved!r}"
    if rule == BAD_VALUE:
        for key, value in message.attributes.items():
            if _bytes(value) > MAX_VALUE_BYTES:
                return f"attributes: the value of {key!r} has {_bytes(value):,} bytes"
    if rule == BAD_ORDERING_KEY:
        return f"ordering_key: {_bytes(message.ordering_key):,} bytes"
    return "it is empty"


def _surely_valid(message: Message) -> bool:
    """Return quickly whether a usual message keeps every rule; false can also mean "not sure".

    Usual: data, up to some ten short attributes in ASCII. A server checks thousands while clients
    wait for their reply.
    """
    data, attributes, key = message.data, message.attributes, message.ordering_key
    if not (type(data) is bytes and type(attributes) is dict and type(key) is str):
        return False
    if not (0 < len(data) <= _SURE_DATA and len(attributes) <= _SURE_ATTRIBUTES):
        return False
    if not (key.isascii() and len(key) <= MAX_ORDERING_KEY_BYTES):
        return False
    for name, value in attributes.items():
        if not (type(name) is str and type(value) is str and name.isascii() and value.isascii()):
            return False
        if not (0 < len(name) <= MAX_KEY_BYTES and len(value) <= MAX_VALUE_BYTES):
            return False
        if is_reserved(name):
            return False
    return True


def _check_types(message: Message, index: int) -> None:
    if not isinstance(message.data, (bytes, bytearray)):
        raise InvalidArgument(
            f"messages[{index}].data: {_shown(message.data)} is a {type(message.data).__name__}; "
            "bytes are accepted"
        )
    if not isinstance(message.attributes, Mapping):
        raise InvalidArgument(
            f"messages[{index}].attributes: {_shown(message.attributes)} is not a mapping; "
            "strings by string are accepted"
        )
    pairs = list(message.attributes.items())  # a caller's mapping can have a key twice
    for key, value in pairs:
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidArgument(
                f"messages[{index}].attributes: {_shown({key: value})} is not a pair of strings; "
                "strings by string are accepted"
            )
        _utf8(key, f"messages[{index}].attributes")
        _utf8(value, f"messages[{index}].attributes")
    if len(dict(pairs)) < len(pairs):
        raise InvalidArgument(
            f"messages[{index}].attributes: a key appears twice in {_shown(pairs)}; "
            "each once is accepted"
        )
    if not isinstance(message.ordering_key, str):
        raise InvalidArgument(
            f"messages[{index}].ordering_key: {_shown(message.ordering_key)} is not a string; a "
            "string is accepted"
        )
    _utf8(message.ordering_key, f"messages[{index}].ordering_key")


def _utf8(text: str, field: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"{field}: {_shown(text)} cannot be written as UTF-8 ({error.reason}); "
            "text without lone surrogates is accepted"
        ) from None


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
