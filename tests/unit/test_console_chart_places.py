"""Where charts of the console draw blocks, ticks and bars: places in percent of the axis."""

from __future__ import annotations

from datetime import date

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console import charts, formatting
from pubsub_delta.console.ack_state_chart import Block, ChartView, Lane, Tick, draw
from pubsub_delta.delivery.surveys import AckStateSurvey, SurveyedSpan
from pubsub_delta.operations.survey import DayCount, SubscriptionMoment
from tests.unit.builders import DAY, HOUR, at


def survey(
    *spans: SurveyedSpan,
    now: float,
    stored: tuple[tuple[int, int], ...] = (),
    purged: float | None = None,
) -> AckStateSurvey:
    until = None if purged is None else at(purged)
    return AckStateSurvey(at(now), spans, 0, None, until, (), stored, is_filtered=False)


def span(first: float, last: float, count: int = 1, run: tuple[int, int] = (0, 0)) -> SurveyedSpan:
    return SurveyedSpan("available", count, at(first), at(last), 1, None, (run,))


def shown(ticks: tuple[Tick, ...]) -> list[tuple[float, str, str]]:
    return [(each.x, each.label, each.anchor) for each in ticks]


@pytest.mark.parametrize(
    ("length", "ticks"),
    [
        (
            5 * DAY,
            [
                (0, "01-01", "start"),
                (20, "01-02", "middle"),
                (40, "01-03", "middle"),
                (60, "01-04", "middle"),
                (80, "01-05", "middle"),
                (100, "", "end"),  # "now" stands there
            ],
        ),
        (
            2 * HOUR,
            [
                (0, "01-01 00:00", "start"),
                (50, "01-01 01:00", "middle"),
                (100, "", "end"),
            ],
        ),
        (
            10,
            [(0, "00:00:00", "start"), (50, "00:00:05", "middle"), (100, "", "end")],
        ),
        (
            500 * DAY,
            [
                (0, "01-01", "start"),
                (20, "04-11", "middle"),
                (40, "07-20", "middle"),
                (60, "10-28", "middle"),
                (80, "02-05", "middle"),
                (100, "", "end"),
            ],
        ),
    ],
)
def test_ticks_of_publish_time(length: float, ticks: list[tuple[float, str, str]]) -> None:
    """ "Up to TICKS + 1 ticks at round values", one at the end if that is round."""
    assert shown(draw(survey(span(0, 0), now=length)).ticks) == ticks


@pytest.mark.parametrize(
    ("view", "ticks"),
    [
        ((10, 60), [(0, "10"), (20, "20"), (40, "30"), (60, "40"), (80, "50"), (100, "60")]),
        ((5, 25), [(0, "5"), (25, "10"), (50, "15"), (75, "20"), (100, "25")]),
        ((7, 17), [(10, "8"), (30, "10"), (50, "12"), (70, "14"), (90, "16")]),
        ((0, 3), [(0, "0"), (33.33, "1"), (66.67, "2"), (100, "3")]),
        ((0, 5_000), [(20 * n, f"{n},000" if n else "0") for n in range(6)]),
        ((0, 1), [(0, "0"), (100, "1")]),
    ],
)
def test_ticks_of_the_order_of_receipt(
    view: tuple[int, int], ticks: list[tuple[float, str]]
) -> None:
    """Round numbers of messages: 1, 2 or 5 times a power of ten."""
    drawn = draw(survey(now=DAY, stored=((0, 9_999),)), ChartView("position", *view))
    assert [(each.x, each.label) for each in drawn.ticks] == ticks


@pytest.mark.parametrize(
    ("run", "place"),
    [
        ((0, 24), (0, 30)),  # it begins before the part that is shown
        ((10, 10), (0, 2)),
        ((20, 29), (20, 20)),
        ((50, 99), (80, 20)),  # it ends behind it
        ((0, 99), (0, 100)),
        ((0, 9), (0, 0.6)),  # it ends where the part begins
        ((59, 59), (98, 2)),
        ((60, 60), (99.4, 0.6)),  # it begins where the part ends
    ],
)
def test_a_block_is_clipped_to_the_part_that_is_shown(
    run: tuple[int, int], place: tuple[float, float]
) -> None:
    """ "None is narrower than MIN_WIDTH"; each stands inside of the axis."""
    of = survey(span(0, 0, run=run), now=DAY, stored=((0, 99),))
    (lane, *_) = draw(of, ChartView("position", 10, 60)).lanes
    assert [(each.x, each.width) for each in lane.blocks] == [place]


