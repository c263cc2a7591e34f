"""Target tables of table subscriptions: their locations, and their protocol."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import pyarrow as pa

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy.table_configs import parts_of
from pubsub_delta.table_config import TableState
from pubsub_delta.tables.layout import Layout, layout_of, on_disk

FOLDER = "tables"
"""The directory of target tables below the root of a store, unless another one is named."""


class Unwritable(Exception):
    """A target table cannot be written to; the text says why."""

    def __init__(self, state: TableState, why: str) -> None:
        super().__init__(why)
        self.state = state


class Outcome(Enum):
    """The outcome of a write: whether a commit with its number has landed, and which."""

    WRITTEN = "written"
    CANCELLED = "cancelled"
    OTHER = "other"
    """Another write has this number or a higher one: an operator has restored an ack state."""


class Target(Protocol):
    """A table at one version. A writer that uses it after later commits loses nothing.

    ``key``: (application id, number) of a write, as a transaction of Delta; ``write_id``: a text
    that identifies the write among others of the same number.
    """

    @property
    def columns(self) -> pa.Schema:
        """The columns of the table."""

    @property
    def partition_columns(self) -> Sequence[str]:
        """The names of the columns by which the table is partitioned."""

    def outcome(self, key: tuple[str, int], write_id: str) -> Outcome | None:
        """Return the outcome of a number; None if no commit has it."""

    def append(self, rows: pa.Table, key: tuple[str, int], write_id: str) -> None:
        """Append rows in one commit that carries the number.

        Conflict if another commit has taken the number, or has changed the table.
        """

    def cancel(self, key: tuple[str, int], write_id: str) -> None:
        """Use a number up by a commit without rows. Conflict as in ``append``."""


class TableLocations:
    """The locations of target tables.

    Args:
        layout: the layout of the store, whose own tables are refused.
        root: the directory or URL of the tables; None for ``tables`` below the store's root.
    """

    def __init__(self, layout: Layout, root: str | None) -> None:
        self._store = None if layout.in_catalog else on_disk(layout.base) or layout.base
        if root is not None:
            given = layout_of(root, "tables_root")
            if given.in_catalog:
                raise FailedPrecondition(
                    f"tables_root: {root!r} is a catalog schema; a directory or a URL is accepted"
                )
            self.root: str | None = on_disk(given.base) or given.base
        else:
            self.root = None if self._store is None else f"{self._store}/{FOLDER}"

    def path(self, table: str) -> str:
        """Return the path or URL of a table by its name, path or URL.

        Unwritable if it is not below the root, or among the store's own tables.
        """
        if self.root is None:
            raise Unwritable(
                TableState.PERMISSION_DENIED,
                "a store in a catalog has no place for tables of its own; tables_root names one",
            )
        path = "/".join(parts_of(table) or [on_disk(table) or table])
        path = path.rstrip("/") if path.startswith("/") or "://" in path else f"{self.root}/{path}"
        names = path.removeprefix(f"{self.root}/").split("/")
        if not path.startswith(f"{self.root}/") or not all(names) or {".", ".."} & set(names):
            raise Unwritable(
                TableState.PERMISSION_DENIED, f"{table} is not below {self.root}, the tables_root"
            )
        if self._is_of_the_store(path):
            raise Unwritable(
                TableState.PERMISSION_DENIED, f"{table} is among the tables of the store itself"
            )
        return path

    def _is_of_the_store(self, path: str) -> bool:
        """Return whether a path leads to the store's own tables, whatever links it goes by."""
        store = self._store
        if store is None:
            return False
        if "://" not in store:
            path, store = os.path.realpath(path), os.path.realpath(store)
        return f"{path}/".startswith(f"{store}/") and not path.startswith(f"{store}/{FOLDER}/")
