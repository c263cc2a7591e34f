"""An open store, as the methods of PubSub use it."""

from __future__ import annotations

from typing import Protocol

from pubsub_delta.clock import CheckedClock
from pubsub_delta.names import ResourceName
from pubsub_delta.tables.store import Tables


class Store(Protocol):
    """The tables, the project of short ids, and the clock: PubSub as its methods see it."""

    _tables: Tables
    _project: str
    _clock: CheckedClock

    def _topic(self, name: str) -> ResourceName: ...

    def _subscription(self, name: str) -> ResourceName: ...

    def _snapshot(self, name: str) -> ResourceName: ...

    def _project_or(self, project: str | None) -> str: ...
