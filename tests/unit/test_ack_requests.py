"""Turns: all that a consumer has to say in one go (spec sections 4 to 6 and 11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from pubsub_delta.policy import ack_requests, delivery
from pubsub_delta.policy.ack_state import AckState, Seek
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.replay import note_seek
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import at, available, backlog, leased, nack, pull, shown, take, terms
from tests.unit.test_streams import NOT_ONCE, ONCE, ORDERED, attempts

Named = Mapping[int, Iterable[int]]
NONE: Named = {}
STRICT = terms(retry_policy=RetryPolicy(100, 600), dead_letter_policy=DeadLetterPolicy("dead", 5))


def apply(
    state: AckState,
    now: float = 0,
    on: delivery.Terms = NOT_ONCE,
    acked: Named = NONE,
    back: Named = NONE,
    **deadlines: Named,
) -> tuple[AckState, list[dict[str, dict[int, set[int]]]]]:
    """Let a turn happen, with deadlines by their seconds: ``s30``; return the outcomes in order."""
    extended = {timedelta(seconds=int(s[1:])): positions(each) for s, each in deadlines.items()}
    turn = ack_requests.AckRequest(positions(acked), extended, positions(back))
    state, answer = ack_requests.apply(state, turn, on, at(now))
    assert answer.deadlines.keys() == turn.deadlines.keys()
    return state, [shown(answer.acknowledged), *map(shown, answer.deadlines.values())]


def positions(named: Named) -> dict[int, Positions]:
    return {lease_id: Positions.of(each) for lease_id, each in named.items()}


# All in one change


def test_a_turn_acknowledges_extends_nacks_and_gives_back() -> None:
    state, _ = pull(backlog(5))
    state, outcomes = apply(state, 5, acked={1: [0]}, s30={1: [1]}, s0={1: [2]}, back={1: [3]})
    assert outcomes == [{"success": {1: {each}}} for each in (0, 1, 2)]
    assert available(state, 5) == [2, 3]
    assert (available(state, 34.999999), available(state, 35)) == ([2, 3, 4], [1, 2, 3, 4])


@pytest.mark.parametrize(("on", "over"), [(NOT_ONCE, "expired"), (ONCE, "invalid")])
def test_acknowledgements_come_first_and_giving_back_last(on: delivery.Terms, over: str) -> None:
    state, _ = pull(backlog(3), on=on)
    state, outcomes = apply(state, 1, on, {1: [0]}, {1: [0, 1, 2]}, s0={1: [0, 1]}, s30={1: [2]})
    nacked = {"success": {1: {1}}, over: {1: {0}}}
    assert outcomes == [{"success": {1: {0}}}, nacked, {"success": {1: {2}}}]
    assert (available(state, 1, on), available(state, 99, on)) == ([1, 2], [1, 2])


def test_a_nack_in_the_same_turn_is_a_failure_though_it_is_given_back_too() -> None:
    state, _ = pull(backlog(2), on=STRICT)
    state, _ = apply(state, 1, STRICT, back={1: [0, 1]}, s0={1: [0]})
    assert attempts(state, STRICT, 1) == {0: 2, 1: 1}
    assert (available(state, 1, STRICT), available(state, 101, STRICT)) == ([1], [0, 1])


def test_every_id_has_the_outcome_that_it_would_have_alone() -> None:
    # "live lease → success. Lease over and the message already acked → success. Lease over and the
    # message unacked → expired; it is acked by this, unless it is under another lease"
    state, _ = pull(backlog(4), 2)
    state, _ = pull(nack(state, {1: [0]}))
    state, _ = apply(state, acked={1: [1]}, back={2: [2, 3]})
    state, _ = take(state, 1, now=0, deadline=3)
    everything: Named = {1: [0, 1], 2: [0], 3: [2, 99], 9: [3]}
    following, outcomes = apply(state, 5, acked=everything)
    assert outcomes == [
        {
            "success": {1: {1}, 2: {0}},
            "expired": {1: {0}, 3: {2}},
            "invalid": {3: {99}, 9: {3}},
        }
    ]
    assert available(following, 99) == [3]
    counters = following.counters
    assert (counters.success, counters.expired, counters.invalid) == (3, 2, 2)
    # "modify_ack_deadline after the lease is over | expired, no effect"
    following, outcomes = apply(state, 5, s60=everything)
    late = {"success": {2: {0}}, "expired": {1: {0, 1}, 3: {2}}, "invalid": {3: {99}, 9: {3}}}
    assert outcomes == [{}, late]
    assert (available(following, 64.999999), available(following, 65)) == ([2, 3], [0, 2, 3])


@pytest.mark.parametrize("on", [NOT_ONCE, ONCE])
def test_a_turn_without_words_changes_nothing(on: delivery.Terms) -> None:
    state, _ = pull(backlog(2), on=on)
    assert apply(state, 5, on) == (state, [{}])
    assert apply(state, 5, on, {1: []}, {1: []}) == (state, [{}])


# Giving back


def test_what_is_given_back_is_available_at_once_and_did_not_fail() -> None:
    # "no failed attempt is counted, no backoff, whatever the retry and dead-letter policies"
    state, _ = pull(backlog(1), on=STRICT)
    state = nack(state, {1: [0]}, 0, STRICT)
    for lease_id in range(2, 10):
        state, _ = take(state, now=100, on=STRICT)
        state, _ = apply(state, 101, STRICT, back={lease_id: [0]})
        assert available(state, 101, STRICT) == [0]
    assert attempts(state, STRICT, 101) == {0: 2}
    state, last = pull(state, now=102, on=STRICT)
    state = nack(state, {last: [0]}, 102, STRICT)  # the second failure in a row, not the tenth
    assert (available(state, 301.999999, STRICT), available(state, 302, STRICT)) == ([], [0])


@pytest.mark.parametrize("on", [NOT_ONCE, ONCE, STRICT])
def test_giving_back_what_is_not_held_has_no_effect(on: delivery.Terms) -> None:
    # "ids whose lease is over are unaffected"
    state, _ = pull(backlog(4), 2, on=on)
    state, _ = take(state, 1, deadline=60, on=on)  # lease 2 holds message 2
    state = nack(state, {1: [1]}, 9, on)
    settled = delivery.settle(state, on, at(10))
    following, _ = apply(state, 10, on, back={1: [0, 1, 2, 99], 2: [3, 0], 7: [3], 0: [3]})
    assert following == settled


def test_followers_return_with_what_is_given_back_in_order() -> None:
    # "later messages of the same key in the same lease return with it, in order"
    on = replace(ORDERED, subscription=replace(ORDERED.subscription, retry_policy=RetryPolicy(9)))
    state, _ = pull(backlog(4), on=on)
    state, _ = apply(state, 1, on, back={1: [1]})
    assert available(state, 1, on) == [1, 3]
    assert take(state, now=1, on=on)[1] == []  # of a key that is still out in its batch
    state, _ = apply(state, 1, on, {1: [0]})
    assert [list(span.positions) for span in take(state, now=1, on=on)[1]] == [[1, 3]]
    assert [list(span.positions) for span in take(state, 1, now=1, on=on)[1]] == [[1]]


# Repeated acknowledgements


def test_an_acknowledgement_holds_until_a_seek_or_a_restore() -> None:
    # "an ack id from before a seek never changes anything afterwards"
    state, _ = pull(backlog(2), on=ONCE)
    restored = state
    state, _ = apply(state, 1, ONCE, {1: [0]})
    assert holding(state, {1: [0, 1]}) == {1: {0}}
    assert holding(restored, {1: [0]}) == {1: set()}
    sought = note_seek(state, Seek(at(2), 1, time=at(0)), ONCE)
    assert holding(sought, {1: [0]}) == {}
    later, second = pull(sought, now=3, on=ONCE)
    later, _ = apply(later, 3, ONCE, {second: [1]})
    assert holding(later, {1: [0], second: [1]}) == {second: {1}}


def holding(state: AckState, named: Named) -> dict[int, set[int]]:
    """Return which acknowledgements hold; nothing is changed, and it is told what is void."""
    following, answer = ack_requests.apply(
        state, ack_requests.AckRequest(repeated=positions(named)), ONCE, at(3)
    )
    assert following == state
    assert answer.first_lease_id == state.first_lease_id
    return {lease_id: set(each) for lease_id, each in answer.still_acknowledged.items()}


@pytest.mark.parametrize("on", [NOT_ONCE, ONCE])
def test_of_a_call_that_fails_in_part_nothing_is_acknowledged_with_exactly_once_delivery(
    on: delivery.Terms,
) -> None:
    """ "With exactly-once delivery none of a call is written where one fails." """
    state, _ = pull(backlog(5), on=on)
    request = ack_requests.AckRequest(
        acknowledged=positions({1: [0, 1, 2, 3], 2: [9]}),
        together=(positions({1: [0], 2: [9]}), positions({1: [1, 2]}), positions({2: [9]})),
    )
    following, response = ack_requests.apply(state, request, on, at(1))
    postponed = {lease_id: set(each) for lease_id, each in response.postponed.items() if each}
    acknowledged = {1, 2, 3} if on is ONCE else {0, 1, 2, 3}
    assert postponed == ({1: {0}} if on is ONCE else {})
    assert shown(response.acknowledged) == {"success": {1: acknowledged}, "invalid": {2: {9}}}
    assert leased(following, 1, on) == {1: sorted({0, 1, 2, 3, 4} - acknowledged)}
    assert following.counters.success == len(acknowledged)
