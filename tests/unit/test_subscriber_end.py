"""What ends an asynchronous pull, and what is left then (spec section 4, client side)."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import pytest

from pubsub_delta.callbacks import PulledMessage
from pubsub_delta.errors import (
    Aborted,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Unavailable,
    Unknown,
)
from pubsub_delta.policy.ack_state import State
from pubsub_delta.resources import DeadLetterPolicy
from pubsub_delta.subscriber import StreamingPull
from tests.unit.builders import START
from tests.unit.pulling import Start, Store, Work, a_moment, eventually, leave, pulls

start = pytest.fixture(pulls)


class Cancelling:
    """A call of cancel in a thread of its own, and what it returns."""

    def __init__(self, pull: StreamingPull) -> None:
        self.returned: Future[int] = Future()
        threading.Thread(target=lambda: self.returned.set_result(pull.cancel())).start()
        eventually(pull.cancelled)


# Errors


async def _awaited(_: object) -> None: ...


def _iterated(_: object) -> Iterator[None]:
    yield


async def _iterated_by_awaiting(_: object) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("of", [_awaited, _iterated, _iterated_by_awaiting])
def test_a_callback_that_returns_what_nobody_runs_has_failed(
    start: Start, caplog: pytest.LogCaptureFixture, of: Callable[[object], object]
) -> None:
    """A lambda may return a coroutine, and is none; its message was outstanding without a word."""
    store = Store([1])
    start(store, Work(of), max_messages=1)
    eventually(lambda: any(each.extended == {0: [0]} for each in store.exchanges))
    assert "which nobody runs; a function of a message is accepted" in caplog.text


def test_what_an_aborted_exchange_asked_for_is_asked_again(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    # "an `Aborted` from exchange means nothing was written: what was to be said is kept and said
    # again in the next turn, with a warning logged"
    store, work = Store([1] * 4), Work(leave)
    start(store, work, max_messages=4)
    eventually(lambda: len(work.called) == 4)
    by_id = {message.message_id: message for message in work.called}
    store.errors = [Aborted("lost"), Aborted("lost again")]
    responses = [by_id["0"].ack_with_response(), by_id["1"].nack_with_response()]
    by_id["2"].modify_ack_deadline(40)
    eventually(lambda: not store.errors)
    by_id["2"].ack()
    assert [response.result(10) for response in responses] == ["success"] * 2
    eventually(lambda: store.unacked == [1, 3])
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.name for record in warnings] == ["pubsub_delta"] * 2
    told = "projects/p/subscriptions/s: acks and leases are to be written again: "
    assert warnings[1].getMessage() == told + "lost again"


@pytest.mark.parametrize("where", ["errors", "receive_errors"])
def test_a_storage_that_is_full_for_a_while_ends_no_pull(start: Start, where: str) -> None:
    # docs/errors/unavailable.md: "`store.subscribe()` does so by itself with every request"
    store, work = Store([1] * 4), Work(leave)
    setattr(store, where, [Unavailable("no space is left")] * 3)
    pull = start(store, work, max_messages=4)
    eventually(lambda: len(work.called) == 4)
    assert pull.running()
    assert not getattr(store, where)


def test_an_outcome_that_nobody_can_tell_ends_no_pull(start: Start) -> None:
    # docs/errors/unknown.md: "`ack`, `nack`: repeat it: acknowledged messages stay acknowledged"
    store, work = Store([1] * 2), Work(leave)
    pull = start(store, work, max_messages=2)
    eventually(lambda: len(work.called) == 2)
    store.errors = [Unknown("its answer was lost")]
    responses = [message.ack_with_response() for message in work.called]
    assert [response.result(10) for response in responses] == ["success"] * 2
    assert pull.running()
    assert store.unacked == []


@pytest.mark.parametrize("where", ["exchange", "receive"])
def test_any_other_error_ends_the_pull(
    start: Start, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    # "Any other exception of exchange/receive ends the StreamingPull: `.result()` raises it
    # (running callbacks are let finish; nothing more is called)."
    store, work = Store([40] * 3), Work(waits_at=0)
    pull = start(store, work, max_workers=1, max_bytes=80, max_messages=3)
    eventually(lambda: work.called)
    error = NotFound("gone")
    if where == "exchange":
        store.errors.append(error)
    else:
        store.receive_errors.append(error)
    response = work.called[0].ack_with_response()
    if where == "exchange":
        with pytest.raises(NotFound):
            response.result(10)
    eventually(lambda: pull._callbacks.stopping)
    assert (pull.running(), pull.done()) == (True, False)
    work.go_on.set()
    with pytest.raises(NotFound) as raised:
        pull.result(10)
    assert raised.value is error
    assert (pull.running(), pull.done(), pull.cancelled()) == (False, True, False)
    assert work.ack_ids == ["1.0"]
    failures = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert len(failures) == 1
    assert failures[0].endswith(": the streaming pull fails: NotFound('gone')")
    assert pull.cancel() == 0  # "calling it again, or after an error, returns 0"
    assert not pull.cancelled()


def test_the_error_is_read_as_of_any_future(start: Start) -> None:
    """Google's StreamingPullFuture is one of concurrent.futures."""
    told: Future[BaseException | None] = Future()
    store = Store([1])
    pull = start(store, Work())
    with pytest.raises(FutureTimeout):
        pull.exception(0)
    pull.add_done_callback(lambda ended: told.set_result(ended.exception()))
    store.errors.append(error := NotFound("gone"))
    assert told.result(10) is error
    cancelled = start(Store([1]), Work())
    cancelled.cancel()
    assert cancelled.exception(10) is None


