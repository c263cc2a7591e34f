"""What is stored of a topic's messages: which are new, and messages by position."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby, pairwise

import pyarrow as pa

from pubsub_delta.clock import UTC, end_of_day
from pubsub_delta.policy.ack_state import Absorbed, Span
from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.lanes.protocol import DataFile
from pubsub_delta.tables.lanes.scans import Scans, Window
from pubsub_delta.tables.messages.commits import Commit, History, NewCommits
from pubsub_delta.tables.schemas import MESSAGE_COLUMNS

_MICROSECOND = timedelta(microseconds=1)
_KEPT = "delta.deletedFileRetentionDuration"
_INTERVAL = re.compile(r"interval\s+(\d{1,6})\s+(second|minute|hour|day|week)s?", re.IGNORECASE)
READ = ("position", *MESSAGE_COLUMNS)
"""The columns of a message that is read, with its position."""


class StoredMessages:
    """The messages that the table of one topic holds. Nothing here writes."""

    def __init__(self, lanes: Lanes, table: str, history: History) -> None:
        self._lanes = lanes
        self._lane = lanes.control
        self._table = table
        self.history = history

    @property
    def table(self) -> str:
        """The name of the table in SQL."""
        return self._table

    def exists(self) -> bool:
        """Return whether the table exists."""
        return self._lane.exists(self._table)

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
            found = self._added(adding, new.removes_messages)
        else:
            found = self._parts(earliest, None if before is None else before - _MICROSECOND)
        return found if filter_ is None else self._passing(found, filter_)

    def _added(self, publishes: Sequence[Commit], removed: bool) -> list[Absorbed]:
        """Return the stored messages of publishes.

        Those of neighbours that their commits do not tell are read together: one read for each of
        thousands would take hours.
        """
        found: list[Absorbed] = []
        for told, some in groupby(publishes, lambda each: each.dense and not removed):
            group = list(some)
            parts = map(self.positions_of, group) if told else self._stored(group)
            for each, positions in zip(group, parts, strict=True):
                assert each.publish_time is not None
                if positions:
                    found.append(Absorbed(positions, each.publish_time, each.publish_time))
        return found

    def positions_of(self, publish: Commit) -> Positions:
        """Return the positions of the messages of a publish."""
        first, end = publish.first_position, publish.end_position
        if publish.dense:
            return Positions.between(first, end - 1) if end > first else Positions()
        return next(self._stored([publish]))

    def _stored(self, publishes: Sequence[Commit]) -> Iterator[Positions]:
        """Yield the stored positions of each of some publishes.

        A file whose positions are one run by its statistics is not opened. The range of a DataFrame
        has far more positions than messages, so it never becomes a set.
        """
        first, last = _range(publishes)
        if self._lane.name == "direct":
            files = [each for each in self._lane.files(self._table) if _overlaps(each, first, last)]
            files.sort(key=lambda each: each.position_min or 0)
            apart = all((a.position_max or 0) < (b.position_min or 0) for a, b in pairwise(files))
            whole = [run for each in files if (run := _run_of(each)) is not None]
            if apart and len(whole) == len(files):
                return _of_each(publishes, Positions.union(whole))
        times = [each.publish_time for each in publishes if each.publish_time is not None]
        return _of_each(publishes, self._fold(Window(None, min(times), max(times))))

    def _passing(self, parts: list[Absorbed], filter_: Filter) -> list[Absorbed]:
        if not parts:
            return []
        window = Window(
            Positions.union(part.positions for part in parts),
            min(part.publish_time_min for part in parts),
            max(part.publish_time_max for part in parts),
        )
        passing = self._fold(window.on_whole_days(), filter_)
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
            return self._lanes.scans(self._table, len(window.positions))
        if not self._lanes.has_spark or self._lane.name == "spark":
            return self._lanes.local_scans
        count = sum(each.rows or 0 for each in self._lane.files(self._table))
        return self._lanes.scans(self._table, count)

    def published_within(
        self, earliest: datetime, latest: datetime
    ) -> tuple[Positions, datetime | None]:
        """Return the messages published between two times, and the first publish time."""
        publishes = self.history.publishes_within(earliest, latest)
        if publishes is not None:
            parts = self._added(publishes, False)
        else:
            parts = self._parts(earliest, latest)
        first = min((part.publish_time_min for part in parts), default=None)
        return Positions.union(part.positions for part in parts), first

    def passing(self, spans: Sequence[Span], filter_: Filter | None) -> Positions:
        """Return the messages of spans that pass a filter."""
        return self._fold(Window.of(spans).on_whole_days(), filter_)

    def earliest(self, spans: Sequence[Span]) -> datetime | None:
        """Return the publish time of the first message of spans, None if none is stored."""
        return self._counted(Window.of(spans))[1]

    def version_to_stream(self, since: datetime, now: datetime) -> int | None:
        """Return a version from which a stream has what was published since a time.

        None if all stored messages have to be read for that: the log does not reach back so far, or
        VACUUM may have removed files of such a version, which others have replaced. ``now``: by the
        machine's clock, as VACUUM goes by it.
        """
        first = self.history.first_version_since(since)
        if first is None:
            return None
        commits = self.history.logged(self.history.newest_version() - first + 1)
        kept = _kept_for(self._lane.properties(self._table).get(_KEPT, ""))
        is_kept = any(each.version == first and now - kept < each.time for each in commits)
        return first if is_kept else None

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

    def count(self, since: datetime | None = None) -> tuple[int, datetime | None]:
        """Return how many messages were published, from a time on, and the first publish time."""
        return self._counted(Window(None, since, None))

    def count_before(self, time: datetime) -> int:
        """Return how many messages were published before a time."""
        return self._counted(Window(None, None, time - _MICROSECOND))[0]

    def files(self) -> list[DataFile]:
        """Return the files of the table, from its log."""
        return self._lane.files(self._table)

    def positions_within(self, positions: Positions) -> Positions:
        """Return those of some positions whose messages are stored."""
        return self._fold(Window(positions)) if positions else Positions()

    def not_discarded(self, positions: Positions) -> Positions:
        """Return those of some positions that are stored, and that nobody has announced to delete.

        The announcements that the log still has count.
        """
        window = Window(positions, self.history.discards_before(), None)
        return self._fold(window) if positions else positions

    def earlier_than(self, positions: Positions, time: datetime) -> Positions:
        """Return those of some messages that were published before a time."""
        return self._fold(Window(positions, None, time - _MICROSECOND)) if positions else positions

    def count_by_day(self) -> dict[date, int]:
        """Return the number of stored messages by day of publishing.

        Of days with a file whose number of rows the log does not tell, the times are read.
        """
        counted: dict[date, int] = {}
        unknown: set[date] = set()
        for each in self._lane.files(self._table):
            if each.publish_date is not None and each.rows:
                counted[each.publish_date] = counted.get(each.publish_date, 0) + each.rows
            elif each.publish_date is not None and each.rows is None:
                unknown.add(each.publish_date)
        for day in unknown:
            start = datetime(day.year, day.month, day.day, tzinfo=UTC)
            counted[day] = self._counted(Window(None, start, end_of_day(start)))[0]
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
        if not of or not among:
            return Positions()
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.of_same_keys(self._table, *_on_whole_days(of, among))

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""
        if not of or not among:
            return Positions()
        scans = self._lanes.scans(self._table, sum(map(len, (*of, *among))))
        return scans.followers(self._table, *_on_whole_days(of, among))


def _kept_for(interval: str) -> timedelta:
    """Return how long VACUUM keeps files, by a property; no time for what is not understood."""
    told = _INTERVAL.fullmatch(interval.strip())
    return timedelta(**{f"{told[2].lower()}s": int(told[1])}) if told else timedelta(0)


def _on_whole_days(*groups: Sequence[Span]) -> Iterator[Window]:
    return (Window.of(spans).on_whole_days() for spans in groups)


def day_of(time: datetime) -> date:
    """Return the day of a time in UTC: a value of ``publish_date``."""
    return time.astimezone(UTC).date()


def _range(publishes: Sequence[Commit]) -> tuple[int, int]:
    """Return the first and the last position that some publishes may have."""
    return (
        min(each.first_position for each in publishes),
        max(each.end_position for each in publishes) - 1,
    )


def _of_each(publishes: Sequence[Commit], stored: Positions) -> Iterator[Positions]:
    """Yield those of some positions that each publish has; by halves, as each step copies them."""
    stored = stored.within(*_range(publishes))
    if len(publishes) == 1:
        yield stored
        return
    half = len(publishes) // 2
    for part in (publishes[:half], publishes[half:]):
        yield from _of_each(part, stored)


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
