"""How much a publisher holds, and what becomes of what is more (PublishFlowControl)."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, ResourceExhausted
from pubsub_delta.publisher import Publisher
from pubsub_delta.resources import BatchSettings, LimitExceededBehavior, PublishFlowControl
from tests.unit.test_publisher import A_WHILE, LONG, Commits, publisher_of


@pytest.fixture
def commits() -> Commits:
    return Commits()


def limited(messages: int = 1_000, size: int = 10**7, behavior: str = "block") -> Any:
    return PublishFlowControl(messages, size, behavior)


def in_thread(publish: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=publish, daemon=True)
    thread.start()
    return thread


def test_the_limits_are_googles_and_it_waits_unless_told_otherwise() -> None:
    # "1,000 messages, 10 MB, block, error or ignore, as Google's clients"
    default = PublishFlowControl()
    assert (default.message_limit, default.byte_limit) == (1_000, 10_000_000)
    assert default.limit_exceeded_behavior is LimitExceededBehavior.BLOCK


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"message_limit": 0}, "flow_control.message_limit: 0"),
        ({"byte_limit": True}, "flow_control.byte_limit: True"),
        ({"limit_exceeded_behavior": "drop"}, "'block', 'error' or 'ignore' is accepted"),
    ],
)
def test_other_limits_are_refused(fields: Any, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        PublishFlowControl(**fields)


@pytest.mark.parametrize("behavior", ["block", "error"])
def test_a_message_that_never_fits_is_refused_and_waits_for_nothing(
    commits: Commits, behavior: str
) -> None:
    with publisher_of(commits, flow_control=limited(size=4, behavior=behavior)) as publisher:
        with pytest.raises(ResourceExhausted, match="5 bytes never fits into"):
            publisher.publish("bytes").result(0)
        four = publisher.publish("four")
    assert four.result(0) == "0", "it fits exactly"


@pytest.mark.parametrize("limits", [limited(messages=2), limited(size=12)])
def test_who_publishes_beyond_a_limit_waits_until_there_is_room(
    commits: Commits, limits: PublishFlowControl
) -> None:
    with publisher_of(commits, max_latency=0, flow_control=limits) as publisher:
        with commits.held_open(publisher):
            publisher.publish("four")
            waiting = in_thread(lambda: publisher.publish("more"))
            waiting.join(A_WHILE)
            assert waiting.is_alive()
        waiting.join(LONG)
        assert not waiting.is_alive()
    assert [message.data for message in commits.messages] == [b"held", b"four", b"more"]


def test_who_waits_for_room_waits_for_no_latency(commits: Commits) -> None:
    limits = limited(messages=1)
    with publisher_of(commits, flow_control=limits) as publisher:

        def publish(text: str) -> None:
            with suppress(FailedPrecondition):  # stopped while it waited, after a failure below
                publisher.publish(text)

        for n in range(5):
            waiting = in_thread(partial(publish, f"{n}"))
            waiting.join(LONG)  # each makes the one before be committed
            assert not waiting.is_alive()
            while not publisher._work._waiters:  # type: ignore[attr-defined]
                publisher._thread.join(0.001)  # until the thread waits for the latency
    assert commits.data == [[b"0"], [b"1"], [b"2"], [b"3"], [b"4"]]


def test_those_who_wait_are_served_in_the_order_in_which_they_came(commits: Commits) -> None:
    with publisher_of(commits, flow_control=limited(size=12)) as publisher:
        with commits.held_open(publisher):
            threads = []
            for n, data in enumerate(["a" * 12, "b", "c"]):
                threads.append(in_thread(lambda data=data: publisher.publish(data)))  # type: ignore[misc]
                while len(publisher._blocked) <= n:
                    threads[-1].join(0.001)
        for thread in threads:
            thread.join(LONG)
    assert [message.data[:1] for message in commits.messages] == [b"h", b"a", b"b", b"c"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="it interrupts a thread")
def test_who_waits_goes_on_when_an_earlier_one_is_interrupted(commits: Commits) -> None:
    """Ctrl+C ends the wait of a large message; a small one behind it fits at once."""

    class Interrupted(Exception):
        """What the handler of the signal raises."""

    def interrupt(*_: object) -> None:
        raise Interrupted

    done = threading.Event()

    def publish_small(publisher: Publisher) -> None:
        with suppress(FailedPrecondition):  # stopped while it waited, after a failure below
            publisher.publish("s")
            done.set()

    def interrupt_large(publisher: Publisher, main: int) -> None:
        wait_until(lambda: waiting(publisher) == 1)
        in_thread(partial(publish_small, publisher))
        wait_until(lambda: waiting(publisher) == 2)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with (
            publisher_of(commits, flow_control=limited(size=10)) as publisher,
            commits.held_open(publisher),
        ):
            in_thread(partial(interrupt_large, publisher, threading.get_ident()))
            with pytest.raises(Interrupted):
                publisher.publish("ten bytes.")
            assert done.wait(LONG / 2), "there is room for it, and nobody before it"
    finally:
        signal.signal(signal.SIGUSR1, before)


def waiting(publisher: Publisher) -> int:
    with publisher._room:  # who waits has let go of it
        return len(publisher._blocked)


def wait_until(told: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(1_000):
        if told():
            return
        pause.wait(LONG / 1_000)
    raise AssertionError("it never came")


def test_beyond_a_limit_the_future_fails_if_that_is_asked_for(commits: Commits) -> None:
    limits = limited(messages=2, behavior="error")
    with publisher_of(commits, flow_control=limits) as publisher:
        with commits.held_open(publisher):
            publisher.publish("two")
            refused = publisher.publish("three")
            with pytest.raises(ResourceExhausted, match="2 messages of 11 bytes in the queue"):
                refused.result(0)
        publisher.flush()
        again = publisher.publish("three")
    assert again.result(0) == "2"


def test_beyond_ignored_limits_everything_is_queued(commits: Commits) -> None:
    limits = limited(messages=1, size=1, behavior="ignore")
    with publisher_of(commits, flow_control=limits) as publisher:
        for n in range(100):
            publisher.publish(f"data {n}")
    assert len(commits.messages) == 100


def test_what_failed_was_cancelled_or_overtook_holds_no_room(commits: Commits) -> None:
    commits.failing = {b"bad"}
    limits = limited(messages=6, behavior="error")  # else a mistake would block this thread
    with publisher_of(commits, max_messages=1, flow_control=limits) as publisher:
        for n in range(50):
            failed = publisher.publish("bad", ordering_key=f"{n}")
            publisher.publish("behind", ordering_key=f"{n}")
            publisher.publish("given up").cancel()
            wait([failed])
    assert (publisher._outstanding, publisher._outstanding_bytes) == (0, 0)


def test_a_callback_of_a_future_publishes_without_waiting(commits: Commits) -> None:
    # the thread that makes room cannot wait for it
    more: list[Future[str]] = []
    with publisher_of(commits, max_latency=0, flow_control=limited(messages=1)) as publisher:
        first = publisher.publish("first")
        first.add_done_callback(lambda _: more.extend(publisher.publish("x") for _ in range(3)))
        first.result(LONG)
        publisher.flush()
    assert len(more) == 3
    assert all(future.result(LONG) for future in more)


def test_who_waits_when_a_publisher_is_stopped_is_told_so(commits: Commits) -> None:
    publisher = publisher_of(commits, flow_control=limited(messages=1))
    told: list[Exception] = []

    def publish() -> None:
        try:
            publisher.publish("late")
        except FailedPrecondition as error:
            told.append(error)

    with commits.held_open(publisher):
        waiting = in_thread(publish)
        while not publisher._blocked:
            waiting.join(0.001)
        stopping = in_thread(publisher.stop)
        waiting.join(LONG)
        assert len(told) == 1
    stopping.join(LONG)


def test_what_is_queued_when_the_interpreter_exits_is_committed() -> None:
    program = """if True:
        from pubsub_delta.publisher import BatchSettings, PublishFlowControl, Publisher
        def commit(messages):
            print([message.data for message in messages], flush=True)
            return ["0"]
        Publisher(commit, BatchSettings(max_latency="1d"), PublishFlowControl()).publish("x")
        raise SystemExit(3)
    """
    command, folder = [sys.executable, "-c", program], Path(__file__).parents[2]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (3, "[b'x']\n", "")


@pytest.mark.parametrize("given", [None, {"message_limit": 1}, BatchSettings(), object()])
def test_settings_of_another_class_are_refused(commits: Commits, given: Any) -> None:
    """Those of Google's client have classes of the same names, and other fields."""
    with pytest.raises(InvalidArgument, match=r"^flow_control: "):
        Publisher(commits, BatchSettings(), given)
    other: Any = PublishFlowControl() if isinstance(given, BatchSettings) else given
    with pytest.raises(InvalidArgument, match=r"^batch_settings: "):
        Publisher(commits, other, PublishFlowControl())
