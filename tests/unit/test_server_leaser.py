"""The leaser: what a server holds, and what it asks for in one request."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_requests import AckResponse, apply
from pubsub_delta.policy.ack_state import AckState, Seek, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.replay import note_seek
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, TRANSIENT
from pubsub_delta.server.assigner import Consumer
from pubsub_delta.server.lease_lengths import LEASE
from pubsub_delta.server.leaser import Leaser
from tests.unit.builders import PLAIN, at, backlog, terms

NACK = timedelta(0)


@dataclass
class Bench:
    """A leaser on a subscription of some messages, by the real policy."""

    count: int = 4
    keys: str = ""
    exactly_once: bool = False
    seconds: float = 0
    consumer: Consumer = field(default_factory=Consumer)

    def __post_init__(self) -> None:
        keys = dict(enumerate(self.keys)) if self.keys else None
        self.on = terms(keys, enable_exactly_once_delivery=self.exactly_once)
        self.state: AckState = backlog(self.count)
        self.leaser = Leaser(PLAIN.uid, ordered=bool(self.keys), exactly_once=self.exactly_once)

    def ack_id(self, lease_id: int, position: int) -> str:
        return str(AckId(PLAIN.uid, lease_id, position))

    def lease(self, count: int) -> int:
        """Lease and read messages, and give them to the consumer; return the lease's number."""
        now = at(self.seconds)
        state = delivery.settle(self.state, self.on, now)
        self.state, spans = delivery.lease(state, count, self.on, now, LEASE)
        lease_id, positions = spans[0].lease_id, union(spans)
        assert lease_id is not None
        self.leaser.lease(lease_id, positions, now, now + LEASE)
        self.leaser.received(lease_id, positions, [self.message(lease_id, n) for n in positions])
        self.assign()
        return lease_id

    def assign(self, seconds: int = 10) -> None:
        for given in self.leaser.assigner.assign([self.consumer]).values():
            self.leaser.sent(given, seconds, at(self.seconds))

    def message(self, lease_id: int, n: int) -> ReceivedMessage:
        key = self.keys[n : n + 1]
        return ReceivedMessage(self.ack_id(lease_id, n), str(n), at(0), b"x", {}, key, None)

    def exchange(self) -> int:
        """Let the store carry out a request; return how many deliveries have failed by it."""
        now = at(self.seconds)
        request = self.leaser.request(now)
        settled = delivery.settle(self.state, self.on, now)
        self.state, response = apply(settled, request, self.on, now)
        return self.leaser.apply(request, response, now)

    def seek(self) -> None:
        """Let another process seek, and make unacknowledged what was acknowledged."""
        noted = note_seek(self.state, Seek(at(self.seconds), 1), self.on)
        everything = backlog(self.count).spans
        self.state = replace(noted, seeks=(), spans=everything)

    def modify(self, ack_ids: list[str], seconds: int) -> Any:
        return self.leaser.modify_ack_deadline(ack_ids, seconds, at(self.seconds))

    @property
    def unacked(self) -> list[int]:
        return list(union(self.state.unacked()))

    @property
    def leased(self) -> list[int]:
        return list(self.state.positions(State.LEASED))


def test_acknowledgements_of_many_requests_are_one_turn() -> None:
    bench = Bench()
    lease = bench.lease(4)
    for n in range(3):
        bench.leaser.acknowledge([bench.ack_id(lease, n)])
    bench.exchange()
    assert bench.unacked == [3]
    assert not bench.leaser.acks


def test_a_nack_returns_a_message_and_lets_its_consumer_have_more() -> None:
    bench = Bench(consumer=Consumer(max_messages=1))
    lease = bench.lease(2)
    assert bench.consumer.messages == 1
    bench.modify([bench.ack_id(lease, 0)], 0)
    bench.assign()
    bench.exchange()
    assert bench.leased == [1]
    assert bench.consumer.messages == 1


def test_moving_a_deadline_is_not_said_while_the_lease_is_long_enough() -> None:
    bench = Bench()
    lease = bench.lease(1)
    asked = bench.modify([bench.ack_id(lease, 0)], 60)
    assert asked.done
    assert not bench.leaser.acks


def test_a_deadline_that_passes_is_a_failed_delivery_though_the_lease_goes_on() -> None:
    # "Deadline passed = failed delivery"
    bench = Bench()
    bench.lease(2)
    bench.seconds = 9
    assert bench.leaser.expire(at(9)) == 0
    bench.seconds = 10
    assert bench.leaser.expire(at(10)) == 2
    bench.exchange()
    assert bench.leased == []
    assert bench.unacked == [0, 1, 2, 3]
    assert bench.leaser.is_empty
    assert bench.consumer.messages == 0


def test_a_moved_deadline_counts_and_not_the_one_before() -> None:
    bench = Bench()
    lease = bench.lease(1)
    bench.modify([bench.ack_id(lease, 0)], 60)
    assert bench.leaser.expire(at(59)) == 0
    assert bench.leaser.expire(at(60)) == 1


