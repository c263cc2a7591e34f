"""Messages with an ordering key (spec sections 6 and 11)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.redelivery import decide_forwarding, forwarded, give_back
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import (
    ack,
    backlog,
    committed,
    fail_one,
    leased,
    modify,
    nack,
    pull,
    take,
    terms,
)

KEYS = {0: "a", 1: "b", 2: "a", 3: "", 4: "a", 5: "b", 6: "", 7: "a", 8: "c"}
ORDERED = terms(KEYS)
ONCE = terms(KEYS, enable_exactly_once_delivery=True)
RETRYING = terms(KEYS, retry_policy=RetryPolicy(10, 600))
COUNTING = terms(KEYS, dead_letter_policy=DeadLetterPolicy("dead", 5))
TOPIC = "d" * 32


def attempts(
    state: AckState, on: delivery.Terms, now: float = 0, count: int | None = None
) -> dict[int, int]:
    """Return the delivery_attempt of every message that a pull would deliver now."""
    _, spans = take(state, count, now, on=on)
    return {position: span.delivery_attempt for span in spans for position in span.positions}


def free(
    state: AckState, now: float = 0, on: delivery.Terms = ORDERED, count: int | None = None
) -> list[int]:
    """Return the messages that a pull would deliver now, in order."""
    return sorted(attempts(state, on, now, count))


# One outstanding batch per key


def test_a_batch_takes_the_oldest_messages_of_a_key() -> None:
    # "in the order of receipt"; "inside a batch a key's messages are in order"
    assert free(backlog(5)) == [0, 1, 2, 3, 4]
    assert free(backlog(5), count=3) == [0, 1, 2]
    late = delivery.absorb(AckState(after_version=0), [committed([4], 0), committed([0, 2], 9)], 2)
    assert free(late, count=2) == [0, 2]


def test_a_leased_key_gives_nothing_while_others_flow() -> None:
    # "While a key has leased or backing-off messages, pull returns none of that key"
    state, lease_id = pull(backlog(9), 1, on=ORDERED)
    assert leased(state, on=ORDERED) == {lease_id: [0]}
    assert free(state) == [1, 3, 5, 6, 8]
    # "Only messages with a non-empty ordering key are ordered"
    state, _ = pull(state, 2, on=ORDERED)
    assert free(state) == [6, 8]


def test_a_key_goes_on_once_its_whole_batch_is_acked() -> None:
    # "one outstanding batch per key"
    state, lease_id = pull(backlog(9), 3, on=ORDERED)
    assert leased(state, on=ORDERED) == {lease_id: [0, 1, 2]}
    state, _ = ack(state, {lease_id: [0]}, on=ORDERED)
    assert free(state) == [3, 6, 8]
    state, _ = ack(state, {lease_id: [2]}, on=ORDERED)
    assert free(state) == [3, 4, 6, 7, 8]


def test_without_ordering_keys_mean_nothing() -> None:
    # "Only messages … `enable_message_ordering`"
    fields = replace(ORDERED.subscription, enable_message_ordering=False)
    unordered = replace(ORDERED, subscription=fields)
    state, lease_id = pull(backlog(9), 5, on=unordered)
    assert free(state, on=unordered) == [5, 6, 7, 8]
    state, _ = ack(state, {lease_id: [2]}, on=unordered)
    state = nack(state, {lease_id: [0]}, on=unordered)
    assert leased(state, on=unordered) == {lease_id: [1, 3, 4]}
    assert free(state, on=unordered) == [0, 5, 6, 7, 8]
    assert state.count(State.ACKED) == 0  # no ack is ever taken back


# A failure inside a batch


def test_a_failure_ends_the_leases_of_the_later_messages_of_its_key() -> None:
    # "the failure of a message ends the leases of the later messages of its key at once"
    state, lease_id = pull(backlog(9), on=ORDERED)
    state = nack(state, {lease_id: [2]}, on=ORDERED)
    # not of the earlier one, nor of other keys, nor of messages without one
    assert leased(state, on=ORDERED) == {lease_id: [0, 1, 3, 5, 6, 8]}
    # "they return together, in order": but one batch at a time, and 0 is still out
    assert free(state) == []
    state, _ = ack(state, {lease_id: [0]}, on=ORDERED)
    assert free(state) == [2, 4, 7]


def test_a_keyless_failure_takes_nothing_with_it() -> None:
    state, lease_id = pull(backlog(9), on=ORDERED)
    state, _ = ack(state, {lease_id: [6]}, on=ORDERED)
    state = nack(state, {lease_id: [3]}, on=ORDERED)
    assert leased(state, on=ORDERED) == {lease_id: [0, 1, 2, 4, 5, 7, 8]}
    assert free(state) == [3]


def test_later_messages_return_even_if_they_were_acked() -> None:
    # "redelivered together with every later message of its key in its batch, even acked ones"
    state, lease_id = pull(backlog(9), on=ORDERED)
    state, outcomes = ack(state, {lease_id: [0, 1, 4, 5, 6]}, on=ORDERED)
    assert outcomes == {"success": {lease_id: {0, 1, 4, 5, 6}}}
    assert state.count() == 4
    state = nack(state, {lease_id: [2]}, on=ORDERED)
    assert (free(state), state.count()) == ([2, 4, 7], 5)


def test_with_exactly_once_an_ack_is_final() -> None:
    # "except with exactly-once, where a successful ack is final"
    state, lease_id = pull(backlog(9), on=ONCE)
    state, _ = ack(state, {lease_id: [0, 4]}, on=ONCE)
    state = nack(state, {lease_id: [2]}, on=ONCE)
    assert free(state, on=ONCE) == [2, 7]


def test_messages_that_return_with_an_earlier_one_count_no_attempt() -> None:
    # "Messages that return only because of an earlier one do not count a failed attempt"
    state, lease_id = pull(backlog(9), on=COUNTING)
    state, _ = ack(state, {lease_id: [4]}, on=COUNTING)
    state = nack(state, {lease_id: [0]}, on=COUNTING)
    assert attempts(state, COUNTING) == {0: 2, 2: 1, 4: 1, 7: 1}


def test_messages_that_return_with_an_earlier_one_count_no_failure() -> None:
    state, lease_id = pull(backlog(3), on=RETRYING)
    state, _ = ack(state, {lease_id: [1]}, 0, RETRYING)
    state = nack(state, {lease_id: [0]}, 0, RETRYING)
    state, lease_id = pull(state, now=10, on=RETRYING)
    state, _ = ack(state, {lease_id: [0]}, 10, RETRYING)
    state = nack(state, {lease_id: [2]}, 10, RETRYING)  # its first failure: ten seconds
    assert (free(state, 19.999999, RETRYING), free(state, 20, RETRYING)) == ([], [2])


def test_a_nack_of_several_messages_of_a_key_is_a_failure_of_each() -> None:
    # "one nack call with several messages of a key is a failure of each, each reported success"
    state, lease_id = pull(backlog(9), on=COUNTING)
    state, outcomes = modify(state, {lease_id: [0, 4, 5]}, 0, on=COUNTING)
    assert outcomes == {"success": {lease_id: {0, 4, 5}}}
    assert leased(state, on=COUNTING) == {lease_id: [1, 3, 6, 8]}
    state, _ = ack(state, {lease_id: [1]}, on=COUNTING)
    assert attempts(state, COUNTING) == {0: 2, 2: 1, 4: 2, 5: 2, 7: 1}


def test_a_batch_that_expires_is_a_failure_of_each_of_its_messages() -> None:
    # "a batch that expires is a failure of each of its messages"
    state, _ = pull(backlog(5), deadline=10, on=COUNTING)
    assert free(state, 9.999999, COUNTING) == []
    assert attempts(state, COUNTING, now=10) == {0: 2, 1: 2, 2: 2, 3: 2, 4: 2}


def test_of_a_batch_that_expires_later_acked_messages_return_uncounted() -> None:
    state, lease_id = pull(backlog(5), deadline=10, on=COUNTING)
    state, _ = ack(state, {lease_id: [1, 2]}, 5, COUNTING)
    assert attempts(state, COUNTING, now=10) == {0: 2, 2: 1, 3: 2, 4: 2}


def test_a_nack_after_its_lease_was_ended_by_an_earlier_message_is_expired() -> None:
    # "modify_ack_deadline after the lease is over | expired, … no effect"
    state, lease_id = pull(backlog(3), on=COUNTING)
    state = nack(state, {lease_id: [0]}, on=COUNTING)
    state, outcomes = modify(state, {lease_id: [2]}, 0, on=COUNTING)
    assert outcomes == {"expired": {lease_id: {2}}}
    assert attempts(state, COUNTING) == {0: 2, 2: 1}


# Deadlines that were moved


def test_a_deadline_that_passes_earlier_ends_the_later_leases_with_it() -> None:
    # "the failure of a message ends the leases of the later messages of its key at once"
    state, lease_id = pull(backlog(5), deadline=10, on=COUNTING)
    state, _ = modify(state, {lease_id: [2, 4]}, 600, on=COUNTING)
    state, _ = modify(state, {lease_id: [0]}, 3, on=COUNTING)
    assert leased(state, 2.999999, COUNTING) == {lease_id: [0, 1, 2, 3, 4]}
    assert leased(state, 3, COUNTING) == {lease_id: [1, 3]}
    assert attempts(state, COUNTING, now=3) == {0: 2, 2: 1, 4: 1}


def test_a_later_deadline_that_passes_first_leaves_the_earlier_message_leased() -> None:
    state, lease_id = pull(backlog(5), deadline=10, on=COUNTING)
    state, _ = modify(state, {lease_id: [2]}, 3, on=COUNTING)
    assert leased(state, 3, COUNTING) == {lease_id: [0, 1, 3]}
    assert free(state, 3, COUNTING) == []
    state, _ = ack(state, {lease_id: [0]}, 4, COUNTING)
    assert attempts(state, COUNTING, now=4) == {2: 2, 4: 1}


@pytest.mark.parametrize("noticed", [[3, 10], [10], [5000]])
def test_deadlines_pass_in_their_order_whenever_that_is_noticed(noticed: list[float]) -> None:
    # "Redelivery is decided lazily": 4 returned with 2 at 3 s, so it did not fail at 10 s
    state, lease_id = pull(backlog(5), deadline=10, on=COUNTING)
    state, _ = modify(state, {lease_id: [2]}, 3, on=COUNTING)
    for now in noticed:
        state = take(state, 0, now, on=COUNTING)[0]
    assert attempts(state, COUNTING, now=noticed[-1]) == {0: 2, 1: 2, 2: 2, 3: 2, 4: 1}


# Backoff


def test_a_key_waits_for_its_whole_backoff_and_no_other_does() -> None:
    # "with ordering, only that key waits"
    state, lease_id = pull(backlog(9), on=RETRYING)
    state, _ = ack(state, {lease_id: [1, 3, 5, 6]}, 1, RETRYING)
    state = nack(state, {lease_id: [0, 8]}, 1, RETRYING)
    state = delivery.absorb(state, [committed([9, 10, 11], 2)], version=2)
    on = terms({**KEYS, 9: "a", 10: "b", 11: ""}, retry_policy=RetryPolicy(10, 600))
    assert free(state, 2, on) == [10, 11]
    assert free(state, 10.999999, on) == [10, 11]
    # "they return together, in order, after its backoff"
    assert free(state, 11, on) == [0, 2, 4, 7, 8, 9, 10, 11]


def test_the_backoff_of_a_batch_counts_from_its_deadline_however_late_it_is_noticed() -> None:
    # "Redelivery is decided lazily, at the next pull"
    state, _ = pull(backlog(3), deadline=10, on=RETRYING)
    state = take(state, 0, 17, on=RETRYING)[0]
    assert (free(state, 19.999999, RETRYING), free(state, 20, RETRYING)) == ([], [0, 1, 2])


def test_a_key_waits_for_the_longest_backoff_of_its_messages() -> None:
    state, lease_id = pull(backlog(3), on=RETRYING)
    state = nack(state, {lease_id: [0]}, 0, RETRYING)
    state, lease_id = pull(state, now=10, on=RETRYING)
    state = nack(state, {lease_id: [0, 2]}, 10, RETRYING)  # 2 waits until 20, 0 until 30
    assert [free(state, now, RETRYING) for now in (20, 29.999999, 30)] == [[1], [1], [0, 1, 2]]


# After a key's message went to the dead-letter topic


def worn_out() -> AckState:
    """Return a state where message 0 has failed all its attempts, and 1 is acked."""
    state = backlog(9)
    for _ in range(5):
        state = fail_one(state, 0, COUNTING)
    state, lease_id = pull(state, 1, on=COUNTING)
    return ack(state, {lease_id: [1]}, on=COUNTING)[0]


def test_a_key_goes_on_in_the_step_that_forwards_its_message() -> None:
    # "After dead-lettering a message its key goes on."
    state = worn_out()
    assert free(state, on=COUNTING) == [3, 5, 6, 8]  # not forwarded yet: the key is held up
    state = decide_forwarding(state, COUNTING.subscription, TOPIC)
    assert free(state, on=COUNTING) == [2, 3, 4, 5, 6, 7, 8]
    assert free(forwarded(state, 7), on=COUNTING) == [2, 3, 4, 5, 6, 7, 8]


def test_a_message_that_could_not_be_forwarded_holds_up_its_key() -> None:
    # "If the dead-letter topic cannot be written (gone) … the message stays on the source"
    state = give_back(decide_forwarding(worn_out(), COUNTING.subscription, TOPIC), 7)
    assert free(state, on=COUNTING) == [3, 5, 6, 8]
    assert free(state, on=COUNTING, count=2) == [3, 5]
    # "Clearing the policy forgets the counts": then it is delivered, before the rest of its key
    assert free(state, on=ORDERED) == [0, 2, 3, 4, 5, 6, 7, 8]


def test_what_returned_with_a_dead_letter_is_delivered_after_it_went() -> None:
    on = terms({0: "a", 1: "a", 2: "a"}, dead_letter_policy=DeadLetterPolicy("dead", 5))
    state = backlog(3)
    for _ in range(5):
        state, lease_id = pull(state, on=on)
        state, _ = ack(state, {lease_id: [2]}, on=on)
        state = nack(state, {lease_id: [0]}, on=on)
    assert free(state, on=on) == []
    state = decide_forwarding(state, on.subscription, TOPIC)
    assert attempts(state, on) == {1: 1, 2: 1}


# Acks


def test_a_late_ack_follows_the_general_rule() -> None:
    # "a late ack follows the general rule": "expired; it is acked by this"
    state, lease_id = pull(backlog(5), deadline=10, on=ORDERED)
    state, outcomes = ack(state, {lease_id: [0, 4]}, 11, ORDERED)
    assert outcomes == {"expired": {lease_id: {0, 4}}}
    assert free(state, 11) == [1, 2, 3]


def test_a_late_ack_of_what_returned_with_an_earlier_message_acks_it() -> None:
    state, lease_id = pull(backlog(5), on=ORDERED)
    state, _ = ack(state, {lease_id: [4]}, on=ORDERED)
    state = nack(state, {lease_id: [0]}, on=ORDERED)
    state, outcomes = ack(state, {lease_id: [2, 4]}, on=ORDERED)
    assert outcomes == {"expired": {lease_id: {2, 4}}}
    assert free(state) == [0]


def test_a_late_ack_of_the_failed_message_lets_its_key_go_on() -> None:
    state, lease_id = pull(backlog(3), on=RETRYING)
    state = nack(state, {lease_id: [0]}, 0, RETRYING)
    assert free(state, 5, RETRYING) == []
    state, _ = ack(state, {lease_id: [0]}, 5, RETRYING)
    assert free(state, 5, RETRYING) == [2]


def test_a_late_ack_does_not_take_a_message_from_another_batch() -> None:
    # "unless it is under another lease"
    state, first = pull(backlog(3), deadline=10, on=ORDERED)
    state, second = pull(state, now=10, on=ORDERED)
    state, outcomes = ack(state, {first: [2]}, 11, ORDERED)
    assert outcomes == {"expired": {first: {2}}}
    assert leased(state, 11, ORDERED) == {second: [0, 1, 2]}


def test_an_ack_is_idempotent_while_it_can_still_be_taken_back() -> None:
    # "acknowledge(ack_ids): idempotent without exactly-once"
    state, lease_id = pull(backlog(3), on=ORDERED)
    once, _ = ack(state, {lease_id: [2]}, on=ORDERED)
    twice, outcomes = ack(once, {lease_id: [2]}, on=ORDERED)
    assert (outcomes, twice.spans) == ({"success": {lease_id: {2}}}, once.spans)
    assert free(nack(twice, {lease_id: [0]}, on=ORDERED)) == [0, 2]


def test_acks_are_final_once_the_whole_lease_is_over() -> None:
    # a failure brings back "every later message of its key in its batch": none is left to fail
    state, lease_id = pull(backlog(5), deadline=10, on=ORDERED)
    state, _ = ack(state, {lease_id: [0, 2, 4, 1]}, on=ORDERED)
    assert (state.count(), state.count(State.ACKED)) == (1, 4)
    assert ack(state, {lease_id: [3]}, on=ORDERED)[0].spans == ()
    assert take(state, 0, 10, on=ORDERED)[0].count(State.ACKED) == 0
    assert free(state, 10_000) == [3]


def test_acks_before_the_failed_message_stay() -> None:
    state, lease_id = pull(backlog(5), deadline=10, on=ORDERED)
    assert free(ack(state, {lease_id: [0, 2]}, on=ORDERED)[0], 10) == [1, 3, 4]


def test_acks_of_one_delivery_are_not_taken_back_by_the_failure_of_another() -> None:
    state, first = pull(backlog(5), 4, deadline=60, on=ORDERED)  # 0 and 2 of the key
    state, _ = ack(state, {first: [0, 2]}, on=ORDERED)
    state, second = pull(state, 1, on=ORDERED)
    assert leased(state, on=ORDERED) == {first: [1, 3], second: [4]}
    assert free(nack(state, {second: [4]}, on=ORDERED)) == [4]


# Many messages of a key that has to wait


def test_a_pull_with_a_limit_looks_past_a_long_row_of_waiting_messages() -> None:
    # "other keys keep flowing", however far behind they stand
    many = 30_000
    on = terms({**dict.fromkeys(range(many), "a"), many: "b", many + 1: "", many + 2: "b"})
    state, lease_id = pull(backlog(many + 3), 1, on=on)
    assert leased(state, on=on) == {lease_id: [0]}
    assert [free(state, on=on, count=count) for count in (1, 2, 3, 4)] == [
        [many],
        [many, many + 1],
        [many, many + 1, many + 2],
        [many, many + 1, many + 2],
    ]


def test_the_oldest_free_messages_come_first_across_a_long_row() -> None:
    many = 30_000
    keys = dict.fromkeys(range(many), "a")
    on = terms({**keys, 5: "b", 20_000: "c", many - 1: "d"})
    state, _ = pull(backlog(many), 1, on=on)
    assert free(state, on=on, count=1) == [5]
    assert free(state, on=on, count=2) == [5, 20_000]
    assert free(state, on=on) == [5, 20_000, many - 1]


def test_a_pull_finds_nothing_where_every_message_waits() -> None:
    many = 30_000
    on = terms(dict.fromkeys(range(many), "a"))
    state, _ = pull(backlog(many), 1, on=on)
    assert take(state, 1, on=on) == (state, [])
