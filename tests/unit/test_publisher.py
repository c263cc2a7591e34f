"""Messages given one by one, and the batches that they are committed in (BatchSettings)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.errors import Aborted, FailedPrecondition, InvalidArgument
from pubsub_delta.publisher import Publisher
from pubsub_delta.resources import BatchSettings, Message, PublishFlowControl

NEVER = "99999999d"
"""A latency that no test waits for, and longer than any that a thread can wait for."""
LONG = 20
"""Seconds that a test waits for what comes at once, before it gives up."""
IGNORE = PublishFlowControl(limit_exceeded_behavior="ignore")
A_WHILE = 0.1
"""Seconds that a test waits for what must not come."""


class Commits:
    """A topic in memory. Message ids are counted up; a commit can be held open, and can fail."""

    def __init__(self) -> None:
        self.batches: list[list[Message]] = []
        self.failing: set[bytes] = set()
        self.error: BaseException = Aborted("too many concurrent writers")
        self._begun = threading.Event()
        self._may_end = threading.Event()
        self._may_end.set()

    def __call__(self, messages: Sequence[Message]) -> list[str]:
        self._begun.set()
        assert self._may_end.wait(LONG)
        if self.failing & {message.data for message in messages}:
            raise self.error
        first = len(self.messages)
        self.batches.append(list(messages))
        return [str(first + n) for n in range(len(messages))]

    @property
    def messages(self) -> list[Message]:
        return [message for batch in self.batches for message in batch]

    @property
    def data(self) -> list[list[bytes]]:
        return [[message.data for message in batch] for batch in self.batches]

    @contextmanager
    def held_open(self, publisher: Publisher) -> Iterator[Future[str]]:
        """Begin a commit of one message and hold it open; this gives the message's future."""
        self._may_end.clear()
        self._begun.clear()
        try:
            future = publisher.publish("held", ordering_key="held")
            threading.Thread(target=publisher.flush, daemon=True).start()
            assert self._begun.wait(LONG)
            yield future
        finally:
            self._may_end.set()


@pytest.fixture
def commits() -> Commits:
    return Commits()


def publisher_of(
    commits: Commits,
    max_messages: int = 1_000,
    max_bytes: int = 10**7,
    max_latency: Any = NEVER,
    flow_control: PublishFlowControl | None = None,
) -> Publisher:
    return Publisher(
        commits, BatchSettings(max_messages, max_bytes, max_latency), flow_control or IGNORE
    )


def outcomes(futures: Sequence[Future[str]]) -> list[str]:
    """Return what became of each message: its id, or the name of the error."""
    assert not wait(futures, 0).not_done
    found = []
    for future in futures:
        try:
            found.append(future.result(0))
        except Exception as error:
            found.append(type(error).__name__)
    return found


def test_many_threads_share_few_commits(commits: Commits) -> None:
    def publish(thread: int) -> list[Future[str]]:
        return [publisher.publish(f"{thread} {n}") for n in range(125)]

    with publisher_of(commits, max_messages=100) as publisher, ThreadPoolExecutor(8) as threads:
        futures = list(threads.map(publish, range(8)))
    assert [len(batch) for batch in commits.batches] == [100] * 10
    for thread, its_futures in enumerate(futures):
        ids = [int(future.result(0)) for future in its_futures]
        assert [commits.messages[n].data for n in ids] == [
            f"{thread} {n}".encode() for n in range(125)
        ]
        assert ids == sorted(ids), "in the order in which this thread gave them"


def test_a_batch_is_committed_as_soon_as_it_has_max_messages(commits: Commits) -> None:
    with publisher_of(commits, max_messages=3) as publisher:
        assert not wait([publisher.publish("a"), publisher.publish("b")], A_WHILE).done
        assert publisher.publish("c").result(LONG) == "2"
    assert len(commits.batches) == 1


