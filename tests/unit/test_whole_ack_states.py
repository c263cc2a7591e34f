"""Whole ack states after one step: every field of every span, and nothing else changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.policy import delivery, redelivery, table_writes
from pubsub_delta.policy.ack_state import AckState, Counters, Span, State, Stream
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import with_spans
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import at, available_span, terms

TABLE, LETTERS = "lake.orders", "a" * 32


def span(state: State, *positions: int, **fields: object) -> Span:
    """Return a span of messages that were published at 0."""
    return replace(available_span(positions), state=state, **fields)  # type: ignore[arg-type]


AVAILABLE = span(State.AVAILABLE, 0, 1)
FAILED = span(State.AVAILABLE, 2, failures=3, delivery_attempt=4, failed_lease_id=2)
LEASED = span(State.LEASED, 3, 4, 5, lease_id=5, until=at(10), delivery_attempt=2, failures=1)
OTHER = span(State.LEASED, 6, lease_id=6, until=at(12))
WAITING = span(
    State.BACKING_OFF, 7, until=at(20), failures=2, delivery_attempt=3, failed_lease_id=1
)
FORWARDING = span(State.FORWARDING, 8, lease_id=7, delivery_attempt=6, forward_to=LETTERS)
WRITING = span(State.WRITING, 9, lease_id=8, forward_to=TABLE, delivery_attempt=2)
RETAINED = span(State.RETAINED, 10, 11)
WHOLE = AckState(
    after_version=4,
    absorbed_below=12,
    next_lease_id=9,
    spans=(AVAILABLE, FAILED, LEASED, OTHER, WAITING, FORWARDING, WRITING, RETAINED),
    counters=Counters(10, 20, 30, 40),
    first_lease_id=3,
    active_time=at(-5),
    streams=(Stream("query", 7, 5, Positions.of([3, 4])),),
)
POLICIES: dict[str, Any] = {
    "dead_letter_policy": DeadLetterPolicy("letters", 5),
    "retry_policy": RetryPolicy("10s", "60s"),
}


def changed(without: tuple[Span, ...], *added: Span, **fields: object) -> AckState:
    """Return WHOLE with some of its spans exchanged for others."""
    kept = [each for each in WHOLE.spans if each not in without]
    return replace(with_spans(WHOLE, [*kept, *added]), **fields)  # type: ignore[arg-type]


def streaming(*positions: int) -> tuple[Stream, ...]:
    return (replace(WHOLE.streams[0], positions=Positions.of(positions)),)


def test_the_state_of_these_tests_is_tidy() -> None:
    assert with_spans(WHOLE, reversed(WHOLE.spans)) == WHOLE
    assert delivery.settle(WHOLE, terms(**POLICIES), at(9)) == WHOLE


# Writes to a table


def test_a_write_takes_the_next_number_and_only_what_its_lease_holds() -> None:
    decided = table_writes.decide(WHOLE, 5, Positions.of([0, 3, 5, 6, 7]), TABLE)
    moved = replace(
        LEASED,
        state=State.WRITING,
        positions=Positions.of([3, 5]),
        lease_id=9,
        until=None,
        forward_to=TABLE,
    )
    left = replace(LEASED, positions=Positions.of([4]))
    assert decided == changed((LEASED,), left, moved, next_lease_id=10)
    assert table_writes.writes(decided) == {8: [WRITING], 9: [moved]}


@pytest.mark.parametrize(("lease_id", "fitting"), [(5, [0, 6, 7]), (4, [3]), (5, [])])
def test_nothing_is_decided_for_messages_that_a_lease_does_not_hold(
    lease_id: int, fitting: list[int]
) -> None:
    assert table_writes.decide(WHOLE, lease_id, Positions.of(fitting), TABLE) == WHOLE


@pytest.mark.parametrize("retain", [False, True])
def test_a_write_that_landed_is_acknowledged_and_counted(retain: bool) -> None:
    """ack_message_count: "the cumulative count of messages acknowledged"."""
    retained = [span(State.RETAINED, 9)] if retain else []
    expected = changed((WRITING,), *retained, counters=Counters(11, 20, 30, 40))
    assert table_writes.written(WHOLE, 8, retain=retain) == expected
    assert table_writes.written(expected, 8, retain=retain) == expected  # once only
    assert table_writes.written(WHOLE, 7, retain=retain) == WHOLE  # of a forwarding


def test_a_cancelled_write_gives_its_messages_back_with_their_attempts() -> None:
    released = span(State.AVAILABLE, 9, delivery_attempt=2)
    assert table_writes.given_back(WHOLE, 8) == changed((WRITING,), released)
    assert table_writes.given_back(WHOLE, 7) == WHOLE


@pytest.mark.parametrize(("next_lease_id", "higher"), [(9, 8 + (1 << 32)), (1 << 40, 1 << 40)])
def test_a_write_gets_a_number_that_nothing_had(next_lease_id: int, higher: int) -> None:
    state = replace(WHOLE, next_lease_id=next_lease_id)
    expected = changed((WRITING,), replace(WRITING, lease_id=higher), next_lease_id=higher + 1)
    assert table_writes.renumbered(state, 8) == expected


# Forwarding


@pytest.mark.parametrize("retain", [False, True])
def test_a_forwarding_that_was_written_is_acknowledged_and_counted(retain: bool) -> None:
    retained = [span(State.RETAINED, 8)] if retain else []
    expected = changed((FORWARDING,), *retained, counters=Counters(10, 20, 30, 41))
    assert redelivery.forwarded(WHOLE, 7, retain=retain) == expected
    assert redelivery.forwarded(expected, 7, retain=retain) == expected
    assert redelivery.forwarded(WHOLE, 8, retain=retain) == WHOLE  # of a write


def test_a_forwarding_to_a_deleted_topic_gives_its_messages_back_exhausted() -> None:
    released = span(State.AVAILABLE, 8, delivery_attempt=6)
    back = redelivery.give_back(WHOLE, 7)
    assert back == changed((FORWARDING,), released)
    subscription = terms(**POLICIES).subscription
    assert redelivery.exhausted(back, subscription) == [released]
    decided = redelivery.decide_forwarding(back, subscription, LETTERS)
    again = replace(FORWARDING, lease_id=9)
    assert decided == changed((FORWARDING,), again, next_lease_id=10)
    assert redelivery.decide_forwarding(decided, subscription, LETTERS) == decided


# Leases


def test_a_lease_takes_what_is_available_and_nothing_else() -> None:
    """Messages that failed come after the others, under a mark of the same lease."""
    on = terms(ack_deadline_seconds=30)
    state, spans = delivery.lease(WHOLE, 2, on, at(1))
    untried = replace(AVAILABLE, state=State.LEASED, lease_id=9, until=at(31))
    assert spans == [untried]
    assert state == changed((AVAILABLE,), untried, next_lease_id=10)
    state, spans = delivery.lease(WHOLE, None, on, at(1), timedelta(seconds=5))
    untried = replace(untried, until=at(6))
    failed = replace(FAILED, state=State.LEASED, lease_id=9, until=at(6), failed_lease_id=9)
    assert spans == [untried, failed]
    assert state == changed((AVAILABLE, FAILED), untried, failed, next_lease_id=10)
    assert delivery.lease(state, None, on, at(2)) == (state, [])
    assert delivery.lease(WHOLE, 0, on, at(1)) == (WHOLE, [])


def test_only_messages_at_lower_positions_are_leased() -> None:
    state, (one,) = delivery.lease(WHOLE, None, terms(), at(1), below=1)
    assert (list(one.positions), state.next_lease_id) == ([0], 10)
    assert delivery.lease(WHOLE, None, terms(), at(1), below=0) == (WHOLE, [])


# Acknowledgements and deadlines. The ids: of the live lease (5), of a lease that is over (4), from
# before a seek (2), of lease numbers and positions that never were.

ASKED = {
    5: [3, 4, 0, 7, 8, 12],
    4: [1, 6, 9, 10, 12],
    2: [0, 3, 12],
    9: [0],
    0: [0],
    -1: [0],
}
NAMED = {lease_id: Positions.of(positions) for lease_id, positions in ASKED.items()}


def outcomes(found: delivery.Outcomes) -> dict[str, dict[int, list[int]]]:
    return {
        name: {of: list(each) for of, each in getattr(found, name).items() if each}
        for name in ("success", "expired", "invalid")
    }


@pytest.mark.parametrize("retain", [False, True])
def test_acks_change_these_messages_and_counters_and_nothing_else(retain: bool) -> None:
    """A late ack prevents redelivery "unless it is under another lease or being forwarded"."""
    on = terms(retain_acked_messages=retain, **POLICIES)
    state, found = delivery.acknowledge(WHOLE, NAMED, on, at(2), malformed=3)
    assert outcomes(found) == {
        "success": {4: [10], 5: [3, 4]},
        "expired": {2: [0, 3], 4: [1, 6, 9], 5: [0, 7, 8]},
        "invalid": {-1: [0], 0: [0], 2: [12], 4: [12], 5: [12], 9: [0]},
    }
    retained = [span(State.RETAINED, 0, 1, 3, 4, 7)] if retain else []
    expected = changed(
        (AVAILABLE, LEASED, WAITING),
        replace(LEASED, positions=Positions.of([5])),
        *retained,
        counters=Counters(13, 28, 39, 40),
        streams=streaming(),
    )
    assert state == expected


def test_with_exactly_once_delivery_only_a_live_lease_acknowledges() -> None:
    on = terms(enable_exactly_once_delivery=True, **POLICIES)
    state, found = delivery.acknowledge(WHOLE, NAMED, on, at(2), malformed=3)
    assert outcomes(found) == {
        "success": {5: [3, 4]},
        "expired": {},
        "invalid": {
            -1: [0],
            0: [0],
            2: [0, 3, 12],
            4: [1, 6, 9, 10, 12],
            5: [0, 7, 8, 12],
            9: [0],
        },
    }
    assert state == changed(
        (LEASED,),
        replace(LEASED, positions=Positions.of([5])),
        counters=Counters(12, 20, 48, 40),
        streams=streaming(),
    )


LATE = {
    "success": {5: [3, 4]},
    "expired": {2: [0, 3], 4: [1, 6, 9, 10], 5: [0, 7, 8]},
    "invalid": {-1: [0], 0: [0], 2: [12], 4: [12], 5: [12], 9: [0]},
}


def test_a_new_deadline_moves_the_end_of_live_deliveries_only() -> None:
    on = terms(**POLICIES)
    state, found = delivery.modify_ack_deadline(WHOLE, NAMED, on, at(2), timedelta(seconds=60))
    assert outcomes(found) == LATE
    moved = replace(LEASED, positions=Positions.of([3, 4]), until=at(62))
    assert state == changed((LEASED,), replace(LEASED, positions=Positions.of([5])), moved)


def test_a_nack_fails_live_deliveries_only() -> None:
    """Pub/Sub: ``min(maximum_backoff, minimum_backoff · 2^(k−1))`` after the k-th failure."""
    on = terms(**POLICIES)
    state, found = delivery.modify_ack_deadline(WHOLE, NAMED, on, at(2), timedelta(0))
    assert outcomes(found) == LATE
    failed = span(
        State.BACKING_OFF,
        *(3, 4),
        until=at(22),
        failures=2,
        delivery_attempt=3,
        failed_lease_id=5,
    )
    left = replace(LEASED, positions=Positions.of([5]))
    assert state == changed((LEASED,), left, failed, streams=streaming())


def test_messages_that_are_given_back_have_not_failed() -> None:
    state = delivery.give_back(WHOLE, NAMED, terms(**POLICIES), at(2))
    released = span(State.AVAILABLE, 3, 4, delivery_attempt=2, failures=1)
    left = replace(LEASED, positions=Positions.of([5]))
    assert state == changed((LEASED,), left, released, streams=streaming())


def test_acks_hold_of_messages_that_are_not_unacknowledged_again() -> None:
    still = delivery.still_acknowledged(WHOLE, {5: NAMED[5], 3: NAMED[4], 2: NAMED[2]})
    assert {of: list(each) for of, each in still.items()} == {5: [12], 3: [10, 12]}


def test_a_lease_and_a_backoff_end_at_their_instant() -> None:
    """ "A lease or a backoff that ends at ``until`` is over at that instant." """
    on = terms(**POLICIES)
    failed = span(
        State.BACKING_OFF,
        *(3, 4, 5),
        until=at(30),
        failures=2,
        delivery_attempt=3,
        failed_lease_id=5,
    )
    ended = changed((LEASED,), failed)
    assert delivery.settle(WHOLE, on, at(10)) == ended
    other = replace(OTHER, state=State.BACKING_OFF, lease_id=None, until=at(22), failures=1)
    other = replace(other, delivery_attempt=2, failed_lease_id=6)
    released = replace(WAITING, state=State.AVAILABLE, until=None)
    late = changed((LEASED, OTHER, WAITING), failed, other, released)
    assert delivery.settle(WHOLE, on, at(20)) == late


def test_without_policies_a_failure_counts_nothing_and_waits_for_nothing() -> None:
    """Attempts "are counted only while a policy is set"; "None = immediate redelivery"."""
    untried = replace(LEASED, delivery_attempt=1, failures=0)
    state = replace(WHOLE, spans=(untried,))
    failed = span(State.AVAILABLE, 3, failed_lease_id=5)
    left = replace(untried, positions=Positions.of([4, 5]))
    nacked = {5: Positions.of([3])}
    found, _ = delivery.modify_ack_deadline(state, nacked, terms(), at(2), timedelta(0))
    assert found == replace(state, spans=(failed, left), streams=streaming(4))
    over = replace(failed, positions=untried.positions)
    assert delivery.settle(state, terms(), at(10)) == replace(state, spans=(over,))
