"""Subscriber: asynchronous pull, which calls a function with every message."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import datetime, timedelta

from pubsub_delta.callbacks import Callbacks, PulledMessage
from pubsub_delta.delivery.leases import LeasedMessages
from pubsub_delta.delivery.table_writes import cannot_pull
from pubsub_delta.errors import Aborted, FailedPrecondition, InvalidArgument, Unavailable, Unknown
from pubsub_delta.operations.exchange import Channel
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.arguments import check_function, check_settings
from pubsub_delta.policy.messages import size_of
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import FlowControl
from pubsub_delta.threads import (
    OPEN_ANOTHER,
    OwnProcess,
    refuse_to_pickle,
    start_threads,
    stop_at_exit,
)

logger = logging.getLogger("pubsub_delta")

_DEFAULTS = FlowControl()
_EXTENSION_SECONDS = (10, 600)
_LAST_REQUESTS = 5
"""How often to try the last request if it is not written."""
_TEMPORARY = (Aborted, Unavailable, Unknown)
"""The errors after which the next request says again what this one said."""

EXIT_SECONDS = 10.0
"""The time that callbacks have when the interpreter exits."""


@dataclass
class _Unread:
    """The unread messages of a lease. ``needs``: the bytes of the next message, if known."""

    leased: LeasedMessages
    needs: int = 1


class StreamingPull:
    """The future of an asynchronous pull, which goes on until it is cancelled or fails.

    Args:
        channel: the channel to the subscription.
        subscription: its full name, for the log.
        now: returns the time.
        callback: called with each message, in a worker thread. An exception in it is logged and
            nacks the message, unless it was acked before. Any thread can ack or nack the message
            later, after its callback has returned.
        flow_control: the most outstanding messages and bytes, and the longest lease.
        max_workers: how many callbacks run at a time.
        ordered: whether the messages of an ordering key are handled one after the other: the next
            one when the callback of the one before has returned, and it was acknowledged.
        interval: seconds from one request to the next; a longer one is followed by the next at
            once.

    One thread exchanges requests with the store. A request is one commit: it writes the acks and
    nacks since the last one, extends leases, and leases as many messages as flow control has room
    for. Then the thread reads these. Without anything to write and without room there is no
    request.

    A lease is extended when less than half of its time remains, for ``max_lease_duration``. Then
    its messages are dropped: Pub/Sub delivers them again. The subscriber also drops messages whose
    lease it has lost, and all that were leased before a seek of any client.
    """

    def __init__(
        self,
        channel: Channel,
        subscription: str,
        now: Callable[[], datetime],
        callback: Callable[[PulledMessage], object],
        *,
        flow_control: FlowControl = _DEFAULTS,
        max_workers: int = 4,
        ordered: bool = False,
        interval: float = 1.0,
    ) -> None:
        callback = check_function(callback, "callback", "a message")
        check_settings(flow_control, FlowControl, "flow_control")
        if type(max_workers) is not int or max_workers < 1:
            raise InvalidArgument(
                f"max_workers: {max_workers!r}; a whole number from 1 is accepted"
            )
        max_lease_duration = flow_control.max_lease_duration
        assert isinstance(max_lease_duration, timedelta)
        self._channel = channel
        self._subscription = subscription
        self._now = now
        self._flow_control = flow_control
        self._max_lease_duration = max_lease_duration
        self._interval = interval
        self._unread: dict[int, _Unread] = {}  # by lease
        self._paused = threading.Event()  # for long enough
        self._cancelling = threading.RLock()
        self._cancelled = False
        self._given_back = 0
        self._own_process = OwnProcess("this StreamingPull", OPEN_ANOTHER)
        self._end: Future[None] = Future()
        self._callbacks = Callbacks(
            callback,
            max_workers,
            subscription,
            now,
            ordered=ordered,
            on_idle=self._paused.set,
        )
        self._thread = threading.Thread(target=self._run, name="pubsub-subscriber", daemon=True)
        start_threads((*self._callbacks.threads, self._thread), self._callbacks.stop)
        stop_at_exit(self, StreamingPull._cancel_in_time)

    def result(self, timeout: float | None = None) -> None:
        """Wait for the end: return after ``cancel``, otherwise raise the error that ended it.

        ``concurrent.futures.TimeoutError``: it still ran after ``timeout`` seconds.
        """
        self._own_process.check()
        self._end.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end, and return the error that ended it; None after ``cancel``.

        ``concurrent.futures.TimeoutError``: it still ran after ``timeout`` seconds.
        """
        self._own_process.check()
        return self._end.exception(timeout)

    def cancel(self) -> int:
        """End the pull, and return how many messages were given back.

        No further callback begins, and the call waits for running ones. Their acks and nacks are
        written; all other messages go back as if they had never been delivered. A second call, or
        one after an error, also waits and returns 0. ``cancel`` does not wait, and returns 0, in a
        callback, and in a signal handler that interrupts another call of the pull or a message. In
        a forked process, which has no threads of the pull, it does nothing.
        """
        if not self._own_process.is_this:
            return 0
        with self._cancelling:
            first = not self._cancelled and not self._end.done()
            self._cancelled = self._cancelled or first
        self._callbacks.stop()
        own = (self._thread, *self._callbacks.threads)
        if threading.current_thread() in own or self._callbacks.is_interrupted():
            return 0
        self._end.exception()  # wait() would keep a lock that a signal handler has interrupted
        return self._given_back if first else 0

    def cancelled(self) -> bool:
        """Return whether the pull was cancelled while it ran, even if it has not ended yet."""
        return self._cancelled

    def running(self) -> bool:
        """Return whether messages are still leased or callbacks still run."""
        return not self._end.done()

    def done(self) -> bool:
        """Return whether the pull has ended: no callback runs, and ``result`` does not wait."""
        return self._end.done()

    def add_done_callback(self, fn: Callable[[StreamingPull], object]) -> None:
        """Call a function with this future at the end, or at once if it has ended."""
        self._end.add_done_callback(lambda _: fn(self))

    __reduce__ = refuse_to_pickle

    def __enter__(self) -> StreamingPull:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def _cancel_in_time(self) -> None:
        """Do what ``cancel`` does, but wait no longer than ``EXIT_SECONDS`` for callbacks."""
        self._callbacks.stop()
        wait([self._end], EXIT_SECONDS)

    # The thread

    def _run(self) -> None:
        try:
            self._exchange_requests()
            given_back = self._end_leases()
        except BaseException as error:
            logger.error("%s: the streaming pull fails: %r", self._subscription, error)
            self._callbacks.fail(error)  # first, as a callback may wait for a response
            self._callbacks.join()
            self._end.set_exception(error)
        else:
            self._callbacks.join()
            self._given_back = given_back
            self._end.set_result(None)

    def _exchange_requests(self) -> None:
        while True:
            self._paused.clear()
            if self._callbacks.idle:
                return
            pause = threading.Timer(self._interval, self._paused.set)
            pause.daemon = True
            longest = None
            try:
                pause.start()
            except RuntimeError:  # no more threads are started: by a limit, or at the exit
                longest = self._interval
            self._exchange()
            self._load()
            self._paused.wait(longest)
            pause.cancel()

    def _exchange(self) -> None:
        now = self._now()
        self._callbacks.drop_leased_for(self._max_lease_duration, now)
        request = self._callbacks.request(now)
        room = max(0, self._flow_control.max_messages - self._callbacks.outstanding())
        if self._callbacks.stopping:
            room = 0
        if not room and request == AckRequest():
            return
        try:
            done = self._channel.exchange(request, room, now)
        except _TEMPORARY as error:
            self._log_lost(error)
            return
        self._callbacks.apply(request, done.response, now)
        if room and done.subscription.table_config is not None:
            raise cannot_pull(done.subscription)
        if done.leased is not None:
            self._lease(done.leased, self._now(), done.subscription.ack_deadline_seconds)

    def _lease(self, leased: LeasedMessages, now: datetime, seconds: int) -> None:
        least, most = _EXTENSION_SECONDS
        length = timedelta(seconds=min(max(seconds, least), most))
        lease_id = leased.lease_id
        self._callbacks.lease(lease_id, leased.positions, now, leased.until, length)
        self._unread[lease_id] = _Unread(leased)

    def _end_leases(self) -> int:
        """Write the remaining acks, and give back outstanding messages; return their number."""
        now = self._now()
        ended = FailedPrecondition(
            "the StreamingPull has ended; the message will be delivered again"
        )
        self._callbacks.drop_leased_for(self._max_lease_duration, now)
        given_back = self._callbacks.give_back(ended)
        request = self._callbacks.request(now)
        if request != AckRequest():
            self._callbacks.apply(request, self._exchange_last(request), now)
        return given_back

    def _exchange_last(self, request: AckRequest) -> AckResponse:
        for _ in range(_LAST_REQUESTS - 1):
            try:
                return self._channel.exchange(request, 0, self._now()).response
            except _TEMPORARY as error:
                self._log_lost(error)
                threading.Event().wait(self._interval)
        return self._channel.exchange(request, 0, self._now()).response

    def _log_unread(self, error: Unavailable) -> None:
        which = self._subscription
        logger.warning("%s: messages were not read; it is tried again: %s", which, error)

    def _log_lost(self, error: Exception) -> None:
        which = self._subscription
        logger.warning("%s: acks and leases are to be written again: %s", which, error)

    def _load(self) -> None:
        """Read leased messages, the oldest first, while flow control has room for their bytes.

        It reads one lease after a request, and more of them instead of a pause.
        """
        outstanding = self._callbacks.unread()
        self._unread = {of: each for of, each in self._unread.items() if outstanding.get(of)}
        for lease_id, unread in self._unread.items():
            positions = outstanding[lease_id]
            if self._callbacks.stopping or not self._read(lease_id, unread, positions):
                return
            if self._paused.is_set():
                return

    def _read(self, lease_id: int, unread: _Unread, positions: Positions) -> bool:
        """Read messages of a lease; return whether these were all."""
        room = self._room(unread.needs)
        if not room:
            return False
        try:
            received = unread.leased.receive(positions, room)
        except Unavailable as error:
            self._log_unread(error)
            return False
        if received and not self._room(size_of(received[0])):
            unread.needs = size_of(received[0])  # dropped, and delivered again
            return False
        reached = positions
        if received:
            reached = reached.within(0, int(received[-1].message_id))
        unread.needs = 1
        self._callbacks.put(lease_id, reached, received)
        return reached == positions

    def _room(self, needs: int) -> int:
        """Return how many bytes to load; 0 if that is less than needed, unless none are loaded."""
        count, size = self._callbacks.loaded()
        room = self._flow_control.max_bytes - size
        return room if room >= needs or not count else 0
