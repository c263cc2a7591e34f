"""Ack ids: every delivery has its own, and a damaged one never means another message."""

from __future__ import annotations

import string
import zlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pubsub_delta.policy.ack_ids import END_OF_POSITIONS, AckId, parse_ack_id, prefix

UID = "0123456789abcdef" * 2
uids = st.text("0123456789abcdef", min_size=32, max_size=32)
numbers = st.integers(0, END_OF_POSITIONS - 1)
ack_ids = st.builds(AckId, uids, numbers, numbers)


@given(ack_ids)
def test_an_ack_id_is_read_back_as_it_was(ack_id: AckId) -> None:
    assert parse_ack_id(str(ack_id)) == ack_id


@given(ack_ids, ack_ids)
def test_every_delivery_has_an_ack_id_of_its_own(one: AckId, other: AckId) -> None:
    # "Every delivery has a fresh ack_id"
    assert (str(one) == str(other)) == (one == other)


@given(ack_ids, st.data())
def test_a_mistyped_ack_id_is_malformed(ack_id: AckId, data: st.DataObject) -> None:
    # "Malformed, or of another subscription → invalid"
    text = str(ack_id)
    place = data.draw(st.integers(0, len(text) - 1))
    typed = data.draw(st.sampled_from(string.printable))
    assume(typed != text[place])
    assert parse_ack_id(text[:place] + typed + text[place + 1 :]) is None


@given(ack_ids, st.integers(0, 80))
def test_a_truncated_ack_id_is_malformed(ack_id: AckId, length: int) -> None:
    text = str(ack_id)
    assume(length < len(text))
    assert parse_ack_id(text[:length]) is None
    assert parse_ack_id(text[-length:] if length else "") is None


def with_check(named: str) -> str:
    """Return a text with the right check, so that only its form can be wrong."""
    return f"{named}.{zlib.crc32(named.encode())}"


def test_the_form_alone_is_accepted() -> None:
    assert parse_ack_id(with_check(f"{UID}.7.42")) == AckId(UID, 7, 42)


OTHER_FORMS = [
    f"{UID}.07.42",
    f"{UID}.7.042",
    f"{UID}.7.-1",
    f"{UID}.+7.42",
    f"{UID}.7.42 ",
    f"{UID}.7\t.42",
    f"{UID}.7.4.2",
    f"{UID}.7",
    f"{UID}..42",
    f"{UID}.7.4e1",
    f"{UID.upper()}.7.42",
    f"{UID[1:]}.7.42",
    f"{UID}.7.{END_OF_POSITIONS}",
    f"{UID}.{END_OF_POSITIONS}.42",
    f"{UID}.{2**63}.42",
    f"{UID}.٧.42",
    f" {UID}.7.42",
    "",
]
"""What an ack id does not read like; a DataFrame of them is read in ``test_acknowledge.py``."""


@pytest.mark.parametrize("named", OTHER_FORMS)
def test_another_form_is_malformed_even_with_the_right_check(named: str) -> None:
    assert parse_ack_id(with_check(named)) is None


def test_surroundings_make_an_ack_id_malformed() -> None:
    text = str(AckId(UID, 7, 42))
    for damaged in (f"{text}\n", f" {text}", f"{text}0", f"{text}.", f"{text}{text}"):
        assert parse_ack_id(damaged) is None


@pytest.mark.parametrize("value", [None, 7, b"x", ["x"], AckId(UID, 7, 42)])
def test_what_is_no_text_is_no_ack_id(value: object) -> None:
    assert parse_ack_id(value) is None


def test_the_ack_ids_of_one_lease_begin_alike() -> None:
    first, second = AckId(UID, 7, 1), AckId(UID, 7, 2)
    assert str(first).startswith(prefix(UID, 7))
    assert str(second).startswith(prefix(UID, 7))
    assert not str(AckId(UID, 70, 1)).startswith(prefix(UID, 7))
