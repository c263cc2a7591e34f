"""The whole suite, or some sections of it.

python -m benchmarks [SECTION ...] [--full] [--messages N] [--rounds R] [--json FILE]
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import growth, kinds, small
from benchmarks.console import console
from benchmarks.drain import drain, random_acks, windows
from benchmarks.drift import drift
from benchmarks.measuring import Bench, Section
from benchmarks.object_store import object_store
from benchmarks.peers import kafka
from benchmarks.profiling import profile
from benchmarks.replay import replay
from benchmarks.running import main
from benchmarks.scaling import scaling
from benchmarks.server import server
from benchmarks.spans import spans
from benchmarks.streaming import streaming

SECTIONS: dict[str, Callable[[Bench], Section]] = {
    "drain": drain,
    "kafka": kafka,
    "small-work": small.small_work,
    "idling": small.idle,
    "profile": profile,
    "random-acks": random_acks,
    "windows": windows,
    "backlog": growth.backlog,
    "filter": kinds.filters,
    "ordering": kinds.ordering,
    "replay": replay,
    "streaming": streaming,
    "spans": spans,
    "drift": drift,
    "storage": growth.storage,
    "memory": growth.memory,
    "scaling": scaling,
    "console": console,
    "server": server,
    "object-store": object_store,
}

if __name__ == "__main__":
    main(SECTIONS)
