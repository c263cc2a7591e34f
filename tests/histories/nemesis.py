"""The nemesis: runs the processes of a plan, and kills, stops and starves them as it says."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.acceptance.processes import environment
from tests.histories.plans import Plan
from tests.storages.proxy import Fault, Proxied

PATIENCE = 300.0
"""Seconds that processes may take to start, or to end once nothing is done to them any more."""
_LEASES = 90.0
"""Seconds after which the leases of all steps are over."""
_ALONE = ["unshare", "--mount", "--map-root-user", "--user"]
_DISK = 'mount -t tmpfs -o size=48m tmpfs "$0" && exec "$@"'


class Child:
    """A process of a plan, in a process group of its own."""

    def __init__(
        self, folder: Path, name: str, number: int, extra: Mapping[str, str] | None = None
    ) -> None:
        self.id = f"{name}.{number}"
        self.name, self.number = name, number
        self._log = (folder / "worker.log").open("a")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.histories.worker", str(folder), name, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=folder,
            env={**environment(), **(extra or {})},
            start_new_session=True,
        )
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def wait_until(self, word: str) -> bool:
        """Wait until it says a word; False where it ended instead, or says nothing."""
        with suppress(queue.Empty):
            return self._said.get(timeout=PATIENCE) == word
        return False

    def go(self) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write("go\n")
            self._process.stdin.flush()

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """SIGKILL; return when it is gone."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line.strip())
        self._said.put("")


class Run:
    """One run of a plan in a folder: its journals, the log of its processes, and its store.

    ``root``: where the store is, if not in the folder. ``storage``: what processes need of an
    object store, as environment variables. ``proxy``: what its requests pass, and may fail at.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        root: str = "",
        storage: Mapping[str, str] | None = None,
        proxy: Proxied | None = None,
    ) -> None:
        self.plan, self.folder = plan, folder
        self._disk = folder / "disk"
        self._root = root or str(self._disk / "store")
        self._storage, self._proxy = storage, proxy
        self._children: dict[str, Child] = {}
        self._events = folder / "nemesis.jsonl"

    def run(self) -> None:
        """Let all processes take their steps, and the drain see what is left."""
        self._disk.mkdir(parents=True, exist_ok=True)
        self._events.touch()
        (self.folder / "plan.json").write_text(json.dumps(self.plan), encoding="utf-8")
        origin = time.time()
        running = {"root": self._root, "origin": origin, "setup": _first(self.plan)}
        self._tell(running)
        try:
            self._alone("setup")
            self._children = {name: self._start(name, 0) for name in self.plan["processes"]}
            for child in self._children.values():
                child.go()
            self._torment()
            self._finish()
            passed = (time.time() - origin) * self.plan["speed"]
            offsets = [each["offset"] for each in self.plan["processes"].values()]
            late = passed + max(offsets) + _LEASES
            drain = {"origin": time.time(), "speed": 1.0, "offset": late}
            self._tell({**running, "drain": drain})
            self._alone("drain")
        finally:
            for child in self._children.values():
                child.kill()

    def _tell(self, running: Mapping[str, Any]) -> None:
        (self.folder / "running.json").write_text(json.dumps(running), encoding="utf-8")

    def _start(self, name: str, number: int) -> Child:
        child = Child(self.folder, name, number, self._storage)
        assert child.wait_until("ready"), f"{child.id} did not start: see {self.folder}/worker.log"
        return child

    def _alone(self, name: str) -> None:
        child = self._start(name, 0)
        child.go()
        ended = child.wait_until("done")
        child.kill()
        assert ended, f"the {name} did not end: see {self.folder}/worker.log"

    def _torment(self) -> None:
        """Do what the nemesis does, each thing at its time."""
        start = time.monotonic()
        for each in self.plan["nemesis"]:
            time.sleep(max(0.0, start + each["at"] - time.monotonic()))
            getattr(self, f"_{each['do']}")(each)

    def _note(self, event: str, process: str = "") -> None:
        entry = {"event": event, "process": process, "at": time.monotonic_ns()}
        with self._events.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _kill(self, event: Mapping[str, Any]) -> None:
        name = event["process"]
        child = self._children[name]
        if not child.lives:
            return
        child.kill()
        self._note("kill", child.id)
        self._children[name] = self._start(name, child.number + 1)
        self._children[name].go()

    def _stop(self, event: Mapping[str, Any]) -> None:
        name = event["process"]
        self._note("stop", self._children[name].id)
        self._children[name].signal(signal.SIGSTOP)

    def _continue(self, event: Mapping[str, Any]) -> None:
        name = event["process"]
        self._children[name].signal(signal.SIGCONT)
        self._note("continue", self._children[name].id)

    def _fill(self, _: Mapping[str, Any]) -> None:
        """Leave no byte free on the disk of the store."""
        self._note("fill")
        with suppress(OSError), (self._disk / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        with suppress(OSError), (self._disk / "filler").open("ab", buffering=0) as file:
            while True:
                file.write(bytes(1 << 9))

    def _free(self, _: Mapping[str, Any]) -> None:
        (self._disk / "filler").unlink(missing_ok=True)
        self._note("free")

    def _fault(self, event: Mapping[str, Any]) -> None:
        """Let requests to the object store fail, or be slow."""
        assert self._proxy is not None
        self._proxy.set(Fault(**event["fault"]), delay=event["delay"])
        self._note(f"fault {event['fault']['action']}")

    def _finish(self) -> None:
        """Wait until all have taken their steps; whoever does not end is killed, and told of."""
        end = time.monotonic() + PATIENCE
        for child in self._children.values():
            child.signal(signal.SIGCONT)
        self._free({})
        if self._proxy is not None:
            self._proxy.set()
        while time.monotonic() < end and any(c.lives for c in self._children.values()):
            time.sleep(0.05)
        for child in self._children.values():
            if child.lives:
                child.kill()
                self._note("kill", child.id)
                self._note("hung", child.id)


def _first(plan: Plan) -> dict[str, Any]:
    """Return the clock of whoever creates what the plan is about: that of the slowest process."""
    offsets = [each["offset"] for each in plan["processes"].values()]
    return {"offset": min(offsets)}


def on_a_small_disk(plan: Plan, folder: Path) -> None:
    """Run a plan whose store stands on a small disk, in a mount namespace of its own."""
    disk = folder / "disk"
    disk.mkdir(parents=True, exist_ok=True)
    path = folder / "given.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    command = [*_ALONE, "/bin/sh", "-c", _DISK, str(disk)]
    command += [sys.executable, "-m", "tests.histories.nemesis", str(path), str(folder)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


if __name__ == "__main__":
    Run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])).run()
