"""What came of seeded bugs: kept as JSON lines, and shown as a table.

``python -m tests.mutations.report FILE`` prints the table of ``docs/mutations.md``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutations.bug import Bug
from tests.mutations.bugs import BUGS


@dataclass(frozen=True)
class Outcome:
    """Which test noticed a bug; None if it survived."""

    name: str
    caught_by: str | None


def add_result(path: Path, outcome: Outcome) -> None:
    """Add an outcome to a file of results."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


def read_results(path: Path) -> dict[str, Outcome]:
    """Return the last outcome of each bug in a file of results."""
    lines = path.read_text(encoding="utf-8").splitlines()
    outcomes = (Outcome(**json.loads(line)) for line in lines)
    return {outcome.name: outcome for outcome in outcomes}


def table(outcomes: Mapping[str, Outcome], bugs: Sequence[Bug] = BUGS) -> Iterator[str]:
    """Return the lines of a table in Markdown: each bug, where it is, and what noticed it."""
    yield "| bug | module | caught by |"
    yield "|---|---|---|"
    for bug in bugs:
        outcome = outcomes.get(bug.name)
        test = "not tried" if outcome is None else _shown(outcome.caught_by)
        yield f"| {bug.says} | `{bug.file}` | {test} |"


def _shown(test: str | None) -> str:
    if test is None:
        return "**survived**"
    path, _, name = test.partition("::")
    return f"`{name}` in `{path}`" if name else f"`{path}`"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table(read_results(Path(sys.argv[1]))))
