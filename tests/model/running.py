"""How the machine is run: for how many steps, from which seeds, and what it must have met."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.drivers import Driver
from tests.model.machine import StoreMachine

FIRST_SEED = int(os.environ.get("SEED", "1"))
"""The seed with which a trial begins."""

MUST_HAPPEN = (
    "delivered",
    "success",
    "expired",
    "invalid",
    "late commits",
    "seeks to times",
    "seeks to snapshots",
    "discarded by the job",
    "NOT_FOUND",
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
)
"""What must have come about in a few thousand steps, or they would prove nothing."""
RARE = ("dead letters", "deleted by the job", "ALREADY_EXISTS")
"""What must have come about in a trial."""


def settings_of(runs: int, steps: int = 50, **other: object) -> settings:
    """Return settings for so many runs of so many steps, however slow they are."""
    return settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        **other,  # type: ignore[arg-type]
    )


def machine_on(driver_: Callable[[], Driver], seen_: Counter[str]) -> type[StoreMachine]:
    """Return the machine for a kind of store; ``seen_`` counts what happens."""

    class Machine(StoreMachine):
        driver = staticmethod(driver_)
        seen = seen_

    return Machine


def run_seeds(
    driver: Callable[[], Driver], steps: int, each: settings, must_happen: Sequence[str] = ()
) -> tuple[Counter[str], str]:
    """Run one seed after another for so many steps; return what happened, and a line on it.

    Where something that must happen has not by then, it goes on for up to ten times as many steps.
    A failure tells the seed with which it comes again.
    """
    seen: Counter[str] = Counter()
    for number in count(FIRST_SEED):
        try:
            run_state_machine_as_test(seed(number)(machine_on(driver, seen)), settings=each)
        except Exception as error:
            raise AssertionError(
                f"after {seen['steps']:,} steps; again with SEED={number}"
            ) from error
        if seen["steps"] >= (10 * steps if missed(seen, must_happen) else steps):
            break
    counted = ", ".join(f"{what}: {times:,}" for what, times in sorted(seen.items()))
    return seen, f"\n{seen['steps']:,} steps with the seeds {FIRST_SEED} to {number} ({counted})\n"


def missed(seen: Counter[str], must_happen: Sequence[str]) -> list[str]:
    """Return what did not happen though it must."""
    return [what for what in must_happen if not seen[what]]
