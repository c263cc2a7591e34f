"""What the sections have in common: seconds by name, ratios against targets, and the report."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    """A session, a directory to throw away, and how much is to be measured.

    ``sessions`` returns the session, and starts it when it is first asked. ``messages``: of the
    large topics. ``rounds``: counted runs, after a warm-up. ``full``: also what takes hours.
    ``spark_on_s3``: also Spark's own appends and MERGEs in object storage.
    """

    sessions: Callable[[], SparkSession]
    directory: str
    messages: int
    rounds: int
    full: bool
    spark_on_s3: bool = False

    @property
    def spark(self) -> SparkSession:
        return self.sessions()


@dataclass(frozen=True)
class Ratio:
    """One measured ratio: the median over the rounds, the smallest and the largest, a target."""

    what: str
    rounds: tuple[float, ...]
    at_most: float | None = None
    at_least: float | None = None

    @property
    def measured(self) -> float:
        return statistics.median(self.rounds)

    @property
    def reached(self) -> bool | None:
        """Tell whether the target is reached; None where there is none."""
        if self.at_most is not None:
            return self.measured <= self.at_most
        return None if self.at_least is None else self.measured >= self.at_least

    @property
    def target(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return "" if self.at_least is None else f"≥ {self.at_least:g}"


@dataclass
class Section:
    """What was timed, by name, with the ratios and the plain facts that came of it."""

    name: str
    conditions: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    ratios: list[Ratio] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def time(self, what: str, run: Callable[[], T], *, keep: bool = True) -> T:
        """Run something, and keep its seconds unless it only warms up."""
        start = time.perf_counter()
        result = run()
        self.add(what, time.perf_counter() - start, keep=keep)
        return result

    def add(self, what: str, seconds: float, *, keep: bool = True) -> None:
        if keep:
            self.seconds.setdefault(what, []).append(seconds)

    def median(self, what: str) -> float:
        return statistics.median(self.seconds[what])

    def compare(
        self,
        what: str,
        above: Sequence[str],
        below: Sequence[str],
        *,
        factor: float = 1.0,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """Add a ratio of seconds: round by round, so that a slow minute weighs on both sides."""
        over, under = self._sums(above), self._sums(below)
        count = max(len(over), len(under))
        over, under = (over * count)[:count], (under * count)[:count]
        rounds = tuple(factor * a / b for a, b in zip(over, under, strict=True))
        self.ratios.append(Ratio(what, rounds, at_most, at_least))

    def ratio(self, what: str, measured: float, at_most: float) -> None:
        """Add something that was measured once."""
        self.ratios.append(Ratio(what, (measured,), at_most))

    def _sums(self, names: Sequence[str]) -> list[float]:
        return [sum(each) for each in zip(*(self.seconds[name] for name in names), strict=True)]


def machine() -> str:
    """Return the machine's facts in a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}, local disk"
    )


def markdown(sections: Sequence[Section], conditions: str) -> str:
    """Return the one table of ratios, and after it what each section timed."""
    lines = [conditions, "", "| section | ratio | target | median | min | max | reached |"]
    lines.append("|---|---|---:|---:|---:|---:|---|")
    for section in sections:
        for ratio in section.ratios:
            reached = {True: "yes", False: "**no**", None: ""}[ratio.reached]
            lines.append(
                f"| {section.name} | {ratio.what} | {ratio.target} | {_told(ratio.measured)} | "
                f"{_told(min(ratio.rounds))} | {_told(max(ratio.rounds))} | {reached} |"
            )
    for section in sections:
        lines += ["", f"### {section.name}", "", section.conditions]
        if section.seconds:
            lines += ["", "| what | median s | min | max | runs |", "|---|---:|---:|---:|---:|"]
        for what, seconds in section.seconds.items():
            median = statistics.median(seconds)
            lines.append(
                f"| {what} | {_told(median)} | {_told(min(seconds))} | {_told(max(seconds))} | "
                f"{len(seconds)} |"
            )
        if section.facts:
            lines += ["", "| fact | |", "|---|---:|"]
            lines += [f"| {what} | {told} |" for what, told in section.facts.items()]
    return "\n".join(lines) + "\n"


def _told(figure: float) -> str:
    """Write a figure so that milliseconds show where it is less than a second, or than one."""
    return f"{figure:.2f}" if abs(figure) >= 1 else f"{figure:.3f}"


def write_json(path: Path, sections: Sequence[Section], conditions: str) -> None:
    """Write what was measured into a file; what it has of other sections stays there."""
    told = json.loads(path.read_text(encoding="utf-8"))["sections"] if path.exists() else []
    by_name = {each["name"]: each for each in told}
    for section in sections:
        by_name[section.name] = _figures(section, conditions)
    text = json.dumps({"sections": [*by_name.values()]}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _figures(section: Section, machine: str) -> dict[str, Any]:
    """Return a section as it is written: each figure in sum, and round by round."""
    return {
        "name": section.name,
        "machine": machine,
        "conditions": section.conditions,
        "seconds": {
            what: {"median": statistics.median(each), "min": min(each), "max": max(each),
                   "runs": len(each), "each": each}
            for what, each in section.seconds.items()
        },
        "ratios": [
            {"what": ratio.what, "at_most": ratio.at_most, "at_least": ratio.at_least,
             "median": ratio.measured, "min": min(ratio.rounds), "max": max(ratio.rounds),
             "reached": ratio.reached, "each": list(ratio.rounds)}
            for ratio in section.ratios
        ],
        "facts": section.facts,
    }  # fmt: skip
