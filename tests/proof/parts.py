"""The parts of the proof: a command each, which takes a seed and tells how much it has done."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

_PYTEST = (sys.executable, "-m", "pytest", "-m", "trial", "-p", "no:cacheprovider")
_STEPS = re.compile(r"([\d,]+) steps with the seeds (\d+) to (\d+)")

_HISTORIES = re.compile(r"^seed \d+:.*nothing wrong$", re.M)


@dataclass(frozen=True)
class Part:
    """What is run again and again, each time with the next seeds.

    ``goal``: how many ``unit`` a release takes. ``command``: it is given the seed by the variable
    ``SEED``. ``counts``: what it prints of how much it has done; the first group of each match
    counts, or the match itself. ``seeds``: how many seeds a run takes, where it does not say.
    """

    name: str
    goal: int
    unit: str
    command: tuple[str, ...]
    counts: re.Pattern[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    seeds: int = 1
    needs_java: bool = False

    def environment(self, seed: int) -> dict[str, str]:
        """Return the variables of a run."""
        return {**self.variables, "SEED": str(seed)}

    def again(self, seed: int) -> str:
        """Return the line that runs it once more."""
        given = " ".join(f"{k}={v}" for k, v in self.environment(seed).items())
        return f"{given} {' '.join(self.command)}".replace(sys.executable, ".venv/bin/python")

    def counted(self, output: str) -> int:
        """Return how much a run has done."""
        found = [match[1] if match.re.groups else "1" for match in self.counts.finditer(output)]
        return sum(int(each.replace(",", "")) for each in found)

    def next_seed(self, seed: int, output: str) -> int:
        """Return the seed after those of a run."""
        last = [int(match[3]) for match in _STEPS.finditer(output)]
        return max([seed + self.seeds, *(each + 1 for each in last)])


PARTS = (
    Part(
        "model in memory", 10_000_000, "steps", (*_PYTEST, "tests/model/test_machine.py"),
        _STEPS, {"STEPS": "40000"},
    ),
    Part(
        "model on tables", 100_000, "steps",
        (*_PYTEST, "tests/model/test_machine_on_delta.py", "-k", "direct_lane_does"),
        _STEPS, {"DELTA_STEPS": "100"},
    ),
    Part(
        "kills", 1_000, "kills", (*_PYTEST, "tests/trials/test_crashes.py"),
        re.compile(r"(\d+) × killed at work"), {"TRIALS": "40"},
    ),
    Part(
        "histories", 300, "histories",
        (sys.executable, "-m", "tests.histories.run", "--count", "5"),
        _HISTORIES, seeds=5,
    ),
    Part(
        "histories of both lanes", 30, "histories",
        (sys.executable, "-m", "tests.histories.run", "--spark"), _HISTORIES, needs_java=True,
    ),
    Part(
        "damaged files, direct", 92, "cases",
        (*_PYTEST, "tests/trials/test_damage.py", "-k", "direct"),
        re.compile(r"(\d+) × damage, direct"),
    ),
    Part(
        "damaged files, Spark", 102, "cases",
        (*_PYTEST, "tests/trials/test_damage.py", "-k", "spark"),
        re.compile(r"(\d+) × damage, spark"), needs_java=True,
    ),
    Part(
        "model by Spark", 500, "steps",
        (*_PYTEST, "tests/model/test_machine_on_delta.py", "-k", "spark_does"),
        _STEPS, {"DELTA_STEPS": "100"}, needs_java=True,
    ),
)  # fmt: skip
