"""A smaller plan that fails as well: processes, threads, what the nemesis does, and steps go.

What processes do at the same time is not the same twice, so each smaller plan is run a few times.
It is taken where a violation of the same kind comes again.
"""

from __future__ import annotations

import copy
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tests.histories.plans import Plan

if TYPE_CHECKING:
    from tests.histories.run import Outcome

TRIES = 3
"""How often a smaller plan is run before it counts as one that does not fail."""
_LEAST = 2
"""Steps of a thread, at least."""


def smaller(outcome: Outcome, most_runs: int = 60) -> Outcome:
    """Return a failing history of a plan that is as small as so many runs could make it."""
    from tests.histories.run import run

    kind, runs = outcome.found[0].kind, 0

    def fails(plan: Plan) -> Outcome | None:
        nonlocal runs
        for _ in range(TRIES):
            runs += 1
            folder = outcome.folder.parent / f"{outcome.folder.name}-{runs}"
            found = run(plan, folder)
            if any(each.kind == kind for each in found.found):
                return found
            shutil.rmtree(folder)
        return None

    return shrink(outcome, candidates, fails, lambda: runs < most_runs)


def shrink(
    failing: Outcome,
    candidates_: Callable[[Plan], Iterator[Plan]],
    fails: Callable[[Plan], Outcome | None],
    goes_on: Callable[[], bool],
) -> Outcome:
    """Take the first smaller plan that fails, and begin again with it, until none does."""
    again = True
    while again:
        again = False
        for plan in candidates_(failing.plan):
            if not goes_on():
                return failing
            found = fails(plan)
            if found is not None:
                failing, again = found, True
                sys.stdout.write(f"smaller: {size(plan)} steps\n")
                break
    return failing


def size(plan: Plan) -> int:
    """Return how many steps a plan has."""
    threads = [thread for each in plan["processes"].values() for thread in each["threads"]]
    return sum(map(len, threads)) + len(plan["nemesis"])


def candidates(plan: Plan) -> Iterator[Plan]:
    """Return smaller plans: without a process, without a kind of step, or without half of them."""
    return (each for each in _reduced(plan) if size(each) < size(plan))


def _reduced(plan: Plan) -> Iterator[Plan]:
    if len(plan["processes"]) > 1:
        for name in plan["processes"]:
            yield _without_process(plan, name)
    if plan["nemesis"]:
        yield {**plan, "nemesis": []}
    for name, each in plan["processes"].items():
        for number in range(len(each["threads"])):
            if len(each["threads"]) > 1:
                smaller_ = copy.deepcopy(plan)
                del smaller_["processes"][name]["threads"][number]
                yield smaller_
    for kind in sorted({str(step["op"]) for step in _steps(plan)}):
        yield _without_steps(plan, "op", kind)
    for name in sorted(plan["world"]["subscriptions"]):
        yield _without_steps(plan, "subscription", name)
    for half in (0, 1):
        yield _halved(plan, half)


def _steps(plan: Plan) -> Iterator[dict[str, object]]:
    for each in plan["processes"].values():
        for thread in each["threads"]:
            yield from thread


def _without_process(plan: Plan, name: str) -> Plan:
    smaller_ = copy.deepcopy(plan)
    del smaller_["processes"][name]
    smaller_["nemesis"] = [each for each in plan["nemesis"] if each.get("process") != name]
    return smaller_


def _without_steps(plan: Plan, field: str, value: str) -> Plan:
    smaller_ = copy.deepcopy(plan)
    for each in smaller_["processes"].values():
        each["threads"] = [
            [step for step in thread if step.get(field) != value] for thread in each["threads"]
        ]
    return smaller_


def _halved(plan: Plan, half: int) -> Plan:
    smaller_ = copy.deepcopy(plan)
    for each in smaller_["processes"].values():
        for number, thread in enumerate(each["threads"]):
            middle = len(thread) // 2
            if middle >= _LEAST:
                each["threads"][number] = thread[middle:] if half else thread[:middle]
    return smaller_
