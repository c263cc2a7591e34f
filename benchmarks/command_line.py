"""How long every command of the reference takes: a process each, on a store on a local disk.

``python -m benchmarks.command_line`` prints a table. Each command runs several times, the first
time not counted. On a quiet machine it takes little more than its user and system time; where
others are busy that alone says how slow it is, and it is what is held against the limit.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

AT_ONCE, SOON, NAMES = 0.2, 1.0, 0.3
"""Seconds that help and completion, commands, and the completion of names may take."""

TYPED = {
    "avro": '{"type":"record","name":"State","fields":[{"name":"name","type":"string"}]}',
    "message": '{"name":"Utah"}',
}
"""A schema and a message that fits it, without a blank."""
BEFORE = (
    "topics create flights failed",
    "subscriptions create delays other --topic=flights",
    "topics publish flights --message=late",
    "snapshots create before --subscription=delays",
    f"schemas create states --type=avro --definition={TYPED['avro']}",
)
"""What the store has before anything is measured."""

COMMANDS = {
    "topics create": "topics create made{n}",
    "topics update": "topics update flights --update-labels=run=r{n}",
    "topics describe": "topics describe flights",
    "topics list": "topics list",
    "topics publish": "topics publish flights --message=late",
    "topics list-subscriptions": "topics list-subscriptions flights",
    "topics list-snapshots": "topics list-snapshots flights",
    "topics metrics": "topics metrics flights",
    "topics history": "topics history flights",
    "topics add-iam-policy-binding": "topics add-iam-policy-binding flights --member=m "
    "--role=roles/pubsub.publisher",
    "subscriptions create": "subscriptions create made{n} --topic=flights",
    "subscriptions update": "subscriptions update other --ack-deadline={m}",
    "subscriptions modify-push-config": "subscriptions modify-push-config other --push-endpoint=",
    "subscriptions describe": "subscriptions describe delays",
    "subscriptions list": "subscriptions list",
    "subscriptions pull": "subscriptions pull delays --auto-ack",
    "subscriptions ack": "subscriptions ack delays --ack-ids={id}",
    "subscriptions modify-message-ack-deadline": "subscriptions modify-message-ack-deadline "
    "delays --ack-ids={id} --ack-deadline=20",
    "subscriptions backlog": "subscriptions backlog delays",
    "subscriptions metrics": "subscriptions metrics delays",
    "subscriptions seek": "subscriptions seek delays --time=-p1d",
    "subscriptions watch": "subscriptions watch delays --count=1",
    "subscriptions add-iam-policy-binding": "subscriptions add-iam-policy-binding delays "
    "--member=m --role=roles/pubsub.subscriber",
    "snapshots create": "snapshots create made{n} --subscription=delays",
    "snapshots update": "snapshots update before --update-labels=run=r{n}",
    "snapshots describe": "snapshots describe before",
    "snapshots list": "snapshots list",
    "snapshots metrics": "snapshots metrics before",
    "snapshots delete": "snapshots delete made{n} --quiet",
    "schemas create": "schemas create made{n} --type=avro --definition={avro}",
    "schemas validate-schema": "schemas validate-schema --type=avro --definition={avro}",
    "schemas validate-message": "schemas validate-message --schema-name=states "
    "--message-encoding=json --message={message}",
    "schemas describe": "schemas describe states",
    "schemas list": "schemas list",
    "schemas list-revisions": "schemas list-revisions states",
    "schemas commit": "schemas commit states --type=avro --definition={avro}",
    "schemas rollback": "schemas rollback states --revision-id={revision}",
    "schemas delete-revision": "schemas delete-revision states@{revision} --quiet",
    "schemas delete": "schemas delete made{n} --quiet",
    "topics detach-subscription": "topics detach-subscription made{n}",
    "subscriptions delete": "subscriptions delete made{n} --quiet",
    "topics delete": "topics delete made{n} --quiet",
    "maintain": "maintain",
    "doctor": "doctor",
    "demo": "demo ./demo{n}",
    "completion": "completion zsh",
}
"""A command line for every command that ends by itself."""

RUN_ON = ("serve", "console", "shell")
"""Commands that run until they are ended."""

ANSWERS = {
    "--version": "--version",
    "--help": "--help",
    "topics --help": "topics --help",
    "subscriptions create --help": "subscriptions create --help",
}
COMPLETIONS = {
    "completion of a command": ("pubsub-delta subscriptions pu", AT_ONCE),
    "completion of a name": ("pubsub-delta subscriptions pull del", NAMES),
}


@dataclass(frozen=True)
class Timed:
    """How long a command took, and how long it may take."""

    name: str
    wall: list[float]
    processor: list[float]
    most: float

    @property
    def is_slow(self) -> bool:
        """Whether its own work took longer than it may, at its quickest."""
        return min(self.processor) > self.most

    def row(self) -> str:
        cells = (
            f"`{self.name}`",
            f"{min(self.wall):.2f} s",
            f"{median(self.wall):.2f} s",
            f"{min(self.processor):.2f} s",
            f"{self.most:g} s{' **slow**' if self.is_slow else ''}",
        )
        return f"| {' | '.join(cells)} |"


class Commands:
    """Runs command lines on one store, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PUBSUB_DELTA_")}
        home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
        self._environment = {**kept, **home, "PUBSUB_DELTA_ROOT": str(folder / "store")}

    def run(self, line: str, **variables: str) -> tuple[str, float, float]:
        """Run a line; return what it prints, and its seconds by the wall and by the processor."""
        code = "from pubsub_delta.cli.main import main; main()"
        before, begun = _processor(), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code, *line.split()],
            capture_output=True,
            text=True,
            cwd=self._folder,
            env={**self._environment, **variables},
            check=False,
        )
        wall = time.perf_counter() - begun
        if done.returncode:
            raise RuntimeError(f"{line}: {done.stderr}")
        return done.stdout, wall, _processor() - before

    def timed(self, name: str, line: str, runs: int, most: float, **variables: str) -> Timed:
        """Run a line so many times after a first one that is not counted."""
        wall, processor = [], []
        for n in range(runs + 1):
            needed = self._leased() if "{id}" in line else ""
            revision = self._committed() if "{revision}" in line else ""
            whole = line.format(n=n, m=20 + n, id=needed, revision=revision, **TYPED)
            if name.startswith("subscriptions pull"):
                self.run("topics publish flights --message=late")
            _, seconds, used = self.run(whole, **variables)
            wall.append(seconds)
            processor.append(used)
        return Timed(name, wall[1:], processor[1:], most)

    def _committed(self) -> str:
        made = f"schemas commit states --type=avro --definition={TYPED['avro']}"
        return self.run(f"{made} --format=value(revisionId)")[0].strip()

    def _leased(self) -> str:
        self.run("topics publish flights --message=late")
        return self.run("subscriptions pull delays --format=value(ackId)")[0].strip()


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(runs: int) -> Iterator[Timed]:
    """Time every command, help and completion on a new store."""
    folder = Path(tempfile.mkdtemp())
    try:
        commands = Commands(folder)
        for line in BEFORE:
            commands.run(line)
        for name, line in ANSWERS.items():
            yield commands.timed(name, line, runs, AT_ONCE)
        time.sleep(2.5)  # names are kept of a store that nobody has changed just now
        for name, (words, most) in COMPLETIONS.items():
            asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
            asked["_PUBSUB_DELTA_COMPLETE"] = "bash_complete"
            yield commands.timed(name, "", runs, most, **asked)
        for name, line in COMMANDS.items():
            yield commands.timed(name, line, runs, 5.0 if name == "demo" else SOON)
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    print("| command | quickest | median | processor | may take |\n|---|---|---|---|---|")
    for each in measured(asked.runs):
        print(each.row(), flush=True)


if __name__ == "__main__":
    main()
