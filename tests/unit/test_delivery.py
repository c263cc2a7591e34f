"""What happens to a message between publishing and its acknowledgement (spec sections 4 and 11)."""

from __future__ import annotations

import pytest

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, Counters, State
from pubsub_delta.resources import RetryPolicy
from tests.unit.builders import (
    ack,
    at,
    available,
    backlog,
    committed,
    leased,
    modify,
    nack,
    pull,
    state_of,
    terms,
)

# Leases


def test_a_pull_leases_up_to_that_many_messages_until_the_deadline() -> None:
    # "leases up to that many available messages until now + ack deadline"
    state, (span,) = delivery.lease(backlog(5), 3, terms(), at(7))
    assert (span.state, list(span.positions), span.until) == (State.LEASED, [0, 1, 2], at(17))
    assert (available(state), leased(state)) == ([3, 4], {1: [0, 1, 2]})


@pytest.mark.parametrize(("limit", "taken"), [(1, 1), (5, 5), (6, 5), (None, 5)])
def test_fewer_may_come_and_none_means_all(limit: int | None, taken: int) -> None:
    # "`None` means all that is available. Fewer may come"
    state, lease_id = pull(backlog(5), limit)
    assert leased(state) == {lease_id: list(range(taken))}


def test_a_pull_of_nothing_changes_nothing() -> None:
    # "none is legal, not an error"
    state, _ = pull(backlog(2))
    assert delivery.lease(state, 1, terms(), at(0)) == (state, [])
    empty = AckState(after_version=3)
    assert delivery.lease(empty, None, terms(), at(0)) == (empty, [])


def test_a_leased_message_is_not_delivered_again() -> None:
    # "While leased a message is not delivered again."
    state, first = pull(backlog(3), 2)
    state, second = pull(state, now=9.999)
    assert leased(state, now=9.999) == {first: [0, 1], second: [2]}
    assert available(state, now=9.999) == []


def test_every_delivery_has_a_number_of_its_own() -> None:
    # "Every delivery has a fresh ack_id"
    state, first = pull(backlog(1))
    state, second = pull(state, now=10)
    state, third = pull(state, now=20)
    assert len({first, second, third}) == 3


def test_the_oldest_positions_come_first_whatever_span_they_stand_in() -> None:
    state = state_of(committed([4, 9], 0), committed([2, 5], 1))
    state, lease_id = pull(state, 3)
    assert leased(state) == {lease_id: [2, 4, 5]}
    assert available(state) == [9]


def test_a_lease_spans_the_publish_times_of_what_it_took() -> None:
    state = state_of(committed([0], 0), committed([1], 3), committed([2], 9))
    _, (span,) = delivery.lease(state, 2, terms(), at(10))
    assert (span.publish_time_min, span.publish_time_max) == (at(0), at(3))


def test_a_passed_deadline_is_a_failed_delivery() -> None:
    # "Deadline passed = failed delivery. Redelivery is decided lazily, at the next pull"
    state, _ = pull(backlog(2), deadline=10)
    assert available(state, now=9.999999) == []
    assert available(state, now=10) == [0, 1]
    assert leased(state, now=10) == {}


def test_only_the_leases_that_are_over_expire() -> None:
    state, _ = pull(backlog(3), 1, now=0)
    state, later = pull(state, 1, now=5)
    assert available(state, now=10) == [0, 2]
    assert leased(state, now=10) == {later: [1]}


def test_nothing_expires_without_a_change() -> None:
    state, _ = pull(backlog(3), 1)
    assert delivery.settle(state, terms(), at(9)) is state


# Acknowledge: each row of "ack outcomes"


def test_a_live_lease_acks_with_success() -> None:
    # "live lease → success"
    state, lease_id = pull(backlog(3))
    state, outcomes = ack(state, {lease_id: [0, 2]}, now=9.999)
    assert outcomes == {"success": {lease_id: {0, 2}}}
    assert leased(state, now=9.999) == {lease_id: [1]}
    assert available(state, now=99) == [1]


