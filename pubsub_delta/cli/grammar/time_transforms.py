"""Transforms of times and durations: ``date()``, ``iso()`` and ``duration()``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any

from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.keys import argument_key, value_at
from pubsub_delta.cli.grammar.transforms import Function, is_true
from pubsub_delta.cli.periods import Period, format_period, parse_period
from pubsub_delta.cli.times import in_zone, parse_time, zone_named
from pubsub_delta.clock import UTC, from_micros, to_micros
from pubsub_delta.errors import InvalidArgument

_ISO = "%Y-%m-%dT%H:%M:%S"
_OFFSET = re.compile(
    r"(?:(?P<utc>[Zz])|:\d\d(?:\.\d+)? ?(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))$"
)
_EXTENSION = re.compile(r"%%|%([1-9]?)([EO]?)([fsz])")


def format_time(time: datetime, pattern: str) -> str:
    """Write a time as strftime does, with gcloud's extensions: ``%3f``, ``%Ez``, ``%Oz``, ``%s``.

    >>> from datetime import timezone
    >>> format_time(datetime(2026, 1, 2, 3, 4, 5, 678900, timezone.utc), "%H:%M:%S.%3f %Ez %Oz %s")
    '03:04:05.679 Z +00:00 1767323045.6789'
    """

    def written(match: re.Match[str]) -> str:
        digits, alternate, what = match[1], match[2], match[3]
        if what is None:
            return "%%"
        if what == "s":
            return str(to_micros(time.astimezone(UTC)) / 1_000_000)
        if what == "f":
            return _fraction(time.microsecond, int(digits or 6))
        offset = time.strftime("%z")
        if alternate == "E" and offset == "+0000":
            return "Z"
        return f"{offset[:3]}:{offset[3:]}" if alternate and len(offset) == 5 else offset

    return time.strftime(_EXTENSION.sub(written, pattern))


def _fraction(microsecond: int, digits: int) -> str:
    size = 10 ** max(6 - digits, 0)
    rounded = (microsecond + size // 2) // size
    return f"{min(rounded, 10 ** min(digits, 6) - 1):0{min(digits, 6)}}"


def read_as_time(value: Any, context: Context, zone: tzinfo | None = None) -> datetime | None:
    """Parse a value as a time in its own zone; None if it is not a time."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        found = parse_time(value, context.now, "time", zone or context.zone)
    except InvalidArgument:
        return None
    own = _OFFSET.search(value)
    if own is None:
        return in_zone(found, zone or context.zone)
    if own["utc"]:
        return found
    offset = timedelta(hours=int(own["hours"]), minutes=int(own["minutes"]))
    return found.astimezone(timezone(-offset if own["sign"] == "-" else offset))


def functions_of(context: Context) -> Mapping[str, Function]:
    """Return the transforms of times in a context."""

    def date(
        value: Any,
        format: str = _ISO,
        unit: str | float = 1,
        undefined: str = "",
        tz: str | None = None,
        tz_default: str | None = None,
    ) -> str:
        assumed = _zone(tz_default) if tz_default else context.zone
        try:
            stamp = None if isinstance(value, bool) else float(value) / float(unit)
        except (TypeError, ValueError):
            stamp = None
        if stamp is not None:
            try:
                return format_time(in_zone(from_micros(round(stamp * 1e6)), assumed), format)
            except (OverflowError, ValueError):
                return undefined
        found = read_as_time(value, context, assumed)
        if found is None:
            return undefined
        return format_time(in_zone(found, _zone(tz)) if tz else found, format)

    def iso(value: Any, undefined: str = "T") -> str:
        return date(value, f"{_ISO}.%3f%Oz", undefined=undefined)

    def duration(
        value: Any,
        start: str = "",
        end: str = "",
        parts: str | int = 3,
        precision: str | int = 3,
        calendar: str | bool = True,
        unit: str | float = 1,
        undefined: str = "",
    ) -> str:
        def written(period: Period, on_calendar: bool) -> str:
            return format_period(period, int(parts), int(precision), calendar=on_calendar)

        on_calendar = is_true(calendar)
        if start:
            begun = read_as_time(value_at(value, argument_key(start)), context)
            given = value_at(value, argument_key(end)) if end else None
            over = read_as_time(given, context) if given else context.now
            if begun is None or over is None:
                return undefined
            return written(_between(begun, over), on_calendar)
        try:
            seconds = Fraction(float(value) / float(unit)).limit_denominator(1_000_000)
            return written(Period(seconds=abs(seconds), negative=seconds < 0), on_calendar)
        except (OverflowError, TypeError, ValueError):
            pass
        try:
            return written(parse_period(value), False)
        except (AttributeError, ValueError):
            pass
        begun = read_as_time(value, context)
        return undefined if begun is None else written(_between(begun, context.now), on_calendar)

    return {"date": date, "duration": duration, "iso": iso}


def _zone(name: str) -> tzinfo | None:
    if name.upper() in ("L", "LOCAL"):
        return None
    found = zone_named(name)
    if found is None:
        raise InvalidArgument(
            f"tz: {name!r} is not a time zone; UTC, LOCAL, EST or Asia/Tokyo is accepted"
        )
    return found


def _between(begun: datetime, over: datetime) -> Period:
    span = over.astimezone(UTC) - begun.astimezone(UTC)
    micros = abs(span) // timedelta(microseconds=1)
    return Period(seconds=Fraction(micros, 1_000_000), negative=span < timedelta(0))
