"""Where ack states are stored: a Delta table of one row for each subscription."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from pubsub_delta.errors import DataLoss, NotFound, PubSubError, Unknown
from pubsub_delta.tables import log_cleanup, removed_files
from pubsub_delta.tables.ack_states import REMEMBERED_COMMITS, Stored
from pubsub_delta.tables.commits import Commits, Conflict, expected_errors, is_missing
from pubsub_delta.tables.damage import collected, telling_damage
from pubsub_delta.tables.log import Log
from pubsub_delta.tables.past import FORGETTING, Past
from pubsub_delta.tables.remembered import Remembered
from pubsub_delta.tables.schemas import ACK_STATE, CHECKPOINT_INTERVAL, KEPT_COMMITS
from pubsub_delta.tables.state_rows import row_of_state, state_of_row


def _count_where(condition: str) -> str:
    return f"aggregate(filter(spans, s -> {condition}), 0L, (n, s) -> n + s.message_count)"


_UNACKED = "s.state NOT IN ('acked', 'retained')"
_FIGURES = {
    "num_undelivered_messages": _count_where(_UNACKED),
    "num_outstanding_messages": _count_where("s.state = 'leased'"),
    "oldest_unacked_publish_time": "array_min(transform(filter(spans, s -> "
    + _UNACKED
    + "), s -> s.publish_time_min))",
    "ack_message_count_success": "counters.success",
    "ack_message_count_expired": "counters.expired",
    "ack_message_count_invalid": "counters.invalid",
    "dead_letter_message_count": "counters.dead_letters",
}


_TIMES = ("micros", "oldest_unacked_publish_time")
_LAST_ATTEMPT = f"array_max(transform(filter(spans, s -> {_UNACKED}), s -> s.delivery_attempt))"
_CHANGES_NOTHING = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END", "UPDATE", *FORGETTING})
"""Delta's names of commits that leave an ack state as it was."""

_NOT_WORTH_A_FAILURE = (OSError, PySparkException, PubSubError, Conflict)
"""Of cleaning up: the change has landed, and the next hundred tries again."""

_LEAP = 1 << 40
"""How far the revisions of a restored table go on from where it was: further than it ever came."""


