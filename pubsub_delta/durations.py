"""Durations in their accepted forms: ``timedelta``, seconds, ``"600s"``, ``"7d"``, ``"1d12h"``."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from math import ceil
from typing import TypeAlias

from pubsub_delta.errors import InvalidArgument

Duration: TypeAlias = "timedelta | int | float | str"

_MICROSECONDS = 1_000_000
_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_TEXT = re.compile(r"(?:\d+(?:\.\d+)?[wdhms])+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)([wdhms])", re.ASCII)


def parse_duration(value: Duration, field: str) -> timedelta:
    """Return the duration of a value; InvalidArgument names the field.

    >>> parse_duration("1d12h", "ttl")
    datetime.timedelta(days=1, seconds=43200)
    >>> parse_duration(600, "ttl")
    datetime.timedelta(seconds=600)
    """
    if isinstance(value, timedelta):
        finer = getattr(value, "nanoseconds", 0) > 0  # as those of pandas
        return timedelta(value.days, value.seconds, value.microseconds + finer)
    try:
        if isinstance(value, str) and _TEXT.fullmatch(value):
            parts = _PART.findall(value)
            return exactly(sum(Fraction(number) * _UNITS[unit] for number, unit in parts))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return timedelta(seconds=value)
    except (OverflowError, ValueError):
        pass
    raise InvalidArgument(
        f'{field}: {value!r} is not a duration; write a timedelta, seconds, "600s", "7d" or "1d12h"'
    )


def exactly(seconds: Fraction | int) -> timedelta:
    """Return seconds in whole microseconds, rounded up: nothing ends too early.

    >>> exactly(Fraction("0.0000001"))
    datetime.timedelta(microseconds=1)
    """
    return timedelta(microseconds=ceil(seconds * _MICROSECONDS))


def parse_duration_from_zero(value: Duration, field: str) -> timedelta:
    """Return a duration; InvalidArgument if it is negative."""
    duration = parse_duration(value, field)
    if duration < timedelta(0):
        raise InvalidArgument(f"{field}: {duration} is negative; from 0 is accepted")
    return duration


def parse_duration_within(
    value: Duration, field: str, shortest: timedelta, longest: timedelta
) -> timedelta:
    """Return a duration within the bounds, both included; InvalidArgument for others."""
    duration = parse_duration(value, field)
    if not shortest <= duration <= longest:
        given = f"{value.total_seconds():.15g}s" if isinstance(value, timedelta) else repr(value)
        raise InvalidArgument(
            f"{field}: {given} is out of range; "
            f"from {format_duration(shortest)} to {format_duration(longest)} is accepted"
        )
    return duration


def format_duration(duration: timedelta) -> str:
    """Return a bound of whole seconds as text that ``parse_duration`` reads back.

    >>> format_duration(timedelta(days=1, hours=12))
    '1d12h'
    >>> format_duration(timedelta(minutes=10))
    '10m'
    """
    seconds = duration // timedelta(seconds=1)
    text = ""
    for unit in "dhms":
        count, seconds = divmod(seconds, _UNITS[unit])
        if count:
            text += f"{count}{unit}"
    return text or "0s"
