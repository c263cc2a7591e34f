"""The live view of ``subscriptions watch``; imported for terminals only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pubsub_delta.cli.samples import WORDS, Sample, age_text, rate_text

WIDTH = 30
"""The width of a bar, and the number of samples of a sparkline."""

_TICKS = "▁▂▃▄▅▆▇█"


def show_live(name: str, interval: timedelta, samples: Iterable[Sample]) -> None:
    """Show samples in one place of a terminal, each over the one before."""
    last: deque[Sample] = deque(maxlen=WIDTH)
    title = Text(name, no_wrap=True, overflow="ellipsis")
    with Live(console=Console(), auto_refresh=False) as live:
        for each in samples:
            last.append(each)
            live.update(view(title, list(last), interval), refresh=True)


def view(title: Text, samples: list[Sample], interval: timedelta) -> Panel:
    """Return the panel of the last samples."""
    now = samples[-1]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(justify="right", min_width=10)
    grid.add_column(no_wrap=True)

    def line(word: str, value: str, of: Callable[[Sample], float] | None, style: str) -> None:
        shown = "" if of is None else sparkline([of(each) for each in samples])
        grid.add_row(word, value, Text(shown, style=style))

    line("backlog", f"{now.undelivered:,}", lambda each: each.undelivered, "cyan")
    share = now.outstanding / now.undelivered if now.undelivered else 0.0
    grid.add_row("outstanding", f"{now.outstanding:,}", Text(bar(share), style="yellow"))
    line("oldest", age_text(now.oldest_age), lambda each: each.oldest_age, "magenta")
    for outcome, rate in now.rates.items():
        of = _rate(outcome)
        line(WORDS[outcome], rate_text(rate), of, "green" if outcome == "success" else "red")
    line("dead letters", f"{now.dead_letters:,}", None, "")
    below = f"{now.time:%H:%M:%S} UTC, every {interval.total_seconds():g} s, Ctrl-C ends"
    return Panel(
        grid, title=title, title_align="left", subtitle=below, subtitle_align="right", expand=False
    )


def _rate(outcome: str) -> Callable[[Sample], float]:
    return lambda each: each.rates[outcome]


def sparkline(values: list[float]) -> str:
    """Write numbers as a line of small bars, from 0 to the largest.

    >>> sparkline([0, 1, 4, 8]), sparkline([0, 0])
    ('▁▂▅█', '▁▁')
    """
    top = max(values, default=0) or 1
    return "".join(_TICKS[round(max(value, 0) / top * (len(_TICKS) - 1))] for value in values)


def bar(share: float, width: int = WIDTH) -> str:
    """Write a share from 0 to 1 as a bar; a share above 0 is visible.

    >>> bar(0.5, 8), bar(0.001, 8), bar(0, 8)
    ('████────', '█───────', '────────')
    """
    full = min(width, max(round(share * width), share > 0))
    return "█" * full + "─" * (width - full)
