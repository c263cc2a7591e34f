"""Leases: the messages that a consumer holds, and reading them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from pubsub_delta.delivery.sources import Source, source
from pubsub_delta.delivery.unreadable import (
    LOST,
    SetAside,
    missing_messages,
    positions_of,
    warn_unreadable,
)
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_state import Span, spans_within, union
from pubsub_delta.policy.messages import size_of
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.schemas import BATCH, MESSAGES
from pubsub_delta.tables.store import Tables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_READ_AT_FIRST = 1_000
"""Messages that are read at a time where the bytes are limited."""


class LeasedMessages(Protocol):
    """The reading side of a lease."""

    @property
    def lease_id(self) -> int: ...

    @property
    def positions(self) -> Positions: ...

    @property
    def until(self) -> datetime: ...

    def receive(self, wanted: Positions, max_bytes: int) -> list[ReceivedMessage]:
        """Read the first of some messages, in order: as many as fit, and at least one."""


@dataclass(frozen=True)
class Lease:
    """Messages under one lease."""

    lanes: Lanes
    source: Source
    spans: Sequence[Span]

    @property
    def lease_id(self) -> int:
        """The number of the lease."""
        lease_id = self.spans[0].lease_id
        assert lease_id is not None
        return lease_id

    @property
    def until(self) -> datetime:
        """When the lease ends, unless it is extended."""
        until = self.spans[0].until
        assert until is not None
        return until

    @cached_property
    def positions(self) -> Positions:
        """The positions of the messages."""
        return union(self.spans)

    @cached_property
    def df(self) -> DataFrame:
        """The messages as a lazy DataFrame: ids are computed only where they are selected."""
        from pubsub_delta.tables.lanes.spark import frames  # this is what needs Spark

        return frames.leased(
            self.lanes.session_for(self._table),
            self._table,
            self.spans,
            subscription_uid=self.source.uid,
            lease_id=self.lease_id,
            counted=self._counted,
            ordered=self.source.subscription.enable_message_ordering,
        )

    def chosen(self, where: Column) -> Positions:
        """Return the messages whose row, with the columns of ``df``, meets a condition."""
        from pubsub_delta.tables.lanes.spark import frames  # this is what needs Spark

        return frames.chosen(
            self.lanes.session_for(self._table),
            self._table,
            self.spans,
            where,
            subscription_uid=self.source.uid,
            lease_id=self.lease_id,
            counted=self._counted,
        )

    @cached_property
    def set_aside(self) -> SetAside:
        """The messages that could not be read or were missing, among those read so far."""
        return SetAside(ordered=self.source.subscription.enable_message_ordering)

    def arrow(self, check: Callable[[Positions], None]) -> pa.Table:
        """Return the messages as an Arrow table, in the order of receipt: ``schemas.BATCH``.

        Those that cannot be read are set aside. DataLoss if messages are missing, unless ``check``
        raises another error for them.
        """
        rows, lost = self._sorted_out(self.source.messages.rows(self.spans), self.positions)
        self._check_all_there(lost, check)
        positions = rows["position"].to_pylist()
        attempts = self._attempts()
        columns = {
            "ack_id": [self._ack_id(each) for each in positions],
            "message_id": [str(each) for each in positions],
            "publish_time": rows["publish_time"],
            "data": rows["data"],
            "attributes": rows["attributes"],
            "ordering_key": rows["ordering_key"],
            "delivery_attempt": pa.array(
                [attempts.of(each) for each in positions], BATCH.field("delivery_attempt").type
            ),
        }
        return pa.table(columns, schema=BATCH)

    def messages(self, check: Callable[[Positions], None]) -> Iterator[ReceivedMessage]:
        """Read all messages in the order of receipt, a part of them at a time.

        Those that cannot be read are set aside. DataLoss, after the last message, if messages are
        missing, unless ``check`` raises another error for them.
        """
        left, lost = self.positions, Positions()
        for batch in self.source.messages.batches(self.spans):
            if not batch.num_rows:
                continue
            rows = pa.Table.from_batches([batch])
            part = left.within(0, rows["position"][-1].as_py())
            rows, gone = self._sorted_out(rows, part)
            left, lost = left - part, lost | gone
            yield from self._received(rows.to_pylist())
        if left:
            lost |= self._sorted_out(MESSAGES.columns.empty_table(), left)[1]
        self._check_all_there(lost, check)

    def receive(self, wanted: Positions, max_bytes: int) -> list[ReceivedMessage]:
        """Read the first of some messages, in order: as many as fit into ``max_bytes``.

        The first message comes whatever its size. Messages that cannot be read, or are missing, are
        set aside.
        """
        left, found, room = wanted & self.positions, list[ReceivedMessage](), max_bytes
        while left:
            part = left.first(_READ_AT_FIRST)
            chosen = spans_within(self.spans, part)
            rows, lost = self._sorted_out(self.source.messages.rows(chosen), part)
            self.set_aside.positions |= lost
            warn_unreadable(dict.fromkeys(lost, LOST), self.source.subscription)
            read = list(self._received(rows.to_pylist()))
            sizes = [*accumulate(map(size_of, read))]
            fitting = sum(size <= room for size in sizes)
            found += read[: fitting or (0 if found else 1)]
            if fitting < len(read):
                break
            left, room = left - part, room - (sizes[-1] if sizes else 0)
        return found

    @property
    def _table(self) -> str:
        return self.source.messages.table

    @property
    def _counted(self) -> bool:
        """Whether delivery attempts are counted and shown."""
        return self.source.subscription.dead_letter_policy is not None

    def _attempts(self) -> _Attempts:
        return _Attempts(self.spans if self._counted else ())

    def _ack_id(self, position: int) -> str:
        return str(AckId(self.source.uid, self.lease_id, position))

    def _received(self, rows: Sequence[dict[str, Any]]) -> Iterator[ReceivedMessage]:
        attempts = self._attempts()
        for row in rows:
            yield ReceivedMessage(
                ack_id=self._ack_id(row["position"]),
                message_id=str(row["position"]),
                publish_time=row["publish_time"],
                data=row["data"] or b"",
                attributes=dict(row["attributes"] or ()),
                ordering_key=row["ordering_key"] or "",
                delivery_attempt=attempts.of(row["position"]),
            )

    def _sorted_out(self, rows: pa.Table, expected: Positions) -> tuple[pa.Table, Positions]:
        """Return the readable rows and the missing messages; warn of unreadable ones.

        A message that is not found at the publish time of its commit may be stored with another
        time.
        """
        missing, stray = Positions(), None
        if rows.num_rows < len(expected):
            missing = expected - positions_of(rows)
            stray = self.source.messages.rows_at(missing)
            missing -= positions_of(stray)
        rows, reasons = self.set_aside.remove_unreadable(rows, stray)
        warn_unreadable(reasons, self.source.subscription)
        return rows, missing

    def _check_all_there(self, lost: Positions, check: Callable[[Positions], None]) -> None:
        if lost:
            check(lost)
            self.set_aside.positions |= lost
            raise missing_messages(self._table, len(lost), len(self.positions))


def check_held(
    tables: Tables, name: ResourceName, lease: Lease, wanted: Positions, now: datetime
) -> None:
    """Raise an error if a lease holds some messages no more, so that they may be deleted.

    NotFound if its subscription was deleted. FailedPrecondition if that was detached or sought, the
    lease was over, or they were acknowledged.
    """
    current = source(tables, name, lease.source.uid)
    stored = tables.ack_states.read(current.uid)
    state = replay.catch_up(stored, current.terms, current.log(stored), now)
    held = union(each for each in state.spans if each.lease_id == lease.lease_id)
    if gone := wanted - held:
        raise FailedPrecondition(
            f"subscription {name}: {len(gone):,} of the messages of this batch are not leased by "
            "it any more, and were deleted since; they were acknowledged, or the lease was over: "
            "pull again"
        )


class _Attempts:
    """The delivery attempt of each message of some spans; None without spans."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans

    def of(self, position: int) -> int | None:
        """Return the attempt of a message."""
        found = (span.delivery_attempt for span in self._spans if position in span.positions)
        return next(found, None)
