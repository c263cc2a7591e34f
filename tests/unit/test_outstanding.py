"""What a consumer has leased and not answered, and what it asks the store for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_buffer import NACK, AckBuffer
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse, apply
from pubsub_delta.policy.ack_state import State, union
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.outstanding import Delivery, Outstanding
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import at, backlog, terms

TEN, MINUTE = timedelta(seconds=10), timedelta(minutes=1)


def leased(*positions: int, keys: str = "", read: Iterable[int] = ()) -> Outstanding[Delivery, str]:
    """Return what is outstanding of a lease that was taken at 0 for 10 s."""
    book: Outstanding[Delivery, str] = Outstanding(0.5)
    book.lease(1, Positions.of(positions), at(0), at(10), TEN)
    let_read(book, read or positions, keys)
    return book


def let_read(
    book: Outstanding[Delivery, str], positions: Iterable[int], keys: str = ""
) -> list[int]:
    """Let messages be read, and return those that are outstanding."""
    deliveries = [Delivery(1, n, 10, keys[n : n + 1]) for n in positions]
    return [each.position for each in book.read(1, Positions.of(positions), deliveries)]


def everything(request: AckRequest) -> AckResponse:
    """Return the response to a request all of which succeeds."""
    deadlines = {of: Outcomes(dict(named)) for of, named in request.deadlines.items()}
    return AckResponse(Outcomes(dict(request.acknowledged)), deadlines)


# Requests


def test_what_is_not_written_yet_is_counted_until_it_is_settled() -> None:
    """A server takes no more acks and deadlines than it can keep, whatever they ask for."""
    acks: AckBuffer[str] = AckBuffer()
    acks.modify_ack_deadline((1, 0), TEN, "deadline")
    acks.modify_ack_deadline((2, 1), NACK, "nack")
    acks.acknowledge((1, 2), "ack")
    assert len(acks) == 3
    request = acks.request({}, {})
    acks.acknowledge((1, 3), "later")
    assert len(acks) == 4
    acks.settle(everything(request))
    assert len(acks) == 1


def test_the_last_deadline_of_a_delivery_is_asked_for() -> None:
    acks: AckBuffer[str] = AckBuffer()
    for seconds in (30, 60, 10):
        acks.modify_ack_deadline((1, 0), timedelta(seconds=seconds), f"{seconds}")
    request = acks.request({}, {})
    assert request == AckRequest(deadlines={TEN: {1: Positions.of([0])}})
    settled = acks.settle(everything(request))
    assert [(each.waiter, each.outcome) for each in settled] == [
        ("30", "success"),
        ("60", "success"),
        ("10", "success"),
    ]


def test_the_last_extension_ends_with_the_deadline_of_a_client_and_no_sooner() -> None:
    """A lease has whole seconds: one more where the deadline is within a second."""
    lease = leased(0, 1, 2).leases[1]
    for position, end in ((0, 12.25), (1, 12.0), (2, 1.5)):
        lease.read[position].deadline = at(end)
    found = lease.deadlines(at(0), is_last=True)
    assert {of.total_seconds(): sorted(each) for of, each in found.items()} == {
        13: [0],
        12: [1],
        2: [2],
    }
    assert lease.deadlines(at(10), is_last=True)[timedelta(seconds=1)] == Positions.of([2])


def test_an_ack_replaces_the_deadline_before_it_and_tells_its_outcome() -> None:
    acks: AckBuffer[str] = AckBuffer()
    acks.modify_ack_deadline((1, 0), MINUTE, "deadline")
    acks.acknowledge((1, 0), "ack")
    request = acks.request({}, {})
    assert request == AckRequest({1: Positions.of([0])})
    settled = acks.settle(AckResponse(Outcomes(expired={1: Positions.of([0])})))
    assert {each.waiter: each.outcome for each in settled} == {
        "deadline": "expired",
        "ack": "expired",
    }


def test_a_nack_stays_beside_a_later_ack_and_has_an_outcome_of_its_own() -> None:
    """The store decides which of the two counts; who waits for the nack is not told the other."""
    acks: AckBuffer[str] = AckBuffer()
    acks.modify_ack_deadline((1, 0), NACK, "nack")
    acks.acknowledge((1, 0), "ack")
    request = acks.request({}, {})
    assert request == AckRequest({1: Positions.of([0])}, {NACK: {1: Positions.of([0])}})
    success, expired = (Outcomes(**{of: {1: Positions.of([0])}}) for of in ("success", "expired"))
    settled = acks.settle(AckResponse(success, {NACK: expired}))
    assert {each.waiter: each.outcome for each in settled} == {"nack": "expired", "ack": "success"}


def test_whose_deadline_a_client_moves_has_no_known_end() -> None:
    """The client's new deadline counts, whatever end another process has given the lease."""
    acks: AckBuffer[str] = AckBuffer()
    acks.modify_ack_deadline((1, 0), TEN, "moved")
    both = {1: Positions.of([0, 1])}
    request = acks.request({MINUTE: both}, {at(10): both})
    assert request.known_ends == {at(10): {1: Positions.of([1])}}


