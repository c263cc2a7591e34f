"""Times and durations as gcloud writes them (``gcloud topic datetimes``), given what now is."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from fractions import Fraction

from pubsub_delta import durations
from pubsub_delta.clock import read_time
from pubsub_delta.errors import InvalidArgument

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_ISO = re.compile(
    rf"P(?:({_NUMBER})W)?(?:({_NUMBER})D)?"
    rf"(?:T(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER})S)?)?",
    re.IGNORECASE,
)
_UNITS = (604_800, 86_400, 3_600, 60, 1)
"""Weeks, days, hours, minutes and seconds, in seconds."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_RELATIVE = re.compile(r"(?P<sign>[+-]?)(?P<span>P.*)", re.IGNORECASE)
_SECONDS = re.compile(_NUMBER)


def parse_duration(text: str, field: str) -> timedelta:
    """Return a duration: ``7d``, ``1d12h``, ``600s``, ``600`` (seconds), ``P7D`` or ``PT1H30M``.

    Years and months have no fixed length, and are refused (InvalidArgument).

    >>> parse_duration("PT1H30M", "ttl") == parse_duration("1h30m", "ttl")
    True
    >>> parse_duration("600", "ttl")
    datetime.timedelta(seconds=600)
    """
    span = text.strip()
    try:
        if span[:1] in ("P", "p"):
            return durations.exactly(_iso_seconds(span))
        if _SECONDS.fullmatch(span):
            return durations.exactly(Fraction(span))
        return durations.parse_duration(span.lower(), field)
    except (InvalidArgument, OverflowError, ValueError):
        raise InvalidArgument(
            f"{field}: {text!r} is not a duration; "
            "7d, 1d12h, 600s, P7D or PT1H is accepted, in weeks, days, hours, minutes and seconds"
        ) from None


def parse_time(text: str, now: datetime, field: str) -> datetime:
    """Return the time that a text means, at a given moment.

    ``2026-11-20T10:00:00Z`` and other aware RFC 3339; ``2026-11-20``, midnight in the time zone of
    ``now``; ``-p1d``, ``-PT1H`` and ``+P1W``, so long before or after ``now``; ``now``. A time of
    day without a zone is refused, not guessed (InvalidArgument).

    >>> from datetime import timezone
    >>> noon = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
    >>> parse_time("-p1d", noon, "time").isoformat()
    '2026-11-19T12:00:00+00:00'
    >>> parse_time("2026-11-20", noon, "time").isoformat()
    '2026-11-20T00:00:00+00:00'
    """
    given = text.strip()
    try:
        if given.lower() == "now":
            return now
        if relative := _RELATIVE.fullmatch(given):
            span = _iso_seconds(relative["span"])
            return now + durations.exactly(-span if relative["sign"] == "-" else span)
        if _DAY.fullmatch(given):
            day = date.fromisoformat(given)
            return datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)
        return read_time(given, field)
    except (InvalidArgument, OverflowError, ValueError):
        raise InvalidArgument(
            f"{field}: {text!r} is not a time; 2026-11-20T10:00:00Z, 2026-11-20 (midnight UTC), "
            "-p1d (a day ago), -PT1H or +PT10M is accepted; a time of day needs its zone"
        ) from None


def _iso_seconds(text: str) -> Fraction:
    match = _ISO.fullmatch(text)
    if match is None or text[-1] in "PpTt":
        raise ValueError(text)
    given = zip(_UNITS, match.groups(), strict=True)
    return sum((Fraction(number) * unit for unit, number in given if number), Fraction())
