"""A table of the registry: its rows, changed by compare-and-swap.

Each row has an ``etag``, which every change replaces. A change is decided on the row that was read,
and written only if the row still has that etag. Else the row is read and decided on again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from pubsub_delta.errors import DataLoss, FailedPrecondition
from pubsub_delta.tables.lanes.protocol import Conflict, Lane, Match, Merge, TableMissing, Where
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.lanes.s3_writers import LANE_PROPERTY
from pubsub_delta.tables.layout import path_of
from pubsub_delta.tables.layout_version import CATALOG_PROPERTY, check_layout_version
from pubsub_delta.tables.schemas import TEXT, TableSchema

Row = Mapping[str, Any]
Check = Callable[[Row], bool]
"""Returns whether a row can be changed; it can raise an error that refuses the change."""

COMPACT_INTERVAL = 32
"""Versions after which the small files of single rows are joined."""

_SAME_ETAG: Sequence[Match] = (("uid", "=", "uid"), ("etag", "=", "expected_etag"))


class ResourceTable:
    """The rows of one kind of resource, by uid.

    Args:
        lane: reads and writes tables.
        table: its name in SQL.
        schema: its columns.
        new_id: makes the etags.
        create_all: creates the tables of the registry, before the first row of any.
        created_later: the tables that ``create_all`` creates after this one.
        is_named: returns whether a row of another table names a row that this one has or had.
    """

    def __init__(
        self,
        lane: Lane,
        table: str,
        schema: TableSchema,
        new_id: Callable[[], str],
        create_all: Callable[[], None],
        created_later: Sequence[str] = (),
        is_named: Callable[[], bool] = lambda: False,
    ) -> None:
        self._created_later = created_later
        self._is_named = is_named
        self._lane = lane
        self._table = table
        self._schema = schema
        self._new_id = new_id
        self._create_all = create_all
        self._last: tuple[int | None, list[Row]] = (None, [])
        self._last_id: Hashable = None
        self._added: tuple[int, Row] | None = None

    def rows(self) -> list[Row]:
        """Return all rows, which are cached by commit; none if the table was never created."""
        return self._read()[1]

    def is_created(self) -> bool:
        """Return whether the table was ever created; DataLoss if it was, and is gone."""
        return self._read()[0] >= 0

    def _read(self) -> tuple[int, list[Row]]:
        """Return all rows, and their version or an earlier one."""
        try:
            version, table_id = self._lane.last_commit(self._table)
            last, rows = self._last
            if (version, table_id) != (last, self._last_id):
                self._check_layout_version()  # rows of another layout might not be read at all
                found, read = self._lane.read_latest(self._table, version)
                if read not in (None, version):
                    self._check_layout_version()
                rows, version = found.to_pylist(), version if read is None else read
                self._last, self._last_id = (version, rows), table_id
        except TableMissing:
            self._check_not_lost()
            return -1, []
        return version, rows

    def _check_not_lost(self) -> None:
        """Raise DataLoss for a table that was created and is gone, as after half a restore.

        Without its rows ``maintain`` would delete the messages that they keep. A table that is
        created after this one tells that there was one, and so does a row that names one of its
        rows; another process may have created both since this one was looked for.
        """
        was_created = any(map(self._lane.exists, self._created_later)) or self._is_named()
        if was_created and not self._lane.exists(self._table):
            raise DataLoss(
                f"{self._table}: this table of the registry is gone, with all resources that it "
                "held: restore it from a copy"
            )

    def _check_layout_version(self) -> None:
        try:
            check_layout_version(self._table, self._lane.properties(self._table))
        except FailedPrecondition:
            self._last = (None, [])  # so that an insert checks again
            raise

    def row(self, uid: str) -> Row | None:
        """Return the row of that uid, or None."""
        return _of_uid(self.rows(), uid)

    def add(self, row: Row, taken: Sequence[Match]) -> bool:
        """Add a row unless a stored one matches ``taken``; return whether it was added."""

        def attempt() -> bool:
            try:
                return self._insert(row, taken)
            except TableMissing:
                self._create_all()
            return self._insert(row, taken)

        added = repeat_on_conflict(attempt, row["name"])
        if added:
            self._compact_at_times()
        return added

    def _compact_at_times(self) -> None:
        """Join small files about every ``COMPACT_INTERVAL`` commits.

        The version of the commit is estimated as the one after the last read: reading it costs a
        request.
        """
        with suppress(Exception):  # the row has landed, whether or not this succeeds
            read = self._last[0]
            version = self._lane.version(self._table) if read is None else read + 1
            if version % COMPACT_INTERVAL == 0:
                self._lane.compact(self._table)

    def _insert(self, row: Row, taken: Sequence[Match]) -> bool:
        names = self._schema.columns.names
        new = {**{name: row.get(name) for name in names}, "etag": self._new_id()}
        rows = pa.Table.from_pylist([new], schema=self._schema.columns)
        if self._last[0] is None:  # nothing was read yet, so its layout was not checked
            self._check_layout_version()
        try:
            added = self._lane.merge(self._table, rows, Merge(on=taken, insert=True)) > 0
        except TableMissing:
            raise
        except Exception:  # also a Conflict: see _has_landed
            if self.row(row["uid"]) is None:
                raise
            return True
        read = self._last[0]
        self._added = (read, new) if added and read is not None else None
        return added

    def change(
        self,
        uid: str,
        columns: Row | Callable[[Row], Row],
        check: Check = lambda _: True,
        mark: str = "",
    ) -> bool:
        """Change columns of a row; return whether the row passed ``check``.

        ``columns``: their new values, or a function that returns them for the stored row. ``mark``:
        the beginning of the new etag; the next change ends it.
        """

        def attempt() -> bool:
            version, rows = self._read()
            row = _of_uid(rows, uid)
            if row is None or not check(row):
                return False
            self._swap(row, columns(row) if callable(columns) else columns, version, mark)
            return True

        return repeat_on_conflict(attempt, lambda: self._name(uid))

    def change_added(self, uid: str, columns: Row, check: Check) -> bool:
        """Change columns of a row that this process has just added, as ``change`` does.

        The first attempt uses the row as it was added, without a read: it fails if the row has
        changed.
        """
        added, self._added = self._added, None
        if added is not None and added[1]["uid"] == uid:
            with suppress(Conflict):
                self._swap(added[1], columns, added[0])
                return True
        return self.change(uid, columns, check)

    def _swap(self, row: Row, columns: Row, version: int, mark: str = "") -> None:
        etag = mark + self._new_id()
        new = {"uid": row["uid"], "expected_etag": row["etag"], **columns, "etag": etag}
        fields = [
            pa.field("expected_etag", TEXT)
            if name == "expected_etag"
            else self._schema.columns.field(name)
            for name in new
        ]
        rows = pa.Table.from_pylist([new], schema=pa.schema(fields))
        merge = Merge(on=_SAME_ETAG, update=[*columns, "etag"])
        try:
            changed = self._lane.merge(self._table, rows, merge)
        except TableMissing:
            raise
        except Exception:
            if not self._has_landed(row, etag, version):
                raise
            return
        if not changed:
            raise Conflict(f"{row['name']} was changed by another writer")

    def _has_landed(self, before: Row, etag: str, version: int) -> bool:
        """Return whether a change whose response was lost has landed after a version.

        The client of an object store repeats a put whose response was lost, and can then find its
        own commit: so a Conflict may have landed, too. Other writers may have changed the row
        since.
        """
        newest, rows = self._read()
        now = _of_uid(rows, before["uid"])
        if now is not None and now["etag"] in (before["etag"], etag):
            return bool(now["etag"] == etag)
        ours: Where = [("etag", "=", etag)]
        return any(
            self._lane.read(self._table, ours, ["etag"], between).num_rows
            for between in range(newest - 1, version, -1)
        )

    def remove(self, uid: str, check: Check = lambda _: True) -> bool:
        """Delete a row; return whether it existed and passed ``check``."""

        def attempt() -> bool:
            row = self.row(uid)
            if row is None or not check(row):
                return False
            unchanged: Where = [("uid", "=", uid), ("etag", "=", row["etag"])]
            try:
                if self._lane.delete(self._table, unchanged, self._new_id()):
                    return True
                raise Conflict(f"{row['name']} was changed by another writer")
            except Conflict:
                raise
            except Exception:
                if self.row(uid) is not None:
                    raise
                return True

        return repeat_on_conflict(attempt, lambda: self._name(uid))

    def _name(self, uid: str) -> str:
        """Return the name of a row as it was read last."""
        row = _of_uid(self._last[1], uid)
        return uid if row is None else row["name"]

    def version(self) -> int | None:
        """Return the version of the table, None without a table; DataLoss if it is damaged."""
        try:
            return self._lane.version(self._table)
        except TableMissing:
            return None

    def create(self) -> None:
        """Create the table unless it exists; it names the only lane that may write on S3."""
        in_catalog = {CATALOG_PROPERTY: "true"} if path_of(self._table) is None else {}
        properties = {**self._schema.properties, LANE_PROPERTY: self._lane.name, **in_catalog}
        self._lane.create(self._table, replace(self._schema, properties=properties))

    def vacuum(self) -> None:
        """Join small files, and VACUUM unneeded ones."""
        if self._lane.exists(self._table):
            with suppress(Conflict):  # another writer was faster; the next run compacts
                self._lane.compact(self._table)
            self._lane.vacuum(self._table)


def _of_uid(rows: list[Row], uid: str) -> Row | None:
    return next((row for row in rows if row["uid"] == uid), None)
