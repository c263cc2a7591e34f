"""Questions about messages in memory, answered row by row, as simply as it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

import pyarrow as pa

from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.filters import matches
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.scans import Window
from tests.model.memory_lane import MemoryLane, Row

_PART = 4
"""How many positions a part has: few, so that there are several of them."""


class MemoryScans:
    """Reads the messages of topics in memory."""

    def __init__(self, lane: MemoryLane) -> None:
        self._lane = lane

    def fold(self, table: str, window: Window, filter_: Filter | None = None) -> Positions:
        rows = self._rows(table, window)
        return _positions(row for row in rows if matches(filter_, dict(row["attributes"])))

    def parts(self, table: str, window: Window) -> list[Absorbed]:
        found = []
        for _, part in groupby(
            self._rows(table, window), lambda row: int(row["position"]) // _PART
        ):
            rows = list(part)
            times = [row["publish_time"] for row in rows]
            found.append(Absorbed(_positions(rows), min(times), max(times)))
        return found

    def of_same_keys(self, table: str, of: Window, among: Window) -> Positions:
        keys = {row["ordering_key"] for row in self._rows(table, of) if row["ordering_key"]}
        return _positions(row for row in self._rows(table, among) if row["ordering_key"] in keys)

    def followers(self, table: str, of: Window, among: Window) -> Positions:
        firsts: dict[str, int] = {}
        for row in self._rows(table, of):
            if row["ordering_key"]:
                firsts.setdefault(row["ordering_key"], row["position"])
        return _positions(
            row
            for row in self._rows(table, among)
            if firsts.get(row["ordering_key"], row["position"]) < row["position"]
        )

    def rows(self, table: str, window: Window, columns: Sequence[str]) -> pa.Table:
        schema = self._lane.read(table).schema
        return pa.Table.from_pylist([*map(dict, self._rows(table, window))], schema).select(columns)

    def batches(
        self, table: str, window: Window, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        yield from self.rows(table, window, columns).to_batches(_PART)

    def count(self, table: str, window: Window) -> tuple[int, datetime | None]:
        times = [row["publish_time"] for row in self._rows(table, window)]
        return len(times), min(times, default=None)

    def byte_count(self, table: str, window: Window) -> int:
        return sum(
            len(row["data"])
            + len(row["ordering_key"].encode())
            + sum(len(key.encode()) + len(value.encode()) for key, value in row["attributes"])
            for row in self._rows(table, window)
        )

    def _rows(self, table: str, window: Window) -> list[Row]:
        """Return the rows of a window, by position."""
        found = [row for row in self._lane.rows(table) if _holds(window, row)]
        return sorted(found, key=lambda row: int(row["position"]))


def _holds(window: Window, row: Row) -> bool:
    time: datetime = row["publish_time"]
    return (
        (window.positions is None or row["position"] in window.positions)
        and (window.earliest is None or window.earliest <= time)
        and (window.latest is None or time <= window.latest)
    )


def _positions(rows: Iterator[Row] | Sequence[Row]) -> Positions:
    return Positions.of(row["position"] for row in rows)
