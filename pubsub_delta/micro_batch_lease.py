"""Keeps the lease of a micro-batch: extends it, and acknowledges it if no other one follows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from functools import partial
from threading import Condition, Thread

from pubsub_delta.clock import Clock
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.errors import DataLoss
from pubsub_delta.names import ResourceName
from pubsub_delta.operations import acknowledge, pull
from pubsub_delta.operations.acknowledge import AckTargets
from pubsub_delta.policy.ack_state import AckState, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.store import Tables
from pubsub_delta.threads import stop_at_exit

IDLE_SECONDS = 1.0
"""How long a processed micro-batch waits for the next one, whose commit would acknowledge it,
before a commit of its own does.
"""

_log = logging.getLogger("pubsub_delta")


class _Phase(Enum):
    PROCESSING = "the lease is extended, long before it is over"
    PROCESSED = "the messages are acknowledged, unless a next micro-batch comes first"
    LAST = "the messages are acknowledged, since no next micro-batch takes any"
    FAILED = "the messages are given back, as failed deliveries"
    STOPPED = "the messages are given back, as if never delivered"
    LEFT = "there is nothing more to do"


class MicroBatchLease:
    """Keeps the lease of one micro-batch, in a separate thread.

    Spark interrupts the thread of a query that it stops, so commits would fail there.
    """

    def __init__(
        self,
        tables: Tables,
        name: ResourceName,
        lease: Lease,
        query_id: str,
        batch_id: int,
        clock: Clock,
        on_acknowledged: Callable[[AckState], None] = lambda _: None,
    ) -> None:
        """``on_acknowledged``: called with the ack state after the messages were acknowledged."""
        self._tables = tables
        self._name = name
        self._messages = AckTargets(lease.source.uid, {lease.lease_id: lease.positions})
        self._deadline: int = lease.source.subscription.ack_deadline_seconds
        self._query_id = query_id
        self._batch_id = batch_id
        self._clock = clock
        self._on_acknowledged = on_acknowledged
        self._changed = Condition()
        self._phase = _Phase.PROCESSING
        self._is_done = False
        self._thread = Thread(target=self._run, name=f"{name}, batch {batch_id}", daemon=True)
        self._thread.start()
        stop_at_exit(self, MicroBatchLease.leave)

    def processed(self) -> None:
        """Note that the messages are processed."""
        self._enter(_Phase.PROCESSED)

    def finish(self) -> bool:
        """Acknowledge the processed messages now, as the last ones; return whether it succeeded.

        Otherwise the next micro-batch acknowledges them.
        """
        self._enter(_Phase.LAST)
        self._thread.join()
        return self._is_done

    def leave(self) -> None:
        """Stop: the next micro-batch acknowledges this one with its own commit."""
        self._enter(_Phase.LEFT)
        self._thread.join()

    def fail(self, *, stopped: bool) -> None:
        """Give the messages back; this is a failed delivery unless the query was stopped."""
        self._enter(_Phase.STOPPED if stopped else _Phase.FAILED)
        self._thread.join()

    def _enter(self, phase: _Phase) -> None:
        with self._changed:
            self._phase = phase
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                phase = self._phase
                if self._changed.wait_for(partial(self._is_past, phase), self._pause(phase)):
                    continue
            try:
                self._do(phase)
            except Exception:
                _log.exception("%s: micro-batch %d: %s", self._name, self._batch_id, phase.value)
            else:
                self._is_done = phase is _Phase.LAST
            if phase is not _Phase.PROCESSING:
                return

    def _leaves_messages(self) -> bool:
        """Return whether a message is unacknowledged: its consumer may have answered for all."""
        try:
            state = self._tables.ack_states.read(self._messages.subscription_uid)
        except DataLoss:  # the subscription was deleted meanwhile
            return True
        named = Positions.union(self._messages.positions.values())
        return bool(union(state.unacked()) & named)

    def _is_past(self, phase: _Phase) -> bool:
        return self._phase is not phase

    def _pause(self, phase: _Phase) -> float:
        if phase is _Phase.PROCESSING:
            return self._deadline / 3
        return IDLE_SECONDS if phase is _Phase.PROCESSED else 0

    def _do(self, phase: _Phase) -> None:
        tables, name, now = self._tables, self._name, self._clock.now()
        if phase is _Phase.PROCESSING:
            found = acknowledge.modify_ack_deadline(
                tables, name, self._messages, self._deadline, self._clock.now
            )
            if not found.success and self._leaves_messages():
                _log.warning(
                    "%s: the lease of micro-batch %d is over; its messages can be delivered again",
                    *(name, self._batch_id),
                )
        elif phase in (_Phase.PROCESSED, _Phase.LAST):
            state = pull.finish_micro_batch(
                *(tables, name, self._query_id, self._batch_id, now),
                uid=self._messages.subscription_uid,
            )
            self._on_acknowledged(state)
        elif phase is not _Phase.LEFT:
            pull.give_back_micro_batch(
                *(tables, name, self._query_id, self._batch_id, now),
                failed=phase is _Phase.FAILED,
                uid=self._messages.subscription_uid,
            )
