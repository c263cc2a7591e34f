"""Parses times and durations as gcloud does (``gcloud topic datetimes``)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any

from pubsub_delta import durations
from pubsub_delta.cli.periods import Period, parse_period
from pubsub_delta.clock import UTC, as_utc, read_time
from pubsub_delta.errors import InvalidArgument

_ANY_CASE = re.IGNORECASE | re.ASCII
"""Of ASCII letters: else ``s`` is also the long s, and ``k`` the Kelvin sign."""
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_FINE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|us|ns)", _ANY_CASE)
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_AGO = re.compile(r"(\d+) *(year|month|week|day|hour|minute|second)s? +ago", _ANY_CASE)
_NUMBER = r"\d+(?:[.,]\d+)?"
_RELATIVE = re.compile(
    rf"[+-]?(?:P.*|(?:{_NUMBER}[YWD])+(?:T?(?:{_NUMBER}[HMS])+)?)", re.IGNORECASE
)
_GUESSWORK = re.compile(
    rf"[+-]?\d{{0,3}}|[+-]?T?(?:{_NUMBER}[HMS])+|\d+ *(?:hour|min|sec).*|\D", re.IGNORECASE
)
"""Text that gcloud's library parses by accident, such as ``10`` as the tenth of this month."""
_FRACTION = re.compile(r"[.,]\d{6}(\d+)")
_ZONE_OF_HOURS = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8}
_ZONE_OF_HOURS["PDT"] = -7
"""The zone names of RFC 822; others are in the time zone database."""


def parse_duration(text: str, field: str) -> timedelta:
    """Return a duration: ``7d``, ``1d12h``, ``600s``, ``600`` (seconds), ``P7D`` or ``PT1H30M``.

    Years and months have no fixed length, and are refused (InvalidArgument).

    >>> parse_duration("PT1H30M", "ttl") == parse_duration("1h30m", "ttl")
    True
    >>> parse_duration("600", "ttl"), parse_duration("250ms", "ttl")
    (datetime.timedelta(seconds=600), datetime.timedelta(microseconds=250000))
    """
    span = text.strip()
    try:
        if span[:1] in ("P", "p", "T", "t"):
            found = parse_period(span)
            if not (found.years or found.months or found.negative):
                return durations.exactly(found.days * 86_400 + found.seconds)
        elif _SECONDS.fullmatch(span):
            return durations.exactly(Fraction(span))
        elif fine := _FINE.fullmatch(span):
            return durations.exactly(Fraction(fine[1]) / _PER_SECOND[fine[2].lower()])
        else:
            return durations.parse_duration(span.lower(), field)
    except (OverflowError, ValueError):
        pass
    raise InvalidArgument(
        f"{field}: {text!r} is not a duration; "
        "7d, 1d12h, 600s, P7D or PT1H is accepted, in weeks, days, hours, minutes and seconds"
    )


def parse_time(text: str, now: datetime, field: str, zone: tzinfo | None = None) -> datetime:
    """Parse a time, which may be relative to ``now``, and return it in UTC.

    ``zone``: the zone of times without one; None is that of this machine. Missing parts of a date
    are today's, missing parts of a time are 0. ``-p1d``, ``-PT1H`` and ``+P1W`` are relative to
    ``now``: days and more by the calendar, hours and less by elapsed time.

    Fractions of a microsecond are rounded up, as in RFC 3339 times everywhere.

    >>> from datetime import timezone
    >>> noon, berlin = datetime(2026, 11, 20, 12, tzinfo=timezone.utc), timezone(timedelta(hours=1))
    >>> [str(parse_time(each, noon, "time", berlin))[:16]
    ...     for each in ("-p1d", "2026-11-20", "10:00Z", "2 hours ago", "20 Nov 2026 10:00 +0300")]
    ['2026-11-19 12:00', '2026-11-19 23:00', '2026-11-20 10:00', '2026-11-20 10:00', \
'2026-11-20 07:00']
    """
    given = text.strip()
    try:
        return as_utc(_read(given, now, zone), field)
    except (OverflowError, ValueError):
        raise InvalidArgument(
            f"{field}: {text!r} is not a time; 2026-11-20T10:00:00Z, 2026-11-20T10:00 (local "
            "time), 2026-11-20 (local midnight), 10:00+0100 (today), -p1d (a day ago), +pt10m or "
            "'2 hours ago' is accepted"
        ) from None


