"""Scans of topics in this process: they read few files and columns, one file at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.clock import FIRST_TIME, LAST_TIME, from_micros, to_micros
from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct.attributes import entries, tidied
from pubsub_delta.tables.lanes.direct.errors import translating_errors
from pubsub_delta.tables.lanes.direct.filter_cache import FilterCache, PassingMessages
from pubsub_delta.tables.lanes.direct.filters import matching
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.lanes.direct.table_snapshots import StoredFile, TableSnapshot
from pubsub_delta.tables.lanes.protocol import Condition
from pubsub_delta.tables.lanes.scans import Window

_PART = 15
"""Bits of a position within a part, which has 32,768 positions and two publish times."""
_SLICE = 32 * 1024 * 1024
"""The most bytes of files whose rows are in memory at once in a batched read."""
_AT_ONCE = 16
"""The files whose positions are in memory as numbers; a set of all takes far less."""
_BATCH = 65_536
_END = 2**63 - 1
_CUT_OFF = timedelta(milliseconds=1)
"""Statistics are cut to milliseconds: a time may be later than their maximum."""
_TIMES = to_micros(FIRST_TIME), to_micros(LAST_TIME)
"""The range of publish times; other writers can have stored times beyond it."""


class DirectScans:
    """Implements ``Scans`` for the tables that a direct lane has open."""

    def __init__(self, open_tables: OpenTables) -> None:
        self._open_tables = open_tables
        self._passing = FilterCache()

    def fold(self, table: str, window: Window, filter_: Filter | None = None) -> Positions:
        """Return the stored messages of a window that pass a filter."""
        if filter_ is None:
            return self._open_tables.read(table, lambda snapshot: _fold(snapshot, window))
        return self._open_tables.read(
            table, lambda snapshot: _fold_passing(snapshot, window, filter_, self._passing)
        )

    def parts(self, table: str, window: Window) -> list[Absorbed]:
        """Return the stored messages of a window in parts of neighbouring positions, with times."""
        return _parts(self._read(table, window, ("position", "publish_time")))

    def of_same_keys(self, table: str, of: Window, among: Window) -> Positions:
        """Return the messages of ``among`` whose ordering key is that of a message of ``of``."""
        return self._open_tables.read(table, lambda snapshot: _sharing(snapshot, of, among))

    def followers(self, table: str, of: Window, among: Window) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""
        return self._open_tables.read(table, lambda snapshot: _followers(snapshot, of, among))

    def rows(self, table: str, window: Window, columns: Sequence[str]) -> pa.Table:
        """Return some columns of the messages of a window, ordered by position."""
        needed = dict.fromkeys([*columns, "position"])
        found = self._read(table, window, list(needed))
        return _as_messages(found.sort_by("position").select(list(columns)))

    def batches(
        self, table: str, window: Window, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield what ``rows`` returns a part at a time, so that it need not fit into memory.

        If VACUUM removes a file meanwhile, the rest is read from a newer version.
        """
        needed = list(dict.fromkeys([*columns, "position"]))
        after = -1
        snapshot = self._open_tables.read(table, lambda newest: newest)
        slices = _slices(snapshot, window, needed, after)
        while True:
            with translating_errors(table):
                try:
                    rows = next(slices, None)
                except FileNotFoundError:
                    newer = self._open_tables.read(table, lambda newest: newest)
                    if newer.version == snapshot.version:
                        raise
                    snapshot, slices = newer, _slices(newer, window, needed, after)
                    continue
            if rows is None:
                return
            after = rows["position"][-1].as_py()
            yield from _as_messages(rows.select(list(columns))).to_batches(_BATCH)

    def files(self, table: str, version: int, window: Window) -> list[tuple[str, int, int]]:
        """Return the files that may have messages of a window at a version: path, bytes, rows."""
        with translating_errors(table):
            found = _files(self._open_tables.snapshot_at(table, version), window)
        return [(file.path, file.size, file.rows or 0) for file in found]

    def of_files(
        self, table: str, version: int, paths: Sequence[str], window: Window, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield some columns of the messages of a window that some files had at a version."""
        needed = _needed(window, columns)
        with translating_errors(table):
            snapshot = self._open_tables.snapshot_at(table, version)
            wanted = set(paths)
            files = [file for file in _files(snapshot, window) if file.path in wanted]
        for piece in _pieces_of(snapshot, window, files):
            with translating_errors(table):
                rows = _within(_read_piece(snapshot, piece, needed), window)
            yield from _as_messages(rows.select(list(columns))).to_batches(_BATCH)

    def count(self, table: str, window: Window) -> tuple[int, datetime | None]:
        """Return how many messages a window holds, and the earliest publish time among them."""
        return self._open_tables.read(table, lambda snapshot: _count(snapshot, window))

    def byte_count(self, table: str, window: Window) -> int:
        """Return the bytes of data, attributes (keys and values) and ordering keys of a window."""
        found = self._read(table, window, ("position", "data", "attributes", "ordering_key"))
        texts = [found["data"], found["ordering_key"]]
        texts += [pc.struct_field(entries(found["attributes"]), each) for each in (0, 1)]
        return sum(pc.sum(pc.binary_length(text)).as_py() or 0 for text in texts)

    def _read(self, table: str, window: Window, columns: Sequence[str]) -> pa.Table:
        return self._open_tables.read(table, lambda snapshot: _rows(snapshot, window, columns))


def _fold(snapshot: TableSnapshot, window: Window) -> Positions:
    """Return the positions of a window; for a file that is one run they come from the log."""
    files = _files(snapshot, window)
    known: list[Positions] = []
    if window.earliest is None and window.latest is None:
        runs = [file for file in files if file.is_run()]
        known = [
            Positions.between(run.minimum["position"], run.maximum["position"]) for run in runs
        ]
        files = [file for file in files if not file.is_run()]
    every = Positions.union(known)
    stored = every if window.positions is None else every & window.positions
    some = (files[place : place + _AT_ONCE] for place in range(0, len(files), _AT_ONCE))
    read = (_positions(_rows_of(snapshot, each, window, ("position",))) for each in some)
    return stored | Positions.union(read)


def _fold_passing(
    snapshot: TableSnapshot, window: Window, filter_: Filter, kept: FilterCache
) -> Positions:
    """Return the positions of a window that pass a filter; the results of files are cached."""
    found: list[Positions] = []
    others: list[StoredFile] = []
    for file in _files(snapshot, window):
        passing = kept.find(snapshot.id, file.path, filter_)
        if passing is None and _asks_for_most(window, file):
            passing = _passing(snapshot, file, filter_)
            if passing is not None:
                kept.add(snapshot.id, file.path, filter_, file.rows or 0, passing)
        if passing is not None and passing.is_within(window):
            found.append(passing.positions)
        else:
            others.append(file)
    every = Positions.union(found)
    stored = every if window.positions is None else every & window.positions
    return stored | _positions(_rows_of(snapshot, others, window, ("position",), filter_))


def _passing(snapshot: TableSnapshot, file: StoredFile, filter_: Filter) -> PassingMessages | None:
    """Return the messages of a file that pass a filter; None if one has no publish time."""
    rows = _rows_of(snapshot, [file], Window(), ("position", "publish_time"), filter_)
    if rows["publish_time"].null_count:
        return None
    times = pc.min_max(rows["publish_time"].cast(pa.int64())).as_py()
    return PassingMessages(_positions(rows), times["min"] or 0, times["max"] or 0)


def _asks_for_most(window: Window, file: StoredFile) -> bool:
    """Return whether, by the log, about half of a file or more is in a window."""
    first, last = file.minimum.get("publish_time"), file.maximum.get("publish_time")
    if window.earliest is not None and (first is None or first < window.earliest):
        return False
    if window.latest is not None and (last is None or window.latest < last):
        return False
    if window.positions is None:
        return True
    return 2 * len(window.positions.within(*_range(file))) >= (file.rows or 0)


def _count(snapshot: TableSnapshot, window: Window) -> tuple[int, datetime | None]:
    """Count the rows of a window; for a file within it the count comes from the log."""
    files = _files(snapshot, window)
    whole = {f.path: f for f in files if window.positions is None and _lies_within(f, window)}
    columns = ("position", "publish_time")
    found = _rows_of(snapshot, [f for f in files if f.path not in whole], window, columns)
    earliest = _earliest(found)
    for file in sorted(whole.values(), key=lambda each: each.minimum["publish_time"]):
        if earliest is not None and file.minimum["publish_time"] >= earliest:
            break
        first = _earliest(_rows_of(snapshot, [file], window, columns))
        earliest = min((each for each in (earliest, first) if each is not None), default=None)
    return found.num_rows + sum(file.rows or 0 for file in whole.values()), earliest


def _earliest(rows: pa.Table) -> datetime | None:
    earliest = pc.min(rows["publish_time"].cast(pa.int64())).as_py()
    return None if earliest is None else from_micros(max(_TIMES[0], min(earliest, _TIMES[1])))


def _lies_within(file: StoredFile, window: Window) -> bool:
    """Return whether, by the log, every row of a file is a message within a window's times."""
    first, last = file.minimum.get("publish_time"), file.maximum.get("publish_time")
    whole = file.rows is not None and not any(
        file.nulls.get(name) != 0 for name in ("position", "publish_time")
    )
    if not whole or first is None or last is None:
        return False
    starts = window.earliest is None or window.earliest <= first
    return starts and (window.latest is None or last + _CUT_OFF <= window.latest)


def _sharing(snapshot: TableSnapshot, of: Window, among: Window) -> Positions:
    keys = pc.unique(_keyed(snapshot, of)["ordering_key"])
    rows = _keyed(snapshot, among)
    return _positions(rows.filter(pc.is_in(rows["ordering_key"], value_set=keys)))


def _followers(snapshot: TableSnapshot, of: Window, among: Window) -> Positions:
    keyed = _keyed(snapshot, of).group_by("ordering_key").aggregate([("position", "min")])
    rows = _keyed(snapshot, among)
    place = pc.index_in(rows["ordering_key"], value_set=keyed["ordering_key"])
    first = pc.take(keyed["position_min"].combine_chunks(), place)
    return _positions(rows.filter(pc.greater(rows["position"], first)))  # of no key: null, left out


def _keyed(snapshot: TableSnapshot, window: Window) -> pa.Table:
    rows = _rows(snapshot, window, ("position", "ordering_key"))
    return rows.filter(pc.not_equal(rows["ordering_key"], ""))


def _rows(snapshot: TableSnapshot, window: Window, columns: Sequence[str]) -> pa.Table:
    return _rows_of(snapshot, _files(snapshot, window), window, columns)


def _files(snapshot: TableSnapshot, window: Window) -> list[StoredFile]:
    """Return the files that may have messages of a window, by the statistics in the log."""
    where: list[Condition] = []
    if window.positions is not None:
        if not window.positions:
            return []
        where += [("position", ">=", window.positions.min)]
        where += [("position", "<=", window.positions.max)]
    if window.earliest is not None:
        where += [("publish_time", ">=", window.earliest)]
        where += [("publish_date", ">=", window.earliest.astimezone(timezone.utc).date())]
    if window.latest is not None:
        where += [("publish_time", "<=", window.latest)]
        where += [("publish_date", "<=", window.latest.astimezone(timezone.utc).date())]
    files = snapshot.files(where)
    return [file for file in files if _meets(window, *_range(file))]


def _range(file: StoredFile) -> tuple[int, int]:
    first, last = file.minimum.get("position"), file.maximum.get("position")
    return 0 if first is None else first, _END if last is None else last


def _meets(window: Window, first: int, last: int) -> bool:
    return window.positions is None or window.positions.meets(first, last)


def _rows_of(
    snapshot: TableSnapshot,
    files: Sequence[StoredFile],
    window: Window,
    columns: Sequence[str],
    filter_: Filter | None = None,
) -> pa.Table:
    needed = _needed(window, columns, filter_)
    read = snapshot.read(files, needed, lambda first, last: _meets(window, first, last))
    return pa.concat_tables(_within(rows, window, filter_).select(list(columns)) for rows in read)


def _needed(window: Window, columns: Sequence[str], filter_: Filter | None = None) -> list[str]:
    timed = window.earliest is not None or window.latest is not None
    more = ["position", *(["publish_time"] if timed else []), *(["attributes"] if filter_ else [])]
    return list(dict.fromkeys([*columns, *more]))


def _within(rows: pa.Table, window: Window, filter_: Filter | None = None) -> pa.Table:
    """Return the rows of a window that pass a filter; rows without a position are left out."""
    if rows["position"].null_count:
        rows = rows.filter(pc.is_valid(rows["position"]))
    if window.positions is not None:
        rows = rows.filter(pa.array(window.positions.holds(rows["position"].to_numpy())))
    if window.earliest is not None:
        rows = rows.filter(pc.greater_equal(rows["publish_time"], _moment(window.earliest)))
    if window.latest is not None:
        rows = rows.filter(pc.less_equal(rows["publish_time"], _moment(window.latest)))
    return rows if filter_ is None else rows.filter(matching(filter_, rows["attributes"]))


def _moment(time: datetime) -> pa.Scalar:
    return pa.scalar(time, pa.timestamp("us", "UTC"))


def _positions(rows: pa.Table) -> Positions:
    return Positions.from_array(rows["position"].to_numpy())


def _parts(rows: pa.Table) -> list[Absorbed]:
    if not rows.num_rows:
        return []
    rows = rows.sort_by("position")
    positions = rows["position"].to_numpy()
    times = pc.fill_null(rows["publish_time"].cast(pa.int64()), 0).to_numpy()
    times = np.clip(times, *_TIMES)
    starts = np.flatnonzero(np.diff(positions >> _PART, prepend=-1))
    earliest = np.minimum.reduceat(times, starts).tolist()
    latest = np.maximum.reduceat(times, starts).tolist()
    return [
        Absorbed(Positions.from_array(part), from_micros(first), from_micros(last))
        for part, first, last in zip(np.split(positions, starts[1:]), earliest, latest, strict=True)
    ]


@dataclass(frozen=True)
class _Piece:
    """A file, or a row group of a large one, and the range of positions that it may have."""

    first: int
    last: int
    size: int
    file: StoredFile
    group: int | None = None


def _slices(
    snapshot: TableSnapshot, window: Window, columns: Sequence[str], after: int
) -> Iterator[pa.Table]:
    """Yield the rows of a window in slices of neighbouring positions, in order; none is empty.

    If the positions of files overlap, a file is read once for every slice with its rows.
    """
    files = _files(snapshot, window)
    pieces = sorted(_pieces_of(snapshot, window, files), key=lambda piece: piece.first)
    ends, size = [], 0
    for piece in pieces:
        if size and size + piece.size > _SLICE:
            ends.append(piece.first)
            size = 0
        size += piece.size
    needed = _needed(window, columns)
    for start, end in zip([0, *ends], [*ends, _END], strict=True):
        low, high = max(start, after + 1), end - 1 if end < _END else _END
        parts = []
        for piece in pieces:
            if piece.first <= high and piece.last >= low:
                rows = _within(_read_piece(snapshot, piece, needed), window).select(columns)
                kept = pc.and_(
                    pc.greater_equal(rows["position"], low), pc.less_equal(rows["position"], high)
                )
                parts.append(rows.filter(kept))
        found = pa.concat_tables(parts) if parts else None
        if found is not None and found.num_rows:
            yield found.sort_by("position")


def _pieces_of(
    snapshot: TableSnapshot, window: Window, files: Sequence[StoredFile]
) -> Iterator[_Piece]:
    for file in files:
        if file.size <= _SLICE:
            yield _Piece(*_range(file), file.size, file)
            continue
        for group, first, last, size in snapshot.groups(file):
            if _meets(window, first, last):
                yield _Piece(first, last, size, file, group)


def _read_piece(snapshot: TableSnapshot, piece: _Piece, columns: Sequence[str]) -> pa.Table:
    if piece.group is None:
        return snapshot.read([piece.file], columns)[0]
    return snapshot.read_group(piece.file, piece.group, columns)


def _as_messages(rows: pa.Table) -> pa.Table:
    """Complete messages of other writers: empty data for null, and distinct attribute keys."""
    for place, name in enumerate(rows.column_names):
        column = rows[name]
        if name == "data" and column.null_count:
            rows = rows.set_column(place, rows.field(name), pc.fill_null(column, b""))
        elif name == "attributes":
            rows = rows.set_column(place, rows.field(name), tidied(column))
    return rows
