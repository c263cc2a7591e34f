"""Callbacks: which message a worker handles next, and the ack requests of callbacks."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import TypeAlias

from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.fields import check_new_deadline
from pubsub_delta.policy.messages import size_of
from pubsub_delta.policy.outstanding import Delivery, Outstanding
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Message, ReceivedMessage
from pubsub_delta.threads import OwnProcess, has_lock_of, refuse_to_pickle

logger = logging.getLogger("pubsub_delta")

_EXTENDED_AT = 0.5
"""The remaining time at which a lease is extended, as Pub/Sub's clients extend theirs."""


@dataclass(eq=False, slots=True)
class PulledMessage:
    """One delivery of a message, as a callback receives it: a ReceivedMessage with ack and nack.

    Any thread can call its methods, also after the callback has returned. The first ``ack`` or
    ``nack`` counts. Later calls are ignored, and so are all calls after the end of the
    StreamingPull. The next request of the StreamingPull writes it. Then the future of
    ``…_with_response`` returns the outcome: ``"success"``, ``"expired"`` or ``"invalid"`` (see
    AckResult). The future fails if the request could not be written. In a forked process each call
    is FailedPrecondition.
    """

    ack_id: str
    message_id: str
    publish_time: datetime
    data: bytes
    attributes: Mapping[str, str]
    ordering_key: str
    delivery_attempt: int | None
    _callbacks: Callbacks = field(repr=False)
    _call: _Call = field(repr=False)

    __reduce__ = refuse_to_pickle

    @property
    def message(self) -> Message:
        """The message as it was published."""
        return Message(self.data, self.attributes, self.ordering_key)

    def ack(self) -> None:
        """Acknowledge the message, so that it is not delivered again."""
        self._callbacks.answer(self._call, acked=True)

    def nack(self) -> None:
        """Give the message back for redelivery; this delivery counts as failed."""
        self._callbacks.answer(self._call, acked=False)

    def modify_ack_deadline(self, seconds: int) -> None:
        """Move the deadline to ``seconds`` (1–600) after the next request; 0 is a nack.

        The subscriber goes on extending the lease, if it has not ended by the request after that.
        """
        self._modify_ack_deadline(seconds, None)

    def ack_with_response(self) -> Future[str]:
        """Acknowledge the message; the future returns the outcome of its first ack or nack."""
        self.ack()
        return self._callbacks.response(self._call)

    def nack_with_response(self) -> Future[str]:
        """Give the message back; the future returns the outcome of its first ack or nack."""
        self.nack()
        return self._callbacks.response(self._call)

    def modify_ack_deadline_with_response(self, seconds: int) -> Future[str]:
        """Move the deadline; the future returns the outcome.

        Of several calls for a message before one request only the last is written; all of their
        futures return its outcome.
        """
        future = _started()
        is_asked = self._modify_ack_deadline(seconds, future)
        return future if is_asked else self._callbacks.response(self._call)

    def _modify_ack_deadline(self, seconds: int, future: Future[str] | None) -> bool:
        if deadline := check_new_deadline(seconds):
            return self._callbacks.modify_ack_deadline(self._call, deadline, future)
        self.nack()
        return False


class _Stage(Enum):
    """Where a message is: behind another of its key, next to be called, in its callback, after."""

    WAITING = auto()
    READY = auto()
    CALLED = auto()
    RETURNED = auto()


@dataclass(eq=False, slots=True)
class _Call(Delivery):
    """A pending call of the callback; the message is dropped once the call has begun.

    ``outcome``: the outcome of its ack or nack, or the error that prevented the write.
    """

    message: PulledMessage | None = field(default=None, kw_only=True)
    stage: _Stage = field(default=_Stage.WAITING, init=False)
    is_answered: bool = field(default=False, init=False)
    outcome: str | BaseException | None = field(default=None, init=False)
    future: Future[str] | None = field(default=None, init=False)


_Waiter: TypeAlias = "_Call | Future[str]"


