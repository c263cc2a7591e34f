"""Leases: which messages a consumer was given, and how it reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from pubsub_delta.clock import from_micros
from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_state import Span, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.tables.columns import ack_id, message_bytes, value_of_span
from pubsub_delta.tables.damage import collected, telling_damage
from pubsub_delta.tables.ordering import in_key_order
from pubsub_delta.tables.store import Source


@dataclass(frozen=True)
class Lease:
    """Messages under one lease, as they stand at a version of their topic.

    ``on_read`` is called before they are read.
    """

    source: Source
    spans: Sequence[Span]
    version: int
    on_read: Callable[[], None] = lambda: None

    @property
    def lease_id(self) -> int:
        """The number of the lease."""
        lease_id = self.spans[0].lease_id
        assert lease_id is not None
        return lease_id

    @property
    def until(self) -> datetime:
        """When it is over, unless it is extended."""
        until = self.spans[0].until
        assert until is not None
        return until

    @cached_property
    def positions(self) -> Positions:
        """The messages."""
        return union(self.spans)

    @cached_property
    def df(self) -> DataFrame:
        """The messages as a lazy DataFrame: ids are computed only where they are selected."""
        rows = self._read(self.spans)
        if self.source.subscription.enable_message_ordering:
            rows = in_key_order(rows, F.col("position"))
        return rows.select(
            ack_id(self.source.uid, self.lease_id, F.col("position")).alias("ack_id"),
            F.col("position").cast("string").alias("message_id"),
            "publish_time",
            "data",
            "attributes",
            "ordering_key",
            "delivery_attempt",
        )

    def messages(self) -> Iterator[ReceivedMessage]:
        """Read all messages in the order of receipt, a part of them at a time.

        DataLoss where there are fewer than were leased, after those that there are.
        """
        count = 0
        with telling_damage(self._table):
            for row in _in_order(self._read(self.spans)).toLocalIterator():
                count += 1
                yield self._received(row)
        if count < len(self.positions):
            raise self._lost(count, len(self.positions))

    def receive(self, wanted: Positions, max_bytes: int) -> list[ReceivedMessage]:
        """Read the first of some messages, in order: as many as fit into so many bytes.

        The first one comes whatever its size. DataLoss where one is not there.
        """
        whole = Window.partitionBy(F.col("position") < 0)  # Spark warns of a window without any
        running = F.sum("size").over(whole.orderBy("position"))
        chosen = [part for span in self.spans if (part := span.only(wanted))]
        sized = (
            self._read(chosen).withColumn("size", message_bytes()).withColumn("running", running)
        )
        fitting = sized.where((F.col("running") <= max_bytes) | (F.col("running") == F.col("size")))
        rows = collected(_in_order(fitting), self._table)
        expected = wanted & self.positions
        if rows:
            expected &= Positions.between(0, rows[-1]["position"])
        if len(rows) < len(expected):
            raise self._lost(len(rows), len(expected))
        return list(map(self._received, rows))

    @property
    def _table(self) -> str:
        return self.source.messages.table

    def _received(self, row: Row | Mapping[str, Any]) -> ReceivedMessage:
        return ReceivedMessage(
            ack_id=str(AckId(self.source.uid, self.lease_id, row["position"])),
            message_id=str(row["position"]),
            publish_time=from_micros(row["publish_time"]),
            data=bytes(row["data"] or b""),
            attributes=dict(row["attributes"] or {}),
            ordering_key=row["ordering_key"] or "",
            delivery_attempt=row["delivery_attempt"],
        )

    def _lost(self, count: int, leased: int) -> DataLoss:
        return DataLoss(
            f"{self._table}: {count:,} messages are there of {leased:,} that were leased; a commit "
            "of its log is damaged: restore it, or publish the messages again"
        )

    def _read(self, spans: Sequence[Span]) -> DataFrame:
        self.on_read()
        attempt = F.lit(None).cast("int")
        if self.source.subscription.dead_letter_policy is not None:
            attempt = value_of_span([span.delivery_attempt for span in spans])
        rows = self.source.messages.read(spans, self.version)
        return rows.withColumn("delivery_attempt", attempt)


def _in_order(rows: DataFrame) -> DataFrame:
    """Return what makes a message of each row, in the order of receipt; times in microseconds."""
    return rows.orderBy("position").select(
        "position",
        F.unix_micros("publish_time").alias("publish_time"),
        "data",
        "attributes",
        "ordering_key",
        "delivery_attempt",
    )
