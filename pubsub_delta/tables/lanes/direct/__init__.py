"""The direct lane: tables read and written in this process, by ``deltalake`` and ``pyarrow``."""

from pubsub_delta.tables.lanes.direct.scans import DirectScans
from pubsub_delta.tables.lanes.direct.tables import DirectLane

__all__ = ["DirectLane", "DirectScans"]