def test_an_ack_is_idempotent() -> None:
    # "acknowledge(ack_ids): idempotent without exactly-once"
    state, lease_id = pull(backlog(2))
    once, _ = ack(state, {lease_id: [0]})
    twice, outcomes = ack(once, {lease_id: [0]})
    assert twice.spans == once.spans
    assert outcomes == {"success": {lease_id: {0}}}


def test_a_late_ack_of_an_acked_message_is_a_success() -> None:
    # "Lease over and the message already acked → success"
    state, lease_id = pull(backlog(2))
    state, _ = ack(state, {lease_id: [0]}, now=1)
    state, outcomes = ack(state, {lease_id: [0]}, now=50)
    assert outcomes == {"success": {lease_id: {0}}}
    assert available(state, now=50) == [1]


def test_a_late_ack_of_an_unacked_message_is_expired_and_acks_it() -> None:
    # "Lease over and the message unacked → expired; it is acked by this"
    state, lease_id = pull(backlog(2))
    state, outcomes = ack(state, {lease_id: [0]}, now=10)
    assert outcomes == {"expired": {lease_id: {0}}}
    assert (available(state, now=10), leased(state, now=10)) == ([1], {})
    # and from now on it is acked
    assert ack(state, {lease_id: [0]}, now=11)[1] == {"success": {lease_id: {0}}}


def test_a_late_ack_does_not_take_a_message_from_another_lease() -> None:
    # "unless it is under another lease"
    state, old = pull(backlog(1))
    state, new = pull(state, now=10)
    state, outcomes = ack(state, {old: [0]}, now=12)
    assert outcomes == {"expired": {old: {0}}}
    assert leased(state, now=12) == {new: [0]}
    assert ack(state, {new: [0]}, now=12)[1] == {"success": {new: {0}}}


def test_an_ack_after_ones_own_nack_is_expired_and_acks_the_message() -> None:
    # "it is acked by this … (also after its own nack)"
    state, lease_id = pull(backlog(1))
    state, _ = modify(state, {lease_id: [0]}, 0)
    state, outcomes = ack(state, {lease_id: [0]}, now=1)
    assert outcomes == {"expired": {lease_id: {0}}}
    assert state.count() == 0


def test_an_ack_after_ones_own_nack_leaves_another_lease_alone() -> None:
    state, old = pull(backlog(1))
    state, _ = modify(state, {old: [0]}, 0)
    state, new = pull(state, now=1)
    state, outcomes = ack(state, {old: [0]}, now=2)
    assert outcomes == {"expired": {old: {0}}}
    assert leased(state, now=2) == {new: [0]}


def test_one_call_reports_each_id_by_its_own_outcome() -> None:
    # "the outcome of each id is reported (success, expired, invalid)"
    state, first = pull(backlog(3), 2, deadline=5)
    state, second = pull(state, 1, deadline=60)
    state, third = pull(state, 1, now=5)  # message 0 again
    named = {first: [0, 1], second: [2], third: [0, 77], 99: [1]}
    state, outcomes = ack(state, named, now=6)
    assert outcomes == {
        "success": {second: {2}, third: {0}},
        "expired": {first: {0, 1}},
        "invalid": {third: {77}, 99: {1}},
    }
    assert state.count() == 0


def test_two_late_acks_of_one_message_in_a_call_ack_it_once() -> None:
    state, first = pull(backlog(1))
    state, second = pull(state, now=10)
    state, outcomes = ack(state, {first: [0], second: [0]}, now=20)
    assert outcomes == {"expired": {first: {0}}, "success": {second: {0}}}
    assert state.count() == 0


@pytest.mark.parametrize("lease_id", [0, -1, 2, 10**17])
def test_a_lease_that_never_was_is_invalid(lease_id: int) -> None:
    state, _ = pull(backlog(2))
    for call in (ack, lambda state, named: modify(state, named, 30)):
        following, outcomes = call(state, {lease_id: [0, 1]})
        assert outcomes == {"invalid": {lease_id: {0, 1}}}
        assert following.spans == state.spans


