"""The tables of a store in memory, for the real operations: rows and versions, and no files.

Everything above the lane is real: registry, ack states, messages and the positions they are given.
What is stored is stored as rows, so that a process which starts anew reads everything again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from pubsub_delta.tables.ack_state import AckStates
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.store import Tables
from tests.model.memory_lane import MemoryLane
from tests.model.memory_scans import MemoryScans

ROOT = "/memory/"
LAYOUT = layout_of(ROOT)


class World:
    """All that is stored, for every process that opens the store."""

    def __init__(self) -> None:
        self.lane = MemoryLane()
        self.ids: Iterator[int] = count(1)

    def new_id(self) -> str:
        return f"{next(self.ids):032x}"


class MemoryLanes(Lanes):
    """The lane in memory, and what reads messages there."""

    def __init__(self, lane: MemoryLane) -> None:
        super().__init__(None, LAYOUT, "direct")
        self.control = lane
        self._direct_scans = MemoryScans(lane)


class MemoryTables(Tables):
    """The tables as one process sees them: what it wrote last it remembers."""

    def __init__(self, world: World) -> None:
        super().__init__(None, ROOT, world.new_id, "direct")
        self.lanes = MemoryLanes(world.lane)
        self.ack_states = AckStates(self.ack_state_tables, world.new_id, lambda _: None, lambda: 0)
