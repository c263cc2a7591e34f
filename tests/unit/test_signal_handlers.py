"""What a signal handler may call in the middle of a call that it interrupts.

Python: a handler runs in the main thread, between any two instructions of it. A lock that the main
thread has is not given back before the handler returns.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import pubsub_delta
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.publisher import Publisher
from tests.unit.pulling import Start, Store, Work, eventually, leave, pulls
from tests.unit.test_publisher import Commits, publisher_of

OURS = str(Path(pubsub_delta.__file__).parent)
A_FEW_SECONDS = 5


def start_pull() -> Start:
    """Return what starts a pull that nobody cancels after the test: that could wait for ever."""
    return next(pulls())


def interrupted(call: Callable[[], object], at: int, handler: Callable[[], object]) -> bool:
    """Run a handler in the middle of a call, before the line ``at`` of those that run in it.

    Return whether the call came to that line; fail if it or the handler does not end.
    """
    left = at

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            left -= 1
            if left == -1:
                sys.settrace(None)
                handler()
        return trace

    def run() -> None:
        sys.settrace(trace)
        with suppress(FailedPrecondition):  # it was stopped meanwhile
            call()
        sys.settrace(None)
        ended.set()

    ended = threading.Event()
    threading.Thread(target=run, daemon=True).start()
    assert ended.wait(A_FEW_SECONDS), (
        f"interrupted before line {at} of a call, a handler waits for ever"
    )
    return left < 0


@pytest.mark.parametrize("called", ["stop", "flush"])
def test_a_handler_can_stop_and_flush_a_publisher_in_the_middle_of_a_publish(called: str) -> None:
    """ "A signal handler can call both, at any moment"; and each future comes to its end."""
    for at in count():
        publisher = publisher_of(Commits())
        futures = [publisher.publish("before")]

        def publish(of: Publisher = publisher, to: list[Future[str]] = futures) -> None:
            to.append(of.publish("x"))

        reached = interrupted(publish, at, getattr(publisher, called))
        publisher.stop()
        assert all(future.done() for future in futures)
        if not reached:
            break
    assert at > 20


def test_a_handler_can_cancel_a_pull_in_the_middle_of_an_ack() -> None:
    """ "``cancel`` does not wait ... in a signal handler that interrupts another call"."""
    for at in count():
        store, work = Store([1] * 2), Work(leave)
        pull = start_pull()(store, work, max_messages=2)
        calls = work.called
        eventually(partial(calls.__getitem__, slice(1, None)))
        reached = interrupted(calls[0].ack, at, pull.cancel)
        pull.cancel()
        assert pull.done()
        assert store.unacked in ([1], [0, 1])
        if not reached:
            break
    assert at > 5


def test_a_handler_can_cancel_a_pull_in_the_middle_of_its_cancel() -> None:
    """ "A second call ... also waits"."""
    for at in count():
        pull = start_pull()(Store([]), Work(leave))
        reached = interrupted(pull.cancel, at, pull.cancel)
        assert pull.done()
        if not reached:
            break
    assert at > 5