class AckStateTables:
    """The tables of a store that hold ack states."""

    def __init__(
        self,
        spark: SparkSession,
        table_of: Callable[[str], str],
        commits: Commits,
        remembered: Remembered,
    ) -> None:
        self._spark = spark
        self._table_of = table_of
        self._commits = commits
        self._remembered = remembered

    def create(self, uid: str, first: Stored) -> None:
        """Create the table of a new subscription."""
        self._commits.create_table_of(self._table_of(uid), ACK_STATE, _row(first))

    def read(self, uid: str) -> Stored:
        """Return the row; NotFound without a table, DataLoss if it is not one row."""
        table = self._table_of(uid)
        return self._remembered.recall(table, "state", lambda: self._read(table, uid))

    def _read(self, table: str, uid: str) -> Stored:
        try:
            rows = collected(self._spark.table(table), table)
        except Exception as error:
            if is_missing(error):
                raise NotFound(
                    f"the ack state of subscription {uid} is gone; was it deleted just now?"
                ) from error
            raise
        if len(rows) != 1:
            raise DataLoss(f"{table} holds {len(rows)} rows where there is always one")
        row = rows[0]
        return Stored(state_of_row(row, table), row["revision"], tuple(row["recent_commits"]))

    def replace(self, uid: str, following: Stored, expected_revision: int) -> bool:
        """Overwrite the state of the expected revision, and tell whether that was the one stored.

        The overwrites of a table are numbered by revision, and Delta skips one whose number was
        taken. It does not tell, so it is looked up whether the commit is there.
        """
        table, commit_id = self._table_of(uid), following.recent_commits[0]
        if self._has_moved_on(uid, following.recent_commits[1:], expected_revision):
            return False
        self._commits.overwrite(table, _row(following), number=following.revision, mark=commit_id)
        last = self._last_on_disk(table)
        if last is not None and last[1] == commit_id:
            self._clean_log(table, last[0])
            return True
        now = self._read(table, uid)
        if commit_id in now.recent_commits:
            return True
        if now.revision == expected_revision:
            self._renumber(table, expected_revision)
        elif not expected_revision < now.revision < expected_revision + REMEMBERED_COMMITS:
            raise Unknown(
                f"subscription {uid}: a change was sent when revision {expected_revision} was "
                f"stored, now it is {now.revision}, and it cannot be told whether it landed"
            )
        return False

    def _has_moved_on(self, uid: str, commits: Sequence[str], revision: int) -> bool:
        """Tell whether a state is known not to be the one stored; its last commits came first.

        A number that is free does not tell: RESTORE puts an older state there. On the driver's disk
        the log has the state's own commit as its last, or else the row is read.
        """
        last = self._last_on_disk(self._table_of(uid))
        if last is None or last[1] in commits[:1] or (last[0] == 0 and revision == 1):
            return False
        now = self.read(uid)
        return (now.revision, now.recent_commits[:1]) != (revision, tuple(commits[:1]))

    def _last_on_disk(self, table: str) -> tuple[int, str | None] | None:
        """Return the last commit's version and mark, if the log is on the driver's disk.

        There the lock is held, and nobody of this library can follow.
        """
        last = Log(self._spark, table, self._remembered).last(1)
        return None if last is None else (last[0][0], last[0][1]["userMetadata"])

    def _clean_log(self, table: str, version: int) -> None:
        """Forget old checksums, now and then, and old commits with what they removed.

        As many of these are kept as a property of the table says.
        """
        directory = self._remembered.directory(table)
        if version % CHECKPOINT_INTERVAL or directory is None:
            return
        kept = log_cleanup.properties(directory, version).get(KEPT_COMMITS, "")
        with suppress(*_NOT_WORTH_A_FAILURE):
            if kept.isdecimal():
                self._commits.clean_log(table, directory, version - int(kept))
            self._commits.forget_sums(table, directory)
            if kept.isdecimal():
                removed_files.forget(self._commits, table, directory, version, int(kept))

    def _renumber(self, table: str, revision: int) -> None:
        """Give the state of a table that was restored a revision whose number was never taken.

        RESTORE brings back the row, and leaves the numbers that Delta has noted as they are.
        """
        leap = f"revision = revision + {_LEAP:d}"
        self._commits.update(table, leap, f"revision = {revision:d}")

    def locked(self, uid: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Keep other writers on this machine away from a table on a local disk."""
        return self._commits.locked(self._table_of(uid), wait=wait)

    def figures(self, uid: str) -> DataFrame:
        """Return one row with the metrics that a subscription's ack state tells by itself."""
        counted = {name: F.expr(text) for name, text in _FIGURES.items()}
        return self._spark.table(self._table_of(uid)).select(
            *(column.alias(name) for name, column in counted.items())
        )

    def figures_over_time(self, uid: str, most: int) -> list[Row]:
        """Return the figures of some commits of an ack state, the earliest first.

        They are read from the versions of its table, as far as these are still there: 8 days, as
        many commits as the table keeps, or as long as ``maintain`` was told. ``micros`` tells when
        the subscription was in use last, null if never; times are microseconds since 1970. The last
        commit is among them.
        """
        table = self._table_of(uid)
        told = self._spark.sql(f"DESCRIBE HISTORY {table}").select("version", "operation").collect()
        changes = [row["version"] for row in told if row["operation"] not in _CHANGES_NOTHING]
        chosen = _spread(changes, most)
        while True:
            try:
                with expected_errors(), telling_damage(table):
                    return list(reversed(self._figures_of(table, chosen)))
            except (AnalysisException, DataLoss):  # an old version is gone, log or files
                if len(chosen) <= 1:
                    raise
                chosen = chosen[: len(chosen) // 2]

    def _figures_of(self, table: str, versions: Sequence[int]) -> list[Row]:
        found = self._remembered.facts(table, versions, lambda some: self._told_by(table, some))
        return [found[version] for version in versions]

    def _told_by(self, table: str, versions: Sequence[int]) -> dict[int, Row]:
        figures = {**_FIGURES, "micros": "active_time", "delivery_attempt": _LAST_ATTEMPT}
        columns = ", ".join(
            f"{f'unix_micros({text})' if name in _TIMES else text} AS {name}"
            for name, text in figures.items()
        )
        parts = (
            f"SELECT {version:d} AS version, {columns} FROM {table} VERSION AS OF {version:d}"
            for version in versions
        )
        rows = self._spark.sql(" UNION ALL ".join(parts)).collect()
        return {row["version"]: row for row in rows}

    def vacuum(self, uid: str) -> None:
        """Remove the files of a subscription's ack state that are not needed any more."""
        self._commits.vacuum(self._table_of(uid))

    def past(self, uid: str) -> Past:
        """Return the commits of an ack state that its table's log still tells."""
        table = self._table_of(uid)
        return Past(self._spark, self._commits, table, self._remembered.directory(table))


def _spread(versions: Sequence[int], most: int) -> list[int]:
    """Choose among versions, the newest first: that one, and others at equal steps.

    As versions are added the same ones are chosen again, so that what they tell is known by then.

    >>> _spread([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 4), _spread([10, 9, 8, 7, 6, 5, 4], 4)
    ([9, 6, 3, 0], [10, 8, 6, 4])
    """
    step = 1
    chosen = list(versions)
    while len(chosen) > most and step <= len(versions):
        step += 1
        chosen = [*versions[:1], *(each for each in versions[1:] if each % step == 0)]
    return chosen[:most]


def _row(stored: Stored) -> pa.Table:
    row = {
        "revision": stored.revision,
        "recent_commits": list(stored.recent_commits),
        **row_of_state(stored.state),
    }
    return pa.Table.from_pylist([row], schema=to_arrow_schema(ACK_STATE.columns, timezone="UTC"))
