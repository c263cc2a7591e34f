"""What is too old to be kept (spec section 8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pubsub_delta.policy import delivery, retention
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import holding
from tests.unit.builders import (
    ack,
    at,
    available,
    available_span,
    backlog,
    committed,
    leased,
    pull,
    state_of,
    terms,
)


def test_what_is_older_than_the_retention_is_dropped() -> None:
    # "an unacked message disappears when it is older than … retention"
    state = state_of(committed([0], 0), committed([1], 5))
    assert available(retention.discard_before(state, at(5))) == [1]


def test_an_age_equal_to_the_retention_is_still_kept() -> None:
    # "an age equal to the limit is still kept"
    state = state_of(committed([0], 5))
    assert retention.discard_before(state, at(5)) is state
    assert retention.straddling(state, at(5)) == []
    assert available(retention.discard_before(state, at(5.000001))) == []


def test_a_leased_message_is_dropped_only_after_its_lease() -> None:
    state, lease_id = pull(backlog(1), deadline=10)
    assert leased(retention.discard_before(state, at(5))) == {lease_id: [0]}
    state = delivery.settle(state, terms(), at(10))
    assert retention.discard_before(state, at(5)).count() == 0


@pytest.mark.parametrize(
    ("oldest", "straddles"), [(0, False), (0.1, True), (9, True), (9.1, False)]
)
def test_a_span_straddles_a_time_between_its_bounds(oldest: float, straddles: bool) -> None:
    span = available_span([0, 1], 0, 9)
    state = holding(AckState(after_version=0), [span])
    assert retention.straddling(state, at(oldest)) == ([span] if straddles else [])


def test_a_lease_never_straddles() -> None:
    state, _ = pull(state_of(committed([0, 1], 0, 9)))
    assert retention.straddling(state, at(5)) == []


def test_clipping_takes_the_old_messages_out_of_the_straddling_spans() -> None:
    state = state_of(committed([0, 1, 2], 0, 9), committed([3], 20))
    clipped = retention.clip(state, at(5), Positions.of([0, 2]), earliest=at(6))
    assert available(clipped) == [1, 3]
    assert [span.publish_time_min for span in clipped.spans] == [at(6), at(20)]
    assert retention.straddling(clipped, at(5)) == []


def test_clipping_never_widens_the_times_of_a_span() -> None:
    state = state_of(committed([0, 1], 0, 9))
    (clipped,) = retention.clip(state, at(5), Positions.of([0]), earliest=at(-5)).spans
    assert (clipped.publish_time_min, clipped.publish_time_max) == (at(0), at(9))


def test_clipping_leaves_leased_messages_and_other_spans_alone() -> None:
    # Positions that a lease holds may be named: they were published before, too.
    state, lease_id = pull(state_of(committed([0, 1, 2], 0, 9), committed([3], 20)), 1)
    clipped = retention.clip(state, at(5), Positions.of([0, 1, 3]), earliest=at(6))
    assert leased(clipped) == {lease_id: [0]}
    assert available(clipped) == [2, 3]


def test_clipping_all_messages_leaves_nothing() -> None:
    state = state_of(committed([0, 1], 0, 9))
    assert retention.clip(state, at(5), Positions.of([0, 1]), earliest=at(5)).spans == ()


def test_a_late_ack_of_a_dropped_message_changes_nothing() -> None:
    state, lease_id = pull(backlog(1))
    state = retention.discard_before(delivery.settle(state, terms(), at(10)), at(5))
    following, outcomes = ack(state, {lease_id: [0]}, now=11)
    assert outcomes == {"success": {lease_id: {0}}}
    assert following.spans == state.spans


@pytest.mark.parametrize(("state", "goes"), [(State.BACKING_OFF, True), (State.FORWARDING, False)])
def test_a_waiting_message_may_go_but_not_one_that_is_being_forwarded(
    state: State, goes: bool
) -> None:
    span = replace(available_span([0]), state=state, lease_id=1, until=at(100))
    kept = retention.discard_before(holding(AckState(after_version=0), [span]), at(5))
    assert kept.count() == (0 if goes else 1)
