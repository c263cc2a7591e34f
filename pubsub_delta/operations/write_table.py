"""Write: what a table subscription has, into its table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pubsub_delta.delivery import table_runs
from pubsub_delta.delivery.table_runs import TableWrites
from pubsub_delta.names import ResourceName
from pubsub_delta.tables.store import Tables

__all__ = ["TableWrites", "write_table"]


def write_table(
    tables: Tables,
    name: ResourceName,
    clock: Callable[[], datetime],
    slices: int | None = None,
    *,
    forward: bool = True,
) -> TableWrites:
    """Write the messages of a subscription to its table, each once, as ``table_runs.run``."""
    return table_runs.run(tables, name, clock, slices, forward=forward)
