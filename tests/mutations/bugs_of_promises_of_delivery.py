"""Seeded bugs of what a reader of the promises of delivery found, sentence by sentence."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_PROMISES_OF_DELIVERY = (
    Bug(
        "numbers-of-python-in-protocol-buffers",
        "Protocol Buffers in JSON may write an integer as Python does: 1_000.",
        "policy/schemas/protobuf_json.py",
        "    **dict.fromkeys(_INTEGERS, _integer),\n",
        "",
    ),
    Bug(
        "no-base64-as-fewer-bytes",
        "Text that is no base64 is taken for fewer bytes in Protocol Buffers.",
        "policy/schemas/protobuf_json.py",
        "isinstance(given, str) and is_base64(given)",
        "isinstance(given, str)",
    ),
    Bug(
        "floats-beyond-their-range-in-texts",
        "A text beyond the range of a float is infinity in Protocol Buffers.",
        "policy/schemas/protobuf_json.py",
        "    return float(given)\n",
        "    return given\n",
    ),
    Bug(
        "messages-within-messages-unchecked",
        "Only the outermost message of Protocol Buffers in JSON is looked at.",
        "policy/schemas/protobuf_json.py",
        "        return checked(given, field.message_type)\n",
        "        return given\n",
    ),
    Bug(
        "names-in-camel-case-unchecked",
        "A field that JSON names in camel case is not looked at.",
        "policy/schemas/protobuf_json.py",
        "{**of.fields_by_name, **{each.json_name: each for each in of.fields}}",
        "{**of.fields_by_name}",
    ),
)