def test_a_message_with_an_earlier_deadline_is_extended_in_time() -> None:
    """PulledMessage.modify_ack_deadline: "The subscriber goes on extending the lease"."""
    book = leased(0, 1)
    book.acks.modify_ack_deadline((1, 1), timedelta(seconds=3))
    request = book.request(at(0))
    book.apply(request, everything(request), at(0))
    extended = {TEN: {1: Positions.of([0, 1])}}
    assert book.is_due(at(1))
    assert book.request(at(1)).deadlines == extended


def test_a_lease_ends_with_its_first_message_that_no_client_has() -> None:
    """The library extends for a message that only it knows, whatever clients do with others."""
    book = leased(0, 1)
    book.leases[1].read[1].deadline = at(3)
    for position in (0, 1):
        book.acks.modify_ack_deadline((1, position), timedelta(seconds=3))
    request = book.request(at(0))
    book.apply(request, everything(request), at(0))
    assert book.is_due(at(1))


def test_a_client_extends_by_itself_what_it_has_given_an_earlier_deadline() -> None:
    book = leased(0, 1)
    book.leases[1].read[1].deadline = at(3)
    book.acks.modify_ack_deadline((1, 1), timedelta(seconds=3))
    request = book.request(at(0))
    book.apply(request, everything(request), at(0))
    assert not book.is_due(at(1))


def test_no_deadline_follows_a_nack() -> None:
    # a nack ends the lease, so that there is nothing to extend
    acks: AckBuffer[str] = AckBuffer()
    assert acks.modify_ack_deadline((1, 0), NACK, "nack")
    assert not acks.modify_ack_deadline((1, 0), MINUTE, "late")
    assert acks.modify_ack_deadline((1, 0), NACK, "again")
    request = acks.request({}, {})
    assert request == AckRequest(deadlines={NACK: {1: Positions.of([0])}})
    assert [each.waiter for each in acks.settle(everything(request))] == ["nack", "again"]


def test_a_request_that_was_not_written_is_part_of_the_next_one() -> None:
    # "Aborted: nothing was written"
    acks: AckBuffer[str] = AckBuffer()
    acks.acknowledge((1, 0), "first")
    acks.modify_ack_deadline((1, 1), MINUTE, "moved")
    acks.give_back(1, Positions.of([2]))
    acks.request({}, {})
    acks.acknowledge((1, 1), "later")
    acks.give_back(1, Positions.of([3]))
    request = acks.request({}, {})
    assert request == AckRequest({1: Positions.of([0, 1])}, {}, {1: Positions.of([2, 3])})
    assert len(acks.settle(everything(request))) == 3
    assert not acks


def test_a_delivery_with_a_new_deadline_is_not_extended_with_its_lease() -> None:
    book = leased(0, 1, 2)
    book.acks.modify_ack_deadline((1, 1), MINUTE)
    request = book.request(at(6))
    assert request.deadlines == {MINUTE: {1: Positions.of([1])}, TEN: {1: Positions.of([0, 2])}}


def test_an_ack_that_is_said_again_during_a_hold_is_asked_about_after_it() -> None:
    acks: AckBuffer[str] = AckBuffer()
    acks.hold()
    acks.acknowledge_again((1, 0), "again")
    assert acks.request({}, {}) == AckRequest()
    acks.settle(AckResponse())
    acks.release()
    assert acks.request({}, {}).repeated == {1: Positions.of([0])}


