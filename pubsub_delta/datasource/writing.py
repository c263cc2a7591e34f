"""The steps of a write: tasks write files of messages, and one commit adds all of them.

Each task has a range of positions, reserved before it begins, so its files are final. Files that no
commit has added are invisible; VACUUM removes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import cast

import pyarrow as pa

from pubsub_delta.datasource.validation import checked
from pubsub_delta.delivery.schemas import validated, validator_of
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.names import ResourceName
from pubsub_delta.operations.publish import (
    check_is_last,
    check_received,
    earlier,
    has_landed,
    publish_id_of,
)
from pubsub_delta.policy.schemas.validation import SchemaValidator
from pubsub_delta.tables.lanes.direct import DirectLane
from pubsub_delta.tables.lanes.direct.files import WrittenFile, missing_file
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.messages.commits import publish_metadata
from pubsub_delta.tables.schemas import MESSAGES
from pubsub_delta.tables.store import Tables

PARTITIONS = 1024
"""The largest number of partitions; Spark knows the number only when they run."""
ROWS = 1 << 24
"""Positions of each partition."""

_COLUMNS = pa.schema([each for each in MESSAGES.columns if each.name != "publish_date"])
"""The columns of a file; the day of publishing is in its path."""


@dataclass(frozen=True)
class Reservation:
    """The positions and the time of one publish, for the tasks that write its files."""

    topic_name: str
    topic_uid: str
    first_position: int
    publish_time: datetime
    validator: SchemaValidator | None = None

    @property
    def end_position(self) -> int:
        """The position after the last one."""
        return self.first_position + PARTITIONS * ROWS


def reserve(
    tables: Tables, name: ResourceName, now: datetime, transaction: tuple[str, int] | None = None
) -> Reservation:
    """Reserve positions for a publish with the present publish time; NotFound without the topic.

    A publish whose transaction has landed is not held against the topic's schema again.
    """
    topic = tables.topic(name)
    messages = tables.messages(topic.uid)
    again = topic.schema_settings is not None and has_landed(messages, transaction)
    validator = None if again else validator_of(tables, topic)
    first = messages.reserve(PARTITIONS * ROWS)
    return Reservation(topic.name, topic.uid, first, now, validator)


def write_messages(
    tables: Tables,
    reserved: Reservation,
    partition: int,
    rows: Iterable[pa.RecordBatch],
    transaction: tuple[str, int] | None = None,
) -> WrittenFile | None:
    """Check the messages of a partition and write them as a file; None if there are none.

    InvalidArgument if a message breaks a rule, or if there are too many messages or partitions.
    Where the transaction has landed before, nothing need be written.
    """
    try:
        return _write(tables, reserved, partition, rows)
    except InvalidArgument:
        if has_landed(tables.messages(reserved.topic_uid), transaction):
            return None  # the topic has another schema by now
        raise


def _write(
    tables: Tables, reserved: Reservation, partition: int, rows: Iterable[pa.RecordBatch]
) -> WrittenFile | None:
    if partition >= PARTITIONS:
        raise InvalidArgument(
            f"messages: the DataFrame has more than {PARTITIONS:,} partitions; coalesce it to fewer"
        )
    first = reserved.first_position + partition * ROWS
    table = tables.messages(reserved.topic_uid).table
    stamped = _Stamped(rows, first, reserved.publish_time, reserved.validator)
    parts = iter(stamped)
    start = next(parts, None)
    if start is None:
        return None
    path = f"publish_date={reserved.publish_time.date().isoformat()}/{tables.new_id()}.parquet"
    lane = cast(DirectLane, tables.lanes.control)
    size = lane.write_file(table, path, _COLUMNS, chain([start], parts))
    return WrittenFile(path, size, first, first + stamped.count - 1, reserved.publish_time)


def commit(
    tables: Tables,
    reserved: Reservation,
    files: Sequence[WrittenFile],
    transaction: tuple[str, int] | None,
) -> bool:
    """Add the files of a publish in one commit; false if its transaction has landed before.

    FailedPrecondition if a task wrote its file where this process does not find it.
    """
    messages = tables.messages(reserved.topic_uid)
    publish_id = tables.new_id() if transaction is None else publish_id_of(transaction)
    metadata = publish_metadata(
        reserved.publish_time, publish_id, reserved.first_position, reserved.end_position, None
    )
    lane = cast(DirectLane, tables.lanes.control)
    if messages.history.has_allocated(reserved.first_position):
        if transaction is not None and messages.history.published_as(publish_id) is not None:
            return False
        raise FailedPrecondition(
            f"{messages.table}: the positions from {reserved.first_position} were reserved for "
            "another publish, which has landed; nothing was published: try again"
        )
    missing = missing_file(messages.table, files)
    if missing is not None:
        raise FailedPrecondition(
            f"root: {missing} is not there, though a task has written it: the task ran on another "
            "machine, whose disk is not this one's; nothing was published: take a root that all "
            "machines reach, as object storage"
        )

    landed = repeat_on_conflict(
        lambda: lane.add_files(messages.table, files, metadata, transaction), "publish"
    )
    check_received(tables, reserved.topic_name, reserved.topic_uid)
    return landed


def commit_batch(
    tables: Tables,
    reserved: Reservation,
    files: Sequence[WrittenFile],
    transaction: tuple[str, int] | None,
) -> None:
    """Add the files of a batch, if any, unless it has landed before under its transaction.

    FailedPrecondition if another batch has landed with this version or a higher one: Delta would
    skip this batch silently, and lose its messages.
    """
    if files and not commit(tables, reserved, files, transaction) and transaction is not None:
        messages = tables.messages(reserved.topic_uid)
        earlier(messages, publish_id_of(transaction), transaction)


def commit_micro_batch(
    tables: Tables,
    reserved: Reservation,
    files: Sequence[WrittenFile],
    transaction: tuple[str, int] | None,
) -> None:
    """Add the files of a micro-batch, unless it has landed before.

    FailedPrecondition if a later micro-batch of its query has landed.
    """
    landed = bool(files) and commit(tables, reserved, files, transaction)
    if not landed and transaction is not None:
        messages = tables.messages(reserved.topic_uid)
        check_is_last(messages, reserved.topic_name, *transaction)


class _Stamped:
    """Yields the messages of a partition as stored rows, in parts; ``count``: rows so far."""

    def __init__(
        self,
        rows: Iterable[pa.RecordBatch],
        first: int,
        time: datetime,
        validator: SchemaValidator | None,
    ) -> None:
        self.count = 0
        self._rows = rows
        self._first = first
        self._time = time
        self._validator = validator

    def __iter__(self) -> Iterator[pa.Table]:
        for batch in self._rows:
            if batch.num_rows:
                yield self._of(validated(checked(batch), self._validator))

    def _of(self, messages: pa.Table) -> pa.Table:
        first = self._first + self.count
        self.count += messages.num_rows
        if self.count > ROWS:
            raise InvalidArgument(
                f"messages: a partition of the DataFrame has more than {ROWS:,} rows; "
                "repartition it into more"
            )
        time = pa.scalar(self._time, MESSAGES.columns.field("publish_time").type)
        return pa.table(
            {
                "position": pa.array(range(first, first + messages.num_rows), pa.int64()),
                "publish_time": pa.repeat(time, messages.num_rows),
                **{name: messages[name] for name in ("ordering_key", "attributes", "data")},
            },
            schema=_COLUMNS,
        )
