"""Try out mutants that a program makes, and list those that no test notices, for reading.

``python -m tests.mutations.generated [FILE ...] [--seed 1] [--count 100] [--jobs 1]``. Without
files, mutants of all modules are drawn whose nearest tests need no Java. A seed draws the same
mutants of the same sources.

All tests that need no Java run once, to tell which lines each runs (five minutes by two jobs). Then
each mutant meets up to 60 tests that run its lines, the quickest first, and then all of the nearest
tests that do. What runs while the library is imported is tried with the nearest tests of its
module, as a seeded bug is.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutations.bug import Bug
from tests.mutations.bugs import NEAREST
from tests.mutations.check import check
from tests.mutations.mutants import mutants
from tests.mutations.report import add_result
from tests.mutations.trials import Trials

_NEED_JAVA = ("tests/acceptance", "tests/delta", "tests/spark_lane")
_OPTIONS = (
    *("-q", "-s", "--timeout=0", "-p", "no:cacheprovider", "-p", "tests.mutations.imported"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *(f"--ignore={folder}" for folder in _NEED_JAVA),
)


def default_files() -> list[str]:
    """Return the files whose mutants are drawn where none is named."""
    near = NEAREST.items()
    return sorted(file for file, tests in near if tests and not _any_needs_java(tests))


def _any_needs_java(tests: Sequence[str]) -> bool:
    return any(test.startswith(_NEED_JAVA) for test in tests)


def drawn(files: Sequence[str], seed: int, count: int) -> list[Bug]:
    """Return mutants of some files by chance, each as likely as any other."""
    found = [mutant for file in files for mutant in mutants(file)]
    return random.Random(seed).sample(found, min(count, len(found)))


def main() -> int:
    """Try out what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.generated")
    parser.add_argument("files", nargs="*", metavar="FILE", help="below pubsub_delta/")
    parser.add_argument("--seed", type=int, default=1, help="what draws the mutants")
    parser.add_argument("--count", type=int, default=100, help="how many are drawn")
    parser.add_argument("--jobs", type=int, default=1, help="how many to try at a time")
    parser.add_argument("--tests", nargs="+", default=["tests", "pubsub_delta"], metavar="PATH")
    parser.add_argument("--results", type=Path, help="a file of JSON lines to add outcomes to")
    asked = parser.parse_args()
    if unknown := set(asked.files) - NEAREST.keys():
        parser.error(f"tests/mutations/bugs/ names no tests of {', '.join(sorted(unknown))}")
    chosen = drawn(asked.files or default_files(), asked.seed, asked.count)
    trials = Trials(chosen, asked.jobs)
    if status := pytest.main([*_OPTIONS, *asked.tests], plugins=[trials]):
        return int(status)
    outcomes = [each for each in trials.outcomes if each is not None]
    others = [each for each, met in zip(chosen, trials.outcomes, strict=True) if met is None]
    outcomes += check(others, asked.jobs, None, most_rungs=1)
    survivors = {each.name for each in outcomes if each.caught_by is None}
    for mutant in chosen:
        if mutant.name in survivors:
            sys.stdout.write(f"{mutant.name}: {mutant.says}\n")
    for outcome in outcomes if asked.results else []:
        add_result(asked.results, outcome)
    for test in trials.broken:
        sys.stdout.write(f"{test} fails without a mutant, too\n")
    caught = len(outcomes) - len(survivors)
    sys.stdout.write(f"seed {asked.seed}: {caught} of {len(outcomes)} mutants are caught\n")
    return 1 if trials.broken else 0


if __name__ == "__main__":
    sys.exit(main())
