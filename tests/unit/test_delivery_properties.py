"""The pure core beside a deliberately naive model: a dict of messages, each looked at alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import MAX_AVAILABLE_SPANS, Absorbed, AckState, State
from pubsub_delta.policy.positions import Positions
from tests.unit.builders import at

AckId = tuple[int, int]
"""The lease and the position that an ack id names."""

Outcome = dict[AckId, str]


@dataclass
class Stored:
    """One message, as one would keep it who has only a few."""

    published: float
    acked: bool = False
    lease_id: int | None = None
    until: float = 0.0

    def held_by(self, lease_id: int, now: float) -> bool:
        return self.lease_id == lease_id and self.until > now

    def is_leased(self, now: float) -> bool:
        return self.lease_id is not None and self.until > now

    def is_available(self, now: float) -> bool:
        return not self.acked and not self.is_leased(now)


@dataclass
class Model:
    """What the specification says, message by message and id by id."""

    messages: dict[int, Stored] = field(default_factory=dict)
    leases: int = 0

    def lease(self, count: int | None, now: float, deadline: float) -> list[int]:
        # "leases up to that many available messages until now + ack deadline"
        free = sorted(p for p, message in self.messages.items() if message.is_available(now))
        taken = free if count is None else free[:count]
        self.leases += 1 if taken else 0
        for position in taken:
            self.messages[position].lease_id = self.leases
            self.messages[position].until = now + deadline
        return taken

    def acknowledge(self, ack_id: AckId, now: float) -> str:
        lease_id, position = ack_id
        if not 1 <= lease_id <= self.leases or position not in self.messages:
            return "invalid"
        message = self.messages[position]
        # "Lease over and the message already acked → success"
        if message.acked:
            return "success"
        # "live lease → success"
        if message.held_by(lease_id, now):
            message.acked, message.lease_id = True, None
            return "success"
        # "expired; it is acked by this, unless it is under another lease"
        if not message.is_leased(now):
            message.acked = True
        return "expired"

    def modify(self, ack_id: AckId, now: float, deadline: float) -> str:
        lease_id, position = ack_id
        if not 1 <= lease_id <= self.leases or position not in self.messages:
            return "invalid"
        message = self.messages[position]
        # "after the lease is over | expired, no effect"
        if message.acked or not message.held_by(lease_id, now):
            return "expired"
        # "0 = nack (available at once …); 1–600 = new deadline from now"
        message.until = now + deadline
        if not deadline:
            message.lease_id = None
        return "success"

    def discard(self, oldest: float, now: float) -> None:
        # "an unacked message disappears when it is older than … retention"
        for message in self.messages.values():
            if message.is_available(now) and message.published < oldest:
                message.acked = True


def one_by_one(named: list[AckId], decide: Callable[[AckId], str]) -> Outcome:
    """Decide ids in the order of their leases, each once ("An id given twice gets one outcome")."""
    return {ack_id: decide(ack_id) for ack_id in sorted(set(named))}


class DeliveryMachine(RuleBasedStateMachine):
    """Every step is done to both; whatever can be observed must be the same."""

    def __init__(self) -> None:
        super().__init__()
        self.state = AckState(after_version=0)
        self.model = Model()
        self.given: list[AckId] = []
        self.now = 0.0
        self.next_position = 0

    @initialize(count=st.integers(1, 12))
    def first_commit(self, count: int) -> None:
        self.commits([count], 0)

    # What happens

    @rule(counts=st.lists(st.integers(0, 5), min_size=1, max_size=15), gap=st.integers(0, 2))
    def commits(self, counts: list[int], gap: int) -> None:
        """Publish some commits, a moment apart, and absorb them all."""
        absorbed = []
        for count in counts:
            positions = range(self.next_position, self.next_position + count)
            self.next_position += count + gap  # positions may have holes
            self.model.messages.update((each, Stored(self.now)) for each in positions)
            absorbed.append(Absorbed(Positions.of(positions), at(self.now), at(self.now)))
            self.now += 0.5
        version = self.state.after_version + len(counts)
        self.state = delivery.absorb(self.state, absorbed, version)

    @rule(count=st.none() | st.integers(1, 8), deadline=st.integers(1, 30))
    def lease(self, count: int | None, deadline: int) -> None:
        before = self.leased()
        self.state = delivery.expire_leases(self.state, at(self.now))
        self.state, taken = delivery.lease(
            self.state, count, at(self.now), timedelta(seconds=deadline)
        )
        expected = self.model.lease(count, self.now, deadline)
        assert (sorted(taken.positions) if taken else []) == expected
        if taken is not None:
            assert taken.lease_id == self.model.leases
            assert not before & set(expected), "leased twice at once"
            self.given += [(self.model.leases, position) for position in expected]

    @rule(seconds=st.integers(0, 20))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        named = self.some_ids(data)
        self.state, outcomes = delivery.acknowledge(self.state, by_lease(named), at(self.now))
        expected = one_by_one(named, lambda each: self.model.acknowledge(each, self.now))
        assert by_id(outcomes) == expected

    @rule(data=st.data(), deadline=st.just(0) | st.integers(1, 30))
    def modify_ack_deadline(self, data: st.DataObject, deadline: int) -> None:
        named = self.some_ids(data)
        self.state, outcomes = delivery.modify_ack_deadline(
            self.state, by_lease(named), at(self.now), timedelta(seconds=deadline)
        )
        expected = one_by_one(named, lambda each: self.model.modify(each, self.now, deadline))
        assert by_id(outcomes) == expected

    @rule(age=st.integers(5, 60))
    def retention_passes(self, age: int) -> None:
        """Drop what is too old, as a pull does: whole spans, then the old part of the others."""
        oldest = self.now - age
        state = delivery.expire_leases(self.state, at(self.now))
        state = delivery.discard_before(state, at(oldest))
        times = {p: message.published for p, message in self.model.messages.items()}
        gone = Positions.of(position for position, time in times.items() if time < oldest)
        earliest = min((time for time in times.values() if time >= oldest), default=oldest)
        self.state = delivery.clip(state, at(oldest), gone, at(earliest))
        self.model.discard(oldest, self.now)
        assert not delivery.straddling(self.state, at(oldest))

    # What must hold

    @invariant()
    def every_message_is_where_the_model_has_it(self) -> None:
        state = delivery.expire_leases(self.state, at(self.now))
        held: list[tuple[int, int | None]] = [
            (position, span.lease_id) for span in state.spans for position in span.positions
        ]
        expected: dict[int, int | None] = {
            position: message.lease_id if message.is_leased(self.now) else None
            for position, message in self.model.messages.items()
            if not message.acked
        }
        assert len(held) == len(dict(held)), "a message in two spans"
        assert dict(held) == expected

    @invariant()
    def counts_are_those_of_the_model(self) -> None:
        state = delivery.expire_leases(self.state, at(self.now))
        messages = self.model.messages.values()
        assert state.count() == sum(not message.acked for message in messages)
        assert state.count(State.LEASED) == sum(each.is_leased(self.now) for each in messages)
        assert state.count(State.AVAILABLE) == sum(each.is_available(self.now) for each in messages)

    @invariant()
    def every_message_lies_within_the_times_of_its_span(self) -> None:
        for span in self.state.spans:
            for position in span.positions:
                published = at(self.model.messages[position].published)
                assert span.publish_time_min <= published <= span.publish_time_max

    @invariant()
    def spans_stay_few(self) -> None:
        assert len(self.state.in_state(State.AVAILABLE)) <= MAX_AVAILABLE_SPANS

    def teardown(self) -> None:
        """Nothing is lost: once every lease is over, all that is unacknowledged comes again."""
        self.now += 1000
        self.lease(None, 10)
        assert self.state.count(State.AVAILABLE) == 0

    # How ids are chosen

    def leased(self) -> set[int]:
        messages = self.model.messages.items()
        return {position for position, message in messages if message.is_leased(self.now)}

    def some_ids(self, data: st.DataObject) -> list[AckId]:
        """Choose ids that were given out, live, late and repeated ones, and some that were not."""
        forged = st.tuples(
            st.integers(0, self.model.leases + 2),
            st.sampled_from([self.next_position, self.next_position + 10**9]),
        )
        unleased = st.tuples(
            st.sampled_from([0, self.model.leases + 1]), st.integers(0, self.next_position)
        )
        wrong = forged | unleased
        if not self.given:
            return data.draw(st.lists(wrong, max_size=3))
        recent = st.sampled_from(self.given[-8:])
        chosen = st.lists(recent | recent | st.sampled_from(self.given), max_size=10)
        return data.draw(chosen) + data.draw(st.lists(wrong, max_size=2))


def by_lease(named: list[AckId]) -> dict[int, Positions]:
    return {
        lease_id: Positions.of(position for each, position in named if each == lease_id)
        for lease_id, _ in named
    }


def by_id(outcomes: delivery.Outcomes) -> Outcome:
    """Return the outcome of every id; each must have exactly one."""
    found = [
        ((lease_id, position), name)
        for name in ("success", "expired", "invalid")
        for lease_id, positions in getattr(outcomes, name).items()
        for position in positions
    ]
    assert len(found) == len(dict(found)), "an id with two outcomes"
    return dict(found)


TestDelivery = DeliveryMachine.TestCase
TestDelivery.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
