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
"""The first seed. Tests are named by their number: each worker of pytest-xdist reads the time."""
HISTORIES = int(os.environ.get("HISTORIES", "2"))


def test_a_seed_draws_the_same_plan() -> None:
    assert plans.draw(17) == plans.draw(17) != plans.draw(18)


def test_every_feature_is_drawn() -> None:
    drawn = [plans.draw(seed)["world"]["features"] for seed in range(60)]
    assert {each for features in drawn for each in features} == set(plans.FEATURES)


def test_one_process_works_by_spark_and_the_others_take_their_time_beside_it() -> None:
    plan, plain = (
        plans.draw(17, features=("kills",), spark=by_spark) for by_spark in (True, False)
    )
    lanes = [each.get("lane", "direct") for each in plan["processes"].values()]
    assert lanes == ["spark", *["direct"] * (len(lanes) - 1)]
    assert plan["nemesis"][-1]["at"] > plain["nemesis"][-1]["at"]


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
@pytest.mark.parametrize("number", range(HISTORIES))
def test_what_several_processes_saw_breaks_no_promise(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _check(plans.draw(SEED + number), tmp_path, capsys)


@pytest.mark.trial
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", range((HISTORIES + 3) // 4))
def test_what_processes_of_both_lanes_saw_breaks_no_promise(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _check(plans.draw(SEED + number, spark=True), tmp_path, capsys)


def _check(plan: plans.Plan, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a plan, and check its history."""
    outcome = run(plan, folder / "history")
    counts = outcome.counts
    with capsys.disabled():
        sys.stdout.write(
            f"\nhistory of seed {plan['seed']}: {counts['operations']} operations, "
            f"{counts['deliveries']} deliveries, {counts['kill']} kills\n"
        )
    assert not outcome.found, outcome.told()
    assert counts["deliveries"]
