"""A new deadline counts, whichever server a client sends it to.

The server that delivered a message extends its lease and fails it at its deadline by itself. It
learns by its own requests that another process was given a new deadline for it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_requests import AckRequest, apply
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.server.assigner import Consumer
from tests.unit.builders import at, backlog, pull, terms
from tests.unit.test_server_leaser import Bench

NACK, TEN, MINUTE = timedelta(0), timedelta(seconds=10), timedelta(minutes=1)
FIRST = {1: Positions.of([0])}
ON = terms()


def move(state: AckState, now: float, seconds: int, position: int = 0) -> AckState:
    """Move the deadline of a message of the first lease, as another process does."""
    named, moved = {1: Positions.of([position])}, timedelta(seconds=seconds)
    return delivery.modify_ack_deadline(state, named, ON, at(now), moved)[0]


def ends(state: AckState) -> dict[int, float]:
    """Return the ends of leases in seconds, by position."""
    found: dict[int, float] = {}
    for span in state.in_state(State.LEASED):
        assert span.until is not None
        found |= dict.fromkeys(span.positions, (span.until - at(0)).total_seconds())
    return found


# In the ack state


def test_what_another_process_has_moved_is_not_failed() -> None:
    state, _ = pull(backlog(2))  # both until 10
    both = {1: Positions.of([0, 1])}
    request = AckRequest(deadlines={NACK: both}, known_ends={at(10): both})
    state, response = apply(move(state, 5, 20), request, ON, at(9))
    assert ends(state) == {0: 25}
    assert response.moved_ends == {at(25): FIRST}
    assert response.deadlines[NACK].success == both


def test_a_deadline_that_another_process_has_moved_and_that_has_passed_is_failed() -> None:
    state, _ = pull(backlog(1))
    request = AckRequest(deadlines={NACK: FIRST}, known_ends={at(10): FIRST})
    state, response = apply(move(state, 1, 5), request, ON, at(6))
    assert (ends(state), response.moved_ends) == ({}, {})


@pytest.mark.parametrize(("seconds", "end"), [(60, 65), (10, 19)])
def test_an_extension_does_not_shorten_what_another_process_has_moved(
    seconds: int, end: float
) -> None:
    state, _ = pull(backlog(1))
    request = AckRequest(deadlines={TEN: FIRST}, known_ends={at(10): FIRST})
    state, response = apply(move(state, 5, seconds), request, ON, at(9))
    assert ends(state) == {0: end}
    assert response.moved_ends == {at(5 + seconds): FIRST}


def test_what_a_client_asks_for_counts_whatever_end_the_lease_has() -> None:
    state, _ = pull(backlog(2))
    request = AckRequest(deadlines={NACK: FIRST, TEN: {1: Positions.of([1])}})
    state, response = apply(move(move(state, 5, 60), 5, 60, 1), request, ON, at(9))
    assert (ends(state), response.moved_ends) == ({1: 19}, {})


# At the server that delivered it


def bench_of(count: int) -> Bench:
    """Return a leaser whose consumer was sent messages, each until 10 and leased until 12."""
    bench = Bench(consumer=Consumer(max_messages=count))
    bench.lease(count)
    for each in bench.leaser.outstanding.leases[1].read.values():
        each.was_sent()
    return bench


def test_a_delivery_fails_at_the_deadline_that_another_server_was_given() -> None:
    bench = bench_of(2)
    bench.state = move(bench.state, 8, 30)
    failed = []
    for bench.seconds in range(9, 45):
        bench.leaser.expire(at(bench.seconds))
        failed += [bench.seconds] * bench.exchange()
    assert failed == [10, 38]
    assert bench.unacked == [0, 1, 2, 3]
    assert bench.leaser.is_empty


def test_its_client_has_it_until_then() -> None:
    bench = bench_of(1)
    bench.state = move(bench.state, 8, 30)
    bench.seconds = 10
    bench.leaser.expire(at(10))
    assert bench.consumer.messages == 1, "it has not failed yet"
    bench.exchange()
    assert bench.consumer.messages == 1
    bench.leaser.acknowledge([bench.ack_id(1, 0)])
    bench.exchange()
    assert bench.consumer.messages == 0
    assert bench.unacked == [1, 2, 3]


def test_a_later_deadline_that_it_was_given_itself_counts_still() -> None:
    bench = bench_of(1)
    bench.modify([bench.ack_id(1, 0)], 60)
    bench.state = move(bench.state, 1, 20)
    for bench.seconds in range(2, 60):
        assert not bench.leaser.expire(at(bench.seconds))
        assert not bench.exchange()
    assert bench.leased == [0]
    bench.seconds = 60
    bench.leaser.expire(at(60))
    assert bench.exchange() == 1


def test_what_has_expired_is_acknowledged_as_the_store_says() -> None:
    bench = bench_of(1)
    bench.seconds = 10
    bench.leaser.expire(at(10))
    bench.leaser.acknowledge([bench.ack_id(1, 0)])
    bench.exchange()
    assert bench.unacked == [1, 2, 3]
    assert bench.consumer.messages == 0


def test_what_has_expired_and_is_lost_is_not_asked_about() -> None:
    bench = bench_of(1)
    (sent,) = bench.leaser.outstanding.leases[1].read.values()
    bench.leaser.expire(at(10))
    bench.leaser.outstanding.lose(1, Positions.of([sent.position]))
    assert not bench.leaser.has_request


def test_a_seek_takes_from_its_client_what_has_expired_too() -> None:
    bench = bench_of(2)
    bench.leaser.expire(at(10))
    bench.leaser.forget()
    assert (bench.consumer.messages, bench.consumer.bytes) == (0, 0)
    assert bench.leaser.is_empty


def test_what_nobody_was_sent_has_no_other_deadline() -> None:
    bench = Bench(consumer=Consumer(max_messages=1))
    bench.lease(1)
    assert bench.leaser.expire(at(10)) == 1
    assert bench.consumer.messages == 0, "another message may wait in its place"


def test_at_its_end_a_server_leaves_what_another_one_has_moved() -> None:
    bench = bench_of(3)
    bench.state = move(bench.state, 5, 60)
    bench.seconds = 6
    bench.leaser.end_leases()
    bench.exchange()
    assert ends(bench.state) == {0: 65, 1: 10, 2: 10}
    assert bench.leaser.is_empty


Step = tuple[Literal["passes", "refused", "lost"], int] | tuple[Literal["moves"], int, int]
STEPS = st.one_of(
    st.tuples(st.sampled_from(["passes", "passes", "refused", "lost"]), st.integers(1, 12)),
    st.tuples(st.just("moves"), st.integers(0, 2), st.sampled_from([5, 10, 30])),
)


@given(steps=st.lists(STEPS, max_size=25))
def test_no_message_fails_before_a_deadline_that_any_process_was_given(steps: list[Step]) -> None:
    bench = bench_of(3)
    promised: dict[int, float] = {}
    for step in steps:
        if step[0] == "moves":
            now = bench.seconds + 0.25  # so no end is one that the server has given it
            bench.state = delivery.settle(bench.state, bench.on, at(now))
            if step[1] in ends(bench.state):
                bench.state = move(bench.state, now, step[2], step[1])
                promised[step[1]] = now + step[2]
            continue
        bench.seconds += step[1]
        bench.leaser.expire(at(bench.seconds))
        if step[0] == "passes":
            bench.exchange()
        elif step[0] == "lost":
            request = bench.leaser.request(at(bench.seconds))
            bench.state, _ = apply(bench.state, request, bench.on, at(bench.seconds))
        settled = delivery.settle(bench.state, bench.on, at(bench.seconds))
        assert {n for n, end in promised.items() if end > bench.seconds} <= ends(settled).keys()
