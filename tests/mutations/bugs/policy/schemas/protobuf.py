"""Seeded bugs of ``policy/schemas/protobuf.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_schema_protobuf.py",)

BUGS = (
    Bug(
        "unknown-fields",
        "Field numbers that the schema does not have are accepted.",
        "            if message.ByteSize() != size:",
        "            if message.ByteSize() > size:",
    ),
    Bug(
        "fields-change-their-names",
        "A field of Protocol Buffers may get another name.",
        '    return f"{field.name} = {field.number} of type {label}{kind}"',
        '    return f"{field.number} of type {label}{kind}"',
    ),
    Bug(
        "repeated-fields-come",
        "Repeated fields may come and go.",
        "            if lone.is_repeated or lone.is_required:",
        "            if lone.is_required:",
    ),
    Bug(
        "types-of-fields-by-their-place",
        "A field of a message may change to another message of the same name.",
        "            yield one.message_type, other.message_type",
        "            yield from zip(new.nested_types, old.nested_types)",
    ),
    Bug(
        "definitions-that-only-compile",
        "A schema whose messages cannot be read is created, and each publish fails.",
        "        ProtobufCodec(compiled)  # it",
        "        ProtobufCodec  # it",
    ),
    Bug(
        "columns-of-many-levels",
        "Messages that are nested too deeply for columns fail with a RecursionError.",
        "        except RecursionError:\n            raise FailedPrecondition(",
        "        except KeyError:\n            raise FailedPrecondition(",
    ),
    Bug(
        "json-of-messages-in-camel-case",
        "A recursive message is written with names in camelCase.",
        "json_format.MessageToJson(value, indent=None, preserving_proto_field_name=True)",
        "json_format.MessageToJson(value, indent=None)",
    ),
    Bug(
        "renamed-enum-values-are-compatible",
        "A value of an enum with another name is compatible.",
        "            _check_enums(one.enum_type, other.enum_type)",
        "            pass",
    ),
    Bug(
        "fields-hide-methods",
        "A field of an inner message may hide a method of Python's messages.",
        "    for inner in message.nested_type:\n        _check_field_names(inner)\n",
        "",
    ),
    Bug(
        "bytes-in-a-column-of-text",
        "A string of proto2 that is no UTF-8 ends the reading of all messages.",
        "    if isinstance(value, bytes) and type_ == TEXT:\n        return value.decode()\n",
        "",
    ),
    Bug(
        "unknown-number-without-its-fields",
        "An unknown field of Protocol Buffers is told without the fields around it.",
        "_unknown_field(each, (*within, field.name))",
        "_unknown_field(each, within)",
    ),
)
