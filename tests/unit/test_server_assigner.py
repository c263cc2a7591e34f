"""Who is given which message: fairly, within flow control, and each key in one place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server.assigner import UNLIMITED_MESSAGES, Assigner, Consumer, Delivery, prefetch
from tests.unit.builders import START


def delivery(position: int, key: str = "", size: int = 10) -> Delivery:
    received = ReceivedMessage(f"ack-{position}", str(position), START, b"", {}, key, None)
    return Delivery(1, position, size, key, received=received)


def assigner_of(*deliveries: Delivery, ordered: bool = False) -> Assigner:
    made = Assigner(ordered=ordered)
    made.waiting.extend(deliveries)
    return made


def positions(deliveries: list[Delivery]) -> list[int]:
    return [each.position for each in deliveries]


def test_messages_are_spread_evenly() -> None:
    consumers = [Consumer() for _ in range(3)]
    given_to = assigner_of(*map(delivery, range(9))).assign(consumers)
    assert [len(given_to[each]) for each in consumers] == [3, 3, 3]


def test_whoever_has_fewest_is_given_first() -> None:
    busy, idle = Consumer(), Consumer()
    assigner = assigner_of(*map(delivery, range(4)))
    assigner.assign([busy])
    assigner.waiting.extend(map(delivery, range(4, 8)))
    assert positions(assigner.assign([busy, idle])[idle]) == [4, 5, 6, 7]


def test_consumers_that_have_equally_many_take_turns() -> None:
    one, other = Consumer(), Consumer()
    assigner = assigner_of()
    given: list[Consumer] = []
    for position in range(4):
        assigner.waiting.append(delivery(position))
        ((consumer, (got,)),) = assigner.assign([one, other]).items()
        assigner.release(got)
        given.append(consumer)
    assert given == [one, other, one, other]


def test_what_one_consumer_does_not_answer_goes_to_another() -> None:
    """Else a stream that hangs gets a message again and again, until it is a dead letter."""
    hung, healthy = Consumer(), Consumer()
    assigner = assigner_of(delivery(0))
    (unanswered,) = assigner.assign([hung, healthy])[hung]
    for position in (1, 2):  # the other one is given more meanwhile, and answers
        assigner.waiting.append(delivery(position))
        assigner.release(assigner.assign([hung, healthy])[healthy][0])
    assigner.release(unanswered)  # its deadline has passed
    assigner.waiting.append(delivery(0))
    assert positions(assigner.assign([hung, healthy])[healthy]) == [0]


def test_many_that_one_consumer_does_not_answer_go_to_another() -> None:
    hung, healthy = Consumer(), Consumer()
    assigner = assigner_of(*map(delivery, range(10)))
    given = assigner.assign([hung, healthy])
    for each in given[hung]:
        assigner.fail(each)
    for each in (*given[hung], *given[healthy]):
        assigner.release(each)
    failed = positions(given[hung])
    assert len(failed) == 5
    assigner.waiting.extend(map(delivery, [*failed, 10, 11]))
    again = assigner.assign([hung, healthy])
    assert positions(again[healthy])[:5] == failed
    assert positions(again[hung]) == [10, 11], "other messages come to it all the same"


def test_what_one_consumer_did_not_answer_comes_to_it_again_if_no_other_has_room() -> None:
    only, full = Consumer(), Consumer(max_messages=1)
    assigner = assigner_of(delivery(0))
    assigner.assign([full])
    assigner.waiting.append(delivery(1))
    for _ in range(3):
        ((consumer, (got,)),) = assigner.assign([only, full]).items()
        assert consumer is only
        assigner.fail(got)
        assigner.release(got)
        assigner.waiting.append(delivery(1))


def test_so_many_failures_are_remembered() -> None:
    consumer = Consumer()
    assigner = assigner_of()
    for each in map(delivery, range(10_002)):
        each.consumer = consumer
        assigner.fail(each)
    assert len(assigner._failed_at) == 10_000
    assert 0 not in assigner._failed_at


def test_flow_control_by_messages_and_by_bytes() -> None:
    # "the server will stop sending more messages" at max_outstanding_messages or …_bytes
    few, small = Consumer(max_messages=2), Consumer(max_bytes=25)
    assigner = assigner_of(*map(delivery, range(10)))
    given_to = assigner.assign([few, small])
    assert (len(given_to[few]), len(given_to[small])) == (2, 2)
    assert positions(list(assigner.waiting)) == [4, 5, 6, 7, 8, 9]
    assigner.release(given_to[few][0])
    assert positions(assigner.assign([few, small])[few]) == [4]


def test_a_single_message_larger_than_the_limit_still_comes() -> None:
    consumer = Consumer(max_bytes=5)
    assigner = assigner_of(delivery(0, size=100), delivery(1))
    assert positions(assigner.assign([consumer])[consumer]) == [0]
    assert assigner.assign([consumer]) == {}


def test_no_limit_is_a_limit_of_the_server() -> None:
    assert Consumer(max_messages=0).free == Consumer(max_messages=-1).free == UNLIMITED_MESSAGES


def test_a_key_stays_with_its_consumer_until_all_of_it_is_answered_for() -> None:
    # "ordered keys sticking to one stream"
    one, other = Consumer(max_messages=1), Consumer()
    assigner = assigner_of(delivery(0, "a"), ordered=True)
    (first,) = assigner.assign([one])[one]
    assigner.waiting.extend([delivery(1, "a"), delivery(2, "b"), delivery(3, "a")])
    assert positions(assigner.assign([one, other])[other]) == [2]
    one.is_open = False  # gone, but what it has is not answered for
    assert assigner.assign([other]) == {}
    assigner.release(first)
    assert positions(assigner.assign([other])[other]) == [1, 3]


def test_after_all_is_forgotten_every_key_is_free() -> None:
    """A seek voids every lease: nobody answers for them, so nobody would free their keys."""
    first, second = Consumer(), Consumer()
    assigner = assigner_of(*(delivery(n, "k") for n in range(3)), ordered=True)
    assigner.assign([first])
    assigner.waiting.append(delivery(3, "k"))
    assigner.forget()
    assert not assigner.waiting
    assert assigner.assign([first, second]) == {}
    first.is_open = False
    assigner.waiting.append(delivery(4, "k"))
    assert positions(assigner.assign([first, second])[second]) == [4]


def test_without_ordering_a_key_means_nothing() -> None:
    one, other = Consumer(), Consumer()
    given_to = assigner_of(delivery(0, "a"), delivery(1, "a")).assign([one, other])
    assert len(given_to) == 2


def test_prefetch_is_bounded_and_follows_demand() -> None:
    assert prefetch(1000, 0, 20_000) == 1000
    assert prefetch(10, 4000, 20_000) == 8000
    assert prefetch(10, 40_000, 20_000) == 20_000
    assert prefetch(0, 0, 20_000) == 0


limits = st.tuples(st.integers(0, 4), st.integers(0, 60))
messages = st.tuples(st.sampled_from(["", "a", "b"]), st.integers(1, 40))


@given(st.lists(limits, min_size=1, max_size=4), st.lists(messages, max_size=30), st.data())
def test_whatever_happens_order_and_limits_hold(
    consumers: list[tuple[int, int]], sent: list[tuple[str, int]], data: Any
) -> None:
    receivers = [Consumer(*each) for each in consumers]
    assigner = assigner_of(*(delivery(n, *each) for n, each in enumerate(sent)), ordered=True)
    held: list[Delivery] = []
    order: list[Delivery] = []
    for _ in range(3 * len(sent) + 1):
        for receiver, got in assigner.assign(receivers).items():
            assert all(each.consumer is receiver for each in got)
            held += got
            order += got
        for receiver in receivers:
            mine = [each for each in held if each.consumer is receiver]
            assert (receiver.messages, receiver.bytes) == (len(mine), sum(m.size for m in mine))
            assert receiver.max_messages <= 0 or len(mine) <= receiver.max_messages
            assert receiver.max_bytes <= 0 or receiver.bytes <= receiver.max_bytes or len(mine) == 1
        for key in "ab":
            assert len({id(each.consumer) for each in held if each.key == key}) <= 1
        if not held:
            break
        done = held.pop(data.draw(st.integers(0, len(held) - 1)))
        assigner.release(done)
        assert done.consumer is None
    assert len(order) == len(sent)
    for key in "ab":
        of_key = positions([each for each in order if each.key == key])
        assert of_key == sorted(of_key)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_closed_consumer_has_no_room(is_open: bool) -> None:
    consumer = Consumer()
    consumer.is_open = is_open
    assert bool(consumer.free) == consumer.has_room(1) == is_open


def test_a_consumer_that_is_paused_gets_none() -> None:
    """A pusher pauses after failures (Pub/Sub: push backoff)."""
    consumer = Consumer()
    consumer.is_paused = True
    assert (consumer.free, consumer.has_room(1)) == (0, False)
    consumer.is_paused = False
    assert consumer.has_room(1)


@pytest.mark.parametrize(("singly", "at_once"), [(True, 1), (False, 2)])
def test_an_endpoint_gets_one_message_of_a_key_at_a_time(singly: bool, at_once: int) -> None:
    """Pub/Sub: a push subscription has one outstanding message of an ordering key at a time."""
    consumer = Consumer(keys_singly=singly)
    assigner = assigner_of(delivery(0, "a"), delivery(1, "a"), ordered=True)
    assert len(assigner.assign([consumer])[consumer]) == at_once


@pytest.mark.parametrize(
    ("fields", "held", "free"),
    [
        ({}, {}, UNLIMITED_MESSAGES),
        ({"max_messages": 3}, {}, 3),
        ({"max_messages": 3}, {"messages": 2}, 1),
        ({"max_messages": 3}, {"messages": 3}, 0),
        ({"max_messages": 3}, {"messages": 4}, 0),
        ({"max_messages": 3, "max_bytes": 100}, {"messages": 1, "bytes": 99}, 2),
        ({"max_messages": 3, "max_bytes": 100}, {"messages": 1, "bytes": 100}, 0),
        ({"max_messages": 3, "max_unsent": 100}, {"unsent": 99}, 3),
        ({"max_messages": 3, "max_unsent": 100}, {"unsent": 100}, 0),
        ({"max_messages": 3, "max_unsent": 100}, {"unsent": 101}, 0),
        ({"max_messages": 3, "max_unsent": 0}, {"unsent": 101}, 3),
    ],
)
def test_a_consumer_has_room_up_to_each_of_its_limits(
    fields: dict[str, Any], held: dict[str, int], free: int
) -> None:
    """By messages, by bytes, and by the bytes that its client has not read; 0 is no limit."""
    consumer = Consumer(**fields)
    for name, number in held.items():
        setattr(consumer, name, number)
    assert consumer.free == free
