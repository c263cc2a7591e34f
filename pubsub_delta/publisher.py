"""Publisher: queues single messages, and commits them in batches on a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from pubsub_delta.errors import (
    FailedPrecondition,
    InvalidArgument,
    ResourceExhausted,
    Unknown,
    counted,
)
from pubsub_delta.policy.arguments import check_settings
from pubsub_delta.policy.messages import as_message, size_of
from pubsub_delta.resources import (
    BatchSettings,
    LimitExceededBehavior,
    Message,
    PublishFlowControl,
)
from pubsub_delta.threads import (
    OPEN_ANOTHER,
    OwnProcess,
    has_lock_of,
    refuse_to_pickle,
    start_threads,
    stop_at_exit,
)

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Queued:
    """A message that waits for its batch. ``number`` counts up in the order of ``publish``."""

    number: int
    message: Message
    size: int
    future: Future[str] = field(default_factory=Future)


class Publisher:
    """Publishes single messages in batches, each of which is one commit.

    Args:
        commit: publishes a batch in one commit, or nothing of it, and returns the message ids in
            request order.
        batch_settings: the size and the latency at which a batch is committed.
        flow_control: how much may be queued, and what ``publish`` does beyond that.

    A daemon thread commits one batch at a time, in the order of ``publish``. The next batch fills
    during a commit, and its ``max_latency`` counts from the end of that commit. Stop a publisher
    after use, or use it as a context manager. A publisher that was not stopped commits its queue
    when the interpreter exits.

    Pub/Sub: when a batch fails, its ordering keys are paused until ``resume_publish``, so that no
    message overtakes an earlier one of its key.

    All methods are thread-safe. Callbacks of the futures run on the committing thread, or on the
    thread that cancels a future. ``flush`` and ``stop`` do not wait if a callback calls them. A
    signal handler can call both, at any moment: in the middle of another call of the publisher
    ``stop`` does not wait, as the queue is committed when that call is left.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Message]], Sequence[str]],
        batch_settings: BatchSettings,
        flow_control: PublishFlowControl,
    ) -> None:
        check_settings(batch_settings, BatchSettings, "batch_settings")
        check_settings(flow_control, PublishFlowControl, "flow_control")
        latency = batch_settings.max_latency
        assert isinstance(latency, timedelta)
        self._commit = commit
        self._settings = batch_settings
        self._max_latency = min(latency.total_seconds(), threading.TIMEOUT_MAX)
        self._queue: deque[_Queued] = deque()
        self._queued_bytes = 0
        self._limits = flow_control
        self._outstanding = 0
        self._outstanding_bytes = 0
        # Calls of publish that wait for room, the oldest first.
        self._blocked: deque[object] = deque()
        self._paused: set[str] = set()
        self._stopped = False
        self._own_process = OwnProcess("this publisher", OPEN_ANOTHER)
        # All messages with lower numbers are queued, are due without max_latency, are settled.
        self._next_number = 0
        self._flushed = 0
        self._settled = 0
        lock = threading.RLock()
        self._work = threading.Condition(lock)
        self._progress = threading.Condition(lock)
        self._room = threading.Condition(lock)
        self._thread = threading.Thread(target=self._run, name="pubsub-publisher", daemon=True)
        start_threads([self._thread], self._end)
        stop_at_exit(self, Publisher.stop)

    def publish(
        self, data: bytes | str | Message = b"", ordering_key: str = "", **attributes: str
    ) -> Future[str]:
        """Queue a message and return a future of its message id.

        Text is encoded as UTF-8. A Message has its own ordering key and attributes, so neither is
        accepted beside it. InvalidArgument for a message that breaks a rule, FailedPrecondition
        after ``stop``. The future fails with FailedPrecondition if the ordering key is paused. A
        future that is cancelled before its batch begins publishes nothing. To settle it in another
        way changes nothing of its message.

        If the queue is full by ``flow_control``, this call blocks until there is room, first come,
        first served; or the future fails with ResourceExhausted.
        """
        message = _message(data, ordering_key, attributes)
        size = size_of(message)
        self._own_process.check()
        with self._work:
            self._check_open()
            refusal = self._limited(size)
            if refusal is None and self._blocks(size):
                self._wait_for_room(size)
                self._check_open()
            if refusal is None and message.ordering_key not in self._paused:
                queued = _Queued(self._next_number, message, size)
                self._next_number += 1
                self._queue.append(queued)
                self._queued_bytes += queued.size
                self._outstanding += 1
                self._outstanding_bytes += size
                if len(self._queue) == 1 or self._is_due():
                    self._work.notify()
                return queued.future
        refused: Future[str] = Future()
        refused.set_exception(refusal or _paused_key_error(message.ordering_key))
        return refused

    def resume_publish(self, ordering_key: str) -> None:
        """Resume a paused ordering key; do nothing if it is not paused."""
        if not isinstance(ordering_key, str):
            raise InvalidArgument(f"ordering_key: {ordering_key!r}; text is accepted")
        self._own_process.check()
        with self._work:
            self._paused.discard(ordering_key)

    def flush(self) -> None:
        """Commit the queue now, and wait until each message in it is published or has failed."""
        self._own_process.check()
        with self._work:
            given = self._flushed = self._next_number
            self._work.notify()
            if threading.current_thread() is not self._thread:
                self._progress.wait_for(lambda: self._settled >= given)

    def stop(self) -> None:
        """Refuse further messages, commit the queue, and end the thread."""
        if not self._own_process.is_this:  # the queue is that of the process that has the thread
            return
        interrupts = has_lock_of(self._work)
        self._end()
        if threading.current_thread() is not self._thread and not interrupts:
            self._thread.join()

    __reduce__ = refuse_to_pickle

    def __enter__(self) -> Publisher:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = ", stopped" if self._stopped else ""
        return f"Publisher({self._settings}, {len(self._queue)} queued{state})"

    def _end(self) -> None:
        with self._work:
            self._stopped = True
            self._work.notify()
            self._room.notify_all()

    # Flow control

    def _check_open(self) -> None:
        if self._stopped:
            raise FailedPrecondition("this publisher was stopped; publish with a new one")

    def _has_room(self, size: int) -> bool:
        fits = self._outstanding_bytes + size <= self._limits.byte_limit
        return fits and self._outstanding < self._limits.message_limit

    def _limited(self, size: int) -> ResourceExhausted | None:
        """Return the error for a message that flow control refuses; None to queue it, or block."""
        behavior = self._limits.limit_exceeded_behavior
        if behavior is LimitExceededBehavior.IGNORE:
            return None
        if size > self._limits.byte_limit:
            return ResourceExhausted(
                f"a message of {size:,} bytes never fits into the flow_control.byte_limit of "
                f"{self._limits.byte_limit:,}; raise the limit, or publish it with store.publish"
            )
        if behavior is LimitExceededBehavior.BLOCK or self._has_room(size):
            return None
        return ResourceExhausted(
            f"{counted(self._outstanding, 'message')} of "
            f"{counted(self._outstanding_bytes, 'byte')} in the queue; flow_control allows "
            f"{self._limits.message_limit:,} and {self._limits.byte_limit:,}; publish this message "
            "again when some of them are done"
        )

    def _blocks(self, size: int) -> bool:
        """Return whether ``publish`` blocks. On the committing thread it never does."""
        if self._limits.limit_exceeded_behavior is not LimitExceededBehavior.BLOCK:
            return False
        if threading.current_thread() is self._thread:
            return False
        return bool(self._blocked) or not self._has_room(size)

    def _wait_for_room(self, size: int) -> None:
        """Block until there is room, behind earlier calls."""
        place = object()
        self._blocked.append(place)
        self._work.notify()  # commit now, without waiting for a full batch
        try:
            self._room.wait_for(
                lambda: self._stopped or (self._blocked[0] is place and self._has_room(size))
            )
        finally:
            self._blocked.remove(place)
            self._room.notify_all()

    def _release(self, settled: Sequence[_Queued]) -> None:
        """Subtract settled messages from what flow control counts."""
        if settled:
            self._outstanding -= len(settled)
            self._outstanding_bytes -= sum(queued.size for queued in settled)
            self._room.notify_all()

    # The thread

    def _run(self) -> None:
        while self._commit_next():
            pass

    def _commit_next(self) -> bool:
        """Wait for a batch to be due, and commit it; False after the last one."""
        with self._work:
            self._work.wait_for(lambda: self._queue or self._stopped)
            self._work.wait_for(self._is_due, self._max_latency)
            batch = self._take()
        if batch:
            try:
                ids = list(self._commit([queued.message for queued in batch]))
                if len(ids) != len(batch):
                    raise Unknown(
                        f"a commit of {len(batch)} messages returned {len(ids)} message ids; "
                        "look in the topic for what was published"
                    )
            except BaseException as error:
                self._fail(batch, error)
            else:
                with self._work:
                    self._release(batch)
                for queued, message_id in zip(batch, ids, strict=True):
                    _settle(queued.future.set_result, message_id)
        with self._work:
            self._settled = self._queue[0].number if self._queue else self._next_number
            self._progress.notify_all()
            return bool(self._queue) or not self._stopped

    def _is_due(self) -> bool:
        """Return whether the next batch is committed without waiting for ``max_latency``."""
        return (
            len(self._queue) >= self._settings.max_messages
            or self._queued_bytes >= self._settings.max_bytes
            or self._stopped
            or bool(self._blocked)
            or (bool(self._queue) and self._queue[0].number < self._flushed)
        )

    def _take(self) -> list[_Queued]:
        """Remove the next batch from the queue, and drop cancelled messages."""
        batch: list[_Queued] = []
        cancelled: list[_Queued] = []
        room = self._settings.max_bytes
        while self._queue and len(batch) < self._settings.max_messages:
            if batch and self._queue[0].size > room:
                break
            queued = self._queue.popleft()
            self._queued_bytes -= queued.size
            if _begins(queued.future):
                batch.append(queued)
                room -= queued.size
            else:
                cancelled.append(queued)
        self._release(cancelled)
        return batch

    def _fail(self, batch: list[_Queued], error: BaseException) -> None:
        """Fail a batch, pause its ordering keys, and fail the queued messages of these.

        All keys are paused, and their messages removed, before a future fails: its callback may
        resume the key and publish again.
        """
        keys = {queued.message.ordering_key for queued in batch} - {""}
        with self._work:
            self._release(batch)
            self._paused |= keys
            overtaking = [each for each in self._queue if each.message.ordering_key in keys]
            if overtaking:
                self._queue = deque(q for q in self._queue if q.message.ordering_key not in keys)
                self._queued_bytes -= sum(queued.size for queued in overtaking)
                self._release(overtaking)
        for queued in batch:
            _settle(queued.future.set_exception, error)
        for queued in overtaking:
            if _begins(queued.future):
                refusal = _paused_key_error(queued.message.ordering_key)
                _settle(queued.future.set_exception, refusal)