def in_zone(time: datetime, zone: tzinfo | None) -> datetime:
    """Return a time in a zone; None is that of this machine. A naive time is in the zone."""
    if time.tzinfo is None and zone is not None:
        return time.replace(tzinfo=zone)
    return time.astimezone(zone)


def zone_named(name: str) -> tzinfo | None:
    """Return the time zone of a name, such as ``EST`` or ``Asia/Tokyo``; None if unknown.

    >>> zone_named("EDT").utcoffset(None), zone_named("Nowhere/Land")
    (datetime.timedelta(days=-1, seconds=72000), None)
    """
    if name.upper() in ("Z", "UTC", "GMT"):
        return UTC
    if name.upper() in _ZONE_OF_HOURS:
        return timezone(timedelta(hours=_ZONE_OF_HOURS[name.upper()]))
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _read(text: str, now: datetime, zone: tzinfo | None) -> datetime:
    if text.lower() == "now":
        return now
    try:
        return read_time(text, "time")
    except InvalidArgument:
        pass
    if ago := _AGO.fullmatch(text):
        unit, count = ago[2].lower(), Fraction(ago[1])
        return moved(now, _ago(unit, count), zone)
    if _RELATIVE.fullmatch(text):
        return moved(now, parse_period(text), zone)
    if _GUESSWORK.fullmatch(text):
        raise ValueError(text)
    return _read_loosely(text, now, zone)


def _ago(unit: str, count: Fraction) -> Period:
    seconds = {"hour": 3_600, "minute": 60, "second": 1}.get(unit, 0) * count
    days = {"week": 7, "day": 1}.get(unit, 0) * count
    years, months = (count if unit == each else Fraction() for each in ("year", "month"))
    return Period(int(years), int(months), days, seconds, negative=True)


def moved(now: datetime, period: Period, zone: tzinfo | None) -> datetime:
    """Add a period to a time in a zone.

    Years, months and days are calendar ones, so the time of day stays. A day that a month does not
    have is in the next month: January 31 and a month is March 3.
    """
    sign = -1 if period.negative else 1
    days, rest = divmod(period.days, 1)
    local = in_zone(now, zone)
    month = local.year * 12 + local.month - 1 + sign * (period.years * 12 + period.months)
    first = local.replace(tzinfo=None, year=month // 12, month=month % 12 + 1, day=1)
    wall = first + timedelta(days=local.day - 1 + sign * days)
    on_calendar = (period.years, period.months, days) != (0, 0, 0)
    at = in_zone(wall, zone).astimezone(UTC) if on_calendar else now
    return at + durations.exactly(sign * (period.seconds + rest * 86_400))


def _read_loosely(text: str, now: datetime, zone: tzinfo | None) -> datetime:
    from dateutil import parser  # only text that is not RFC 3339 needs it

    unknown: list[str] = []

    def named(name: str | None, offset: int | None) -> Any:
        if offset is not None and (not name or name.upper() in ("UTC", "GMT", "Z")):
            return offset
        found = zone_named(name) if name else None
        if name and found is None:
            unknown.append(name)
        return found

    words, apart = text.rsplit(" ", 1) if " " in text else (text, "")
    if "/" in apart and (other := zone_named(apart)) is not None:  # unknown to the library
        return _read_loosely(words, now, other)
    midnight = in_zone(now, zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    found = parser.parse(text, tzinfos=named, default=midnight)
    if unknown:
        raise ValueError(unknown[0])
    if (fine := _FRACTION.search(text)) and fine[1].strip("0"):
        found += timedelta(microseconds=1)
    return in_zone(found, zone) if found.tzinfo is None else found
