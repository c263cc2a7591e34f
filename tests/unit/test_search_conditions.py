"""The conditions of a search: what they accept, word for word, and what JSON data meets them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from pubsub_delta.clock import UTC
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.json_fields import JsonField
from pubsub_delta.policy.message_queries import MessageQuery

HIGHEST = 2**63 - 1
NUMBER = f"a whole number from 0 to {HIGHEST}"
PAIR = "a pair of a name, and a value or None,"
STATES = "a set of acked, available, backing_off, forwarding, leased, retained, writing"
SURROGATE = "\udcff"


@pytest.mark.parametrize(
    ("field", "given", "accepted"),
    [
        *((name, -1, NUMBER) for name in ("message_id", "before", "after_version")),
        *((name, HIGHEST + 1, NUMBER) for name in ("message_id", "before", "after_version")),
        ("message_id", True, NUMBER),
        ("message_id", "5", NUMBER),
        ("ordering_key", b"key", "text in UTF-8"),
        ("ordering_key", f"k{SURROGATE}", "text in UTF-8"),
        ("ordering_key", "k\ud800", "text in UTF-8"),
        *((name, "ab", PAIR) for name in ("attribute", "json_field")),
        *((name, ["a", "b"], PAIR) for name in ("attribute", "json_field")),
        *((name, ("a",), PAIR) for name in ("attribute", "json_field")),
        *((name, ("a", "b", "c"), PAIR) for name in ("attribute", "json_field")),
        *((name, (None, "b"), PAIR) for name in ("attribute", "json_field")),
        *((name, ("a", 5), PAIR) for name in ("attribute", "json_field")),
        *((name, (SURROGATE, None), PAIR) for name in ("attribute", "json_field")),
        ("states", "leased", STATES),
        ("states", b"leased", STATES),
        ("states", 5, STATES),
        ("states", frozenset({"leased", "lost"}), STATES),
        ("states", [["leased"]], STATES),
    ],
)
def test_a_wrong_condition_is_told_with_what_is_accepted(
    field: str, given: object, accepted: str
) -> None:
    """Every error says what was wrong, the offending value, and what would be accepted."""
    with pytest.raises(InvalidArgument) as error:
        MessageQuery(**{field: given})  # type: ignore[arg-type]
    assert str(error.value) == f"query.{field}: {given!r}; {accepted} is accepted"


@pytest.mark.parametrize("given", ["late", None, 5])
def test_text_that_is_no_bytes_is_refused(given: Any) -> None:
    with pytest.raises(InvalidArgument) as error:
        MessageQuery(text=given)
    assert str(error.value) == f"query.text: {given!r}; bytes are accepted"


@pytest.mark.parametrize(
    ("field", "given"),
    [
        *((name, 0) for name in ("message_id", "before", "after_version")),
        *((name, HIGHEST) for name in ("message_id", "before", "after_version")),
        ("ordering_key", ""),
        ("ordering_key", "ключ\ud7ff\ue000"),
        *((name, ("a", None)) for name in ("attribute", "json_field")),
        *((name, ("", "")) for name in ("attribute", "json_field")),
        ("states", frozenset()),
        ("states", ["leased", "acked"]),
        ("text", bytearray(b"late")),
    ],
)
def test_conditions_at_their_limits_are_kept_as_given(field: str, given: object) -> None:
    assert getattr(MessageQuery(**{field: given}), field) == given  # type: ignore[arg-type]


def test_a_fraction_of_a_microsecond_is_rounded_into_the_searched_time() -> None:
    """Both times are included: the first is rounded up to a microsecond, the last one down."""
    fine, texts = "2026-01-01T00:00:00.0000015Z", {}
    query = MessageQuery(earliest=fine, latest=fine)  # type: ignore[arg-type]
    assert query.earliest == datetime(2026, 1, 1, microsecond=2, tzinfo=UTC)
    assert query.latest == datetime(2026, 1, 1, microsecond=1, tzinfo=UTC)
    for name in ("earliest", "latest"):
        with pytest.raises(InvalidArgument) as error:
            MessageQuery(**{name: "today"})  # type: ignore[arg-type]
        texts[name] = str(error.value)
    assert texts == {
        name: f"query.{name}: 'today' is not a time; an aware datetime or RFC 3339 text, such as "
        '"2026-01-01T00:00:00Z", is accepted'
        for name in ("earliest", "latest")
    }


JSON = (
    b'{"yes": true, "no": false, "none": null, "whole": 5, "part": 5.0, "text": "5", "bare": NaN,'
    b' "far": Infinity, "long": 1e99999999999999999999, "word": "true", "list": [[7, 8], {"a": 1}],'
    b' "object": {"0": "zero"}, "0": "first"}'
)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("yes", ["true"]),
        ("no", ["false"]),
        ("none", ["null"]),
        ("word", ["true"]),
        ("whole", ["5", "5.0", "5e0", "+5"]),
        ("part", ["5", "5.0", "5e0", "+5"]),
        ("text", ["5"]),
        ("bare", ["NaN"]),
        ("far", ["Infinity"]),
        ("long", ["1e99999999999999999999"]),
        ("list.0.0", ["7"]),
        ("list.0.1", ["8"]),
        ("list.1.a", ["1"]),
        ("object.0", ["zero"]),
        ("0", ["first"]),
        ("object", []),
        ("list", []),
        ("list.0", []),
    ],
)
def test_a_field_of_json_equals_these_values_and_no_others(path: str, values: list[str]) -> None:
    """Numbers are compared as numbers, other values as text."""
    asked = [
        *("true", "false", "null", "5", "5.0", "5e0", "+5", "6", "7", "8", "1", "zero", "first"),
        *("NaN", "sNaN", "Infinity", "-Infinity", "1e99999999999999999999", "True", "None", ""),
    ]
    assert [value for value in asked if JsonField(path, value).matches(JSON)] == values
    assert JsonField(path).matches(JSON)


@pytest.mark.parametrize(
    "path",
    ["", "absent", "list.2", "list.-1", "list.a", "list.0000000000", "list.²", "yes.0", "text.0"],
)
def test_json_without_a_field_has_it_with_no_value(path: str) -> None:
    assert not JsonField(path).matches(JSON)


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[" * 100_000, b'{"a": 1} 2'])
def test_data_that_is_no_json_has_no_field(data: bytes) -> None:
    assert not JsonField("a").matches(data)


@pytest.mark.parametrize(
    ("path", "value", "name_text", "value_text"),
    [
        ("gate.terminal", "B", b"terminal", b"B"),
        ("terminal", None, b"terminal", b""),
        ("delays.0", "5", b"", b"5"),
        ("delays.0123456789", "", b"0123456789", b""),
        ("a", "-007", b"a", b"7"),
        ("a", "5.0", b"a", b""),
        ("a", "+5", b"a", b""),
        ("a", "1" * 30, b"a", b"1" * 30),
        ("a", "1" * 31, b"a", b""),
        ("\ud800", "\ud800", b"\xed\xa0\x80", b"\xed\xa0\x80"),
    ],
)
def test_all_data_that_has_a_field_contains_these_bytes(
    path: str, value: str | None, name_text: bytes, value_text: bytes
) -> None:
    """Files are searched for them first; data without them is not read as JSON."""
    field = JsonField(path, value)
    assert (field.name_text, field.value_text) == (name_text, value_text)
