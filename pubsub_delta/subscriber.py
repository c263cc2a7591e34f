"""Subscriber: the asynchronous pull, which calls a function with every message."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Protocol

from pubsub_delta.callbacks import Callbacks, PulledMessage
from pubsub_delta.errors import Aborted, FailedPrecondition, InvalidArgument
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.messages import size_of
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import FlowControl, ReceivedMessage
from pubsub_delta.words import Outcome, Words, failing, saying, told_by

logger = logging.getLogger("pubsub_delta")

_DEFAULTS = FlowControl()
_EXTENSION_SECONDS = (10, 600)
_LAST_TURNS = 5
"""How often the last turn is tried when concurrent writers win."""

_NONE = Positions()
_SECOND = timedelta(seconds=1)


class Holding(Protocol):
    """Messages under one lease, to be read."""

    @property
    def lease_id(self) -> int: ...

    @property
    def positions(self) -> Positions: ...

    @property
    def until(self) -> datetime: ...

    def receive(self, wanted: Positions, max_bytes: int) -> list[ReceivedMessage]:
        """Read the first of some messages, in order: as many as fit, and at least one."""


class Channel(Protocol):
    """The way to a subscription: a request of StreamingPull, and the response to it."""

    def exchange(self, turn: AckRequest, max_messages: int) -> tuple[Holding | None, AckResponse]:
        """Say a turn and lease up to ``max_messages`` more (0: none), in one commit.

        Aborted: nothing was written.
        """

    def now(self) -> datetime: ...

    @property
    def subscription(self) -> str:
        """Its full name, for the log."""


@dataclass
class _Lease:
    """What is left of a lease. ``needs``: bytes that the next message takes, where known."""

    holding: Holding
    pulled: datetime
    extension: timedelta
    until: datetime
    outstanding: Positions
    unloaded: Positions
    needs: int = 1

    @classmethod
    def of(cls, holding: Holding, now: datetime) -> _Lease:
        least, most = _EXTENSION_SECONDS
        seconds = min(max((holding.until - now) // _SECOND, least), most)
        held = holding.positions
        return cls(holding, now, timedelta(seconds=seconds), holding.until, held, held)

    def is_due(self, now: datetime) -> bool:
        """Tell whether less than half of the extension time remains."""
        return (self.until - now) * 2 < self.extension


class StreamingPull:
    """The future of an asynchronous pull, which goes on until it is cancelled or fails.

    Args:
        channel: the way to the subscription.
        callback: called with each message, in a worker thread. An error in it is logged and nacks
            the message, unless it was answered before. A message that is not answered when its
            callback returns may be answered later, from any thread.
        flow_control: how many messages and bytes are held at a time, and for how long.
        max_workers: how many callbacks run at a time.
        ordered: whether messages of an ordering key are called one after the other: the next one
            when the callback of the one before has returned, and it was acknowledged.
        interval: seconds from the start of one turn to that of the next; a longer turn is followed
            by the next one at once.

    One thread takes turns with the store. A turn is one commit that says all that was said since
    the last one, extends leases, and leases as many messages as there is room for; then it
    receives them. There is none while there is neither anything to say nor room.

    A lease is extended when less than half of its time remains, for ``max_lease_duration``. Then
    its messages are dropped: Pub/Sub delivers them again. So are messages that the store says it
    no longer holds for this consumer, and all that were leased before a seek, whoever asked for it.
    """

    def __init__(
        self,
        channel: Channel,
        callback: Callable[[PulledMessage], object],
        *,
        flow_control: FlowControl = _DEFAULTS,
        max_workers: int = 4,
        ordered: bool = False,
        interval: float = 1.0,
    ) -> None:
        if not callable(callback):
            raise InvalidArgument(f"callback: {callback!r}; a function of a message is accepted")
        if type(max_workers) is not int or max_workers < 1:
            raise InvalidArgument(
                f"max_workers: {max_workers!r}; a whole number from 1 is accepted"
            )
        max_lease_duration = flow_control.max_lease_duration
        assert isinstance(max_lease_duration, timedelta)
        self._channel = channel
        self._flow_control = flow_control
        self._max_lease_duration = max_lease_duration
        self._interval = interval
        self._leases: dict[int, _Lease] = {}  # the oldest first
        self._unsaid: list[Words] = []
        self._paused = threading.Event()  # for long enough
        self._asked = threading.Lock()
        self._cancelled = False
        self._given_back = 0
        self._end: Future[None] = Future()
        self._end.set_running_or_notify_cancel()
        self._callbacks = Callbacks(
            callback, max_workers, channel.subscription, ordered=ordered, on_idle=self._paused.set
        )
        self._thread = threading.Thread(target=self._run, name="pubsub-subscriber", daemon=True)
        self._thread.start()

    def result(self, timeout: float | None = None) -> None:
        """Wait for the end: return after ``cancel``, and raise what ended it otherwise.

        ``concurrent.futures.TimeoutError``: it was still running after so many seconds.
        """
        self._end.result(timeout)

    def cancel(self) -> int:
        """End it, and return how many messages were given back.

        No callback is begun any more, and running ones are waited for. What they said is written,
        and every other message that is held goes back as if it had never been delivered. A further
        call also waits, and returns 0, as does one after an error. In a callback it does not wait,
        and returns 0.
        """
        with self._asked:
            first = not self._cancelled and not self._end.done()
            self._cancelled = self._cancelled or first
        self._callbacks.stop()
        if threading.current_thread() in (self._thread, *self._callbacks.threads):
            return 0
        wait([self._end])
        return self._given_back if first else 0

    def cancelled(self) -> bool:
        """Tell whether it was cancelled while it ran, though it may be about to end still."""
        return self._cancelled

    def running(self) -> bool:
        """Tell whether messages are still leased or callbacks still run."""
        return not self._end.done()

    def done(self) -> bool:
        """Tell whether it has ended: no callback runs, and ``result`` does not wait."""
        return self._end.done()

    def add_done_callback(self, fn: Callable[[StreamingPull], object]) -> None:
        """Call a function with this future at the end, or at once if that was before."""
        self._end.add_done_callback(lambda _: fn(self))

    def __enter__(self) -> StreamingPull:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()

    # The thread

    def _run(self) -> None:
        try:
            self._take_turns()
            given_back = self._take_last_turn()
        except BaseException as error:
            logger.error("%s: the streaming pull fails: %r", self._channel.subscription, error)
            # First, as a callback that runs may wait for the response to its words.
            self._unsaid.append(self._callbacks.close(failing(error)))
            self._settle(failing(error))
            self._callbacks.join()
            self._leases.clear()
            self._end.set_exception(error)
        else:
            self._callbacks.join()
            self._given_back = given_back
            self._end.set_result(None)

    def _take_turns(self) -> None:
        while True:
            self._paused.clear()
            if self._callbacks.idle:
                return
            pause = threading.Timer(self._interval, self._paused.set)
            pause.daemon = True
            pause.start()
            self._take_turn()
            self._load()
            self._paused.wait()
            pause.cancel()

    def _take_turn(self) -> None:
        self._note(self._callbacks.collect())
        now = self._channel.now()
        self._drop_what_is_too_old(now)
        turn, extended = self._extending(saying(self._unsaid), now)
        outstanding = sum(len(lease.outstanding) for lease in self._leases.values())
        room = max(0, self._flow_control.max_messages - outstanding)
        if self._callbacks.stopping:
            room = 0
        if not room and turn == AckRequest():
            return
        try:
            holding, answer = self._channel.exchange(turn, room)
        except Aborted as error:
            self._tell_lost(error)
            return
        for lease in extended:
            lease.until = now + lease.extension
        self._hear(turn, answer)
        if holding is not None:
            self._leases[holding.lease_id] = _Lease.of(holding, now)

    def _take_last_turn(self) -> int:
        """Say what is left to say, and give back all that is held; return how much that was."""
        ended = FailedPrecondition("the StreamingPull has ended; the message is delivered again")
        self._note(self._callbacks.close(failing(ended)))
        self._drop_what_is_too_old(self._channel.now())
        given_back = {lease_id: lease.outstanding for lease_id, lease in self._leases.items()}
        turn = replace(saying(self._unsaid), given_back=given_back)
        if turn != AckRequest():
            self._hear(turn, self._say_finally(turn))
        self._leases.clear()
        return sum(map(len, given_back.values()))

    def _tell_lost(self, error: Aborted) -> None:
        which = self._channel.subscription
        logger.warning("%s: nothing was written; it is said again: %s", which, error)

    def _say_finally(self, turn: AckRequest) -> AckResponse:
        for _ in range(_LAST_TURNS - 1):
            try:
                return self._channel.exchange(turn, 0)[1]
            except Aborted as error:
                self._tell_lost(error)
                threading.Event().wait(self._interval)
        return self._channel.exchange(turn, 0)[1]

    def _note(self, words: Words) -> None:
        """Keep words until they are said; what they answer is not outstanding any more."""
        if words.acked or words.nacked or words.deadlines:
            self._unsaid.append(words)
        for answered in (words.acked, words.nacked, words.gone):
            for lease_id, positions in answered.items():
                self._take_off(lease_id, Positions.of(positions))

    def _take_off(self, lease_id: int, positions: Positions) -> None:
        lease = self._leases.get(lease_id)
        if lease is None:
            return
        lease.outstanding -= positions
        lease.unloaded -= positions
        if not lease.outstanding:
            self._forget(lease_id)

    def _forget(self, lease_id: int) -> None:
        del self._leases[lease_id]
        self._callbacks.end(lease_id)

    def _drop(self, lease_id: int, positions: Positions) -> None:
        self._callbacks.drop(lease_id, positions)
        self._take_off(lease_id, positions)

    def _drop_what_is_too_old(self, now: datetime) -> None:
        for lease_id, lease in list(self._leases.items()):
            if now - lease.pulled >= self._max_lease_duration:
                self._forget(lease_id)

    def _extending(self, turn: AckRequest, now: datetime) -> tuple[AckRequest, list[_Lease]]:
        """Let a turn also extend the leases for which it is time; return these, too.

        A message whose deadline the turn moves keeps that one this time.
        """
        due = [lease for lease in self._leases.values() if lease.is_due(now)]
        deadlines = {deadline: dict(held) for deadline, held in turn.deadlines.items()}
        for lease in due:
            lease_id = lease.holding.lease_id
            moved = (held.get(lease_id, _NONE) for held in turn.deadlines.values())
            extended = lease.outstanding - Positions.union(moved)
            if extended:
                held = deadlines.setdefault(lease.extension, {})
                held[lease_id] = held.get(lease_id, _NONE) | extended
        return replace(turn, deadlines=deadlines), due

    def _hear(self, turn: AckRequest, answer: AckResponse) -> None:
        self._settle(told_by(answer))
        for deadline, held in turn.deadlines.items():
            kept = answer.deadlines[deadline].success
            for lease_id, positions in held.items():
                self._drop(lease_id, positions - kept.get(lease_id, _NONE))
        for lease_id in [each for each in self._leases if each < answer.first_lease_id]:
            self._forget(lease_id)

    def _settle(self, outcome: Outcome) -> None:
        for words in self._unsaid:
            self._callbacks.settle(words, outcome)
        self._unsaid.clear()

    def _load(self) -> None:
        """Receive what is leased, the oldest first, as far as there is room for its bytes.

        One job a turn, and more of them while there would be a pause.
        """
        for lease in [each for each in self._leases.values() if each.unloaded]:
            if self._callbacks.stopping or not self._receive(lease) or self._paused.is_set():
                return

    def _receive(self, lease: _Lease) -> bool:
        """Receive messages of a lease; tell whether these were all."""
        room = self._room(lease.needs)
        if not room:
            return False
        received = lease.holding.receive(lease.unloaded, room)
        if received and not self._room(size_of(received[0])):
            lease.needs = size_of(received[0])  # it is let go of, and comes again
            return False
        lease_id, reached = lease.holding.lease_id, lease.unloaded
        if received:
            reached = reached.within(0, int(received[-1].message_id))
        lease.unloaded -= reached
        lease.needs = 1
        self._callbacks.put(lease_id, received)
        # What is not there any more never comes.
        self._drop(lease_id, reached - Positions.of(int(each.message_id) for each in received))
        return not lease.unloaded

    def _room(self, needs: int) -> int:
        """Return how many bytes may be loaded; 0 if that is less than needed, unless none are."""
        count, size = self._callbacks.loaded()
        room = self._flow_control.max_bytes - size
        return room if room >= needs or not count else 0
