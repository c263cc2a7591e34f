"""Allocates positions: each is allocated once, in all processes and both lanes.

A table has one row with the lowest position of a topic that was never allocated. A process reserves
a block by compare-and-swap, and allocates from memory: so a publish usually costs one commit. The
rest of a block is a gap, if the process ends or another one has published in between.

A publish that begins after another one has landed gets higher positions. So messages of an ordering
key that two programs publish one after the other are in that order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from pubsub_delta.errors import DataLoss, FailedPrecondition
from pubsub_delta.policy.ack_ids import END_OF_POSITIONS
from pubsub_delta.tables.lanes.protocol import Conflict, Lane, Merge
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.messages.commits import History
from pubsub_delta.tables.schemas import POSITIONS

BLOCK = 1 << 20
"""The positions that a process reserves at a time for publishes of lists."""


@dataclass
class _Block:
    """The rest of a block, and the version of the topic up to which publishes were checked."""

    next: int = 0
    end: int = 0
    checked_version: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)


class PositionAllocator:
    """Allocates the positions of topics from blocks of this process."""

    def __init__(self, lane: Lane, new_id: Callable[[], str]) -> None:
        self._lane = lane
        self._new_id = new_id
        self._blocks: dict[str, _Block] = {}
        self._lock = threading.Lock()

    def create(self, table: str) -> None:
        """Create the table of a new topic, with its row."""
        self._lane.create(table, POSITIONS, self._row(0))

    def allocate(self, table: str, count: int, history: History) -> int:
        """Return the first of ``count`` positions for one publish."""
        with self._lock:
            block = self._blocks.setdefault(table, _Block())
        with block.lock:
            if not self._is_ahead(block, history):
                block.end = block.next
            block.checked_version = history.newest_version()
            if block.end - block.next < count:
                size = max(BLOCK, count)
                block.next = self.reserve(table, size, history)
                block.end = block.next + size
            first = block.next
            block.next += count
            return first

    def _is_ahead(self, block: _Block, history: History) -> bool:
        """Return whether no publish since the last check got positions beyond the next one."""
        if block.checked_version < 0:
            return False
        new = history.commits_after(block.checked_version)
        return new.is_complete and all(each.end_position <= block.next for each in new.commits)

    def reserve(self, table: str, count: int, history: History) -> int:
        """Reserve a range of positions by one commit, and return the first one.

        The range is above those of the topic's last commits, too: an operator can have restored the
        row to an earlier version.
        """
        given = history.highest_end()
        take = partial(self._reserve, table, count, given)
        return repeat_on_conflict(take, f"positions of {table}")

    def _reserve(self, table: str, count: int, given: int) -> int:
        rows = self._lane.read(table).to_pylist()
        if len(rows) != 1:
            raise DataLoss(
                f"{table} has {len(rows)} rows instead of one; restore an earlier version"
            )
        stored = int(rows[0]["next_position"])
        first = max(stored, given)
        if first + count > END_OF_POSITIONS:
            raise FailedPrecondition(
                f"{table}: the topic has fewer than {count:,} positions left of "
                f"{END_OF_POSITIONS:,}; publish to a new topic"
            )
        expected = {
            "expected_position": pa.array([stored], pa.int64()),
            "expected_id": pa.array([rows[0]["reservation_id"]], pa.string()),
        }
        following = self._row(first + count)
        for name, column in expected.items():
            following = following.append_column(name, column)
        if self._lane.merge(table, following, _TAKE) != 1:
            raise Conflict(f"{table}: another process reserved positions")
        return first

    def _row(self, next_position: int) -> pa.Table:
        row = {"next_position": next_position, "reservation_id": self._new_id()}
        return pa.Table.from_pylist([row], schema=POSITIONS.columns)


_TAKE = Merge(
    on=[("next_position", "=", "expected_position"), ("reservation_id", "=", "expected_id")],
    update=POSITIONS.columns.names,
)
