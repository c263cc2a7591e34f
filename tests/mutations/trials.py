"""A plugin for pytest: mutants meet the tests that run their lines, instead of a run of all.

Each meets them in a process forked from one that has collected all tests and imported the library,
where its code takes the place of the function's. So it costs the time of its tests alone.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import settings

from tests.mutations.bug import Bug
from tests.mutations.bugs import NEAREST
from tests.mutations.covering import Covering, read, record
from tests.mutations.forked import LONGEST_WAIT, failures
from tests.mutations.patched import Patch, functions_of_the_library, patch
from tests.mutations.report import Outcome

MOST_TESTS = 60
MOST_SECONDS = 6.0
"""Of the tests that a mutant meets first, as they took when nothing was wrong."""
MOST_SECONDS_NEAREST = 20.0
"""Of the nearest tests, which it meets after them."""
PATIENCE = 180
"""Seconds after which tests that took so little do not end."""


def chosen(covering: Covering, tests: set[str], nearest: Sequence[str]) -> list[str]:
    """Return the tests that a mutant meets: the quickest of each file, then the next of each.

    After them come the others of the nearest files.

    >>> covering = Covering({"a.py::slow": 5.0, "a.py::one": 0.1, "b.py::two": 6.2}, {})
    >>> chosen(covering, set(covering.seconds), ["b.py"])
    ['a.py::one', 'a.py::slow', 'b.py::two']
    """
    by_file = defaultdict(list)
    for test in sorted(tests, key=lambda each: (covering.seconds[each], each)):
        by_file[test.split("::")[0]].append(test)
    ranked = sorted(
        (rank, file not in nearest, covering.seconds[test], test)
        for file, of_file in by_file.items()
        for rank, test in enumerate(of_file)
    )
    first = _within(MOST_SECONDS, covering, [test for *_, test in ranked])[:MOST_TESTS]
    others = [test for file in nearest for test in by_file.get(file, ()) if test not in first]
    return first + _within(MOST_SECONDS_NEAREST, covering, others)


def _within(seconds: float, covering: Covering, tests: Sequence[str]) -> list[str]:
    """Return tests that take so long together, each that still fits."""
    found = []
    for test in tests:
        if covering.seconds[test] <= seconds:
            found.append(test)
            seconds -= covering.seconds[test]
    return found


class Trials:
    """Tries mutants of functions, as many at a time as there are jobs.

    ``outcomes``: what came of each; None for one that no test of this process meets. ``broken``:
    tests that noticed a mutant, and fail without any: what they noticed proves nothing.
    """

    def __init__(self, mutants: Sequence[Bug], jobs: int) -> None:
        self.outcomes: list[Outcome | None] = []
        self.broken: list[str] = []
        self._mutants = mutants
        self._jobs = jobs
        self.items: dict[str, pytest.Item] = {}
        self._failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        settings.load_profile("mutations")
        self.items = {item.nodeid: item for item in session.items}
        fork = get_context("fork")
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            _running.append(self)
            files = [Path(folder) / f"coverage-{job}" for job in range(self._jobs)]
            with fork.Pool(self._jobs) as pool:
                pool.starmap(_record, enumerate(files), chunksize=1)
            self._covering = read(files)
            self._functions = functions_of_the_library()
            with fork.Pool(self._jobs) as pool:
                self.outcomes.extend(pool.imap(_meet, self._mutants))
                self.broken = pool.apply(_unchanged, (self.outcomes,))
        return True

    def record(self, job: int, file: Path) -> None:
        """Run one of as many parts of the tests as there are jobs, and write what they cover."""
        modules = sorted({item.path for item in self.items.values()})[job :: self._jobs]
        record([item for item in self.items.values() if item.path in modules], file)

    def meet(self, mutant: Bug) -> Outcome | None:
        """Return which test notices a mutant, if any; None if no test runs its lines."""
        made = patch(mutant)
        if made is None:
            return None
        tests = self._covering.tests(mutant.file, made.lines, made.place[1])
        met = chosen(self._covering, tests, NEAREST[mutant.file])
        return Outcome(mutant.name, next(iter(self.failing(met, made)), None)) if met else None

    def failing(self, tests: Sequence[str], made: Patch | None = None) -> list[str]:
        """Run tests in a forked process; return the first that fails, or all without a patch."""
        if not tests:
            return []
        patience = PATIENCE if made else LONGEST_WAIT
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            return failures(partial(self._run, tests, made, folder), tests[0], patience)

    def _run(self, tests: Sequence[str], made: Patch | None, folder: str) -> int:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
        if made is not None:
            made.apply(self._functions)
        for test, following in zip_longest(tests, tests[1:]):
            item, after = self.items[test], self.items.get(following)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed and made is not None:
                break
        for test in self._failed:
            os.write(1, f"\nFAILED {test}\n".encode())
        return int(pytest.ExitCode.TESTS_FAILED if self._failed else pytest.ExitCode.OK)


_running: list[Trials] = []
"""What the forked processes know without being told."""


def _record(job: int, file: Path) -> None:
    _running[-1].record(job, file)


def _meet(mutant: Bug) -> Outcome | None:
    return _running[-1].meet(mutant)


def _unchanged(outcomes: Sequence[Outcome | None]) -> list[str]:
    """Return which of the tests that noticed something fail without a mutant, too."""
    caught = {each.caught_by for each in outcomes if each} - {None}
    return _running[-1].failing([test for test in _running[-1].items if test in caught])