def test_acks_that_wait_for_a_seek_to_end_are_bounded_with_the_others() -> None:
    """Those of other clients come on: "more than … of earlier requests wait to be written"."""
    acks: AckBuffer[str] = AckBuffer()
    acks.acknowledge((1, 0))
    acks.hold()
    for n in range(2):
        acks.acknowledge((1, n))
    assert len(acks) == 3


def test_who_waits_for_what_is_given_up_is_told() -> None:
    acks: AckBuffer[str] = AckBuffer()
    acks.acknowledge((1, 0), "sent")
    acks.request({}, {})
    acks.acknowledge_again((1, 1), "next")
    acks.hold()
    acks.modify_ack_deadline((1, 2), NACK, "kept")
    assert acks.give_up() == ["sent", "next", "kept"]
    assert not acks


# Leases


def test_what_is_outstanding_is_what_is_leased_and_not_answered() -> None:
    book = leased(*range(5), read=[0, 1, 2])
    deliveries = list(book.leases[1].read.values())
    assert (len(book), book.messages, book.bytes) == (5, 3, 30)
    book.acknowledge(deliveries[0])
    book.nack(deliveries[1])
    book.give_back(deliveries[2])
    assert (len(book), book.messages, book.bytes) == (2, 0, 0)
    assert let_read(book, [3]) == [3], "4 is gone from the topic"
    book.acknowledge(book.leases[1].read[3])
    book.lose(1, Positions.of([4]))
    assert not book.leases


def test_what_returns_with_a_nack_is_not_outstanding_though_it_is_read_later() -> None:
    # "the later queued messages of that key from the same lease are not called: the store returns
    # them with it"
    book = leased(*range(5), keys="aabaa", read=[0, 1, 2])
    first, second, _ = book.leases[1].read.values()
    assert book.nack(first) == [second]
    assert not second.is_outstanding
    assert let_read(book, [3, 4], "aabaa") == []
    assert list(book.leases[1].positions) == [2]


def test_what_was_given_back_takes_the_later_ones_of_its_key_with_it() -> None:
    # their lease ends in the store, or they would overtake it
    book = leased(*range(4), keys="aaba", read=[0, 1, 2])
    first, second, _ = book.leases[1].read.values()
    assert book.give_back(first) == [second]
    assert let_read(book, [3], "aaba") == []
    assert book.request(at(0)).given_back == {1: Positions.of([0])}


def test_only_the_later_ones_of_a_key_return_with_a_nack() -> None:
    book = leased(*range(4), keys="aaab")
    deliveries = list(book.leases[1].read.values())
    assert book.nack(deliveries[1]) == [deliveries[2]]
    assert book.nack(deliveries[1]) == [], "it has failed already"
    assert list(book.leases[1].positions) == [0, 3]
    assert book.leases[1].by_key.keys() == {"a", "b"}


def test_a_lease_is_extended_from_the_time_of_the_request() -> None:
    book = leased(0, 1)
    assert not book.is_due(at(5))
    assert book.is_due(at(5.1))
    request = book.request(at(6))
    assert book.leases[1].until == at(10), "not before it is written"
    book.apply(request, everything(request), at(6))
    assert book.leases[1].until == at(16)


def test_what_the_store_did_not_extend_is_lost() -> None:
    book = leased(0, 1)
    request = book.request(at(6))
    response = AckResponse(deadlines={TEN: Outcomes({1: Positions.of([1])})})
    assert [each.position for each in book.apply(request, response, at(6)).lost] == [0]
    assert list(book.leases[1].positions) == [1]


def test_all_that_was_leased_before_a_seek_is_lost() -> None:
    book = leased(0, 1, read=[1])
    book.lease(7, Positions.of([0]), at(5), at(15), TEN)
    lost = book.apply(book.request(at(0)), AckResponse(first_lease_id=7), at(0)).lost
    assert [(each.lease_id, each.position) for each in lost] == [(1, 1)]
    assert list(book.leases) == [7]


# Any order of events, beside a store with the real policy


