"""What happens to a message between publishing and its acknowledgement (spec sections 4 and 11)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import (
    ack,
    at,
    available,
    available_span,
    backlog,
    committed,
    leased,
    modify,
    pull,
    state_of,
)

# Leases


def test_a_pull_leases_up_to_that_many_messages_until_the_deadline() -> None:
    # "leases up to that many available messages until now + ack deadline"
    state, span = delivery.lease(backlog(5), 3, at(7), timedelta(seconds=10))
    assert span is not None
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
    assert delivery.lease(state, 1, at(0), timedelta(seconds=10)) == (state, None)
    empty = AckState(after_version=3)
    assert delivery.lease(empty, None, at(0), timedelta(seconds=10)) == (empty, None)


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
    _, span = delivery.lease(state, 2, at(10), timedelta(seconds=10))
    assert span is not None
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
    assert delivery.expire_leases(state, at(9)) is state


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
    assert twice == once
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
        assert following == state


def test_a_position_that_never_was_is_invalid() -> None:
    state, lease_id = pull(backlog(2))
    for call in (ack, lambda state, named: modify(state, named, 30)):
        following, outcomes = call(state, {lease_id: [2, 10**15]})
        assert outcomes == {"invalid": {lease_id: {2, 10**15}}}
        assert following == state


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


# Retention


def test_what_is_older_than_the_retention_is_dropped() -> None:
    # "an unacked message disappears when it is older than … retention"
    state = state_of(committed([0], 0), committed([1], 5))
    assert available(delivery.discard_before(state, at(5))) == [1]


def test_an_age_equal_to_the_retention_is_still_kept() -> None:
    # "an age equal to the limit is still kept"
    state = state_of(committed([0], 5))
    assert delivery.discard_before(state, at(5)) is state
    assert delivery.straddling(state, at(5)) == []
    assert available(delivery.discard_before(state, at(5.000001))) == []


def test_a_leased_message_is_dropped_only_after_its_lease() -> None:
    state, lease_id = pull(backlog(1), deadline=10)
    assert leased(delivery.discard_before(state, at(5))) == {lease_id: [0]}
    state = delivery.expire_leases(state, at(10))
    assert delivery.discard_before(state, at(5)).count() == 0


@pytest.mark.parametrize(
    ("oldest", "straddles"), [(0, False), (0.1, True), (9, True), (9.1, False)]
)
def test_a_span_straddles_a_time_between_its_bounds(oldest: float, straddles: bool) -> None:
    span = available_span([0, 1], 0, 9)
    state = AckState(after_version=0).holding([span])
    assert delivery.straddling(state, at(oldest)) == ([span] if straddles else [])


def test_a_lease_never_straddles() -> None:
    state, _ = pull(state_of(committed([0, 1], 0, 9)))
    assert delivery.straddling(state, at(5)) == []


def test_clipping_takes_the_old_messages_out_of_the_straddling_spans() -> None:
    state = state_of(committed([0, 1, 2], 0, 9), committed([3], 20))
    clipped = delivery.clip(state, at(5), Positions.of([0, 2]), earliest=at(6))
    assert available(clipped) == [1, 3]
    assert [span.publish_time_min for span in clipped.spans] == [at(6), at(20)]
    assert delivery.straddling(clipped, at(5)) == []


def test_clipping_never_widens_the_times_of_a_span() -> None:
    state = state_of(committed([0, 1], 0, 9))
    (clipped,) = delivery.clip(state, at(5), Positions.of([0]), earliest=at(-5)).spans
    assert (clipped.publish_time_min, clipped.publish_time_max) == (at(0), at(9))


def test_clipping_leaves_leased_messages_and_other_spans_alone() -> None:
    # Positions that a lease holds may be named: they were published before, too.
    state, lease_id = pull(state_of(committed([0, 1, 2], 0, 9), committed([3], 20)), 1)
    clipped = delivery.clip(state, at(5), Positions.of([0, 1, 3]), earliest=at(6))
    assert leased(clipped) == {lease_id: [0]}
    assert available(clipped) == [2, 3]


def test_clipping_all_messages_leaves_nothing() -> None:
    state = state_of(committed([0, 1], 0, 9))
    assert delivery.clip(state, at(5), Positions.of([0, 1]), earliest=at(5)).spans == ()


def test_a_late_ack_of_a_dropped_message_changes_nothing() -> None:
    state, lease_id = pull(backlog(1))
    state = delivery.discard_before(delivery.expire_leases(state, at(10)), at(5))
    following, outcomes = ack(state, {lease_id: [0]}, now=11)
    assert outcomes == {"success": {lease_id: {0}}}
    assert following == state
