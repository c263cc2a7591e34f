"""Time: where it comes from, and that nothing is lost on its way to a table and back."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.clock import (
    UTC,
    Clock,
    ManualClock,
    SystemClock,
    as_utc,
    end_of_day,
    from_micros,
    read_time,
    start_of_day,
    to_micros,
)
from pubsub_delta.errors import InvalidArgument
from tests.unit.builders import START, at

NEW_YORK = timezone(timedelta(hours=-5))


def test_a_manual_clock_begins_where_the_documentation_begins() -> None:
    assert ManualClock().now() == datetime(2026, 1, 1, tzinfo=timezone.utc)


def test_the_system_clock_tells_an_aware_time_in_utc() -> None:
    before = datetime.now(timezone.utc)
    now = SystemClock().now()
    assert before <= now <= datetime.now(timezone.utc)
    assert now.tzinfo is UTC


def test_a_manual_clock_moves_only_when_told_to() -> None:
    clock: Clock = ManualClock(START)
    assert clock.now() == clock.now() == START
    manual = ManualClock(START)
    manual.advance(0.25)
    manual.advance(-60)
    assert manual.now() == at(-59.75)


def test_a_manual_clock_reads_its_start_in_utc() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=NEW_YORK))
    assert clock.now().isoformat() == "2026-01-01T05:00:00+00:00"


def test_a_naive_time_is_refused_not_guessed() -> None:
    # "A naive datetime is refused, not guessed"
    naive = datetime(2026, 1, 1)
    with pytest.raises(InvalidArgument, match=r"time: datetime.* has no time zone; pass an aware"):
        as_utc(naive, "time")
    with pytest.raises(InvalidArgument, match="start: "):
        ManualClock(naive)


@given(st.datetimes(datetime(1900, 1, 1), datetime(9998, 1, 1), timezones=st.just(NEW_YORK)))
def test_an_aware_time_stays_the_same_instant(time: datetime) -> None:
    read = as_utc(time, "time")
    assert read == time
    assert read.utcoffset() == timedelta()


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_are_exact_both_ways(time: datetime) -> None:
    # A float of seconds would lose the last digits of a time far from 1970.
    assert from_micros(to_micros(time)) == time


@pytest.mark.parametrize(
    ("time", "micros"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1, tzinfo=UTC) - timedelta(microseconds=1), -1),
        (datetime(1970, 1, 1, tzinfo=NEW_YORK), 5 * 3600 * 1_000_000),
        (datetime(2026, 1, 1, 0, 0, 0, 123_456, UTC), 1_767_225_600_123_456),
    ],
)
def test_micros_count_from_1970_in_utc(time: datetime, micros: int) -> None:
    assert to_micros(time) == micros


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # "times as aware datetime, RFC 3339"
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01t00:00:00.5z", datetime(2026, 1, 1, 0, 0, 0, 500_000, UTC)),
        ("2025-12-31T19:00:00-05:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01 00:00:00.123456789+00:00", datetime(2026, 1, 1, 0, 0, 0, 123_457, UTC)),
    ],
)
def test_a_time_may_be_rfc_3339_text(text: str, expected: datetime) -> None:
    assert read_time(text, "time") == expected
    assert read_time(expected.astimezone(NEW_YORK), "time") == expected


@pytest.mark.parametrize(
    "wrong",
    [
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00.\uff11Z",  # a digit of another script
        "2026-01-01T00:00:00.\u0661Z",
        "2026-01-01T00:00:00+01:60",
        "now",
        "",
        0,
        None,
    ],
)
def test_what_is_no_time_is_refused_by_name_and_value(wrong: object) -> None:
    with pytest.raises(InvalidArgument, match=rf"as_of: {re.escape(repr(wrong))} is not a time"):
        read_time(wrong, "as_of")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="has no time zone"):
        read_time(datetime(2026, 1, 1), "as_of")


@pytest.mark.parametrize("hours", [1, -1])
def test_a_time_that_is_no_year_in_utc_is_refused(hours: int) -> None:
    edge = datetime.min if hours > 0 else datetime.max
    time = edge.replace(tzinfo=timezone(timedelta(hours=hours)))
    with pytest.raises(InvalidArgument, match="outside of the years 1 to 9999 in UTC"):
        read_time(time, "time")


class NowhereZone(tzinfo):
    """A time zone that tells no offset; the time is naive then (Python's datetime)."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def tzname(self, _: datetime | None) -> str:
        return "nowhere"


@pytest.mark.parametrize("zone", [None, NowhereZone()])
def test_a_time_without_an_offset_is_refused_and_not_guessed(zone: tzinfo | None) -> None:
    naive = datetime(2026, 1, 1, tzinfo=zone)
    with pytest.raises(InvalidArgument) as error:
        as_utc(naive, "time")
    assert str(error.value) == (
        f"time: {naive!r} has no time zone; pass an aware datetime, "
        "such as datetime(2026, 1, 1, tzinfo=timezone.utc)"
    )


@pytest.mark.parametrize("hours", [-12, -1, 0, 1, 14])
@pytest.mark.parametrize("utc", ["2026-01-01T00:00:00", "2026-01-01T23:59:59.999999"])
def test_a_day_is_one_of_utc_to_the_microsecond(utc: str, hours: int) -> None:
    """Messages are partitioned by publish date in UTC, whatever the zone of a given time is."""
    zone = timezone(timedelta(hours=hours))
    moment = datetime.fromisoformat(f"{utc}+00:00").astimezone(zone)
    assert start_of_day(moment).isoformat() == "2026-01-01T00:00:00+00:00"
    assert end_of_day(moment).isoformat() == "2026-01-01T23:59:59.999999+00:00"


class Fine(datetime):
    """A time with nanoseconds, as those of pandas."""

    nanosecond = 0


@pytest.mark.parametrize(
    ("nanos", "first", "last"), [(0, 5, 5), (1, 6, 5), (999, 6, 5), (500, 6, 5)]
)
def test_nanoseconds_are_rounded_into_a_range(nanos: int, first: int, last: int) -> None:
    """The first moment of a range is rounded up to a microsecond, the last one down."""
    fine = Fine(2026, 1, 1, microsecond=5, tzinfo=timezone.utc)
    fine.nanosecond = nanos
    text = f"2026-01-01T00:00:00.000005{nanos:03}Z"
    for one in (fine, text):
        for until, micros in ((False, first), (True, last)):
            found = read_time(one, "time", until=until)
            assert found == datetime(2026, 1, 1, microsecond=micros, tzinfo=timezone.utc)
            assert type(found) is datetime
