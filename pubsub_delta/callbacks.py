"""Callbacks: which message is called next, and what was said of those that were."""

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

from pubsub_delta.policy.fields import check_new_deadline
from pubsub_delta.policy.messages import size_of
from pubsub_delta.resources import Message, ReceivedMessage
from pubsub_delta.words import Outcome, Words

logger = logging.getLogger("pubsub_delta")


class _Place(Enum):
    """Where a message is: behind another of its key, next to be called, in its callback, after."""

    WAITING = auto()
    READY = auto()
    CALLED = auto()
    RETURNED = auto()


@dataclass(eq=False, slots=True)
class PulledMessage:
    """One delivery of a message, as a callback gets it: a ReceivedMessage, and what to say of it.

    Its methods may be called from any thread, also after the callback has returned. The first
    answer, ``ack`` or ``nack``, counts; what is said later is ignored, and so is all that is said
    once the StreamingPull has ended. Words are written in the next turn of the StreamingPull:
    only then does the future of ``…_with_response`` tell the outcome, ``"success"``,
    ``"expired"`` or ``"invalid"`` (see AckResult). It fails where they could not be written.
    """

    ack_id: str
    message_id: str
    publish_time: datetime
    data: bytes
    attributes: Mapping[str, str]
    ordering_key: str
    delivery_attempt: int | None
    _callbacks: Callbacks = field(repr=False)
    _lease_id: int = field(repr=False)
    _position: int = field(repr=False)
    _size: int = field(repr=False)
    _key: str = field(repr=False)  # the ordering key if it means anything
    _place: _Place = field(default=_Place.WAITING, repr=False)
    _counts: bool = field(default=True, repr=False)  # neither answered nor dropped
    _answer: Words | None = field(default=None, repr=False)
    _response: Future[str] | None = field(default=None, repr=False)

    @property
    def message(self) -> Message:
        """The message as it was published."""
        return Message(self.data, self.attributes, self.ordering_key)

    def ack(self) -> None:
        """Acknowledge the message: it is done with."""
        self._callbacks.answer(self, acked=True)

    def nack(self) -> None:
        """Give the message back to be redelivered: this delivery failed."""
        self._callbacks.answer(self, acked=False)

    def modify_ack_deadline(self, seconds: int) -> None:
        """Move the deadline to so many seconds from the next turn (1–600); 0 is a nack.

        Afterwards the lease goes on being extended like that of every message.
        """
        self._say(seconds)

    def ack_with_response(self) -> Future[str]:
        """Acknowledge the message; the future tells the outcome of its first answer."""
        self._callbacks.answer(self, acked=True)
        return self._callbacks.response(self)

    def nack_with_response(self) -> Future[str]:
        """Give the message back; the future tells the outcome of its first answer."""
        self._callbacks.answer(self, acked=False)
        return self._callbacks.response(self)

    def modify_ack_deadline_with_response(self, seconds: int) -> Future[str]:
        """Move the deadline; the future tells the outcome.

        Of all that is said of a message before a turn only the last is written, and its outcome
        is that of the others.
        """
        words = self._say(seconds)
        return self._callbacks.response(self, words)

    def _say(self, seconds: int) -> Words | None:
        deadline = check_new_deadline(seconds)
        if deadline:
            return self._callbacks.modify_ack_deadline(self, deadline)
        self._callbacks.answer(self, acked=False)
        return None


