"""Which messages may be published (spec section 2). The limits stand here as the spec's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.messages import (
    BAD_KEY,
    BAD_ORDERING_KEY,
    BAD_VALUE,
    EMPTY,
    FIELD_OF_RULE,
    TOO_LARGE,
    TOO_MANY_ATTRIBUTES,
    as_message,
    broken_rule,
)
from pubsub_delta.resources import Message


def attributes(count: int) -> dict[str, str]:
    return {f"k{n}": "" for n in range(count)}


KEPT = {
    "data only": Message(b"x"),
    # "Data or at least one attribute is required."
    "one empty attribute only": Message(b"", {"k": ""}),
    # "≤ 10,000,000 bytes per message"; "count data, attributes and ordering key"
    "largest data": Message(b"x" * 10_000_000),
    "largest with the rest": Message(b"x" * 9_999_994, {"k": "é"}, "ab" + "c"),
    # "≤ 100 attributes; key 1–256 bytes and not starting goog; value ≤ 1024 bytes"
    "most attributes": Message(b"", attributes(100)),
    "longest key": Message(b"", {"k" * 256: ""}),
    "longest key in UTF-8": Message(b"", {"é" * 128: ""}),
    "key almost reserved": Message(b"", {"goo": "", "xgoog": ""}),
    # "but for googclient_traceparent and googclient_tracestate, which the client libraries add"
    "keys of OpenTelemetry": Message(
        b"", {"googclient_traceparent": "00-1", "googclient_tracestate": ""}
    ),
    "longest value": Message(b"", {"k": "v" * 1024}),
    "longest value in UTF-8": Message(b"", {"k": "€" * 341}),
    "value like a reserved key": Message(b"", {"k": "goog"}),
    # "ordering key ≤ 1024 bytes"
    "longest ordering key": Message(b"x", {}, "k" * 1024),
    "longest ordering key in UTF-8": Message(b"x", {}, "𝄞" * 256),
}

BROKEN = {
    "nothing": (Message(), EMPTY),
    "ordering key only": (Message(b"", {}, "key"), EMPTY),
    "data too large": (Message(b"x" * 10_000_001), TOO_LARGE),
    "too large with the rest": (Message(b"x" * 9_999_995, {"k": "é"}, "abc"), TOO_LARGE),
    "too large with the longest of all": (
        Message(
            b"x" * (10_000_000 - 10 * (256 + 1024)),
            {f"{n:0256}": "v" * 1024 for n in range(10)},
            "k" * 1024,
        ),
        TOO_LARGE,
    ),
    "too many attributes": (Message(b"x", attributes(101)), TOO_MANY_ATTRIBUTES),
    "empty key": (Message(b"x", {"": "v"}), BAD_KEY),
    "key too long": (Message(b"x", {"k" * 257: ""}), BAD_KEY),
    "key too long in UTF-8": (Message(b"x", {"é" * 129: ""}), BAD_KEY),
    "reserved key": (Message(b"x", {"goog": ""}), BAD_KEY),
    # "not starting goog in upper or lower case"
    "reserved key in upper case": (Message(b"x", {"GOOGx": ""}), BAD_KEY),
    "reserved key in mixed case": (Message(b"x", {"Googclient_traceparent": ""}), BAD_KEY),
    "reserved key like a free one": (Message(b"x", {"googclient_traceparent2": ""}), BAD_KEY),
    "reserved key among others": (Message(b"x", {"a": "", "googclient_x": ""}), BAD_KEY),
    "value too long": (Message(b"x", {"k": "v" * 1025}), BAD_VALUE),
    "value too long in UTF-8": (Message(b"x", {"k": "€" * 342}), BAD_VALUE),
    "ordering key too long": (Message(b"x", {}, "k" * 1025), BAD_ORDERING_KEY),
    "ordering key too long in UTF-8": (Message(b"x", {}, "𝄞" * 257), BAD_ORDERING_KEY),
}


@pytest.mark.parametrize("message", KEPT.values(), ids=KEPT.keys())
def test_messages_within_the_limits_are_taken(message: Message) -> None:
    assert broken_rule(message) is None
    assert as_message(message, 0) is message


@pytest.mark.parametrize(("message", "rule"), BROKEN.values(), ids=BROKEN.keys())
def test_messages_beyond_the_limits_are_refused_by_rule_and_place(
    message: Message, rule: str
) -> None:
    # "One bad message fails its whole request and nothing is written (INVALID_ARGUMENT)."
    assert broken_rule(message) == rule
    with pytest.raises(InvalidArgument) as raised:
        as_message(message, 7)
    told = str(raised.value)
    assert told.startswith("messages[7]: ")
    assert f"{rule}; nothing was published" in told
    assert len(told) < 400, "an error does not repeat ten megabytes"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"k" * 256: "", "k" * 257: ""}, "a key of 257 bytes"),
        ({"k" * 256: "", "": ""}, "a key of 0 bytes"),
        ({"k": "", "": ""}, "a key of 0 bytes"),
        ({"a": "v" * 1024, "b": "v" * 1025}, "the value of 'b' has 1,025 bytes"),
    ],
)
def test_of_several_attributes_the_one_beyond_the_limits_is_named(
    given: dict[str, str], told: str
) -> None:
    """A key has 1 to 256 bytes, and a value up to 1,024."""
    with pytest.raises(InvalidArgument, match=f"attributes: {told}"):
        as_message(Message(b"x", given), 0)
    assert "Message(" not in told, "nor how Python writes a message"


def test_the_first_broken_rule_is_the_one_that_is_told() -> None:
    all_broken = Message(b"x" * 10_000_001, {**attributes(101), "": "v" * 1025}, "k" * 1025)
    assert broken_rule(all_broken) == TOO_LARGE
    rules = [rule for _, rule in BROKEN.values()]
    assert list(FIELD_OF_RULE) == sorted(set(rules), key=rules.index)


@pytest.mark.parametrize(
    ("value", "data"),
    [("é", b"\xc3\xa9"), (b"\xff", b"\xff"), (bytearray(b"x"), b"x"), (memoryview(b"x"), b"x")],
)
def test_text_and_bytes_are_taken_as_data(value: object, data: bytes) -> None:
    assert as_message(value, 0) == Message(data)


@pytest.mark.parametrize("value", ["", b""])
def test_empty_text_is_an_empty_message(value: object) -> None:
    with pytest.raises(InvalidArgument, match=EMPTY):
        as_message(value, 0)


@pytest.mark.parametrize("value", [None, 7, ["x"], {"data": b"x"}, ("x",)])
def test_what_is_no_message_is_refused(value: object) -> None:
    with pytest.raises(
        InvalidArgument, match=r"messages\[3\]: .* a Message, bytes or str is accepted"
    ):
        as_message(value, 3)


class Twice(dict[str, str]):
    """A mapping that holds a key twice, as those of HTTP libraries do."""

    def items(self) -> Any:
        return [("k", "1"), ("k", "2")]


WRONG: list[tuple[Any, str]] = [
    (Message(b"x", Twice(k="1")), r"messages\[3\]\.attributes: a key appears twice"),
    (Message("text"), r"messages\[3\]\.data: 'text' is a str; bytes"),  # type: ignore[arg-type]
    (Message(b"x", None), r"messages\[3\]\.attributes: None"),  # type: ignore[arg-type]
    (Message(b"x", {"k": 1}), r"messages\[3\]\.attributes: "),  # type: ignore[dict-item]
    (Message(b"x", {1: "v"}), r"messages\[3\]\.attributes: "),  # type: ignore[dict-item]
    (Message(b"x", {}, None), r"messages\[3\]\.ordering_key: None"),  # type: ignore[arg-type]
    ("\ud800", r"messages\[3\]\.data: .* UTF-8"),
    (Message(b"x", {"\ud800": "v"}), r"messages\[3\]\.attributes: .* UTF-8"),
    (Message(b"x", {"k": "\udfff"}), r"messages\[3\]\.attributes: .* UTF-8"),
    (Message(b"x", {}, "\ud800"), r"messages\[3\]\.ordering_key: .* UTF-8"),
]


@pytest.mark.parametrize(("value", "told"), WRONG)
def test_parts_of_the_wrong_type_are_refused_by_field(value: Any, told: str) -> None:
    # "data bytes, attributes string→string, ordering_key"
    with pytest.raises(InvalidArgument, match=told):
        as_message(value, 3)
