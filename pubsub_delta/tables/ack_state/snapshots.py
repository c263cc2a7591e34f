"""The tables of snapshots: each is a copy of an ack state at a version."""

from __future__ import annotations

from collections.abc import Callable

from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured
from pubsub_delta.tables.ack_state.rows import state_of_row
from pubsub_delta.tables.ack_state.states import StoredAckState
from pubsub_delta.tables.ack_state.tables import only_row, state_at
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

    def capture(
        self,
        subscription_uid: str,
        snapshot_uid: str,
        is_fit: Callable[[AckState], bool],
        cached: StoredAckState | None = None,
    ) -> AckState | None:
        """Clone the stored ack state; return it, or None if it is not fit.

        The clone has the version that ``is_fit`` was called with. ``cached``: the state that this
        process has just written.
        """
        source = self._layout.ack_state(subscription_uid)
        if cached is not None and cached.version is not None:
            version, state = cached.version, cached.state
        else:
            version = self._lane.version(source)
            state = state_at(self._lane, source, version)
        if not is_fit(state):
            return None
        self._lane.clone(source, version, self._layout.snapshot(snapshot_uid), ACK_STATE)
        return state

    def captured(self, snapshot_uid: str, filter_: str) -> Captured | None:
        """Return the captured messages of a snapshot, or None if its table was dropped.

        ``filter_``: the filter of the subscription whose ack state was cloned.
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
