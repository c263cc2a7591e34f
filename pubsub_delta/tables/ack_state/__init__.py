"""Ack states: what each subscription remembers of its topic, and what snapshots hold of it."""

from pubsub_delta.tables.ack_state.snapshots import SnapshotTables
from pubsub_delta.tables.ack_state.states import AckStates, Decide, Port, Stored
from pubsub_delta.tables.ack_state.tables import AckStateTables

__all__ = ["AckStateTables", "AckStates", "Decide", "Port", "SnapshotTables", "Stored"]