def test_a_batch_is_committed_as_soon_as_it_has_max_bytes(commits: Commits) -> None:
    # "max_bytes (of data, attributes and ordering keys)", as UTF-8
    with publisher_of(commits, max_bytes=20) as publisher:
        publisher.publish("12345", k="é")
        assert not wait([publisher.publish("12345", "123456")], A_WHILE).done
        assert publisher.publish("1").result(LONG) == "2"
        assert not wait([publisher.publish("2")], A_WHILE).done


@pytest.mark.parametrize("latency", [0, 0.05])
def test_no_message_waits_longer_than_max_latency(commits: Commits, latency: float) -> None:
    # "or the first one has waited for max_latency"
    with publisher_of(commits, max_latency=latency) as publisher:
        for n in range(3):
            assert publisher.publish("x").result(LONG) == str(n)


def test_a_batch_gathers_while_a_commit_is_under_way(commits: Commits) -> None:
    with publisher_of(commits, max_latency=0) as publisher, commits.held_open(publisher):
        for n in range(50):
            publisher.publish(str(n))
    assert commits.data == [[b"held"], [str(n).encode() for n in range(50)]]


def test_a_message_larger_than_max_bytes_has_a_batch_of_its_own(commits: Commits) -> None:
    # "A batch never exceeds max_bytes unless a single message is larger"
    with publisher_of(commits, max_bytes=4) as publisher, commits.held_open(publisher):
        for data in ("1", "22", "55555", "22", "22", "333", "22"):
            publisher.publish(data)
    assert commits.data == [[b"held"], [b"1", b"22"], [b"55555"], [b"22"] * 2, [b"333"], [b"22"]]


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 8), st.integers(1, 20))
def test_batches_keep_the_order_and_the_limits(sizes: list[int], most: int, room: int) -> None:
    commits = Commits()
    data = [bytes([n]) * size for n, size in enumerate(sizes)]
    with publisher_of(commits, most, room) as publisher:
        futures = [publisher.publish(each) for each in data]
    assert outcomes(futures) == [str(n) for n in range(len(data))]
    assert [message.data for message in commits.messages] == data
    for batch in commits.data:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or len(b"".join(batch)) <= room


def test_a_message_is_made_of_data_ordering_key_and_attributes(commits: Commits) -> None:
    attributes = {"data": "y"}
    with publisher_of(commits) as publisher:
        publisher.publish("é", "key", origin="JFK")
        publisher.publish(b"\xff", k="v")
        publisher.publish("", origin="JFK")
        publisher.publish(Message(b"x", attributes, "key"))
        attributes["goog"] = "reserved"  # too late to change what was checked
    assert commits.messages == [
        Message(b"\xc3\xa9", {"origin": "JFK"}, "key"),
        Message(b"\xff", {"k": "v"}),
        Message(b"", {"origin": "JFK"}),
        Message(b"x", {"data": "y"}, "key"),
    ]


BAD: dict[str, Callable[[Any], object]] = {
    "nothing": lambda publisher: publisher.publish(),
    "too large": lambda publisher: publisher.publish(b"x" * 10_000_001),
    "no text": lambda publisher: publisher.publish("x", k=1),
    "no data": lambda publisher: publisher.publish(None, k="v"),
    "no UTF-8": lambda publisher: publisher.publish("\ud800"),
    "bad Message": lambda publisher: publisher.publish(Message()),
    "Message and ordering key": lambda publisher: publisher.publish(Message(b"x"), "key"),
    "Message and attribute": lambda publisher: publisher.publish(Message(b"x"), k="v"),
}


@pytest.mark.parametrize("publish", BAD.values(), ids=BAD.keys())
def test_a_bad_message_is_refused_at_once(commits: Commits, publish: Callable[[Any], Any]) -> None:
    with publisher_of(commits) as publisher:
        with pytest.raises(InvalidArgument):
            publish(publisher)
        publisher.publish("good")
    assert commits.data == [[b"good"]]


