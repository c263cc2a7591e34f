"""``spark.read.format("pubsub_delta")``: the messages of a topic, or a subscription's backlog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource as spark
from pyspark.sql.datasource import DataSourceReader, InputPartition

from pubsub_delta.clock import CheckedClock, SystemClock, as_utc
from pubsub_delta.datasource.options import Options
from pubsub_delta.datasource.partition_reader import read_files, read_spans
from pubsub_delta.datasource.partitions import FilesPartition, grouped, spans_partitions
from pubsub_delta.delivery.sources import source
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.operations.read import version_as_of
from pubsub_delta.policy.ack_ids import is_message_id
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.direct import DirectScans
from pubsub_delta.tables.lanes.scans import Window

_MICROSECOND = timedelta(microseconds=1)


class BacklogReader(DataSourceReader):
    """Reads the unacknowledged messages of a subscription as they are when the read is planned."""

    def __init__(self, options: Options, columns: pa.Schema) -> None:
        self._options = options
        self._columns = columns
        self._clock = CheckedClock(SystemClock())

    def partitions(self) -> list[InputPartition]:
        """Read the ack state, and return the messages in partitions. It leases nothing."""
        name = self._options.backlog
        assert name is not None
        with self._options.reaching() as tables:
            found = source(tables, name)
            state = found.catch_up(tables.ack_states.read(found.uid), self._clock.now())
            table = found.messages.table
            parts = spans_partitions(
                table,
                state.unacked(),
                tables.lanes.control.files(table),
                ack_prefix=None,
                counted=found.subscription.dead_letter_policy is not None,
                ordered=False,
            )
        return [InputPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a part, in a task."""
        if partition.value is not None:
            with self._options.reaching() as tables:
                yield from read_spans(tables, partition.value, self._columns)


class TopicReader(DataSourceReader):
    """Reads the messages that a topic stores, or stored as of a version or a time."""

    def __init__(self, options: Options, columns: pa.Schema) -> None:
        self._options = options
        self._columns = columns
        self._filters = PushedFilters()

    def partitions(self) -> list[InputPartition]:
        """Return the files that can have such messages, in partitions."""
        name = self._options.topic
        assert name is not None
        with self._options.reaching() as tables:
            messages = tables.messages(tables.topic(name).uid)
            as_of = self._options.as_of
            if as_of is None:
                version, until = messages.history.version(), None
            else:
                version, until = version_as_of(messages, as_of)
            window = self._filters.window(until)
            scans = tables.lanes.local_scans
            assert isinstance(scans, DirectScans)
            files = scans.files(messages.table, version, window)
        keys = self._filters.ordering_keys
        packed = None if window.positions is None else window.positions.to_bytes()
        return [
            InputPartition(
                FilesPartition(
                    messages.table,
                    version,
                    paths,
                    window.earliest,
                    window.latest,
                    packed,
                    None if keys is None else tuple(sorted(keys)),
                )
            )
            for paths in grouped(files)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of some files, in a task."""
        if partition.value is not None:
            with self._options.reaching() as tables:
                yield from read_files(tables, partition.value, self._columns)


class PushingTopicReader(TopicReader):
    """A topic reader that evaluates filters of the query.

    Spark refuses such a reader unless a setting of Spark permits it, so it is used only if an
    option asks for it.
    """

    def pushFilters(  # noqa: N802
        self, filters: list[spark.Filter]
    ) -> Iterable[spark.Filter]:
        """Accept filters that skip files and rows; yield those that Spark must evaluate."""
        for each in filters:
            if not self._filters.take(each):
                yield each


class PushedFilters:
    """The messages that pass the accepted filters: by ids, times or ordering keys."""

    def __init__(self) -> None:
        self.earliest: datetime | None = None
        self.latest: datetime | None = None
        self.ids: frozenset[int] | None = None
        self.ordering_keys: frozenset[str] | None = None

    def take(self, filter_: spark.Filter) -> bool:
        """Accept a filter; false if Spark must evaluate it.

        That is a filter that is not on ids, times or ordering keys.
        """
        path: tuple[str, ...] = getattr(filter_, "attribute", ())
        value: Any = getattr(filter_, "value", None)
        if len(path) != 1 or value is None:
            return False
        if path[0] == "publish_time" and isinstance(value, datetime):
            with suppress(OverflowError):  # after the latest of all times, or before the earliest
                return self._take_time(filter_, as_utc(value, "publish_time"))
            return False
        values = _values(filter_, value)
        if values is None:
            return False
        if path[0] in ("message_id", "messageId"):
            named = ((each, int(each)) for each in values if is_message_id(each))
            ids = frozenset(number for text, number in named if str(number) == text)
            self.ids = ids if self.ids is None else self.ids & ids
            return True
        if path[0] == "ordering_key":
            keys = frozenset(values)
            self.ordering_keys = keys if self.ordering_keys is None else self.ordering_keys & keys
            return True
        return False

    def window(self, until: datetime | None) -> Window:
        """Return the window of these messages, among those published until a time."""
        ends = [end for end in (self.latest, until) if end is not None]
        positions = None if self.ids is None else Positions.of(sorted(self.ids))
        return Window(positions, self.earliest, min(ends, default=None))

    def _take_time(self, filter_: spark.Filter, time: datetime) -> bool:
        match filter_:
            case spark.GreaterThanOrEqual():
                self._between(time, None)
            case spark.GreaterThan():
                self._between(time + _MICROSECOND, None)
            case spark.LessThanOrEqual():
                self._between(None, time)
            case spark.LessThan():
                self._between(None, time - _MICROSECOND)
            case spark.EqualTo() | spark.EqualNullSafe():
                self._between(time, time)
            case _:
                return False
        return True

    def _between(self, earliest: datetime | None, latest: datetime | None) -> None:
        starts = [each for each in (self.earliest, earliest) if each is not None]
        ends = [each for each in (self.latest, latest) if each is not None]
        self.earliest, self.latest = max(starts, default=None), min(ends, default=None)


def _values(filter_: spark.Filter, value: Any) -> list[str] | None:
    """Return the texts that a filter accepts; None if it is not a comparison with texts."""
    if isinstance(filter_, (spark.EqualTo, spark.EqualNullSafe)):
        values = [value]
    elif isinstance(filter_, spark.In):
        values = list(value)
    else:
        return None
    return values if all(isinstance(each, str) for each in values) else None


def batch_reader(options: Options, columns: pa.Schema) -> DataSourceReader:
    """Return the reader of the topic or the backlog that options name; exactly one is needed."""
    if (options.topic is None) == (options.backlog is None):
        raise InvalidArgument(
            "topic, backlog: one of the two options is accepted: the topic whose messages to read, "
            "or the subscription whose backlog to read"
        )
    if options.backlog is not None:
        return BacklogReader(options, columns)
    reader = PushingTopicReader if options.pushes_filters else TopicReader
    return reader(options, columns)
