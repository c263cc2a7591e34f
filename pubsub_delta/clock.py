"""Clocks and times: the only module that reads the machine's clock.

Times are whole microseconds, as publish times are. A finer time is rounded up, which leaves the
same messages before it and from it on. A time that is the last moment of a range (``until``) is
rounded down, for the same reason.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone
from typing import Protocol

from pubsub_delta.errors import FailedPrecondition, InvalidArgument

UTC = timezone.utc
"""Every time in the library is aware and in UTC."""

_RFC_3339 = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[Tt ](?P<time>\d\d:\d\d:\d\d)(\.(?P<fraction>\d{1,9}))?"
    r"(?P<zone>[Zz]|[+-]\d\d:[0-5]\d)",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
FIRST_TIME = datetime.min.replace(tzinfo=UTC)
LAST_TIME = datetime.max.replace(tzinfo=UTC)


_CLOCK_FROM = _EPOCH
_CLOCK_UNTIL = datetime(9999, 1, 1, tzinfo=UTC)
"""The times that a clock can have: durations can be added and subtracted."""


def uptime() -> float:
    """Return monotonic seconds from an arbitrary start, to measure durations."""
    return time.monotonic()


class Clock(Protocol):
    """Anything that returns the time as an aware datetime."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present time in UTC."""
        return datetime.now(UTC)


class CheckedClock:
    """A clock whose times are checked. ``clock``: the one that it asks.

    ``now`` raises FailedPrecondition outside of the years 1970 to 9998, InvalidArgument for a naive
    time.

    >>> CheckedClock(ManualClock(datetime(9998, 12, 31, tzinfo=UTC))).now().year
    9998
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def now(self) -> datetime:
        """Return the time of the clock in UTC."""
        time = as_utc(self.clock.now(), "clock")
        if not _CLOCK_FROM <= time < _CLOCK_UNTIL:
            raise FailedPrecondition(
                f"the clock of this process tells {time.isoformat()}; a time from 1970 to 9998 is "
                "accepted: set the clock"
            )
        return time

    def check(self) -> None:
        """Raise as ``now`` does, for a change that goes by no time."""
        self.now()


class ManualClock:
    """A clock that moves only when told to, for tests and simulations.

    >>> clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    >>> clock.advance(90)
    >>> clock.now().isoformat()
    '2026-01-01T00:01:30+00:00'
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = as_utc(start, "start")

    def now(self) -> datetime:
        """Return the time to which the clock was last moved."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock by ``seconds``; a negative number moves it back."""
        self._now += timedelta(seconds=seconds)


def as_utc(time: datetime, field: str) -> datetime:
    """Return an aware time in UTC; a naive one is refused, not guessed (InvalidArgument)."""
    if time.tzinfo is None or time.utcoffset() is None:
        raise InvalidArgument(
            f"{field}: {time!r} has no time zone; pass an aware datetime, "
            "such as datetime(2026, 1, 1, tzinfo=timezone.utc)"
        )
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise InvalidArgument(
            f"{field}: {time.isoformat()} is outside of the years 1 to 9999 in UTC; a time "
            "within them is accepted"
        ) from None


def read_time(value: datetime | str, field: str, *, until: bool = False) -> datetime:
    """Return a time given as an aware datetime or as RFC 3339 text, in UTC; else InvalidArgument.

    ``until``: whether the time is the last moment of a range, and not the first.

    >>> read_time("2026-01-01T01:00:00+01:00", "time").isoformat()
    '2026-01-01T00:00:00+00:00'
    >>> read_time("2026-01-01T00:00:00.000000999Z", "time").isoformat()
    '2026-01-01T00:00:00.000001+00:00'
    """
    if isinstance(value, datetime):
        time, nanos = as_utc(value, field), getattr(value, "nanosecond", 0)  # as those of pandas
        plain = type(time) is datetime
        return time if plain else from_nanos(to_micros(time) * 1000 + nanos, until=until)
    match = _RFC_3339.fullmatch(value) if isinstance(value, str) else None
    try:
        if match is not None:
            zone = "+00:00" if match["zone"] in "Zz" else match["zone"]
            second = datetime.fromisoformat(f"{match['date']}T{match['time']}{zone}")
            nanos = int((match["fraction"] or "").ljust(9, "0"))
            return from_nanos(to_micros(second.astimezone(UTC)) * 1000 + nanos, until=until)
    except (OverflowError, ValueError):
        pass
    raise InvalidArgument(
        f"{field}: {value!r} is not a time; an aware datetime or RFC 3339 text, "
        'such as "2026-01-01T00:00:00Z", is accepted'
    )


def start_of_day(time: datetime) -> datetime:
    """Return the first moment of a time's day in UTC.

    >>> start_of_day(datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2)))).isoformat()
    '2026-01-01T00:00:00+00:00'
    """
    return time.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def end_of_day(time: datetime) -> datetime:
    """Return the last microsecond of a time's day in UTC.

    >>> end_of_day(datetime(2026, 1, 2, 1, tzinfo=UTC)).isoformat()
    '2026-01-02T23:59:59.999999+00:00'
    """
    return time.astimezone(UTC).replace(hour=23, minute=59, second=59, microsecond=999_999)


def to_micros(time: datetime) -> int:
    """Return the microseconds since 1970 of an aware time: exact, unlike ``timestamp()``."""
    return (time - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the aware time that is ``micros`` microseconds after 1970."""
    return _EPOCH + micros * _MICROSECOND


def from_nanos(nanos: int, *, until: bool = False) -> datetime:
    """Return the aware time of nanoseconds since 1970, in whole microseconds.

    The time is rounded up, or down with ``until``, and never beyond the last microsecond of the
    year 9999.
    """
    before = from_micros(nanos // 1000)
    if until or nanos % 1000 == 0:
        return before
    return min(before, LAST_TIME - _MICROSECOND) + _MICROSECOND


def rfc3339(time: datetime) -> str:
    """Write a time as RFC 3339 text in UTC.

    >>> rfc3339(datetime(2026, 1, 1, tzinfo=UTC))
    '2026-01-01T00:00:00Z'
    """
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
