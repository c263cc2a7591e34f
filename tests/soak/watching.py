"""What a server takes while it runs: memory, files, streams, leases."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.request import urlopen

_SAMPLE = re.compile(r"^(?:pubsub_delta_server_)?(\w+)(?:\{(.*)\})? ([-+.\deE]+)$", re.MULTILINE)
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Sample:
    """A look at a server, so many seconds after the start.

    ``held``: messages that it holds for clients. ``leased`` and ``undelivered``: as its metrics
    have them, of all subscriptions. ``processor``: seconds since its start.
    """

    seconds: float
    resident_mb: float
    threads: int
    descriptors: int
    processor: float
    open_streams: int
    held: int
    held_mb: float
    leased: int
    undelivered: int
    expired: int
    failed_exchanges: int
    topic_files: int
    log_files: int
    other_files: int

    def as_json(self) -> dict[str, float]:
        return asdict(self)


def sample(process: int, root: Path, metrics: str, seconds: float) -> Sample:
    """Look at a server: its process, its store and its metrics."""
    found = defaultdict[str, float](float)
    with urlopen(metrics, timeout=30) as answer:
        for name, _, value in _SAMPLE.findall(answer.read().decode()):
            found[name] += float(value)
    proc = Path(f"/proc/{process}")
    status = dict(re.findall(r"^(\w+):\s+(\d+)", (proc / "status").read_text(), re.MULTILINE))
    times = (proc / "stat").read_text().rpartition(")")[2].split()
    files = _files(root)
    return Sample(
        seconds=round(seconds, 1),
        resident_mb=int(status["VmRSS"]) / 1024,
        threads=int(status["Threads"]),
        descriptors=len(list((proc / "fd").iterdir())),
        processor=(int(times[11]) + int(times[12])) / _TICKS,
        open_streams=int(found["open_streams"]),
        held=int(found["held_messages"]),
        held_mb=found["held_bytes"] / 1e6,
        leased=int(found["pubsub_subscription_num_outstanding_messages"]),
        undelivered=int(found["pubsub_subscription_num_undelivered_messages"]),
        expired=int(found["expired_total"]),
        failed_exchanges=int(found["failed_exchanges_total"]),
        topic_files=files["topic"],
        log_files=files["log"],
        other_files=files["other"],
    )


def _files(root: Path) -> Counter[str]:
    """Count the files of a store: those of topics, of Delta's logs, and the others."""
    found = Counter[str]()
    for folder, _, names in os.walk(root):
        kind = "log" if "_delta_log" in folder else "topic" if "messages" in folder else "other"
        found[kind] += len(names)
    return found
