"""Periods are written as they are read, at every rim of a unit; zones have one name in any case."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.cli.periods import Period, format_period, parse_period
from pubsub_delta.cli.times import parse_duration, parse_time, zone_named
from pubsub_delta.errors import InvalidArgument

UTC = timezone.utc
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@given(
    st.integers(0, 3),
    st.integers(0, 11),
    st.integers(0, 27),
    st.integers(0, 86_399),
    st.booleans(),
)
def test_a_period_that_is_written_in_full_is_read_again(
    years: int, months: int, days: int, seconds: int, negative: bool
) -> None:
    """ISO 8601: each unit stands for itself, and carries into none."""
    period = Period(years, months, Fraction(days), Fraction(seconds), negative)
    is_any = bool(years or months or days or seconds)
    expected = period if is_any else Period()
    assert parse_period(format_period(period, parts=7)) == expected


@pytest.mark.parametrize(
    ("seconds", "on_calendar", "off_calendar"),
    [
        (0, "P0", "P0"),
        (1, "PT1S", "PT1S"),
        (59, "PT59S", "PT59S"),
        (60, "PT1M", "PT1M"),
        (3_599, "PT59M59S", "PT59M59S"),
        (3_600, "PT1H", "PT1H"),
        (3_601, "PT1H1S", "PT1H1S"),
        (7_199, "PT1H59M59S", "PT1H59M59S"),
        (86_399, "PT23H59M59S", "PT23H59M59S"),
        (86_400, "P1D", "PT24H"),
        (86_401, "P1DT1S", "PT24H1S"),
        (2 * 86_400 - 1, "P1DT23H59M59S", "PT47H59M59S"),
        (365 * 86_400, "P365D", "PT8760H"),
        (366 * 86_400, "P1Y", "PT8784H"),
        (367 * 86_400, "P1Y1D", "PT8808H"),
    ],
)
def test_seconds_carry_into_larger_units(seconds: int, on_calendar: str, off_calendar: str) -> None:
    """ "Whether hours carry into days, and days into years"."""
    period = Period(seconds=Fraction(seconds))
    assert format_period(period, parts=7) == on_calendar
    assert format_period(period, parts=7, calendar=False) == off_calendar
    minus = "-" if seconds else ""
    negative = Period(seconds=Fraction(seconds), negative=True)
    assert format_period(negative, parts=7) == minus + on_calendar


@pytest.mark.parametrize(
    ("months", "written"), [(11, "P11M"), (12, "P1Y"), (13, "P1Y1M"), (25, "P2Y1M")]
)
def test_twelve_months_are_a_year(months: int, written: str) -> None:
    assert format_period(Period(months=months), parts=7) == written


@pytest.mark.parametrize(
    ("parts", "written"),
    [(1, "P1D"), (2, "P1DT2H"), (3, "P1DT2H3M"), (4, "P1DT2H3M4.5S"), (0, "P1DT2H3M4.5S")],
)
def test_only_the_largest_parts_are_written(parts: int, written: str) -> None:
    period = Period(days=Fraction(1), seconds=2 * 3_600 + 3 * 60 + Fraction("4.5"))
    assert format_period(period, parts) == written


@pytest.mark.parametrize(
    ("text", "parts", "written"),
    [
        ("P2DT11H59M59S", 1, "P2D"),
        ("P2DT12H1S", 1, "P3D"),
        ("PT2H29M59S", 1, "PT2H"),
        ("PT2H30M1S", 1, "PT3H"),
        ("PT2M29S", 1, "PT2M"),
        ("PT2M31S", 1, "PT3M"),
        ("P2DT2H29M59S", 2, "P2DT2H"),
        ("P2DT2H30M1S", 2, "P2DT3H"),
        ("PT2H2M29S", 2, "PT2H2M"),
        ("PT2H2M31S", 2, "PT2H3M"),
    ],
)
def test_the_last_part_is_rounded_to_the_nearest(text: str, parts: int, written: str) -> None:
    assert format_period(parse_period(text), parts) == written


@pytest.mark.parametrize(("precision", "written"), [(0, "PT2S"), (1, "PT1.6S"), (3, "PT1.556S")])
def test_seconds_have_as_many_digits_as_are_wanted(precision: int, written: str) -> None:
    assert format_period(Period(seconds=Fraction("1.5555")), precision=precision) == written


@pytest.mark.parametrize("name", ["Z", "z", "UTC", "utc", "Utc", "GMT", "gmt"])
def test_utc_has_these_names_in_any_case(name: str) -> None:
    assert zone_named(name) is UTC


@pytest.mark.parametrize("name", ["Z", "z", "UTC", "GMT"])
def test_a_time_of_utc_is_not_moved(name: str) -> None:
    found = parse_time(f"2026-11-20 10:00 {name}", NOON, "time", timezone(timedelta(hours=3)))
    assert found == datetime(2026, 11, 20, 10, tzinfo=UTC)


HOURS = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}


@pytest.mark.parametrize("name", HOURS)
def test_a_zone_of_rfc_822_is_these_hours_from_utc(name: str) -> None:
    for each in (name, name.lower()):
        zone = zone_named(each)
        assert zone is not None
        assert zone.utcoffset(NOON) == timedelta(hours=HOURS[name])


@pytest.mark.parametrize("name", ["", "XYZ", "../etc/passwd", "Nowhere/Land", "\0"])
def test_other_names_are_no_zone(name: str) -> None:
    assert zone_named(name) is None


@pytest.mark.parametrize(
    "text",
    [
        *("7 days", "1.5.2", "xyz", "5parsecs", "P1M", "P1Y", "-P1D", "P", "-5"),
        *(f"{10**12}d", f"P{10**12}D", "9" * 400, f"{'9' * 400}ms"),
    ],
)
def test_what_is_no_duration_is_told_whole(text: str) -> None:
    """Every error says what was wrong, the offending value, and what would be accepted."""
    with pytest.raises(InvalidArgument) as error:
        parse_duration(text, "ttl")
    assert str(error.value) == (
        f"ttl: {text!r} is not a duration; 7d, 1d12h, 600s, P7D or PT1H is accepted, in weeks, "
        "days, hours, minutes and seconds"
    )
