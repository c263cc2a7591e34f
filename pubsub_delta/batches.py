"""The result of a pull: the messages under one lease, and their acknowledgement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from pubsub_delta.clock import Clock
from pubsub_delta.delivery.leases import Lease, check_held
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.operations import acknowledge
from pubsub_delta.operations.acknowledge import AckTargets
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import AckResult, ReceivedMessage
from pubsub_delta.tables.schemas import BATCH
from pubsub_delta.tables.store import Tables
from pubsub_delta.threads import refuse_to_pickle

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AckIds: TypeAlias = "DataFrame | pa.Table | pa.Array | pa.ChunkedArray | Iterable[str]"
"""Ack ids one by one, as an Arrow array, or in a column ``ack_id`` of rows."""

_NOTHING = AckTargets("", {})


class PulledBatch:
    """The messages of one pull, leased together until ``ack_deadline``.

    Iterating yields a ``ReceivedMessage`` for each, in the order of receipt. ``arrow()`` returns
    them as a table in this process, ``df`` as a Spark DataFrame.

    Iteration and ``arrow()`` leave out a message that cannot be read, with
    UnreadableMessageWarning, and raise DataLoss for one that is missing. Acks and nacks of the
    whole batch leave it out, too, and its delivery fails when the lease is over.
    """

    def __init__(
        self,
        tables: Tables,
        subscription: ResourceName,
        lease: Lease | None,
        clock: Clock,
    ) -> None:
        self._tables = tables
        self._subscription = subscription
        self._lease = lease
        self._clock = clock

    @cached_property
    def df(self) -> DataFrame:
        """The messages as a DataFrame, which can be evaluated repeatedly while they are leased.

        It returns the same rows each time; once messages are acknowledged, retention may delete
        them.

        Columns: ack_id STRING, message_id STRING, publish_time TIMESTAMP, data BINARY, attributes
        ``MAP<STRING,STRING>``, ordering_key STRING, delivery_attempt INT. A column that is not
        selected costs nothing; the two ids together cost as much as all other columns.
        FailedPrecondition if the store was opened without Spark.
        """
        try:
            spark = self._tables.spark
        except FailedPrecondition as error:
            raise FailedPrecondition(f"df: {error}; arrow() gives the rows without Spark") from None
        if self._lease is None:
            from pubsub_delta.tables.lanes.spark.types import arrow_frame  # this needs Spark

            return arrow_frame(spark, BATCH.empty_table(), BATCH)
        return self._lease.df

    def arrow(self) -> pa.Table:
        """Return the messages as an Arrow table with the columns of ``df``, in order of receipt."""
        if self._lease is None:
            return BATCH.empty_table()
        return self._lease.arrow(partial(self._check_held, self._lease))

    @property
    def message_count(self) -> int:
        """The number of messages in the batch, known without reading them."""
        return 0 if self._lease is None else len(self._lease.positions)

    @property
    def ack_deadline(self) -> datetime | None:
        """The end of the lease, as the pull set it; None for an empty batch."""
        return None if self._lease is None else self._lease.until

    @property
    def ack_deadline_seconds(self) -> int:
        """The length of the lease, as the pull set it; 0 for an empty batch."""
        return 0 if self._lease is None else self._lease.source.subscription.ack_deadline_seconds

    def ack(self, ids: AckIds | None = None, *, where: Column | None = None) -> AckResult:
        """Acknowledge the whole batch, or the given ack ids, or the rows that meet a condition.

        ``where``: a condition on the columns of ``df``, such as ``F.col("ordering_key") == "UA"``.
        It reads only the columns that it names, so it costs less than ack ids.

        The result has the outcome of each delivery. InvalidArgument if both ``ids`` and ``where``
        are given, or no id is well-formed.
        """
        chosen, now = self._chosen(ids, where), self._clock.now()
        return acknowledge.acknowledge(self._tables, self._subscription, chosen, now)

    def nack(self, ids: AckIds | None = None, *, where: Column | None = None) -> AckResult:
        """Give the whole batch, ack ids or rows back for redelivery; takes what ``ack`` takes."""
        return self.modify_ack_deadline(0, ids, where=where)

    def modify_ack_deadline(
        self,
        ack_deadline_seconds: int,
        ids: AckIds | None = None,
        *,
        where: Column | None = None,
    ) -> AckResult:
        """Move the deadline of the batch, ids or rows to ``ack_deadline_seconds`` from now."""
        chosen = self._chosen(ids, where)
        return acknowledge.modify_ack_deadline(
            self._tables, self._subscription, chosen, ack_deadline_seconds, self._clock.now
        )

    def give_back(self) -> None:
        """Give the whole batch back as if it had never been delivered.

        Its messages are available at once: no delivery fails, and no backoff begins.
        """
        targets, now = self._named(lambda lease: lease.positions), self._clock.now()
        acknowledge.give_back(self._tables, self._subscription, targets, now)

    def __iter__(self) -> Iterator[ReceivedMessage]:
        if self._lease is not None:
            yield from self._lease.messages(partial(self._check_held, self._lease))

    def _check_held(self, lease: Lease, lost: Positions) -> None:
        check_held(self._tables, self._subscription, lease, lost, self._clock.now())

    __reduce__ = refuse_to_pickle

    def __len__(self) -> int:
        return self.message_count

    def __repr__(self) -> str:
        if self._lease is None:
            return "PulledBatch(empty)"
        return f"PulledBatch({self.message_count} messages until {self._lease.until.isoformat()})"

    def _chosen(self, ids: AckIds | None, where: Column | None) -> AckIds | AckTargets:
        if where is None:
            return self._named(lambda lease: lease.positions) if ids is None else ids
        if ids is not None:
            raise InvalidArgument("ids, where: both are given; one of them is accepted")
        if not any(kind.__name__ == "Column" for kind in type(where).__mro__):
            raise InvalidArgument(
                f"where: {where!r} is not a Column; a Column of the columns of df is accepted, "
                'such as F.col("ordering_key") == "UA"'
            )
        return self._named(lambda lease: lease.chosen(where))

    def _named(self, choose: Callable[[Lease], Positions]) -> AckTargets:
        if self._lease is None:
            return _NOTHING
        chosen = choose(self._lease) - self._lease.set_aside.positions
        return AckTargets(self._lease.source.uid, {self._lease.lease_id: chosen})
