"""Which message is called next, and what callbacks ask for (spec sections 4, client side; 6)."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.callbacks import Callbacks, PulledMessage
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Message, ReceivedMessage
from tests.unit.builders import START
from tests.unit.calling import MINUTE, PATIENCE, SECOND, Answers, exchange, put, received, succeed
from tests.unit.pulling import eventually, leave

LEASE, OTHER_LEASE, NAME = 1, 2, "projects/p/subscriptions/s"

Made = Callable[..., Callbacks]


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def make(answers: Answers) -> Iterator[Made]:
    made: list[Callbacks] = []

    def make(max_workers: int = 1, ordered: bool = False) -> Callbacks:
        made.append(
            Callbacks(
                answers, max_workers, NAME, lambda: START, ordered=ordered, on_idle=lambda: None
            )
        )
        for thread in made[-1].threads:
            thread.start()
        return made[-1]

    yield make
    for each in made:
        each.stop()
        each.join()


# Calling


def test_as_many_callbacks_run_at_a_time_as_there_are_workers(make: Made, answers: Answers) -> None:
    together, free = threading.Barrier(4), threading.Event()

    def meet(message: PulledMessage) -> None:
        together.wait(PATIENCE)
        free.wait(PATIENCE)

    answers.otherwise = meet
    put(make(max_workers=3), LEASE, *map(received, range(5)))
    together.wait(PATIENCE)
    assert sorted(answers.ids) == [0, 1, 2]
    free.set()
    together.abort()


def test_a_callback_gets_all_fields_of_a_received_message(make: Made, answers: Answers) -> None:
    # "PulledMessage has the fields of ReceivedMessage (same names; also `.message`)"
    sent = ReceivedMessage("a.b", "7", START, b"body", {"a": "b"}, "key", 3)
    put(make(), LEASE, sent)
    answers.wait_for(7)
    (got,) = answers.called
    assert {f.name: getattr(got, f.name) for f in fields(sent)} == vars(sent)
    assert got.message == Message(b"body", {"a": "b"}, "key")
    assert repr(got) == repr(sent).replace("ReceivedMessage", "PulledMessage")
    assert not hasattr(got, "__dict__")


def test_nothing_is_called_after_stop(make: Made, answers: Answers) -> None:
    # "no new callbacks are begun; running ones are waited for"
    free, over = threading.Event(), threading.Event()
    answers.otherwise = lambda message: free.wait(PATIENCE)
    callbacks = Callbacks(answers, 1, NAME, lambda: START, ordered=False, on_idle=over.set)
    callbacks.threads[0].start()
    put(callbacks, LEASE, received(0), received(1))
    answers.wait_for(0)
    callbacks.stop()
    assert not callbacks.idle
    assert not over.is_set()
    free.set()
    assert over.wait(PATIENCE)
    callbacks.join()
    assert answers.ids == [0]


def test_a_stop_while_nothing_runs_is_told_at_once(answers: Answers) -> None:
    """Whoever cancels an idle pull does not wait for its next exchange."""
    over = threading.Event()
    callbacks = Callbacks(answers, 1, NAME, lambda: START, ordered=False, on_idle=over.set)
    callbacks.stop()
    assert over.is_set()


def test_nothing_is_kept_of_what_was_handled(make: Made, answers: Answers) -> None:
    # "nothing grows with the number of messages handled"
    attributes = type("Attributes", (dict,), {})  # of which there are weak references
    sent = [replace(received(n, f"k{n}"), attributes=attributes()) for n in range(50)]
    alive = [weakref.ref(each.attributes) for each in sent]
    callbacks = make(max_workers=2, ordered=True)
    answers.otherwise = lambda message: message.ack_with_response()
    answers.on[7] = lambda message: message.nack()
    put(callbacks, LEASE, *sent)
    eventually(lambda: callbacks.loaded() == (0, 0) and not callbacks._waiting)
    sent.clear()
    answers.called.clear()
    callbacks.drop_leased_for(SECOND, START + 2 * SECOND)
    gc.collect()
    assert not any(each() for each in alive)
    assert not callbacks._ready
    assert not callbacks._outstanding.leases


# Answers


def pulled(make: Made, answers: Answers, *, ordered: bool = False) -> tuple[Callbacks, Any]:
    """Return a message whose callback has returned without an answer."""
    answers.otherwise = leave
    callbacks = make(ordered=ordered)
    put(callbacks, LEASE, received(0))
    answers.wait_for(0)
    return callbacks, answers.called[0]


def test_the_first_answer_counts(make: Made, answers: Answers) -> None:
    # "The first answer (ack/nack) of a message counts"
    callbacks, message = pulled(make, answers)
    message.nack()
    message.ack()
    message.nack()
    message.modify_ack_deadline(20)
    assert exchange(callbacks) == {"nacked": {LEASE: [0]}}
    message.ack()
    assert exchange(callbacks) == {}


def test_an_unanswered_message_counts_until_it_is_answered(make: Made, answers: Answers) -> None:
    # "A message whose callback returns without an answer stays outstanding (the user may answer
    # later from another thread)"
    callbacks, message = pulled(make, answers)
    assert callbacks.loaded() == (1, 5)
    message.ack()  # this is another thread
    assert callbacks.loaded() == (0, 0)
    assert exchange(callbacks) == {"acked": {LEASE: [0]}}


def test_bytes_are_those_of_data_attributes_and_ordering_key(make: Made, answers: Answers) -> None:
    # "len(data) + utf-8 bytes of attributes and ordering key"
    answers.otherwise = leave
    callbacks = make()
    sent = replace(received(0, key="ü", data=b"123"), attributes={"ä": "öö", "b": ""})
    put(callbacks, LEASE, sent)
    assert callbacks.loaded() == (1, 3 + 2 + 2 + 4 + 1)


def test_a_response_comes_when_the_request_is_written(make: Made, answers: Answers) -> None:
    # "a concurrent.futures.Future resolved after the commit that carried it"
    callbacks, message = pulled(make, answers)
    future = message.ack_with_response()
    assert not future.cancel()
    request = callbacks.request(START)
    assert not future.done()
    callbacks.apply(request, AckResponse(Outcomes(expired={LEASE: Positions.of([0])})), START)
    assert future.result(0) == "expired"


def test_later_answers_have_the_response_of_the_first(make: Made, answers: Answers) -> None:
    # "ignore them, with_response giving the first one's future"
    _, message = pulled(make, answers)
    first = message.nack_with_response()
    assert message.ack_with_response() is first
    assert message.modify_ack_deadline_with_response(0) is first
    assert message.modify_ack_deadline_with_response(30) is first


@pytest.mark.parametrize("settled", [False, True])
def test_a_response_may_be_asked_for_afterwards(
    make: Made, answers: Answers, settled: bool
) -> None:
    callbacks, message = pulled(make, answers)
    message.ack()
    request = callbacks.request(START)
    if settled:
        succeed(callbacks, request)
    future = message.ack_with_response()
    assert future.done() is settled
    succeed(callbacks, request)
    assert future.result(0) == "success"


def test_a_new_deadline_is_no_answer(make: Made, answers: Answers) -> None:
    # "`.modify_ack_deadline(seconds)` (0 = nack, 1–600 else InvalidArgument)"
    callbacks, message = pulled(make, answers)
    message.modify_ack_deadline(600)
    future = message.modify_ack_deadline_with_response(1)
    assert callbacks.loaded() == (1, 5)
    assert exchange(callbacks) == {"deadlines": {timedelta(seconds=1): {LEASE: [0]}}}
    assert future.result(0) == "success"
    message.modify_ack_deadline(0)
    asked = exchange(callbacks)
    assert asked["nacked"] == {LEASE: [0]}
    assert asked["deadlines"].keys() == {MINUTE}, "its lease would have ended soon"


@pytest.mark.parametrize("seconds", [-1, 601, 1.5, True, None])
def test_other_deadlines_are_refused(make: Made, answers: Answers, seconds: Any) -> None:
    _, message = pulled(make, answers)
    with pytest.raises(InvalidArgument, match="from 0 to 600"):
        message.modify_ack_deadline(seconds)
    with pytest.raises(InvalidArgument, match="from 0 to 600"):
        message.modify_ack_deadline_with_response(seconds)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1)])
@pytest.mark.parametrize("answered", [False, True])
def test_an_error_is_logged_and_nacks_the_message(
    make: Made,
    answers: Answers,
    caplog: pytest.LogCaptureFixture,
    error: BaseException,
    answered: bool,
) -> None:
    # "logged (logging.getLogger("pubsub_delta"), with the message id and the traceback) and nacks
    # that message if it has not been answered yet"
    def fail(message: PulledMessage) -> None:
        if answered:
            message.ack()
        raise error

    answers.on[7] = fail
    callbacks = make()
    put(callbacks, LEASE, received(7), received(8))
    answers.wait_for(8)
    eventually(lambda: callbacks.loaded() == (0, 0))
    failed = {"acked": {LEASE: [7, 8]}} if answered else {"nacked": {LEASE: [7]}}
    assert exchange(callbacks) == {"acked": {LEASE: [8]}, **failed}
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("pubsub_delta", logging.ERROR)
    assert record.getMessage() == f"{NAME}: the callback failed for message 7: nack"
    assert record.exc_info is not None
    assert record.exc_info[1] is error


# Ordering


def test_a_key_waits_for_the_callback_and_for_the_answer(make: Made, answers: Answers) -> None:
    # "the next only when the previous one's callback has returned AND it was answered"
    free = threading.Event()

    def ack_first(message: PulledMessage) -> None:
        message.ack()
        free.wait(PATIENCE)

    answers.on[0], answers.on[2] = ack_first, leave
    callbacks = make(max_workers=2, ordered=True)
    put(callbacks, LEASE, *(received(n, "a") for n in (0, 2, 4)), received(5))
    answers.wait_for(0, 5)
    assert 2 not in answers.ids  # it was answered, and has not returned
    free.set()
    answers.wait_for(2)
    put(callbacks, LEASE, received(6))
    answers.wait_for(6)
    assert 4 not in answers.ids  # it has returned, and was not answered
    answers.get(2).ack()
    answers.wait_for(4)


@pytest.mark.parametrize(("ordered", "together"), [(True, [0, 2, 3, 4]), (False, [0, 1, 2, 3, 4])])
def test_different_keys_run_in_parallel(
    make: Made, answers: Answers, ordered: bool, together: list[int]
) -> None:
    # "Different keys run in parallel. Without `ordered` keys mean nothing."
    free = threading.Event()
    answers.otherwise = lambda message: free.wait(PATIENCE)
    callbacks = make(max_workers=5, ordered=ordered)
    put(callbacks, LEASE, *(received(n, key) for n, key in enumerate(["a", "a", "b", "", ""])))
    answers.wait_for(*together)
    assert sorted(answers.ids) == together
    free.set()


@pytest.mark.parametrize("when", ["in the callback", "by an error", "later"])
def test_a_nack_takes_the_later_messages_of_its_key_and_lease(
    make: Made, answers: Answers, when: str
) -> None:
    # "the later queued messages of that key from the same lease are not called: the store returns
    # them with it (they must leave memory and flow control)"
    def answer(message: PulledMessage) -> None:
        if when == "in the callback":
            message.nack()
        if when == "by an error":
            raise ValueError("no")

    answers.on[1] = answer
    loaded = threading.Event()
    answers.on[0] = lambda message: loaded.wait(PATIENCE) and answers.otherwise(message)
    callbacks = make(ordered=True)
    put(callbacks, LEASE, *(received(n, "b" if n == 3 else "a") for n in range(6)))
    put(callbacks, OTHER_LEASE, received(7, "a"))
    loaded.set()
    answers.wait_for(1, 3)
    if when == "later":
        answers.get(1).nack()
    answers.wait_for(7)
    put(callbacks, LEASE, received(8, "a"), received(9, "b"))
    answers.wait_for(9)
    eventually(lambda: callbacks.loaded() == (0, 0))
    assert sorted(answers.ids) == [0, 1, 3, 7, 9]
    assert exchange(callbacks) == {
        "acked": {LEASE: [0, 3, 9], OTHER_LEASE: [7]},
        "nacked": {LEASE: [1]},
    }


# Dropping


@pytest.mark.parametrize("key", ["", "a"])
def test_a_dropped_message_is_not_called_and_does_not_count(
    make: Made, answers: Answers, key: str
) -> None:
    # "a queued one is not called any more, it no longer counts for flow control"
    free = threading.Event()
    answers.on[0] = lambda message: free.wait(PATIENCE)
    callbacks = make(ordered=True)
    put(callbacks, LEASE, received(0), *(received(n, key) for n in (1, 2, 3)))
    answers.wait_for(0)
    callbacks.request(START)
    lost = AckRequest(deadlines={MINUTE: {LEASE: Positions.of([0, 1, 2, 99])}})
    callbacks.apply(lost, AckResponse(deadlines={MINUTE: Outcomes()}), START)
    assert callbacks.loaded() == (1, 5 + len(key))
    free.set()
    answers.wait_for(3)
    assert answers.ids == [0, 3]
    answers.called[0].ack()  # the store is asked all the same
    eventually(lambda: callbacks.loaded() == (0, 0))
    assert exchange(callbacks) == {"acked": {LEASE: [0, 3]}}


@pytest.mark.parametrize("returned", [False, True])
def test_a_dropped_message_lets_its_key_go_on(make: Made, answers: Answers, returned: bool) -> None:
    # one at a time per key, even then
    free = threading.Event()
    answers.on[0] = leave if returned else lambda message: free.wait(PATIENCE)
    callbacks = make(max_workers=2, ordered=True)
    put(callbacks, LEASE, *(received(n, "a") for n in range(3)))
    put(callbacks, OTHER_LEASE, received(3, "a"), received(4, "a"), received(5))
    answers.wait_for(0, 5)
    callbacks.drop_leased_for(SECOND, START + 2 * SECOND)
    if not returned:
        put(callbacks, OTHER_LEASE, received(6))
        answers.wait_for(6)
        assert 3 not in answers.ids
        free.set()
    answers.wait_for(3, 4)
    answers.get(0).nack()
    eventually(lambda: callbacks.loaded() == (0, 0))
    eventually(lambda: not callbacks._waiting)
    assert not {1, 2} & set(answers.ids)


def test_what_is_dropped_of_several_keys_is_called_of_none(make: Made, answers: Answers) -> None:
    """A queued message that is dropped is not called any more, of whichever key it is."""
    free = threading.Event()
    for n in (0, 1, 2):
        answers.on[n] = lambda message: free.wait(PATIENCE)
    callbacks = make(max_workers=3, ordered=True)
    put(callbacks, LEASE, *(received(n, "abc"[n % 3]) for n in range(6)))
    put(callbacks, OTHER_LEASE, *(received(n, "abc"[n % 3]) for n in range(6, 9)))
    answers.wait_for(0, 1, 2)
    callbacks.drop_leased_for(SECOND, START + 2 * SECOND)
    free.set()
    answers.wait_for(6, 7, 8)
    assert not {3, 4, 5} & set(answers.ids)
