"""The checker is not blind: the histories of a library with a bug in it break a promise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.processes import environment
from tests.histories.plans import FEATURES, SUBSCRIPTIONS
from tests.mutations.bug import Bug
from tests.mutations.check import copy_repository, seeded

_SEEDS = "6"
"""Seeds that are tried before a bug counts as unnoticed."""

_CONFLICT = Bug(
    "conflict-taken-for-a-success",
    "A change of an ack state that lost its race is told as made.",
    "landed = commit_id in self._storage.read(uid).recent_commits",
    "landed = True",
    file="tables/ack_state/states.py",
)


@dataclass(frozen=True)
class Shown:
    """How a bug shows: in histories with these features and subscriptions, as this violation."""

    bug: Bug
    kind: str
    features: Sequence[str]
    subscriptions: Sequence[str]


SHOWN = [Shown(_CONFLICT, "double lease", (), ("once",))]
each_bug = pytest.mark.parametrize("shown", [pytest.param(s, id=s.bug.name) for s in SHOWN])


@each_bug
def test_a_bug_is_looked_for_where_it_can_show(shown: Shown) -> None:
    assert set(shown.features) <= set(FEATURES)
    assert set(shown.subscriptions) <= set(SUBSCRIPTIONS)
    assert shown.bug.of(shown.bug.path(Path(__file__).parents[2]).read_text(encoding="utf-8"))


@pytest.mark.trial
@pytest.mark.timeout(1800)
@each_bug
def test_a_bug_in_the_library_is_found(shown: Shown, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy_repository(copy)
    command = [sys.executable, "-m", "tests.histories.run", "--seed=1", f"--count={_SEEDS}"]
    command += ["--steps=25", f"--features={','.join(shown.features)}"]
    command += [f"--subscriptions={','.join(shown.subscriptions)}", f"--folder={tmp_path / 'h'}"]
    with seeded(shown.bug, copy):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=copy,
            env={**environment(), "PYTHONPATH": str(copy)},
            check=False,
        )
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{shown.kind}: " in done.stdout
