"""Durations as people write them (spec section 1)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.durations import (
    Duration,
    format_duration,
    parse_duration,
    parse_duration_within,
)
from pubsub_delta.errors import InvalidArgument

TEN_MINUTES, WEEK = timedelta(minutes=10), timedelta(days=7)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (timedelta(minutes=10), 600),
        (600, 600),
        (0.5, 0.5),
        ("600s", 600),
        ("7d", 7 * 86_400),
        ("1d12h", 36 * 3600),
        ("1w", 7 * 86_400),
        ("10m", 600),
        ("1.5h", 5400),
        ("0s", 0),
        (0, 0),
    ],
)
def test_durations_are_read_in_every_form(value: Duration, seconds: float) -> None:
    # "accepted as datetime.timedelta, seconds, "600s", "7d", "1d12h""
    assert parse_duration(value, "ttl") == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        b"7d",
        [],
        float("nan"),
        float("inf"),
        10**30,
        "9" * 40 + "d",
        "",
        "s",
        "600",
        "10 m",
        " 10m",
        "10m\n",
        "-10m",
        "1D",
        "ten",
        "PT1H",
        "1d 12h",
        "1,5h",
        "1.h",
    ],
)
def test_what_is_no_duration_is_refused_by_field_and_value(value: object) -> None:
    # "Every error says what was wrong, the offending value, and what would be accepted."
    with pytest.raises(InvalidArgument) as raised:
        parse_duration(value, "ttl")  # type: ignore[arg-type]
    assert str(raised.value).startswith(f"ttl: {value!r} is not a duration; write")


@pytest.mark.parametrize("value", ["10m", 600, "7d", WEEK])
def test_both_bounds_are_within(value: Duration) -> None:
    # "10 min–7 d"
    assert TEN_MINUTES <= parse_duration_within(value, "x", TEN_MINUTES, WEEK) <= WEEK


@pytest.mark.parametrize(
    "value", [599, "599.999999s", 0, -600, timedelta(days=-1), "7d1s", timedelta.max]
)
def test_beyond_the_bounds_is_refused_and_the_bounds_are_told(value: Duration) -> None:
    with pytest.raises(InvalidArgument, match=r"x: .* out of range; from 10m to 7d is accepted"):
        parse_duration_within(value, "x", TEN_MINUTES, WEEK)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(seconds=59), "59s"),
        (timedelta(hours=1, seconds=1), "1h1s"),
        (timedelta(days=31), "31d"),
    ],
)
def test_durations_are_written_short(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@given(st.integers(0, 10**9))
def test_what_is_written_is_read_back(seconds: int) -> None:
    duration = timedelta(seconds=seconds)
    assert parse_duration(format_duration(duration), "x") == duration