def test_what_nobody_was_given_goes_back_once_read_or_not() -> None:
    # "Give back what nobody has a deadline for, read or not"
    book = leased(0, 1, 2, read=[0])
    assert book.give_back_waiting([1]) == 3
    assert (len(book), book.leases, book.messages, book.bytes) == (0, {}, 0, 0)
    assert book.request(at(9)) == AckRequest(given_back={1: Positions.of([0, 1, 2])})


class Consumer(RuleBasedStateMachine):
    """One consumer of an ordered subscription, whose book must agree with the store's ack state."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.on = terms(dict(enumerate("abc" * 20)), enable_exactly_once_delivery=True)
        self.state = backlog(60)
        self.book: Outstanding[Delivery, int] = Outstanding(0.5)
        self.waiting: set[int] = set()
        self.count = 0

    def exchange(self, count: int, *, fails: bool = False) -> None:
        request = self.book.request(at(self.now))
        if fails:
            return
        settled = delivery.settle(self.state, self.on, at(self.now))
        state, response = apply(settled, request, self.on, at(self.now))
        self.state, spans = delivery.lease(state, count, self.on, at(self.now), TEN)
        applied = self.book.apply(request, response, at(self.now))
        self.waiting -= {each.waiter for each in applied.settled}
        assert not self.waiting, "everybody who waits is told"
        assert not any(each.is_outstanding for each in applied.lost)
        for lease_id in {span.lease_id for span in spans}:
            assert lease_id is not None
            positions = union(span for span in spans if span.lease_id == lease_id)
            self.book.lease(lease_id, positions, at(self.now), at(self.now) + TEN, TEN)

    @rule(count=st.integers(0, 10), fails=st.booleans(), passed=st.sampled_from([0, 1, 6, 20]))
    def request(self, count: int, fails: bool, passed: int) -> None:
        self.now += passed
        self.exchange(count, fails=fails)

    @precondition(lambda self: any(each.unread for each in self.book.leases.values()))
    @rule(data=st.data())
    def reads(self, data: st.DataObject) -> None:
        unread = [of for of, each in self.book.leases.items() if each.unread]
        lease_id = data.draw(st.sampled_from(unread))
        asked = self.book.leases[lease_id].unread.first(data.draw(st.integers(1, 5)))
        deliveries = [Delivery(lease_id, n, 1, "abc"[n % 3]) for n in asked]
        self.book.read(lease_id, asked, deliveries)

    @precondition(lambda self: any(each.read for each in self.book.leases.values()))
    @rule(data=st.data(), how=st.sampled_from(["ack", "nack", "back", "deadline"]))
    def answers(self, data: st.DataObject, how: str) -> None:
        read = [each for lease in self.book.leases.values() for each in lease.read.values()]
        chosen = data.draw(st.sampled_from(read))
        if how == "back":
            self.book.give_back(chosen)
            return
        self.count += 1
        self.waiting.add(self.count)
        if how == "ack":
            self.book.acknowledge(chosen, self.count)
        elif how == "nack":
            self.book.nack(chosen, self.count)
        else:
            self.book.acks.modify_ack_deadline(chosen.place, MINUTE, self.count)

    @invariant()
    def what_is_counted_is_there(self) -> None:
        read = [each for lease in self.book.leases.values() for each in lease.read.values()]
        assert (self.book.messages, self.book.bytes) == (len(read), len(read))
        assert all(each.is_outstanding for each in read)
        keyed = {
            each
            for lease in self.book.leases.values()
            for of_key in lease.by_key.values()
            for each in of_key.values()
        }
        assert keyed == set(read)
        assert all(map(len, self.book.leases.values())), "an empty lease is forgotten"

    @invariant()
    def nothing_is_outstanding_that_the_store_gave_nobody(self) -> None:
        """The store holds what the book does, but for what will not be given to anybody."""
        if self.book.acks:
            return
        self.exchange(0)
        for lease_id, lease in self.book.leases.items():
            held = union(s for s in self.state.in_state(State.LEASED) if s.lease_id == lease_id)
            lost = lease.positions - held
            returned = [
                n for n in lost if n in lease.unread and "abc"[n % 3] in lease.returned_keys
            ]
            assert lease.until <= at(self.now) or list(lost) == returned


TestConsumer = Consumer.TestCase
TestConsumer.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
