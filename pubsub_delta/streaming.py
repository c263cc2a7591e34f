"""Structured Streaming: queries that consume a subscription, or publish to a topic.

A query's micro-batch is a lease, which the id of the query and that of the batch name. A repetition
after a crash has the same messages. So a sink that is idempotent by batch id, as Delta is with
``txnAppId`` and ``txnVersion``, has every message once.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from threading import Event, Thread
from traceback import format_exception
from typing import TYPE_CHECKING, Any, TypeAlias

from pubsub_delta.clock import Clock
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, Unavailable, as_utf8
from pubsub_delta.micro_batch_lease import MicroBatchLease
from pubsub_delta.names import ResourceName
from pubsub_delta.operations import publish, pull
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.arguments import check_function
from pubsub_delta.policy.available_now import AvailableNow
from pubsub_delta.policy.fields import check_max_messages
from pubsub_delta.policy.metrics import metrics_of
from pubsub_delta.policy.streams import started_last
from pubsub_delta.session import is_remote
from pubsub_delta.tables.lanes.storage_errors import StorageRefused, translate_error_of
from pubsub_delta.tables.store import Tables
from pubsub_delta.threads import start_threads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from pubsub_delta.tables.lanes.spark.ticks import MetricsFile

Process: TypeAlias = "Callable[[DataFrame, int], object]"
Trigger: TypeAlias = Mapping[str, Any]

OBSERVED = "pubsub_delta"
"""The name under which a query's progress carries the subscription's metrics."""

_log = logging.getLogger("pubsub_delta")
_DEFAULT_TRIGGER = {"processingTime": "1 second"}
_POLL_SECONDS = 0.05


def subscribe_stream(
    tables: Tables,
    name: ResourceName,
    process: Process,
    checkpoint_location: str,
    trigger: Trigger | None,
    max_messages: int | None,
    clock: Clock,
) -> StreamingQuery:
    """Start a query that calls ``process`` with a DataFrame of messages, batch after batch."""
    process = check_function(process, "process", "a DataFrame and a number")
    location = _location(checkpoint_location)
    _refuse_remote(tables, "subscribe_stream")
    check_max_messages(max_messages)
    chosen = _DEFAULT_TRIGGER if trigger is None else _checked(trigger)
    subscribed, _ = tables.attached(name)
    consuming = _Consuming(tables, name, location, clock, subscribed.uid, process, max_messages)
    if "availableNow" not in chosen:
        return consuming.start(consuming.ticks(), chosen)
    consuming.drain()
    # Spark would end a query over these ticks after one micro-batch; it is ended here.
    query = consuming.start(consuming.ticks(), {"processingTime": "0 seconds"})
    ending = Thread(target=_stop_when_drained, args=(query, consuming), daemon=True)
    start_threads([ending], query.stop)
    return query


def publish_stream(
    tables: Tables,
    name: ResourceName,
    messages: DataFrame,
    checkpoint_location: str,
    trigger: Trigger | None,
    order_by: str | None,
    clock: Clock,
    prepare: publish.Prepare | None = None,
) -> StreamingQuery:
    """Start a query that publishes every micro-batch of a streaming DataFrame exactly once.

    ``prepare``: returns the messages of the rows of a micro-batch; without it they are messages.
    """
    if prepare is not None:
        check_function(prepare, "prepare", "a DataFrame and a number")
    location = _location(checkpoint_location)
    _refuse_remote(tables, "publish_stream")
    from pubsub_delta.tables.lanes.spark.publishing import check_stream  # it imports pyspark

    check_stream(messages, order_by, of_messages=prepare is None)
    tables.topic(name)
    timing = {} if trigger is None else _checked(trigger)
    publishing = _Publishing(tables, name, location, clock, order_by, prepare)
    return publishing.start(messages, timing)


class _MicroBatches(ABC):
    """The function that Spark calls for each micro-batch of a query."""

    def __init__(
        self, tables: Tables, name: ResourceName, checkpoint_location: str, clock: Clock
    ) -> None:
        self._started: Future[StreamingQuery] = Future()
        self._tables = tables
        self._name = name
        self._checkpoint_location = checkpoint_location
        self._clock = clock

    def start(self, rows: DataFrame, timing: Mapping[str, Any]) -> StreamingQuery:
        """Start the query over a streaming DataFrame."""
        writer = rows.writeStream.foreachBatch(self)
        if timing:
            writer = _timed(writer, timing)
        with _telling_of_a_checkpoint(self._checkpoint_location):
            query = writer.option("checkpointLocation", self._checkpoint_location).start()
        self._started.set_result(query)
        return query

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        try:
            self.run(batch, batch_id)
        except BaseException as error:
            if not self.is_active():
                raise QueryStopped from None
            told = "".join(format_exception(error))
            if as_utf8(told) != told:
                raise QueryExited(as_utf8(told)) from None
            if isinstance(error, Exception):
                raise
            raise QueryExited(f"it has ended by {error!r}") from error

    def is_active(self) -> bool:
        """Return whether the query runs, or is starting; it does not run if Spark cannot be asked.

        A JVM can be killed while this program goes on.
        """
        if not self._started.done():
            return True
        try:
            return bool(self._started.result().isActive)
        except Exception:  # each way to lose a JVM has an error of its own
            return False

    @abstractmethod
    def run(self, batch: DataFrame, batch_id: int) -> None:
        """Do the work of one micro-batch."""

    @cached_property
    def query_id(self) -> str:
        """The id that the query keeps from start to start."""
        return str(self._started.result().id)


class QueryExited(Exception):
    """The error of a micro-batch that ends by one that Py4J does not tell the JVM.

    By ``sys.exit`` or another error that is no Exception its thread ends, and the query would wait
    for ever. A text that is not Unicode, as the name of a file can be, it does not send.
    """


class QueryStopped(Exception):
    """The error that ends a micro-batch when its query is stopped, which is not a failure.

    Spark searches the text of an error for an interruption, by an expression that overflows the
    stack on the long text of the original error.
    """

    def __str__(self) -> str:
        return (
            "py4j.protocol.Py4JJavaError: An error occurred while calling a query that was "
            "stopped: java.lang.InterruptedException"
        )


class _Publishing(_MicroBatches):
    """Publishes each micro-batch under the id of the query and the number of the batch."""

    def __init__(
        self,
        tables: Tables,
        name: ResourceName,
        checkpoint_location: str,
        clock: Clock,
        order_by: str | None,
        prepare: publish.Prepare | None,
    ) -> None:
        super().__init__(tables, name, checkpoint_location, clock)
        self._order_by = order_by
        self._prepare = prepare

    def run(self, batch: DataFrame, batch_id: int) -> None:
        topic, now = self._tables.topic(self._name), self._clock.now()
        publish.publish_micro_batch(
            self._tables, topic, batch, now, self.query_id, batch_id, self._order_by, self._prepare
        )


class _Consuming(_MicroBatches):
    """Leases messages to each micro-batch and processes them."""

    def __init__(
        self,
        tables: Tables,
        name: ResourceName,
        checkpoint_location: str,
        clock: Clock,
        uid: str,
        process: Process,
        max_messages: int | None,
    ) -> None:
        super().__init__(tables, name, checkpoint_location, clock)
        self.drained_at: int | None = None
        self.is_past_drained = False
        self._uid = uid
        self._process = process
        self._max_messages = max_messages
        self._drain: AvailableNow | None = None
        self._batch_lease: MicroBatchLease | None = None
        self._metrics: MetricsFile | None = None
        self._processed_count = 0

    def drain(self) -> None:
        """End when each message was offered that is published by now."""
        end = pull.newest_position(self._tables, self._name, self._clock.now())
        self._drain = AvailableNow(end)

    def ticks(self) -> DataFrame:
        """Return the stream that drives the query: a row for each micro-batch, with metrics."""
        from pubsub_delta.tables.lanes.spark.ticks import MetricsFile, ticks  # it imports pyspark

        self._metrics = MetricsFile()
        self._tell_metrics(self._tables.ack_states.read(self._uid))
        return ticks(self._tables.spark, self._metrics, OBSERVED, str(self._name), self._uid)

    def run(self, batch: DataFrame, batch_id: int) -> None:
        # Also so that Spark sees the metrics.
        repeated = any(row["repeated"] for row in batch.collect())
        if self._drain is not None and self._drain.is_over:
            self.is_past_drained = self.drained_at is not None and batch_id > self.drained_at
            self.drained_at = self.drained_at or batch_id
            return
        if self._batch_lease is not None:
            self._batch_lease.leave()
            self._batch_lease = None
        try:
            lease = self._lease(batch_id, repeated=repeated)
        except Exception:
            if not self.is_active():
                self._give_back(batch_id)
            raise
        if lease is None:
            return
        batch_lease = MicroBatchLease(
            self._tables,
            self._name,
            lease,
            self.query_id,
            batch_id,
            self._clock,
            self._tell_metrics,
        )
        try:
            self._process(lease.df, batch_id)
        except BaseException:
            batch_lease.fail(stopped=not self.is_active())
            raise
        self._processed_count += len(lease.positions)
        if self._drain is not None and self._drain.is_finishing:
            self._drain.is_over = batch_lease.finish()
            return
        batch_lease.processed()
        self._batch_lease = batch_lease

    def _lease(self, batch_id: int, *, repeated: bool) -> Lease | None:
        most = 0 if self._drain is not None and self._drain.is_finishing else self._max_messages
        given = pull.pull_micro_batch(
            self._tables,
            self._name,
            self.query_id,
            batch_id,
            most,
            self._clock.now,
            None if self._drain is None else self._drain.end,
            repeated=repeated,
            uid=self._uid,
        )
        self._tell_metrics(given.state)
        if self._drain is not None:
            last = started_last(given.state, self.query_id)
            again = repeated or (last is not None and last.batch_id >= batch_id)
            leased = None if given.lease is None else given.lease.positions
            self._drain.note(leased, given.state, again=again)
        return given.lease

    def _give_back(self, batch_id: int) -> None:
        """Give back what a micro-batch has leased, if the stop of its query hid that it has.

        Spark interrupts the thread of the query, after which Spark's lane can read nothing there.
        """
        give_back = partial(pull.give_back_micro_batch, failed=False, uid=self._uid)
        now = self._clock.now()
        with ThreadPoolExecutor(1) as thread:
            given = (self._tables, self._name, self.query_id, batch_id, now)
            error = thread.submit(give_back, *given).exception()
        if error is not None:
            _log.warning("%s: micro-batch %d is not given back: %s", self._name, batch_id, error)

    def _tell_metrics(self, state: AckState) -> None:
        if self._metrics is not None:
            self._metrics.write(metrics_of(state), self._processed_count)


def _stop_when_drained(query: StreamingQuery, consuming: _Consuming) -> None:
    """Stop a query when it has reported the micro-batch after the last one, or begins another.

    A session may keep no report (``spark.sql.streaming.numRecentProgressUpdates=1``).
    """
    wait = Event()
    while query.isActive:
        progress = query.lastProgress if consuming.drained_at is not None else None
        is_told = progress is not None and progress["batchId"] >= (consuming.drained_at or 0)
        if is_told or consuming.is_past_drained:
            query.stop()
            return
        wait.wait(_POLL_SECONDS)


def _refuse_remote(tables: Tables, verb: str) -> None:
    if is_remote(tables.spark):
        raise FailedPrecondition(
            f"{verb}: a Spark Connect server would process micro-batches in another Python "
            "process, without this store; use a session of the query's own process, as under "
            "spark-submit or from local_session()"
        )


def _location(checkpoint_location: object) -> str:
    if not isinstance(checkpoint_location, str) or not checkpoint_location.strip(" /"):
        raise InvalidArgument(
            f"checkpoint_location: {checkpoint_location!r}; a directory or URL that only this "
            "query uses is accepted"
        )
    return checkpoint_location.rstrip("/")


@contextmanager
def _telling_of_a_checkpoint(location: str) -> Iterator[None]:
    """Raise Unavailable, FailedPrecondition or InvalidArgument for a checkpoint out of reach."""
    try:
        yield
    except Exception as error:  # Spark hands on an error of Java, which has no class in Python
        found = translate_error_of(f"checkpoint_location: {location}", error)
        if isinstance(found, (Unavailable, StorageRefused)):
            raise found from error
        if "ParentNotDirectoryException" in str(error):
            raise InvalidArgument(
                f"checkpoint_location: {location!r} is below a file; a directory or URL that only "
                "this query uses is accepted"
            ) from error
        raise


def _timed(writer: Any, timing: Mapping[str, Any]) -> Any:
    """Return a writer with a trigger; InvalidArgument for an interval that Spark does not read."""
    from pyspark.errors import IllegalArgumentException

    try:
        return writer.trigger(**timing)
    except IllegalArgumentException as error:
        raise InvalidArgument(
            f"trigger: {timing!r} is not accepted ({error}); "
            '{"processingTime": "10 seconds"} is accepted'
        ) from None


def _checked(trigger: object) -> dict[str, Any]:
    """Return a trigger as DataStreamWriter.trigger takes it; InvalidArgument."""
    accepted = '{"processingTime": "10 seconds"} or {"availableNow": True} is accepted'
    if not isinstance(trigger, Mapping) or len(trigger) != 1:
        raise InvalidArgument(f"trigger: {trigger!r}; {accepted}")
    ((kind, value),) = trigger.items()
    if (kind == "availableNow" and value is True) or (
        kind == "processingTime" and isinstance(value, str) and value.strip()
    ):
        return {kind: value}
    raise InvalidArgument(f"trigger: {trigger!r}; {accepted}")
