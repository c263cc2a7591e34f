"""Seeded bugs of ``policy/messages.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_messages.py",
    "tests/unit/test_fuzz_messages.py",
)

BUGS = (
    Bug(
        "attribute-given-twice",
        "A message whose attributes hold a key twice is published.",
        "if len(dict(pairs)) < len(pairs):",
        "if len(dict(pairs)) > len(pairs):",
    ),
    Bug(
        "ordering-key-weighs-nothing",
        "The bytes of the ordering key are not counted in a message's size.",
        "size = len(message.data) + _bytes(message.ordering_key)",
        "size = len(message.data)",
    ),
    Bug(
        "values-measured-in-characters",
        "Attributes and keys are measured in characters and not in bytes.",
        "return len(text) if text.isascii() else len(text.encode())",
        "return len(text)",
    ),
    Bug(
        "reserved-key-in-upper-case",
        "An attribute key that begins with GOOG is published.",
        "return key[: len(RESERVED_PREFIX)].lower() == RESERVED_PREFIX and key not in TRACE_KEYS",
        "return key.startswith(RESERVED_PREFIX) and key not in TRACE_KEYS",
    ),
    Bug(
        "key-as-long-as-allowed-is-blamed",
        "An error blames an attribute whose key is as long as allowed.",
        "if not 1 <= size <= MAX_KEY_BYTES:",
        "if not 1 <= size < MAX_KEY_BYTES:",
    ),
    Bug(
        "value-as-long-as-allowed-is-blamed",
        "An error blames an attribute whose value is as long as allowed.",
        "if _bytes(value) > MAX_VALUE_BYTES:",
        "if _bytes(value) >= MAX_VALUE_BYTES:",
    ),
    Bug(
        "long-values-in-other-letters-are-valid",
        "An attribute of more than 1,024 bytes is published.",
        "name.isascii() and value.isascii()",
        "name.isascii()",
    ),
    Bug(
        "sure-data-beside-a-key",
        "Data that fits without its ordering key is not measured with it.",
        "    MAX_MESSAGE_BYTES\n    - MAX_ORDERING_KEY_BYTES\n    - _SURE",
        "    MAX_MESSAGE_BYTES\n    - _SURE",
    ),
)
