"""``spark.readStream.format("pubsub_delta")``: Spark's side of a ``Consumer``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from pubsub_delta.clock import CheckedClock, SystemClock
from pubsub_delta.datasource.consumer import Consumer
from pubsub_delta.datasource.offsets import read_offset
from pubsub_delta.datasource.options import Options
from pubsub_delta.datasource.partition_reader import read_spans
from pubsub_delta.errors import InvalidArgument


class SubscriptionStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Consumes a subscription.

    Spark creates one for the process of the query, and sends copies to the tasks, which only read.
    """

    def __init__(self, options: Options, columns: pa.Schema) -> None:
        if options.subscription is None:
            raise InvalidArgument(
                "subscription: the option is not given; the subscription to consume is accepted: "
                "its id, or its full name"
            )
        self._options = options
        self._columns = columns
        self._limits = options.max_messages, options.max_bytes
        self._consumer: Consumer | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before everything; check that the subscription exists.

        Spark calls this for a query without a checkpoint.
        """
        with self._options.reaching():
            consuming, topic = self._consuming(), self._options.topic
            if topic is not None and self._options.creates_subscription:
                consuming.subscribe_to(topic)
            return consuming.start().as_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note the newest message at the start of a query with this trigger."""
        with self._options.reaching():
            self._consuming().drain()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of the options; of both, the number of messages, which is exact."""
        most, size = self._limits
        if most is not None:
            return ReadMaxRows(most)
        return ReadAllAvailable() if size is None else ReadMaxBytes(size)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Acknowledge the micro-batch that ends at an offset, and lease the next one."""
        with self._options.reaching():
            offset = read_offset(start)
            return self._consuming().following(offset, self._most(limit)).as_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the parts of a micro-batch."""
        with self._options.reaching():
            parts = self._consuming().parts(read_offset(start), read_offset(end))
        return [InputPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a part, in a task."""
        with self._options.reaching() as tables:
            yield from read_spans(tables, partition.value, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: ``latestOffset`` acknowledges the micro-batch."""

    def stop(self) -> None:
        """Stop extending leases."""
        if self._consumer is not None:
            self._consumer.leave()

    def _consuming(self) -> Consumer:
        if self._consumer is None:
            name = self._options.subscription
            assert name is not None
            tables, topic = self._options.tables(), self._options.topic
            self._consumer = Consumer(tables, name, CheckedClock(SystemClock()), topic)
        return self._consumer

    def _most(self, limit: ReadLimit) -> int | None:
        """Return how many messages a limit permits."""
        permitted = []
        if isinstance(limit, ReadMaxRows):
            permitted.append(limit.max_rows)
            if self._limits[1] is not None:
                permitted.append(self._consuming().messages_of(self._limits[1]))
        elif isinstance(limit, ReadMaxBytes):
            permitted.append(self._consuming().messages_of(limit.max_bytes))
        return min(permitted, default=None)
