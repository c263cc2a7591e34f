"""What a subscription remembers: few spans, tidied up without losing anything."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import (
    MAX_FAILED_SPANS,
    MAX_LEASED_SPANS,
    MAX_NEW_SPANS,
    MAX_RETAINED_SPANS,
    MAX_WAITING_SPANS,
    with_spans,
)
from tests.unit.builders import at, available_span

EMPTY = AckState(after_version=0)


def leased_span(positions: list[int], lease_id: int, until: float, published: float = 0) -> Span:
    return Span(
        State.LEASED,
        Positions.of(positions),
        at(published),
        at(published),
        lease_id=lease_id,
        until=at(until),
    )


def sizes(state: AckState) -> list[int]:
    return [len(span) for span in state.spans]


def spans_of(windows: list[tuple[int, int]], sizes: list[int]) -> list[Span]:
    """Return available spans of disjoint positions, with the given windows and sizes."""
    spans, next_position = [], 0
    for (first, length), size in zip(windows, sizes, strict=False):
        positions = range(next_position, next_position + size)
        spans.append(available_span(positions, first, first + length))
        next_position += size
    return spans


windows = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50)), min_size=90, max_size=90)
counts = st.lists(st.integers(0, 9), max_size=90)


@settings(max_examples=60, deadline=None)
@given(windows, counts)
def test_tidying_keeps_every_message_within_its_publish_times(
    windows: list[tuple[int, int]], counts: list[int]
) -> None:
    given = spans_of(windows, counts)
    state = with_spans(EMPTY, given)
    assert len(state.spans) <= MAX_NEW_SPANS == 32
    held: dict[int, Span] = {each: span for span in state.spans for each in span.positions}
    assert state.count() == len(held) == sum(map(len, given))  # nothing lost, nothing twice
    for span in given:
        for each in span.positions:
            assert held[each].publish_time_min <= span.publish_time_min
            assert held[each].publish_time_max >= span.publish_time_max
    assert with_spans(state, state.spans) == state  # what is tidy stays as it is


@settings(max_examples=60, deadline=None)
@given(windows, counts)
def test_available_spans_stand_in_the_order_of_time(
    windows: list[tuple[int, int]], counts: list[int]
) -> None:
    state = with_spans(EMPTY, spans_of(windows, counts))
    times = [(span.publish_time_min, span.publish_time_max) for span in state.spans]
    assert times == sorted(times)


def test_thirty_two_spans_are_kept_apart() -> None:
    state = with_spans(EMPTY, (available_span([n], n) for n in range(32)))
    assert sizes(state) == [1] * 32


def test_the_neighbours_that_hold_least_are_united_first() -> None:
    spans = [available_span(range(100 * n, 100 * n + 10), n) for n in range(33)]
    spans[20] = available_span([7000], 20)
    spans[21] = available_span([8000, 8001], 21)
    united = with_spans(EMPTY, spans)
    assert sizes(united) == [10] * 20 + [3] + [10] * 11
    assert (united.spans[20].publish_time_min, united.spans[20].publish_time_max) == (
        at(20),
        at(21),
    )


def test_a_thousand_commits_still_fit() -> None:
    state = with_spans(EMPTY, (available_span([n], n) for n in range(1000)))
    assert len(state.spans) == 32
    assert [each for span in state.spans for each in span.positions] == list(range(1000))
    assert max(sizes(state)) < 100  # none of them takes it all


def test_spans_of_the_same_time_are_united_however_few() -> None:
    state = with_spans(
        EMPTY, [available_span([1], 5), available_span([2], 5), available_span([3], 6)]
    )
    assert [list(span.positions) for span in state.spans] == [[1, 2], [3]]


def test_a_span_within_the_times_of_another_joins_it() -> None:
    state = with_spans(EMPTY, [available_span([2], 4), available_span([1, 3], 0, 9)])
    assert [list(span.positions) for span in state.spans] == [[1, 2, 3]]


def test_empty_spans_are_dropped() -> None:
    assert with_spans(EMPTY, [available_span([]), leased_span([], 1, 10)]).spans == ()


def test_leases_are_united_by_number_and_end_only() -> None:
    """A lease whose deadlines were moved in part has one span for each end."""
    state = with_spans(
        EMPTY,
        [
            leased_span([4], 2, 10),
            leased_span([1], 1, 10, published=3),
            leased_span([2], 1, 10, published=5),
            leased_span([3], 1, 20),
        ],
    )
    assert [(span.lease_id, span.until, list(span.positions)) for span in state.spans] == [
        (1, at(10), [1, 2]),
        (1, at(20), [3]),
        (2, at(10), [4]),
    ]
    assert (state.spans[0].publish_time_min, state.spans[0].publish_time_max) == (at(3), at(5))


def test_leases_never_mix_with_available_messages() -> None:
    state = with_spans(EMPTY, [leased_span([1], 1, 10), available_span([2])])
    assert [span.state for span in state.spans] == [State.AVAILABLE, State.LEASED]
    assert (state.count(), state.count(State.AVAILABLE), state.count(State.LEASED)) == (2, 1, 1)


def test_messages_that_failed_differently_stay_apart() -> None:
    # "Spans with the same state and attempt are merged"
    spans = [
        replace(
            available_span([3 * n + failed], n),
            failures=failed,
            delivery_attempt=failed + 1,
            failed_lease_id=failed or None,
        )
        for n in range(50)
        for failed in range(3)
    ]
    state = with_spans(EMPTY, spans)
    groups = [(span.failures, span.delivery_attempt) for span in state.spans]
    assert [groups.count((n, n + 1)) for n in range(3)] == [
        MAX_NEW_SPANS,
        MAX_FAILED_SPANS,
        MAX_FAILED_SPANS,
    ]
    for span in state.spans:
        assert {each % 3 for each in span.positions} == {span.failures}


def waiting(position: int, until: float, failures: int = 1) -> Span:
    span = replace(available_span([position]), state=State.BACKING_OFF, failures=failures)
    return replace(span, until=at(until))


def test_backoffs_that_end_together_are_one_span() -> None:
    state = with_spans(
        EMPTY, [waiting(1, 5), waiting(2, 5), waiting(3, 6), waiting(4, 5, failures=2)]
    )
    assert [(list(s.positions), s.until, s.failures) for s in state.spans] == [
        ([1, 2], at(5), 1),
        ([3], at(6), 1),
        ([4], at(5), 2),
    ]


@pytest.mark.parametrize("more", [[7.25], [7.25, 9.5]])
def test_of_too_many_backoffs_the_nearest_are_united_and_none_ends_earlier(
    more: list[float],
) -> None:
    ends = [*(float(n) for n in range(MAX_WAITING_SPANS)), *more]
    state = with_spans(EMPTY, (waiting(n, end) for n, end in enumerate(ends)))
    assert len(state.spans) == MAX_WAITING_SPANS
    held = {each: span for span in state.spans for each in span.positions}
    for position, end in enumerate(ends):
        assert at(end) <= (held[position].until or at(0)) <= at(end + 1)


def test_of_too_many_deadlines_those_of_one_lease_are_united_and_none_ends_earlier() -> None:
    spans = [leased_span([n], n % 2, n) for n in range(MAX_LEASED_SPANS + 100)]
    state = with_spans(EMPTY, spans)
    assert len(state.spans) == MAX_LEASED_SPANS
    held = {each: span for span in state.spans for each in span.positions}
    for n in range(MAX_LEASED_SPANS + 100):
        assert held[n].lease_id == n % 2
        assert (held[n].until or at(0)) >= at(n)


def test_kept_acks_go_with_their_lease() -> None:
    # "A lease on an ordered subscription keeps the positions acked from it until it ends"
    acked = replace(leased_span([2], 7, 10), state=State.ACKED, until=None)
    assert with_spans(EMPTY, [acked]).spans == ()
    state = with_spans(EMPTY, [acked, leased_span([1], 7, 10)])
    assert (state.count(), state.count(State.ACKED)) == (1, 1)


def retained_span(positions: list[int], first: float, last: float | None = None) -> Span:
    return replace(available_span(positions, first, last), state=State.RETAINED)


def test_retained_messages_are_kept_apart_by_time_but_in_few_spans() -> None:
    state = with_spans(EMPTY, (retained_span([n], n) for n in range(1000)))
    assert len(state.spans) == MAX_RETAINED_SPANS == 32
    assert list(state.positions(State.RETAINED)) == list(range(1000))
    assert [s.publish_time_min for s in state.spans] == sorted(
        s.publish_time_min for s in state.spans
    )
    assert with_spans(state, state.spans) == state


@pytest.mark.parametrize("live", [State.AVAILABLE, State.LEASED, State.BACKING_OFF])
def test_what_is_unacknowledged_is_not_retained_as_well(live: State) -> None:
    unacked = replace(leased_span([1, 2], 7, 10), state=live)
    state = with_spans(EMPTY, [retained_span([0, 1], 0, 5), unacked])
    assert list(state.positions(State.RETAINED)) == [0]
    assert list(state.positions(live)) == [1, 2]


def test_what_is_acknowledged_under_a_live_lease_may_be_retained_as_well() -> None:
    acked = replace(leased_span([1], 7, 10), state=State.ACKED, until=None)
    state = with_spans(EMPTY, [retained_span([1], 0), acked, leased_span([0], 7, 10)])
    assert list(state.positions(State.RETAINED)) == [1]
    assert (state.count(), state.count(State.RETAINED)) == (1, 1)


def test_a_retained_span_has_no_past() -> None:
    # "resets delivery attempts to 0 and backoff to none"
    span = replace(leased_span([1, 2], 7, 10, published=3), failures=4, delivery_attempt=5)
    assert span.retained() == retained_span([1, 2], 3)


def test_many_leases_are_all_kept() -> None:
    """Only spans of one lease are united: each lease has its own end."""
    state = with_spans(EMPTY, (leased_span([n], n, 10) for n in range(1, 101)))
    assert len(state.in_state(State.LEASED)) == 100


def test_a_span_with_fewer_messages_keeps_everything_else() -> None:
    span = leased_span([1, 2, 3], 7, 10)
    assert list(span.without(Positions.of([2, 9])).positions) == [1, 3]
    assert list(span.only(Positions.of([2, 9])).positions) == [2]
    for part in (span.without(Positions.of([2])), span.only(Positions.of([2]))):
        assert (part.state, part.lease_id, part.until) == (State.LEASED, 7, at(10))


def test_a_new_state_knows_only_its_tail() -> None:
    # "every subscription that existed at publish time gets its own copy …; earlier messages only
    # through topic retention + seek"
    state = AckState(after_version=5)
    assert (state.spans, state.count(), state.absorbed_below, state.next_lease_id) == ((), 0, 0, 1)


@pytest.mark.parametrize("field", ["publish_time_min", "publish_time_max"])
def test_windows_are_aware_times(field: str) -> None:
    time: datetime = getattr(available_span([1], 3), field)
    assert time == at(3)
    assert time.tzinfo is not None


def test_united_spans_have_the_later_end_and_failure_whichever_comes_first() -> None:
    """ "One span for the messages of two, with the later end and failure of the two." """
    one = replace(leased_span([1], 3, 20, published=5), failed_lease_id=7)
    other = replace(leased_span([2], 3, 10, published=9), failed_lease_id=8)
    both = replace(one, positions=Positions.of([1, 2]), publish_time_max=at(9), failed_lease_id=8)
    assert one.unite(other) == other.unite(one) == both
    nothing = replace(other, until=None, failed_lease_id=None)
    expected = replace(both, failed_lease_id=7)
    assert one.unite(nothing) == nothing.unite(one) == expected
    assert nothing.unite(nothing) == nothing
