"""The figures and the two charts at the head of ``docs/performance.md``, from ``results.json``.

``python -m benchmarks.charts`` (``make pictures``) writes them anew: each chart for light and for
dark pages, and the table between the marks in the page. A test compares what is committed with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks/results.json"
ASSETS = REPOSITORY / "docs/assets"
PAGE = REPOSITORY / "docs/performance.md"
BETWEEN = re.compile(r"(<!-- figures: make pictures -->\n).*?(\n<!-- end -->)", re.DOTALL)
WIDTH, LEFT, BAR, GAP = 640, 196, 20, 8


@dataclass(frozen=True)
class Colours:
    """What a picture is drawn in on pages of one kind."""

    text: str
    quiet: str
    ours: str
    others: str
    ground: str
    line: str


COLOURS = {
    "light": Colours("#1f2328", "#59636e", "#0969da", "#afb8c1", "#f6f8fa", "#d1d9e0"),
    "dark": Colours("#f0f6fc", "#9198a1", "#4493f8", "#59636e", "#151b23", "#3d444d"),
}


@dataclass(frozen=True)
class Bar:
    """A bar of a chart: whose it is, and how long it takes."""

    label: str
    seconds: float
    is_ours: bool


@dataclass(frozen=True)
class Group:
    """Bars that are compared with each other."""

    label: str
    bars: Sequence[Bar]


class Results:
    """What was measured, as the suite has written it."""

    def __init__(self, path: Path = RESULTS) -> None:
        sections = json.loads(path.read_text(encoding="utf-8"))["sections"]
        self._sections: dict[str, Any] = {each["name"]: each for each in sections}

    def seconds(self, section: str, what: str) -> float:
        """Return the median of what a section has timed."""
        return float(self._sections[section]["seconds"][what]["median"])

    def ratio(self, section: str, what: str) -> float:
        """Return the median of a ratio of a section."""
        found = self._sections[section]["ratios"]
        return float(next(each["median"] for each in found if each["what"] == what))

    def fact(self, section: str, what: str) -> str:
        """Return a fact of a section as it is written."""
        return str(self._sections[section]["facts"][what])


def told(seconds: float) -> str:
    """Write a time as a person says it: ``14 ms``, ``2.93 s``, ``111 s``."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.0f} s" if seconds >= 100 else f"{seconds:.2f} s"


def small_work(results: Results) -> list[Group]:
    """Return what single operations take, beside plain Delta through Spark."""

    def ours(label: str, what: str) -> Bar:
        return Bar(label, results.seconds("small work", f"direct: {what}"), is_ours=True)

    append = results.seconds("small work", "plain append of 100 rows")
    merge = results.seconds("small work", "ten-row MERGE")
    return [
        Group("100 messages", [
            ours("publish", "publish of 100"),
            Bar("Spark: append of 100 rows", append, is_ours=False),
        ]),
        Group("1,000 messages", [
            ours("pull", "pull(1000)"),
            ours("ack", "batch.ack()"),
            ours("seek", "seek to a time"),
            ours("create a snapshot", "create_snapshot"),
            Bar("Spark: MERGE of ten rows", merge, is_ours=False),
        ]),
    ]  # fmt: skip


def draining(results: Results) -> list[Group]:
    """Return how long 10 M messages take from the pull to the ack."""

    def seconds(*names: str) -> float:
        return sum(results.seconds("drain", name) for name in names)

    return [
        Group("10,000,000 messages", [
            Bar("pull, read, ack", seconds("· pull", "· read", "· ack"), is_ours=True),
            Bar("scan and two MERGEs", seconds("plain scan", "two ten-row MERGEs"), is_ours=False),
            Bar("a row per message", seconds("row-per-message queue"), is_ours=False),
        ]),
    ]  # fmt: skip


def figures(results: Results) -> list[tuple[str, str]]:
    """Return the five figures that matter most, and what each is."""
    drained = int(results.fact("drain", "drained, messages a second").replace(",", ""))
    faster = results.ratio("drain", "drain: times as fast as a row per message")
    small = results.seconds("small work", "direct: batch.ack()")
    callback = results.seconds("small work", "publish to callback through the server")
    storage = results.seconds("object store", "15 ms: ack")
    return [
        (told(results.seconds("drain", "· ack")),
         f"an ack of 10,000,000 messages; one of 1,000 takes {told(small)}"),
        (told(results.seconds("small work", "direct: publish of 100")),
         "a publish of 100 messages, durable when it returns"),
        (f"{drained / 1e6:.1f} M/s",
         "messages pulled, read and acknowledged, "
         f"{faster:.0f} times as many as with a row for each"),
        (told(callback),
         "from a publish to a callback, through the server with Google's client, median"),
        (told(storage),
         "an ack in object storage that answers each request after 15 ms"),
    ]  # fmt: skip


def chart(groups: Sequence[Group], colours: Colours, title: str) -> str:
    """Draw bars of seconds from left to right, as long as the longest one allows."""
    longest = max(bar.seconds for group in groups for bar in group.bars)
    room = WIDTH - LEFT - 76
    drawn, y = [], 0
    for group in groups:
        y += 26
        drawn.append(text_at(0, y - 8, group.label, colours.quiet, 14))
        for bar in group.bars:
            middle = y + BAR / 2 + 5
            length = max(room * bar.seconds / longest, 2)
            colour = colours.ours if bar.is_ours else colours.others
            weight = 600 if bar.is_ours else 400
            drawn.append(text_at(LEFT - 8, middle, bar.label, colours.text, 14, anchor="end"))
            drawn.append(
                f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="3" '
                f'fill="{colour}"/>'
            )
            time = told(bar.seconds)
            drawn.append(text_at(LEFT + length + 8, middle, time, colours.text, 14, weight=weight))
            y += BAR + GAP
    return svg(drawn, WIDTH, y + 4, title)


def svg(drawn: Sequence[str], width: int, height: int, title: str) -> str:
    """Put what was drawn into a picture with a title for who does not see it."""
    body = "\n".join(drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, -apple-system, Segoe UI, Noto Sans, sans-serif">\n'
        f"<title>{escape(title)}</title>\n{body}\n</svg>\n"
    )


def text_at(
    x: float, y: float, text: str, colour: str, size: int, *, anchor: str = "start",
    weight: int = 400,
) -> str:  # fmt: skip
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" '
        f'font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def charts(results: Results) -> dict[str, str]:
    """Return both charts for both kinds of pages, by the names of their files."""
    drawings = {
        "chart-small-work": (small_work(results), "What single operations take"),
        "chart-drain": (draining(results), "How long 10,000,000 messages take"),
    }
    return {
        f"{name}-{kind}.svg": chart(groups, colours, title)
        for name, (groups, title) in drawings.items()
        for kind, colours in COLOURS.items()
    }


def table(results: Results) -> str:
    """Return the five figures as Markdown."""
    rows = [f"| **{figure}** | {what} |" for figure, what in figures(results)]
    return "\n".join(["| | |", "|---:|---|", *rows])


def page(text: str, results: Results) -> str:
    """Return the text of the page with the figures as they were measured."""
    return BETWEEN.sub(lambda marks: f"{marks[1]}\n{table(results)}\n{marks[2]}", text)


def main() -> None:
    results = Results()
    for name, drawn in charts(results).items():
        (ASSETS / name).write_text(drawn, encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
