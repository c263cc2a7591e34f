"""The storage of ack states: a Delta table of one row for each subscription."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa

from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.metrics import SubscriptionMetrics, metrics_of, spread
from pubsub_delta.tables.ack_state.rows import row_of_state, state_of_row
from pubsub_delta.tables.ack_state.states import StoredAckState
from pubsub_delta.tables.lanes.protocol import Lane, Merge
from pubsub_delta.tables.schemas import ACK_STATE, TEXT, WHOLE

_CHANGES_NOTHING = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END"})
"""Delta operations that do not change an ack state."""

_SWAP = Merge(
    on=[("revision", "=", "expected_revision"), ("commit_id", "=", "expected_commit_id")],
    update=ACK_STATE.columns.names,
)
_SWAPPED = ACK_STATE.columns.append(pa.field("expected_revision", WHOLE)).append(
    pa.field("expected_commit_id", TEXT)
)


class AckStateTables:
    """The tables of a store that hold ack states, by the uid of their subscription."""

    def __init__(self, lane: Lane, table_of: Callable[[str], str]) -> None:
        self._lane = lane
        self._table_of = table_of

    def table(self, uid: str) -> str:
        """The table of a subscription as it is named in SQL."""
        return self._table_of(uid)

    def create(self, uid: str, first: StoredAckState) -> int | None:
        """Create the table of a new subscription; return its version, if known."""
        rows = pa.Table.from_pylist([_row(first)], schema=ACK_STATE.columns)
        return self._lane.create(self._table_of(uid), ACK_STATE, rows)

    def read(self, uid: str) -> StoredAckState:
        """Return the row; DataLoss without a table, or if it is not one row."""
        table = self._table_of(uid)
        return _stored(*self._lane.read_latest(table), table)

    def replace(self, uid: str, following: StoredAckState, expected: StoredAckState) -> bool:
        """Replace the row if it is the expected one; return whether it was.

        A row is identified by its revision and its commit id: an older row that was restored has a
        revision that later rows had, too.
        """
        row = {
            **_row(following),
            "expected_revision": expected.revision,
            "expected_commit_id": expected.commit_id,
        }
        rows = pa.Table.from_pylist([row], schema=_SWAPPED)
        return self._lane.swap(self._table_of(uid), rows, _SWAP, expected.version)

    def locked(self, uid: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk."""
        return self._lane.locked(self._table_of(uid), wait=wait)

    def metrics(self, uid: str) -> SubscriptionMetrics:
        """Return the metrics of a subscription that its ack state alone gives."""
        return metrics_of(self.read(uid).state)

    def over_time(self, uid: str, most: int) -> list[StoredAckState]:
        """Return an ack state after up to ``most`` of its commits, the earliest first.

        They are read from versions of its table, so they reach back as far as its log: minutes, for
        a busy subscription. The last commit is always among them.
        """
        found = [self.read(uid)]
        commits = self._lane.history(self._table_of(uid))
        changes = [each.version for each in commits if each.operation not in _CHANGES_NOTHING]
        for version in spread(changes, most)[1:]:
            stored = self._stored_if_kept(uid, version)
            if stored is not None:
                found.append(stored)
        return list(reversed(found))

    def _stored_if_kept(self, uid: str, version: int) -> StoredAckState | None:
        table = self._table_of(uid)
        try:
            return _stored(self._lane.read(table, version=version), version, table)
        except Exception:  # any error that a lane raises for a version whose files are gone
            return None

    def vacuum(self, uid: str) -> None:
        """Remove the unneeded files of a subscription's ack state."""
        self._lane.vacuum(self._table_of(uid))


def _stored(rows: pa.Table, version: int | None, table: str) -> StoredAckState:
    row = only_row(rows, table)
    commits = tuple(row["recent_commits"])
    return StoredAckState(state_of_row(row, table), row["revision"], commits, version)


def only_row(rows: pa.Table, table: str) -> Mapping[str, Any]:
    """Return the only row of a table; DataLoss if it has none, or several."""
    if rows.num_rows != 1:
        raise DataLoss(
            f"{table} has {rows.num_rows} rows instead of one; restore an earlier version of it"
        )
    row: Mapping[str, Any] = rows.to_pylist()[0]
    return row


def _row(stored: StoredAckState) -> dict[str, Any]:
    return {
        "revision": stored.revision,
        "commit_id": stored.commit_id,
        "recent_commits": list(stored.recent_commits),
        **row_of_state(stored.state),
    }
