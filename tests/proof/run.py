"""Run the parts of the proof until the time is over, or until all counts are reached.

    python -m tests.proof.run --hours 1 [--jobs 1] [--ledger .proof.json] [--without-java]

Each part is run in a process of its own, the one that is furthest from its goal first. What was
done is kept after every run, so it may be ended at any time and goes on where it was. At the first
run that fails it ends with the exit code 1, its output, and the line that runs it again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from tests.proof.ledger import REPOSITORY, Ledger, digest_of_the_library
from tests.proof.parts import PARTS, Part

_SHOWN = 6_000
"""Characters of the output of a run that failed."""


@dataclass(frozen=True)
class Ran:
    """A run of a part, as it ended."""

    part: Part
    seed: int
    status: int
    output: str
    seconds: float


def start(part: Part, seed: int) -> Ran:
    """Run a part once with a seed."""
    began = time.monotonic()
    done = subprocess.run(
        part.command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, **part.environment(seed), "PYTHONPATH": str(REPOSITORY)},
        check=False,
    )
    return Ran(part, seed, done.returncode, done.stdout, time.monotonic() - began)


def prove(
    parts: Sequence[Part],
    ledger: Ledger,
    goes_on: Callable[[], bool],
    tell: Callable[[str], object],
    jobs: int = 1,
    run: Callable[[Part, int], Ran] = start,
) -> Ran | None:
    """Run parts while it goes on; return the run that failed, if one did."""
    failed: Ran | None = None
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[Ran], Part] = {}
        while True:
            while failed is None and len(running) < jobs and goes_on():
                part = _furthest(parts, ledger, list(running.values()))
                if part is None:
                    break
                running[pool.submit(run, part, ledger.of(part).next_seed)] = part
            if not running:
                return failed
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                del running[future]
                ran = future.result()
                counted = ran.part.counted(ran.output)
                if ran.status != 0 or not counted:
                    failed = failed or ran
                    continue
                next_seed = ran.part.next_seed(ran.seed, ran.output)
                ledger.note(ran.part, counted, next_seed, ran.seconds)
                tell(
                    f"{ran.part.name}: {counted:,} {ran.part.unit} from seed {ran.seed} on, "
                    f"{ran.seconds:.0f} s; {ledger.of(ran.part).done:,} of {ran.part.goal:,}\n"
                )


def _furthest(parts: Sequence[Part], ledger: Ledger, running: Sequence[Part]) -> Part | None:
    """Return the part that is furthest from its goal; none twice at a time."""
    open_ = [each for each in parts if ledger.of(each).done < each.goal and each not in running]
    return min(open_, key=lambda each: ledger.of(each).done / each.goal, default=None)


def main() -> int:
    """Prove as much as there is time for."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.run")
    parser.add_argument("--hours", type=float, default=1.0, help="how long at most")
    parser.add_argument("--jobs", type=int, default=1, help="how many parts at a time")
    parser.add_argument("--ledger", type=Path, default=REPOSITORY / ".proof.json")
    parser.add_argument("--seed", type=int, default=1, help="where each part begins")
    parser.add_argument("--only", action="append", help="the names of the parts to run")
    parser.add_argument("--without-java", action="store_true", help="leave out what needs Spark")
    asked = parser.parse_args()
    parts = [
        part for part in PARTS
        if (not asked.only or part.name in asked.only)
        and not (asked.without_java and part.needs_java)
    ]  # fmt: skip
    ledger = Ledger(asked.ledger, digest_of_the_library(), asked.seed)
    if ledger.began_anew:
        _tell(f"{asked.ledger} is of another version of the library: all counts begin anew\n")
    end = time.monotonic() + 3600 * asked.hours
    failed = prove(parts, ledger, lambda: time.monotonic() < end, _tell, asked.jobs)
    _tell("\n" + ledger.table(parts))
    if failed is None:
        return 0
    _tell(
        f"\n{failed.output[-_SHOWN:]}\n{failed.part.name} failed with the exit code "
        f"{failed.status}; again with\n    {failed.part.again(failed.seed)}\n"
    )
    return 1


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
