"""Load a server for a long time, watch it, and write down and draw what was seen."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.acceptance.serving import ServerProcess
from tests.servers import free_port
from tests.soak.programs import DRAIN, SHARES
from tests.soak.watching import Sample, sample

EVERY = 10.0
"""Seconds from one look at the server to the next."""


def soak(directory: Path, seconds: float, rate: float, maintain_every: float) -> dict[str, Any]:
    """Run a server and the programs; return how each ended, and the samples."""
    port = free_port()
    server = ServerProcess(directory / "store", f"--metrics-port={port}", "--metrics-interval=30s")
    server.start()
    metrics = f"http://127.0.0.1:{port}/metrics"
    programs = {name: _start(name, server.address, seconds, rate, directory) for name in SHARES}
    samples: list[Sample] = []
    maintained: list[dict[str, Any]] = []
    began = time.monotonic()
    while any(each.poll() is None for each in programs.values()):
        passed = time.monotonic() - began
        if passed > seconds + 2 * DRAIN:
            break
        samples.append(sample(server.process_id, directory / "store", metrics, passed))
        with (directory / "samples.jsonl").open("a") as written:
            written.write(json.dumps(samples[-1].as_json()) + "\n")
        if maintain_every and passed > maintain_every * (len(maintained) + 1):
            maintained.append(done := {"at": round(passed), "exit_code": None})
            threading.Thread(target=_maintain, args=(directory, done), daemon=True).start()
        time.sleep(max(0.0, began + EVERY * len(samples) - time.monotonic()))
    time.sleep(4 * EVERY)  # nobody is there; what was held is given back
    samples.append(
        sample(server.process_id, directory / "store", metrics, time.monotonic() - began)
    )
    outcomes = [_ended(name, each, directory) for name, each in programs.items()]
    return {
        "seconds": seconds,
        "rate": rate,
        "exit_code": server.stop(),
        "programs": outcomes,
        "maintained": maintained,
        "samples": [each.as_json() for each in samples],
    }


def _start(
    name: str, address: str, seconds: float, rate: float, directory: Path
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.soak.programs", name, str(seconds), str(rate)]
    environment = {**os.environ, "PUBSUB_EMULATOR_HOST": address}
    with (
        (directory / f"{name}.json").open("wb") as out,
        (directory / f"{name}.log").open("wb") as log,
    ):
        return subprocess.Popen(command, stdout=out, stderr=log, env=environment)


def _ended(name: str, process: subprocess.Popen[bytes], directory: Path) -> dict[str, Any]:
    if process.poll() is None:
        process.kill()
        process.wait()
    lines = (directory / f"{name}.json").read_text().splitlines()
    if not lines:
        told = (directory / f"{name}.log").read_text()[-2000:]
        return {"program": name, "errors": [f"it ended with {process.returncode}: {told}"]}
    return dict(json.loads(lines[-1]))


def _maintain(directory: Path, done: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "pubsub_delta", "maintain", "--log-retention=1h"]
    began = time.monotonic()
    process = subprocess.run(
        [*command, f"--root={directory / 'store'}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    took = round(time.monotonic() - began, 1)
    done.update(took=took, exit_code=process.returncode, told=process.stderr[-500:])


def faults(result: dict[str, Any]) -> list[str]:
    """Return what must not be in a result."""
    found = [] if result["exit_code"] == 0 else [f"the server ended with {result['exit_code']}"]
    for each in result["programs"]:
        found += [f"{each['program']}: {error}" for error in each["errors"]]
        found += [
            f"{each['program']}: {each[what]} {what}"
            for what in ("lost", "doubled", "disordered")
            if each.get(what)
        ]
        if not each.get("acknowledged"):
            found.append(f"{each['program']}: nothing came")
    found += [f"maintain: {each}" for each in result["maintained"] if each["exit_code"]]
    last = result["samples"][-1]
    found += [f"{last[what]} {what} at the end" for what in ("open_streams", "held") if last[what]]
    return found


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw memory, streams, leases, files and latencies by the minutes since the start."""
    from matplotlib.figure import Figure

    samples = result["samples"]
    minutes = [each["seconds"] / 60 for each in samples]
    lines = {
        "memory, MB": ["resident_mb"],
        "streams and descriptors": ["open_streams", "descriptors", "threads"],
        "messages that are held": ["held", "leased"],
        "files": ["topic_files", "log_files", "other_files"],
    }
    figure = Figure(figsize=(10, 14), layout="constrained")
    axes = figure.subplots(len(lines) + 1, 1, sharex=True)
    for axis, (title, names) in zip(axes, lines.items(), strict=False):
        for name in names:
            axis.plot(minutes, [each[name] for each in samples], label=name)
        axis.set_ylim(bottom=0)
        axis.set_title(title, loc="left")
        axis.legend(loc="upper left", fontsize="small")
    for each in result["programs"]:
        told = each.get("windows", [])
        axes[-1].plot([w[0] / 60 for w in told], [w[2] for w in told], label=each["program"])
    axes[-1].set_yscale("log")
    axes[-1].set_title("publish to first delivery, p99 of 10 s, ms", loc="left")
    axes[-1].legend(loc="upper left", fontsize="small")
    axes[-1].set_xlabel("minutes")
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the store and the result are written")
    parser.add_argument("--seconds", type=float, default=3_600)
    parser.add_argument("--rate", type=float, default=500, help="messages published a second")
    parser.add_argument("--maintain-every", type=float, default=1_200, help="seconds; 0 for never")
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True)
    result = soak(asked.directory, asked.seconds, asked.rate, asked.maintain_every)
    (asked.directory / "result.json").write_text(json.dumps(result, indent=1))
    draw(result, asked.directory / "result.png")
    found = faults(result)
    print(*(found or ["nothing was lost or doubled"]), sep="\n")  # noqa: T201
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
