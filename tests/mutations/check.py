"""Put each seeded bug into a copy of the library, and see which test notices it.

``python -m tests.mutations.check [NAME ...] [--jobs 1] [--rungs 2] [--results FILE]``. The exit
code is 0 if 95 % of the bugs that were tried are caught. Each outcome is added to the file of
results, of which ``report`` makes the table.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.mutations.bug import LIBRARY, REPOSITORY, Bug
from tests.mutations.bugs import BUGS
from tests.mutations.forked import DOES_NOT_END, NotRun, failing
from tests.mutations.nearest import rungs
from tests.mutations.report import Outcome, add_result

ENOUGH = 0.95
"""The share of the bugs that must be caught."""

_COPIED = (
    *(LIBRARY, "pyspark_pubsub_delta", "tests", "docs", "pyproject.toml"),
    *("benchmarks", "conf", "notebooks", "README.md", "CHANGELOG.md", "mkdocs.yml", "Makefile"),
    "constraints.txt",
)
_MOMENTS = itertools.count(1_000_000_000)
"""When a file of a copy was changed, for Python: no two changes at the same second."""


def copy_repository(root: Path) -> None:
    """Copy what the tests need."""
    root.mkdir(parents=True)
    for name in _COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
            shutil.copytree(source, root / name, ignore=ignored)
        else:
            shutil.copy2(source, root / name)


@contextmanager
def seeded(bug: Bug, root: Path) -> Iterator[None]:
    """Put a bug into a copy, and take it out again."""
    path = bug.path(root)
    before = path.read_text(encoding="utf-8")
    _write(path, bug.of(before))
    try:
        yield
    finally:
        _write(path, before)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    moment = next(_MOMENTS)
    os.utime(path, (moment, moment))


def try_out(bug: Bug, root: Path, most_rungs: int | None = None) -> Outcome:
    """Return which test notices a bug, if any."""
    began, tried = time.monotonic(), rungs(bug, root)[:most_rungs]
    with seeded(bug, root):
        caught = (found[0] for tests in tried if (found := failing(root, tests)))
        outcome = Outcome(bug.name, next(caught, None))
    told = f"caught by {outcome.caught_by}" if outcome.caught_by else "SURVIVED"
    _tell(f"{bug.name}: {told} ({time.monotonic() - began:.0f} s)")
    return outcome


def check(
    bugs: Sequence[Bug], jobs: int, results: Path | None, most_rungs: int | None = None
) -> list[Outcome]:
    """Try out bugs, so many at a time. What catches one must pass without it."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        folder = Path(name).resolve()
        fork = get_context("fork")
        outcomes = []
        with ProcessPoolExecutor(jobs, fork, _begin, (folder,)) as pool:
            for outcome in pool.map(partial(_one, most_rungs), bugs):
                outcomes.append(outcome)
                if results is not None:
                    add_result(results, outcome)
            asked = sorted({each.caught_by for each in outcomes if each.caught_by})
            broken = pool.submit(_without_bugs, asked).result() if asked else []
    if broken:
        raise NotRun(f"without any bug there fail {', '.join(broken)}")
    return outcomes


def _begin(folder: Path) -> None:
    copy_repository(_root(folder))


def _root(folder: Path | None = None) -> Path:
    """Return the copy of this process."""
    global _folder
    _folder = folder or _folder
    return _folder / str(os.getpid())


_folder = Path()


def _one(most_rungs: int | None, bug: Bug) -> Outcome:
    return try_out(bug, _root(), most_rungs)


def _without_bugs(tests: Sequence[str]) -> list[str]:
    return failing(_root(), [test.removesuffix(DOES_NOT_END) for test in tests], first=False)


def main() -> int:
    """Try out what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.check")
    parser.add_argument("names", nargs="*", metavar="NAME", help="bugs to try; without any, all")
    parser.add_argument("--jobs", type=int, default=1, help="how many to try at a time")
    parser.add_argument("--results", type=Path, help="a file of JSON lines to add outcomes to")
    parser.add_argument("--without-spark", action="store_true", help="leave out what needs Spark")
    parser.add_argument("--rungs", type=int, help="how many sets of tests to try at most")
    asked = parser.parse_args()
    unknown = set(asked.names) - {bug.name for bug in BUGS}
    if unknown:
        parser.error(f"no bug has the name {', '.join(sorted(unknown))}")
    bugs = [bug for bug in BUGS if not asked.names or bug.name in asked.names]
    if asked.without_spark:
        bugs = [bug for bug in bugs if not bug.needs_spark]
    outcomes = check(bugs, asked.jobs, asked.results, asked.rungs)
    caught = sum(outcome.caught_by is not None for outcome in outcomes)
    _tell(f"{caught} of {len(outcomes)} bugs are caught")
    return 0 if caught >= ENOUGH * len(outcomes) else 1


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
