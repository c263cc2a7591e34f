"""The ack state of one subscription: one row, changed by compare-and-swap.

The row is replaced only if its ``revision`` is still the one that was read, so two consumers can
never lease the same message: whoever comes second changes no row, reads again and decides again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from pubsub_delta.errors import DataLoss, NotFound, Unknown
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.commits import Commits, Conflict, is_missing, repeat_on_conflict
from pubsub_delta.tables.schemas import ACK_STATE
from pubsub_delta.tables.state_rows import row_of_state, state_of_row

T = TypeVar("T")
Decide = Callable[[AckState], "tuple[AckState, T]"]

REMEMBERED_COMMITS = 20
"""How many commit ids the row keeps, for a writer whose answer was lost to find its own."""

_REPLACE = "ON old.revision = new.expected_revision WHEN MATCHED THEN UPDATE SET " + ", ".join(
    f"old.{name} = new.{name}" for name in ACK_STATE.columns.names
)
_NEW_ROW = StructType([*ACK_STATE.columns, StructField("expected_revision", LongType())])


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


@dataclass(frozen=True)
class Stored:
    """An ack state with the revision under which it is stored."""

    state: AckState
    revision: int
    recent_commits: tuple[str, ...] = ()


class AckStates:
    """Reads and replaces the ack states of a store.

    What this process wrote last is remembered, and a decision is first tried on that: the swap
    fails if it is out of date. So an operation that follows another need not read in between.
    """

    def __init__(
        self,
        spark: SparkSession,
        table_of: Callable[[str], str],
        commits: Commits,
        new_id: Callable[[], str],
    ) -> None:
        self._spark = spark
        self._table_of = table_of
        self._commits = commits
        self._new_id = new_id
        self._written: dict[str, Stored] = {}

    def create(self, uid: str, state: AckState) -> None:
        """Create the table of a new subscription."""
        first = Stored(state, revision=1, recent_commits=(self._new_id(),))
        self._commits.create_table_of(self._table_of(uid), ACK_STATE, _row(first, 0))
        self._written[uid] = first

    def vacuum(self, uid: str) -> None:
        """Remove the files of a subscription's ack state that are not needed any more."""
        self._commits.vacuum(self._table_of(uid))

    def read(self, uid: str) -> AckState:
        """Return a subscription's ack state as it is now."""
        return self._read(uid).state

    def figures(self, uid: str) -> DataFrame:
        """Return one row with the metrics that a subscription's ack state tells by itself."""
        counted = {name: F.expr(text) for name, text in _FIGURES.items()}
        return self._spark.table(self._table_of(uid)).select(
            *(column.alias(name) for name, column in counted.items())
        )

    def change(self, uid: str, decide: Decide[T]) -> T:
        """Replace an ack state by what ``decide`` makes of it, and return decide's second value.

        ``decide`` may be called more than once. Nothing is written where it changes nothing.
        Raise Aborted after too many lost races, Unknown where it cannot be told who won.
        """
        remembered = self._written.get(uid)
        if remembered is not None:
            state, result = decide(remembered.state)
            if state == remembered.state and self._read(uid).revision == remembered.revision:
                return result
            if state != remembered.state and self._swap(uid, remembered, state, wait=False):
                return result

        def attempt() -> T:
            # On a local disk the lock lets a slow process have its turn among quick ones.
            with self._commits.locked(self._table_of(uid)):
                stored = self._read(uid)
                state, result = decide(stored.state)
                if state != stored.state and not self._swap(uid, stored, state):
                    raise Conflict("the ack state has moved on")
                return result

        return repeat_on_conflict(attempt, f"subscription {uid}")

    def _swap(self, uid: str, stored: Stored, state: AckState, *, wait: bool = True) -> bool:
        """Write the state over the stored one; tell whether that was still the one stored."""
        commit_id = self._new_id()
        recent = (commit_id, *stored.recent_commits)[:REMEMBERED_COMMITS]
        following = Stored(state, stored.revision + 1, recent)
        self._written.pop(uid, None)
        try:
            with self._commits.locked(self._table_of(uid), wait=wait):
                landed = self._merge(uid, following, stored.revision)
        except Conflict:
            return False
        except Exception as error:
            landed = self._has_landed(uid, commit_id, stored.revision, error)
        if landed:
            self._written[uid] = following
        return landed

    def _merge(self, uid: str, following: Stored, expected: int) -> bool:
        return self._commits.merge(self._table_of(uid), _row(following, expected), _REPLACE) > 0

    def _has_landed(self, uid: str, commit_id: str, expected: int, error: Exception) -> bool:
        """Find out what became of a swap whose answer was lost; raise what it raised otherwise."""
        now = self._read(uid)
        if commit_id in now.recent_commits:
            return True
        if now.revision == expected:
            raise error
        if now.revision - expected >= REMEMBERED_COMMITS:
            raise Unknown(
                f"subscription {uid}: a change was sent, its answer was lost, and too many "
                "others followed to tell whether it landed"
            ) from error
        return False

    def _read(self, uid: str) -> Stored:
        table = self._table_of(uid)
        try:
            rows = self._spark.table(table).toArrow().to_pylist()
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


def _row(stored: Stored, expected_revision: int) -> pa.Table:
    row = {
        "revision": stored.revision,
        "recent_commits": list(stored.recent_commits),
        **row_of_state(stored.state),
        "expected_revision": expected_revision,
    }
    return pa.Table.from_pylist([row], schema=to_arrow_schema(_NEW_ROW, timezone="UTC"))
