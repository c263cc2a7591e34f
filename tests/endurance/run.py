"""Keep a store busy for hours, kill and start again what works on it, and tell what grows.

    python -m tests.endurance.run --hours 1 [--rate 20] [--folder soak]

Two processes work by the library and two servers are worked on by Google's client. One process and
one server are never killed: it is their memory that is judged. The others are killed by turns. At
the end everything that was confirmed must have come. The exit code is 1 where something is lost,
and 2 where something grows after the first third of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.acceptance.processes import environment
from tests.acceptance.serving import ServerProcess
from tests.endurance import google, library, picture
from tests.endurance.series import Verdict, judge, percentiles, table
from tests.journal import entries

SAMPLE = 10.0
"""Seconds between two looks at memory and files."""
KILL = 60.0
"""Seconds between two kills."""
DRAIN = 180.0


class Process:
    """A process that works until its standard input ends, and can be killed and started again."""

    def __init__(self, folder: Path, module: str, name: str, *arguments: str) -> None:
        self._folder, self._module, self._name = folder, module, name
        self._arguments = arguments
        self._started = 0
        self.start()

    def start(self) -> None:
        name = f"{self._name}@{self._started}"
        self._started += 1
        command = [sys.executable, "-m", f"tests.endurance.{self._module}"]
        places = {"FOLDER": str(self._folder), "NAME": name}
        command += [places.get(each, each) for each in self._arguments]
        with (self._folder / f"{self._name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment(),
                cwd=self._folder,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        assert self._process.poll() is None, f"{self._name} has ended by itself: see its log"
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        status = self._process.wait(120)
        assert status == 0, f"{self._name} ended with {status}: see its log"


class Server(ServerProcess):
    """A server that tells its process id."""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


class Soak:
    """A run of so many hours, in a folder."""

    def __init__(self, folder: Path, hours: float, rate: float) -> None:
        self._folder, self._hours, self._rate = folder, hours, rate
        self._root = folder / "store"
        self._samples: list[dict[str, float]] = []
        self._kills: list[float] = []
        self._began = 0.0

    def run(self) -> int:
        """Let all work, and tell what was seen; return the exit code."""
        library.prepare(str(self._root))
        servers = [Server(self._root, directory=self._folder) for _ in range(2)]
        try:
            for server in servers:
                server.start()
            self._work(servers)
        finally:
            for server in servers:
                server.stop()
        lost = self._lost()
        told = self._told()
        (self._folder / "soak.json").write_text(json.dumps(told), encoding="utf-8")
        picture.write(self._folder)
        verdicts = [Verdict(**each) for each in told["verdicts"]]
        report = f"{told['conditions']}\n\n{table(verdicts)}\n{_told_of(lost)}\n"
        (self._folder / "soak.md").write_text(report, encoding="utf-8")
        sys.stdout.write(f"{report}\nin {self._folder}: soak.md, soak.json, soak-light.svg\n")
        if any(lost.values()):
            return 1
        return 0 if all(each.flat for each in verdicts) else 2

    def _work(self, servers: list[Server]) -> None:
        """Let all processes work until the time is over."""
        _create_served(servers[0])
        rate, addresses = f"{self._rate / 2}", [each.address for each in servers]
        shared, root = ("FOLDER", "NAME", rate), str(self._root)
        steady = Process(self._folder, "library", "steady", root, *shared, "upkeep")
        victim = Process(self._folder, "library", "victim", root, *shared)
        clients = [
            Process(self._folder, "google", "client", *shared, *addresses),
            Process(self._folder, "google", "other", *shared, *reversed(addresses)),
        ]
        self._began = time.time()
        self._watch(steady, victim, servers)
        for process in (*clients, victim, steady):
            process.end()

    def _watch(self, steady: Process, victim: Process, servers: list[Server]) -> None:
        """Measure every few seconds, and kill by turns what may be killed."""
        end, due, turn = self._began + 3600 * self._hours, self._began + KILL, 0
        while time.time() < end:
            self._samples.append(
                {
                    "at": self._hour(),
                    "library": _memory(steady.pid),
                    "server": _memory(servers[0].pid),
                    **_files(self._root),
                }
            )
            if time.time() >= due and time.time() < end - KILL / 2:
                self._kills.append(self._hour())
                if turn % 2:
                    servers[1].kill()
                    servers[1].start()
                else:
                    victim.kill()
                    victim.start()
                turn, due = turn + 1, due + KILL
            time.sleep(SAMPLE)

    def _hour(self) -> float:
        return (time.time() - self._began) / 3600

    def _lost(self) -> dict[str, int]:
        """Drain what is left, and count what was confirmed and never came.

        What a killed process was acknowledging when it died may have come.
        """
        published: dict[str, set[str]] = defaultdict(set)
        came: dict[str, set[str]] = defaultdict(set)
        for path in self._folder.glob("victim@*.jsonl"):
            came[library.SUBSCRIPTION].update(library.in_doubt(entries(path)))
        for name, entry in self._entries():
            of = "served" if name in ("client", "other") else library.SUBSCRIPTION
            published[of].update(entry.get("published", ()))
            came[of].update(entry.get("acked", ()))
        lost = {}
        for subscription, texts in published.items():
            left = library.drain(str(self._root), subscription, DRAIN)
            lost[f"{subscription}, of {len(texts):,} confirmed"] = len(
                texts - came[subscription] - left
            )
        return lost

    def _entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return what all processes wrote, each with the name of the process."""
        for path in sorted(self._folder.glob("*.jsonl")):
            yield from ((path.stem.split("@")[0], entry) for entry in entries(path))

    def _told(self) -> dict[str, Any]:
        latencies: dict[str, list[tuple[float, float]]] = defaultdict(list)
        problems: dict[str, int] = defaultdict(int)
        for _, entry in self._entries():
            since = entry.get("at", 0.0) - self._began
            if "op" in entry and 0 <= since < 3600 * self._hours:
                latencies[entry["op"]].append((since, entry["ms"]))
            problems["aborted"] += "aborted" in entry
            problems["not done by maintain"] += len(entry.get("problems", ()))
        window = max(30.0, 3600 * self._hours / 60)
        timed = {name: percentiles(found, window) for name, found in latencies.items()}
        verdicts = [*self._verdicts(), *_of_latency(timed)]
        load = "/".join(f"{each:.1f}" for each in os.getloadavg())
        counts = ", ".join(f"{len(found):,} × {name}" for name, found in sorted(latencies.items()))
        return {
            "hours": self._hours,
            "kills": self._kills,
            "conditions": (
                f"{60 * self._hours:.0f} minutes at {self._rate:.0f} messages a second by the "
                f"library and as many through two servers, {len(self._kills)} kills; "
                f"{os.cpu_count()} cores, load {load} at the end, Python "
                f"{platform.python_version()}; {counts}; {dict(problems)}"
            ),
            "panels": self._panels(timed),
            "verdicts": [each.__dict__ for each in verdicts],
        }

    def _points(self, name: str) -> list[tuple[float, float]]:
        return [(each["at"], each[name]) for each in self._samples]

    def _verdicts(self) -> Iterator[Verdict]:
        for name in ("library", "server"):
            yield judge(f"memory: {name}", "MB", self._points(name), 0.10, 16)
        yield judge("files of ack states and registry", "", self._points("files"), 0.15, 60)
        yield judge("longest log", "files", self._points("log"), 0.25, 60)

    def _panels(self, timed: dict[str, Any]) -> list[dict[str, Any]]:
        def lines(*names: tuple[str, str]) -> list[dict[str, Any]]:
            return [{"name": told, "points": self._points(name)} for name, told in names]

        def latency(name: str) -> list[dict[str, Any]]:
            return [{"name": q, "points": points} for q, points in timed.get(name, {}).items()]

        return [
            {"title": "Memory, MB",
             "lines": lines(("library", "library"), ("server", "server"))},
            {"title": "Files",
             "lines": lines(("files", "states, registry"), ("topics", "topics"),
                            ("log", "longest log"))},
            {"title": "Library: pull, ms", "lines": latency("pull")},
            {"title": "Library: ack, ms", "lines": latency("ack")},
            {"title": "Servers: publish to callback, ms", "lines": latency("server: to callback")},
        ]  # fmt: skip


