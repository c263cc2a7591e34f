"""Tables that are prepared for what comes next, while Spark or the caller is busy otherwise."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress


class Readers:
    """Of which subscriptions this process reads the batches.

    It is taken to read those of each, until one was not read by the time of the next.
    """

    def __init__(self) -> None:
        self._unread: set[str] = set()

    def reads(self, uid: str) -> bool:
        """Tell whether the last batch of a subscription was read, if there was one."""
        return uid not in self._unread

    def given(self, uid: str) -> Callable[[], None]:
        """Take note of a batch that nobody has read yet; return what is to be called when it is."""
        self._unread.add(uid)
        return lambda: self._unread.discard(uid)


class Ahead:
    """Has Delta put the states of tables together in another thread.

    What needs such a state finds it there, or waits for the rest of it only. Nobody waits for this
    thread otherwise, and whatever goes wrong in it is told by whoever needs the table.

    Args:
        look: has Delta put the state of a table together.
        newest: tells the last commit of a table that is on the driver's disk, otherwise None.
    """

    def __init__(self, look: Callable[[str], object], newest: Callable[[str], object]) -> None:
        self._look = look
        self._newest = newest
        self._thread = ThreadPoolExecutor(1, "pubsub-ahead")
        self._waiting: set[str] = set()
        self._prepared: dict[str, object] = {}

    def prepare(self, table: str) -> None:
        """Let a table be prepared, unless it waits for that already."""
        if table in self._waiting:
            return
        self._waiting.add(table)
        with suppress(RuntimeError):  # the process is ending
            self._thread.submit(self._prepare, table)

    def prepare_on_disk(self, table: str) -> None:
        """Let a table on the driver's disk be prepared, once after each commit to it.

        There, logs are read without Delta. Elsewhere a look at a log has put the state together.
        """
        newest = self._newest(table)
        if newest is not None and newest != self._prepared.get(table):
            self._prepared[table] = newest
            self.prepare(table)

    def close(self) -> None:
        """End the thread; what waits to be prepared is prepared first. It begins no more."""
        self._thread.shutdown()

    def _prepare(self, table: str) -> None:
        self._waiting.discard(table)  # who commits from now on may ask again
        with suppress(Exception):
            self._look(table)