def test_a_deadline_that_is_moved_for_ever_takes_no_more_memory() -> None:
    bench = Bench(consumer=Consumer(max_messages=2))
    lease = bench.lease(2)
    for n in range(10_000):
        bench.seconds = n / 1000
        bench.modify([bench.ack_id(lease, 0)], 600)
    assert len(bench.leaser._sent._deadlines) <= 1_000 + 2 * 2
    assert bench.leaser.expire(at(11)) == 1  # the other one
    assert bench.leaser.expire(at(609.999)) == 1


def test_a_lease_is_extended_when_less_than_two_thirds_of_it_are_left() -> None:
    bench = Bench(consumer=Consumer(max_messages=1))
    lease = bench.lease(2)
    bench.seconds = 4
    assert not bench.leaser.extension_due(at(4))
    bench.seconds = 4.5
    assert bench.leaser.extension_due(at(4.5))
    bench.exchange()
    assert bench.leaser.outstanding.leases[lease].until == at(4.5) + LEASE
    assert {span.until for span in bench.state.in_state(State.LEASED)} == {at(4.5) + LEASE}


def test_what_the_store_holds_no_more_is_let_go() -> None:
    bench = Bench()
    lease = bench.lease(2)
    bench.modify([bench.ack_id(lease, n) for n in range(2)], 600)
    bench.state, _ = delivery.modify_ack_deadline(
        bench.state, {lease: Positions.of([0])}, bench.on, at(1), NACK
    )
    bench.seconds = 5
    bench.exchange()
    assert list(bench.leaser.outstanding.leases[lease].positions) == [1]
    assert bench.consumer.messages == 1


def test_a_late_ack_of_an_earlier_server_is_passed_on() -> None:
    bench = Bench()
    lease = bench.lease(2)
    bench.leaser.forget()
    bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.exchange()
    assert bench.unacked == [1, 2, 3]


def test_malformed_ids_and_ids_of_others_are_told_apart() -> None:
    bench = Bench(exactly_once=True)
    other = str(AckId("f" * 32, 1, 0))
    asked = bench.leaser.acknowledge(["nonsense", other])
    assert asked.malformed == ["nonsense"]
    assert asked.failures == {other: INVALID_ACK_ID}
    assert asked.done


def test_with_exactly_once_delivery_an_ack_waits_and_is_told_what_came_of_it() -> None:
    bench = Bench(exactly_once=True)
    lease = bench.lease(2)
    told: list[str] = []
    asked = bench.leaser.acknowledge([bench.ack_id(lease, 0), bench.ack_id(99, 1)])
    asked.add_done_callback(lambda: told.append("settled"))
    assert told == []
    bench.exchange()
    assert told == ["settled"]
    assert asked.failures == {bench.ack_id(99, 1): INVALID_ACK_ID}


def test_an_ack_that_was_written_is_confirmed_again() -> None:
    # its success could not be told beside the failure of another id, so clients try it again
    bench = Bench(exactly_once=True)
    lease = bench.lease(1)
    bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.exchange()
    before = bench.state
    again = bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.exchange()
    assert again.done
    assert not again.failures
    assert bench.state == before, "nothing is written for it"


