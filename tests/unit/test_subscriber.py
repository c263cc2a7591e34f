"""What an asynchronous pull asks for, holds and says (spec section 4, client side)."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from pubsub_delta.callbacks import PulledMessage
from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.policy.ack_state import Seek, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.replay import note_seek
from pubsub_delta.resources import RetryPolicy
from tests.unit.builders import at
from tests.unit.pulling import Exchange, Start, Store, Work, a_moment, eventually, leave, pulls

start = pytest.fixture(pulls)


# Turns


def test_every_message_is_called_and_acknowledged(start: Start) -> None:
    store, work = Store([1] * 200), Work()
    pull = start(store, work, max_messages=30)
    eventually(lambda: not store.unacked)
    assert sorted(work.ack_ids) == sorted(set(work.ack_ids))
    assert (pull.cancel(), store.state.counters.success, len(work.called)) == (0, 200, 200)


def test_one_commit_says_and_leases(start: Start) -> None:
    # "ONE commit: says acks/deadlines/given back, and leases up to max_messages more"
    store = Store([1] * 3)
    start(store, Work(), max_messages=1)
    eventually(lambda: not store.unacked)
    both = [each.leased for each in store.exchanges if each.request.acknowledged and each.leased]
    assert both == [[1], [2]]


def test_new_messages_are_noticed(start: Start) -> None:
    # "An exchange with nothing to say still asks for messages if there is room"
    store, work = Store([1]), Work()
    start(store, work)
    eventually(lambda: not store.unacked)
    store.pass_requests()
    assert store.exchanges[-1] == Exchange(AckRequest(), 10_000, [])
    store.sizes.append(1)
    store.publish(1)
    eventually(lambda: "2.1" in work.ack_ids)


def test_with_neither_words_nor_room_there_is_no_exchange(start: Start) -> None:
    # "While there is neither something to say nor room, no exchange."
    store, work = Store([1] * 2), Work(waits_at=0)
    start(store, work, max_messages=1)
    eventually(lambda: work.called)
    a_moment()
    assert len(store.exchanges) == 1


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[threading.Timer]:
    """The pauses, which end when they are told to."""
    made: list[threading.Timer] = []

    class Timer(threading.Timer):
        def start(self) -> None:
            made.append(self)

    monkeypatch.setattr("pubsub_delta.subscriber.threading.Timer", Timer)
    return made


def test_there_is_one_exchange_per_interval(start: Start, timers: list[threading.Timer]) -> None:
    # "at most one exchange per `interval`"
    store, work = Store([1] * 10), Work()
    start(store, work, interval=7.0)
    eventually(lambda: len(work.called) == 10)
    a_moment()
    assert (len(store.exchanges), [timer.interval for timer in timers]) == (1, [7.0])
    timers[0].function()
    eventually(lambda: not store.unacked)
    a_moment()
    assert len(store.exchanges) == 2


def test_a_slow_exchange_is_not_followed_by_a_pause(
    start: Start, timers: list[threading.Timer]
) -> None:
    # "a slow exchange is not followed by a pause"
    store = Store([1])
    store.during = lambda: timers[0].function() if len(timers) == 1 else None
    start(store, Work())
    eventually(lambda: len(store.exchanges) == 2)
    a_moment()
    assert (len(store.exchanges), len(timers)) == (2, 2)


# Flow control


def test_max_messages_bounds_what_is_leased_and_not_answered(start: Start) -> None:
    # "bounds messages leased and not yet answered for (ack or nack called, or dropped)"
    store, work = Store([1] * 60), Work(leave)
    start(store, work, max_messages=4)
    eventually(lambda: len(work.called) == 4)
    work.called[2].nack()
    eventually(lambda: len(work.called) == 5)
    work.called[0].ack()
    eventually(lambda: len(work.called) == 6)
    a_moment()
    assert [each.leased for each in store.exchanges if each.leased] == [[0, 1, 2, 3], [4], [5]]
    assert store.state.count(State.LEASED) == 4


def test_max_bytes_bounds_what_is_loaded(start: Start) -> None:
    # "leased but not loaded for want of bytes stay leased (extended) and are received later as
    # room appears, in order"
    store, work = Store([40] * 6), Work(leave)
    start(store, work, max_bytes=100)
    eventually(lambda: len(work.called) == 2)
    store.clock.advance(5.1)
    eventually(lambda: any(each.extended for each in store.exchanges))
    assert [each.extended for each in store.exchanges if each.extended] == [{10: [*range(6)]}]
    work.called[1].ack()
    eventually(lambda: len(work.called) == 3)
    work.called[0].ack()
    eventually(lambda: len(work.called) == 4)
    assert work.ack_ids == ["1.0", "1.1", "1.2", "1.3"]


def test_a_larger_message_comes_alone(start: Start) -> None:
    # "a single larger message still comes when nothing else is loaded"
    store, work = Store([10, 500, 10]), Work(leave)
    start(store, work, max_bytes=100)
    store.pass_requests(9)
    assert (work.ack_ids, store.receives) == (["1.0"], [[0], [1]])  # not read again and again
    work.called[0].ack()
    eventually(lambda: len(work.called) == 2)
    store.pass_requests()
    assert work.ack_ids == ["1.0", "1.1"]
    work.called[1].ack()
    eventually(lambda: work.ack_ids == ["1.0", "1.1", "1.2"])


def test_a_small_message_needs_no_more_room_than_its_own_size(start: Start) -> None:
    store, work = Store([50, 60, 30, 20]), Work(leave)
    start(store, work, max_bytes=100)
    eventually(lambda: work.called and [1] in store.receives)  # it is too large, and let go of
    work.called[0].ack()
    eventually(lambda: len(work.called) == 3)
    work.called[work.ack_ids.index("1.2")].ack()
    eventually(lambda: "1.3" in work.ack_ids)


def test_what_cannot_be_read_any_more_is_let_go(start: Start) -> None:
    store = Store([1] * 5, unreadable=Positions.of([0, 2, 4]))
    start(store, Work(), max_messages=5)
    eventually(lambda: store.unacked == [0, 2, 4])
    eventually(lambda: store.exchanges[-1].asked == 5)
    assert len(store.receives) <= 2


# Extension


def test_leases_are_extended_when_less_than_half_of_the_time_remains(start: Start) -> None:
    # "any lease's messages still outstanding (loaded or not) are extended in the same exchange
    # when less than half of the extension time remains"
    store, work = Store([1] * 4), Work(leave)
    start(store, work)
    eventually(lambda: len(work.called) == 4)
    work.called[1].ack()
    store.clock.advance(5)
    store.pass_requests()
    assert not any(each.extended for each in store.exchanges)
    store.clock.advance(0.1)
    work.called[2].ack()
    store.pass_requests(3)
    (extending,) = (each for each in store.exchanges if each.extended)
    assert extending.extended in ({10: [0, 3]}, {10: [0, 2, 3]})
    (span,) = store.state.in_state(State.LEASED)
    assert (list(span.positions), span.until) == ([0, 3], at(15.1))


@pytest.mark.parametrize(
    ("deadline", "half", "extension"), [(1, 0, 10), (45, 22.6, 45), (700, 400.1, 600)]
)
def test_the_extension_is_the_time_of_the_lease(
    start: Start, deadline: int, half: float, extension: int
) -> None:
    # "extension time = lease.until − channel.now() at the time of the pull (clamped to 10..600
    # whole seconds)"
    store, work = Store([1], fields={"ack_deadline_seconds": deadline}), Work(leave)
    start(store, work)
    eventually(lambda: work.called)
    store.clock.advance(half)
    eventually(lambda: {extension: [0]} in [each.extended for each in store.exchanges])


def test_a_lease_may_be_extended_for_longer_than_there_are_times(start: Start) -> None:
    store, work = Store([1] * 2), Work(waits_at=0)
    pull = start(store, work, max_workers=1, max_lease_duration=timedelta.max)
    eventually(lambda: work.called)
    store.pass_requests()
    assert pull.running()
    work.go_on.set()
    eventually(lambda: not store.unacked)


def test_after_max_lease_duration_messages_are_dropped(start: Start) -> None:
    # "a message is no longer extended and is dropped: a queued one is not called any more, it no
    # longer counts for flow control (Pub/Sub redelivers it)"
    store, work = Store([1] * 2), Work(waits_at=0)
    start(store, work, max_messages=2, max_workers=1, max_lease_duration=12)
    eventually(lambda: work.called)
    store.clock.advance(6)
    eventually(lambda: len(store.exchanges) == 2)
    assert (store.exchanges[1].extended, store.exchanges[1].asked) == ({10: [0, 1]}, 0)
    store.clock.advance(6)
    store.pass_requests()
    assert store.exchanges[-1] == Exchange(AckRequest(), 2, [])
    store.clock.advance(4)
    eventually(lambda: store.exchanges[-1].leased == [0, 1])
    work.go_on.set()
    eventually(lambda: not store.unacked)
    eventually(lambda: len(work.called) == 3)
    assert work.ack_ids == ["1.0", "2.0", "2.1"]
    late = [
        list(each.request.acknowledged[1])
        for each in store.exchanges
        if 1 in each.request.acknowledged
    ]
    assert late == [[0]]


def test_what_the_store_no_longer_holds_is_dropped(start: Start) -> None:
    store, work = Store([1] * 2), Work(waits_at=0)
    start(store, work, max_messages=2, max_workers=1)
    eventually(lambda: work.called)
    store.clock.advance(11)
    eventually(lambda: store.exchanges[-1].leased == [0, 1] and len(store.exchanges) > 1)
    work.go_on.set()
    eventually(lambda: not store.unacked)
    assert work.ack_ids == ["1.0", "2.0", "2.1"]
    assert store.state.counters.expired == 1


def test_what_was_settled_elsewhere_is_not_called(start: Start) -> None:
    # Another consumer may acknowledge with the ack ids of this one.
    store, work = Store([40] * 5), Work(waits_at=0)
    start(store, work, max_workers=1, max_messages=5, max_bytes=80)
    eventually(lambda: work.called)
    elsewhere = {1: Positions.of([1, 3])}
    store.state, _ = delivery.acknowledge(store.state, elsewhere, store.on, at(0))
    store.clock.advance(6)
    eventually(lambda: [2] in store.receives)  # as there is room for two again
    assert store.exchanges[1].extended == {10: [0, 1, 2, 3, 4]}
    work.go_on.set()
    eventually(lambda: not store.unacked)
    assert work.ack_ids == ["1.0", "1.2", "1.4"]


def test_what_was_leased_before_a_seek_is_not_called(start: Start) -> None:
    # "Every seek: voids all leases made before it", also one of another process
    store, work = Store([1] * 3), Work(waits_at=0)
    start(store, work, max_workers=1, max_messages=5)
    eventually(lambda: work.called)
    sought = note_seek(store.state, Seek(at=at(0), at_version=1, time=at(0)), store.on)
    store.state = replace(sought, seeks=())
    eventually(lambda: sum(map(len, (each.leased for each in store.exchanges))) == 6)
    work.go_on.set()
    eventually(lambda: not store.unacked)
    assert work.ack_ids[0] == "1.0"
    assert not [each for each in work.ack_ids[1:] if each.startswith("1.")]


# Words


@pytest.mark.parametrize(
    ("exactly_once", "late", "outcome"),
    [(False, 0, "success"), (False, 11, "expired"), (True, 11, "invalid")],
)
def test_the_outcome_comes_after_the_commit(
    start: Start, exactly_once: bool, late: float, outcome: str
) -> None:
    # "a concurrent.futures.Future resolved after the commit that carried it with the outcome of
    # the spec: the text "success", "expired" or "invalid""
    store = Store([1] * 3, fields={"enable_exactly_once_delivery": exactly_once})
    work, go_on = Work(leave), threading.Event()
    start(store, work, max_messages=3)
    eventually(lambda: len(work.called) == 3)
    store.clock.advance(late)
    store.during = lambda: go_on.wait(10)
    a, b, c = sorted(work.called, key=lambda message: message.message_id)
    responses = [
        a.ack_with_response(),
        b.nack_with_response(),
        c.modify_ack_deadline_with_response(20),
    ]
    a_moment()
    assert not any(response.done() for response in responses)
    go_on.set()
    assert [response.result(10) for response in responses] == [outcome] * 3


def test_a_turn_says_the_last_word_about_a_message(
    start: Start, timers: list[threading.Timer]
) -> None:
    # A later word replaces an earlier one: apply() acknowledges first, then moves the deadlines.
    store, work = Store([1] * 4), Work(leave)
    start(store, work)
    eventually(lambda: len(work.called) == 4)
    a, b, c, d = sorted(work.called, key=lambda message: message.message_id)
    responses = [each.modify_ack_deadline_with_response(20) for each in (a, b, c, d)]
    store.clock.advance(6)
    a.ack()
    b.nack()
    c.modify_ack_deadline(30)
    timers[0].function()
    assert [response.result(10) for response in responses] == ["success"] * 4
    said = store.exchanges[1]
    assert said.extended == {0: [1], 20: [3], 30: [2]}  # instead of the automatic extension
    assert {lease: list(held) for lease, held in said.request.acknowledged.items()} == {1: [0]}
    assert said.leased == [1]


def test_new_deadlines_are_said_with_those_of_the_extension(
    start: Start, timers: list[threading.Timer]
) -> None:
    store, work = Store([1] * 4), Work(leave)
    start(store, work)
    eventually(lambda: len(work.called) == 4)
    store.clock.advance(6)
    for message in work.called:
        if message.message_id == "2":
            message.modify_ack_deadline(10)
    timers[0].function()
    eventually(lambda: len(store.exchanges) == 2)
    assert store.exchanges[1].extended == {10: [0, 1, 2, 3]}


# Ordering


def test_a_failed_message_comes_again_with_the_later_ones_of_its_key(start: Start) -> None:
    # "after a nack (explicit or by an error) the later queued messages of that key from the same
    # lease are not called: the store returns them with it"
    store = Store([40] * 8, keys="abababab")
    failures = iter([True])

    def fail_once(message: PulledMessage) -> None:
        if message.message_id == "2" and next(failures, False):
            raise ValueError("no")
        message.ack()

    work = Work(fail_once)
    start(store, work, max_bytes=170)
    eventually(lambda: not store.unacked)
    of_a = [each.ack_id for each in work.called if each.ordering_key == "a"]
    of_b = [each.ack_id for each in work.called if each.ordering_key == "b"]
    assert of_a == ["1.0", "1.2", "2.2", "2.4", "2.6"]
    assert of_b == ["1.1", "1.3", "1.5", "1.7"]


def test_what_goes_back_with_a_failed_message_does_not_count_any_more(start: Start) -> None:
    # "they must leave memory and flow control"
    store = Store([1] * 4, keys="aaab", fields={"retry_policy": RetryPolicy("60s")})
    work = Work(lambda message: message.nack())
    pull = start(store, work, max_messages=3)
    eventually(lambda: sorted(work.ack_ids) == ["1.0", "2.3"])
    eventually(lambda: store.state.count(State.LEASED) == 0)
    store.pass_requests()
    assert (store.exchanges[-1].asked, pull._callbacks.loaded()) == (3, (0, 0))