def test_a_position_that_never_was_is_invalid() -> None:
    state, lease_id = pull(backlog(2))
    for call in (ack, lambda state, named: modify(state, named, 30)):
        following, outcomes = call(state, {lease_id: [2, 10**15]})
        assert outcomes == {"invalid": {lease_id: {2, 10**15}}}
        assert following.spans == state.spans


def test_every_id_is_invalid_where_nothing_was_ever_delivered() -> None:
    empty = AckState(after_version=0)
    assert ack(empty, {1: [0]})[1] == {"invalid": {1: {0}}}
    assert modify(empty, {1: [0]}, 0)[1] == {"invalid": {1: {0}}}


def test_naming_nothing_does_nothing() -> None:
    state, _ = pull(backlog(2))
    assert ack(state, {}) == (state, {})
    assert modify(state, {}, 0) == (state, {})


# Modify the ack deadline


def test_nack_makes_messages_available_at_once() -> None:
    # "0 = nack (available at once …)"
    state, lease_id = pull(backlog(3))
    state, outcomes = modify(state, {lease_id: [1]}, 0, now=1)
    assert outcomes == {"success": {lease_id: {1}}}
    assert available(state, now=0) == [1]  # its lease is over, not only its time
    assert leased(state, now=1) == {lease_id: [0, 2]}


def test_a_nack_of_several_messages_is_a_success_for_each() -> None:
    state, lease_id = pull(backlog(3))
    state, outcomes = modify(state, {lease_id: [0, 1, 2]}, 0)
    assert outcomes == {"success": {lease_id: {0, 1, 2}}}
    assert available(state) == [0, 1, 2]


@pytest.mark.parametrize("seconds", [1, 600])
def test_a_new_deadline_counts_from_now(seconds: int) -> None:
    # "1–600 = new deadline from now"
    state, lease_id = pull(backlog(2))
    state, outcomes = modify(state, {lease_id: [0, 1]}, seconds, now=4)
    assert outcomes == {"success": {lease_id: {0, 1}}}
    assert leased(state, now=4 + seconds - 0.001) == {lease_id: [0, 1]}
    assert available(state, now=4 + seconds) == [0, 1]


def test_a_deadline_is_moved_for_the_named_messages_only() -> None:
    state, lease_id = pull(backlog(3), deadline=10)
    state, _ = modify(state, {lease_id: [1]}, 60)
    assert available(state, now=10) == [0, 2]
    assert leased(state, now=10) == {lease_id: [1]}
    assert ack(state, {lease_id: [0, 1]}, now=10)[1] == {
        "success": {lease_id: {1}},
        "expired": {lease_id: {0}},
    }


@pytest.mark.parametrize("seconds", [0, 30])
def test_modifying_a_lease_that_is_over_is_expired_without_effect(seconds: int) -> None:
    # "modify_ack_deadline after the lease is over | expired, no effect"
    state, lease_id = pull(backlog(1))
    state, outcomes = modify(state, {lease_id: [0]}, seconds, now=10)
    assert outcomes == {"expired": {lease_id: {0}}}
    assert (available(state, now=10), leased(state, now=10)) == ([0], {})


@pytest.mark.parametrize("seconds", [0, 30])
def test_modifying_an_old_lease_leaves_another_alone(seconds: int) -> None:
    state, old = pull(backlog(1))
    state, new = pull(state, now=10)
    state, outcomes = modify(state, {old: [0]}, seconds, now=11)
    assert outcomes == {"expired": {old: {0}}}
    assert leased(state, now=11) == {new: [0]}
    assert available(state, now=20) == [0]  # at its own deadline, not a moved one


@pytest.mark.parametrize("seconds", [0, 30])
def test_modifying_an_acked_message_does_not_bring_it_back(seconds: int) -> None:
    state, lease_id = pull(backlog(1))
    state, _ = ack(state, {lease_id: [0]})
    state, outcomes = modify(state, {lease_id: [0]}, seconds)
    assert outcomes == {"expired": {lease_id: {0}}}
    assert state.count() == 0


