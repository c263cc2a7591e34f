"""Histories of several processes: plans of seeds, run and checked.

``SEED=17 HISTORIES=5 pytest -m trial tests/histories`` runs those of so many seeds. A failing
history tells its seed, and where its plan is kept.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.histories import plans
from tests.histories.run import run
from tests.histories.shrinking import candidates, shrink, size

SEED = int(os.environ.get("SEED") or time.time())
HISTORIES = int(os.environ.get("HISTORIES", "2"))


def test_a_seed_draws_the_same_plan() -> None:
    assert plans.draw(17) == plans.draw(17) != plans.draw(18)


def test_every_feature_is_drawn() -> None:
    drawn = [plans.draw(seed)["world"]["features"] for seed in range(60)]
    assert {each for features in drawn for each in features} == set(plans.FEATURES)


def test_a_failing_plan_is_made_smaller() -> None:
    def fails(plan: plans.Plan) -> plans.Plan | None:
        steps = [step for each in plan["processes"].values() for t in each["threads"] for step in t]
        return plan if any(step["op"] == "nack" for step in steps) else None

    class Failed:
        def __init__(self, plan: plans.Plan) -> None:
            self.plan = plan

    found = shrink(
        Failed(plans.draw(3)),  # type: ignore[arg-type]
        candidates,
        lambda plan: Failed(plan) if fails(plan) else None,  # type: ignore[arg-type,return-value]
        lambda: True,
    )
    assert size(found.plan) <= 3


@pytest.mark.trial
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(SEED, SEED + HISTORIES))
def test_what_several_processes_saw_breaks_no_promise(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(plans.draw(seed), tmp_path / "history")
    counts = outcome.counts
    with capsys.disabled():
        sys.stdout.write(
            f"\nhistory of seed {seed}: {counts['operations']} operations, "
            f"{counts['deliveries']} deliveries, {counts['kill']} kills\n"
        )
    assert not outcome.found, outcome.told()
    assert counts["deliveries"]
