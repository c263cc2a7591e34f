"""The tables of snapshots: each holds an ack state as it was."""

from __future__ import annotations

import pyarrow as pa

from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured
from pubsub_delta.tables.ack_state.rows import row_of_state, state_of_row
from pubsub_delta.tables.ack_state.tables import only_row
from pubsub_delta.tables.lanes.protocol import Lane, TableMissing
from pubsub_delta.tables.layout import Layout
from pubsub_delta.tables.schemas import ACK_STATE


class SnapshotTables:
    """Reads and writes the tables of snapshots, by the uid of the snapshot."""

    def __init__(self, lane: Lane, layout: Layout) -> None:
        self._lane = lane
        self._layout = layout

    def table(self, snapshot_uid: str) -> str:
        """The table of a snapshot as it is named in SQL."""
        return self._layout.snapshot(snapshot_uid)

    def create(self, snapshot_uid: str, state: AckState) -> None:
        """Create the table of a snapshot with the ack state that it holds."""
        rows = pa.Table.from_pylist([row_of_state(state)], schema=ACK_STATE.columns)
        self._lane.create(self.table(snapshot_uid), ACK_STATE, rows)

    def captured(self, snapshot_uid: str, filter_: str) -> Captured | None:
        """Return the captured messages of a snapshot, or None if its table was dropped.

        ``filter_``: the filter of the subscription whose ack state it holds.
        """
        table = self._layout.snapshot(snapshot_uid)
        try:
            rows = self._lane.read(table)
        except TableMissing:
            return None
        if rows.num_rows == 0:  # to drop a table at a path, its rows are deleted
            return None
        return replay.capture(state_of_row(only_row(rows, table), table), filter_)

    def drop(self, snapshot_uid: str) -> None:
        """Drop the table of a snapshot, if it exists."""
        self._lane.drop(self._layout.snapshot(snapshot_uid))
