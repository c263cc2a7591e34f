"""Protocol Buffers: validates definitions, compares revisions, and reads messages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, first_line
from pubsub_delta.policy.schemas.json_data import read_json
from pubsub_delta.policy.schemas.protobuf_json import checked
from pubsub_delta.policy.schemas.types import (
    TEXT,
    DecimalOf,
    FieldCount,
    FieldType,
    ListOf,
    MapOf,
    RecordOf,
    SchemaMismatch,
)
from pubsub_delta.schemas import Encoding

_PLAIN: dict[int, FieldType] = {
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_INT64: "long",
    FieldDescriptor.TYPE_SINT64: "long",
    FieldDescriptor.TYPE_SFIXED64: "long",
    FieldDescriptor.TYPE_UINT64: DecimalOf(20, 0),
    FieldDescriptor.TYPE_FIXED64: DecimalOf(20, 0),
    FieldDescriptor.TYPE_INT32: "int",
    FieldDescriptor.TYPE_SINT32: "int",
    FieldDescriptor.TYPE_SFIXED32: "int",
    FieldDescriptor.TYPE_UINT32: "long",
    FieldDescriptor.TYPE_FIXED32: "long",
    FieldDescriptor.TYPE_BOOL: "boolean",
    FieldDescriptor.TYPE_STRING: TEXT,
    FieldDescriptor.TYPE_BYTES: "binary",
    FieldDescriptor.TYPE_ENUM: TEXT,
}
_TYPE_NAMES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}
_METHODS = frozenset(name for name in dir(Empty) if not name.startswith("_"))
_MESSAGES = (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_GROUP)


def check_compiled(compiled: bytes) -> None:
    """Raise InvalidArgument for a definition with imports, or not exactly one top-level message."""
    file = _file_of(compiled)
    if file.dependency:
        raise InvalidArgument(
            f"definition: it imports {', '.join(file.dependency)}; a definition without imports is "
            "accepted"
        )
    others = [*file.enum_type, *file.service, *file.extension]
    names = [each.name for each in (*file.message_type, *others)]
    if len(file.message_type) != 1 or others:
        raise InvalidArgument(
            f"definition: its top level has {', '.join(names) or 'nothing'}; one message is "
            "accepted, which may contain other messages and enums"
        )
    for message in file.message_type:
        _check_field_names(message)
    try:
        ProtobufCodec(compiled)  # it refuses some definitions that the compiler only warns of
    except (TypeError, RecursionError) as error:
        raise InvalidArgument(
            f"definition: its messages cannot be read ({first_line(error)}); one whose fields have "
            "different names in JSON, and whose messages are not nested too deeply, is accepted"
        ) from None


def _check_field_names(message: Any) -> None:
    """Refuse fields that hide a method of Python's messages, which could not be read any more."""
    for field in message.field:
        if field.name in _METHODS:
            raise InvalidArgument(
                f"definition: field {field.name} of {message.name} has the name of a method of "
                "Python's messages; any other name is accepted"
            )
    for inner in message.nested_type:
        _check_field_names(inner)


def check_compatible(new: bytes, old: bytes) -> None:
    """Raise SchemaMismatch for two incompatible revisions.

    Pub/Sub: only optional fields can be added or removed, and no remaining field can change.
    """
    pairs = [(_root_of(new), _root_of(old))]
    seen = set()
    for ours, theirs in pairs:
        if (ours.full_name, theirs.full_name) not in seen:
            seen.add((ours.full_name, theirs.full_name))
            pairs += _check_messages(ours, theirs)


def _check_messages(new: Any, old: Any) -> Iterator[tuple[Any, Any]]:
    """Check the fields of two messages, and yield the messages of these fields: old and new.

    A field may have another type of the same name, as of another message around it.
    """
    ours, theirs = ({each.number: each for each in of.fields} for of in (new, old))
    for number in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(number), theirs.get(number)
        if one is None or other is None:
            lone = one or other
            assert lone is not None
            if lone.is_repeated or lone.is_required:
                kind = "repeated" if lone.is_repeated else "required"
                raise SchemaMismatch(
                    f"field {lone.full_name} is {kind}, and only one of the two revisions has it"
                )
        elif _described(one) != _described(other):
            raise SchemaMismatch(f"{_described(one)} is not compatible with {_described(other)}")
        elif one.enum_type is not None:
            _check_enums(one.enum_type, other.enum_type)
        elif one.message_type is not None:
            yield one.message_type, other.message_type
    by_name = {each.name: each.number for each in old.fields}
    for field in new.fields:
        if by_name.get(field.name, field.number) != field.number:
            raise SchemaMismatch(
                f"field {field.full_name} has number {field.number}, and had {by_name[field.name]}"
            )


def _check_enums(new: Any, old: Any) -> None:
    for number, value in new.values_by_number.items():
        before = old.values_by_number.get(number)
        if before is not None and before.name != value.name:
            raise SchemaMismatch(
                f"{number} of {new.full_name} is {value.name}, and was {before.name}"
            )


def _described(field: Any) -> str:
    kind = _TYPE_NAMES[field.type]
    named = field.message_type or field.enum_type
    if named is not None:
        kind = named.name
    label = "repeated " if field.is_repeated else "required " if field.is_required else ""
    return f"{field.name} = {field.number} of type {label}{kind}"


