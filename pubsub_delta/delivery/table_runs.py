"""Runs: what a table subscription has, into its table, a slice after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pubsub_delta.delivery import table_writes
from pubsub_delta.delivery.consuming import Given, commit
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
from pubsub_delta.tables.target_rows import Rowing
from pubsub_delta.tables.targets import Target, Unwritable

SHORTEST_LEASE = timedelta(seconds=60)
"""For so long at least nobody else writes a slice; after that it is a failed delivery."""


@dataclass(frozen=True)
class TableWrites:
    """What a run wrote.

    ``written``: messages that are rows now. ``failed``: deliveries that failed, as their message
    does not fit the table. ``state``: whether the table can be written to, and ``problem`` why not.
    ``is_done``: whether nothing is left that could be written now.
    """

    written: int = 0
    failed: int = 0
    state: TableState = TableState.ACTIVE
    problem: str = ""
    is_done: bool = True


def run(
    tables: Tables,
    name: ResourceName,
    clock: Callable[[], datetime],
    slices: int | None = None,
    *,
    forward: bool = True,
) -> TableWrites:
    """Write the messages of a subscription to its table, each once: a slice in each commit.

    What does not fit has failed: it is delivered again as its retry policy tells, and goes to the
    dead-letter topic after its last attempt. Where the table is not there, or may not be written,
    nothing is tried, and no delivery fails. FailedPrecondition where the subscription has no table.

    ``slices``: how many commits at most; None: until nothing is left, or nothing fits.
    ``forward``: whether what has failed too often may go to the dead-letter topic.
    """
    written = failed = done = 0
    state, why = TableState.ACTIVE, ""
    while slices is None or done < slices:
        writing = _Slice(tables, source(tables, name), forward=forward)
        try:
            given = writing.take(clock())
            count, unfit = writing.write(given, clock())
        except Unwritable as problem:
            return TableWrites(written, failed, problem.state, str(problem))
        written, failed, done = written + count, failed + unfit, done + 1
        state, why = writing.trouble
        gives_up = unfit > 0 and not count and not writing.may_be_forwarded
        if given.lease is None or gives_up:
            return TableWrites(written, failed, state, why)
    return TableWrites(written, failed, state, why, is_done=False)


class _Slice:
    """One slice: a lease, the rows of what fits, and one commit of the table."""

    def __init__(self, tables: Tables, asking: Source, *, forward: bool) -> None:
        self._forward = forward
        asking = asking if forward else asking.without_dead_letters()
        subscription = asking.subscription
        if subscription.table_config is None:
            raise FailedPrecondition(
                f"subscription {subscription.name} has no table_config; update_subscription gives "
                "it one"
            )
        self._tables = tables
        self._source = asking
        self._table = subscription.table_config.table
        self._rowing: Rowing | None = None
        self._target: Target | None = None
        self.trouble = (TableState.ACTIVE, "")

    @property
    def may_be_forwarded(self) -> bool:
        """Whether what fails often enough goes elsewhere (Pub/Sub: there is no backoff then)."""
        return self._source.subscription.dead_letter_policy is not None

    def take(self, now: datetime) -> Given:
        """Lease messages, when the table was found to take them; Unwritable where it does not.

        Where it takes none of them at all, as its columns are others, they are leased only if they
        are forwarded for that in the end.
        """
        self._target = self._tables.target(self._table)
        try:
            subscription = self._source.subscription
            self._rowing = table_writes.rowing_of(self._tables, subscription, self._target)
        except Unwritable as problem:
            if not self.may_be_forwarded:
                raise
            self.trouble = (problem.state, str(problem))
        seconds = self._source.subscription.ack_deadline_seconds
        deadline = max(SHORTEST_LEASE, timedelta(seconds=seconds))

        def lease(state: AckState, terms: Terms) -> tuple[AckState, list[Span]]:
            return delivery.lease(state, table_writes.SLICE_MESSAGES, terms, now, deadline)

        given, _ = commit(self._tables, self._source, now, lease, forward=self._forward)
        if given.written.problem is not None:
            if given.lease is not None:
                self._settle(given.lease, Positions(), Positions(), now)
            raise given.written.problem
        return given

    def write(self, given: Given, now: datetime) -> tuple[int, int]:
        """Write what fits, and return how many messages are written and how many have failed."""
        lease, count = given.lease, given.written.count
        if lease is None:
            return count, 0
        if self._rowing is None:
            self._settle(lease, Positions(), lease.positions, now)
            return count, len(lease.positions)
        read, looked_at = table_writes.read_slice(lease)
        made = self._rowing.rows(read)
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
        """Say what becomes of a slice: what does not fit has failed, and what fits is written."""
        held, terms = lease.lease_id, self._source.terms
        rest = lease.positions - fitting - unfit
        nacked = timedelta(0)

        def decide(state: AckState) -> tuple[AckState, AckState]:
            following, _ = delivery.modify_ack_deadline(state, {held: unfit}, terms, now, nacked)
            following = delivery.give_back(following, {held: rest}, terms, now)
            following = steps.decide(following, held, fitting, self._table)
            following = replay.used(state, following, self._source.subscription, now)
            return following, following

        return self._tables.ack_states.change(self._source.uid, decide)
