"""Workers: processes that work on a store, and how to kill them."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.acceptance.processes import environment

PATIENCE = 600.0
"""Seconds that a start or a plan may take on a slow machine."""


class Worker:
    """A ``tests.trials.worker`` in a process group of its own, its JVM included.

    ``within``: a command that starts other commands, and does something to them first. ``spark``:
    whether it works by a Spark of its own.
    """

    def __init__(
        self,
        directory: Path,
        module: str = "tests.trials.worker",
        within: Sequence[str] = (),
        *,
        spark: bool = False,
    ) -> None:
        self._log = (directory / "worker.log").open("a")
        self._process = subprocess.Popen(
            [*within, sys.executable, "-m", module, *(["spark"] if spark else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=directory,
            env=environment(),
            start_new_session=True,
        )
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def wait_until_ready(self) -> Worker:
        """Wait until it listens."""
        assert self.answer() == {"ready": True}, "the worker did not start: see worker.log"
        return self

    def tell(self, **plan: Any) -> None:
        """Give it something to do."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(plan) + "\n")
            self._process.stdin.flush()

    def answer(self, patience: float = PATIENCE) -> dict[str, Any] | None:
        """Return what it answers; None where it died instead."""
        return self._answers.get(timeout=patience)

    def has_answered(self) -> bool:
        """Tell whether an answer, or its death, has come."""
        return not self._answers.empty()

    def kill(self) -> None:
        """SIGKILL to Python and the JVM; return when both are gone."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        while _lives(self._process.pid):
            time.sleep(0.005)
        self._log.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._answers.put(json.loads(line))
        finally:
            self._answers.put(None)


def _lives(group: int) -> bool:
    """Tell whether a process of a group is left that is more than a zombie."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of_group = stat.read_text().rsplit(")", 1)[1].split()[:3]
            if int(of_group) == group and state != "Z":
                return True
    return False


STAGES: dict[str, re.Pattern[str]] = {
    "data": re.compile(r"(?!.*_delta_log).*\.parquet"),
    "temporary": re.compile(r".*_delta_log/.*\.json.*(\.tmp|#\d+)"),
    "commit": re.compile(r".*_delta_log/\d{20}\.json"),
    "checksum": re.compile(r".*_delta_log/\d{20}\.crc"),
    "checkpoint": re.compile(r".*_delta_log/\.?\d{20}\.checkpoint.*"),
    "last checkpoint": re.compile(r".*_delta_log/\.?_last_checkpoint.*"),
}
"""What appears under a table while Delta commits, in this order; checksums only by Spark."""


def files_of(table: Path) -> dict[str, int]:
    """Return the files under a table, each with when it was last written."""
    found: dict[str, int] = {}
    for folder, _, names in os.walk(table):
        for name in names:
            with suppress(OSError):
                path = os.path.join(folder, name)
                found[path] = os.stat(path).st_mtime_ns
    return found


def kill_at(worker: Worker, table: Path, stage: str) -> bool:
    """Kill a worker when a file of a stage, or of a later one, appears under a table.

    Tell whether one did. Some files are there for less than a millisecond.
    """
    before = files_of(table)
    wanted = list(STAGES.values())[list(STAGES).index(stage) :]
    return _kill_when(
        worker,
        lambda: any(
            before.get(name) != written and any(each.fullmatch(name) for each in wanted)
            for name, written in files_of(table).items()
        ),
    )


def kill_after(worker: Worker, seconds: float) -> bool:
    """Kill a worker some time from now, unless it is done by then; tell whether it was killed."""
    end = time.monotonic() + seconds
    return _kill_when(worker, lambda: time.monotonic() >= end)


def _kill_when(worker: Worker, has_come: Callable[[], bool]) -> bool:
    while not has_come():
        if worker.has_answered() and not has_come():
            return False
        time.sleep(0.0001)
    worker.kill()
    return True
