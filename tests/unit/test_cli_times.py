"""Times and durations on the command line (spec section 1; ``gcloud topic datetimes``)."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from pubsub_delta.cli.times import parse_duration, parse_time
from pubsub_delta.errors import InvalidArgument

UTC = timezone.utc
NOW = datetime(2026, 11, 21, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("-p1d", datetime(2026, 11, 20, 15, 30, tzinfo=UTC)),
        ("-PT1H", datetime(2026, 11, 21, 14, 30, tzinfo=UTC)),
        ("-pt90m", datetime(2026, 11, 21, 14, 0, tzinfo=UTC)),
        ("+PT10M", datetime(2026, 11, 21, 15, 40, tzinfo=UTC)),
        ("P1W", datetime(2026, 11, 28, 15, 30, tzinfo=UTC)),
        ("-P1DT0.5S", datetime(2026, 11, 20, 15, 29, 59, 500_000, tzinfo=UTC)),
        ("now", NOW),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:00:00Z", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20T10:00:00.25+01:00", datetime(2026, 11, 20, 9, 0, 0, 250_000, tzinfo=UTC)),
        (" 2026-11-20 10:00:00Z ", datetime(2026, 11, 20, 10, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_every_form(text: str, meant: datetime) -> None:
    # "aware datetime, RFC 3339, and gcloud's relative forms (-p1d, -PT1H, 2026-11-20)"
    assert parse_time(text, NOW, "time") == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-11-20T10:00:00",  # "A naive datetime is refused, not guessed"
        "2026-13-01",
        "1d",
        "-1d",
        "P",
        "-PT",
        "P1DT",
        "P1M",  # no fixed length
        "P1Y",
        "-P99999999D",
        "--p1d",
    ],
)
def test_what_is_no_time_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"time: .* is not a time; 2026-11-20T10:00:00Z"):
        parse_time(text, NOW, "time")


def test_a_date_is_midnight_in_the_zone_of_now() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert parse_time("2026-11-20", NOW.astimezone(tokyo), "time") == datetime(
        2026, 11, 19, 15, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7d", 7 * 86_400),
        ("1d12h", 36 * 3_600),
        ("600s", 600),
        ("600", 600),
        ("0.5", 0.5),
        ("10M", 600),
        ("P7D", 7 * 86_400),
        ("pt1h30m", 5_400),
        ("P1DT12H", 36 * 3_600),
        ("0s", 0),
    ],
)
def test_durations_are_read_in_every_form(text: str, seconds: float) -> None:
    assert parse_duration(text, "ttl") == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "d", "7 d", "-7d", "-P1D", "P1M", "1y", "9e9d", "PT"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a duration"):
        parse_duration(text, "ttl")
