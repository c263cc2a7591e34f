"""Seeded bugs of ``console/ack_state_chart.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_ack_state_chart.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_chart_places.py",
)

BUGS = (
    Bug(
        "position-axis-with-gaps",
        "Positions that nobody was given take room in the chart.",
        "number = min(self._before[place] + position - self._firsts[place], "
        "self._before[place + 1])",
        "number = position",
    ),
    Bug(
        "an-axis-after-all-times",
        "The chart of an ack state cannot be drawn to a time after the year 9999.",
        "_DIGITS = 17\n",
        "_DIGITS = 19\n",
    ),
    Bug(
        "a-block-over-a-longer-one",
        "A short block in an ack state's chart ends the group that a longer one began.",
        "            end = max(end, last)\n",
        "            end = last\n",
    ),
    Bug(
        "a-chart-goes-back-to-the-whole",
        "A chart of an ack state that is drawn anew shows all of its axis.",
        "        return self.start is not None\n",
        "        return False\n",
    ),
    Bug(
        "ticks-short-of-the-end",
        "The axis of times lacks its last tick where that is round.",
        "if first + n * step <= end]",
        "if first + n * step < end]",
    ),
    Bug(
        "a-block-before-the-axis",
        "A block that begins before the part that is shown is drawn too wide.",
        "width = round(max(last - first, MIN_WIDTH), 2)",
        "width = round(max(each.width, MIN_WIDTH), 2)",
    ),
)
