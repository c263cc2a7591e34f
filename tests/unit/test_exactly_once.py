"""Exactly-once delivery: only a live, latest lease can do anything (spec sections 5 and 11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import pytest

from pubsub_delta.policy.ack_state import AckState, Counters, State
from pubsub_delta.policy.redelivery import decide_forwarding, forwarded
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import ack, available, backlog, leased, modify, nack, pull, take, terms

Named = Mapping[int, Iterable[int]]
Shown = dict[str, dict[int, set[int]]]
Call = Callable[[AckState, Named, float], tuple[AckState, Shown]]

ONCE = terms(enable_exactly_once_delivery=True)
NOT_ONCE = terms()


def acking(state: AckState, named: Named, now: float) -> tuple[AckState, Shown]:
    return ack(state, named, now, ONCE)


def moving(
    state: AckState, named: Named, now: float, deadline: float = 60
) -> tuple[AckState, Shown]:
    return modify(state, named, deadline, now, ONCE)


# "fails in acknowledge and modify_ack_deadline"
EVERY_CALL = pytest.mark.parametrize(
    "call", [acking, moving, partial(moving, deadline=0)], ids=["acknowledge", "modify", "nack"]
)


def refused(call: Call, state: AckState, named: Named, now: float) -> bool:
    """Tell whether every id of a call is invalid, and the call changes nothing."""
    settled = take(state, 0, now, on=ONCE)[0]  # what time brings, it brings anyway
    following, outcomes = call(state, named, now)
    invalid = {lease_id: set(positions) for lease_id, positions in named.items()}
    return outcomes == {"invalid": invalid} and following.spans == settled.spans


# What succeeds


def test_a_live_lease_acks_with_success() -> None:
    # "live lease → success"
    state, lease_id = pull(backlog(3), on=ONCE)
    state, outcomes = ack(state, {lease_id: [0, 2]}, 9.999999, ONCE)
    assert outcomes == {"success": {lease_id: {0, 2}}}
    assert leased(state, 9.999999, ONCE) == {lease_id: [1]}


def test_a_live_lease_can_be_moved_and_given_back() -> None:
    state, lease_id = pull(backlog(2), on=ONCE)
    state, outcomes = modify(state, {lease_id: [0, 1]}, 60, 9, ONCE)
    assert outcomes == {"success": {lease_id: {0, 1}}}
    assert leased(state, 68.999999, ONCE) == {lease_id: [0, 1]}
    state, outcomes = modify(state, {lease_id: [1]}, 0, 60, ONCE)
    assert outcomes == {"success": {lease_id: {1}}}
    assert available(state, 60, ONCE) == [1]


def test_nothing_is_redelivered_while_its_lease_is_live() -> None:
    # "No redelivery while a lease is live"
    state, lease_id = pull(backlog(2), on=ONCE)
    assert take(state, now=9.999999, on=ONCE)[1] == []
    state, _ = modify(state, {lease_id: [0]}, 600, 9, ONCE)
    assert available(state, 608.999999, ONCE) == [1]
    assert available(state, 609, ONCE) == [0, 1]


def test_nothing_is_redelivered_after_a_successful_ack() -> None:
    # "none after a successful ack"
    state, first = pull(backlog(2), on=ONCE)
    state = nack(state, {first: [0, 1]}, 1, ONCE)
    state, second = pull(state, now=2, on=ONCE)
    state, _ = ack(state, {second: [0]}, 3, ONCE)
    state, _ = modify(state, {first: [0], second: [0]}, 0, 4, ONCE)
    assert state.count() == 1
    assert available(state, 10**6, ONCE) == [1]


# What fails


@EVERY_CALL
def test_an_expired_id_is_invalid(call: Call) -> None:
    # "A stale, expired or unknown id fails in acknowledge and modify_ack_deadline"
    state, lease_id = pull(backlog(2), on=ONCE)
    assert refused(call, state, {lease_id: [0, 1]}, 10)
    assert available(call(state, {lease_id: [0, 1]}, 10)[0], 10, ONCE) == [0, 1]


@EVERY_CALL
def test_an_id_that_was_nacked_is_invalid(call: Call) -> None:
    state, lease_id = pull(backlog(1), on=ONCE)
    state = nack(state, {lease_id: [0]}, 1, ONCE)
    assert refused(call, state, {lease_id: [0]}, 1)


@EVERY_CALL
def test_an_id_whose_message_is_leased_again_is_invalid(call: Call) -> None:
    # "only the latest ack_id of a message is valid"
    state, first = pull(backlog(1), on=ONCE)
    state, second = pull(state, now=10, on=ONCE)
    state, third = pull(state, now=20, on=ONCE)
    assert refused(call, state, {first: [0], second: [0]}, 21)
    assert leased(call(state, {first: [0]}, 21)[0], 29.999999, ONCE) == {third: [0]}
    assert call(state, {third: [0]}, 21)[1] == {"success": {third: {0}}}


@EVERY_CALL
def test_an_id_that_was_acked_is_invalid(call: Call) -> None:
    # "A repeated ack of an already successful id is reported invalid"
    state, lease_id = pull(backlog(2), on=ONCE)
    state, _ = ack(state, {lease_id: [0]}, 1, ONCE)
    assert refused(call, state, {lease_id: [0]}, 1)
    assert refused(call, state, {lease_id: [0]}, 100)


@EVERY_CALL
@pytest.mark.parametrize("lease_id", [0, -1, 2, 10**17])
def test_a_lease_that_never_was_is_invalid(call: Call, lease_id: int) -> None:
    # "unknown id"
    state, _ = pull(backlog(2), on=ONCE)
    assert refused(call, state, {lease_id: [0, 1]}, 1)


@EVERY_CALL
def test_a_message_that_a_lease_does_not_hold_is_invalid(call: Call) -> None:
    state, first = pull(backlog(3), 1, on=ONCE)
    state, second = pull(state, 1, on=ONCE)
    assert refused(call, state, {first: [1, 2, 77], second: [0]}, 1)
    assert leased(call(state, {first: [1], second: [0]}, 1)[0], 1, ONCE) == {
        first: [0],
        second: [1],
    }


@EVERY_CALL
def test_the_good_ids_of_a_call_succeed(call: Call) -> None:
    # "per id: the good ids of the same call succeed"
    state, first = pull(backlog(3), 2, deadline=5, on=ONCE)
    state, second = pull(state, 1, deadline=60, on=ONCE)
    state, third = pull(state, 1, now=5, on=ONCE)  # message 0 again
    state, outcomes = call(state, {first: [0, 1], second: [2], third: [0, 9], 99: [1]}, 6)
    assert outcomes == {
        "success": {second: {2}, third: {0}},
        "invalid": {first: {0, 1}, third: {9}, 99: {1}},
    }
    assert 1 in available(state, 6, ONCE)


def test_an_ack_during_the_backoff_is_invalid() -> None:
    on = terms(enable_exactly_once_delivery=True, retry_policy=RetryPolicy(10))
    state, lease_id = pull(backlog(1), on=on)
    state = nack(state, {lease_id: [0]}, 0, on)
    state, outcomes = ack(state, {lease_id: [0]}, 5, on)
    assert outcomes == {"invalid": {lease_id: {0}}}
    assert (available(state, 9.999999, on), available(state, 10, on)) == ([], [0])


def test_an_ack_of_a_dead_letter_is_invalid() -> None:
    dead = DeadLetterPolicy("dead", 5)
    on = terms(enable_exactly_once_delivery=True, dead_letter_policy=dead)
    state = backlog(1)
    for _ in range(5):
        state, lease_id = pull(state, on=on)
        state = nack(state, {lease_id: [0]}, on=on)
    decided = decide_forwarding(state, on.subscription, "d" * 32)
    for stage in (state, decided, forwarded(decided, lease_id + 1)):
        following, outcomes = ack(stage, {lease_id: [0]}, on=on)
        assert (outcomes, following.spans) == ({"invalid": {lease_id: {0}}}, stage.spans)


def test_failed_acks_are_counted_as_invalid() -> None:
    # "counted in the metric acknowledge message operations by response_code"
    state, lease_id = pull(backlog(3), on=ONCE)
    state, _ = ack(state, {lease_id: [0, 99]}, 1, ONCE)
    state, _ = ack(state, {lease_id: [0]}, 2, ONCE)
    state, _ = ack(state, {lease_id: [1, 2]}, 10, ONCE)
    assert state.counters == Counters(success=1, invalid=4)


# Switching it on and off: "enable_exactly_once_delivery | false | updatable"


def test_switched_on_it_holds_for_deliveries_made_before() -> None:
    state, first = pull(backlog(2), 1, deadline=5, on=NOT_ONCE)
    state, second = pull(state, 1, deadline=60, on=NOT_ONCE)
    state, outcomes = ack(state, {first: [0], second: [1]}, 6, ONCE)
    assert outcomes == {"success": {second: {1}}, "invalid": {first: {0}}}
    assert available(state, 6, ONCE) == [0]


def test_switched_off_a_late_ack_counts_again() -> None:
    state, lease_id = pull(backlog(1), on=ONCE)
    state, outcomes = ack(state, {lease_id: [0]}, 10, ONCE)
    assert outcomes == {"invalid": {lease_id: {0}}}
    state, outcomes = ack(state, {lease_id: [0]}, 11, NOT_ONCE)
    assert (outcomes, state.count()) == ({"expired": {lease_id: {0}}}, 0)


def test_switched_off_a_repeated_ack_is_a_success() -> None:
    state, lease_id = pull(backlog(1), on=ONCE)
    state, _ = ack(state, {lease_id: [0]}, 1, ONCE)
    assert ack(state, {lease_id: [0]}, 2, NOT_ONCE)[1] == {"success": {lease_id: {0}}}


def test_an_ack_is_final_even_where_messages_are_ordered() -> None:
    # "Later messages already acked return too, except with exactly-once, where a successful ack
    # is final."
    on = terms({0: "a", 1: "a", 2: "a"}, enable_exactly_once_delivery=True)
    state, lease_id = pull(backlog(3), on=on)
    state, _ = ack(state, {lease_id: [1]}, 1, on)
    assert state.count(State.ACKED) == 0
    state = nack(state, {lease_id: [0]}, 2, on)
    assert available(state, 2, on) == [0, 2]
    # and the lease of the later message is over with it
    assert ack(state, {lease_id: [2]}, 2, on)[1] == {"invalid": {lease_id: {2}}}


def test_an_ack_stays_final_when_switched_off_before_an_earlier_message_fails() -> None:
    keys = {0: "a", 1: "a"}
    once = terms(keys, enable_exactly_once_delivery=True)
    state, lease_id = pull(backlog(2), on=once)
    state, _ = ack(state, {lease_id: [1]}, 1, once)
    state = nack(state, {lease_id: [0]}, 2, terms(keys))
    assert available(state, 2, terms(keys)) == [0]


def test_turned_on_between_an_ack_and_a_failure_it_makes_the_ack_final() -> None:
    # "Later messages already acked return too, except with exactly-once"
    keys = {0: "a", 1: "a"}
    off, on = terms(keys), terms(keys, enable_exactly_once_delivery=True)
    state, lease_id = pull(backlog(2), on=off)
    state, _ = ack(state, {lease_id: [1]}, 1, off)
    assert available(nack(state, {lease_id: [0]}, 2, on), 2, on) == [0]
    assert available(nack(state, {lease_id: [0]}, 2, off), 2, off) == [0, 1]
