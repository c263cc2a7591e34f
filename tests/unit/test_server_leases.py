"""How long messages are leased: shortly while they wait, until deadlines once clients have them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_requests import apply
from pubsub_delta.policy.ack_state import State
from pubsub_delta.server.ack_failures import INVALID_ACK_ID
from pubsub_delta.server.ack_futures import AckFuture
from pubsub_delta.server.assigner import Consumer
from pubsub_delta.server.lease_lengths import LEASE
from tests.unit.builders import at
from tests.unit.test_server_leaser import Bench


def test_what_consumers_have_is_leased_until_their_deadlines_and_what_waits_is_not() -> None:
    # "with the duplicates that the contract allows and no more": whoever has a message keeps it
    # until its deadline, though the server is gone; what nobody was given is available soon
    bench = Bench(consumer=Consumer(max_messages=2))
    lease = bench.lease(4)
    bench.modify([bench.ack_id(lease, 0)], 600)
    bench.modify([bench.ack_id(lease, 1)], 45)
    bench.seconds = 5
    bench.exchange()
    until = {n: s.until for s in bench.state.in_state(State.LEASED) for n in s.positions}
    assert until == {0: at(605), 1: at(45), 2: at(5) + LEASE, 3: at(5) + LEASE}
    bench.seconds = 10
    bench.exchange()
    until = {n: s.until for s in bench.state.in_state(State.LEASED) for n in s.positions}
    assert until[1] == at(50), "the next step of ten seconds"
    assert until[3] == at(10) + LEASE


def test_a_lease_of_which_clients_have_everything_is_not_extended_before_their_deadlines() -> None:
    bench = Bench()
    lease = bench.lease(2)
    bench.modify([bench.ack_id(lease, n) for n in range(2)], 300)
    bench.seconds = 5
    bench.exchange()
    assert bench.leaser.outstanding.leases[lease].until == at(305)
    for seconds in range(6, 297, 10):
        assert not bench.leaser.extension_due(at(seconds))
    bench.modify([bench.ack_id(lease, 0)], 600)
    assert bench.leaser.extension_due(at(298))


def test_deadlines_of_many_consumers_are_few_spans() -> None:
    bench = Bench(count=3_000, consumer=Consumer(max_messages=3_000))
    lease = bench.lease(3_000)
    for n in range(3_000):
        bench.modify([bench.ack_id(lease, n)], 20 + n % 580)
    bench.seconds = 5
    bench.exchange()
    assert len(bench.state.in_state(State.LEASED)) <= 61


def test_what_waits_is_let_go_when_its_lease_is_over() -> None:
    # a process that was stopped: others may have it by now
    bench = Bench(consumer=Consumer(max_messages=1))
    lease = bench.lease(3)
    bench.modify([bench.ack_id(lease, 0)], 60)
    assert bench.leaser.give_back_overdue(at(11.9)) == 0
    bench.seconds = 12
    assert bench.leaser.give_back_overdue(at(12)) == 2
    assert not bench.leaser.assigner.waiting
    assert bench.consumer.messages == 1, "who has one may still answer"


@pytest.mark.parametrize(
    ("turn", "length"), [(0.1, 12), (1.5, 12), (2, 16), (10, 80), (60, 90), (9_999, 90)]
)
def test_leases_are_longer_where_commits_are_slow(turn: float, length: float) -> None:
    # "the server's leases of messages that its clients hold must be extended in time under load"
    bench = Bench()
    bench.leaser.request_took(timedelta(seconds=turn))
    assert bench.leaser.length == timedelta(seconds=length)
    for _ in range(200):
        bench.leaser.request_took(timedelta(seconds=0.1))
    assert bench.leaser.length == LEASE
    assert Bench(exactly_once=True).leaser.length == timedelta(seconds=90)


def test_leases_stay_long_for_a_while_after_a_slow_commit() -> None:
    """A lease must outlast several requests as slow as the slowest one of late."""
    bench = Bench()
    for seconds in (4, 0.1, 0.1):
        bench.leaser.request_took(timedelta(seconds=seconds))
    assert bench.leaser.length > timedelta(seconds=4 * 7)


def test_a_message_that_is_given_back_takes_the_later_ones_of_its_key_with_it() -> None:
    """The store returns them together; delivered from here, they would overtake it."""
    bench = Bench(count=5, keys="abaab", consumer=Consumer(max_messages=3))
    lease = bench.lease(5)
    bench.leaser.give_back([bench.ack_id(lease, 0)])
    assert [each.position for each in bench.leaser.assigner.waiting] == [4]
    assert bench.consumer.messages == 1
    bench.exchange()
    assert bench.leased == [1, 4]


@pytest.mark.parametrize("is_ack", [True, False])
@pytest.mark.parametrize("has_sought", [False, True])
def test_what_is_said_again_while_it_is_written_has_the_same_outcome(
    is_ack: bool, has_sought: bool
) -> None:
    """ "They repeat it, and get the same success again, unless somebody has sought since": also who
    repeats it because its call had ended before the commit did."""
    bench = Bench(exactly_once=True)
    lease = bench.lease(1)
    ack_ids = [bench.ack_id(lease, 0)]

    def say() -> AckFuture:
        return bench.leaser.acknowledge(ack_ids) if is_ack else bench.modify(ack_ids, 0)

    first = say()
    under_way = bench.leaser.request(at(0))
    settled = delivery.settle(bench.state, bench.on, at(0))
    bench.state, response = apply(settled, under_way, bench.on, at(0))
    again = say()
    bench.leaser.apply(under_way, response, at(0))
    assert (first.done, first.failures) == (True, {})
    if has_sought:
        bench.seek()
    bench.exchange()
    assert again.done
    assert again.failures == ({ack_ids[0]: INVALID_ACK_ID} if has_sought else {})


@pytest.mark.parametrize(("first", "then"), [(0, None), (0, 60), (None, 0), (None, 60)])
def test_the_success_of_an_ack_or_a_nack_is_not_that_of_something_else(
    first: int | None, then: int | None
) -> None:
    """ "With exactly-once everything but a live, latest lease is `invalid` and changes nothing"."""
    bench = Bench(exactly_once=True)
    ack_ids = [bench.ack_id(bench.lease(1), 0)]
    for seconds, failures in ((first, {}), (then, {ack_ids[0]: INVALID_ACK_ID})):
        said = (
            bench.leaser.acknowledge(ack_ids) if seconds is None else bench.modify(ack_ids, seconds)
        )
        bench.exchange()
        assert said.failures == failures


def test_a_new_deadline_of_a_delivery_that_is_being_nacked_fails() -> None:
    """A nack ends the lease: what is said of it afterwards is invalid with exactly-once."""
    bench = Bench(1, exactly_once=True)
    ack_id = bench.ack_id(bench.lease(1), 0)
    nacked = bench.modify([ack_id], 0)
    moved = bench.modify([ack_id], 60)
    assert moved.done
    assert list(moved.failures) == [ack_id]
    bench.exchange()
    assert nacked.done
    assert not nacked.failures
    assert bench.leased == []


@pytest.mark.parametrize("exactly_once", [True, False])
def test_without_consumers_leases_are_as_long_as_they_are_for_nobody(exactly_once: bool) -> None:
    """The last consumer has left: no deadline of one is to be outlasted any more."""
    bench = Bench(exactly_once=exactly_once)
    usual = bench.leaser.length
    bench.leaser.cover([Consumer(ack_deadline_seconds=20), Consumer(ack_deadline_seconds=600)])
    assert (bench.leaser.length > usual) is exactly_once
    bench.leaser.cover([])
    assert bench.leaser.length == usual
