"""The messages of one topic: append them, delete old ones, and maintain their table."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from pubsub_delta.clock import start_of_day, to_micros
from pubsub_delta.errors import DataLoss, InvalidArgument, Unknown, first_line
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.schemas.validation import SchemaValidator
from pubsub_delta.policy.transactions import ANNOUNCEMENTS
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.lanes.protocol import Append, Conflict, LoggedCommit, Where
from pubsub_delta.tables.lanes.retries import repeat_on_conflict
from pubsub_delta.tables.lanes.storage_errors import StorageRefused
from pubsub_delta.tables.messages.commits import History, publish_metadata
from pubsub_delta.tables.messages.position_allocator import PositionAllocator
from pubsub_delta.tables.messages.stored import StoredMessages, day_of
from pubsub_delta.tables.schemas import MESSAGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Messages(StoredMessages):
    """The messages of one topic, and the table by which their positions are allocated."""

    def __init__(
        self,
        lanes: Lanes,
        table: str,
        positions_table: str,
        allocator: PositionAllocator,
        history: History,
    ) -> None:
        super().__init__(lanes, table, history)
        self._positions_table = positions_table
        self._allocator = allocator

    def create(self) -> None:
        """Create the empty table."""
        self._allocator.create(self._positions_table)
        self._lane.create(self._table, MESSAGES)

    def append(
        self,
        rows: pa.Table,
        publish_time: datetime,
        publish_id: str,
        transaction: tuple[str, int] | None = None,
    ) -> Positions | None:
        """Append messages (data, attributes, ordering_key) in one commit, in their order.

        Return their positions; None, without a write, if the transaction, or a later one of its
        application, has landed before.
        """
        count = rows.num_rows
        with self._lane.locked(self._table):
            first = self._allocator.allocate(self._positions_table, count, self.history)
            stamped = pa.table(
                {
                    "position": pa.array(range(first, first + count), pa.int64()),
                    "publish_date": pa.repeat(day_of(publish_time), count).cast(pa.date32()),
                    "publish_time": pa.repeat(
                        pa.scalar(publish_time, MESSAGES.columns.field("publish_time").type), count
                    ),
                    **{name: rows[name] for name in ("ordering_key", "attributes", "data")},
                },
                schema=MESSAGES.columns,
            )
            metadata = publish_metadata(publish_time, publish_id, first, first + count, count)
            known_version = self.history.newest_version()
            try:
                made = self._lane.append(self._table, stamped, metadata, transaction, known_version)
            except Exception as error:
                # Also a Conflict: the client of an object store repeats a put whose response was
                # lost, and can then find its own commit, which is not a lost race.
                if not self._has_landed(publish_id, first, error):
                    raise
                made = Append(landed=True)
            if made.version is not None:
                self.history.add(LoggedCommit(made.version, publish_time, "WRITE", {}, metadata))
        return Positions.between(first, first + count - 1) if made else None

    def _has_landed(self, publish_id: str, first: int, error: Exception) -> bool:
        """Return whether a commit that was told as failed has landed; Unknown if nobody can tell.

        ``first``: its first position; an earlier publish of the same id has another one.
        """
        if isinstance(error, StorageRefused):
            return False
        try:
            commit = self.history.published_as(publish_id)
        except DataLoss:
            raise
        except Exception as failed:
            raise Unknown(
                f"{self._table}: a publish was sent, its answer was lost ({first_line(error)}), "
                f"and it cannot be looked for now ({first_line(failed)}); it may have landed"
            ) from error
        return commit is not None and commit.first_position == first

    def reserve(self, count: int) -> int:
        """Reserve a range of positions for files that tasks write, and return the first one."""
        return self._allocator.reserve(self._positions_table, count, self.history)

    def was_last_of(self, transaction: tuple[str, int]) -> bool:
        """Return whether a transaction is known to be the last of its application that landed."""
        application, version = transaction
        return self._lane.transaction_version(self._table, application) == version

    def last_version_of(self, application: str) -> int | None:
        """Return the last version of an application that landed, as far as it is known.

        Where the lane cannot read transactions, the history tells.
        """
        known = self._lane.transaction_version(self._table, application)
        return self.history.last_version_of(application) if known is None else known

    def append_frame(
        self,
        rows: DataFrame,
        publish_time: datetime,
        publish_id: str,
        transaction: tuple[str, int] | None,
        partitions: int,
        validator: SchemaValidator | None = None,
    ) -> bool:
        """Append a DataFrame that ``publishing.conformed`` has returned, in one commit, or nothing.

        ``validator``: checks the data of the messages as they are written. False if the transaction
        has landed before; TooManyPartitions for more than ``partitions``.
        """
        from pubsub_delta.tables.lanes.spark import publishing  # this is what needs Spark

        writer = self._lanes.writer_for(self._table)
        count = partitions * publishing.ROWS_OF_PARTITION
        first = self._allocator.reserve(self._positions_table, count, self.history)
        metadata = publish_metadata(publish_time, publish_id, first, first + count, None)
        try:
            return publishing.append_frame(
                writer,
                self._table,
                rows,
                first,
                publish_time,
                metadata,
                transaction,
                partitions,
                validator,
            )
        except (InvalidArgument, publishing.TooManyPartitions):
            raise
        except Exception as error:
            if not self._has_landed(publish_id, first, error):
                raise
            return True

    def announce_discard(self, time: datetime, discard_id: str) -> None:
        """Commit, without a message, that what was published before a time is about to be deleted.

        A seek to a time that is carried out from then on does not bring it back.
        """
        metadata = json.dumps({"discards_before": to_micros(time), "discard_id": discard_id})

        def announce() -> None:
            version = self.history.version()
            transaction = (ANNOUNCEMENTS, version)  # without one Spark commits no empty append
            nothing = MESSAGES.columns.empty_table()
            if not self._lane.append(self._table, nothing, metadata, transaction, version):
                raise Conflict(f"{self._table}: another deletion is announced at this moment")

        repeat_on_conflict(announce, self._table)

    def discard_before(self, time: datetime, after_version: int, discard_id: str) -> bool:
        """Delete the messages published before a time; whole days by metadata alone.

        Return False, and delete nothing, if a commit after the given version, or beside this one,
        added messages that old, as a slow publisher's, or restored the table, which makes the
        announcement void. The direct lane deletes nothing that comes after the last look at the
        history. ``discard_id``: that of the announcement.
        """
        with self._lane.locked(self._table):
            late = self.history.commits_after(after_version)
            if not late.is_complete:
                return False
            if any(each.restores or each.may_add(None, time) for each in late.commits):
                return False
            seen = late.commits[0].version if late.commits else after_version
            try:
                self._lane.delete(
                    self._table, _too_old(time), json.dumps({"discard_id": discard_id}), seen
                )
            except Conflict:
                return False
        return True

    def optimize(self) -> int:
        """OPTIMIZE: rewrite small files as few large ones; return how many were replaced."""
        return repeat_on_conflict(lambda: self._lane.compact(self._table), self._table)

    def vacuum(self) -> None:
        """VACUUM: remove the files that no retained version needs."""
        self._lane.vacuum(self._table)

    def clean_log(self, keep: timedelta) -> int:
        """Remove the commits older than ``keep`` by the machine's clock; return their number.

        ``keep`` becomes the table's log retention. That property is changed only if it differs,
        since the change aborts concurrent writers.
        """
        return self._lane.clean_log(self._table, keep)


def _too_old(time: datetime) -> Where:
    """Return the conditions of messages published before a time."""
    if time == start_of_day(time):
        return [("publish_date", "<", day_of(time))]
    return [("publish_date", "<=", day_of(time)), ("publish_time", "<", time)]
