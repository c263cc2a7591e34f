"""jobs/publish.py: a batch is known by its value, and other values change nothing about that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.jobs.idempotency_ids import batch_id

marks = st.text("a/=%:", min_size=1, max_size=4)
batches = st.tuples(marks, marks, st.none() | st.text("a/=%:", max_size=4))
values = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("3", "flights/month=3"),
        (None, "flights/month"),
        ("", "flights/month="),
        ("null", "flights/month=null"),
        ("a=b/c:d é", "flights/month=a%3Db%2Fc%3Ad%20%C3%A9"),
    ],
)
def test_the_value_stands_in_the_id(value: str | None, told: str) -> None:
    """The value is part of the id: a null is no text, and what has a meaning there is quoted."""
    assert batch_id("flights", "month", value) == (told, 0)


@given(values, values)
def test_two_values_have_two_ids_that_publish_takes(one: str | None, other: str | None) -> None:
    """An application id is a text of 1 to 256 bytes."""
    ids = [batch_id("flights", "month", each) for each in (one, other)]
    assert all(1 <= len(told.encode()) <= 256 for told, _ in ids)
    assert (ids[0] == ids[1]) == (one == other)


def test_a_long_value_is_told_as_far_as_it_goes() -> None:
    for length in (256 - len("flights/month="), 257 - len("flights/month="), 5_000):
        told, version = batch_id("flights", "month", "x" * length)
        assert told.startswith("flights/month=xxx")
        assert ("/sha256=" in told) == (length > 256 - len("flights/month="))
        assert (len(told), version) == (256, 0)


def test_an_id_of_a_run_in_other_letters_is_shortened_by_its_bytes() -> None:
    """An application id is a text of 1 to 256 bytes, and not characters."""
    told, _ = batch_id("ü" * 125, "month", "3")
    assert "/sha256=" in told
    assert len(told.encode()) <= 256


def test_long_values_that_differ_at_their_end_have_two_ids() -> None:
    """A value is known by all of it: the second one would be skipped as published."""
    ends = ("", "a", "b", "ab", "é")
    assert len({batch_id("flights", "month", "x" * 300 + end) for end in ends}) == len(ends)


def test_runs_and_columns_have_ids_of_their_own() -> None:
    told = {
        batch_id(*each)[0]
        for each in (("a", "b", "c"), ("a", "c", "b"), ("b", "a", "c"), ("a" * 300, "b", "c"))
    }
    assert len(told) == 4


@given(batches, batches)
def test_two_batches_have_two_ids_whatever_marks_are_in_their_names(
    one: tuple[str, str, str | None], other: tuple[str, str, str | None]
) -> None:
    """Else the batch of another run, or of another column, would be skipped as published."""
    assert (batch_id(*one) == batch_id(*other)) == (one == other)


def test_a_slash_is_of_the_run_or_of_the_column() -> None:
    assert batch_id("a", "b/c", "1") != batch_id("a/b", "c", "1")