def test_a_callback_may_wait_for_a_response_when_the_pull_fails(start: Start) -> None:
    failed: Future[BaseException | None] = Future()

    def ack_and_wait(message: PulledMessage) -> None:
        store.errors.append(NotFound("gone"))
        failed.set_result(message.ack_with_response().exception(10))

    store = Store([1])
    pull = start(store, Work(ack_and_wait))
    assert isinstance(failed.result(10), NotFound)
    with pytest.raises(NotFound):
        pull.result(10)


# Cancelling


def test_cancel_gives_back_what_was_not_answered(start: Start) -> None:
    # "no new callbacks are begun; running ones are waited for; then a last exchange says all acks
    # and nacks and gives back (no failed delivery is counted) every message still held that was
    # not answered and not being called – loaded or not; then `.result()` returns None"
    policy = DeadLetterPolicy("dead", max_delivery_attempts=5)
    store = Store([40] * 9, fields={"dead_letter_policy": policy})
    work = Work(lambda message: message.ack() if message.message_id == "2" else None, waits_at=2)
    pull = start(store, work, max_workers=1, max_bytes=210, interval=60.0)
    eventually(lambda: len(work.called) == 3)
    work.called[1].nack()
    cancelling = Cancelling(pull)
    a_moment()
    assert not cancelling.returned.done()
    assert pull.running()
    work.go_on.set()
    assert cancelling.returned.result(10) == 7
    pull.result(0)
    assert (pull.cancelled(), pull.done()) == (True, True)
    assert (len(store.exchanges), store.exchanges[-1].asked) == (2, 0)
    assert work.ack_ids == ["1.0", "1.1", "1.2"]
    assert store.receives == [[0, 1, 2, 3, 4]]
    attempts = {n: s.delivery_attempt for s in store.state.unacked() for n in s.positions}
    assert attempts == {0: 1, 1: 2, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1}
    assert store.state.count(State.AVAILABLE) == 8
    assert pull.cancel() == 0  # "calling it again … returns 0"


def test_while_callbacks_finish_turns_go_on_without_leasing(start: Start) -> None:
    store, work = Store([40] * 4), Work(waits_at=0)
    pull = start(store, work, max_workers=1, max_messages=2, max_bytes=40)
    eventually(lambda: work.called)
    cancelling = Cancelling(pull)
    store.clock.advance(6)
    eventually(lambda: store.exchanges[-1].extended == {10: [0, 1]})
    response = work.called[0].ack_with_response()
    assert response.result(10) == "success"
    a_moment()
    work.go_on.set()
    assert cancelling.returned.result(10) == 1
    assert [each.leased for each in store.exchanges if each.leased] == [[0, 1]]
    assert (store.unacked, work.ack_ids, store.receives) == ([1, 2, 3], ["1.0"], [[0]])


def test_cancel_with_nothing_held_writes_nothing(start: Start) -> None:
    store, work = Store([1]), Work()
    pull = start(store, work)
    eventually(lambda: not store.unacked)
    assert pull.cancel() == 0
    assert all(each.asked for each in store.exchanges)


def test_cancel_in_a_callback_only_signals(start: Start) -> None:
    # "it must not deadlock when called from within a callback (then it only signals and returns 0)"
    returned: list[int] = []

    def cancel(message: PulledMessage) -> None:
        returned.append(pull.cancel())
        message.ack()

    store, work = Store([1] * 3), Work(cancel, waits_at=0)
    pull = start(store, work, max_workers=1)
    work.go_on.set()
    pull.result(10)
    assert (returned, store.unacked, len(work.called)) == ([0], [1, 2], 1)
    assert store.state.count(State.AVAILABLE) == 2


def test_cancel_when_a_response_comes_only_signals(start: Start) -> None:
    # Callbacks of responses run in the thread that takes the turns.
    returned: list[int] = []
    store, work = Store([1]), Work(leave)
    pull = start(store, work)
    eventually(lambda: work.called)
    response = work.called[0].nack_with_response()
    response.add_done_callback(lambda _: returned.append(pull.cancel()))
    pull.result(10)
    assert returned == [0]


