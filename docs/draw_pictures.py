"""Draws the ack state, the way of a message through the tables, and its states.

``python -m docs.draw_pictures`` (``make pictures``) writes the pictures into ``assets/`` anew, each
for light and for dark pages.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.charts import ASSETS, COLOURS, WIDTH, svg, text_at

STATES = {
    "light": {"leased": "#0969da", "backing_off": "#bc4c00", "available": "#1a7f37"},
    "dark": {"leased": "#4493f8", "backing_off": "#db6d28", "available": "#3fb950"},
}
STRIP, STRIP_HEIGHT = 30, 30
ROW, ROW_HEIGHT = 118, 92
CELL = WIDTH / 4


@dataclass(frozen=True)
class Part:
    """Neighbouring messages in one state, and the cell of the row that says so."""

    state: str
    first: int
    last: int
    lines: tuple[str, str]


PARTS = (
    Part("leased", 190, 268, ("1,000,000 positions", "until 12:00:10")),
    Part("backing_off", 296, 314, ("37 positions", "until 12:00:30")),
    Part("available", 330, 500, ("8,400,000 positions", "oldest first")),
    Part("tail", 500, 632, ("every commit", "after version 12")),
)


def ack_state(kind: str) -> str:
    """Draw a topic's messages, and under them the row of a subscription."""
    colours = COLOURS[kind]
    bottom = ROW + ROW_HEIGHT
    drawn = [
        text_at(0, 18, "Topic: every message once, in the order of receipt", colours.text, 15,
                weight=600),
        _frame(0.5, STRIP, WIDTH - 1, STRIP_HEIGHT, colours.ground, colours.line),
        text_at(12, STRIP + 20, "acknowledged", colours.quiet, 14),
        *(each for place, part in enumerate(PARTS) for each in _part(place, part, kind)),
        _frame(0.5, ROW, WIDTH - 1, ROW_HEIGHT, "none", colours.line),
        text_at(0, bottom + 26, "Subscription: one row", colours.text, 15, weight=600),
        text_at(166, bottom + 26, "that a pull, an ack, a nack or a seek replaces in one commit.",
                colours.text, 15),
        text_at(0, bottom + 50, "A message that is in no span and not in the tail is acknowledged: "
                "nothing is stored for it.", colours.quiet, 14),
    ]  # fmt: skip
    title = (
        "A topic's messages in the order of receipt, and under them the one row of a subscription: "
        "its spans are leased, backing off and available, its tail is all later commits"
    )
    return svg(drawn, WIDTH, bottom + 60, title)


def _part(place: int, part: Part, kind: str) -> list[str]:
    colours = COLOURS[kind]
    colour = STATES[kind].get(part.state, colours.quiet)
    left, right = place * CELL, (place + 1) * CELL
    low = STRIP + STRIP_HEIGHT
    return [
        _bar(
            part.first, STRIP + 4, part.last, STRIP_HEIGHT - 8, colour, solid=part.state != "tail"
        ),
        _fan(part.first, part.last, low, left + 4, right - 4, ROW, colour),
        f'<rect x="{left + 4}" y="{ROW}" width="{CELL - 8}" height="4" fill="{colour}"/>',
        text_at(left + 12, ROW + 28, part.state, colours.text, 15, weight=600),
        *(
            text_at(left + 12, ROW + 52 + 20 * line, text, colours.quiet, 14)
            for line, text in enumerate(part.lines)
        ),
    ]


LEFT, RIGHT = 112, 552
COMMITS = (
    (11, "0–999", 112),
    (12, "1000–1999", 222),
    (13, "2000–2999", 332),
    (14, "3000–3999", 442),
)
HEIGHT = 30


def data(kind: str) -> str:
    """Draw the way of messages from the topic's table to a reader, and the way of the ack back."""
    colours, states = COLOURS[kind], STATES[kind]
    tops = [10, 88, 166, 254, 342]
    names = (
        ("Topic", "table"),
        ("Commits", ""),
        ("Spans", "and tail"),
        ("Lease", ""),
        ("Read", ""),
    )
    drawn = []
    for top, (first, second) in zip(tops, names, strict=True):
        drawn.append(text_at(0, top + (20 if not second else 13), first, colours.text, 15,
                             weight=600))  # fmt: skip
        if second:
            drawn.append(text_at(0, top + 31, second, colours.text, 15, weight=600))
    for version, run, x in COMMITS:
        drawn += [
            _frame(x + 3, tops[0], 104, HEIGHT, colours.ground, colours.line),
            text_at(x + 55, tops[0] + 20, "files", colours.text, 14, anchor="middle"),
            _arrow(x + 55, tops[0] + HEIGHT + 2, x + 55, tops[1] - 4, colours.quiet),
            _frame(x + 3, tops[1], 104, HEIGHT, "none", colours.line),
            text_at(x + 55, tops[1] + 20, run, colours.text, 14, anchor="middle"),
            text_at(x + 62, tops[0] + HEIGHT + 28, f"version {version}", colours.quiet, 12),
        ]
    drawn += [
        _fan(LEFT + 3, 439, tops[1] + HEIGHT, LEFT + 3, 439, tops[2], colours.quiet),
        text_at(275, tops[2] - 12, "absorb: no file is opened", colours.text, 13, anchor="middle"),
        _frame(LEFT + 3, tops[2], 434, HEIGHT, colours.ground, colours.line),
        text_at(LEFT + 10, tops[2] + 20, "acknowledged", colours.quiet, 13),
        _bar(222, tops[2] + 4, 300, HEIGHT - 8, states["leased"]),
        _bar(302, tops[2] + 4, 439, HEIGHT - 8, states["available"]),
        _bar(442, tops[2] + 4, 546, HEIGHT - 8, colours.quiet, solid=False),
        text_at(494, tops[2] + 20, "tail", colours.quiet, 14, anchor="middle"),
        _fan(222, 300, tops[2] + HEIGHT, LEFT + 3, RIGHT - 6, tops[3], states["leased"]),
        text_at(275, tops[3] - 12, "pull: one commit", colours.text, 13, anchor="middle"),
        _bar(LEFT + 3, tops[3], RIGHT - 6, HEIGHT, states["leased"]),
        text_at(330, tops[3] + 20, "positions 1000–1699, lease 7, until 12:00:10", _ON[kind], 14,
                anchor="middle"),
        _arrow(330, tops[3] + HEIGHT + 2, 330, tops[4] - 4, colours.quiet),
        text_at(340, tops[4] - 24, "statistics on position choose the files", colours.text, 13),
        _frame(LEFT + 3, tops[4], 434, HEIGHT, colours.ground, colours.line),
        text_at(330, tops[4] + 20, "700 messages: one by one, Arrow, or a DataFrame", colours.text,
                14, anchor="middle"),
        _route([(RIGHT, tops[4] + 15), (RIGHT + 28, tops[4] + 15), (RIGHT + 28, tops[2] + 15),
                (RIGHT + 4, tops[2] + 15)], colours.quiet),
        text_at(RIGHT + 36, tops[3] + 8, "ack,", colours.text, 13),
        text_at(RIGHT + 36, tops[3] + 25, "nack", colours.text, 13),
    ]  # fmt: skip
    title = (
        "From the topic's table by its commits to the spans of a subscription, from these by a "
        "pull to a lease, whose positions are read from the topic's files; an ack changes the spans"
    )
    return svg(drawn, WIDTH, tops[4] + HEIGHT + 10, title)


