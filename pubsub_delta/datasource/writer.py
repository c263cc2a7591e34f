"""``df.write`` and ``df.writeStream`` with ``format("pubsub_delta")``: Spark's side of ``writing``.

Spark creates a writer where it plans a batch or micro-batch, and sends it to the tasks. The writer
of a batch also commits; another writer commits a micro-batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from pubsub_delta.clock import CheckedClock, SystemClock
from pubsub_delta.datasource import writing
from pubsub_delta.datasource.options import Options
from pubsub_delta.datasource.writing import Reservation
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.tables.lanes.direct.files import WrittenFile
from pubsub_delta.tables.lanes.spark.publishing import check_columns
from pubsub_delta.tables.store import Tables

_QUERY_ID = "sql.streaming.queryId"
"""The property in which Spark gives tasks the id of their streaming query."""
_BATCH_ID = "streaming.sql.batchId"
"""The property in which Spark gives tasks the number of their micro-batch."""


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The file that a task has written, its publish, and its streaming query, if any."""

    file: WrittenFile | None
    reservation: Reservation
    query_id: str | None


class _Writing(ABC):
    """The common part of the writers of batches and of micro-batches."""

    def __init__(self, options: Options, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise InvalidArgument(
                "mode: a topic is not overwritten; mode('append') is accepted, and "
                "outputMode('append') of a stream"
            )
        check_columns(schema)
        self._options = options
        self._clock = CheckedClock(SystemClock())
        self._reservation: Reservation | None = None

    @property
    def topic(self) -> ResourceName:
        """The topic; InvalidArgument if none is given."""
        topic = self._options.topic
        if topic is None:
            raise InvalidArgument(
                "topic: the option is not given; the topic to publish to is accepted: "
                "its id, or its full name"
            )
        return topic

    def reserve(self, transaction: tuple[str, int] | None = None) -> None:
        """Reserve positions for the tasks."""
        with self._options.reaching() as tables:
            self._reservation = writing.reserve(tables, self.topic, self._clock.now(), transaction)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the messages of a partition, in a task."""
        task = TaskContext.get()
        assert task is not None
        assert self._reservation is not None
        number, transaction = task.partitionId(), self._transaction_of(task)
        with self._options.reaching() as tables:
            file = writing.write_messages(tables, self._reservation, number, iterator, transaction)
        return Written(file, self._reservation, task.getLocalProperty(_QUERY_ID))

    @abstractmethod
    def _transaction_of(self, task: TaskContext) -> tuple[str, int] | None:
        """Return the transaction of the commit for which a task writes."""


class TopicWriter(_Writing, DataSourceArrowWriter):
    """Publishes a DataFrame in one commit."""

    def __init__(self, options: Options, schema: StructType, *, overwrite: bool) -> None:
        super().__init__(options, schema, overwrite=overwrite)
        self._transaction = options.transaction
        self.reserve(self._transaction)

    def _transaction_of(self, task: TaskContext) -> tuple[str, int] | None:  # noqa: ARG002
        return self._transaction

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Add the files of the tasks, unless the transaction has landed before."""
        _commit(self._options, messages, self._transaction, writing.commit_batch)


class TopicStreamWriter(_Writing, DataSourceStreamArrowWriter):
    """Publishes each micro-batch in one commit, once."""

    def __init__(self, options: Options, schema: StructType, *, overwrite: bool) -> None:
        super().__init__(options, schema, overwrite=overwrite)
        with options.reaching() as tables:
            tables.topic(self.topic)

    def _transaction_of(self, task: TaskContext) -> tuple[str, int] | None:
        query_id, batch_id = map(task.getLocalProperty, (_QUERY_ID, _BATCH_ID))
        return (query_id, int(batch_id)) if query_id and batch_id else None

    def __getstate__(self) -> dict[str, Any]:
        """Reserve positions when the writer is sent to tasks; one that only commits has none."""
        if self._reservation is None:
            self.reserve()
        return self.__dict__

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Add the files of the tasks, under the id of the query and the number of the batch."""
        ids = {each.query_id for each in messages if isinstance(each, Written)}
        query_id = next(iter(ids), None)
        if messages and (query_id is None or len(ids) > 1):
            raise FailedPrecondition(
                f"queryId: {sorted(map(str, ids))}; the tasks of a streaming query need its id, "
                "and Spark did not give one id to all; use publish_stream, which needs none"
            )
        transaction = None if query_id is None else (query_id, batchId)
        _commit(self._options, messages, transaction, writing.commit_micro_batch)


def _commit(
    options: Options,
    messages: Sequence[WriterCommitMessage | None],
    transaction: tuple[str, int] | None,
    commit: Callable[[Tables, Reservation, Sequence[WrittenFile], tuple[str, int] | None], object],
) -> None:
    written = [each for each in messages if isinstance(each, Written)]
    files = [each.file for each in written if each.file is not None]
    if not written:
        return
    reservations = {each.reservation for each in written}
    if len(reservations) > 1:
        raise FailedPrecondition(
            "messages: the tasks wrote for more than one publish; nothing was published: try again"
        )
    with options.reaching() as tables:
        commit(tables, reservations.pop(), files, transaction)
