"""The messages of one topic: append them, find new ones, and read them by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from pubsub_delta.clock import UTC
from pubsub_delta.policy.ack_state import Absorbed, Span
from pubsub_delta.policy.filters import Filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.schemas.validation import SchemaValidator
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.lanes.protocol import Append, Conflict, DataFile, LoggedCommit, Where
from pubsub_delta.tables.lanes.scans import Scans, Window
from pubsub_delta.tables.messages.commits import (
    Commit,
    History,
    NewCommits,
    publish_metadata,
)
from pubsub_delta.tables.messages.position_allocator import PositionAllocator
from pubsub_delta.tables.schemas import MESSAGE_COLUMNS, MESSAGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MICROSECOND = timedelta(microseconds=1)
READ = ("position", *MESSAGE_COLUMNS)
"""The columns of a message that is read, with its position."""


class Messages:
    """The messages table of one topic, and the table by which its positions are allocated."""

    def __init__(
        self,
        lanes: Lanes,
        table: str,
        positions_table: str,
        allocator: PositionAllocator,
        history: History,
    ) -> None:
        self._lanes = lanes
        self._lane = lanes.control
        self._table = table
        self._positions_table = positions_table
        self._allocator = allocator
        self.history = history

    @property
    def table(self) -> str:
        """The name of the table in SQL."""
        return self._table

    def create(self) -> None:
        """Create the empty table."""
        self._allocator.create(self._positions_table)
        self._lane.create(self._table, MESSAGES)

    def exists(self) -> bool:
        """Return whether the table exists."""
        return self._lane.exists(self._table)

    # Writing

    def append(
        self,
        rows: pa.Table,
        publish_time: datetime,
        publish_id: str,
        transaction: tuple[str, int] | None = None,
    ) -> Positions | None:
        """Append messages (data, attributes, ordering_key) in one commit, in their order.

        Return their positions; None, without a write, if the transaction, or a later one of its
        application, has landed before.
        """
        count = rows.num_rows
        with self._lane.locked(self._table):
            first = self._allocator.allocate(self._positions_table, count, self.history)
            stamped = pa.table(
                {
                    "position": pa.array(range(first, first + count), pa.int64()),
                    "publish_date": pa.repeat(day_of(publish_time), count).cast(pa.date32()),
                    "publish_time": pa.repeat(
                        pa.scalar(publish_time, MESSAGES.columns.field("publish_time").type), count
                    ),
                    **{name: rows[name] for name in ("ordering_key", "attributes", "data")},
                },
                schema=MESSAGES.columns,
            )
            metadata = publish_metadata(publish_time, publish_id, first, first + count, count)
            known_version = self.history.newest_version()
            try:
                made = self._lane.append(self._table, stamped, metadata, transaction, known_version)
            except Conflict:
                # The client of an object store repeats a put whose response was lost, and can then
                # find its own commit, which is not a lost race.
                commit = self.history.published_as(publish_id)
                if commit is None or commit.first_position != first:
                    raise
                made = Append(landed=True)
            if made.version is not None:
                self.history.add(LoggedCommit(made.version, publish_time, "WRITE", {}, metadata))
        return Positions.between(first, first + count - 1) if made else None

    def reserve(self, count: int) -> int:
        """Reserve a range of positions for files that tasks write, and return the first one."""
        return self._allocator.reserve(self._positions_table, count, self.history)

    def was_last_of(self, transaction: tuple[str, int]) -> bool:
        """Return whether a transaction is known to be the last of its application that landed."""
        application, version = transaction
        return self._lane.transaction_version(self._table, application) == version

    def append_frame(
        self,
        rows: DataFrame,
        publish_time: datetime,
        publish_id: str,
        transaction: tuple[str, int] | None,
        partitions: int,
        validator: SchemaValidator | None = None,
    ) -> bool:
        """Append a DataFrame that ``publishing.conformed`` has returned, in one commit, or nothing.

        ``validator``: checks the data of the messages as they are written. False if the transaction
        has landed before; TooManyPartitions for more than ``partitions``.
        """
        from pubsub_delta.tables.lanes.spark import publishing  # this is what needs Spark

        writer = self._lanes.writer_for(self._table)
        count = partitions * publishing.ROWS_OF_PARTITION
        first = self._allocator.reserve(self._positions_table, count, self.history)
        metadata = publish_metadata(publish_time, publish_id, first, first + count, None)
        return publishing.append_frame(
            writer,
            self._table,
            rows,
            first,
            publish_time,
            metadata,
            transaction,
            partitions,
            validator,
        )

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock of a local table: no other process adds or deletes messages."""
        return self._lane.locked(self._table)

    def discard_before(self, time: datetime, after_version: int, *, exact: bool) -> bool:
        """Delete the messages published on days before a time; with ``exact``, before that time.

        Whole days are deleted by metadata alone. Return False, and delete nothing, if a commit
        after the given version, or beside this one, added messages that old, as a slow publisher's.
        """
        with self.locked():
            late = self.history.commits_after(after_version)
            if not late.is_complete or any(c.may_add(None, time) for c in late.commits):
                return False
            try:
                self._lane.delete(self._table, _too_old(time, exact=exact))
            except Conflict:
                return False
        return True

    def optimize(self) -> int:
        """OPTIMIZE: rewrite small files as few large ones; return how many were replaced."""
        return self._lane.compact(self._table)

    def vacuum(self) -> None:
        """VACUUM: remove the files that no retained version needs."""
        self._lane.vacuum(self._table)

    def clean_log(self, keep: timedelta) -> int:
        """Remove the commits older than ``keep`` by the machine's clock; return their number.

        ``keep`` becomes the table's log retention. That property is changed only if it differs,
        since the change aborts concurrent writers.
        """
        return self._lane.clean_log(self._table, keep)

    # New messages

    def absorb(
        self,
        new: NewCommits,
        filter_: Filter | None = None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Absorbed]:
        """Find the messages that commits have added and that are still stored.

        Only those published in [earliest, before), where such times are given; with a filter, only
        those that pass it. Where the log has not all of the commits, everything that is stored
        counts as added by them: nothing is lost, and what was acknowledged comes again.
        """
        if new.is_complete:
            adding = [commit for commit in new.commits if commit.may_add(earliest, before)]
            parts = (self._added(commit, new.removes_messages) for commit in adding)
            found = [part for part in parts if part]
        else:
            found = self._parts(earliest, None if before is None else before - _MICROSECOND)
        return found if filter_ is None else self._passing(found, filter_)

    def _added(self, publish: Commit, removed: bool) -> Absorbed | None:
        """Return the stored messages of a publish."""
        time = publish.publish_time
        assert time is not None
        found = self.positions_of(publish)
        if removed and publish.dense:
            found &= self._stored(found.min, found.max, time)
        return Absorbed(found, time, time) if found else None

    def positions_of(self, publish: Commit) -> Positions:
        """Return the positions of the messages of a publish."""
        first, end = publish.first_position, publish.end_position
        if publish.dense:
            return Positions.between(first, end - 1) if end > first else Positions()
        assert publish.publish_time is not None
        return self._stored(first, end - 1, publish.publish_time)

    def _stored(self, first: int, last: int, time: datetime) -> Positions:
        """Return the stored positions of a range, of messages published at a time.

        A file whose positions are one run by its statistics is not opened. The range of a DataFrame
        has far more positions than messages, so it never becomes a set.
        """
        if self._lane.name == "direct":
            files = [each for each in self._lane.files(self._table) if _overlaps(each, first, last)]
            files.sort(key=lambda each: each.position_min or 0)
            apart = all((a.position_max or 0) < (b.position_min or 0) for a, b in pairwise(files))
            whole = [run for each in files if (run := _run_of(each)) is not None]
            if apart and len(whole) == len(files):
                return Positions.union(whole).within(first, last)
        return self._fold(Window(None, time, time)).within(first, last)

    def _passing(self, parts: list[Absorbed], filter_: Filter) -> list[Absorbed]:
        if not parts:
            return []
        window = Window(
            Positions.union(part.positions for part in parts),
            min(part.publish_time_min for part in parts),
            max(part.publish_time_max for part in parts),
        )
        passing = self._fold(window, filter_)
        kept = (
            Absorbed(part.positions & passing, part.publish_time_min, part.publish_time_max)
            for part in parts
        )
        return [part for part in kept if part.positions]

    def _parts(self, earliest: datetime | None, latest: datetime | None) -> list[Absorbed]:
        window = Window(None, earliest, latest)
        return self.scans(window).parts(self._table, window)

    def _counted(self, window: Window) -> tuple[int, datetime | None]:
        return self.scans(window).count(self._table, window)

    def _fold(self, window: Window, filter_: Filter | None = None) -> Positions:
        return self.scans(window).fold(self._table, window, filter_)

    def scans(self, window: Window) -> Scans:
        """Return the scans for a window: Spark's where it has many messages."""
        if window.positions is not None:
            return self._lanes.scans(len(window.positions))
        if not self._lanes.has_spark or self._lane.name == "spark":
            return self._lanes.local_scans
        return self._lanes.scans(sum(each.rows or 0 for each in self._lane.files(self._table)))

    def published_within(
        self, earliest: datetime, latest: datetime
    ) -> tuple[Positions, datetime | None]:
        """Return the messages published between two times, and the first publish time."""
        publishes = self.history.publishes_within(earliest, latest)
        if publishes is not None:
            parts = [part for part in (self._added(c, False) for c in publishes) if part]
        else:
            parts = self._parts(earliest, latest)
        first = min((part.publish_time_min for part in parts), default=None)
        return Positions.union(part.positions for part in parts), first

    def passing(self, spans: Sequence[Span], filter_: Filter | None) -> Positions:
        """Return the messages of spans that pass a filter."""
        return self._fold(Window.of(spans), filter_)

    def earliest(self, spans: Sequence[Span]) -> datetime | None:
        """Return the publish time of the first message of spans, None if none is stored."""
        return self._counted(Window.of(spans))[1]

    # Reading

    def rows(self, spans: Sequence[Span], columns: Sequence[str] = READ) -> pa.Table:
        """Return the messages of spans, ordered by position."""
        return self._lanes.local_scans.rows(self._table, Window.of(spans), columns)

    def rows_at(self, positions: Positions) -> pa.Table:
        """Return the messages of some positions, of any publish time."""
        return self._lanes.local_scans.rows(self._table, Window(positions), READ)

    def batches(
        self, spans: Sequence[Span], columns: Sequence[str] = READ
    ) -> Iterator[pa.RecordBatch]:
        """Yield the messages of spans, ordered by position, a part at a time."""
        return self._lanes.local_scans.batches(self._table, Window.of(spans), columns)

    def rows_within(self, window: Window) -> pa.Table:
        """Return the messages of a window, ordered by position."""
        return self._lanes.local_scans.rows(self._table, window, READ)

    def count(self) -> int:
        """Return how many messages are stored."""
        return self._counted(Window())[0]

    def count_since(self, time: datetime) -> tuple[int, datetime | None]:
        """Return how many messages were published from a time on, and the first publish time."""
        return self._counted(Window(None, time, None))

    def count_before(self, time: datetime, *, exact: bool) -> int:
        """Return how many messages ``discard_before`` would delete."""
        bound = time if exact else _midnight(time)
        return self._counted(Window(None, None, bound - _MICROSECOND))[0]

    def files(self) -> list[DataFile]:
        """Return the files of the table, from its log."""
        return self._lane.files(self._table)

    def positions_within(self, positions: Positions) -> Positions:
        """Return those of some positions whose messages are stored."""
        return self._fold(Window(positions)) if positions else Positions()

    def earlier_than(self, positions: Positions, time: datetime) -> Positions:
        """Return those of some messages that were published before a time."""
        return self._fold(Window(positions, None, time - _MICROSECOND)) if positions else positions

    def count_by_day(self) -> dict[date, int]:
        """Return the number of stored messages by day of publishing."""
        counted: dict[date, int] = {}
        for each in self._lane.files(self._table):
            if each.publish_date is not None and each.rows:
                counted[each.publish_date] = counted.get(each.publish_date, 0) + each.rows
        return counted

    def byte_count(self, spans: Sequence[Span] | None = None) -> int:
        """Return the bytes of the messages of spans, or of all stored messages."""
        window = Window() if spans is None else Window.of(spans)
        return self.scans(window).byte_count(self._table, window)

    def file_bytes(self) -> int:
        """Return the compressed bytes of the topic's files."""
        return sum(each.size for each in self._lane.files(self._table))

    # Ordering keys: policy's ``ordering.Keys``

    def of_same_keys(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` whose key is that of a message of ``of``."""
        scans = self._lanes.scans(sum(map(len, (*of, *among))))
        return scans.of_same_keys(self._table, Window.of(of), Window.of(among))

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""
        scans = self._lanes.scans(sum(map(len, (*of, *among))))
        return scans.followers(self._table, Window.of(of), Window.of(among))


def day_of(time: datetime) -> date:
    """Return the day of a time in UTC: a value of ``publish_date``."""
    return time.astimezone(UTC).date()


def _midnight(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _too_old(time: datetime, *, exact: bool) -> Where:
    """Return the conditions of messages published before a time, or on days before it."""
    if not exact:
        return [("publish_date", "<", day_of(time))]
    return [("publish_date", "<=", day_of(time)), ("publish_time", "<", time)]


def _overlaps(file: DataFile, first: int, last: int) -> bool:
    if file.position_min is None or file.position_max is None:
        return True
    return file.position_min <= last and file.position_max >= first


def _run_of(file: DataFile) -> Positions | None:
    """Return the positions of a file that are one run by its statistics."""
    if file.rows is None or file.position_min is None or file.position_max is None:
        return None
    is_run = file.position_max - file.position_min + 1 == file.rows
    return Positions.between(file.position_min, file.position_max) if is_run else None