@pytest.mark.parametrize("error", [Aborted("busy"), KeyError("bug"), SystemExit(1)])
def test_a_failed_commit_fails_its_messages_only(commits: Commits, error: BaseException) -> None:
    commits.failing, commits.error = {b"2"}, error
    with publisher_of(commits, max_messages=2) as publisher:
        futures = [publisher.publish(str(n)) for n in range(6)]
    assert [future.exception(0) for future in futures] == [None, None, error, error, None, None]
    assert outcomes(futures[:2] + futures[4:]) == ["0", "1", "2", "3"]


def test_a_commit_that_gives_too_few_ids_is_a_failure() -> None:
    with Publisher(lambda messages: ["0"], BatchSettings(max_latency=NEVER), IGNORE) as publisher:
        futures = [publisher.publish("x"), publisher.publish("x")]
    assert outcomes(futures) == ["Unknown", "Unknown"]


def test_a_failure_pauses_the_ordering_keys_of_its_batch(commits: Commits) -> None:
    # "what is queued for those keys, and later publishes of them, fail", "so that later messages
    # do not overtake failed ones"; "Messages without an ordering key are never paused."
    with publisher_of(commits, max_messages=3) as publisher:
        with commits.held_open(publisher):
            commits.failing = {b"bad"}
            failed = [publisher.publish(*each) for each in (("bad", "a"), ("x", "b"), ("x",))]
            queued = [publisher.publish("y", key) for key in ("a", "c", "", "b", "b")]
            queued[3].cancel()
        publisher.flush()
        later = [publisher.publish("z", key) for key in ("a", "c", "", "b")]
    paused = "FailedPrecondition"
    assert outcomes(failed) == ["Aborted"] * 3
    assert outcomes(queued) == [paused, "1", "2", "CancelledError", paused]
    assert outcomes(later) == [paused, "3", "4", paused]
    for future, key in ((queued[0], "a"), (queued[4], "b"), (later[3], "b")):
        with pytest.raises(FailedPrecondition, match=rf"'{key}'.* resume_publish\('{key}'\)"):
            future.result(0)


def test_what_a_pause_takes_off_the_queue_counts_no_more(commits: Commits) -> None:
    with publisher_of(commits, max_messages=3, max_bytes=30) as publisher:
        with commits.held_open(publisher):
            commits.failing = {b"held"}
            for _ in range(3):
                publisher.publish("x" * 9, "held")
            other = publisher.publish("x" * 9)
        assert not wait([other], A_WHILE).done
    assert outcomes([other]) == ["0"]


def test_a_resumed_key_is_published_again_and_no_other(commits: Commits) -> None:
    """It can be resumed as soon as a future has failed, by a callback."""
    again: list[Future[str]] = []

    def publish_again(_: Future[str]) -> None:
        publisher.resume_publish("a")
        again.extend(publisher.publish("again", key) for key in ("a", "b"))

    with publisher_of(commits) as publisher:
        publisher.resume_publish("a")  # it is not paused: nothing happens
        with pytest.raises(InvalidArgument, match=r"ordering_key: \['a'\]; text is accepted"):
            publisher.resume_publish(["a"])  # type: ignore[arg-type]
        with commits.held_open(publisher):
            commits.failing = {b"bad"}
            publisher.publish("bad", "a").add_done_callback(publish_again)
            publisher.publish("x", "b")
        publisher.flush()
    assert outcomes(again) == ["1", "FailedPrecondition"]


Rounds = list[list[tuple[str, bool]]]
messages_of_a_round = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.booleans()))


@given(st.lists(messages_of_a_round, max_size=4), st.integers(1, 5))
def test_no_message_overtakes_a_failed_one(rounds: Rounds, max_messages: int) -> None:
    """Each round publishes messages: (key, whether its batch is to fail); then it resumes a key."""
    commits = Commits()
    paused: set[str] = set()
    with publisher_of(commits, max_messages) as publisher:
        for number, messages in enumerate(rounds):
            named = [(f"{number} {n}".encode(), *each) for n, each in enumerate(messages)]
            commits.failing |= {data for data, _, bad in named if bad}
            futures = [publisher.publish(data, key) for data, key, _ in named]
            publisher.flush()
            for (data, key, bad), outcome in zip(named, outcomes(futures), strict=True):
                if outcome == "Aborted":
                    paused |= {key} - {""}
                elif outcome == "FailedPrecondition":
                    assert key in paused
                else:
                    assert not bad
                    assert key not in paused
                    assert commits.messages[int(outcome)].data == data
            publisher.resume_publish("ab"[number % 2])
            paused.discard("ab"[number % 2])


