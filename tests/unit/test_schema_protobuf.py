"""Protocol Buffers: which definitions, messages and revisions are accepted, and their fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("grpc_tools")

import subprocess

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.policy.schemas.protobuf import check_compatible, check_compiled
from pubsub_delta.policy.schemas.types import DecimalOf, ListOf, MapOf, RecordOf, SchemaMismatch
from pubsub_delta.protoc import _reason, compile_proto
from pubsub_delta.schemas import Encoding
from tests.unit.in_memory import InMemory
from tests.unit.schema_cases import PROTO, compiled

JSON, BINARY = Encoding.JSON, Encoding.BINARY


def proto3(body: str, rest: str = "") -> str:
    return f'syntax = "proto3"; message M {{ {body} }} {rest}'


def proto2(body: str) -> str:
    return f'syntax = "proto2"; message M {{ {body} }}'


def ladder(levels: int) -> str:
    """Return messages of which each has the next one as a field."""
    rungs = " ".join(f"message S{n} {{ S{n + 1} s = 1; }}" for n in range(levels))
    return proto3(f"{rungs} message S{levels} {{ int32 n = 1; }} S0 s = 1;")


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", BINARY),
        (b"\x0a\x04Utah", BINARY),
        (b'{"name": "Utah"}', JSON),
        (b"{}", JSON),
        (b'{"name": null}', JSON),
    ],
)
def test_messages_of_the_schema_fit(data: bytes, encoding: Encoding) -> None:
    compiled(PROTO).check(data, encoding)


@pytest.mark.parametrize(
    ("data", "encoding", "told"),
    [
        (b"\xff", BINARY, "invalid message"),
        (b"\x0a\x04Uta", BINARY, "invalid message"),
        (b"\x0a\x01\xff", BINARY, "invalid message"),
        (b"\x10\x01", BINARY, "a field that is not in the schema: 2$"),
        (b"", JSON, "invalid JSON"),
        (b"\xff", JSON, "invalid UTF-8"),
        (b"[]", JSON, "invalid message"),
        (b'{"name": 1}', JSON, "name"),
        (b'{"nam": "Utah"}', JSON, "nam"),
        (b'{"name": "a", "name": "b"}', JSON, "appears twice"),
    ],
)
def test_others_do_not(data: bytes, encoding: Encoding, told: str) -> None:
    """Pub/Sub: nor does a binary message with a field number that the schema does not have."""
    with pytest.raises(SchemaMismatch, match=told):
        compiled(PROTO).check(data, encoding)


def test_an_unknown_field_within_a_message_does_not_fit() -> None:
    codec = compiled(proto3("message I { int32 n = 1; } I i = 1;"))
    codec.check(b"\x0a\x02\x08\x01", BINARY)
    with pytest.raises(SchemaMismatch, match=r"not in the schema: i\.2$"):
        codec.check(b"\x0a\x02\x10\x01", BINARY)


@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("int32 n = 1;", b"\x10\x01"),
        ("repeated I i = 1;", b"\x0a\x02\x08\x01\x0a\x02\x10\x01"),
        ("map<string, I> i = 1;", b"\x0a\x04\x12\x02\x10\x01"),
        ("map<string, int32> i = 1; I j = 2;", b"\x0a\x02\x10\x01\x12\x02\x10\x01"),
    ],
)
def test_an_unknown_field_is_named_by_the_fields_around_it(field: str, data: bytes) -> None:
    """Schemas: "The error names the message and the field"."""
    codec = compiled(proto3("message I { int32 n = 1; }" + field))
    where = {"n": "2", "j": "j.2"}.get(field.split(" = ")[-2][-1], "i.2")
    with pytest.raises(SchemaMismatch, match=f"not in the schema: {where}$"):
        codec.check(data, BINARY)


@pytest.mark.parametrize(("data", "encoding"), [(b"", BINARY), (b"{}", JSON)])
def test_a_required_field_must_be_there(data: bytes, encoding: Encoding) -> None:
    codec = compiled('syntax = "proto2"; message M { required string x = 1; }')
    with pytest.raises(SchemaMismatch, match="required field x is missing"):
        codec.check(data, encoding)


@pytest.mark.parametrize(
    "definition",
    [
        PROTO,
        'syntax = "proto2"; message M { required string x = 1; }',
        'edition = "2023"; message M { string x = 1; }',
        proto3("message Inner { int32 n = 1; } enum E { X = 0; } Inner i = 1; E e = 2;"),
    ],
)
def test_one_message_with_what_it_needs_within_is_accepted(definition: str) -> None:
    check_compiled(compile_proto(definition))


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ("{", "not a Protocol Buffers definition"),
        ("syntax = 'proto3'; message M { foo x = 1; }", '"foo" is not defined'),
        ('syntax = "proto3"; import "other.proto"; message M {}', "other.proto"),
        (
            'syntax = "proto3"; import "google/protobuf/timestamp.proto"; '
            "message M { google.protobuf.Timestamp at = 1; }",
            "it imports google/protobuf/timestamp.proto",
        ),
        ('syntax = "proto3";', "its top level has nothing"),
        (proto3("", "message N {}"), "its top level has M, N"),
        (proto3("", "enum E { X = 0; }"), "its top level has M, E"),
        (proto3("", "service S {}"), "its top level has M, S"),
        (proto3("string IsInitialized = 1;"), "field IsInitialized of M has the name of a method"),
        (proto3("message N { int32 HasField = 1; } N n = 1;"), "field HasField of N"),
        (proto2("optional int32 a_b = 1; optional int32 aB = 2;"), "cannot be read .*aB"),
        (ladder(2000), "cannot be read .*nested too deeply"),
    ],
)
def test_what_is_no_definition_is_refused(definition: str, told: str) -> None:
    """Pub/Sub: "you must define only one top-level type. Import statements are not supported." """
    with pytest.raises(InvalidArgument, match=told):
        check_compiled(compile_proto(definition))


OLD = (
    "string name = 1; int32 n = 2; enum E { X = 0; Y = 1; } E e = 3; "
    "message I { int32 a = 1; } I i = 4;"
)


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        OLD.replace("int32 n = 2;", ""),
        OLD + "string more = 5;",
        OLD.replace("Y = 1;", "Y = 1; Z = 2;"),
        OLD.replace("int32 a = 1;", "int32 a = 1; int32 b = 2;"),
    ],
)
def test_optional_fields_may_come_and_go(new: str) -> None:
    """Pub/Sub: "you can add or remove optional fields"."""
    check_compatible(compile_proto(proto3(new)), compile_proto(proto3(OLD)))
    check_compatible(compile_proto(proto3(OLD)), compile_proto(proto3(new)))


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (OLD.replace("int32 n", "int64 n"), "n = 2 of type int64 is not compatible with n = 2"),
        (OLD.replace("int32 n", "repeated int32 n"), "repeated int32 is not compatible"),
        (OLD.replace("string name = 1;", "string title = 1;"), "title = 1 .* name = 1"),
        (OLD.replace("int32 n = 2;", "int32 n = 7;"), "has number 7, and had 2"),
        (OLD + "repeated string more = 5;", "is repeated, and only one"),
        (OLD + "map<string, string> more = 5;", "is repeated, and only one"),
        (OLD.replace("Y = 1;", "Z = 1;"), "is Z, and was Y"),
        (OLD.replace("int32 a", "string a"), "a = 1 of type string is not compatible"),
    ],
)
def test_nothing_else_may_change(new: str, told: str) -> None:
    """Pub/Sub: "you can't add or remove other fields. You also can't edit any existing field"."""
    with pytest.raises(SchemaMismatch, match=told):
        check_compatible(compile_proto(proto3(new)), compile_proto(proto3(OLD)))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "message I { string a = 1; } I i = 4;",
            "message O { message I { int32 a = 1; } } O.I i = 4;",
            "a = 1 of type int32 is not compatible",
        ),
        (
            "enum E { X = 0; } E e = 4;",
            "message O { enum E { Y = 0; } } O.E e = 4;",
            "is Y, and was X",
        ),
    ],
)
def test_a_field_may_not_change_to_another_type_of_the_same_name(
    old: str, new: str, told: str
) -> None:
    """Pub/Sub: "you also can't edit any existing field"."""
    with pytest.raises(SchemaMismatch, match=told):
        check_compatible(compile_proto(proto3(new)), compile_proto(proto3(old)))


def test_messages_that_use_each_other_are_compared_once() -> None:
    recursive = "message A { B b = 1; B c = 2; } message B { A a = 1; A b = 2; M m = 3; } A a = 1;"
    compiled_ = compile_proto(proto3(recursive))
    check_compatible(compiled_, compiled_)


def test_a_required_field_cannot_come() -> None:
    old = 'syntax = "proto2"; message M { optional string x = 1; }'
    new = old.replace("}", "required string y = 2; }")
    with pytest.raises(SchemaMismatch, match="is required, and only one"):
        check_compatible(compile_proto(new), compile_proto(old))


ALL = """
  double d = 1; float f = 2; int32 i = 3; uint32 u = 4; int64 l = 5; uint64 ul = 6; bool b = 7;
  string s = 8; bytes bs = 9; enum E { X = 0; Y = 1; } E e = 10; message I { int32 n = 1; M m = 2; }
  I in = 11; repeated int32 many = 12; map<int32, I> by = 13; optional string maybe = 14;
  message Empty {} Empty nothing = 15;
