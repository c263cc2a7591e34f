"""Protocol Buffers in JSON: a text is the value that every parser reads, or it is refused."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("grpc_tools")

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.schemas.protobuf import ProtobufCodec
from pubsub_delta.policy.schemas.types import SchemaMismatch
from pubsub_delta.schemas import Encoding
from tests.unit.in_memory import InMemory
from tests.unit.schema_cases import compiled

DEFINITION = """syntax = "proto3";
message M {
  enum Size { SMALL = 0; LARGE = 1; }
  message Inner { bytes raw = 1; M outer = 2; }
  int64 whole = 1; uint32 natural = 2; double real = 3; float short = 4; bytes raw = 5;
  Size size = 6; string text = 7; bool flag = 8; repeated int32 many = 9; Inner inner_one = 10;
  map<int32, bytes> by_number = 11; map<string, Size> by_text = 12; map<bool, string> by_flag = 13;
}"""


@pytest.fixture(scope="module")
def codec() -> ProtobufCodec:
    return compiled(DEFINITION)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ('{"whole": "1000"}', "whole", 1000),
        ('{"whole": "-9223372036854775808"}', "whole", -(2**63)),
        ('{"whole": 1e3}', "whole", 1000),
        ('{"whole": "1e3"}', "whole", 1000),
        ('{"real": "-1.5e3"}', "real", -1500.0),
        ('{"real": 1}', "real", 1.0),
        ('{"real": "Infinity"}', "real", float("inf")),
        ('{"short": "-Infinity"}', "short", float("-inf")),
        ('{"raw": "YWI="}', "raw", b"ab"),
        ('{"raw": "YWI"}', "raw", b"ab"),
        ('{"raw": "_-8="}', "raw", b"\xff\xef"),
        ('{"raw": null}', "raw", b""),
        ('{"size": "LARGE"}', "size", "LARGE"),
        ('{"size": 1}', "size", "LARGE"),
        ('{"size": 1.0}', "size", "LARGE"),
        ('{"many": [1, "2"]}', "many", [1, 2]),
        ('{"inner_one": {"raw": "YQ=="}}', "inner_one", {"raw": b"a", "outer": None}),
        ('{"innerOne": {"raw": "YQ=="}}', "inner_one", {"raw": b"a", "outer": None}),
        ('{"byNumber": {"-1": "YQ=="}}', "by_number", [("-1", b"a")]),
        ('{"byText": {"a": "LARGE"}}', "by_text", [("a", "LARGE")]),
        ('{"byFlag": {"true": "a"}}', "by_flag", [("true", "a")]),
        ('{"text": "1_000"}', "text", "1_000"),
    ],
)
def test_what_every_parser_reads_is_accepted(
    codec: ProtobufCodec, text: str, name: str, value: Any
) -> None:
    """ProtoJSON: numbers are numbers or texts, bytes base64 of either alphabet, enums names."""
    codec.check(text.encode(), Encoding.JSON)
    assert codec.values(text.encode(), Encoding.JSON, codec)[name] == value


@pytest.mark.parametrize(
    "text",
    [
        '{"whole": "1_000"}',
        '{"whole": "\uff11\uff12"}',
        '{"natural": "1_0"}',
        '{"whole": true}',
        '{"real": "1_0"}',
        '{"real": "\u0661"}',
        '{"real": " 1 "}',
        '{"real": true}',
        '{"real": "1e400"}',
        '{"short": 1e39}',
        '{"short": "1e39"}',
        '{"raw": "!!!!"}',
        '{"raw": "a$b$"}',
        '{"raw": "Y Q = ="}',
        '{"raw": "\u00e9"}',
        '{"raw": 1}',
        '{"size": true}',
        '{"size": 1.5}',
        '{"size": "1_0"}',
        '{"size": "\uff11"}',
        '{"many": ["1_0"]}',
        '{"inner_one": {"raw": "!!!!"}}',
        '{"innerOne": {"outer": {"whole": "1_0"}}}',
        '{"byNumber": {"1_0": "YQ=="}}',
        '{"byNumber": {"1": "!!!!"}}',
        '{"byText": {"a": 1.5}}',
    ],
)
def test_what_would_be_read_as_another_value_is_refused(codec: ProtobufCodec, text: str) -> None:
    """Python's parser takes text that is no base64 for fewer bytes, and ``true`` for a number."""
    with pytest.raises(SchemaMismatch, match="invalid message"):
        codec.check(text.encode(), Encoding.JSON)
    with pytest.raises(SchemaMismatch):
        codec.values(text.encode(), Encoding.JSON, codec)


def test_an_error_names_the_field_and_shortens_its_value(codec: ProtobufCodec) -> None:
    data = '{"inner_one": {"raw": "' + 200 * "!" + '"}}'
    with pytest.raises(SchemaMismatch, match=r"field M\.Inner\.raw: ") as raised:
        codec.check(data.encode(), Encoding.JSON)
    assert len(str(raised.value)) < 150


@pytest.mark.parametrize("value", ["[]", '""', "7", "false", '"A"'])
@pytest.mark.parametrize("within", ["%s", '{"one": %s}', '{"many": [%s]}', '{"by": {"k": %s}}'])
def test_a_message_of_protobuf_is_an_object_of_json(within: str, value: str) -> None:
    """ProtoJSON: a message is a JSON object, at any depth; an empty text or list is none."""
    definition = """
        syntax = "proto3";
        message A {
            B one = 1;
            repeated B many = 2;
            map<string, B> by = 3;
            message B { int32 n = 1; }
        }
    """

    def validate(text: str) -> None:
        store.validate_message(text, "JSON", type="PROTOCOL_BUFFER", definition=definition)

    store = InMemory().store
    with pytest.raises(InvalidArgument, match="does not fit") as told:
        validate(within % value)
    assert "object is not iterable" not in str(told.value)
    validate(within % "{}")
