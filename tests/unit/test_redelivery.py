"""What a failed delivery leads to: backoff, and the dead-letter topic (spec sections 4 and 11)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import (
    backoff,
    decide_forwarding,
    exhausted,
    forwarded,
    forwardings,
    give_back,
)
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import (
    ack,
    at,
    available,
    backlog,
    fail_one,
    leased,
    modify,
    nack,
    pull,
    take,
    terms,
)

MICROSECOND = timedelta(microseconds=1)
TOPIC = "d" * 32


def retrying(minimum: object = 10, maximum: object = 600) -> delivery.Terms:
    return terms(retry_policy=RetryPolicy(minimum, maximum))  # type: ignore[arg-type]


def permitting(attempts: int = 5, retry: RetryPolicy | None = None) -> delivery.Terms:
    return terms(dead_letter_policy=DeadLetterPolicy("dead", attempts), retry_policy=retry)


def fail(state: AckState, times: int, on: delivery.Terms, position: int = 0) -> AckState:
    """Deliver what is available and fail one message, so many times; no time passes."""
    for _ in range(times):
        state = fail_one(state, position, on)
    return state


def worn_out(count: int = 1) -> AckState:
    """Return a state whose messages have each failed the five attempts that they had."""
    state = backlog(count)
    for _ in range(5):
        state, lease_id = pull(state, on=permitting())
        state = nack(state, {lease_id: range(count)}, on=permitting())
    return state


def attempts(state: AckState, on: delivery.Terms, now: float = 0) -> dict[int, int]:
    """Return the delivery_attempt of every message that a pull would deliver now."""
    _, spans = take(state, on=on, now=now)
    return {position: span.delivery_attempt for span in spans for position in span.positions}


# Backoff


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        (RetryPolicy(10, 600), [10, 20, 40, 80, 160, 320, 600, 600]),
        (RetryPolicy(), [10, 20, 40, 80, 160, 320, 600, 600]),
        (RetryPolicy(7, 30), [7, 14, 28, 30, 30]),
        (RetryPolicy(0.5, 3), [0.5, 1, 2, 3, 3]),
        (RetryPolicy(0, 600), [0, 0, 0]),
        (RetryPolicy(0, 0), [0, 0, 0]),
        (RetryPolicy(45, 45), [45, 45, 45]),
        (None, [0, 0, 0]),
    ],
)
def test_the_wait_doubles_up_to_the_maximum(policy: RetryPolicy | None, waits: list[float]) -> None:
    # "after the k-th consecutive failure … min(maximum_backoff, minimum_backoff · 2^(k−1))"
    found = [backoff(policy, k).total_seconds() for k in range(1, len(waits) + 1)]
    assert found == waits


@pytest.mark.parametrize("minimum", [1, 333_333, 1_500_000, 10_000_000, 600_000_000])
def test_the_wait_is_exact_and_never_overflows(minimum: int) -> None:
    # "min(maximum_backoff, minimum_backoff · 2^(k−1))", counted here in whole microseconds
    longest = 600_000_000
    policy = RetryPolicy(minimum * MICROSECOND, longest * MICROSECOND)
    for k in [*range(1, 100), 1000, 100_000]:
        assert backoff(policy, k) == min(longest, minimum * 2 ** (k - 1)) * MICROSECOND


def test_a_message_that_fails_for_ever_waits_the_maximum() -> None:
    # "each 0–600 s"; a microsecond reaches ten minutes after thirty-one failures
    on = retrying(MICROSECOND, 600)
    state, now = backlog(1), 0.0
    for _ in range(80):
        state, lease_id = pull(state, now=now, on=on)
        state, now = nack(state, {lease_id: [0]}, now, on), now + 600
    assert (available(state, now - 0.1, on), available(state, now, on)) == ([], [0])


# However a delivery fails, it waits alike

Failure = Callable[[AckState, delivery.Terms], tuple[AckState, float]]


def nacked(state: AckState, on: delivery.Terms) -> tuple[AckState, float]:
    state, lease_id = pull(state, 1, now=1, deadline=600, on=on)
    return nack(state, {lease_id: [0]}, 15, on), 15


def expired(state: AckState, on: delivery.Terms) -> tuple[AckState, float]:
    return pull(state, 1, now=5, deadline=10, on=on)[0], 15


def expired_after_moving(state: AckState, on: delivery.Terms) -> tuple[AckState, float]:
    state, lease_id = pull(state, 1, now=1, deadline=600, on=on)
    return modify(state, {lease_id: [0]}, 10, 5, on)[0], 15


FAILURES = pytest.mark.parametrize("failure", [nacked, expired, expired_after_moving])


@FAILURES
def test_a_failed_message_is_back_exactly_at_the_end_of_its_backoff(failure: Failure) -> None:
    # "after the k-th consecutive failure (nack or expiry) a message waits"
    on = retrying(20)
    state, failed_at = failure(backlog(1), on)
    assert available(state, failed_at, on) == []
    assert available(state, failed_at + 19.999999, on) == []
    assert available(state, failed_at + 20, on) == [0]


@FAILURES
def test_every_failure_leaves_the_same_behind(failure: Failure) -> None:
    # "0 = nack"; "Deadline passed = failed delivery": one rule for both
    on = permitting(retry=RetryPolicy(20, 600))
    state, failed_at = failure(backlog(1), on)
    (span,) = delivery.settle(state, on, at(failed_at)).spans
    assert (span.state, span.until) == (State.BACKING_OFF, at(35))
    assert (span.failures, span.delivery_attempt, span.lease_id) == (1, 2, None)


@FAILURES
@pytest.mark.parametrize("on", [terms(), retrying(0), retrying(0, 0)], ids=["none", "0", "0–0"])
def test_without_a_wait_a_failed_message_is_back_at_once(
    failure: Failure, on: delivery.Terms
) -> None:
    # "retry_policy | none = immediate redelivery"
    state, failed_at = failure(backlog(1), on)
    assert available(state, failed_at, on) == [0]


def test_an_expiry_counts_from_the_deadline_however_late_it_is_noticed() -> None:
    # "Redelivery is decided lazily, at the next pull": the wait began when the deadline passed
    on = permitting(retry=RetryPolicy(20, 600))
    state, _ = pull(backlog(1), deadline=10, on=on)
    noticed = delivery.settle(state, on, at(29))
    assert available(noticed, 29.999999, on) == []
    assert available(noticed, 30, on) == [0]
    assert attempts(state, on, now=5000) == {0: 2}  # one failure, long ago


def test_the_wait_grows_with_each_consecutive_failure() -> None:
    # "the k-th consecutive failure (nack or expiry)"
    on, state, now = retrying(10, 60), backlog(1), 0.0
    for failure, wait in enumerate([10, 20, 40, 60, 60]):
        state, lease_id = pull(state, now=now, deadline=5, on=on)
        state, _ = modify(state, {lease_id: [0]}, 10, now, on)  # leaves the count alone
        if failure % 2:
            state = nack(state, {lease_id: [0]}, now, on)
        else:
            now += 10  # the deadline
        assert available(state, now + wait - 0.000001, on) == []
        now += wait
        assert available(state, now, on) == [0]


def test_other_messages_keep_flowing() -> None:
    # "Per message: other messages keep flowing"
    on = retrying()
    state, lease_id = pull(backlog(4), 3, on=on)
    state = nack(state, {lease_id: [1]}, 1, on)
    assert available(state, 1, on) == [3]
    assert leased(state, 1, on) == {lease_id: [0, 2]}
    assert available(state, 11, on) == [1, 3]  # the leases of 0 and 2 ended at 10


def test_each_message_has_a_count_of_its_own() -> None:
    on = retrying(10)
    state, lease_id = pull(backlog(2), 1, on=on)
    state = nack(state, {lease_id: [0]}, 0, on)
    state, lease_id = pull(state, now=10, on=on)
    state = nack(state, {lease_id: [0, 1]}, 10, on)
    assert [available(state, now, on) for now in (19, 20, 29, 30)] == [[], [1], [1], [0, 1]]


def test_a_late_ack_ends_a_backoff() -> None:
    # "Lease over and the message unacked → expired; it is acked by this … (also after its own
    # nack)"
    on = retrying(10)
    state, lease_id = pull(backlog(2), on=on)
    state = nack(state, {lease_id: [0, 1]}, 0, on)
    state, outcomes = ack(state, {lease_id: [0]}, 5, on)
    assert outcomes == {"expired": {lease_id: {0}}}
    assert available(state, 1000, on) == [1]


# Delivery attempts


def test_the_first_delivery_is_attempt_1() -> None:
    # "delivery_attempt = 1 + nacks + expirations, starts at 1", for each message alone
    assert attempts(backlog(2), permitting()) == {0: 1, 1: 1}
    assert attempts(fail(backlog(2), 2, permitting()), permitting()) == {0: 3, 1: 1}


def test_nacks_and_expirations_count_alike() -> None:
    # "1 + nacks + expirations"
    on, state, now = permitting(10), backlog(1), 0.0
    for attempt in range(1, 7):
        assert attempts(state, on, now) == {0: attempt}
        state, lease_id = pull(state, now=now, deadline=10, on=on)
        if attempt % 2:
            state = nack(state, {lease_id: [0]}, now, on)
        now += 10
    assert attempts(state, on, now) == {0: 7}


def test_attempts_are_not_counted_without_a_policy() -> None:
    # "is counted and shown only while a dead-letter policy is set"
    for on in (terms(), retrying(0)):
        state = fail(backlog(1), 7, on)
        assert attempts(state, on) == {0: 1}
        assert attempts(state, permitting()) == {0: 1}


@pytest.mark.parametrize("most", [5, 6, 100])
def test_a_message_is_delivered_as_often_as_permitted(most: int) -> None:
    # "When the last permitted attempt fails the message is forwarded, never delivered again"
    on = permitting(most)
    state = fail(backlog(1), most - 1, on)
    assert (attempts(state, on), exhausted(state, on.subscription)) == ({0: most}, [])
    state = fail(state, 1, on)
    assert attempts(state, on) == {}
    assert [list(span.positions) for span in exhausted(state, on.subscription)] == [[0]]


def test_an_exhausted_message_is_backlog_until_it_is_forwarded() -> None:
    # "Until then it counts as backlog."
    state = worn_out(2)
    assert state.count() == 2
    state = decide_forwarding(state, permitting().subscription, TOPIC)
    assert state.count() == 2
    assert forwarded(state, 6).count() == 0


def test_the_last_failure_has_no_backoff() -> None:
    # "After the last permitted attempt there is no backoff"
    on, state, now = permitting(retry=RetryPolicy(10, 10)), backlog(1), 0.0
    for _ in range(4):
        state, lease_id = pull(state, now=now, on=on)
        state = nack(state, {lease_id: [0]}, now, on)
        assert state.count(State.BACKING_OFF) == 1
        now += 10
    state, _ = pull(state, now=now, deadline=10, on=on)
    state = delivery.settle(state, on, at(now + 10))
    assert state.count(State.BACKING_OFF) == 0
    assert len(exhausted(state, on.subscription)) == 1


def test_a_late_ack_of_an_exhausted_message_acks_it() -> None:
    # "Lease over and the message unacked → expired; it is acked by this"
    state, outcomes = ack(worn_out(), {5: [0]}, on=permitting())
    assert (outcomes, state.count()) == ({"expired": {5: {0}}}, 0)


def test_clearing_the_policy_forgets_the_counts() -> None:
    # "Clearing the policy forgets the counts": also those of exhausted messages
    for failures in (3, 5):
        state = delivery.settle(fail(backlog(2), failures, permitting()), terms(), at(0))
        assert attempts(state, terms()) == attempts(state, permitting()) == {0: 1, 1: 1}


def test_clearing_the_policy_forgets_the_counts_of_what_is_leased() -> None:
    state, lease_id = pull(fail(backlog(1), 3, permitting()), on=permitting())
    state, outcomes = modify(state, {lease_id: [0]}, 0, on=terms())
    assert outcomes == {"success": {lease_id: {0}}}
    assert attempts(state, permitting()) == {0: 1}


def test_a_higher_limit_makes_an_exhausted_message_deliverable() -> None:
    assert attempts(worn_out(), permitting(6)) == {0: 6}


# Forwarding

SUBSCRIPTION = permitting().subscription


def numbers(state: AckState) -> dict[int, list[int]]:
    """Return the messages that are being forwarded, by the number of the decision."""
    return {
        n: sorted(p for s in each for p in s.positions) for n, each in forwardings(state).items()
    }


def two_forwardings() -> AckState:
    """Return a state with message 0 in forwarding 6, and message 1 in a later one, 12."""
    state = decide_forwarding(fail(backlog(2), 5, permitting()), SUBSCRIPTION, TOPIC)
    return decide_forwarding(fail(state, 5, permitting(), position=1), SUBSCRIPTION, "e" * 32)


def test_nothing_is_forwarded_before_its_last_attempt_has_failed() -> None:
    state = fail(backlog(1), 4, permitting())
    assert decide_forwarding(state, SUBSCRIPTION, TOPIC) is state
    state, _ = pull(state, on=permitting())
    assert decide_forwarding(state, SUBSCRIPTION, TOPIC) is state


def test_a_decision_takes_all_exhausted_messages_and_no_others() -> None:
    state = decide_forwarding(fail(backlog(2), 5, permitting()), SUBSCRIPTION, TOPIC)
    assert numbers(state) == {6: [0]}
    assert [span.forward_to for span in forwardings(state)[6]] == [TOPIC]
    assert available(state, on=permitting()) == [1]
    assert decide_forwarding(state, SUBSCRIPTION, TOPIC) is state


def test_the_numbers_of_decisions_rise_and_are_never_given_twice() -> None:
    # "A crash between those two steps must neither lose nor duplicate the forwarded message."
    state = two_forwardings()
    assert list(numbers(state).items()) == [(6, [0]), (12, [1])]
    targets = [span.forward_to for each in forwardings(state).values() for span in each]
    assert targets == [TOPIC, "e" * 32]
    assert state.next_lease_id == 13


def test_a_message_on_its_way_is_not_delivered() -> None:
    # "the message is forwarded, never delivered again"
    state = decide_forwarding(worn_out(), SUBSCRIPTION, TOPIC)
    for on in (permitting(), permitting(100), terms()):
        assert take(state, on=on, now=10_000)[1] == []
        settled = delivery.settle(state, on, at(10_000))
        assert numbers(settled) == {6: [0]}
        assert settled.spans == state.spans  # with the count of its deliveries


@pytest.mark.parametrize("lease_id", [5, 6])  # of its last delivery, and of its forwarding
def test_a_late_ack_does_not_stop_a_forwarding(lease_id: int) -> None:
    # decided with the pull's own commit: the copy may already stand in the dead-letter topic
    before = decide_forwarding(worn_out(), SUBSCRIPTION, TOPIC)
    state, outcomes = ack(before, {lease_id: [0]}, on=permitting())
    assert (outcomes, state.spans) == ({"expired": {lease_id: {0}}}, before.spans)
    state, outcomes = modify(before, {lease_id: [0]}, 0, on=permitting())
    assert (outcomes, state) == ({"expired": {lease_id: {0}}}, before)


def test_a_forwarded_message_is_acked_and_counted_once() -> None:
    # "then it is acked on the source"; "Metric: subscription/dead_letter_message_count"
    before = decide_forwarding(worn_out(3), SUBSCRIPTION, TOPIC)
    state = forwarded(before, 6)
    assert (state.count(), state.counters.dead_letters) == (0, 3)
    for number in (6, 5, 99):  # the same again, a lease, and one that never was
        assert forwarded(state, number) == give_back(state, number) == state
    assert ack(state, {5: [0]}, on=permitting())[1] == {"success": {5: {0}}}


def test_one_forwarding_is_finished_without_the_other() -> None:
    state = forwarded(two_forwardings(), 12)
    assert (numbers(state), state.counters.dead_letters) == ({6: [0]}, 1)


def test_what_could_not_be_forwarded_stays_exhausted() -> None:
    # "If the dead-letter topic cannot be written (gone), nothing is forwarded or lost: the
    # message stays on the source"
    state = give_back(two_forwardings(), 6)
    assert (numbers(state), state.count(), state.counters.dead_letters) == ({12: [1]}, 2, 0)
    assert take(state, on=permitting())[1] == []
    assert attempts(state, permitting(6)) == {0: 6}
    # and the next decision has a number of its own
    assert numbers(decide_forwarding(state, SUBSCRIPTION, TOPIC)) == {12: [1], 13: [0]}


def test_every_part_of_a_decision_has_a_number_of_its_own() -> None:
    """A number that was used again would be skipped by Delta, with all of its messages."""
    state = worn_out(3)
    parts = [Positions.of([n]) for n in range(3)]
    decided = decide_forwarding(state, permitting().subscription, "uid", parts)
    numbers_ = sorted(numbers(decided))
    assert numbers_ == [state.next_lease_id + n for n in range(3)]
    assert decided.next_lease_id == max(numbers_) + 1
