"""What flush of a publisher waits for: what was published before it, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest

from pubsub_delta.publisher import Publisher
from pubsub_delta.resources import BatchSettings, Message
from tests.unit.test_publisher import A_WHILE, IGNORE, LONG, NEVER, Commits, publisher_of


@pytest.fixture
def commits() -> Commits:
    return Commits()


def test_flush_waits_for_what_was_published_before_it_and_for_no_more(commits: Commits) -> None:
    with publisher_of(commits) as publisher:
        publisher.flush()  # nothing to wait for
        with commits.held_open(publisher), ThreadPoolExecutor(1) as threads:
            before = publisher.publish("x")
            flushed = threads.submit(publisher.flush)
            assert not wait([flushed], A_WHILE).done
            commits._may_end.set()
            flushed.result(LONG)
            assert before.done()
        later = publisher.publish("later")
        assert not wait([later], A_WHILE).done
    assert commits.data == [[b"held"], [b"x"], [b"later"]]


def test_flush_waits_for_each_of_several_batches() -> None:
    """ "Wait until each message in it is published or has failed"."""
    released = threading.Semaphore(0)

    def commit(messages: Sequence[Message]) -> list[str]:
        assert released.acquire(timeout=LONG)
        return ["0"] * len(messages)

    with (
        Publisher(commit, BatchSettings(1, 10**7, NEVER), IGNORE) as publisher,
        ThreadPoolExecutor(1) as threads,
    ):
        first, second = (publisher.publish("x") for _ in range(2))
        flushed = threads.submit(publisher.flush)
        released.release()
        first.result(LONG)
        goes_on = wait([flushed], A_WHILE).done
        released.release()
        flushed.result(LONG)
        assert second.done()
    assert not goes_on


def test_flush_does_not_wait_for_batches_that_come_after_it(commits: Commits) -> None:
    """A flush comes to its end however many messages others go on to publish."""
    going_on = threading.Event()

    def publish_another(_: Future[str]) -> None:
        if not going_on.is_set():
            publisher.publish("x").add_done_callback(publish_another)

    with publisher_of(commits, max_messages=1) as publisher:
        publish_another(Future())
        flushes = threading.Thread(target=publisher.flush, daemon=True)
        flushes.start()
        flushes.join(LONG)
        assert not flushes.is_alive()
        going_on.set()
