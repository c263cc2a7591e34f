"""A whole store in memory, the same for two ways of asking: in this process, and by a server."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from click.testing import CliRunner, Result

from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.server.backend import StoreBackend
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.security import Security
from pubsub_delta.server.timing import Timing
from tests.model.drivers import MemoryDriver, MemoryPubSub
from tests.model.memory import MemoryTables
from tests.unit.serving import QUICK, MemoryStore, serving

P = ParamSpec("P")
T = TypeVar("T")


class WorldBackend(StoreBackend):
    """That store behind a server; what it is asked is done one at a time."""

    def __init__(self) -> None:
        driver = MemoryDriver()
        self.clock = driver.clock
        self.counted = Counters()
        self._world = driver.world
        self._first = MemoryTables(self._world)
        self.store = self.open("local")
        super().__init__(self.store)
        self._lock = threading.Lock()

    def open(self, project: str) -> MemoryPubSub:
        """Open the store anew, as another process does.

        It gives out positions where the one before stopped, so that message ids are those that one
        server would give.
        """
        tables = MemoryTables(self._world)
        tables._allocator = self._first._allocator
        return MemoryPubSub(tables, self.clock, project)

    @property
    def now(self) -> Callable[[], datetime]:
        return self.clock.now

    async def blocking(self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        def alone() -> T:
            with self._lock:
                return work(*args, **named)

        return await super().blocking(alone)

    administer = blocking


def served(
    backend: WorldBackend,
    timing: Timing = QUICK,
    security: Security | None = None,
    push_keys: Path | None = None,
) -> AbstractContextManager[str]:
    """Run a server on that store; give its address."""
    return serving(cast(MemoryStore, backend), timing, security, backend.counted, push_keys)


class Terminal:
    """Command lines, one after the other; ``{ids}`` stands for those of the last pull.

    Args:
        backend: whose clock the process goes by.
        address: of a server; None for the store itself.
    """

    def __init__(self, backend: WorldBackend, address: str | None) -> None:
        self._backend = backend
        where = {"ROOT": "/r"} if address is None else {"ENDPOINT": address}
        self.variables = {f"PUBSUB_DELTA_{name}": text for name, text in where.items()}
        self._ids: list[str] = []

    def app(self, **more: str) -> App:
        """Return what a process is, perhaps one with more variables."""
        return App(
            lambda said: self._backend.open(said.project),
            self._backend.clock,
            {**self.variables, **more},
        )

    def run(self, line: str, **more: str) -> Result:
        """Run a command line in such a process."""
        last = "".join(self._ids[-1:])
        words = shlex.split(line.format(ids=",".join(self._ids), last=last))
        result = CliRunner().invoke(cli, words, obj=self.app(**more))
        if "pull" in words and "--format=json" in words:
            self._ids = [each["ackId"] for each in json.loads(result.stdout)] or self._ids
        return result

    def told(self, line: str) -> tuple[int, str, str]:
        """Run a line; return its exit code and what it printed, without what no server tells."""
        result = self.run(line)
        shown = re.sub(r'^ *"?(create|update)Time.*\n', "", result.stdout, flags=re.MULTILINE)
        return result.exit_code, anonymous(shown), anonymous(result.stderr)


def anonymous(text: str) -> str:
    """Return a text without the numbers of leases: how many there are depends on the moment."""
    text = re.sub(r"[0-9a-f]{32}\.[0-9]+\.([0-9]+)\.[0-9]+", r"<delivery of \1>", text)
    for wide, narrow in ((" +", " "), ("─+", "─"), (r",(\n *})", r"\1")):
        text = re.sub(wide, narrow, text)
    return text


_DRAWN = re.compile(r"\b[0-9a-f]{32}\b(\.[0-9]+\.[0-9]+\.[0-9]+)?")


def without_ids(text: str) -> str:
    """Return a text without uids, and without the ack ids that have one: each run draws others."""
    return _DRAWN.sub(lambda found: "(an ack id)" if found[1] else "(a uid)", text)
