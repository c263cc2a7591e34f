"""Texts and values from anywhere, and how they are refused: with their value and what would do."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument

T = TypeVar("T")

LETTERS = "ab09/.,%+~-_:=`'\"\\; \n\t\0{}()[]$#*?é٣²ß語\u202e\ud800"
texts = st.one_of(st.text(LETTERS, max_size=16), st.text(max_size=16))
"""Texts with what means something in SQL, paths, shells and regular expressions."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from([-1, 0, 1, 9, 10, 11, 600, 601, 2**63, -(2**63)]),
    st.floats(),
    st.binary(max_size=4),
    st.sampled_from([timedelta.min, timedelta.max, timedelta(0), timedelta(days=-1)]),
    st.timedeltas(),
    texts,
)
values = st.one_of(
    scalars, st.lists(scalars, max_size=3), st.dictionaries(texts, scalars, max_size=3)
)
"""Whatever somebody may pass instead of what is asked for."""

ACCEPTED = re.compile(
    r"accepted|or None|or none|means never|write a timedelta|pass (the|an?)\b|strings by string"
    r"|is not a pair of strings|neither True nor False|is required|at most [\d,]+ |is a string"
    r"|is not a string|create it again|fields that can be updated|an attribute key is"
)


def outcome(ask: Callable[[], T]) -> T | InvalidArgument:
    """Return what a call returns, or the refusal; any other error is one of the test."""
    try:
        return ask()
    except InvalidArgument as error:
        return error


def is_refusal(told: object, *given: object) -> bool:
    """Tell whether a call was refused, naming one of the values and what would be accepted."""
    if not isinstance(told, InvalidArgument):
        return False
    text = str(told)
    assert ACCEPTED.search(text), text
    assert any(each[:100] in text for value in given for each in _written(value)), text
    return True


def _written(value: object) -> list[str]:
    """Return how an error may write a value: a duration in seconds, as any language has them."""
    seconds = [f"{value.total_seconds():.15g}s"] if isinstance(value, timedelta) else []
    return [repr(value), *seconds]
