"""How long the messages of an outstanding lease are extended, whole and to the second."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pubsub_delta.policy.ack_requests import AckResponse
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.outstanding import Delivery, Outstanding, OutstandingLease
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import at

TEN = timedelta(seconds=10)


def of(**named: list[int]) -> dict[timedelta, Positions]:
    """Return positions by seconds, given as ``s10=[…]``."""
    return {timedelta(seconds=int(each[1:])): Positions.of(ids) for each, ids in named.items()}


def lease(*unread: int, **ends: float | None) -> OutstandingLease[Delivery]:
    """Return a lease of 0 to 10 whose messages ``m3=…`` clients have until a time, or not yet."""
    made: OutstandingLease[Delivery] = OutstandingLease(at(0), at(10), TEN, Positions.of(unread))
    for name, end in ends.items():
        position = int(name[1:])
        made.read[position] = Delivery(1, position, 10, "")
        made.read[position].deadline = None if end is None else at(end)
    return made


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ({}, {"s10": [0]}),
        ({"m1": None, "m2": None}, {"s10": [0, 1, 2]}),
        ({"m1": 4, "m2": 15}, {"s10": [0, 1, 2]}),  # 10 s from now is later
        ({"m1": 15.5}, {"s10": [0], "s20": [1]}),
        ({"m1": 25}, {"s10": [0], "s20": [1]}),
        ({"m1": 25.000001}, {"s10": [0], "s30": [1]}),
        ({"m1": 30, "m2": 34, "m3": 35, "m4": None}, {"s10": [0, 4], "s30": [1, 2, 3]}),
    ],
)
def test_a_message_that_a_client_has_stays_leased_until_its_deadline_at_least(
    ends: dict[str, float | None], expected: dict[str, list[int]]
) -> None:
    """Ends are joined in steps of 10 seconds, so that a request has few deadlines."""
    assert lease(0, **ends).deadlines(at(5)) == of(**expected)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ({"m1": None}, {"s10": [0, 1]}),
        ({"m1": 4}, {"s10": [0], "s1": [1]}),
        ({"m1": 5}, {"s10": [0], "s1": [1]}),
        ({"m1": 6}, {"s10": [0], "s1": [1]}),
        ({"m1": 6.000001}, {"s10": [0], "s2": [1]}),
        ({"m1": 15, "m2": 14.5}, {"s10": [0, 1, 2]}),
        ({"m1": 35}, {"s10": [0], "s30": [1]}),
    ],
)
def test_the_last_time_it_stays_leased_no_longer_than_that(
    ends: dict[str, float | None], expected: dict[str, list[int]]
) -> None:
    found = lease(0, **ends).deadlines(at(5), is_last=True)
    assert found == of(**expected)


def test_a_lease_that_was_read_whole_asks_for_nothing_unread() -> None:
    assert lease(m1=25.0).deadlines(at(5)) == of(s20=[1])
    assert lease().deadlines(at(5)) == {}


def test_the_known_end_of_a_message_is_told_once_a_client_has_it() -> None:
    """ "No other process has moved the others: nobody knows their ack ids yet." """
    made = lease(0, m1=25.0, m2=None, m3=4.0, m4=30.0)
    made.read[4].leased_until = at(40)
    asked = Positions.of([0, 1, 2, 4])
    assert made.known_ends(asked) == {at(10): Positions.of([1]), at(40): Positions.of([4])}
    assert made.known_ends(Positions()) == {}
    assert (len(made), list(made.positions)) == (5, [0, 1, 2, 3, 4])


def test_an_extension_that_was_asked_for_once_does_not_move_a_later_end() -> None:
    """A request that asks for no extension leaves the end of the lease where it is."""
    book: Outstanding[Delivery, str] = Outstanding(0.5)
    book.lease(1, Positions.of([0]), at(0), at(10), TEN)
    first = book.request(at(6))
    assert first.deadlines == {TEN: {1: Positions.of([0])}}
    assert book.leases[1].until == at(10)
    second = book.request(at(4))
    assert second.deadlines == {}, "a lease is extended when half of it is over"
    book.apply(second, AckResponse(), at(4))
    assert book.leases[1].until == at(10)
    again = book.request(at(7))
    book.apply(again, AckResponse(deadlines={TEN: Outcomes({1: Positions.of([0])})}), at(7))
    assert book.leases[1].until == at(17)
