"""What snapshots hold: for each a table, the copy of an ack state at a version."""

from __future__ import annotations

from collections.abc import Callable

from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import AckState, Captured
from pubsub_delta.tables.ack_state.rows import state_of_row
from pubsub_delta.tables.ack_state.states import Stored
from pubsub_delta.tables.ack_state.tables import only_row, state_at
from pubsub_delta.tables.lanes.protocol import Lane, TableMissing
from pubsub_delta.tables.layout import Layout
from pubsub_delta.tables.schemas import ACK_STATE


class SnapshotTables:
    """The tables of a store that hold what was unacknowledged, by the uid of their snapshot."""

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
        seen: Stored | None = None,
    ) -> AckState | None:
        """Clone an ack state as it is stored now, if it is fit for that, and return it, or None.

        A version never changes: what is cloned is what was looked at. ``seen``: what was just seen.
        """
        source = self._layout.ack_state(subscription_uid)
        if seen is not None and seen.version is not None:
            version, state = seen.version, seen.state
        else:
            version = self._lane.version(source)
            state = state_at(self._lane, source, version)
        if not is_fit(state):
            return None
        self._lane.clone(source, version, self._layout.snapshot(snapshot_uid), ACK_STATE)
        return state

    def held(self, snapshot_uid: str, filter_: str) -> Captured | None:
        """Return what a snapshot holds, or None where its table was dropped.

        ``filter_``: that of the subscription whose ack state was cloned.
        """
        table = self._layout.snapshot(snapshot_uid)
        try:
            rows = self._lane.read(table)
        except TableMissing:
            return None
        if rows.num_rows == 0:  # of a table at a path only the files are dropped
            return None
        return replay.capture(state_of_row(only_row(rows, table), table), filter_)

    def drop(self, snapshot_uid: str) -> None:
        """Drop the table of a snapshot; nothing where there is none."""
        self._lane.drop(self._layout.snapshot(snapshot_uid))
