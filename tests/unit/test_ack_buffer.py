"""The ack buffer: whole requests, and the outcome of each waiter, also after a failed commit."""

from __future__ import annotations

from datetime import timedelta

from pubsub_delta.policy.ack_buffer import NACK, AckBuffer, Settled
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import at

TEN, MINUTE = timedelta(seconds=10), timedelta(minutes=1)


def of(**leases: list[int]) -> dict[int, Positions]:
    """Return positions by lease, given as ``l1=[…]``."""
    return {int(name[1:]): Positions.of(found) for name, found in leases.items()}


def filled() -> AckBuffer[str]:
    buffer: AckBuffer[str] = AckBuffer()
    buffer.acknowledge((1, 0), "ack")
    buffer.acknowledge((2, 5))
    assert buffer.modify_ack_deadline((1, 1), MINUTE, "longer")
    assert buffer.modify_ack_deadline((1, 1), TEN, "shorter")
    assert buffer.modify_ack_deadline((1, 2), NACK, "nack")
    assert not buffer.modify_ack_deadline((1, 2), TEN, "after a nack")
    assert buffer.modify_ack_deadline((2, 6), MINUTE, "replaced")
    buffer.acknowledge((2, 6), "instead")
    buffer.acknowledge_again((1, 7), "again")
    buffer.acknowledge_again((1, 8), "too late")
    buffer.together([(1, 0), (2, 5)])
    buffer.give_back(1, Positions.of([9]))
    buffer.give_back(1, Positions.of([10]))
    return buffer


OWN = {TEN: of(l1=[1, 3], l2=[4]), NACK: of(l3=[1])}
KNOWN = {at(10): of(l1=[1, 2, 3], l3=[1])}
REQUEST = AckRequest(
    of(l1=[0], l2=[5, 6]),
    {TEN: of(l1=[1, 3], l2=[4]), NACK: of(l1=[2], l3=[1])},
    of(l1=[9, 10]),
    of(l1=[7, 8]),
    {at(10): of(l1=[3], l3=[1])},
    (of(l1=[0], l2=[5]),),
)


def test_one_request_takes_all_that_waits_and_no_deadline_that_was_replaced() -> None:
    """ "Of several deadlines of a delivery the last one is written, and none after a nack." """
    buffer = filled()
    assert len(buffer) == 7
    assert buffer.request(OWN, KNOWN) == REQUEST
    assert len(buffer) == 7, "it is not written yet"


def test_a_request_that_failed_is_part_of_the_next_one() -> None:
    buffer = filled()
    buffer.request(OWN, KNOWN)
    assert buffer.request(OWN, KNOWN) == REQUEST
    buffer.acknowledge((1, 1), "later")
    buffer.give_back(1, Positions.of([11]))
    buffer.acknowledge_again((3, 3), "another")
    buffer.together([(1, 1)])
    found = buffer.request({}, {})
    assert found == AckRequest(
        of(l1=[0, 1], l2=[5, 6]),
        {NACK: of(l1=[2])},
        of(l1=[9, 10, 11]),
        of(l1=[7, 8], l3=[3]),
        {},
        (of(l1=[0], l2=[5]), of(l1=[1])),
    )


def test_each_waiter_gets_the_outcome_of_what_was_written_for_it() -> None:
    buffer = filled()
    buffer.request({}, {})
    buffer.acknowledge((1, 99), "of the next request")
    response = AckResponse(
        Outcomes(success=of(l1=[0]), expired=of(l2=[6])),
        {TEN: Outcomes(success=of(l1=[1])), NACK: Outcomes(expired=of(l1=[2]))},
        still_acknowledged=of(l1=[7]),
    )
    assert buffer.settle(response) == [
        Settled("ack", None, "success"),
        Settled("longer", MINUTE, "success"),
        Settled("shorter", TEN, "success"),
        Settled("nack", NACK, "expired"),
        Settled("replaced", MINUTE, "expired"),
        Settled("instead", None, "expired"),
        Settled("again", None, "success", again=True),
        Settled("too late", None, "invalid", again=True),
    ]
    assert len(buffer) == 1
    assert buffer.settle(response) == []
    assert buffer.give_up() == ["of the next request"]
    assert (len(buffer), bool(buffer)) == (0, False)


def test_an_ack_that_was_postponed_is_told_so_and_a_deadline_never() -> None:
    buffer = filled()
    buffer.request({}, {})
    deadlines = {each: Outcomes(success=of(l1=[1, 2])) for each in (TEN, NACK)}
    response = AckResponse(Outcomes(), deadlines, postponed=of(l1=[0, 1, 2], l2=[6]))
    told = {each.waiter: each.outcome for each in buffer.settle(response)}
    assert told == {
        "ack": "postponed",
        "longer": "success",
        "shorter": "success",
        "nack": "success",
        "replaced": "postponed",
        "instead": "postponed",
        "again": "invalid",
        "too late": "invalid",
    }


def test_what_is_held_waits_until_every_hold_is_released() -> None:
    buffer: AckBuffer[str] = AckBuffer()
    buffer.acknowledge((1, 0), "before")
    buffer.hold()
    buffer.hold()
    buffer.acknowledge((1, 1), "held")
    assert buffer.modify_ack_deadline((1, 2), TEN, "also")
    assert (len(buffer), bool(buffer)) == (3, True)
    assert buffer.request({}, {}).acknowledged == of(l1=[0])
    buffer.release()
    assert buffer.request({}, {}).acknowledged == of(l1=[0])
    buffer.release()
    found = buffer.request({}, {})
    assert (found.acknowledged, found.deadlines) == (of(l1=[0, 1]), {TEN: of(l1=[2])})
    assert buffer.give_up() == ["before", "held", "also"]


def test_giving_up_drops_what_was_sent_what_waits_and_what_is_held() -> None:
    buffer = filled()
    buffer.request({}, {})
    buffer.acknowledge((4, 0), "waits")
    buffer.hold()
    buffer.acknowledge((4, 1), "held")
    sent = ["ack", "longer", "shorter", "nack", "replaced", "instead", "again", "too late"]
    assert buffer.give_up() == [*sent, "waits", "held"]
    assert (len(buffer), bool(buffer)) == (0, False)
    assert buffer.request({}, {}) == AckRequest({}, {}, {}, {}, {}, ())


def test_nothing_of_a_client_is_no_reason_to_write() -> None:
    """Given back messages are; calls whose acks are noted together are not."""
    buffer: AckBuffer[str] = AckBuffer()
    buffer.together([(1, 0)])
    assert not buffer
    buffer.give_back(1, Positions.of([1]))
    assert buffer
    assert len(buffer) == 0
