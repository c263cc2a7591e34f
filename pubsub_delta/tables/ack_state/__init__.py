"""Ack states: the unacknowledged messages of each subscription and snapshot."""

from pubsub_delta.tables.ack_state.snapshots import SnapshotTables
from pubsub_delta.tables.ack_state.states import AckStates, AckStateStorage, Decide, StoredAckState
from pubsub_delta.tables.ack_state.tables import AckStateTables

__all__ = [
    "AckStateStorage",
    "AckStateTables",
    "AckStates",
    "Decide",
    "SnapshotTables",
    "StoredAckState",
]
