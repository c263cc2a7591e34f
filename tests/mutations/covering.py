"""Which tests run which lines of the library, and how long each of them takes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData

from tests.mutations.bug import LIBRARY, REPOSITORY


@dataclass(frozen=True)
class Covering:
    """``seconds``: how long each test took. ``lines``: the tests of each line, by file."""

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[int, Sequence[str]]]

    def tests(self, file: str, lines: range, function: int) -> set[str]:
        """Return the tests that run lines of a function, or else the nearest line above them.

        Python tells of a statement over several lines only where it begins something. No test runs
        what runs while the library is imported. ``function``: the line at which it begins.
        """
        of_file = self.lines.get(file, {})
        found = set[str]().union(*(of_file.get(line, ()) for line in lines))
        above = iter(range(lines.start - 1, function, -1))
        while not found and (line := next(above, None)) is not None:
            found.update(of_file.get(line, ()))
        return found - {""}


def record(items: Sequence[pytest.Item], file: Path) -> None:
    """Run tests, and write what they cover into a file, and their times into one beside it.

    The recording begins anew with each test: one that sets a trace function of its own ends it.
    """
    coverage = Coverage(data_file=file, source=[LIBRARY], config_file=False, messages=False)
    seconds = {}
    for item, following in zip_longest(items, items[1:]):
        coverage.start()
        coverage.switch_context(item.nodeid)
        began = time.perf_counter()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        seconds[item.nodeid] = time.perf_counter() - began
        coverage.stop()
    coverage.save()
    file.with_suffix(".json").write_text(json.dumps(seconds), encoding="utf-8")


def read(files: Iterable[Path]) -> Covering:
    """Return what was recorded in some files."""
    seconds: dict[str, float] = {}
    data = CoverageData(no_disk=True)
    for file in files:
        recorded = CoverageData(str(file))
        recorded.read()
        data.update(recorded)
        seconds |= json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    library = REPOSITORY / LIBRARY
    lines = {
        Path(path).relative_to(library).as_posix(): data.contexts_by_lineno(path)
        for path in data.measured_files()
    }
    return Covering(seconds, lines)