def _of_latency(timed: dict[str, Any]) -> Iterator[Verdict]:
    for name in ("publish", "pull", "ack", "server: publish", "server: to callback"):
        for q, points in timed.get(name, {}).items():
            if len(points) >= 6:
                share = 0.3 if q == "p50" else 1.0  # few of a window are among the last percent
                yield judge(f"{name}, {q}", "ms", points, share, 20 if q == "p50" else 250)


def _told_of(lost: dict[str, int]) -> str:
    return "\n".join(f"lost of {name}: {count}" for name, count in lost.items())


def _memory(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _files(root: Path) -> dict[str, float]:
    """Count the files of topics and of all other tables, and those of the longest log."""
    found = {"topics": 0.0, "files": 0.0, "log": 0.0}
    for folder, _, names in os.walk(root):
        path = Path(folder)
        if path.name == "_locks":
            continue
        is_topic = path.relative_to(root).parts[:1] == ("messages",)
        found["topics" if is_topic else "files"] += len(names)
        if path.name == "_delta_log":
            found["log"] = max(found["log"], float(len(names)))
    return found


def _create_served(server: ServerProcess) -> None:
    server.publisher().create_topic(name=google.TOPIC, timeout=60)
    request = {
        "name": google.SUBSCRIPTION, "topic": google.TOPIC, "ack_deadline_seconds": 30,
    }  # fmt: skip
    server.subscriber().create_subscription(request=request, timeout=60)


def main() -> int:
    """Soak for as long as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.endurance.run")
    parser.add_argument("--hours", type=float, default=1.0, help="how long; fractions are fine")
    parser.add_argument("--rate", type=float, default=20.0, help="messages a second, each way")
    parser.add_argument("--folder", type=Path, default=Path("soak"), help="where all is kept")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    if folder.exists():
        parser.error(f"{folder} exists: of an earlier run; move it away or choose another")
    folder.mkdir(parents=True)
    return Soak(folder, asked.hours, asked.rate).run()


if __name__ == "__main__":
    sys.exit(main())