@pytest.mark.parametrize(
    ("count", "height"),
    [(1, 1), (13, 1), (14, 2), (100, 2), (10**4, 3), (10**6, 4), (10**8, 5), (10**12, 5)],
)
def test_a_block_is_as_high_as_its_messages_are_many(count: int, height: int) -> None:
    """1 to 5, by the decimal logarithm; a thousand million messages are the tallest."""
    (lane, *_) = draw(survey(span(0, DAY, count), now=DAY)).lanes
    assert [(each.message_count, each.height) for each in lane.blocks] == [(count, height)]


def test_the_lane_of_a_purge_ahead_is_told_whole() -> None:
    """It counts nothing: what it acknowledges is not published yet."""
    told = draw(survey(span(0, 0), now=10 * HOUR, purged=20 * HOUR))
    title = "What is published until 2026-01-01 20:00:00 UTC is acknowledged as it comes"
    block = Block(90.91, 9.09, 1, 1, title)
    assert told.lanes[-1] == Lane("purged", "Purged ahead", None, (block,))
    assert told.now_x == 90.91
    assert (told.start, told.end) == (1767225600000000, 1767225600000000 + 11 * 3_600_000_000)


def test_bars_are_of_the_last_31_days() -> None:
    """ "Each day from the first with messages to today, at most the last 31"."""
    counted = [DayCount(date(2026, 1, day), day) for day in (1, 2, 3, 5)]
    short = charts.daily_counts(counted, date(2026, 1, 6))
    assert [(each.day.day, each.message_count) for each in short.counts] == [
        (1, 1), (2, 2), (3, 3), (4, 0), (5, 5), (6, 0),
    ]  # fmt: skip
    assert short.earlier == 0
    long = charts.daily_counts(counted, date(2026, 2, 2))
    assert (long.counts[0], long.counts[-1]) == (
        DayCount(date(2026, 1, 3), 3),
        DayCount(date(2026, 2, 2), 0),
    )
    assert (len(long.counts), long.earlier) == (31, 1 + 2)


def test_only_an_age_is_drawn_in_seconds() -> None:
    """The script writes the values of an axis by its unit; each text is that of its value."""
    moments = [
        SubscriptionMoment(at(0), 1_000, 2, 90.0, 4, 5, 6),
        SubscriptionMoment(at(HOUR), 10, 20, 30.0, 40, 50, 60),
    ]
    told = [
        (each.label, each.chart.unit, each.chart.y, each.texts, each.largest)
        for each in charts.time_series(moments)
    ]
    assert told == [
        ("Unacknowledged", "", (1_000, 10), ("1,000", "10"), "1,000"),
        ("Outstanding", "", (2, 20), ("2", "20"), "20"),
        ("Oldest unacknowledged", "seconds", (90.0, 30.0), ("1 min 30 s", "30 s"), "1 min 30 s"),
        ("Highest delivery attempt", "", (4, 40), ("4", "40"), "40"),
        ("Acknowledged, ever", "", (5, 50), ("5", "50"), "50"),
        ("Dead-lettered, ever", "", (6, 60), ("6", "60"), "60"),
    ]


@pytest.mark.parametrize(
    ("character", "text"),
    [
        ("\x07", "\\x07"),  # Cc
        ("\ud800", "\\ud800"),  # Cs
        ("\u0378", "\\u0378"),  # Cn, which is not assigned
        ("\ue000", "\\ue000"),  # Co
        ("\u2028", "\\u2028"),  # Zl
        ("\u2029", "\\u2029"),  # Zp
        ("\u202e", "\\u202e"),  # it turns the direction of what follows
        (" ", " "),
        ("\u00e9", "\u00e9"),
    ],
)
def test_a_character_that_nobody_sees_is_written_as_its_number(character: str, text: str) -> None:
    assert formatting.visible(f"a{character}b") == f"a{text}b"
