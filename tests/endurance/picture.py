"""Draws what a soak has measured over time: one picture of four panels, one below the other.

    python -m tests.endurance.picture FOLDER

``FOLDER`` has the ``soak.json`` of a run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.charts import COLOURS, WIDTH, Colours, svg, text_at

_LEFT, _RIGHT, _PANEL, _GAP = 72, 150, 120, 62
_MORE = {"light": ("#bc4c00", "#1a7f37", "#8250df"), "dark": ("#db6d28", "#3fb950", "#ab7df8")}
Points = Sequence[Sequence[float]]


def draw(soak: Mapping[str, Any], kind: str) -> str:
    """Return the picture of a soak, for light or for dark pages."""
    colours = COLOURS[kind]
    drawn: list[str] = []
    top = 34
    hours = float(soak["hours"])
    for panel in soak["panels"]:
        drawn += _panel(panel, top, hours, colours, (colours.ours, *_MORE[kind]))
        for kill in soak["kills"]:
            x = _x(kill, hours)
            drawn.append(
                f'<path d="M{x:.1f} {top}V{top + _PANEL}" stroke="{colours.line}" '
                'stroke-dasharray="2 4"/>'
            )
        top += _PANEL + _GAP
    last = top - _GAP + 18
    for share in (0, 0.25, 0.5, 0.75, 1):
        label = f"{60 * hours * share:.3g} min"
        drawn.append(text_at(_x(hours * share, hours), last, label, colours.quiet, 12,
                             anchor="middle"))  # fmt: skip
    title = "Memory, files, log and latency of a store under a steady load, over time"
    return svg(drawn, WIDTH, last + 8, title)


def _panel(
    panel: Mapping[str, Any], top: int, hours: float, colours: Colours, lines: Sequence[str]
) -> list[str]:
    most = max((y for each in panel["lines"] for _, y in each["points"]), default=0) * 1.1 or 1.0
    drawn = [
        text_at(0, top - 12, panel["title"], colours.text, 14, weight=600),
        f'<path d="M{_LEFT} {top}V{top + _PANEL}H{WIDTH - _RIGHT}" fill="none" '
        f'stroke="{colours.line}"/>',
    ]
    for share in (0.5, 1.0):
        y = top + _PANEL * (1 - share / 1.1)
        label = f"{most * share / 1.1:,.0f}"
        drawn.append(text_at(_LEFT - 8, y + 4, label, colours.quiet, 12, anchor="end"))
        drawn.append(f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{colours.ground}"/>')
    for place, (line, colour) in enumerate(zip(panel["lines"], lines, strict=False)):
        drawn.append(_line(line["points"], top, most, hours, colour))
        label_y = top + 14 + 20 * place
        drawn.append(text_at(WIDTH - _RIGHT + 12, label_y, line["name"], colour, 13))
    return drawn


def _x(at: float, hours: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * at / hours


def _line(points: Points, top: int, most: float, hours: float, colour: str) -> str:
    path = " ".join(
        f"{'M' if n == 0 else 'L'}{_x(x, hours):.1f} {top + _PANEL * (1 - y / most):.1f}"
        for n, (x, y) in enumerate(points)
    )
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def write(folder: Path) -> None:
    """Draw both pictures of a run into its folder."""
    soak = json.loads((folder / "soak.json").read_text(encoding="utf-8"))
    for kind in COLOURS:
        (folder / f"soak-{kind}.svg").write_text(draw(soak, kind), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
