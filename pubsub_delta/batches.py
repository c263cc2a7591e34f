"""What a pull returns: the messages under one lease, and what to say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cached_property

from pyspark.sql import DataFrame

from pubsub_delta.operations.acknowledge import Named
from pubsub_delta.resources import AckResult, ReceivedMessage
from pubsub_delta.tables.leases import Lease

AckIds = DataFrame | Iterable[str]


class PulledBatch:
    """The messages of one pull, leased together until ``ack_deadline``.

    ``df`` has them as rows. Iterating gives ``ReceivedMessage`` in the order of receipt.
    """

    def __init__(
        self,
        lease: Lease | None,
        empty: Callable[[], DataFrame],
        acknowledge: Callable[[AckIds | Named], AckResult],
        modify_ack_deadline: Callable[[AckIds | Named, int], AckResult],
    ) -> None:
        self._lease = lease
        self._empty = empty
        self._acknowledge = acknowledge
        self._modify_ack_deadline = modify_ack_deadline

    @cached_property
    def df(self) -> DataFrame:
        """The messages as a DataFrame, which may be evaluated often: it gives the same rows.

        Columns: ack_id STRING, message_id STRING, publish_time TIMESTAMP, data BINARY, attributes
        ``MAP<STRING,STRING>``, ordering_key STRING, delivery_attempt INT. A column that is not
        selected costs nothing, and the two ids cost as much as all the others.
        """
        return self._empty() if self._lease is None else self._lease.df

    @property
    def message_count(self) -> int:
        """The number of messages in the batch, known without reading them."""
        return 0 if self._lease is None else len(self._lease.positions)

    @property
    def ack_deadline(self) -> datetime | None:
        """When the lease was to end at the time of the pull; None for an empty batch."""
        return None if self._lease is None else self._lease.until

    def ack(self, ids: AckIds | None = None) -> AckResult:
        """Acknowledge the whole batch, or the deliveries of the given ack ids."""
        return self._acknowledge(self._named() if ids is None else ids)

    def nack(self, ids: AckIds | None = None) -> AckResult:
        """Give the whole batch, or the deliveries of the given ack ids, back to be redelivered."""
        return self.modify_ack_deadline(0, ids)

    def modify_ack_deadline(
        self, ack_deadline_seconds: int, ids: AckIds | None = None
    ) -> AckResult:
        """Move the deadline of the whole batch, or of the given ack ids, to so far from now."""
        return self._modify_ack_deadline(
            self._named() if ids is None else ids, ack_deadline_seconds
        )

    def __iter__(self) -> Iterator[ReceivedMessage]:
        if self._lease is not None:
            yield from self._lease.messages()

    def __len__(self) -> int:
        return self.message_count

    def __repr__(self) -> str:
        if self._lease is None:
            return "PulledBatch(empty)"
        return f"PulledBatch({self.message_count} messages until {self._lease.until.isoformat()})"

    def _named(self) -> Named:
        return Named({} if self._lease is None else {self._lease.lease_id: self._lease.positions})
