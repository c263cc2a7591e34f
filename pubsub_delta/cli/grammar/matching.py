"""Comparisons of filters: text, numbers, times and patterns.

``:`` finds an operand anywhere in text, at its beginning (``my*``) or at its end (``*my``); ``=``
and ``!=`` compare all of it. They ignore case and accents; ``~`` and ``!~`` do not. A comparison
holds if it holds for any item of a list. A missing value is empty: ``labels.env!=prod`` holds for a
topic without that label.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.time_transforms import read_as_time
from pubsub_delta.cli.grammar.transforms import text_of
from pubsub_delta.clock import UTC

Matches = Callable[[Any], bool]

_ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda value, operand: bool(value < operand),
    "<=": lambda value, operand: bool(value <= operand),
    ">": lambda value, operand: bool(value > operand),
    ">=": lambda value, operand: bool(value >= operand),
}
OPERATORS = (":", "=", "!=", *_ORDERED, "~", "!~")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_TRUTHS = {"true": 1, "false": 0}
_TAG = re.compile(r"<[^>]*>")


def number_of(value: Any) -> int | float | None:
    """Return a value as a number, or None.

    >>> number_of("60"), number_of(True), number_of("60s")
    (60, True, None)
    """
    if isinstance(value, (int, float)):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except (TypeError, ValueError):
            continue
    return None


def folded(value: Any) -> str:
    """Return a value as text in lower case, without accents and tags.

    >>> folded("Zürich")
    'zurich'
    """
    plain = unicodedata.normalize("NFKD", _TAG.sub("", text_of(value).lower()))
    return "".join(each for each in plain if not unicodedata.combining(each))


def matcher(operator: str, operand: str, context: Context, *, times: bool) -> Matches:
    """Return the predicate of an operator and an operand.

    ``times``: whether text that is a time is compared as a time. ValueError for an operand that is
    not a valid pattern.
    """
    if operator in ("~", "!~"):
        return _pattern(operator, operand)
    if operator in _ORDERED:
        compare = _ordering(_ORDERED[operator], operand)
    else:
        compare = _word(operator, operand)
    as_time = _reader(operand, context) if times else None

    def test(value: Any) -> bool:
        if as_time is not None and isinstance(value, str) and _TIME.match(value):
            pair = as_time(value)
            if pair is not None:
                return _of_times(operator, *pair)
        return compare(value)

    return test


def _reader(operand: str, context: Context) -> Callable[[str], tuple[datetime, datetime] | None]:
    @cache  # parsed when the first value is a time
    def operand_time() -> datetime | None:
        return read_as_time(operand, context)

    def read(value: str) -> tuple[datetime, datetime] | None:
        found, wanted = read_as_time(value, context), operand_time()
        if found is None or wanted is None:
            return None
        return found.astimezone(UTC), wanted.astimezone(UTC)

    return read


def _of_times(operator: str, value: datetime, operand: datetime) -> bool:
    if operator in _ORDERED:
        return _ORDERED[operator](value, operand)
    return (value == operand) != (operator == "!=")


def _pattern(operator: str, operand: str) -> Matches:
    try:
        pattern = re.compile(operand)
    except re.error as error:
        raise ValueError(f"{operand!r} is not a pattern: {error}") from None

    def test(value: Any) -> bool:
        if isinstance(value, (Mapping, list)):
            return False
        found = pattern.search("" if value is None else text_of(value)) is not None
        return found != (operator == "!~")

    return test


def _ordering(compare: Callable[[Any, Any], bool], operand: str) -> Matches:
    number = number_of(operand)

    def test(value: Any) -> bool:
        if number is not None and (mine := number_of(value)) is not None:
            return compare(mine, number)
        if isinstance(value, (Mapping, list)):
            return False
        return compare("" if value is None else text_of(value), operand)

    return test


def _word(operator: str, operand: str) -> Matches:
    pattern = _has(operand) if operator == ":" else _whole(operand)
    number = number_of(operand)
    truth = _TRUTHS.get(operand.lower())

    def matches(value: Any) -> bool:
        if isinstance(value, (Mapping, list)):
            inner = [*value, *value.values()] if isinstance(value, Mapping) else value
            return any(map(matches, inner))
        if value is None:
            starred = operator == ":" and operand == "*"
            return operand == "" or (not starred and pattern.search("null") is not None)
        # Text is compared as a number if the operand is one: 012 is 12, and 1e3 is 1000.
        mine = None if number is None and truth is None else number_of(value)
        if mine is not None and (mine in (number, truth) or truth is None):
            return mine in (number, truth) or _found_in(pattern, mine)
        if isinstance(value, (int, float)):
            return _found_in(pattern, value)
        return bool(value == operand) or pattern.search(folded(value)) is not None

    return lambda value: matches(value) != (operator == "!=")


def _whole(operand: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(folded(operand))}$", re.MULTILINE)


def _found_in(pattern: re.Pattern[str], number: float) -> bool:
    return pattern.search(re.sub(r"\.0*$", "", folded(number))) is not None


def _has(operand: str) -> re.Pattern[str]:
    """Return the pattern of a word with at most one star."""
    if operand == "*":
        return re.compile(".", re.DOTALL)
    before, star, after = folded(operand).partition("*")
    if "*" in after:
        raise ValueError(f"at most one * is accepted in {operand!r}")
    before, after = re.escape(before), re.escape(after)
    if not star:
        return re.compile(before)
    return re.compile(f"{'^' * bool(before)}{before}.*{after}{'$' * bool(after)}", re.MULTILINE)