"""


def test_numbers_of_fixed_and_of_signed_length_become_columns_of_their_ranges() -> None:
    wanted = {
        "fixed32": "long", "fixed64": DecimalOf(20, 0), "sfixed32": "int", "sfixed64": "long",
        "sint32": "int", "sint64": "long",
    }  # fmt: skip
    fields = [f"{kind} {kind}_ = {n};" for n, kind in enumerate(wanted, 1)]
    codec = compiled(proto3(" ".join(fields)))
    assert dict(codec.fields.fields) == {f"{kind}_": of for kind, of in wanted.items()}


def test_deeply_nested_messages_are_no_columns() -> None:
    """The compiler takes them, and so does a parser; each level of columns takes more calls."""
    codec = compiled(ladder(400))
    codec.check(b"", BINARY)
    with pytest.raises(FailedPrecondition, match="too deeply to be read as columns"):
        _ = codec.fields


def test_fields_become_columns_of_their_types() -> None:
    codec = compiled(proto3(ALL))
    inner = RecordOf((("n", "int"), ("m", "string")))
    assert dict(codec.fields.fields) == {
        "d": "double",
        "f": "float",
        "i": "int",
        "u": "long",
        "l": "long",
        "ul": DecimalOf(20, 0),
        "b": "boolean",
        "s": "string",
        "bs": "binary",
        "e": "string",
        "in": inner,
        "many": ListOf("int"),
        "by": MapOf(inner),
        "maybe": "string",
        "nothing": "string",
    }


def test_values_are_read_with_defaults_and_presence() -> None:
    codec = compiled(proto3(ALL))
    given: dict[str, Any] = {"ul": str(2**64 - 1), "e": "Y", "in": {"n": 1, "m": {"i": 2}}}
    given |= {"many": [1, 2], "by": {"7": {"n": 8}}}
    found = codec.values(json.dumps(given).encode(), JSON, codec)
    assert found["ul"] == 2**64 - 1
    assert (found["e"], found["many"], found["s"], found["i"]) == ("Y", [1, 2], "", 0)
    assert found["in"]["n"] == 1
    assert json.loads(found["in"]["m"]) == {"i": 2}
    assert found["by"] == [("7", {"n": 8, "m": None})]
    assert found["maybe"] is None
    assert found["nothing"] is None


@pytest.mark.parametrize("data", [b"\x0a\x01\xff", b"\x12\x01\xff", b"\x1a\x03\x0a\x01\xff"])
def test_a_text_that_is_no_utf8_cannot_be_read(data: bytes) -> None:
    """Protocol Buffers: proto2 takes any bytes for a string. A column of text does not."""
    body = "optional string a = 1; repeated string b = 2; map<string, int32> c = 3;"
    codec = compiled(f'syntax = "proto2"; message M {{ {body} }}')
    codec.check(data, BINARY)
    for reader in (codec, compiled(proto3(body))):
        with pytest.raises(SchemaMismatch, match="invalid UTF-8 in a string"):
            codec.values(data, BINARY, reader)


def test_a_message_within_itself_is_json_with_the_names_of_its_definition() -> None:
    """A column has no recursive type, and its text has the names that the other columns have."""
    codec = compiled(proto3("int32 two_words = 1; M next = 2;"))
    found = codec.values(b'{"twoWords": 1, "next": {"twoWords": 2}}', JSON, codec)
    assert (found["two_words"], json.loads(found["next"])) == (1, {"two_words": 2})


def test_a_message_is_read_by_its_own_revision_as_another_one_has_it() -> None:
    old, new = compiled(proto3("string a = 1; string b = 2;")), compiled(proto3("string a = 1;"))
    assert old.values(b'{"a": "x", "b": "y"}', JSON, new) == {"a": "x"}
    assert new.values(b"\x0a\x01x", BINARY, old) == {"a": "x", "b": ""}


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (
            "schema.proto:1:2: no type.\nschema.proto:3:1: no name.\n",
            "1:2: no type.; 3:1: no name.",
        ),
        ("schema.proto:1:1: warning: unused.\nschema.proto:3:1: no name.\n", "3:1: no name."),
        ("schema.proto:1:1: warning: unused.\n\nout of memory\n", "out of memory"),
        ("", ""),
    ],
)
def test_the_compilers_errors_are_told_without_its_warnings(output: str, told: str) -> None:
    """ "Every message says what was wrong": where there is no error of a line, its last one."""
    assert _reason(output) == told


def test_a_definition_that_is_not_compiled_in_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("grpc_tools")

    def slow(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("protoc", 1)

    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(InvalidArgument, match="not compiled within"):
        InMemory().store.validate_schema("PROTOCOL_BUFFER", 'syntax = "proto3"; message A {}')