class Callbacks:
    """Threads that call a function with messages, and the ack requests of those messages.

    Args:
        callback: the function to call. An exception in it is logged, and nacks its message.
        max_workers: how many callbacks run at a time.
        subscription: its full name, for the log.
        now: returns the time; no message is handled whose lease is over, as another can have it.
        ordered: whether messages of a non-empty ordering key are handled in order: the next one
            when the callback of the one before has returned, and that was acked, nacked or dropped.
            After a nack the later ones of its key and lease are redelivered with it.
        on_idle: called, from any thread, when no callback runs and none will run.
    """

    def __init__(
        self,
        callback: Callable[[PulledMessage], object],
        max_workers: int,
        subscription: str,
        now: Callable[[], datetime],
        *,
        ordered: bool,
        on_idle: Callable[[], None],
    ) -> None:
        self._callback = callback
        self._subscription = subscription
        self._now = now
        self._ordered = ordered
        self._on_idle = on_idle
        self._lock = threading.RLock()  # guards all attributes below; nothing slow happens under it
        self._work = threading.Condition(self._lock)
        self.is_interrupted = partial(has_lock_of, self._work)  # by the signal handler that asks
        self._outstanding: Outstanding[_Call, _Waiter] = Outstanding(_EXTENDED_AT)
        self._ready: deque[_Call] = deque()
        self._waiting: dict[str, deque[_Call]] = {}  # behind the message that is handled
        self._running = 0
        self._ended: BaseException | None = None
        self._own_process = OwnProcess("this message", "answer it in the first one")
        self.stopping = False  # whether no more callbacks are begun
        self.threads = [  # whoever makes it starts them
            threading.Thread(target=self._run, name=f"pubsub-callbacks-{n}", daemon=True)
            for n in range(1, max_workers + 1)
        ]

    # What the loop does

    def lease(
        self, lease_id: int, positions: Positions, now: datetime, until: datetime, length: timedelta
    ) -> None:
        """Add a lease that was taken at ``now``; none of its messages is read yet."""
        with self._lock:
            self._outstanding.lease(lease_id, positions, now, until, length)

    def put(self, lease_id: int, asked: Positions, received: Iterable[ReceivedMessage]) -> None:
        """Queue the messages of a lease that could be read, in order."""
        calls = [self._call_of(lease_id, each) for each in received]
        with self._lock:
            for call in self._outstanding.read(lease_id, asked, calls):
                if call.key in self._waiting:
                    self._waiting[call.key].append(call)
                    continue
                if call.key:
                    self._waiting[call.key] = deque()
                self._make_ready(call)

    def loaded(self) -> tuple[int, int]:
        """Return how many messages were read and are outstanding, and their bytes."""
        with self._lock:
            return self._outstanding.messages, self._outstanding.bytes

    def outstanding(self) -> int:
        """Return how many messages are outstanding, read or not."""
        with self._lock:
            return len(self._outstanding)

    def unread(self) -> dict[int, Positions]:
        """Return the leases, oldest first, with the positions that are still to be read of each."""
        with self._lock:
            return {of: lease.unread for of, lease in self._outstanding.leases.items()}

    def drop_leased_for(self, duration: timedelta, now: datetime) -> None:
        """Drop the leases that were taken so long ago or longer; their messages are redelivered."""
        with self._lock:
            known = self._outstanding
            old = [of for of, each in known.leases.items() if now - each.leased >= duration]
            self._dropped(known.forget(old))

    def request(self, now: datetime) -> AckRequest:
        """Return the request to send to the store now."""
        with self._lock:
            return self._outstanding.request(now)

    def apply(self, request: AckRequest, response: AckResponse, now: datetime) -> None:
        """Apply the response to the request of ``now``, and settle the futures that wait for it."""
        with self._lock:
            applied = self._outstanding.apply(request, response, now)
            self._dropped(applied.lost)
        for each in applied.settled:
            self._tell(each.waiter, each.outcome)

    def stop(self) -> None:
        """Begin no more callbacks."""
        with self._lock:
            self.stopping = True
            self._work.notify_all()
        if self.idle:
            self._on_idle()

    @property
    def idle(self) -> bool:
        """Whether no callback runs and none will run."""
        with self._lock:
            return self.stopping and not self._running

    def give_back(self, error: BaseException) -> int:
        """Give back all outstanding messages; return their number. Later calls fail with this."""
        with self._lock:
            self._ended = error
            return self._outstanding.give_back_waiting(list(self._outstanding.leases))

    def fail(self, error: BaseException) -> None:
        """Begin no more callbacks, drop all messages, and fail the futures that are not settled."""
        self.stop()
        with self._lock:
            self._ended = error
            self._outstanding.forget()
            waiters = self._outstanding.acks.give_up()
        for waiter in waiters:
            self._tell(waiter, error)

    def join(self) -> None:
        """Wait for the callbacks that still run, after ``stop``."""
        for thread in self.threads:
            thread.join()

    # What messages ask for

    def answer(self, call: _Call, *, acked: bool) -> None:
        """Request an ack or a nack, unless the message has one already."""
        self._own_process.check()
        with self._lock:
            if call.is_answered:
                return
            call.is_answered = True
            if self._ended is not None:
                call.outcome = self._ended
                return
            was_outstanding = call.is_outstanding
            if acked:
                self._outstanding.acknowledge(call, call)
            elif self._outstanding.nack(call, call):
                self._waiting[call.key] = _outstanding(self._waiting[call.key])
            if was_outstanding and call.stage is _Stage.RETURNED:
                self._let_next(call.key)

    def modify_ack_deadline(
        self, call: _Call, deadline: timedelta, future: Future[str] | None
    ) -> bool:
        """Request a new deadline; False if the message was acked or nacked."""
        self._own_process.check()
        with self._lock:
            if call.is_answered:
                return False
            if self._ended is None:
                self._outstanding.acks.modify_ack_deadline(call.place, deadline, future)
            elif future is not None:
                future.set_exception(self._ended)
            return True

    def response(self, call: _Call) -> Future[str]:
        """Return the future of the outcome of a message's ack or nack."""
        with self._lock:
            if call.future is None:
                call.future = _started()
                _set(call.future, call.outcome)
            return call.future

    # Under the lock

    def _call_of(self, lease_id: int, received: ReceivedMessage) -> _Call:
        key = received.ordering_key if self._ordered else ""
        call = _Call(lease_id, int(received.message_id), size_of(received), key)
        call.message = PulledMessage(**vars(received), _callbacks=self, _call=call)
        return call

    def _dropped(self, calls: list[_Call]) -> None:
        """Drop messages that are no longer outstanding."""
        if not calls:
            return
        self._ready = _outstanding(self._ready)
        for key in {call.key for call in calls if call.key}:
            self._waiting[key] = _outstanding(self._waiting[key])
        for call in calls:
            call.message = None
            if call.stage in (_Stage.READY, _Stage.RETURNED):
                self._let_next(call.key)

    def _let_next(self, key: str) -> None:
        """Make the next message of a key ready, after the one before it."""
        if key and self._waiting[key]:
            self._make_ready(self._waiting[key].popleft())
        elif key:
            del self._waiting[key]

    def _make_ready(self, call: _Call) -> None:
        call.stage = _Stage.READY
        self._ready.append(call)
        self._work.notify()

    def _tell(self, waiter: _Waiter, outcome: str | BaseException) -> None:
        if isinstance(waiter, Future):
            _set(waiter, outcome)
            return
        with self._lock:
            waiter.outcome, future = outcome, waiter.future
        if future is not None:
            _set(future, outcome)

    # The threads

    def _run(self) -> None:
        while self._call_next():
            pass

    def _call_next(self) -> bool:
        """Wait for a message and run its callback; False once callbacks have stopped."""
        with self._work:
            while not self._ready and not self.stopping:
                self._work.wait()
            if self.stopping:
                return False
            call = self._ready.popleft()
            message, call.message = call.message, None
            if not call.may_be_sent(self._now()):  # this process was suspended
                self._outstanding.lose(call.lease_id, Positions.of([call.position]))
                self._let_next(call.key)
                return True
            call.stage = _Stage.CALLED
            self._running += 1
        assert message is not None
        try:
            self._callback(message)
        except BaseException:
            which = (self._subscription, message.message_id)
            logger.exception("%s: the callback failed for message %s: nack", *which)
            message.nack()
        with self._lock:
            call.stage = _Stage.RETURNED
            self._running -= 1
            if not call.is_outstanding:
                self._let_next(call.key)
        if self.stopping and self.idle:
            self._on_idle()
        return True


def _outstanding(calls: Iterable[_Call]) -> deque[_Call]:
    return deque(call for call in calls if call.is_outstanding)


def _started() -> Future[str]:
    future: Future[str] = Future()
    future.set_running_or_notify_cancel()  # what was asked for cannot be taken back
    return future


def _set(future: Future[str], outcome: str | BaseException | None) -> None:
    """Settle a future if there is an outcome; exceptions of its callbacks are logged."""
    with suppress(BaseException):
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        elif outcome is not None:
            future.set_result(outcome)
