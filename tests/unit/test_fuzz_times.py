"""Durations and times from anywhere, as the library and as the command line reads them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pubsub_delta.cli import times
from pubsub_delta.clock import UTC, read_time
from pubsub_delta.durations import format_duration, parse_duration, parse_duration_within
from tests.unit.hostile import is_refusal, outcome, texts, values

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)

digits = st.text("0123456789.", min_size=1, max_size=6)
likely_durations = st.lists(st.tuples(digits, st.sampled_from("wdhmsWDHMSPT ")), max_size=4).map(
    lambda parts: "".join(number + unit for number, unit in parts)
)
likely_times = st.text("0123456789-:.TZ+ tzpPnow", max_size=26)
zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
aware = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones)


@given(st.one_of(values, likely_durations))
@example("9" * 400 + "d")
@example("٣s")
@example(float("nan"))
@example(timedelta.max)
def test_a_value_is_a_duration_or_refused(value: object) -> None:
    told = outcome(lambda: parse_duration(value, "ttl"))  # type: ignore[arg-type]
    if not is_refusal(told, value):
        assert isinstance(told, timedelta)
        if isinstance(value, str):
            assert told >= timedelta(0)
            assert value.isascii()
    else:
        assert str(told).startswith("ttl: ")


@given(st.one_of(values, likely_durations))
def test_a_duration_within_bounds_is_within_them_or_refused(value: object) -> None:
    least, most = timedelta(minutes=10), timedelta(days=31)
    told = outcome(lambda: parse_duration_within(value, "x", least, most))  # type: ignore[arg-type]
    assert is_refusal(told, value) or least <= told <= most  # type: ignore[operator]


@given(st.one_of(texts, likely_durations, likely_durations.map(lambda text: f"P{text}")))
@example("P")
@example("PT")
@example("9" * 400)
@example("P٣D")
def test_the_command_line_reads_a_duration_or_refuses_it(text: str) -> None:
    told = outcome(lambda: times.parse_duration(text, "ttl"))
    if not is_refusal(told, text):
        assert isinstance(told, timedelta)
        assert told >= timedelta(0)


@given(likely_durations)
def test_what_the_library_takes_the_command_line_takes_for_the_same(text: str) -> None:
    told = outcome(lambda: parse_duration(text, "x"))
    if isinstance(told, timedelta):
        assert times.parse_duration(text, "x") == told


@given(st.tuples(*[st.integers(0, 99)] * 5))
def test_an_iso_duration_is_the_sum_of_its_parts(parts: tuple[int, ...]) -> None:
    weeks, days, hours, minutes, seconds = parts
    expected = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    iso = f"P{weeks}W{days}DT{hours}H{minutes}M{seconds}S"
    plain = f"{weeks}w{days}d{hours}h{minutes}m{seconds}s"
    assert times.parse_duration(iso, "x") == times.parse_duration(iso.lower(), "x") == expected
    assert parse_duration(plain, "x") == parse_duration(expected, "x") == expected
    assert parse_duration(format_duration(expected), "x") == expected
    assert times.parse_time(f"-{iso}", NOW, "time") == NOW - expected
    assert times.parse_time(f"+{iso}", NOW, "time") == NOW + expected


@given(st.one_of(values, likely_times))
@example("0001-01-01T00:00:00+23:59")
@example("2026-02-30T00:00:00Z")
@example("2026-01-01T00:00:00+24:00")
@example(datetime(2026, 1, 1))
def test_a_value_is_a_time_or_refused(value: object) -> None:
    told = outcome(lambda: read_time(value, "time"))  # type: ignore[arg-type]
    if not is_refusal(told, value):
        assert isinstance(told, datetime)
        assert told.tzinfo is UTC
    else:
        assert str(told).startswith("time: ")


@given(st.one_of(texts, likely_times, likely_durations.map(lambda text: f"-P{text}")))
@example("+P9999999W")
@example("-p1d\n")
@example("0000-01-01")
def test_the_command_line_reads_a_time_or_refuses_it(text: str) -> None:
    told = outcome(lambda: times.parse_time(text, NOW, "time"))
    if not is_refusal(told, text):
        assert isinstance(told, datetime)
        assert told.utcoffset() is not None


@given(aware)
def test_a_time_is_read_back_as_it_was(time: datetime) -> None:
    offset = time.utcoffset()
    assert offset is not None
    assume(offset.seconds % 60 == 0)
    for text in (time.isoformat(), time.astimezone(UTC).isoformat().replace("+00:00", "Z")):
        assert read_time(text, "time") == times.parse_time(text, NOW, "time") == time
    assert read_time(time, "time") == time


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)))
def test_a_time_without_a_zone_is_guessed_by_the_command_line_only(time: datetime) -> None:
    # The library refuses it; gcloud takes it for local time, and so does the command line.
    assert is_refusal(outcome(lambda: read_time(time, "time")), time)
    zone = timezone(timedelta(hours=-5))
    for text in (time.isoformat(), time.isoformat(" ")):
        assert is_refusal(outcome(lambda text=text: read_time(text, "time")), text)  # type: ignore[misc]
        assert times.parse_time(text, NOW, "time", zone) == time.replace(tzinfo=zone)


@pytest.mark.parametrize("text", ["²s", "1²", "Ⅷd", "٣", "P٣D", "1_0s", "1e3s", "+1s", "0x1s"])
def test_numbers_are_written_in_ascii(text: str) -> None:
    assert is_refusal(outcome(lambda: parse_duration(text, "x")), text)
    assert is_refusal(outcome(lambda: times.parse_duration(text, "x")), text)
