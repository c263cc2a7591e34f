"""Which messages come first: what failed comes after what has not been tried (spec section 4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pubsub_delta.policy import delivery, replay
from pubsub_delta.policy.ack_state import AckState, Seek, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import MAX_FAILED_LEASES, MAX_FAILED_SPANS, with_spans
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import (
    ack,
    at,
    available_span,
    backlog,
    committed,
    leased,
    nack,
    pull,
    take,
    terms,
)

PLAIN = terms()
KEYS = {0: "a", 1: "a", 2: "b", 3: "b", 4: "", 5: "c"}
ORDERED = terms(KEYS)


def next_ones(state: AckState, count: int, now: float = 0, on: delivery.Terms = PLAIN) -> list[int]:
    """Return the messages that a pull of so many would deliver now."""
    _, spans = take(state, count, now, on=on)
    return sorted(each for span in spans for each in span.positions)


def fail(
    state: AckState, count: int = 1, now: float = 0, on: delivery.Terms = PLAIN
) -> tuple[AckState, list[int]]:
    """Pull so many messages and nack them; return what that was."""
    state, lease_id = pull(state, count, now, on=on)
    failing = leased(state, now, on)[lease_id]
    return nack(state, {lease_id: failing}, now, on), failing


# "what has failed comes again after what is available and has not been tried yet, so a poison
# message starves nobody"


@pytest.mark.parametrize(
    "on",
    [
        PLAIN,
        terms(retry_policy=RetryPolicy(0, 0)),
        terms(dead_letter_policy=DeadLetterPolicy("dead", 100)),
        terms(enable_exactly_once_delivery=True),
        terms({}),
    ],
)
def test_a_poison_message_starves_nobody(on: delivery.Terms) -> None:
    state, seen = backlog(4), []
    for _ in range(5):
        state, lease_id = pull(state, 1, on=on)
        (position,) = leased(state, on=on)[lease_id]
        seen.append(position)
        if position:
            state, _ = ack(state, {lease_id: [position]}, on=on)
        else:
            state = nack(state, {lease_id: [position]}, on=on)
    assert seen == [0, 1, 2, 3, 0]


def test_what_comes_later_goes_before_what_failed() -> None:
    state, _ = fail(backlog(1))
    state = delivery.absorb(state, [committed([7], 5)], 2)
    assert (next_ones(state, 1), next_ones(state, 2)) == ([7], [0, 7])


def test_a_lease_that_is_over_has_failed_as_well() -> None:
    # "Deadline passed = failed delivery."
    state, _ = pull(backlog(3), 1)
    assert next_ones(state, 2, now=10) == [1, 2]


def test_a_backoff_that_is_over_makes_nothing_new() -> None:
    on = terms(retry_policy=RetryPolicy(10, 600))
    state, _ = fail(backlog(3), on=on)
    assert next_ones(state, 2, now=10, on=on) == [1, 2]
    assert next_ones(state, 3, now=10, on=on) == [0, 1, 2]


def test_what_failed_first_comes_first_again() -> None:
    state = backlog(5)
    for expected in ([0, 1], [2], [3, 4], [0, 1], [2], [3, 4]):
        state, failed = fail(state, len(expected))
        assert failed == expected


def test_a_late_failure_counts_as_that_of_its_own_delivery() -> None:
    state, first = pull(backlog(2), 1)
    state, second = pull(state, 1)
    state = nack(state, {second: [1]})
    state = nack(state, {first: [0]})
    assert next_ones(state, 1) == [0]


def test_what_was_never_looked_at_keeps_its_place() -> None:
    # "no delivery failed"
    state, lease_id = pull(backlog(3), 1)
    state = delivery.give_back(state, {lease_id: Positions.of([0])}, PLAIN, at(0))
    assert next_ones(state, 1) == [0]


def test_what_failed_and_was_given_back_has_failed_all_the_same() -> None:
    state, _ = fail(backlog(1))
    state, lease_id = pull(state, 1)
    state = delivery.absorb(state, [committed([7], 5)], 2)
    state = delivery.give_back(state, {lease_id: Positions.of([0])}, PLAIN, at(0))
    assert next_ones(state, 1) == [7]


def test_a_seek_forgets_what_failed() -> None:
    # "resets delivery attempts to 0 and backoff to none"
    state, _ = fail(backlog(3))
    assert next_ones(state, 1) == [1]
    state = replay.note_seek(state, Seek(at(0), 1, time=at(0)), PLAIN)
    assert next_ones(state, 1) == [0]


def test_a_snapshot_and_what_is_retained_know_of_no_failure() -> None:
    state, _ = fail(backlog(3))
    assert {span.failed_lease_id for span in replay.capture(state, "").spans} == {None}
    assert {span.retained().failed_lease_id for span in state.spans} == {None}


def test_without_a_limit_all_comes_in_order() -> None:
    state, _ = fail(backlog(3))
    assert next_ones(state, 3) == [0, 1, 2]
    _, spans = delivery.lease(state, None, PLAIN, at(0))
    assert sum(map(len, spans)) == 3


# Ordering keys: "in the order of receipt"


def test_a_failed_message_of_a_key_comes_before_its_later_ones() -> None:
    state, failed = fail(backlog(6), on=ORDERED)
    assert failed == [0]
    seen = []
    for _ in range(6):
        state, lease_id = pull(state, 1, on=ORDERED)
        (position,) = leased(state, on=ORDERED)[lease_id]
        seen.append(position)
        state, _ = ack(state, {lease_id: [position]}, on=ORDERED)
    assert seen == [2, 3, 4, 5, 0, 1]  # 1 has not failed, and waits for 0


def test_of_the_keys_that_failed_the_one_that_failed_first_comes_first() -> None:
    state, seen = backlog(6), []
    for _ in range(8):
        state, failed = fail(state, on=ORDERED)
        seen += failed
    assert seen == [0, 2, 4, 5, 0, 2, 4, 5]


def test_a_key_with_two_failed_messages_has_no_second_turn() -> None:
    """After a batch has failed, the message that is tried again is the first of its key."""
    state, seen = fail(backlog(4), 2, on=ORDERED)[0], []
    for _ in range(6):
        state, failed = fail(state, on=ORDERED)
        seen += failed
    assert seen == [2, 0, 2, 0, 2, 0]


def test_an_earlier_message_of_the_key_that_did_not_fail_comes_before_it() -> None:
    state, lease_id = pull(backlog(6), 2, on=ORDERED)
    state = nack(state, {lease_id: [1]}, on=ORDERED)
    named = {lease_id: Positions.of([0])}
    state = delivery.give_back(state, named, ORDERED, at(0))
    assert next_ones(state, 4, on=ORDERED) == [2, 3, 4, 5]
    assert next_ones(state, 5, on=ORDERED) == [0, 2, 3, 4, 5]
    assert next_ones(state, 6, on=ORDERED) == [0, 1, 2, 3, 4, 5]


def test_a_key_that_is_held_up_waits_whatever_failed() -> None:
    # "While a key has leased or backing-off messages, pull returns none of that key"
    state, _ = fail(backlog(6), on=ORDERED)
    state, lease_id = pull(state, 1, on=ORDERED)
    assert leased(state, on=ORDERED) == {lease_id: [2]}
    assert next_ones(state, 5, on=ORDERED) == [0, 1, 4, 5]
    assert next_ones(state, 3, on=ORDERED) == [0, 4, 5]


def test_a_failed_message_of_a_key_that_is_held_waits() -> None:
    state, lease_id = pull(backlog(6), 2, on=ORDERED)
    state = nack(state, {lease_id: [1]}, on=ORDERED)
    state, _ = fail(state, 1, on=ORDERED)
    assert leased(state, on=ORDERED) == {lease_id: [0]}
    assert next_ones(state, 4, on=ORDERED) == [2, 3, 4, 5]
    assert next_ones(state, 3, on=ORDERED) == [2, 4, 5]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_a_pull_takes_as_many_of_the_keys_that_failed_as_it_may(count: int) -> None:
    keys = {n: f"key-{n % 5}" for n in range(25)}
    on = terms(keys)
    state = backlog(25)
    for _ in range(5):
        state, _ = fail(state, on=on)
    order = [n for key in range(5) for n in range(key, 25, 5)]
    assert next_ones(state, count, on=on) == sorted(order[:count])


def test_of_a_key_that_failed_the_first_messages_come_however_many_were_passed_over() -> None:
    """In order, though the others that have room are behind more than are looked at at a time."""
    many, others, later = 12_000, 5, 7
    keys = [*["held"] * many, *map(str, range(others)), *["held"] * later]
    on = terms(dict(enumerate(keys)))
    state, failing = fail(backlog(len(keys)), on=on)
    assert failing == [0]
    assert next_ones(state, others + 3, on=on) == [0, 1, 2, *range(many, many + others)]


# Few spans


def test_what_failed_one_by_one_takes_few_spans_and_each_has_its_turn() -> None:
    count = 3 * MAX_FAILED_LEASES
    state, last = backlog(count), dict.fromkeys(range(count), 0)
    for number in range(1, 10 * count):
        state, (position,) = fail(state)
        assert number - last[position] <= 2 * count
        last[position] = number
        failed = [s for s in state.spans if s.failed_lease_id is not None]
        assert len(failed) <= MAX_FAILED_LEASES == 32
    assert all(10 * count - number <= 2 * count for number in last.values())
    assert state.count(State.AVAILABLE) == count


def failed_span(position: int, lease_id: int, published: float = 0) -> Span:
    return replace(available_span([position], published), failed_lease_id=lease_id)


def test_messages_that_failed_under_different_leases_stay_apart() -> None:
    state = with_spans(AckState(0), [failed_span(n, n % 2 + 1) for n in range(4)])
    assert [list(span.positions) for span in state.spans] == [[0, 2], [1, 3]]


def test_of_too_many_leases_those_that_failed_latest_count_as_one() -> None:
    spans = [failed_span(n, n) for n in range(1, 2 * MAX_FAILED_LEASES)]
    state = with_spans(AckState(0), spans)
    held = {each: span for span in state.spans for each in span.positions}
    for n in range(1, 2 * MAX_FAILED_LEASES):
        joined = n >= MAX_FAILED_LEASES
        assert held[n].failed_lease_id == (2 * MAX_FAILED_LEASES - 1 if joined else n)


def test_backoffs_that_are_united_failed_at_the_later_of_their_failures() -> None:
    spans = [
        replace(failed_span(n, n), state=State.BACKING_OFF, until=at(n)) for n in range(1, 300)
    ]
    state = with_spans(AckState(0), spans)
    assert len(state.spans) == 256
    for span in state.spans:
        assert span.failed_lease_id == span.positions.max


def test_what_failed_together_is_kept_apart_by_publish_time_but_in_few_spans() -> None:
    state = with_spans(AckState(0), [failed_span(n, 1, published=n) for n in range(50)])
    assert len(state.spans) == MAX_FAILED_SPANS == 4


def test_leased_messages_that_failed_under_several_leases_are_one_span() -> None:
    state = backlog(6)
    for _ in range(6):
        state, _ = fail(state)
    _, spans = take(state, 6)
    assert len(spans) == 1


def test_backoffs_that_end_together_stay_few_whichever_leases_failed() -> None:
    on = terms(retry_policy=RetryPolicy(10, 10))
    state = backlog(600)
    for n in range(600):
        state, _ = fail(state, now=n / 100, on=on)
    assert len(state.in_state(State.BACKING_OFF)) <= 256
    assert replace(state, spans=()).next_lease_id == 601


@pytest.mark.parametrize("on", [PLAIN, ORDERED])
@pytest.mark.parametrize(
    ("count", "leased_now"), [(2, [2, 3]), (4, [0, 1, 2, 3]), (None, [0, 1, 2, 3])]
)
def test_a_drain_leases_no_message_from_its_end_on_and_what_failed_last(
    on: delivery.Terms, count: int | None, leased_now: list[int]
) -> None:
    """ "Only messages at lower positions are leased", also where newer ones would come first."""
    state, _ = fail(backlog(6), 2, on=on)
    _, spans = delivery.lease(state, count, on, at(0), below=4)
    assert sorted(each for span in spans for each in span.positions) == leased_now
    assert delivery.lease(state, count, on, at(0), below=0)[1] == []