def test_of_the_acks_that_were_written_the_last_ones_are_confirmed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clients repeat what they have just asked for."""
    monkeypatch.setattr("pubsub_delta.server.leaser.REMEMBERED_IDS", 2)
    bench = Bench(exactly_once=True)
    ack_ids = [bench.ack_id(bench.lease(1), n) for n in range(3)]
    bench.leaser.acknowledge(ack_ids)
    bench.exchange()
    again = bench.leaser.acknowledge(ack_ids)
    bench.exchange()
    assert again.failures == {ack_ids[0]: INVALID_ACK_ID}


def test_a_nack_that_was_written_is_confirmed_again() -> None:
    bench = Bench(exactly_once=True)
    lease = bench.lease(1)
    bench.modify([bench.ack_id(lease, 0)], 0)
    bench.exchange()
    again = bench.modify([bench.ack_id(lease, 0)], 0)
    bench.exchange()
    assert again.done
    assert not again.failures


def test_a_turn_after_a_seek_of_another_process_tells_that_all_is_void() -> None:
    """What is held or remembered from before a seek is void, whoever asked for it."""
    bench = Bench(exactly_once=True)
    lease = bench.lease(3)
    bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.exchange()
    bench.seek()
    again = bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.exchange()
    assert again.failures == {bench.ack_id(lease, 0): INVALID_ACK_ID}
    assert bench.leaser.outstanding.leases == {}
    assert bench.consumer.messages == 0
    assert bench.lease(2) == lease + 1
    assert bench.consumer.messages == 2


def test_a_lease_of_which_nothing_is_left_is_let_go() -> None:
    bench = Bench()
    lease = bench.lease(2)
    bench.modify([bench.ack_id(lease, n) for n in range(2)], 600)
    lost = {lease: Positions.of([0, 1])}
    bench.state, _ = delivery.modify_ack_deadline(bench.state, lost, bench.on, at(1), NACK)
    bench.seconds = 50
    bench.exchange()
    assert bench.leaser.is_empty
    assert bench.consumer.messages == 0


def test_with_exactly_once_turned_off_a_repeated_ack_is_said_again() -> None:
    # an ordered message may be unacknowledged again, as an earlier one of its key has failed
    bench = Bench(exactly_once=True)
    lease = bench.lease(1)
    bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.exchange()
    bench.leaser.exactly_once = False
    bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    assert bench.leaser.request(at(0)).acknowledged == {lease: Positions.of([0])}


def test_words_that_were_not_written_are_said_again_with_those_that_followed() -> None:
    bench = Bench()
    lease = bench.lease(3)
    bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.leaser.request(at(0))  # and the commit fails
    bench.leaser.acknowledge([bench.ack_id(lease, 1)])
    bench.exchange()
    assert bench.unacked == [2, 3]


def test_who_waits_for_words_that_are_given_up_is_told_so() -> None:
    bench = Bench(exactly_once=True)
    lease = bench.lease(1)
    asked = bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.leaser.request(at(0))
    bench.leaser.give_up()
    assert asked.done
    assert asked.failures == {bench.ack_id(lease, 0): TRANSIENT}


def test_a_failed_message_takes_the_later_ones_of_its_key_with_it() -> None:
    # the store returns them together, so they are not this server's any more
    bench = Bench(count=5, keys="abaab", consumer=Consumer(max_messages=3))
    lease = bench.lease(5)
    bench.modify([bench.ack_id(lease, 0)], 0)
    assert [each.position for each in bench.leaser.assigner.waiting] == [4]
    bench.exchange()
    assert bench.leased == [1, 4]
    assert sorted(bench.leaser.outstanding.leases[lease].positions) == [1, 4]


def test_what_nobody_was_given_goes_back_as_if_it_had_not_been_leased() -> None:
    bench = Bench(consumer=Consumer(max_messages=1))
    lease = bench.lease(3)
    assert bench.leaser.give_back_waiting() == 2
    bench.exchange()
    assert bench.leased == [0]
    assert list(bench.leaser.outstanding.leases[lease].positions) == [0]


@pytest.mark.parametrize(("seconds", "left"), [(3.5, 7), (9.5, 1), (10, 1), (11, 1)])
def test_at_the_end_what_consumers_have_stays_theirs_until_their_deadlines(
    seconds: float, left: int
) -> None:
    bench = Bench(consumer=Consumer(max_messages=1))
    bench.lease(3)
    bench.seconds = seconds
    assert bench.leaser.end_leases() == 2
    bench.exchange()
    (held,) = bench.state.in_state(State.LEASED)
    assert (list(held.positions), held.until) == ([0], at(seconds + left))
    assert bench.leaser.is_empty
    assert bench.consumer.messages == 1, "what was not sent yet is sent still"


def test_with_exactly_once_delivery_a_deadline_beyond_the_lease_is_written() -> None:
    bench = Bench(exactly_once=True)
    lease = bench.lease(1)
    asked = bench.modify([bench.ack_id(lease, 0)], 300)
    assert not asked.done
    bench.exchange()
    assert asked.done
    assert not asked.failures
    assert {span.until for span in bench.state.in_state(State.LEASED)} == {at(300)}


def test_a_nack_after_an_extension_that_was_confirmed_is_written() -> None:
    bench = Bench(exactly_once=True)
    lease = bench.lease(1)
    bench.modify([bench.ack_id(lease, 0)], 300)
    bench.exchange()
    asked = bench.modify([bench.ack_id(lease, 0)], 0)
    assert not asked.done
    bench.exchange()
    assert asked.done
    assert bench.leased == []


def test_what_is_said_during_a_hold_is_said_after_it() -> None:
    """ "What was said before is written first, and what is said meanwhile afterwards." """
    bench = Bench(3, exactly_once=True)
    lease = bench.lease(3)
    ids = [bench.ack_id(lease, n) for n in range(3)]
    bench.leaser.acknowledge(ids[:1])
    bench.leaser.acks.hold()
    meanwhile = bench.leaser.acknowledge(ids[1:2])
    bench.leaser.acks.hold()
    bench.leaser.modify_ack_deadline(ids[2:], 0, at(1))
    assert bench.leaser.request(at(1)).acknowledged == {lease: Positions.of([0])}
    bench.leaser.acks.settle(AckResponse())
    assert not bench.leaser.acks
    assert not meanwhile.done
    bench.leaser.acks.release()
    assert not bench.leaser.acks, "somebody else holds still"
    bench.leaser.acks.release()
    turn = bench.leaser.request(at(1))
    assert turn.acknowledged == {lease: Positions.of([1])}
    assert turn.deadlines[NACK] == {lease: Positions.of([2])}


def test_what_is_kept_during_a_hold_can_be_given_up() -> None:
    bench = Bench(1, exactly_once=True)
    lease = bench.lease(1)
    bench.leaser.acks.hold()
    asked = bench.leaser.acknowledge([bench.ack_id(lease, 0)])
    bench.leaser.give_up()
    assert asked.failures == {bench.ack_id(lease, 0): TRANSIENT}
    assert asked.done
    bench.leaser.acks.release()
    assert not bench.leaser.acks
