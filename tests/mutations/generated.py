"""Try out mutants that a program makes, and list those that no test notices, for reading.

``python -m tests.mutations.generated [FILE ...] [--seed 1] [--count 100] [--rungs 2] [--jobs 1]
[--results FILE]``. Without files, mutants of ``policy/`` and of the book-keeping of server and
callbacks are drawn. A seed draws the same mutants of the same sources. ``--only`` tries those
whose names are given, after a test for one was written.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.bug import Bug
from tests.mutations.bugs import NEAREST
from tests.mutations.check import check
from tests.mutations.mutants import mutants

BOOK_KEEPING = (
    "callbacks.py",
    "server/ack_futures.py",
    "server/assigner.py",
    "server/dispatcher.py",
    "server/leaser.py",
    "server/memory.py",
    "server/lease_journals.py",
    "server/response_queue.py",
    "server/streams.py",
    "server/wire.py",
)
"""Who has which message, and what is written on the wire."""


def default_files() -> list[str]:
    """Return the files whose mutants are drawn where none is named."""
    return sorted({*(each for each in NEAREST if each.startswith("policy/")), *BOOK_KEEPING})


def drawn(files: Sequence[str], seed: int, count: int) -> list[Bug]:
    """Return mutants of some files by chance, each as likely as any other."""
    found = [mutant for file in files for mutant in mutants(file)]
    return random.Random(seed).sample(found, min(count, len(found)))


def main() -> int:
    """Try out what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.generated")
    parser.add_argument("files", nargs="*", metavar="FILE", help="below pubsub_delta/")
    parser.add_argument("--seed", type=int, default=1, help="what draws the mutants")
    parser.add_argument("--count", type=int, default=100, help="how many are drawn")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="try these of the files instead")
    parser.add_argument("--jobs", type=int, default=1, help="how many to try at a time")
    parser.add_argument("--results", type=Path, help="a file of JSON lines to add outcomes to")
    parser.add_argument("--rungs", type=int, default=2, help="how many sets of tests to try")
    asked = parser.parse_args()
    files = asked.files or default_files()
    if unknown := set(files) - NEAREST.keys():
        parser.error(f"tests/mutations/bugs/ names no tests of {', '.join(sorted(unknown))}")
    chosen = drawn(files, asked.seed, asked.count)
    if asked.only:
        chosen = [each for file in files for each in mutants(file) if each.name in asked.only]
    outcomes = check(chosen, asked.jobs, asked.results, asked.rungs)
    survivors = {each.name for each in outcomes if each.caught_by is None}
    for mutant in chosen:
        if mutant.name in survivors:
            sys.stdout.write(f"{mutant.name}: {mutant.says}\n")
    caught = len(outcomes) - len(survivors)
    sys.stdout.write(f"seed {asked.seed}: {caught} of {len(outcomes)} mutants are caught\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
