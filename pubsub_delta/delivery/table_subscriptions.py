"""Writes the messages of a table subscription to its table, in slices: one commit each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pubsub_delta.delivery import table_writes
from pubsub_delta.delivery.consuming import CommitResult, commit
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.sources import Source, source
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.names import ResourceName
from pubsub_delta.policy import delivery, replay
from pubsub_delta.policy import table_writes as steps
from pubsub_delta.policy.ack_state import AckState, Span
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.positions import Positions
from pubsub_delta.table_config import TableState
from pubsub_delta.tables.store import Tables
from pubsub_delta.tables.target_rows import RowConverter
from pubsub_delta.tables.targets import Target, Unwritable

SHORTEST_LEASE = timedelta(seconds=60)
"""The shortest lease of a slice; if its writer takes longer, the delivery has failed."""


@dataclass(frozen=True)
class TableWrites:
    """The result of writing messages to a table.

    ``written``: messages that are rows now. ``failed``: deliveries that failed, as their message
    does not fit the table. ``state``: whether the table can be written to, and ``problem`` why not.
    ``is_done``: whether no message is left that could be written now.
    """

    written: int = 0
    failed: int = 0
    state: TableState = TableState.ACTIVE
    problem: str = ""
    is_done: bool = True


def write_messages(
    tables: Tables,
    name: ResourceName,
    clock: Callable[[], datetime],
    slices: int | None = None,
    *,
    forward: bool = True,
) -> TableWrites:
    """Write the messages of a subscription to its table, each once: a slice in each commit.

    The delivery of a message that does not fit fails: the retry policy delivers it again, and after
    the last attempt it goes to the dead-letter topic. If the table does not exist or cannot be
    written, nothing is leased, and no delivery fails. FailedPrecondition without a table_config.

    ``slices``: the largest number of commits; None: until no message is left, or none fits.
    ``forward``: whether exhausted messages can go to the dead-letter topic.
    """
    written = failed = done = 0
    state, why = TableState.ACTIVE, ""
    while slices is None or done < slices:
        writing = _Slice(tables, source(tables, name), forward=forward)
        try:
            result = writing.lease(clock)
            count, unfit = writing.write(result, clock())
        except Unwritable as problem:
            return TableWrites(written, failed, problem.state, str(problem))
        written, failed, done = written + count, failed + unfit, done + 1
        state, why = writing.table_state
        gives_up = unfit > 0 and not count and not writing.may_be_forwarded
        if result.lease is None or gives_up:
            return TableWrites(written, failed, state, why)
    return TableWrites(written, failed, state, why, is_done=False)


class _Slice:
    """One slice: a lease, the rows of the messages that fit, and one commit of the table."""

    def __init__(self, tables: Tables, found: Source, *, forward: bool) -> None:
        self._forward = forward
        found = found if forward else found.without_dead_letters()
        subscription = found.subscription
        if subscription.table_config is None:
            raise FailedPrecondition(
                f"subscription {subscription.name} has no table_config; set one with "
                "update_subscription"
            )
        self._tables = tables
        self._source = found
        self._table = subscription.table_config.table
        self._converter: RowConverter | None = None
        self._target: Target | None = None
        self.table_state = (TableState.ACTIVE, "")

    @property
    def may_be_forwarded(self) -> bool:
        """Whether exhausted messages have a dead-letter topic (Pub/Sub: no backoff then)."""
        return self._source.subscription.dead_letter_policy is not None

    def lease(self, clock: Callable[[], datetime]) -> CommitResult:
        """Lease messages if the table accepts them; Unwritable if it does not.

        If its columns fit no message at all, messages are leased only with a dead-letter topic,
        where they go in the end.
        """
        self._target = self._tables.target(self._table)
        try:
            subscription = self._source.subscription
            self._converter = table_writes.row_converter(self._tables, subscription, self._target)
        except Unwritable as problem:
            if not self.may_be_forwarded:
                raise
            self.table_state = (problem.state, str(problem))
        seconds = self._source.subscription.ack_deadline_seconds
        deadline = max(SHORTEST_LEASE, timedelta(seconds=seconds))

        def lease_slice(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
            return delivery.lease(state, table_writes.SLICE_MESSAGES, terms, clock(), deadline)

        result, _ = commit(self._tables, self._source, clock(), lease_slice, forward=self._forward)
        if result.written.problem is not None:
            if result.lease is not None:
                self._settle(result.lease, Positions(), Positions(), clock())
            raise result.written.problem
        return result

    def write(self, result: CommitResult, now: datetime) -> tuple[int, int]:
        """Write the messages that fit; return how many are written and how many failed."""
        lease, count = result.lease, result.written.count
        if lease is None:
            return count, 0
        if self._converter is None:
            self._settle(lease, Positions(), lease.positions, now)
            return count, len(lease.positions)
        read, looked_at = table_writes.read_slice(lease)
        made = self._converter.rows(read)
        fitting = Positions.of(
            int(each.message_id) for place, each in enumerate(read) if place not in made.unfit
        )
        state = self._settle(lease, fitting, looked_at - fitting, now)
        assert self._target is not None
        prepared = table_writes.Prepared(fitting, self._target, made.rows)
        finished = table_writes.finish(self._tables, self._source, state, prepared)
        if finished.problem is not None:
            raise finished.problem
        return count + finished.count, len(looked_at - fitting)

    def _settle(
        self, lease: Lease, fitting: Positions, unfit: Positions, now: datetime
    ) -> AckState:
        """Commit the outcome of a slice: messages that fit get written, other deliveries fail."""
        held, terms = lease.lease_id, self._source.terms
        rest = lease.positions - fitting - unfit
        nacked = timedelta(0)

        def step(state: AckState) -> AckState:
            following, _ = delivery.modify_ack_deadline(state, {held: unfit}, terms, now, nacked)
            following = delivery.give_back(following, {held: rest}, terms, now)
            following = steps.decide(following, held, fitting, self._table)
            return replay.note_activity(state, following, self._source.subscription, now)

        return self._tables.ack_states.update(self._source.uid, step)