def test_the_last_turn_is_tried_again_when_it_is_aborted(start: Start) -> None:
    store, work = Store([1] * 3), Work(leave)
    pull = start(store, work, interval=0.001, max_messages=3)
    eventually(lambda: len(work.called) == 3)
    store.errors = [Aborted("lost")] * 4
    assert (pull.cancel(), store.state.count(State.AVAILABLE)) == (3, 3)


def test_a_last_turn_that_is_always_aborted_is_an_error(start: Start) -> None:
    store, work = Store([1] * 3), Work(leave)
    pull = start(store, work, interval=0.001, max_messages=3)
    eventually(lambda: len(work.called) == 3)
    store.errors = [Aborted("lost")] * 50
    response = work.called[0].ack_with_response()
    assert pull.cancel() == 0
    with pytest.raises(Aborted):
        pull.result(0)
    with pytest.raises(Aborted):
        response.result(10)


def test_words_after_the_end_are_ignored(start: Start) -> None:
    store, work = Store([1] * 2), Work(leave)
    pull = start(store, work)
    eventually(lambda: len(work.called) == 2)
    assert pull.cancel() == 2
    assert pull._callbacks.loaded() == (0, 0)
    first, second = work.called
    first.ack()
    second.modify_ack_deadline(30)
    moved = second.modify_ack_deadline_with_response(30)
    for response in (moved, first.ack_with_response(), second.nack_with_response()):
        with pytest.raises(FailedPrecondition, match="has ended"):
            response.result(0)
    assert store.unacked == [0, 1]


# The future


def test_result_waits_for_the_end(start: Start) -> None:
    # "`.result(timeout)` raises concurrent.futures.TimeoutError while running"
    told: list[StreamingPull] = []
    pull = start(Store([]), Work())
    pull.add_done_callback(told.append)
    with pytest.raises(FutureTimeout):
        pull.result(timeout=0.01)
    assert (pull.running(), pull.done(), pull.cancelled(), told) == (True, False, False, [])
    pull.cancel()
    assert (pull.running(), pull.done(), pull.cancelled()) == (False, True, True)
    eventually(lambda: told == [pull])
    pull.add_done_callback(told.append)
    assert told == [pull, pull]


def test_leaving_the_context_cancels(start: Start) -> None:
    # "Context manager: `__exit__` cancels."
    with start(Store([1]), Work(leave)) as pull:
        assert pull.running()
    assert (pull.done(), pull.cancelled()) == (True, True)


def test_no_thread_is_left_at_the_end(start: Start) -> None:
    before = set(threading.enumerate())
    pull = start(Store([1] * 5), Work(), max_workers=3, interval=30.0)
    assert {thread.daemon for thread in set(threading.enumerate()) - before} == {True}
    pull.cancel()
    eventually(lambda: set(threading.enumerate()) <= before)


@pytest.mark.parametrize(
    ("callback", "workers", "message"),
    [(None, 1, "callback: None"), (leave, 0, "max_workers: 0"), (leave, True, "max_workers: True")],
)
def test_what_makes_no_sense_is_refused(callback: Any, workers: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        StreamingPull(Store([]), "s", lambda: START, callback, max_workers=workers)


def test_a_pull_that_cannot_start_its_threads_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python: "can't start new thread", at a limit of the system; trying again has no fewer."""
    store, work, before, refused = Store([]), Work(leave), threading.active_count(), ""
    start_thread = threading.Thread.start

    def start_a_few(thread: threading.Thread) -> None:
        if thread.name == refused:
            raise RuntimeError("can't start new thread")
        start_thread(thread)

    monkeypatch.setattr(threading.Thread, "start", start_a_few)
    for each in ("pubsub-callbacks-1", "pubsub-callbacks-3", "pubsub-subscriber"):
        refused = each
        with pytest.raises(RuntimeError, match="can't start new thread"):
            StreamingPull(store, store.subscription, store.now, work)
    eventually(lambda: threading.active_count() == before)


def test_a_pull_whose_start_is_interrupted_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Jupyter: "interrupt kernel" is Ctrl-C; the cell has no future that could be cancelled."""
    store, work, before, interrupted = Store([1]), Work(leave), threading.active_count(), ""
    start_thread = threading.Thread.start

    def start_and_interrupt(thread: threading.Thread) -> None:
        start_thread(thread)
        if thread.name == interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start_and_interrupt)
    for each in ("pubsub-callbacks-1", "pubsub-callbacks-3", "pubsub-subscriber"):
        interrupted = each
        with pytest.raises(KeyboardInterrupt):
            StreamingPull(store, store.subscription, store.now, work)
    eventually(lambda: threading.active_count() == before)


def test_a_pull_goes_on_where_no_thread_can_be_started(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exchanges a request each interval, at a limit of the system too."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    store, work = Store([1]), Work()
    start(store, work)
    eventually(lambda: work.called)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    store.pass_requests()  # the next one, and one after an interval without a timer
    store.sizes.append(1)
    store.publish(1)
    eventually(lambda: len(work.called) == 2)
