"""The source that drives ``subscribe_stream``: one row a micro-batch, with metrics to observe.

Redeliveries must come even if nothing is published, so there is always a next offset. It names the
subscription, so that a checkpoint of another one is refused. Spark runs the source in a separate
Python process beside the driver. A file passes the metrics of the subscription to that process,
since a read of the ack state by Spark would cost each micro-batch half a second.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from pubsub_delta.clock import to_micros
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy.metrics import SubscriptionMetrics
from pubsub_delta.policy.streams import check_checkpoint
from pubsub_delta.tables.lanes.spark.errors import translating_errors

_TIME = "oldest_unacked_publish_time"
METRICS = (
    "num_undelivered_messages",
    "num_outstanding_messages",
    _TIME,
    "ack_message_count_success",
    "ack_message_count_expired",
    "ack_message_count_invalid",
    "dead_letter_message_count",
)
"""The metrics that the progress of a query carries, as ``SubscriptionMetrics`` has them."""
PROCESSED = "processed_message_count"
"""The messages of a query itself: the metrics count what all consumers of its subscription did."""
_NUMBERS = (*METRICS, PROCESSED)
REPEATED = "repeated"
"""The column that tells whether another run of the query has planned the micro-batch before."""

_log = logging.getLogger("pubsub_delta")


class MetricsFile:
    """The metrics of a query and its subscription, in a file that lives as long as this object."""

    def __init__(self) -> None:
        self._directory = TemporaryDirectory(prefix="pubsub-delta-")
        self.path = Path(self._directory.name, "metrics.json")

    def write(self, metrics: SubscriptionMetrics, processed: int) -> None:
        """Replace the content of the file.

        ``processed``: the messages that the query has processed since it was started. A failure is
        logged, and the progress of the query then has older metrics.
        """
        row = {name: _number(getattr(metrics, name)) for name in METRICS}
        row[PROCESSED] = processed
        written = self.path.with_suffix(".new")
        try:
            written.write_text(json.dumps(row))
            written.replace(self.path)
        except OSError as error:
            _log.warning("the progress of the query carries no newer metrics: %s", error)


def _number(value: int | datetime | None) -> int | None:
    return to_micros(value) if isinstance(value, datetime) else value


def ticks(
    spark: SparkSession, metrics_file: MetricsFile, observed: str, name: str, uid: str
) -> DataFrame:
    """Return a stream of one row a micro-batch, of which Spark observes the metrics in a file.

    ``observed``: their name in the progress of the query. ``name``, ``uid``: of the subscription.
    """
    with translating_errors(name):
        spark.dataSource.register(TickSource)
        source = spark.readStream.format(TickSource.name()).options(
            metrics=str(metrics_file.path), subscription=name, uid=uid
        )
        metrics = source.load().withColumn(_TIME, F.timestamp_micros(_TIME))
        return metrics.observe(observed, *(F.max(name).alias(name) for name in _NUMBERS))


class TickSource(DataSource):
    """Yields one row for each micro-batch of a query."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format, which only this query uses."""
        return "pubsub_delta_ticks"

    def schema(self) -> str:
        """Return the metrics as numbers, and whether the micro-batch is repeated."""
        return ", ".join([*(f"{name} BIGINT" for name in _NUMBERS), f"{REPEATED} BOOLEAN"])

    def simpleStreamReader(self, schema: StructType) -> TickReader:  # noqa: ARG002, N802
        """Return the reader that counts the micro-batches."""
        given = self.options
        return TickReader(Path(given["metrics"]), given["subscription"], given["uid"])


class TickReader(SimpleDataSourceStreamReader):
    """Counts the micro-batches of a query; its offset is the number of the next, and the uid.

    FailedPrecondition for an offset of another subscription, or of another kind of query.
    """

    def __init__(self, path: Path, name: str, uid: str) -> None:
        self._path = path
        self._name = name
        self._uid = uid

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before the first micro-batch."""
        return self._offset(0)

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        """Return the present metrics, and the next offset."""
        return self._metrics(repeated=False), self._offset(self._tick_of(start) + 1)

    def readBetweenOffsets(  # noqa: N802
        self,
        start: dict[str, Any],  # noqa: ARG002
        end: dict[str, Any],
    ) -> Iterator[tuple[Any, ...]]:
        """Return the present metrics, for a repeated micro-batch."""
        self._tick_of(end)
        return self._metrics(repeated=True)

    def _offset(self, tick: int) -> dict[str, Any]:
        return {"tick": tick, "subscription": self._uid}

    def _tick_of(self, offset: object) -> int:
        """Return the number of an offset. Spark gives what the checkpoint holds: any JSON value."""
        tick = offset.get("tick") if isinstance(offset, Mapping) else None
        if not isinstance(offset, Mapping) or not isinstance(tick, int):
            raise FailedPrecondition(
                f"checkpoint: {offset!r} is not an offset of subscribe_stream: another kind of "
                "query has written it; use a checkpoint of such a query, or a new one"
            )
        check_checkpoint(self._name, self._uid, offset.get("subscription"))
        return tick

    def _metrics(self, *, repeated: bool) -> Iterator[tuple[Any, ...]]:
        try:
            metrics = json.loads(self._path.read_text())
        except FileNotFoundError:  # this process does not run in the query's directory
            metrics = {}
        return iter([(*(metrics.get(name) for name in _NUMBERS), repeated)])
