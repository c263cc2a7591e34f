"""Seeded bugs of ``policy/schemas/protobuf_json.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_protobuf.py",
    "tests/unit/test_schema_protobuf_json.py",
)

BUGS = (
    Bug(
        "numbers-of-python-in-protocol-buffers",
        "Protocol Buffers in JSON may write an integer as Python does: 1_000.",
        "    **dict.fromkeys(_INTEGERS, _integer),\n",
        "",
    ),
    Bug(
        "no-base64-as-fewer-bytes",
        "Text that is no base64 is taken for fewer bytes in Protocol Buffers.",
        "isinstance(given, str) and is_base64(given)",
        "isinstance(given, str)",
    ),
    Bug(
        "floats-beyond-their-range-in-texts",
        "A text beyond the range of a float is infinity in Protocol Buffers.",
        "    return float(given)\n",
        "    return given\n",
    ),
    Bug(
        "messages-within-messages-unchecked",
        "Only the outermost message of Protocol Buffers in JSON is looked at.",
        "        return checked(given, field.message_type)\n",
        "        return given\n",
    ),
    Bug(
        "names-in-camel-case-unchecked",
        "A field that JSON names in camel case is not looked at.",
        "{**of.fields_by_name, **{each.json_name: each for each in of.fields}}",
        "{**of.fields_by_name}",
    ),
    Bug(
        "empty-text-is-a-message-of-protobuf",
        "A JSON text or list that is empty is published where the schema has a message.",
        "        _must(isinstance(given, Mapping), given, field)\n",
        "        _must(isinstance(given, Mapping) or not given, given, field)\n",
    ),
    Bug(
        "empty-list-is-one-message-of-protobuf",
        "A JSON list that is empty is published where the schema has one message.",
        "    if field.is_repeated and isinstance(given, list):",
        "    if isinstance(given, list):",
    ),
)
