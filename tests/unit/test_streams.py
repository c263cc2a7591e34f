"""Micro-batches of streaming queries: leases named by query and batch id (spec sections 4 to 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pubsub_delta.policy import delivery, redelivery, replay, streams
from pubsub_delta.policy.ack_state import AckState, Seek, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
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
    take,
    terms,
)

TOPIC = "d" * 32
NOT_ONCE, ONCE = terms(), terms(enable_exactly_once_delivery=True)
RETRYING = terms(retry_policy=RetryPolicy(100, 600))
COUNTING = terms(dead_letter_policy=DeadLetterPolicy("dead", 5))
ORDERED = terms({0: "a", 1: "a", 2: "b", 3: "a"})
EITHER = pytest.mark.parametrize("on", [NOT_ONCE, ONCE], ids=["plain", "exactly-once"])


def run(
    state: AckState,
    batch_id: int,
    count: int | None = None,
    now: float = 0,
    on: delivery.Terms = NOT_ONCE,
    query: str = "query",
) -> tuple[AckState, list[int]]:
    """Start a micro-batch as the operation does; return the next state and what it sees."""
    state = delivery.settle(state, on, at(now))
    state = streams.finish_before(state, query, batch_id, on, at(now))
    state = redelivery.decide_forwarding(state, on.subscription, TOPIC)
    state, spans = streams.begin(state, query, batch_id, count, on, at(now))
    return state, sorted(union(spans))


def unprocessed(
    state: AckState,
    batch_id: int,
    now: float = 0,
    on: delivery.Terms = NOT_ONCE,
    failed: bool = True,
    query: str = "query",
) -> AckState:
    return streams.give_back(state, query, batch_id, on, at(now), failed=failed)


def attempts(state: AckState, on: delivery.Terms, now: float) -> dict[int, int]:
    """Return the delivery_attempt of every unacknowledged message."""
    spans = delivery.settle(state, on, at(now)).unacked()
    return {position: span.delivery_attempt for span in spans for position in span.positions}


def unacked(state: AckState) -> list[int]:
    return sorted(union(state.unacked()))


# A new batch id, and one that is run again


def test_a_new_batch_leases_the_oldest_messages_like_a_pull() -> None:
    state, first = run(backlog(5), 0, 2)
    state, pulled = take(state, 1)
    state, other = run(state, 7, query="other")
    assert (first, sorted(union(pulled)), other) == ([0, 1], [2], [3, 4])
    assert leased(state, 9.999999) == {1: [0, 1], 2: [2], 3: [3, 4]}
    assert available(state, 10) == [0, 1, 2, 3, 4]


def test_a_batch_that_gets_none_is_not_remembered() -> None:
    empty = AckState(after_version=0)
    state, seen = run(empty, 3)
    assert (state, seen) == (empty, [])
    state = delivery.absorb(state, [committed([0, 1])], 1)
    assert run(state, 3)[1] == [0, 1]
    # nor may one that got none keep a lower one from what it has not seen
    assert run(state, 2)[1] == [0, 1]


@EITHER
@pytest.mark.parametrize("count", [None, 1, 9])
def test_a_batch_run_again_sees_the_same_and_is_extended(
    on: delivery.Terms, count: int | None
) -> None:
    state, seen = run(backlog(4), 0, 2, on=on)
    state = delivery.absorb(state, [committed([4, 5])], 2)
    for now in (5, 12, 21):
        state, again = run(state, 0, count, now, on)
        assert again == seen == [0, 1]
        assert leased(state, now + 9.999999, on) == {1: [0, 1]}
    assert available(state, 31, on) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("on", [NOT_ONCE, ONCE, RETRYING, COUNTING])
@pytest.mark.parametrize("noticed", [False, True])
def test_an_expired_batch_is_taken_up_again(on: delivery.Terms, noticed: bool) -> None:
    # "taken up again (same lease number, same messages) … even if a retry policy has them back off"
    state, seen = run(backlog(2), 0, on=on)
    if noticed:
        state, nobody = take(state, 0, 11, on=on)
        assert not nobody
    state = delivery.absorb(state, [committed([5])], 2)
    state, again = run(state, 0, now=20, on=on)
    assert again == seen == [0, 1]
    assert leased(state, 29.999999, on) == {1: [0, 1]}


def test_an_expiry_counts_as_a_failed_attempt_though_it_is_taken_up() -> None:
    # "The expiry still counts as a failed attempt where a dead-letter policy is set"
    state, _ = run(backlog(2), 0, on=COUNTING)
    for expiries in range(1, 5):
        state, seen = run(state, 0, now=10 * expiries, on=COUNTING)
        assert seen == [0, 1]
        assert attempts(state, COUNTING, 10 * expiries) == {0: 1 + expiries, 1: 1 + expiries}
    state, seen = run(state, 0, now=50, on=COUNTING)
    assert (seen, sum(map(len, redelivery.forwardings(state)[2]))) == ([], 2)


Aftermath = Callable[[AckState, int], AckState]
"""What another consumer, to whom message 0 went at 10 s under a lease, has done by 30 s."""
AFTERMATHS: dict[str, Aftermath] = {
    "holds it": lambda state, lease_id: modify(state, {lease_id: [0]}, 90, 12)[0],
    "nacked it": lambda state, lease_id: nack(state, {lease_id: [0]}, 12),
    "let it expire": lambda state, lease_id: state,
    "acked it": lambda state, lease_id: ack(state, {lease_id: [0]}, 12)[0],
}


@pytest.mark.parametrize("aftermath", AFTERMATHS.values(), ids=AFTERMATHS)
@pytest.mark.parametrize("other", ["pull", "query"])
def test_a_message_that_others_were_given_since_is_not_seen_again(
    aftermath: Aftermath, other: str
) -> None:
    state, _ = run(backlog(3), 0)
    if other == "pull":
        state, lease_id = pull(state, 1, 10)
    else:
        state, seen = run(state, 0, 1, 10, query="other")
        lease_id = 2
        assert seen == [0]
    state = aftermath(state, lease_id)
    for now in (30, 35, 60):
        state, seen = run(state, 0, now=now)
        assert seen == [1, 2]
        assert leased(state, now)[1] == [1, 2]
    counted = state.counters.success
    state, _ = run(state, 1, 0, 61)
    assert state.counters.success == counted + 2
    assert 0 in unacked(state) or aftermath is AFTERMATHS["acked it"]


def test_several_runs_lose_what_others_were_given_in_between() -> None:
    state, _ = run(backlog(4), 0)
    for now, rest in ((10, [1, 2, 3]), (20, [2, 3]), (30, [3])):
        state, lease_id = pull(state, 1, now)  # always the oldest that is free
        state, seen = run(state, 0, now=now)
        assert seen == rest
        state, _ = ack(state, {lease_id: range(4)}, now)
    assert unacked(state) == [3]


def test_a_lower_batch_id_gets_nothing_and_changes_nothing() -> None:
    state, _ = run(backlog(4), 5, 2)
    assert run(state, 4, now=3) == (state, [])
    assert unprocessed(state, 4, 3) == state


# The end of a micro-batch


@EITHER
@pytest.mark.parametrize("late", [False, True])
def test_the_next_batch_acknowledges_this_one(on: delivery.Terms, late: bool) -> None:
    # "all of batch n that the query still holds, and also what expired and nobody took"
    state, _ = run(backlog(4), 0, 3, on=on)
    state, seen = run(state, 1, now=99 if late else 1, on=on)
    assert (seen, unacked(state)) == ([3], [3])
    assert (state.counters.success, state.counters.expired, state.counters.invalid) == (3, 0, 0)
    # also where it gets none itself, and only once
    state, seen = run(state, 4, now=100, on=on)
    assert (seen, unacked(state), state.counters.success) == ([], [], 4)
    assert run(state, 5, now=101, on=on)[0].counters == state.counters


@EITHER
def test_what_backs_off_or_has_failed_too_often_is_acknowledged_too(on: delivery.Terms) -> None:
    fields = replace(on.subscription, retry_policy=RetryPolicy(100, 600))
    fields = replace(fields, dead_letter_policy=DeadLetterPolicy("dead", 5))
    on = replace(on, subscription=fields)
    state, _ = run(backlog(1), 0, on=on)
    for expiries in range(1, 6):
        assert run(state, 1, now=10 * expiries, on=on)[0].spans == ()
        state, _ = run(state, 0, now=10 * expiries, on=on) if expiries < 5 else (state, None)


@EITHER
def test_the_next_batch_leaves_to_others_what_they_were_given(on: delivery.Terms) -> None:
    # "not what another consumer holds or was given since"
    state, _ = run(backlog(3), 0, on=on)
    state, held = pull(state, 1, 10, 600, on)
    state, given = pull(state, 1, 10, on=on)
    state = nack(state, {given: [1]}, 11, on)
    state, seen = run(state, 1, now=12, on=on)
    assert (seen, leased(state, 12, on)[held], state.counters.success) == ([1], [0], 1)
    assert unacked(state) == [0, 1]


Word = Callable[[AckState, float, delivery.Terms], AckState]
"""What a query says of message 1 of its micro-batch alone."""


def nacking(state: AckState, now: float, on: delivery.Terms) -> AckState:
    return nack(state, {1: [1]}, now, on)


def returning(state: AckState, now: float, on: delivery.Terms) -> AckState:
    return delivery.give_back(state, {1: Positions.of([1])}, on, at(now))


@EITHER
@pytest.mark.parametrize("word", [nacking, returning])
@pytest.mark.parametrize("now", [2, 11], ids=["in time", "late"])
@pytest.mark.parametrize("rerun", [False, True])
def test_what_the_query_gave_back_itself_comes_again(
    on: delivery.Terms, word: Word, now: float, rerun: bool
) -> None:
    # "what the query itself nacked message by message … those come again": too late it changes
    # nothing for others, but still says that the message was not processed
    state, _ = run(backlog(3), 0, on=on)
    state = word(state, now, on)
    if rerun:
        state, seen = run(state, 0, now=12, on=on)
        assert seen == [0, 2]
    state, seen = run(state, 1, now=13, on=on)
    assert (seen, unacked(state)) == ([1], [1])


@pytest.mark.parametrize("rerun", [False, True])
def test_a_late_ack_of_its_own_takes_nothing_from_a_batch(rerun: bool) -> None:
    # with exactly-once "everything but a live, latest lease is invalid and changes nothing"
    state, _ = run(backlog(2), 0, on=ONCE)
    state, outcomes = ack(state, {1: [0]}, 11, ONCE)
    assert outcomes == {"invalid": {1: {0}}}
    if rerun:
        state, seen = run(state, 0, now=12, on=ONCE)
        assert seen == [0, 1]
    state, seen = run(state, 1, now=13, on=ONCE)
    assert (seen, unacked(state)) == ([], [])


@EITHER
def test_what_the_query_acked_itself_stays_acked(on: delivery.Terms) -> None:
    # "messages it acked itself stay acked and are not shown again by a re-run"
    state, _ = run(backlog(3), 0, on=on)
    state, _ = ack(state, {1: [1]}, 2, on)
    for now in (3, 20):
        state, seen = run(state, 0, now=now, on=on)
        assert seen == [0, 2]
    state, seen = run(state, 1, now=21, on=on)
    assert (seen, unacked(state), state.counters.success) == ([], [], 3)


def test_a_failed_batch_is_nacked_and_seen_again_by_its_rerun() -> None:
    # "attempt counted, backoff by the retry policy", "a re-run … gets them again"
    fields = replace(COUNTING.subscription, retry_policy=RetryPolicy(100, 600))
    on = replace(COUNTING, subscription=fields)
    state, _ = run(backlog(2), 0, on=on)
    state = unprocessed(state, 0, 5, on)
    assert (available(state, 104.999999, on), available(state, 105, on)) == ([], [0, 1])
    assert attempts(state, on, 5) == {0: 2, 1: 2}
    again, seen = run(state, 0, now=6, on=on)
    assert (seen, leased(again, 15.999999, on)) == ([0, 1], {1: [0, 1]})
    assert (
        available(unprocessed(again, 0, 7, on), 206.999999, on) == []
    )  # the second failure in a row
    state, _ = pull(state, 1, 105, on=on)
    assert run(state, 0, now=106, on=on)[1] == [1]


@pytest.mark.parametrize("late", [False, True])
def test_a_batch_that_was_stopped_is_free_at_once_and_still_seen_by_its_rerun(late: bool) -> None:
    # "no failed attempt is counted, no backoff"
    fields = replace(COUNTING.subscription, retry_policy=RetryPolicy(100, 600))
    on = replace(COUNTING, subscription=fields)
    state, _ = run(backlog(3), 0, on=on)
    state = unprocessed(state, 0, 12 if late else 5, on, failed=False)
    assert attempts(state, on, 12) == dict.fromkeys(range(3), 2 if late else 1)
    assert available(state, 12, on) == ([] if late else [0, 1, 2])
    state, _ = take(state, 1, 12, on=on)
    assert run(state, 0, now=13, on=on)[1] == ([0, 1, 2] if late else [1, 2])


def test_a_batch_that_fails_as_often_as_permitted_is_forwarded() -> None:
    # "messages that have had all their attempts … are not taken up again, they are forwarded"
    state = backlog(2)
    for _ in range(5):
        state, seen = run(state, 0, on=COUNTING)
        assert seen == [0, 1]
        state = unprocessed(state, 0, on=COUNTING)
    # nor where the dead-letter topic is gone, so that none is forwarded
    assert streams.begin(state, "query", 0, None, COUNTING, at(0))[1] == []
    state, seen = run(state, 0, on=COUNTING)
    assert (seen, sorted(union(redelivery.forwardings(state)[2]))) == ([], [0, 1])


def test_attempts_that_are_used_up_by_an_update_are_used_up() -> None:
    # "messages that have had all their attempts … are not taken up again": not while backing off
    retry = RetryPolicy(600, 600)
    on = terms(dead_letter_policy=DeadLetterPolicy("dead", 10), retry_policy=retry)
    state = backlog(1)
    for _ in range(7):
        state, seen = run(state, 0, on=on)
        assert seen == [0]
        state = unprocessed(state, 0, on=on)
    fewer = terms(dead_letter_policy=DeadLetterPolicy("dead", 5), retry_policy=retry)
    assert run(state, 0, on=fewer)[1] == []


@pytest.mark.parametrize("late", [False, True])
def test_a_seek_voids_a_batch(late: bool) -> None:
    # "a re-run of that batch id gets nothing, and finish_before acknowledges nothing of it"
    state, _ = run(backlog(2), 0)
    now = 20 if late else 5
    state = replay.note_seek(state, Seek(at(now), 0, at(0)), NOT_ONCE)
    state = replace(state, seeks=())
    state, seen = run(state, 0, now=now)
    assert (seen, available(state, now), leased(state, now)) == ([], [0, 1], {})
    state = unprocessed(state, 0, now)
    state, seen = run(state, 1, 1, now)
    assert (seen, unacked(state), state.counters.success) == ([0], [0, 1], 0)
    assert leased(state, now) == {2: [0]}


# Ordering keys


def test_what_a_nack_brings_back_is_not_acknowledged_with_its_micro_batch() -> None:
    # process acknowledged it by its ack id, and then gave an earlier message of its key back:
    # both are delivered again (Pub/Sub: the later messages of the key are redelivered in order)
    state, _ = run(backlog(4), 0, on=ORDERED)
    state, _ = ack(state, {1: [3]}, on=ORDERED)
    state = nack(state, {1: [0]}, on=ORDERED)
    state, _ = run(state, 1, 0, on=ORDERED)
    assert unacked(state) == [0, 1, 3]


def test_a_key_that_another_consumer_holds_is_not_taken_up() -> None:
    state, _ = run(backlog(3), 0, on=ORDERED)
    state, _ = pull(state, 1, 10, on=ORDERED)
    assert run(state, 0, now=11, on=ORDERED)[1] == [2]


def test_a_message_waits_for_earlier_ones_outside_its_batch() -> None:
    state, _ = run(backlog(3), 0, on=ORDERED)
    state, lease_id = pull(state, 1, 10, on=ORDERED)
    state = nack(state, {lease_id: [0]}, 11, ORDERED)
    state, seen = run(state, 0, now=12, on=ORDERED)
    assert seen == [2]
    assert run(state, 1, now=13, on=ORDERED)[1] == [0, 1]


@pytest.mark.parametrize("word", [nacking, returning])
def test_followers_of_what_the_query_gave_back_leave_its_batch(word: Word) -> None:
    state, _ = run(backlog(4), 0, on=ORDERED)
    state, seen = run(word(state, 1, ORDERED), 0, now=2, on=ORDERED)
    assert seen == [0, 2]
    assert run(state, 1, now=3, on=ORDERED)[1] == [1, 3]


# How many are remembered


def test_queries_that_took_messages_least_lately_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "MAX_STREAMS", 2)
    state, _ = run(backlog(9), 0, 1, query="one")
    state, _ = run(state, 0, 1, query="two")
    state, _ = run(state, 1, 1, query="one")
    state, _ = run(state, 0, 1, query="two")  # run again: its lease is still an older one
    state, _ = run(state, 0, 1, query="three")
    remembered = {name: streams.started_last(state, name) for name in ("one", "two", "three")}
    assert [name for name, each in remembered.items() if each] == ["one", "three"]
    # its lease runs on like anyone's
    assert (leased(state, 9), 1 in available(state, 10)) == ({2: [1], 3: [2], 4: [3]}, True)
