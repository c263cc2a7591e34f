"""Bodies of requests as anybody may write them: JSON in text, and protobuf in bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import strategies as st

from pubsub_delta.server.rest.payload import is_map, is_repeated

Texts = st.SearchStrategy[str]

NUMBERS = st.one_of(
    st.sampled_from(
        [
            *("0", "-0", "1", "1.0", "1e2", "1E+2", "1e400", "-1e-400", "1.5", "007", "1.", ".5"),
            *("+1", "0x10", "NaN", "Infinity", "-Infinity", "9" * 25, "9" * 5_000, "2147483648"),
        ]
    ),
    st.integers(-5, 700).map(str),
)
ESCAPED = st.sampled_from(
    [
        r'"\ud800"',
        r'"\udc00\ud800"',
        r'"\ud83d\ude00"',
        r'"\u0000"',
        r'"\x"',
        r'"\u12"',
        '"a\tb"',
        '"\N{BYTE ORDER MARK}"',
        '"' + "k" * 2_000 + '"',
        '"unfinished',
    ]
)
BASE64 = st.sampled_from(
    ["YQ==", "YQ", "YQ=", "YQ==YQ==", "_-__", "+/++", "Y Q==", "YQ==\\n", "=", "====", "a", "YR=="]
).map(lambda text: f'"{text}"')
STRINGS = st.one_of(st.text(max_size=4).map(json.dumps), ESCAPED, BASE64)
TIMES = st.sampled_from(
    [
        *("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456789Z", "0001-01-01T00:00:00Z"),
        *("9999-12-31T23:59:59.999999999Z", "2026-01-01T24:00:00Z", "2016-12-31T23:59:60Z"),
        *("2026-01-01", "600s", "-600s", "0.0000000001s", "315576000001s", "1e3s", "s", "600"),
        *("labels,ackDeadlineSeconds", "labels,,labels", "a.b.c", "ack_deadline_seconds", "*"),
    ]
).map(json.dumps)
PLAIN = st.one_of(
    NUMBERS, STRINGS, TIMES, st.sampled_from(["true", "false", "null", "", "[]", "{}"])
)
ANY = st.one_of(
    PLAIN,
    st.recursive(
        PLAIN,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]"),
            st.lists(st.tuples(STRINGS, inner), max_size=3).map(lambda pairs: _object(pairs)),
        ),
        max_leaves=6,
    ),
    st.integers(1, 5_000).map(lambda depth: "[" * depth + "]" * depth),
    st.integers(1, 5_000).map(lambda depth: '{"a":' * depth + "1" + "}" * depth),
)


def _object(pairs: Sequence[tuple[str, str]]) -> str:
    """Write an object; a name may stand twice."""
    return "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}"


@st.composite
def bodies(draw: st.DrawFn, of: Descriptor, depth: int = 3) -> str:
    """Write a message as JSON, with something wrong here and there."""
    if not draw(st.integers(0, 15)):
        return draw(ANY)
    fields = draw(st.lists(st.sampled_from([*of.fields]), max_size=4)) if of.fields else []
    pairs = []
    for field in fields:
        name = draw(st.sampled_from([field.name, field.json_name]))
        pairs.append((json.dumps(name), draw(_value(field, depth))))
    if not draw(st.integers(0, 15)):
        pairs.append((draw(STRINGS), draw(ANY)))
    return _object(pairs)


def _value(field: FieldDescriptor, depth: int) -> Texts:
    one = _one(field, depth)
    if is_map(field):
        pairs = st.lists(st.tuples(STRINGS, STRINGS), max_size=3).map(_object)
        return st.one_of(pairs, pairs, ANY)
    if is_repeated(field):
        listed = st.lists(one, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
        return st.one_of(listed, listed, ANY)
    return one


def _one(field: FieldDescriptor, depth: int) -> Texts:
    if field.message_type is not None:
        written = field.message_type.full_name.startswith("google.protobuf.")
        if written or not depth:
            return st.one_of(TIMES, PLAIN)
        return bodies(field.message_type, depth - 1)
    return st.one_of(NUMBERS, STRINGS, PLAIN)


@st.composite
def protobufs(draw: st.DrawFn, request: Any) -> bytes:
    """Write a message as protobuf: with unknown fields, cut off, or with a byte changed."""
    written: bytes = request.SerializeToString()
    if draw(st.booleans()):
        written += draw(unknown_fields())
    if draw(st.booleans()) and written:
        written = written[: draw(st.integers(0, len(written)))]
    if draw(st.booleans()) and written:
        place = draw(st.integers(0, len(written) - 1))
        written = written[:place] + draw(st.binary(min_size=1, max_size=2)) + written[place + 1 :]
    return written


def unknown_fields() -> st.SearchStrategy[bytes]:
    """Return fields that no message has: numbers, bytes, groups, and wire types that are none."""
    return st.sampled_from(
        [
            b"\xf8\x3f\x01",  # field 1023, a number
            b"\xfa\x3f\x02hi",  # bytes
            b"\xfb\x3f\xfc\x3f",  # a group, begun and ended
            b"\xfb\x3f",  # one that is not ended
            b"\xfd\x3f1234",  # 32 bits
            b"\xff\x3f",  # no wire type
            b"\x00\x00",  # field 0
        ]
    )