class ProtobufCodec:
    """Reads messages of a compiled Protocol Buffers definition."""

    def __init__(self, compiled: bytes) -> None:
        self._descriptor = _root_of(compiled)
        self._make = message_factory.GetMessageClass(self._descriptor)

    @cached_property
    def fields(self) -> RecordOf:
        """The fields of a message, with their types."""
        of = self._descriptor
        try:
            return RecordOf(tuple(_fields(of, (of.full_name,), FieldCount())))
        except RecursionError:
            raise FailedPrecondition(
                f"the messages of {of.full_name} are nested too deeply to be read as columns"
            ) from None

    def check(self, data: bytes, encoding: Encoding) -> None:
        """Raise SchemaMismatch unless data is a message of the schema.

        Pub/Sub: data cannot have a field that the schema does not have.
        """
        message = self._read(data, encoding)
        if encoding is Encoding.BINARY:
            size = message.ByteSize()
            message.DiscardUnknownFields()
            if message.ByteSize() != size:
                unknown = _unknown_field(self._make.FromString(data), ())
                named = f": {unknown}" if unknown else ""
                raise SchemaMismatch(f"it has a field that is not in the schema{named}")

    def values(self, data: bytes, encoding: Encoding, reader: ProtobufCodec) -> dict[str, Any]:
        """Return the fields of a message, by the schema of another revision; SchemaMismatch."""
        message = self._read(data, encoding)
        try:  # proto2 does not check its strings, proto3 does
            if reader is not self:
                message = reader._make.FromString(message.SerializeToString())
            return _record(message, reader.fields)
        except (UnicodeError, DecodeError) as error:
            raise SchemaMismatch(f"invalid UTF-8 in a string: {error}") from None

    def _read(self, data: bytes, encoding: Encoding) -> Any:
        try:
            if encoding is Encoding.BINARY:
                message = self._make.FromString(data)
            else:
                given = read_json(data)
                if not isinstance(given, dict):  # the parser also accepts an empty list
                    raise SchemaMismatch("invalid message: it is not a JSON object")
                message = json_format.ParseDict(checked(given, self._descriptor), self._make())
        except (DecodeError, json_format.ParseError, RecursionError, ValueError) as error:
            raise SchemaMismatch(f"invalid message: {first_line(error)}") from None
        if not message.IsInitialized():
            absent = ", ".join(message.FindInitializationErrors())
            raise SchemaMismatch(f"required field {absent} is missing")
        return message


def _unknown_field(message: Any, within: tuple[str, ...]) -> str | None:
    """Return the number of the first unknown field of a message, behind the fields around it."""
    for each in UnknownFieldSet(message):
        return ".".join((*within, str(each.field_number)))
    for field, value in message.ListFields():
        held = field.message_type
        if held is not None and _is_map(field):
            held, value = held.fields_by_name["value"].message_type, value.values()
        elif held is not None and not field.is_repeated:
            value = (value,)
        for each in value if held is not None else ():
            found = _unknown_field(each, (*within, field.name))
            if found is not None:
                return found
    return None


def _fields(
    descriptor: Any, within: tuple[str, ...], count: FieldCount
) -> Iterator[tuple[str, FieldType]]:
    for field in descriptor.fields:
        count.add()
        yield field.name, _type(field, within, count)


def _type(field: Any, within: tuple[str, ...], count: FieldCount) -> FieldType:
    if _is_map(field):
        return MapOf(_one(field.message_type.fields_by_name["value"], within, count))
    one = _one(field, within, count)
    return ListOf(one) if field.is_repeated else one


def _one(field: Any, within: tuple[str, ...], count: FieldCount) -> FieldType:
    if field.type not in _MESSAGES:
        return _PLAIN[field.type]
    inner = field.message_type
    if inner.full_name in within or not inner.fields:
        return TEXT  # a column has no recursive type, and no empty struct
    return RecordOf(tuple(_fields(inner, (*within, inner.full_name), count)))


def _is_map(field: Any) -> bool:
    inner = field.message_type
    return inner is not None and inner.GetOptions().map_entry


def _record(message: Any, type_: RecordOf) -> dict[str, Any]:
    known = message.DESCRIPTOR.fields_by_name
    return {name: _field(message, known[name], inner) for name, inner in type_.fields}


def _field(message: Any, field: Any, type_: FieldType) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    found = getattr(message, field.name)
    if isinstance(type_, MapOf):
        of = field.message_type.fields_by_name["value"]
        return [(_key(key), _valued(found[key], of, type_.value)) for key in found]
    if isinstance(type_, ListOf):
        return [_valued(each, field, type_.item) for each in found]
    return _valued(found, field, type_)


def _key(key: Any) -> str:
    """Return a key of a map as JSON writes it; UnicodeError for bytes that are no text."""
    if isinstance(key, bytes):
        return key.decode()
    return str(key).lower() if isinstance(key, bool) else str(key)


def _valued(value: Any, field: Any, type_: FieldType) -> Any:
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return str(value) if named is None else named.name
    if isinstance(type_, RecordOf):
        return _record(value, type_)
    if field.type in _MESSAGES:
        return json_format.MessageToJson(value, indent=None, preserving_proto_field_name=True)
    if isinstance(value, bytes) and type_ == TEXT:
        return value.decode()
    return value


def _file_of(compiled: bytes) -> Any:
    return descriptor_pb2.FileDescriptorSet.FromString(compiled).file[-1]


def _root_of(compiled: bytes) -> Any:
    """Return the descriptor of the top-level message, in a new descriptor pool."""
    file = _file_of(compiled)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    (name,) = pool.FindFileByName(file.name).message_types_by_name
    return pool.FindFileByName(file.name).message_types_by_name[name]
