"""The ack state chart, the bars of messages by day, and how values are written."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from html import unescape
from typing import Any

import pytest

pytest.importorskip("fastapi")
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.clock import rfc3339, to_micros
from pubsub_delta.console import ack_state_chart, charts, formatting
from pubsub_delta.console.ack_state_chart import MAX_BLOCKS, ChartView, Lane, draw
from pubsub_delta.delivery.surveys import AckStateSurvey, SurveyedSpan
from pubsub_delta.metrics import Measured, Metrics
from pubsub_delta.names import ResourceName
from pubsub_delta.operations.survey import DayCount, SubscriptionMoment
from tests.unit.browsing import Browser, elements, words
from tests.unit.builders import DAY, HOUR, MINUTE, at

STATES = ["available", "leased", "backing_off", "forwarding", "acked", "retained"]


def span(
    state: str,
    count: int,
    first: float,
    last: float | None = None,
    until: float | None = None,
    runs: tuple[tuple[int, int], ...] = (),
) -> SurveyedSpan:
    end = at(first if last is None else last)
    ends = None if until is None else at(until)
    return SurveyedSpan(state, count, at(first), end, 1, ends, runs)


def survey(
    *spans: SurveyedSpan,
    others: tuple[SurveyedSpan, ...] = (),
    now: float = 7 * DAY,
    stored: int = 0,
    purged: float | None = None,
    runs: tuple[tuple[int, int], ...] = (),
    is_filtered: bool = False,
) -> AckStateSurvey:
    ahead = None if purged is None else at(purged)
    first = at(0) if stored else None
    return AckStateSurvey(at(now), spans, stored, first, ahead, others, runs, is_filtered)


def lane(state: str, of: AckStateSurvey, view: ChartView | None = None) -> Lane:
    return next(each for each in draw(of, view).lanes if each.state == state)


def test_a_chart_of_nothing_has_its_lanes() -> None:
    told = draw(survey())
    assert [each.state for each in told.lanes] == ["available", "leased", "acknowledged"]
    assert told.summary == "Messages by state. Available: 0, Leased: 0, Acknowledged: 0."


@pytest.mark.parametrize(
    ("by", "first", "last", "place"),
    [
        ("time", 0, 1, (0.0, 14.29)),
        ("time", 2, 4, (28.57, 28.57)),
        ("time", 5, 7, (71.43, 28.57)),
        ("position", 0, 9, (0.0, 10.0)),
        ("position", 20, 59, (20.0, 40.0)),
    ],
)
def test_a_block_stands_where_its_messages_are(
    by: Any, first: int, last: int, place: tuple[float, float]
) -> None:
    """On an axis of a week, or of 100 positions; in percent of its width."""
    runs = ((first, last),)
    begin, end = (first * DAY, last * DAY) if by == "time" else (0, 1)
    of = survey(span("available", 10, begin, end, runs=runs), stored=100, runs=((0, 99),))
    (block,) = lane("available", of, ChartView(by)).blocks
    assert (block.x, block.width) == place


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ((1,), None),
        ((1, 1), None),
        ((2,), "delivery attempt 2"),
        ((3, 3), "delivery attempt 3"),
        ((1, 4), "delivery attempt 1 to 4"),
    ],
)
def test_a_block_tells_of_more_than_one_delivery_attempt(
    attempts: tuple[int, ...], told: str | None
) -> None:
    each = span("available", 10, DAY)
    of = survey(*(replace(each, delivery_attempt=number) for number in attempts))
    (block,) = lane("available", of).blocks
    parts = block.title.split("; ")
    assert next((part for part in parts if "attempt" in part), None) == told


@pytest.mark.parametrize("count", [10, 10**4, 10**9])
@pytest.mark.parametrize("by", ["time", "position"])
def test_it_is_readable_from_ten_messages_to_a_thousand_million(count: int, by: Any) -> None:
    runs = ((0, 10**9),)
    one = span("available", count, 0, 0.000001, runs=((5, 5),))
    (block,) = lane("available", survey(one, runs=runs), ChartView(by)).blocks
    assert block.width >= ack_state_chart.MIN_WIDTH
    assert f"{count:,} messages" in block.title
    (few,) = lane("available", survey(span("available", 10, 0, 7 * DAY))).blocks
    (many,) = lane("available", survey(span("available", 10**9, 0, 7 * DAY))).blocks
    assert few.width == many.width == 100
    assert 1 <= few.height < many.height <= 5


@given(
    st.lists(
        st.tuples(
            st.sampled_from(STATES),
            st.integers(1, 10**9),
            st.floats(0, 8 * DAY),
            st.floats(0, 3 * DAY),
        ),
        max_size=400,
    ),
    st.none() | st.floats(7 * DAY, 10_000 * DAY),
)
def test_every_message_is_in_few_rectangles_inside_the_chart(
    given_: list[tuple[str, int, float, float]], purged: float | None
) -> None:
    spans = [span(state, count, first, first + long) for state, count, first, long in given_]
    told = draw(survey(*spans, stored=10, purged=purged))
    for each in told.lanes:
        assert len(each.blocks) <= MAX_BLOCKS
        for block in each.blocks:
            assert block.x >= 0
            assert block.x + block.width <= 100.02
            assert block.width >= ack_state_chart.MIN_WIDTH
        if each.state != "purged":
            assert sum(block.message_count for block in each.blocks) == each.message_count
    counts = {each.state: each.message_count for each in told.lanes}
    kept = sum(s.message_count for s in spans if s.state in ("acked", "retained"))
    assert counts.get("retained", 0) == kept
    assert len(told.ticks) <= ack_state_chart.TICKS + 1
    assert told.now_x is not None
    assert 0 <= told.now_x <= 100


def test_spans_that_would_touch_are_one_rectangle_that_tells_them() -> None:
    near = [span("leased", 3, n, n + 1, until=8 * DAY + n) for n in range(5)]
    far = span("leased", 1, 3 * DAY, until=8 * DAY)
    one, other = lane("leased", survey(*near, far, stored=100)).blocks
    assert one.title == (
        "Leased: 15 messages; published between 2026-01-01 00:00:00 UTC and "
        "2026-01-01 00:00:05 UTC; until 2026-01-09 00:00:04 UTC"
    )
    assert "Leased: 1 message; published at 2026-01-04 00:00:00 UTC" in other.title


def test_what_lies_within_a_long_span_is_one_rectangle_with_it() -> None:
    """Blocks that would overlap are drawn as one, also after a short one between them."""
    of = survey(
        span("available", 5, 0, 5 * DAY),
        span("available", 1, DAY, DAY + MINUTE),
        span("available", 3, 3 * DAY, 3 * DAY + MINUTE),
    )
    (block,) = lane("available", of).blocks
    assert block.message_count == 9


def test_many_spans_far_apart_are_joined_with_their_neighbors() -> None:
    """Bounded number of rectangles from 10 to 10^9 messages."""
    many = [span("backing_off", 1, n * 0.07 * DAY, until=8 * DAY) for n in range(100)]
    told = lane("backing_off", survey(*many))
    assert 10 < len(told.blocks) <= MAX_BLOCKS
    assert told.message_count == sum(block.message_count for block in told.blocks) == 100


def test_what_stands_in_no_span_has_a_lane_for_each_reason() -> None:
    """The lane "Acknowledged" is drawn for nothing that was never delivered."""
    others = (
        span("before", 3, 0),
        span("expired", 4, DAY),
        span("acknowledged", 5, 2 * DAY, 3 * DAY),
    )
    told = survey(span("available", 3, DAY), others=others, stored=15)
    counts = {each.label: each.message_count for each in draw(told).lanes}
    assert counts["Before the subscription"] == 3
    assert counts["Older than it keeps"] == 4
    assert counts["Acknowledged"] == 5
    (block,) = lane("acknowledged", told).blocks
    assert round(block.x) == round(100 * 2 / 7)
    filtered = draw(survey(others=others, stored=15, is_filtered=True)).lanes
    assert "Acked, or filtered out" in {each.label for each in filtered}


def test_the_order_of_receipt_has_no_gaps() -> None:
    """Positions that nobody was given are left out: messages stand side by side."""
    runs = ((0, 99), (10**15, 10**15 + 99))
    spans = (
        span("available", 100, 0, runs=((0, 99),)),
        span("leased", 50, DAY, until=8 * DAY, runs=((10**15 + 50, 10**15 + 99),)),
    )
    told = draw(survey(*spans, stored=200, runs=runs), ChartView("position"))
    assert (told.start, told.end, told.now_x) == (0, 200, None)
    blocks = {each.state: each.blocks for each in told.lanes}
    assert [(b.x, b.width) for b in blocks["available"]] == [(0, 50)]
    assert [(b.x, b.width) for b in blocks["leased"]] == [(75, 25)]


def test_a_part_of_the_chart_is_looked_at_closer() -> None:
    view = ChartView("time", to_micros(at(DAY)), to_micros(at(2 * DAY)))
    told = survey(span("available", 3, 0, 0.5 * DAY), span("available", 4, 1.5 * DAY), stored=7)
    (block,) = lane("available", told, view).blocks
    assert block.x == 50
    assert "4 messages" in block.title
    assert lane("available", told, view).message_count == 7, "the lane counts all"
    assert draw(told, view).now_x is None


def test_a_view_that_cannot_be_read_is_the_whole() -> None:
    for asked in ({"start": "x", "end": "5"}, {"start": "9", "end": "5"}, {"start": "-1"}, {}):
        assert ack_state_chart.chart_view({"by": "time", **asked}) == ChartView("time")
    assert ack_state_chart.chart_view({"by": "nonsense"}) == ChartView("time")


def test_a_part_of_the_axis_ends_where_times_can_be_written() -> None:
    """ "All of the axis if that is not valid": microseconds after the year 9999 are no time."""
    last = ack_state_chart.chart_view({"start": "0", "end": "9" * 17})
    assert draw(survey(), last).ticks[-1].x <= 100
    assert ack_state_chart.chart_view({"start": "0", "end": "9" * 18}) == ChartView("time")


def test_a_purge_ahead_is_drawn_without_squeezing_the_past() -> None:
    told = survey(span("available", 3, 0), now=DAY, purged=1_000 * DAY)
    (block,) = lane("purged", told).blocks
    assert "until 2028-09-27 00:00:00 UTC is acknowledged as it comes" in block.title
    assert block.width < 20
    now_x = draw(told).now_x
    assert now_x is not None
    assert now_x < 100


@pytest.mark.parametrize("length", [1, 30, 10 * MINUTE, 5 * HOUR, 3 * DAY, 31 * DAY, 900 * DAY])
def test_the_axis_has_a_few_round_times(length: float) -> None:
    ticks = draw(survey(span("available", 3, 0.5), now=length)).ticks
    assert 1 <= len(ticks) <= ack_state_chart.TICKS + 1
    assert [tick.x for tick in ticks] == sorted({tick.x for tick in ticks})
    labels = [tick.label for tick in ticks if tick.label]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("length", [30, 10 * MINUTE, 5 * HOUR, 3 * DAY, 31 * DAY, 900 * DAY])
def test_no_label_of_a_time_is_written_over_that_of_the_present(length: float) -> None:
    until_now = draw(survey(span("available", 3, 0.5), now=length))
    beyond = draw(survey(span("available", 3, 0), now=length, purged=2 * length))
    for drawn in (until_now, beyond):
        now_x = drawn.now_x
        assert now_x is not None
        labelled = [tick.x for tick in drawn.ticks if tick.label]
        assert labelled
        assert all(abs(x - now_x) >= ack_state_chart.BESIDE_NOW for x in labelled)


def test_the_page_draws_what_the_subscription_holds() -> None:
    browser = Browser(retain_acked_messages=True)
    world = browser.world
    world.publish("a", "b", "c")
    world.ack("a")
    world.be_at(HOUR)
    world.publish("d")
    world.publish("e")
    world.pull(1)  # b and c have failed, and come after it
    html = browser.get("/subscriptions/first/ack-state-chart").text
    titles = re.findall(r"<rect class=\"block[^>]*><title>(.*?)</title>", html)
    assert [title.split(";")[0] for title in titles] == [
        "Available: 2 messages",
        "Available: 1 message",
        "Leased: 1 message",
        "Acked, kept to replay: 1 message",
    ]
    assert "Available: 3, Leased: 1, Acked, kept to replay: 1" in html


@pytest.mark.parametrize("asked", ["by=position", "by=position&start=1&end=3", "by=time&start=9"])
def test_a_chart_that_is_drawn_anew_shows_the_same_part(asked: str) -> None:
    """What changes while somebody looks closer does not take them back to the whole."""
    browser = Browser()
    browser.world.publish(*"abcd")
    html = browser.get(f"/subscriptions/first/ack-state-chart?{asked}").text
    section = next(given for tag, given in elements(html) if given.get("id") == "ack-state-chart")
    again = (section["hx-get"] or "").partition("?")[2]
    is_part = "end=" in asked
    assert again == (asked if is_part else asked.partition("&")[0])
    assert ("Show all" in words(html)) is is_part


def test_days_without_messages_have_no_bar() -> None:
    counts = [DayCount(date(2026, 1, 1), 1), DayCount(date(2026, 1, 3), 10**9)]
    told = charts.daily_counts(counts, date(2026, 1, 4))
    assert [each.message_count for each in told.counts] == [1, 0, 10**9, 0]
    assert told.chart.x == ("01-01", "01-02", "01-03", "01-04")
    assert told.chart.y == (1, None, 10**9, None)
    assert told.chart.tooltips[2] == "2026-01-03: 1,000,000,000 messages"
    assert charts.daily_counts([], date(2026, 1, 4)).counts == ()


@given(st.dictionaries(st.dates(date(2024, 1, 1), date(2026, 1, 9)), st.integers(1, 10**9)))
def test_bars_lose_no_message(counted: dict[date, int]) -> None:
    told = charts.daily_counts([DayCount(d, counted[d]) for d in sorted(counted)], date(2026, 1, 4))
    shown_there = sum(each.message_count for each in told.counts)
    assert shown_there + told.earlier == sum(counted.values())
    every = (max(date(2026, 1, 4), *counted) - min(counted)).days + 1 if counted else 0
    assert len(told.counts) == min(every, charts.MOST_DAYS)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (3_600, "1 h"), (3_661, "1 h 1 min"), (86_400 * 31, "31 d")],
)
def test_durations_are_written_in_two_units(seconds: float, text: str) -> None:
    assert formatting.duration(seconds) == formatting.duration(timedelta(seconds=seconds)) == text


def test_a_time_is_written_in_utc() -> None:
    paris = datetime.fromisoformat("2026-01-01T01:00:00+01:00")
    assert formatting.timestamp(paris) == "2026-01-01 00:00:00 UTC"
    assert rfc3339(paris) == "2026-01-01T00:00:00Z"


def moment(time: float, undelivered: int, letters: int = 0) -> SubscriptionMoment:
    return SubscriptionMoment(at(time), undelivered, 0, 90.0, 1, 7, letters)


def test_figures_over_time_are_steps_that_hold_until_the_next_commit() -> None:
    """Backlog, oldest unacked age, … over time, from the table history."""
    told = charts.time_series(
        [moment(0, 100), moment(MINUTE, 50), moment(4 * MINUTE, 0, letters=2)]
    )
    backlog = told[0]
    assert json.loads(backlog.chart.data) == {
        "kind": "steps",
        "x": [1767225600000.0, 1767225660000.0, 1767225840000.0],
        "y": [100, 50, 0],
        "tooltips": [
            "100 at 2026-01-01 00:00:00 UTC",
            "50 at 2026-01-01 00:01:00 UTC",
            "0 at 2026-01-01 00:04:00 UTC",
        ],
        "unit": "",
    }
    assert (backlog.largest, backlog.last) == ("100", "0")
    assert {each.label: each.last for each in told} == {
        "Unacknowledged": "0",
        "Outstanding": "0",
        "Oldest unacknowledged": "1 min 30 s",
        "Highest delivery attempt": "1",
        "Acknowledged, ever": "7",
        "Dead-lettered, ever": "2",
    }


def test_nothing_over_time_has_no_figures() -> None:
    assert charts.time_series([]) == []


def test_what_is_drawn_stands_in_a_table_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen reader, and a browser without scripts, is told what the charts show."""
    browser = Browser()
    store = browser.store
    names = "message_count", "byte_cost", "num_retained_messages", "oldest_retained_message_age"
    of = ResourceName("local", "topics", "flights")
    told = Metrics("topic", of, {}, at(0), dict.fromkeys(names, Measured(2)))
    monkeypatch.setattr(store, "metrics", lambda _: told)
    days = [DayCount(at(0).date(), 1_234)]
    monkeypatch.setattr(store, "messages_by_day", lambda _: days)
    moments = [moment(0, 100), moment(MINUTE, 50), moment(2 * MINUTE, 50)]
    monkeypatch.setattr(store, "subscription_history", lambda _: moments)
    html = browser.get("/topics/flights/metrics").text
    assert [each["y"] for each in drawn_in(html)] == [[1234]]
    assert "Day Messages 2026-01-01 1,234" in words(html)
    html = browser.get("/subscriptions/first/history").text
    assert [each["kind"] for each in drawn_in(html)] == ["steps"] * 6
    assert "2026-01-01 00:01:00 UTC 50 0 1 min 30 s 1 7 0" in words(html)


def drawn_in(html: str) -> list[Any]:
    """Return what a page gives to be drawn."""
    return [json.loads(unescape(each)) for each in re.findall(r'data-chart="([^"]*)"', html)]