def states(kind: str) -> str:
    """Draw the six arrows between the states of a message."""
    colours, fills = COLOURS[kind], STATES[kind]

    def box(state: str, x: int, y: int, width: int) -> list[str]:
        line = fills.get(state, colours.quiet)
        return [
            _frame(x, y, width, 36, colours.ground, line).replace("/>", ' stroke-width="1.5"/>'),
            text_at(x + width / 2, y + 23, state, colours.text, 15, anchor="middle", weight=600),
        ]

    def label(x: int, y: int, text: str, anchor: str = "middle") -> str:
        return text_at(x, y, text, colours.text, 14, anchor=anchor)

    quiet = colours.quiet
    drawn = [
        *box("available", 120, 20, 110),
        *box("leased", 310, 20, 100),
        *box("acknowledged", 498, 20, 140),
        *box("backing_off", 300, 130, 120),
        *box("forwarding", 76, 130, 110),
        _arrow(20, 38, 116, 38, quiet), label(68, 28, "publish"),
        _arrow(234, 38, 306, 38, quiet), label(268, 28, "pull"),
        _arrow(414, 38, 494, 38, quiet), label(452, 28, "ack"),
        _arrow(360, 60, 360, 126, quiet), label(370, 98, "nack, or the lease ends", "start"),
        _route([(296, 148), (210, 148), (210, 60)], quiet), label(220, 98, "the backoff", "start"),
        label(220, 116, "ends", "start"),
        _arrow(150, 60, 150, 126, quiet), label(140, 98, "no attempt is left", "end"),
    ]  # fmt: skip
    title = (
        "publish makes a message available, pull leased, ack acknowledged; a nack or the end of "
        "the lease makes it back off, and then it is available; without attempts it is forwarded"
    )
    return svg(drawn, WIDTH, 176, title)


_ON = {"light": "#ffffff", "dark": "#0d1117"}
"""Text on a leased span."""


def _frame(x: float, y: float, width: float, height: float, fill: str, line: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" '
        f'stroke="{line}"/>'
    )


def _bar(
    first: float, y: float, last: float, height: float, colour: str, *, solid: bool = True
) -> str:
    look = f'fill="{colour}"' if solid else f'fill="none" stroke="{colour}" stroke-dasharray="4 3"'
    return f'<rect x="{first}" y="{y}" width="{last - first}" height="{height}" rx="2" {look}/>'


def _fan(
    first: float, last: float, top: float, left: float, right: float, bottom: float, colour: str
) -> str:
    return (
        f'<path d="M{first} {top}H{last}L{right} {bottom}H{left}Z" fill="{colour}" opacity="0.16"/>'
    )


def _arrow(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return _route([(x, y), (to_x, to_y)], colour)


def _route(points: list[tuple[float, float]], colour: str) -> str:
    """Draw a line from point to point, with an arrowhead at its end."""
    way = "L".join(f"{x} {y}" for x, y in points)
    (x, y), (end_x, end_y) = points[-2:]
    if end_x == x:
        down = 1 if end_y > y else -1
        head = f"M{x - 4} {end_y - 6 * down}L{x} {end_y}L{x + 4} {end_y - 6 * down}"
    else:
        along = 1 if end_x > x else -1
        head = f"M{end_x - 6 * along} {y - 4}L{end_x} {y}L{end_x - 6 * along} {y + 4}"
    return f'<path d="M{way}{head}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def pictures() -> dict[str, str]:
    """Return all pictures by the names of their files."""
    drawings = {"ack-state": ack_state, "data": data, "states": states}
    return {f"{name}-{kind}.svg": draw(kind) for name, draw in drawings.items() for kind in COLOURS}


def main() -> None:
    """Write the pictures."""
    for name, drawn in pictures().items():
        (ASSETS / name).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
