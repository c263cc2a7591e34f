"""Times and durations on the command line (``gcloud topic datetimes``)."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from pubsub_delta.cli.grammar.time_transforms import format_time
from pubsub_delta.cli.periods import format_period, parse_period
from pubsub_delta.cli.times import parse_duration, parse_time
from pubsub_delta.errors import InvalidArgument

UTC = timezone.utc
NEW_YORK = ZoneInfo("America/New_York")
NOW = datetime(2026, 11, 21, 15, 30, tzinfo=UTC)

GCLOUD = [
    ("-1d", "2026-11-20T15:30:00"),
    ("1d", "2026-11-22T15:30:00"),
    ("-p1d", "2026-11-20T15:30:00"),
    ("-P1D", "2026-11-20T15:30:00"),
    ("+p1d", "2026-11-22T15:30:00"),
    ("p1d", "2026-11-22T15:30:00"),
    ("-p1m", "2026-10-21T14:30:00"),
    ("-pt1m", "2026-11-21T15:29:00"),
    ("P1DT2H", "2026-11-22T17:30:00"),
    ("-p2h30m", "2026-11-21T13:00:00"),
    ("10:00Z", "2026-11-21T10:00:00"),
    ("10:00", "2026-11-21T15:00:00"),
    ("10:00+0100", "2026-11-21T09:00:00"),
    ("10:00-05:30", "2026-11-21T15:30:00"),
    ("2026-11-20", "2026-11-20T05:00:00"),
    ("2026-11-20T10:00", "2026-11-20T15:00:00"),
    ("2026-11-20T10", "2026-11-20T15:00:00"),
    ("2026-11-20 10:00:00", "2026-11-20T15:00:00"),
    ("2026-11-20T10:00:00", "2026-11-20T15:00:00"),
    ("2026-11-20T10:00:00+0100", "2026-11-20T09:00:00"),
    ("2026-11-20T10:00:00 +0100", "2026-11-20T09:00:00"),
    ("2026-11-20T10:00:00.5", "2026-11-20T15:00:00.500000"),
    ("2026-11-20T10:00:00.123456-0300", "2026-11-20T13:00:00.123456"),
    ("20261120", "2026-11-20T05:00:00"),
    ("20261120T1000", "2026-11-20T15:00:00"),
    ("20261120T100000Z", "2026-11-20T10:00:00"),
    ("20261120T100000-0300", "2026-11-20T13:00:00"),
    ("20261120100000", "2026-11-20T15:00:00"),
    ("202611201000", "2026-11-20T15:00:00"),
    ("2026", "2026-11-21T05:00:00"),
    ("Nov", "2026-11-21T05:00:00"),
    ("Nov 2026", "2026-11-21T05:00:00"),
    ("Nov 20", "2026-11-20T05:00:00"),
    ("20 Nov", "2026-11-20T05:00:00"),
    ("20 Nov 2026", "2026-11-20T05:00:00"),
    ("Nov 20 2026", "2026-11-20T05:00:00"),
    ("20-Nov-2026", "2026-11-20T05:00:00"),
    ("Nov-20-2026", "2026-11-20T05:00:00"),
    ("2026-Nov-20", "2026-11-20T05:00:00"),
    ("2026.Nov.20", "2026-11-20T05:00:00"),
    ("2026 Nov 20", "2026-11-20T05:00:00"),
    ("2026 11 20", "2026-11-20T05:00:00"),
    ("Fri, 20 Nov 2026 10:00:00 -0300", "2026-11-20T13:00:00"),
    ("Fri Nov 20 10:36:28 2026", "2026-11-20T15:36:28"),
    ("Fri Nov 20 10:36:28 EST 2026", "2026-11-20T15:36:28"),
    ("2026 10:36:28 EST 20 Nov Fri", "2026-11-20T15:36:28"),
    ("Fri Nov 20 10:36:28", "2026-11-20T15:36:28"),
    ("Fri 10:36", "2026-11-27T15:36:00"),
    ("2026-11-20T10:00:00 EST", "2026-11-20T15:00:00"),
    ("2026-07-20T10:00:00 EDT", "2026-07-20T14:00:00"),
    ("2026-07-20T10:00:00 CDT", "2026-07-20T15:00:00"),
    ("2026-07-20T10:00:00 MDT", "2026-07-20T16:00:00"),
    ("2026-07-20T10:00:00 PDT", "2026-07-20T17:00:00"),
    ("2026-11-20T10:00:00 CST", "2026-11-20T16:00:00"),
    ("2026-11-20T10:00:00 MST", "2026-11-20T17:00:00"),
    ("2026-11-20T10:00:00 PST", "2026-11-20T18:00:00"),
    ("2026-07-20 10:00:00", "2026-07-20T14:00:00"),
    ("2026-07-20", "2026-07-20T04:00:00"),
    ("2026-11-20 10:00 Europe/Berlin", "2026-11-20T09:00:00"),
    ("2026-11-20 10:00 UTC", "2026-11-20T10:00:00"),
    ("2026-11-20 10:00 GMT", "2026-11-20T10:00:00"),
    ("11-20-2026", "2026-11-20T05:00:00"),
    ("11/20/2026", "2026-11-20T05:00:00"),
    ("2026/11/20", "2026-11-20T05:00:00"),
    ("20.11.2026", "2026-11-20T05:00:00"),
    ("-pt0.5s", "2026-11-21T15:29:59.500000"),
    ("-p1y", "2025-11-21T15:30:00"),
    ("-p1y2m3dT4h5m6.7s", "2025-09-18T10:24:53.300000"),
    ("-p0", "2026-11-21T15:30:00"),
    ("P0", "2026-11-21T15:30:00"),
    ("-p1w", "2026-11-14T15:30:00"),
    ("+p2w", "2026-12-05T15:30:00"),
    ("-p1.5d", "2026-11-20T03:30:00"),
    ("-p36h", "2026-11-20T03:30:00"),
    ("-pt36h", "2026-11-20T03:30:00"),
    ("-p1,5h", "2026-11-21T14:00:00"),
    ("2026-11-20T10:00:00z", "2026-11-20T10:00:00"),
    ("10am", "2026-11-21T15:00:00"),
    ("12:30 PM", "2026-11-21T17:30:00"),
    ("2026-11-20T10:00:00-08", "2026-11-20T18:00:00"),
    ("2026-11-20T10Z", "2026-11-20T10:00:00"),
    ("-p3w2d", "2026-10-29T14:30:00"),
    ("+pt30m", "2026-11-21T16:00:00"),
    ("-p12m", "2025-11-21T15:30:00"),
    ("-p18m", "2025-05-21T14:30:00"),
    ("-p31d", "2026-10-21T14:30:00"),
    ("-p0.5y", "2026-05-22T23:35:36.960000"),
]
"""What gcloud 528 makes of a text on this day in New York, in UTC: literally its own output."""


@pytest.mark.parametrize(("text", "meant"), GCLOUD)
def test_a_time_is_what_gcloud_takes_it_for(text: str, meant: str) -> None:
    assert parse_time(text, NOW, "time", NEW_YORK).isoformat() == f"{meant}+00:00"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("now", NOW),
        ("2 hours ago", datetime(2026, 11, 21, 13, 30, tzinfo=UTC)),
        ("1 month ago", datetime(2026, 10, 21, 14, 30, tzinfo=UTC)),  # 10:30 as it was then
        (" 2026-11-20 10:00:00Z ", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("-p400d", datetime(2025, 10, 17, 14, 30, tzinfo=UTC)),  # gcloud: a day less
        ("-P1DT0.5S", datetime(2026, 11, 20, 15, 29, 59, 500_000, tzinfo=UTC)),
    ],
)
def test_some_times_are_read_that_gcloud_does_not_read(text: str, meant: datetime) -> None:
    assert parse_time(text, NOW, "time", NEW_YORK) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "p",
        "yesterday",
        "2026-13-01",
        "2026-02-30",
        "25:00",
        "P",
        "-PT",
        "P1DT",
        "-P99999999D",
        "--p1d",
        "5 \N{LATIN SMALL LETTER LONG S}econds ago",
        # gcloud's library reads these as a day of this month, a year or a time of this day
        "10",
        "-5",
        "600",
        "1h30m",
        "-t30m",
        "2 hours",
        # and passes over these zones
        "2026-11-20T10:00:00X",
        "2026-11-20T10:00:00 XYZ",
        "2026-11-20T10:00:00 Nowhere/Land",
    ],
)
def test_what_is_no_time_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"time: .* is not a time; 2026-11-20T10:00:00Z"):
        parse_time(text, NOW, "time", NEW_YORK)


def test_a_date_is_midnight_in_the_local_zone() -> None:
    # Also on a day when the zone was another one than now: a date is no number of hours away.
    assert parse_time("2026-07-20", NOW, "time", NEW_YORK).hour == 4
    assert parse_time("2026-11-20", NOW, "time", NEW_YORK).hour == 5


def test_days_keep_the_time_of_day_and_hours_pass() -> None:
    # gcloud: "durations specifying hours or smaller units are exact across daylight savings"
    after = datetime(2026, 3, 8, 16, tzinfo=UTC)  # 12:00, on the day when clocks went forward
    assert parse_time("-p1d", after, "time", NEW_YORK) == datetime(2026, 3, 7, 17, tzinfo=UTC)
    assert parse_time("-pt24h", after, "time", NEW_YORK) == datetime(2026, 3, 7, 16, tzinfo=UTC)


def test_a_day_that_a_month_does_not_have_is_one_of_the_next() -> None:
    end = datetime(2026, 3, 31, 12, tzinfo=UTC)
    assert parse_time("-p1m", end, "time", UTC) == datetime(2026, 3, 3, 12, tzinfo=UTC)


def test_the_zone_of_the_machine_is_that_of_what_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert parse_time("2026-11-20", NOW, "time") == datetime(2026, 11, 19, 15, tzinfo=UTC)
        assert parse_time("10:00", NOW, "time") == datetime(2026, 11, 22, 1, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("zone", ["Z", "", " EST", "-0500"])
def test_what_is_finer_than_a_microsecond_is_the_next_one(zone: str) -> None:
    # As in docs/guarantees.md: what was published before it is the same then.
    told = parse_time(f"2026-11-20T10:00:00.123456001{zone}", NOW, "time", NEW_YORK)
    assert told.microsecond == 123_457
    told = parse_time(f"2026-11-20T10:00:00.123456000{zone}", NOW, "time", NEW_YORK)
    assert told.microsecond == 123_456


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7d", 7 * 86_400),
        ("1d12h", 36 * 3_600),
        ("600s", 600),
        ("600", 600),
        ("0.5", 0.5),
        ("500ms", 0.5),
        ("10M", 600),
        ("P7D", 7 * 86_400),
        ("p2w", 14 * 86_400),
        ("pt1h30m", 5_400),
        ("t30m", 1_800),
        ("P1DT12H", 36 * 3_600),
        ("P1D12H", 36 * 3_600),
        ("0s", 0),
    ],
)
def test_durations_are_read_in_every_form(text: str, seconds: float) -> None:
    assert parse_duration(text, "ttl") == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "d", "7 d", "-7d", "-P1D", "P1M", "1y", "9e9d", "PT", "T", "5m\u017f"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a duration"):
        parse_duration(text, "ttl")


@pytest.mark.parametrize(
    ("text", "calendar", "written"),
    [
        ("604800s", False, "PT168H"),
        ("pt604800s", True, "P7D"),
        ("P400D", True, "P1Y34D"),
        ("P1Y2M3DT4H5M6.7S", False, "P1Y2M3D"),
        ("PT1H1M30.25S", False, "PT1H1M30.25S"),
        ("-PT90S", False, "-PT1M30S"),
        ("P0", True, "P0"),
    ],
)
def test_periods_are_written_as_gcloud_does(text: str, calendar: bool, written: str) -> None:
    assert format_period(parse_period(text), calendar=calendar) == written


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("%H:%M:%S.%3f", "10:00:00.123"),
        ("%1f", "1"),
        ("%f%%f", "123456%f"),
        ("%z %Ez %Oz", "+0000 Z +00:00"),
        ("%s", "1795168800.123456"),
    ],
)
def test_times_are_written_with_the_extensions_of_gcloud(pattern: str, written: str) -> None:
    moment = datetime(2026, 11, 20, 10, 0, 0, 123_456, tzinfo=UTC)
    assert format_time(moment, pattern) == written
