"""Run histories of seeds, or of a kept plan, and print what is wrong with them.

    python -m tests.histories.run --seed 1 --count 10 [--steps 40] [--shrink]
    python -m tests.histories.run --plan failed/plan.json

The exit code is 1 after the first seed whose history breaks a promise; its folder is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.histories import plans
from tests.histories.checker import kinds, violations
from tests.histories.nemesis import Run, on_a_small_disk
from tests.histories.plans import Plan
from tests.histories.records import History, Violation
from tests.histories.telling import told
from tests.storages.servers import Storage

_SHOWN = 3
"""Violations that are printed of one history."""


@dataclass(frozen=True)
class Outcome:
    """A history that was run, and what is wrong with it."""

    plan: Plan
    folder: Path
    history: History
    found: tuple[Violation, ...]

    @property
    def counts(self) -> Counter[str]:
        """What happened in it."""
        counted = Counter(op.kind for op in self.history.ops)
        counted.update(each["event"] for each in self.history.events)
        counted["operations"] = len(self.history.ops)
        counted["in doubt"] = sum(op.may and not op.sure for op in self.history.ops)
        counted["deliveries"] = len(self.history.deliveries)
        return counted

    def told(self) -> str:
        """Return what is wrong, as people read it, and how to run it again."""
        parts = [told(self.history, each) for each in self.found[:_SHOWN]]
        rest = kinds(self.found[_SHOWN:])
        if rest:
            parts.append(f"and {sum(rest.values())} more: {dict(rest)}")
        again = f"python -m tests.histories.run --plan {self.folder / 'plan.json'}"
        return "\n\n".join([*parts, f"again: {again}"])


def run(plan: Plan, folder: Path, storage: Storage | None = None) -> Outcome:
    """Run a plan in a folder of its own, or on an object store, and check its history."""
    folder.mkdir(parents=True, exist_ok=True)
    if storage is not None:
        root = f"{storage.root}/{uuid.uuid4().hex}"
        Run(plan, folder, root, storage.environment, storage.proxy).run()
    elif plan["world"]["disk"]:
        on_a_small_disk(plan, folder)
    else:
        Run(plan, folder).run()
        shutil.rmtree(folder / "disk")
    history = History.read(folder)
    return Outcome(plan, folder, history, tuple(violations(history)))


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories.run")
    first = int(os.environ.get("SEED") or time.time())
    parser.add_argument("--seed", type=int, default=first, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many seeds")
    parser.add_argument("--steps", type=int, default=40, help="steps of each thread")
    parser.add_argument("--features", type=_list, help="these, and not those of the seed")
    parser.add_argument("--subscriptions", type=_list, default=(), help="these, likewise")
    parser.add_argument("--spark", action="store_true", help="one process works by Spark")
    parser.add_argument("--plan", type=Path, help="a plan that was kept, in place of a seed")
    parser.add_argument("--folder", type=Path, help="where histories are kept")
    parser.add_argument("--shrink", action="store_true", help="look for a smaller plan that fails")
    parser.add_argument("--go-on", action="store_true", help="do not end at the first violation")
    asked = parser.parse_args()
    base = asked.folder or Path(tempfile.mkdtemp(prefix="histories-"))
    failed = 0
    for seed in range(asked.seed, asked.seed + asked.count):
        plan = plans.draw(
            seed,
            steps=asked.steps,
            features=asked.features,
            subscriptions=asked.subscriptions,
            spark=asked.spark,
        )
        if asked.plan:
            plan = json.loads(asked.plan.read_text(encoding="utf-8"))
        folder = Path(tempfile.mkdtemp(prefix=f"{plan['seed']}-", dir=_made(base)))
        began = time.monotonic()
        outcome = run(plan, folder)
        counts, took = outcome.counts, time.monotonic() - began
        sys.stdout.write(
            f"seed {plan['seed']}: {counts['operations']} operations, {counts['in doubt']} in "
            f"doubt, {counts['deliveries']} deliveries, {counts['kill']} kills, {took:.0f} s, "
            f"{' '.join(plan['world']['features'])}: "
            f"{dict(kinds(outcome.found)) or 'nothing wrong'}\n"
        )
        sys.stdout.flush()
        if not outcome.found:
            shutil.rmtree(folder)
            continue
        failed += 1
        sys.stdout.write(outcome.told() + "\n")
        if asked.shrink:
            from tests.histories.shrinking import smaller

            sys.stdout.write(smaller(outcome).told() + "\n")
        if not asked.go_on:
            return 1
    return 1 if failed else 0


def _list(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def _made(base: Path) -> Path:
    base.mkdir(parents=True, exist_ok=True)
    return base


if __name__ == "__main__":
    sys.exit(main())