def test_a_second_nack_is_expired() -> None:
    state, lease_id = pull(backlog(1))
    state, _ = modify(state, {lease_id: [0]}, 0)
    state, outcomes = modify(state, {lease_id: [0]}, 0)
    assert outcomes == {"expired": {lease_id: {0}}}
    assert available(state) == [0]


# The tail


def test_what_was_committed_becomes_available_once() -> None:
    state = state_of(committed([0, 1], 0))
    state = delivery.absorb(state, [committed([2, 5], 3)], version=9)
    assert available(state) == [0, 1, 2, 5]
    assert (state.after_version, state.absorbed_below) == (9, 6)


def test_commits_without_messages_move_the_tail_only() -> None:
    state = delivery.absorb(backlog(2), [committed([])], version=9)
    assert (available(state), state.after_version, state.absorbed_below) == ([0, 1], 9, 2)


def test_what_comes_later_leaves_leases_alone() -> None:
    state, lease_id = pull(backlog(2))
    state = delivery.absorb(state, [committed([2], 1)], version=2)
    assert (leased(state), available(state)) == ({lease_id: [0, 1]}, [2])


def test_positions_may_be_absorbed_out_of_order() -> None:
    state = state_of(committed([5], 1), committed([0], 2))
    assert (available(state), state.absorbed_below) == ([0, 5], 6)


@pytest.mark.parametrize("order", [(), {0: "a", 1: "a", 2: "a"}], ids=["plain", "ordered"])
def test_what_the_state_holds_is_not_taken_in_again(order: dict[int, str]) -> None:
    # "everything that is stored counts as added": where the topic's log was cut
    on = terms(order or None, retry_policy=RetryPolicy("10s", "20s"))
    state, lease_id = pull(backlog(4), 3, on=on)
    state = nack(state, {lease_id: [2]}, on=on)
    state, _ = ack(state, {lease_id: [0]}, on=on)
    held = {n for span in state.spans for n in span.positions}
    again = delivery.absorb(state, [committed(range(6))], version=9)
    assert {n for span in again.spans for n in span.positions} == {0, 1, 2, 3, 4, 5}
    assert sum(map(len, again.spans)) == 6, "a message in two spans"
    for before in state.spans:
        assert [n for n in before.positions if n not in again.positions(before.state)] == []
    assert set(again.positions(State.AVAILABLE)) - set(state.positions(State.AVAILABLE)) == (
        set(range(6)) - held
    )


def test_what_is_retained_is_taken_in_again() -> None:
    # a seek to a time: "everything that the topic's own retention covers" comes back
    on = terms(retain_acked_messages=True)
    state, lease_id = pull(backlog(2), on=on)
    state, _ = ack(state, {lease_id: [0, 1]}, on=on)
    state = delivery.absorb(state, [committed([1])], version=9)
    assert available(state, on=on) == [1]
    assert list(state.positions(State.RETAINED)) == [0]


# Counters


def test_acks_are_counted_by_outcome() -> None:
    # "the outcome of each id is … counted in the metric acknowledge message operations"
    state, lease_id = pull(backlog(3))
    state, _ = ack(state, {lease_id: [0, 1, 99]}, now=1)
    state, _ = ack(state, {lease_id: [0]}, now=2)
    state, _ = ack(state, {lease_id: [2]}, now=10)
    assert state.counters == Counters(success=3, expired=1, invalid=1)


def test_ids_that_name_nothing_are_counted_as_invalid() -> None:
    state, _ = delivery.acknowledge(backlog(1), {}, terms(), at(0), malformed=4)
    assert state.counters == Counters(invalid=4)


def test_moving_deadlines_counts_no_ack() -> None:
    state, lease_id = pull(backlog(2))
    state, _ = modify(state, {lease_id: [0, 99]}, 30)
    assert nack(state, {lease_id: [1]}).counters == Counters()
