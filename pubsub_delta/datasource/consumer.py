"""The consumer of a stream: leases messages, extends leases, and acknowledges processed messages.

It lives in the Python process that Spark keeps for as long as the query runs. Spark asks for the
next offset when the micro-batch before it has ended, the sink's commit and Spark's own included: so
one commit acknowledges that micro-batch and leases the next.
"""

from __future__ import annotations

from contextlib import suppress

from pubsub_delta.clock import Clock
from pubsub_delta.datasource.offsets import Offset
from pubsub_delta.datasource.partitions import SpansPartition, spans_partitions
from pubsub_delta.delivery.consuming import CommitResult
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.errors import AlreadyExists, FailedPrecondition, NotFound
from pubsub_delta.micro_batch_lease import MicroBatchLease
from pubsub_delta.names import ResourceName
from pubsub_delta.operations import administer, pull
from pubsub_delta.policy.ack_ids import prefix
from pubsub_delta.policy.available_now import AvailableNow
from pubsub_delta.policy.streams import check_checkpoint, started_last
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.store import Tables


class Consumer:
    """Consumes a subscription, micro-batch by micro-batch, each named by an offset.

    Args:
        tables: the tables of the store.
        name: the subscription.
        clock: the clock of its leases.
        topic: the topic that the subscription should be attached to, if that is asked for.
    """

    def __init__(
        self,
        tables: Tables,
        name: ResourceName,
        clock: Clock,
        topic: ResourceName | None = None,
    ) -> None:
        self._tables = tables
        self._name = name
        self._clock = clock
        self._topic = topic
        self._reader = tables.new_id()
        self._drain: AvailableNow | None = None
        self._drains_from_the_start = False
        self._current: tuple[Offset, Lease | None] | None = None
        self._batch_lease: MicroBatchLease | None = None

    def subscribe_to(self, topic: ResourceName) -> None:
        """Create the subscription if it does not exist; NotFound if its topic does not."""
        if self._tables.registry.subscription(str(self._name)) is not None:
            return
        with suppress(AlreadyExists):  # by another query, between the two lines
            wanted, now = Subscription(str(self._name), str(topic)), self._clock.now()
            administer.create_subscription(self._tables, wanted, self._name.project, now)

    def start(self) -> Offset:
        """Return the offset before everything; NotFound, FailedPrecondition if there is nothing."""
        subscribed, _ = self._tables.attached(self._name)
        self._check_topic(subscribed.topic)
        if self._drains_from_the_start:
            self.drain()
        return Offset(subscribed.uid)

    def drain(self) -> None:
        """Take only messages that are published by now, and end when each was delivered.

        A subscription that does not exist has none; ``start`` creates it, or raises NotFound.
        """
        try:
            end = pull.newest_position(self._tables, self._name, self._clock.now())
        except NotFound:
            self._drains_from_the_start = True
            return
        self._drain = AvailableNow(end)

    def following(self, start: Offset, max_messages: int | None) -> Offset:
        """Acknowledge the micro-batch that ended at an offset, and lease the next one.

        Return the offset where it ends; the same offset if no message is available. A number that
        the reader has used before is that of a micro-batch without messages, unless it is the last
        one and has some left. The checkpoint is an older copy then, or Spark does not know the last
        lease. The sink may have committed the number, and would skip other messages.
        """
        self._check(start)
        if self._drain is not None and self._drain.is_over:
            return start
        self.leave()
        offset = start.following(self._reader)
        given, again = self._pull(offset, max_messages)
        if self._drain is not None:
            leased = None if given.lease is None else given.lease.positions
            self._drain.note(leased, given.state, again=again)
        if given.lease is None and not again:
            return start
        self._hold(offset, given.lease)
        return offset

    def parts(self, start: Offset, end: Offset) -> list[SpansPartition]:
        """Return the partitions of the micro-batch that ends at an offset, even a repeated one."""
        if start == end:
            return []
        self._check(end)
        if self._current is None or self._current[0] != end:
            self.leave()
            given = pull.resume_micro_batch(
                *(self._tables, self._name, end.reader, end.batch, self._clock.now),
                uid=end.subscription,
            )
            self._hold(end, given.lease)
        assert self._current is not None
        lease = self._current[1]
        if lease is None:
            return []
        subscribed, table = lease.source.subscription, lease.source.messages.table
        return spans_partitions(
            table,
            lease.spans,
            self._tables.lanes.control.files(table),
            ack_prefix=prefix(subscribed.uid, lease.lease_id),
            counted=subscribed.dead_letter_policy is not None,
            ordered=subscribed.enable_message_ordering,
        )

    def messages_of(self, size: int) -> int:
        """Return about how many messages have ``size`` bytes in their files; at least 1."""
        _, topic_uid = self._tables.attached(self._name)
        files = self._tables.lanes.control.files(self._tables.messages(topic_uid).table)
        counted = [each for each in files if each.rows]
        stored = sum(each.size for each in counted)
        rows = sum(each.rows or 0 for each in counted)
        return max(1, size * rows // stored) if stored else 1

    def leave(self) -> None:
        """Stop extending leases. Leased messages stay leased until their deadline."""
        if self._batch_lease is not None:
            self._batch_lease.leave()
        self._batch_lease = self._current = None

    def _pull(self, offset: Offset, max_messages: int | None) -> tuple[CommitResult, bool]:
        """Pull for a micro-batch; return also whether it, or a later one, has had messages."""
        finishing = self._drain is not None and self._drain.is_finishing
        given = pull.pull_micro_batch(
            self._tables,
            self._name,
            offset.reader,
            offset.batch,
            0 if finishing else max_messages,
            self._clock.now,
            None if self._drain is None else self._drain.end,
            uid=offset.subscription,
        )
        last = started_last(given.state, offset.reader)
        return given, last is not None and last.batch_id >= offset.batch

    def _hold(self, offset: Offset, lease: Lease | None) -> None:
        self._current = offset, lease
        if lease is not None:
            self._batch_lease = MicroBatchLease(
                self._tables, self._name, lease, offset.reader, offset.batch, self._clock
            )

    def _check(self, offset: Offset) -> None:
        subscribed, _ = self._tables.attached(self._name)
        check_checkpoint(str(self._name), subscribed.uid, offset.subscription)
        self._check_topic(subscribed.topic)

    def _check_topic(self, attached: str) -> None:
        """Raise FailedPrecondition for another topic; a deleted one keeps its name here."""
        if self._topic is not None and attached != str(self._topic):
            raise FailedPrecondition(
                f"topic: {self._topic}, but subscription {self._name} is attached to "
                f"{attached}; give that topic, or none"
            )
