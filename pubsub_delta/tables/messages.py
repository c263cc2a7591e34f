"""The messages of one topic: append, find what is new, read by position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.clock import from_micros, to_micros
from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.ack_state import Absorbed, Span, union
from pubsub_delta.policy.filters import Filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.bitmaps import fold, fold_by_key, fold_by_time, holding, labelled
from pubsub_delta.tables.columns import instant, matching, published_between, sql_day, sql_instant
from pubsub_delta.tables.commits import Commits, expected_errors, is_missing
from pubsub_delta.tables.damage import telling_damage
from pubsub_delta.tables.history import Commit, History
from pubsub_delta.tables.layout import path_of
from pubsub_delta.tables.log import counted_in_files
from pubsub_delta.tables.past import Past
from pubsub_delta.tables.remembered import Remembered
from pubsub_delta.tables.schemas import CHECKPOINT_INTERVAL, MESSAGE_COLUMNS, MESSAGES

_FEW_COMMITS = 64
"""Commits of which each may send bitmaps of its own, where that is not kept."""
_AT_ONCE = 1024
"""Commits of which each may send bitmaps of its own in one scan: some MB."""


class Messages:
    """The messages table of one topic."""

    def __init__(
        self,
        spark: SparkSession,
        table: str,
        commits: Commits,
        remembered: Remembered,
        history: History,
    ) -> None:
        self._spark = spark
        self._table = table
        self._commits = commits
        self._remembered = remembered
        self.history = history

    @property
    def table(self) -> str:
        """The table as it is named in SQL."""
        return self._table

    def create(self) -> None:
        """Create the empty table."""
        self._commits.create_table(self._table, MESSAGES)

    def append(
        self,
        messages: DataFrame,
        publish_time: datetime,
        publish_id: str,
        idempotency_id: tuple[str, int] | None,
    ) -> None:
        """Append messages (data, attributes, ordering_key) in one commit, stamped and marked.

        On the driver's disk the log then forgets old checksums, now and then.
        """
        stamped = messages.withColumn("publish_time", instant(publish_time))
        given = [name for name in MESSAGES.columns.names if name not in MESSAGES.generated]
        directory = self._remembered.directory(self._table)
        with self._commits.locked(self._table):
            self._commits.append(
                self._table,
                stamped.select(*given),
                user_metadata={"publish_time": to_micros(publish_time), "publish_id": publish_id},
                transaction=idempotency_id,
            )
            newest = None if directory is None else self._remembered.newest(self._table)
            if directory and newest and newest.version % CHECKPOINT_INTERVAL == 0:
                with suppress(OSError):  # the messages are there; the next hundred tries again
                    self._commits.forget_sums(self._table, directory)

    def exists(self) -> bool:
        """Tell whether the table is there."""
        try:
            with expected_errors():
                self.history.version()
        except Exception as error:
            if is_missing(error):
                return False
            raise
        return True

    def absorb(
        self,
        after_version: int,
        commits: list[Commit],
        known: bool,
        filter_: Filter | None = None,
        earliest: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Absorbed]:
        """Find the messages that the given commits, all those after a version, have added.

        Only those published in [earliest, before), where such times are given. With a filter,
        only those that pass it. Without one, where the commits are publishes and nothing else, the
        log tells their positions, or the files that they wrote, and no message is read.
        """
        adding = [each for each in commits if each.adds_messages and each.may_be(earliest, before)]
        if not adding and known:
            return []
        stamped = known and all(commit.publish_time is not None for commit in adding)
        if stamped and not any(commit.moves_messages for commit in commits):
            few = filter_ is None or len(adding) <= _FEW_COMMITS
            found = self.added_by(adding, commits[0].version, filter_) if few else None
            if found is not None:
                return list(found.values())
            self._check_all_there(adding, after_version, commits[0].version)
        within = _stamped_as(adding) if stamped else published_between(earliest, before)
        if before is not None and not stamped:
            within &= F.col("publish_time") < instant(before)
        rows = self._positioned("attributes").where(
            within & (F.col("version") > after_version) & (F.col("version") <= commits[0].version)
        )
        return list(fold_by_time(rows.where(matching(filter_))))

    def added_by(
        self, publishes: list[Commit], version: int, filter_: Filter | None
    ) -> dict[int, Absorbed] | None:
        """Find what each of some publishes has added that passes a filter, by version.

        None where that cannot be told: one of them has no stamp, or lacks messages. ``version``: of
        the last of the commits that were looked at, none of which has rewritten a file.
        """
        if any(each.publish_time is None for each in publishes):
            return None
        if filter_ is None:
            return self._appended(publishes, version)
        found: dict[int, Absorbed] = {}
        for first in range(0, len(publishes), _AT_ONCE):
            found |= self._matching(publishes[first : first + _AT_ONCE], version, filter_)
        return found

    def _appended(self, publishes: list[Commit], version: int) -> dict[int, Absorbed] | None:
        """Find the positions of publishes, of which every message is stored; None otherwise.

        What they wrote is there as long as nobody can have rewritten a file since: where
        ``version``, the last of the commits, is the topic's newest. Otherwise, or where the log
        does not tell, their files are looked at.
        """
        newest = self.history.is_newest(version)
        rows = self.history.rows_added(publishes) if newest else {}
        if len(rows) < len(publishes):
            rows = self._counted_rows(publishes)
        absorbed = {}
        for each in publishes:
            found = rows.get(each.version, Positions())
            if len(found) != each.message_count or each.publish_time is None:
                return None
            absorbed[each.version] = Absorbed(found, each.publish_time, each.publish_time)
        return absorbed

    def _counted_rows(self, publishes: list[Commit]) -> dict[int, Positions]:
        files = self._spark.table(self._table).where(_stamped_as(publishes))
        with telling_damage(self._table):
            return counted_in_files(files)

    def _check_all_there(self, publishes: list[Commit], after_version: int, version: int) -> None:
        """Raise DataLoss where a version lacks messages that its publishes say they wrote.

        Only what other commits have rewritten since is absent from their files by right.
        """
        row_version = F.col("_metadata.row_commit_version")
        rows = self._spark.sql(f"SELECT * FROM {self._table} VERSION AS OF {version:d}")
        stored = self._counted(rows.where((row_version > after_version) & (row_version <= version)))
        written = sum(publish.message_count for publish in publishes)
        if stored < written:
            raise DataLoss(
                f"{self._table}: {stored:,} messages of the versions {after_version + 1} to "
                f"{version} are stored where {written:,} were published; a commit of its log is "
                "damaged: restore it, or publish the messages again"
            )

    def _matching(
        self, publishes: list[Commit], version: int, filter_: Filter
    ) -> dict[int, Absorbed]:
        """Find the messages of publishes that pass a filter, by the commits that wrote them.

        As of the last of the commits, when none of their files had been rewritten yet: which rows a
        publish has added the log tells, or else the file of a row, and neither need be read.
        """
        columns = "publish_date, publish_time, attributes, _metadata.row_id AS position"
        rows_of = self.history.rows_added(publishes)
        told = len(rows_of) == len(publishes)
        if not told:
            columns += ", _metadata.default_row_commit_version AS key"
        rows = self._spark.sql(f"SELECT {columns} FROM {self._table} VERSION AS OF {version:d}")
        passing = rows.where(_stamped_as(publishes) & matching(filter_))
        if told:
            positions = fold(passing)
            found = {number: positions & added for number, added in rows_of.items()}
        else:
            new = F.col("key").isin([commit.version for commit in publishes])
            found = fold_by_key(passing.where(new))
        return {
            commit.version: Absorbed(added, commit.publish_time, commit.publish_time)
            for commit in publishes
            if (added := found.get(commit.version)) and commit.publish_time is not None
        }

    def published_within(
        self, earliest: datetime, latest: datetime
    ) -> tuple[Positions, datetime | None]:
        """Return the messages published between two times, and when the first of them was."""
        publishes = self.history.publishes_within(earliest, latest)
        rows = self.history.rows_added(publishes or [])
        if publishes is not None and len(rows) == len(publishes):
            times = [each.publish_time for each in publishes if each.publish_time is not None]
            return Positions.union(rows.values()), min(times, default=None)
        parts = list(fold_by_time(self._positioned().where(published_between(earliest, latest))))
        first = min((part.publish_time_min for part in parts), default=None)
        return Positions.union(part.positions for part in parts), first

    def read(self, spans: Sequence[Span], version: int) -> DataFrame:
        """Return the messages of spans as they stand at a version.

        Columns: position, those of a message, and ``span``, the place of the span in the list.
        The DataFrame is lazy and pinned: evaluating it twice, or after an OPTIMIZE, gives the
        same rows.
        """
        rows = self._spark.sql(
            f"SELECT *, _metadata.row_id AS position FROM {self._table} VERSION AS OF {version:d}"
        )
        within = rows.where(_published_within(spans)).select("position", *MESSAGE_COLUMNS)
        return labelled(within, {n: span.positions for n, span in enumerate(spans)}, "span")

    def keyed(self, spans: Sequence[Span]) -> DataFrame:
        """Return position and ordering_key of the messages of spans that have a key."""
        rows = self._positioned("ordering_key").where(
            _published_within(spans) & (F.col("ordering_key") != "")
        )
        return holding(rows.select("position", "ordering_key"), union(spans))

    def passing(self, spans: Sequence[Span], filter_: Filter | None) -> Positions:
        """Return the messages of spans that pass a filter."""
        rows = self._positioned("attributes").where(_published_within(spans) & matching(filter_))
        return fold(holding(rows.select("position"), union(spans)))

    def earliest(self, spans: Sequence[Span]) -> datetime | None:
        """Return the publish time of the first message of spans, None where none is stored."""
        rows = holding(self._positioned().where(_published_within(spans)), union(spans))
        first = self._collected(rows.agg(F.unix_micros(F.min("publish_time"))))[0][0]
        return None if first is None else from_micros(first)

    def everything(self) -> DataFrame:
        """Return all stored messages: message_id and the columns of a message."""
        position = F.col("_metadata.row_id").cast("string")
        return self._spark.table(self._table).select(position.alias("message_id"), *MESSAGE_COLUMNS)

    def positions_of(self, commit: Commit) -> Positions:
        """Return the positions that a publish was given."""
        told = self.history.rows_added([commit])
        if told:
            return told[commit.version]
        parts = self.absorb(commit.version - 1, [commit], known=True)
        return Positions.union(part.positions for part in parts)

    def count_before(self, time: datetime, *, exact: bool) -> int:
        """Return how many messages ``discard_before`` would delete."""
        return self._counted(self._spark.table(self._table).where(_too_old(time, exact=exact)))

    def discard_before(self, time: datetime, after_version: int, *, exact: bool) -> bool:
        """Delete the messages published on days before a time; with ``exact``, before that time.

        Whole days go by metadata alone. Nothing is deleted, and False returned, where a commit
        after the given version added messages that old: a slow publisher's, nobody has seen them.
        """
        with self._commits.locked(self._table):
            late, known = self.history.commits_after(after_version)
            if not known or any(each.adds_messages and each.may_be(None, time) for each in late):
                return False
            self._commits.delete_where(self._table, _too_old(time, exact=exact))
        return True

    def optimize(self) -> int:
        """Write many small files as few large ones; return how many were replaced."""
        return self._commits.optimize(self._table)

    def vacuum(self) -> None:
        """Remove the files that no version of the last 8 days needs."""
        self._commits.vacuum(self._table)

    def past(self) -> Past:
        """Return the commits of the topic that its table's log still tells."""
        directory = self._remembered.directory(self._table)
        return Past(self._spark, self._commits, self._table, directory)

    def as_of(self, version: int) -> DataFrame:
        """Return all messages that were stored at a version: message_id and their columns."""
        rows = self._spark.sql(
            f"SELECT *, _metadata.row_id AS position FROM {self._table} VERSION AS OF {version:d}"
        )
        return rows.select(F.col("position").cast("string").alias("message_id"), *MESSAGE_COLUMNS)

    def stream(self, from_version: int | None = None) -> DataFrame:
        """Return all messages, or those from a version on, as a streaming DataFrame.

        The columns of a message only: a stream of a Delta table has no row ids.
        """
        return self._stream(from_version).select(*MESSAGE_COLUMNS)

    def stream_since(self, time: datetime) -> DataFrame:
        """Return the messages published at a time or later as a streaming DataFrame."""
        wanted = published_between(time, None)
        return (
            self._stream(self.history.first_version_since(time))
            .where(wanted)
            .select(*MESSAGE_COLUMNS)
        )

    def _stream(self, from_version: int | None) -> DataFrame:
        # The retention job's DELETE adds no message, so its commits are passed over.
        reader = self._spark.readStream.format("delta").option("skipChangeCommits", "true")
        if from_version is not None:
            reader = reader.option("startingVersion", from_version)
        path = path_of(self._table)
        return reader.table(self._table) if path is None else reader.load(path)

    def count(self) -> int:
        """Return how many messages are stored."""
        return self._counted(self._spark.table(self._table))

    def count_since(self, time: datetime) -> tuple[int, datetime | None]:
        """Return how many messages were published from a time on, and when the first was."""
        rows = self._spark.table(self._table).where(published_between(time, None))
        figures = rows.agg(F.count("*"), F.unix_micros(F.min("publish_time")))
        counted = self._collected(figures)[0]
        return counted[0], None if counted[1] is None else from_micros(counted[1])

    def facts(
        self,
        times: Sequence[datetime],
        find: Callable[[list[datetime]], Mapping[datetime, float]],
    ) -> dict[datetime, float]:
        """Return what was found out before about publishes, by their time; or find it out."""
        return self._remembered.facts(self._table, times, find)

    def count_by_day(self) -> dict[date, int]:
        """Return how many messages are stored of each day of publishing."""
        counted = self._spark.table(self._table).groupBy("publish_date").count()
        return {row["publish_date"]: row["count"] for row in self._collected(counted)}

    def file_bytes(self) -> int:
        """Return how many bytes the files of the stored messages have, compressed as they are."""
        detail = self._spark.sql(f"DESCRIBE DETAIL {self._table}")
        return int(self._collected(detail.select("sizeInBytes"))[0][0])

    def _collected(self, frame: DataFrame) -> list[Row]:
        with telling_damage(self._table):
            return frame.collect()

    def _counted(self, frame: DataFrame) -> int:
        with telling_damage(self._table):
            return frame.count()

    def _positioned(self, *columns: str) -> DataFrame:
        return self._spark.table(self._table).select(
            "publish_date",
            "publish_time",
            *columns,
            F.col("_metadata.row_id").alias("position"),
            F.col("_metadata.row_commit_version").alias("version"),
        )


def _too_old(time: datetime, *, exact: bool) -> str:
    """Return in SQL what was published before a time, or on days before it."""
    if not exact:
        return f"publish_date < {sql_day(time)}"
    return f"publish_date <= {sql_day(time)} AND publish_time < {sql_instant(time)}"


def _stamped_as(publishes: Sequence[Commit]) -> Column:
    """Tell whether a message may be one of some publishes, by their stamps."""
    stamps = [each.publish_time for each in publishes if each.publish_time is not None]
    return published_between(min(stamps), max(stamps))


def _published_within(spans: Sequence[Span]) -> Column:
    return published_between(
        min(span.publish_time_min for span in spans), max(span.publish_time_max for span in spans)
    )
