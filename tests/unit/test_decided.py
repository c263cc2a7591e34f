"""Messages whose forwarding or write is decided: nothing changes them until it is done."""

from __future__ import annotations

from pubsub_delta.policy import delivery, table_writes
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import decide_forwarding, forwardings, renumbered
from tests.unit.builders import at, backlog, pull, take, terms
from tests.unit.test_redelivery import SUBSCRIPTION, TOPIC, fail, numbers, permitting


def test_the_count_of_deliveries_is_told_whatever_becomes_of_the_policy_and_of_others() -> None:
    """CloudPubSubDeadLetterSourceDeliveryCount: "the number of delivery attempts"."""
    state = decide_forwarding(fail(backlog(2), 5, permitting()), SUBSCRIPTION, TOPIC)
    state = fail(state, 2, permitting(), position=1)
    settled = delivery.settle(state, terms(), at(1))
    assert [span.delivery_attempt for span in forwardings(settled)[6]] == [6]
    _, leased = take(settled, on=permitting())
    assert [span.delivery_attempt for span in leased] == [1]


def test_nothing_else_gets_the_number_that_a_forwarding_is_given_instead() -> None:
    """ "Numbers that were given out are never given again", or Delta would skip an append."""
    state = renumbered(decide_forwarding(fail(backlog(2), 5, permitting()), SUBSCRIPTION, TOPIC), 6)
    ((number, _),) = numbers(state).items()
    following, leased = take(state, on=permitting())
    assert leased[0].lease_id == number + 1
    worn_out = fail(state, 5, permitting(), position=1)
    decided = decide_forwarding(worn_out, SUBSCRIPTION, TOPIC)
    assert list(numbers(decided).values()) == [[0], [1]]
    assert following.next_lease_id == number + 2


def test_each_message_of_a_write_counts_as_acknowledged() -> None:
    """ack_message_count: "the cumulative count of messages acknowledged", written ones, too."""
    state, lease_id = pull(backlog(3))
    state = table_writes.decide(state, lease_id, Positions.of([0, 2]), "lake.orders")
    ((number, _),) = table_writes.writes(state).items()
    state = table_writes.written(state, number, retain=False)
    assert (state.counters.success, state.count()) == (2, 1)