def _message(data: bytes | str | Message, ordering_key: str, attributes: dict[str, str]) -> Message:
    """Return a checked copy of a message, which the caller cannot change."""
    if not isinstance(data, Message):
        empty = isinstance(data, (str, bytes, bytearray, memoryview)) and not data
        body = b"" if empty else as_message(data, 0).data
        return as_message(Message(body, attributes, ordering_key), 0)
    if ordering_key or attributes:
        raise InvalidArgument(
            f"ordering_key {ordering_key!r} and attributes {sorted(attributes)} beside a Message; "
            "a Message alone is accepted, with its own ordering_key and attributes"
        )
    checked = as_message(data, 0)
    return Message(bytes(checked.data), dict(checked.attributes), checked.ordering_key)


def _paused_key_error(ordering_key: str) -> FailedPrecondition:
    return FailedPrecondition(
        f"ordering_key: {ordering_key!r} is paused, because an earlier message of this key "
        f"failed; call resume_publish({ordering_key!r}) to publish messages of this key again"
    )


def _begins(future: Future[str]) -> bool:
    """Begin with the message of a future; return whether it was not cancelled.

    A program may have settled the future itself, which changes nothing of the message.
    """
    try:
        return future.set_running_or_notify_cancel()
    except RuntimeError:
        return not future.cancelled()


def _settle(settle: Callable[[T], object], result: T) -> None:
    """Settle a future; ignore errors of its callbacks, and that its program has settled it."""
    with suppress(BaseException):
        settle(result)
