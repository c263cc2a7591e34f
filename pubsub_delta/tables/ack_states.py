"""The ack state of one subscription: one row, changed by compare-and-swap.

The row is replaced only if its ``revision`` is still the one that was read, so two consumers can
never lease the same message: whoever comes second changes no row, reads again and decides again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from pubsub_delta.clock import UTC
from pubsub_delta.errors import DataLoss, NotFound, Unknown
from pubsub_delta.policy.ack_state import AckState, Counters, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.commits import Commits, Conflict, is_missing, repeat_on_conflict
from pubsub_delta.tables.schemas import ACK_STATE

T = TypeVar("T")
Decide = Callable[[AckState], "tuple[AckState, T]"]

REMEMBERED_COMMITS = 20
"""How many commit ids the row keeps, for a writer whose answer was lost to find its own."""

_REPLACE = "ON old.revision = new.expected_revision WHEN MATCHED THEN UPDATE SET " + ", ".join(
    f"old.{name} = new.{name}" for name in ACK_STATE.columns.names
)
_NEW_ROW = StructType([*ACK_STATE.columns, StructField("expected_revision", LongType())])


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
        table = self._table_of(uid)
        self._commits.create_table(table, ACK_STATE)
        first = Stored(state, revision=1, recent_commits=(self._new_id(),))
        names = ", ".join(ACK_STATE.columns.names)
        values = ", ".join(f"new.{name}" for name in ACK_STATE.columns.names)
        insert = f"ON true WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
        self._commits.merge(table, _row(first, 0), insert)
        self._written[uid] = first

    def read(self, uid: str) -> AckState:
        """Return a subscription's ack state as it is now."""
        return self._read(uid).state

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
        return _stored(rows[0], table)


def _row(stored: Stored, expected_revision: int) -> pa.Table:
    state = stored.state
    row = {
        "revision": stored.revision,
        "recent_commits": list(stored.recent_commits),
        "after_version": state.after_version,
        "absorbed_below": state.absorbed_below,
        "next_lease_id": state.next_lease_id,
        "spans": [_span_row(span) for span in state.spans],
        "counters": asdict(state.counters),
        "expected_revision": expected_revision,
    }
    return pa.Table.from_pylist([row], schema=to_arrow_schema(_NEW_ROW, timezone="UTC"))


def _span_row(span: Span) -> dict[str, Any]:
    return {
        "state": span.state.value,
        "failures": span.failures,
        "delivery_attempt": span.delivery_attempt,
        "lease_id": span.lease_id,
        "until": span.until,
        "forward_to": span.forward_to,
        "message_count": len(span),
        "publish_time_min": span.publish_time_min,
        "publish_time_max": span.publish_time_max,
        "positions": span.positions.to_bytes(),
    }


def _stored(row: dict[str, Any], table: str) -> Stored:
    state = AckState(
        after_version=row["after_version"],
        absorbed_below=row["absorbed_below"],
        next_lease_id=row["next_lease_id"],
        spans=tuple(_span(span, table) for span in row["spans"]),
        counters=Counters(**row["counters"]),
    )
    return Stored(state, row["revision"], tuple(row["recent_commits"]))


def _span(row: dict[str, Any], table: str) -> Span:
    try:
        positions = Positions.from_bytes(row["positions"])
    except Exception as error:
        raise DataLoss(
            f"{table}: a bitmap of message positions cannot be read ({error})"
        ) from error
    if len(positions) != row["message_count"]:
        raise DataLoss(
            f"{table}: a bitmap holds {len(positions)} positions where {row['message_count']} "
            "were written"
        )
    return Span(
        state=State(row["state"]),
        positions=positions,
        publish_time_min=_utc(row["publish_time_min"]),
        publish_time_max=_utc(row["publish_time_max"]),
        failures=row["failures"],
        delivery_attempt=row["delivery_attempt"],
        lease_id=row["lease_id"],
        until=None if row["until"] is None else _utc(row["until"]),
        forward_to=row["forward_to"],
    )


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC)