class Callbacks:
    """Worker threads that call a function with messages, and what it says of them.

    Args:
        callback: what is called. When it fails, that is logged and its message nacked.
        max_workers: how many callbacks run at a time.
        subscription: its full name, for the log.
        ordered: messages of the same non-empty ordering key are called in order, the next one
            when the callback of the one before has returned and it was answered, or dropped.
            After a nack the later ones of its key and lease are not called: the store returns
            them with it.
        on_idle: called, from any thread, when no callback runs and none will.

    A message counts from ``put`` until it is answered, is dropped, or goes back with another.
    """

    def __init__(
        self,
        callback: Callable[[PulledMessage], object],
        max_workers: int,
        subscription: str,
        *,
        ordered: bool,
        on_idle: Callable[[], None],
    ) -> None:
        self._callback = callback
        self._subscription = subscription
        self._ordered = ordered
        self._on_idle = on_idle
        self._lock = threading.Lock()  # of all that follows; nothing slow happens under it
        self._work = threading.Condition(self._lock)
        self._ready: deque[PulledMessage] = deque()
        self._waiting: dict[str, deque[PulledMessage]] = {}  # behind the one whose turn it is
        self._failed_keys: dict[int, set[str]] = {}  # by lease
        self._held: dict[int, dict[int, PulledMessage]] = {}  # those that count, by lease
        self._count = self._bytes = self._running = 0
        self._words = Words()
        self.stopping = False  # whether no more callbacks are begun
        self.threads = [
            threading.Thread(target=self._run, name=f"pubsub-callbacks-{n}", daemon=True)
            for n in range(1, max_workers + 1)
        ]
        for thread in self.threads:
            thread.start()

    # What the loop does

    def put(self, lease_id: int, received: Iterable[ReceivedMessage]) -> None:
        """Queue messages of a lease, in order."""
        messages = [
            PulledMessage(
                **vars(each),
                _callbacks=self,
                _lease_id=lease_id,
                _position=int(each.message_id),
                _size=size_of(each),
                _key=each.ordering_key if self._ordered else "",
            )
            for each in received
        ]
        with self._lock:
            held = self._held.setdefault(lease_id, {})
            failed = self._failed_keys.get(lease_id, ())
            for message in messages:
                if message._key in failed:
                    self._words.gone[lease_id].append(message._position)
                    continue
                held[message._position] = message
                self._count += 1
                self._bytes += message._size
                if message._key in self._waiting:
                    self._waiting[message._key].append(message)
                    continue
                if message._key:
                    self._waiting[message._key] = deque()
                self._make_ready(message)

    def loaded(self) -> tuple[int, int]:
        """Return how many messages count, and their bytes."""
        with self._lock:
            return self._count, self._bytes

    def drop(self, lease_id: int, positions: Iterable[int]) -> None:
        """Forget messages of a lease: they do not count, and are not called if they were not."""
        with self._lock:
            self._drop(lease_id, positions)

    def end(self, lease_id: int) -> None:
        """Forget a lease, and all messages of it."""
        with self._lock:
            self._drop(lease_id, list(self._held.get(lease_id, ())))
            self._held.pop(lease_id, None)
            self._failed_keys.pop(lease_id, None)

    def collect(self) -> Words:
        """Return what was said since the last time."""
        with self._lock:
            words, self._words = self._words, Words()
        return words

    def settle(self, words: Words, outcome: Outcome) -> None:
        """Tell those who wait for it what came of words."""
        with self._lock:
            words.outcome, waiting, words.waiting = outcome, words.waiting, []
        for future, lease_id, position in waiting:
            _tell(future, lease_id, position, outcome)

    def stop(self) -> None:
        """Begin no more callbacks."""
        with self._lock:
            self.stopping = True
            self._work.notify_all()
        if self.idle:
            self._on_idle()

    @property
    def idle(self) -> bool:
        """Whether no callback runs and none will."""
        with self._lock:
            return self.stopping and not self._running

    def close(self, outcome: Outcome) -> Words:
        """Begin no more callbacks and take no more words; return the last ones.

        What is said from now on has this outcome.
        """
        self.stop()
        with self._lock:
            words, self._words = self._words, Words(outcome)
        for lease_id in list(self._held):
            self.end(lease_id)
        return words

    def join(self) -> None:
        """Wait, after ``stop``, for the callbacks that still run."""
        for thread in self.threads:
            thread.join()

    # What messages say

    def answer(self, message: PulledMessage, *, acked: bool) -> None:
        """Note an ack or a nack down, unless the message was answered before."""
        with self._lock:
            if message._answer is not None:
                return
            message._answer = self._words
            told = self._words.acked if acked else self._words.nacked
            told[message._lease_id].append(message._position)
            if not message._counts:
                return
            self._let_go(message)
            if message._key and not acked:
                self._return_what_follows(message)
            if message._place is _Place.RETURNED:
                self._let_next(message._key)

    def modify_ack_deadline(self, message: PulledMessage, deadline: timedelta) -> Words | None:
        """Note a new deadline down, and return the words; None if the message was answered."""
        with self._lock:
            if message._answer is not None:
                return None
            self._words.deadlines[message._lease_id, message._position] = deadline
            return self._words

    def response(self, message: PulledMessage, words: Words | None = None) -> Future[str]:
        """Return the future of what came of a message by some words, or by its answer."""
        with self._lock:
            if words is None and message._response is not None:
                return message._response
            future: Future[str] = Future()
            future.set_running_or_notify_cancel()  # what was said cannot be taken back
            if words is None:
                message._response, words = future, message._answer
            assert words is not None
            if words.outcome is None:
                words.waiting.append((future, message._lease_id, message._position))
            else:
                _tell(future, message._lease_id, message._position, words.outcome)
            return future

    # Under the lock

    def _drop(self, lease_id: int, positions: Iterable[int]) -> None:
        held = self._held.get(lease_id, {})
        dropped = [held[position] for position in positions if position in held]
        if not dropped:
            return
        for message in dropped:
            self._let_go(message)
        self._ready = _counting(self._ready)
        for key in {message._key for message in dropped if message._key}:
            self._waiting[key] = _counting(self._waiting[key])
        for message in dropped:
            if message._place in (_Place.READY, _Place.RETURNED):
                self._let_next(message._key)

    def _let_go(self, message: PulledMessage) -> None:
        message._counts = False
        del self._held[message._lease_id][message._position]
        self._count -= 1
        self._bytes -= message._size

    def _return_what_follows(self, nacked: PulledMessage) -> None:
        """Let go of the later messages of a key in a lease, also of those yet to be put."""
        lease_id, key = nacked._lease_id, nacked._key
        self._failed_keys.setdefault(lease_id, set()).add(key)
        for message in self._waiting[key]:
            if message._lease_id == lease_id:
                self._let_go(message)
                self._words.gone[lease_id].append(message._position)
        self._waiting[key] = _counting(self._waiting[key])

    def _let_next(self, key: str) -> None:
        """Make the next message of a key ready, as the one before it is done with."""
        if not key:
            return
        if self._waiting[key]:
            self._make_ready(self._waiting[key].popleft())
        else:
            del self._waiting[key]

    def _make_ready(self, message: PulledMessage) -> None:
        message._place = _Place.READY
        self._ready.append(message)
        self._work.notify()

    # The threads

    def _run(self) -> None:
        while self._call_next():
            pass

    def _call_next(self) -> bool:
        """Wait for a message and call it; False when none is called any more."""
        with self._work:
            while not self._ready and not self.stopping:
                self._work.wait()
            if self.stopping:
                return False
            message = self._ready.popleft()
            message._place = _Place.CALLED
            self._running += 1
        try:
            self._callback(message)
        except BaseException:
            which = (self._subscription, message.message_id)
            logger.exception("%s: the callback failed for message %s: nack", *which)
            message.nack()
        with self._lock:
            message._place = _Place.RETURNED
            self._running -= 1
            if not message._counts:
                self._let_next(message._key)
        if self.stopping and self.idle:
            self._on_idle()
        return True


def _counting(messages: Iterable[PulledMessage]) -> deque[PulledMessage]:
    return deque(message for message in messages if message._counts)


def _tell(future: Future[str], lease_id: int, position: int, outcome: Outcome) -> None:
    """Settle a future; whatever its callbacks raise, the thread goes on."""
    with suppress(BaseException):
        try:
            told = outcome(lease_id, position)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(told)