@pytest.mark.timeout(30)
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("settle", ["set_result", "set_exception", "set_running_or_notify_cancel"])
def test_a_future_that_its_program_settles_stops_no_publisher(
    commits: Commits, settle: str, fails: bool
) -> None:
    """A future that is cancelled publishes nothing; to settle it otherwise changes nothing.

    ``concurrent.futures`` leaves these methods to executors, and raises where they come twice.
    """
    commits.failing = {b"held"} if fails else set()
    values: dict[str, list[Any]] = {"set_result": ["own"], "set_exception": [TimeoutError()]}
    with publisher_of(commits) as publisher:
        with commits.held_open(publisher):
            settled = publisher.publish("settled", ordering_key="held")
            getattr(settled, settle)(*values.get(settle, []))
        publisher.flush()
        assert publisher.publish("next").cancelled() is False
    sent = [] if fails else [[b"held"], [b"settled"]]
    assert commits.data == [*sent, [b"next"]]


def test_a_cancelled_message_is_left_out(commits: Commits) -> None:
    with publisher_of(commits) as publisher:
        with commits.held_open(publisher) as held:
            assert not held.cancel(), "its batch began"
            futures = [publisher.publish(str(n)) for n in range(3)]
            assert futures[1].cancel()
        publisher.flush()
        assert publisher.publish("only").cancel()
        publisher.flush()
    assert outcomes(futures) == ["1", "CancelledError", "2"]
    assert commits.data == [[b"held"], [b"0", b"2"]], "and there is no empty commit"


@pytest.mark.parametrize("error", [KeyError("bug"), SystemExit(1)])
def test_a_callback_that_raises_does_no_harm(commits: Commits, error: BaseException) -> None:
    def fail(_: Future[str]) -> None:
        raise error

    with publisher_of(commits, max_messages=2) as publisher, commits.held_open(publisher):
        commits.failing = {b"bad"}
        futures = [publisher.publish(data) for data in ("bad", "x", "x", "x")]
        for future in futures:
            future.add_done_callback(fail)
    assert outcomes(futures) == ["Aborted", "Aborted", "1", "2"]


def test_a_callback_may_publish_flush_and_stop(commits: Commits) -> None:
    """They do not wait there, where they would wait for themselves."""
    more: list[Future[str]] = []

    def go_on(_: Future[str]) -> None:
        future = publisher.publish("more")
        publisher.flush()
        publisher.stop()
        more.append(future)

    publisher = publisher_of(commits)
    with commits.held_open(publisher) as held:
        held.add_done_callback(go_on)
    publisher.flush()
    publisher.stop()
    assert outcomes(more) == ["1"]


def test_stop_commits_what_is_queued_and_refuses_what_comes_later(commits: Commits) -> None:
    publisher = publisher_of(commits, max_messages=2)
    futures = [publisher.publish("x") for _ in range(5)]
    publisher.stop()
    assert outcomes(futures) == ["0", "1", "2", "3", "4"]
    assert not publisher._thread.is_alive()
    with pytest.raises(FailedPrecondition, match="was stopped"):
        publisher.publish("y")
    publisher.stop()
    publisher.flush()


def test_leaving_the_block_stops_whatever_happened_in_it(commits: Commits) -> None:
    publisher = publisher_of(commits)
    with suppress(KeyError), publisher:
        publisher.publish("x")
        assert repr(publisher) == f"Publisher({BatchSettings(max_latency=NEVER)}, 1 queued)"
        raise KeyError("bug")
    assert commits.data == [[b"x"]]
    assert repr(publisher).endswith("0 queued, stopped)")
