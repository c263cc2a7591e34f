"""Filters from anywhere: a tree that decides about every message, or refused at a column."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.filters import matches, parse_filter
from tests.unit.hostile import is_refusal, outcome, texts, values

words = st.sampled_from(
    [
        *("attributes", "attributes:", "attributes.", "hasPrefix(", "AND", "OR", "NOT", "-", "and"),
        *("(", ")", "=", "!=", ":", ".", ",", " ", '"', "\\", '"x"', '"\\u00e9"', '"\\777"'),
        *('"\\ud800"', "a", "lang", "attributes:a", 'attributes.a = "b"', "\n", "\0", "'", ";--"),
    ]
)
filters = st.one_of(
    texts, st.lists(words, max_size=12).map("".join), st.lists(words, max_size=12).map(" ".join)
)
attributes = st.dictionaries(
    st.one_of(st.sampled_from(["a", "lang", "attributes", "x", "é"]), texts), texts, max_size=4
)


@given(filters, attributes)
@example("(" * 200, {})
@example("NOT " * 60 + "attributes:a", {})
@example("attributes:a AND " * 14 + "attributes:b", {})
@example('attributes.a = "\ud800"', {})
def test_a_text_is_a_filter_or_refused_at_a_column(text: str, found: dict[str, str]) -> None:
    told = outcome(lambda: parse_filter(text))
    if isinstance(told, Exception):
        assert repr(text) in str(told)
        size = len(text.encode("utf-8", "surrogatepass"))
        place = re.search(r", column (\d+): .", str(told))
        assert (place is not None) == (size <= 256)
        assert place is None or 1 <= int(place[1]) <= len(text) + 1
    else:
        assert (told is None) == (not text.strip(" \t\r\n"))
        assert matches(told, found) in (True, False)


@given(values.filter(lambda value: not isinstance(value, str)))
def test_what_is_no_text_is_no_filter(value: object) -> None:
    assert is_refusal(outcome(lambda: parse_filter(value)), value)  # type: ignore[arg-type]


@given(filters, attributes)
def test_a_filter_and_its_negation_part_all_messages(text: str, found: dict[str, str]) -> None:
    told: Filter | Exception | None = outcome(lambda: parse_filter(text))
    if told is None or isinstance(told, Exception):
        return
    for negated in (f"NOT ({text})", f"-({text})"):
        opposite = outcome(lambda negated=negated: parse_filter(negated))  # type: ignore[misc]
        if not isinstance(opposite, Exception):  # it may be too long now
            assert matches(opposite, found) != matches(told, found)
