"""Positions: each is given out once, whoever publishes, in whichever lane.

A topic has one row that holds the lowest position that was never given out. A process takes a block
of them by compare-and-swap, and hands it out from memory: so a publish usually costs one commit.
What a process does not use, because it ends or somebody else has published in between, is a gap.

Whoever publishes after somebody else's publish has landed gets higher positions than that one: so
messages of a key that two programs publish one after the other stand in that order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from pubsub_delta.errors import DataLoss, FailedPrecondition
from pubsub_delta.tables.lanes.protocol import Conflict, Lane, Merge
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.messages.commits import History
from pubsub_delta.tables.schemas import POSITIONS

BLOCK = 1 << 20
"""Positions that a process takes at a time for messages that are given one by one."""
LAST = 10**18
"""Where positions end: an ack id has 18 digits for them."""


@dataclass
class _Block:
    """What is left of a block, and the version of the topic up to which others were looked at."""

    next: int = 0
    end: int = 0
    seen: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)


class Ranges:
    """The ranges of positions that this process was given, by topic."""

    def __init__(self, lane: Lane, new_id: Callable[[], str]) -> None:
        self._lane = lane
        self._new_id = new_id
        self._blocks: dict[str, _Block] = {}
        self._lock = threading.Lock()

    def create(self, table: str) -> None:
        """Create the row of a new topic, in a table of its own."""
        self._lane.create(table, POSITIONS, self._row(0))

    def take(self, table: str, count: int, history: History) -> int:
        """Return the first of so many positions, for one publish."""
        with self._lock:
            block = self._blocks.setdefault(table, _Block())
        with block.lock:
            if not self._is_ahead(block, history):
                block.end = block.next
            block.seen = history.newest_version()
            if block.end - block.next < count:
                size = max(BLOCK, count)
                block.next = self.reserve(table, size, history)
                block.end = block.next + size
            first = block.next
            block.next += count
            return first

    def _is_ahead(self, block: _Block, history: History) -> bool:
        """Tell whether nobody has published beyond a block since it was looked at last."""
        if block.seen < 0:
            return False
        commits, known = history.commits_after(block.seen)
        return known and all(each.end_position <= block.next for each in commits)

    def reserve(self, table: str, count: int, history: History) -> int:
        """Take a range of positions for good, and return its first one. It is one commit.

        It lies above what the topic's last commits were given, too: an operator may have restored
        the row to an earlier version.
        """
        given = history.highest_end()
        take = partial(self._reserve, table, count, given)
        return repeat_on_conflict(take, f"positions of {table}")

    def _reserve(self, table: str, count: int, given: int) -> int:
        rows = self._lane.read(table).to_pylist()
        if len(rows) != 1:
            raise DataLoss(f"{table} holds {len(rows)} rows where there is always one")
        stored = int(rows[0]["next_position"])
        first = max(stored, given)
        if first + count > LAST:
            raise FailedPrecondition(
                f"{table}: the topic has no {count:,} positions left of {LAST:,}; "
                "publish to a new topic"
            )
        expected = {
            "expected_position": pa.array([stored], pa.int64()),
            "expected_id": pa.array([rows[0]["reservation_id"]], pa.string()),
        }
        following = self._row(first + count)
        for name, column in expected.items():
            following = following.append_column(name, column)
        if self._lane.merge(table, following, _TAKE) != 1:
            raise Conflict(f"{table}: somebody else took positions")
        return first

    def _row(self, next_position: int) -> pa.Table:
        row = {"next_position": next_position, "reservation_id": self._new_id()}
        return pa.Table.from_pylist([row], schema=POSITIONS.columns)


_TAKE = Merge(
    on="old.next_position = new.expected_position AND old.reservation_id = new.expected_id",
    update=POSITIONS.columns.names,
)
