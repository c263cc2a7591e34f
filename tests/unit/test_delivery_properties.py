"""The pure core beside a deliberately naive model: a dict of messages, each looked at alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pubsub_delta.policy import delivery, redelivery, retention
from pubsub_delta.policy.ack_state import Absorbed, AckState, Counters, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.spans import MAX_NEW_SPANS
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import at, take, terms
from tests.unit.model import AckId, Fields, Model, Outcome, Stored, one_by_one


class DeliveryMachine(RuleBasedStateMachine):
    """Every step is done to both; whatever can be observed must be the same."""

    def __init__(self) -> None:
        super().__init__()
        self.state = AckState(after_version=0)
        self.model = Model()
        self.keys: dict[int, str] = {}
        self.given: list[AckId] = []
        self.now = 0.0
        self.next_position = 0

    @initialize(
        fields=st.builds(
            Fields,
            ordered=st.booleans(),
            exactly_once=st.booleans(),
            backoffs=st.sampled_from([None, (0, 0), (2, 16), (5, 7)]),
            max_attempts=st.sampled_from([None, 2, 5]),
        ),
        count=st.integers(1, 12),
        key=st.integers(0, 3),
    )
    def first_commit(self, fields: Fields, count: int, key: int) -> None:
        self.model.fields = fields
        self.commits([count], 0, key)

    @property
    def terms(self) -> delivery.Terms:
        fields = self.model.fields
        retry = RetryPolicy(*fields.backoffs) if fields.backoffs is not None else None
        attempts = fields.max_attempts
        return terms(
            self.keys if fields.ordered else None,
            enable_exactly_once_delivery=fields.exactly_once,
            retry_policy=retry,
            dead_letter_policy=None if attempts is None else DeadLetterPolicy("dead", attempts),
        )

    # What happens

    @rule(
        counts=st.lists(st.integers(0, 5), min_size=1, max_size=15),
        gap=st.integers(0, 2),
        keys=st.integers(0, 3),
    )
    def commits(self, counts: list[int], gap: int, keys: int) -> None:
        """Publish some commits, a moment apart, and absorb them all."""
        absorbed = []
        for count in counts:
            positions = range(self.next_position, self.next_position + count)
            self.next_position += count + gap  # positions may have holes
            for each in positions:
                self.keys[each] = f"key-{each % (keys + 1)}" if each % (keys + 1) else ""
                self.model.messages[each] = Stored(self.now, self.keys[each])
            absorbed.append(Absorbed(Positions.of(positions), at(self.now), at(self.now)))
            self.now += 0.5
        version = self.state.after_version + len(counts)
        self.state = delivery.absorb(self.state, absorbed, version)
        self.settle()

    @rule(count=st.none() | st.integers(1, 8), deadline=st.integers(1, 30))
    def lease(self, count: int | None, deadline: int) -> None:
        before = self.leased()
        self.state, taken = take(self.state, count, self.now, deadline, self.terms)
        expected = self.model.lease(count, self.now, deadline)
        assert sorted(each for span in taken for each in span.positions) == expected
        for span in taken:
            assert span.lease_id == self.model.leases
            for position in span.positions:
                assert span.delivery_attempt == self.model.messages[position].attempt
        assert not before & set(expected), "leased twice at once"
        self.given += [(self.model.leases, position) for position in expected]

    @rule(seconds=st.integers(0, 20))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.settle()

    @rule(seconds=st.integers(1, 60))
    def time_passes_unnoticed(self, seconds: int) -> None:
        """What happened meanwhile is found out by whoever comes next."""
        self.now += seconds
        self.model.settle(self.now)

    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        named = self.some_ids(data)
        before = self.state.counters
        self.state, outcomes = delivery.acknowledge(
            self.state, by_lease(named), self.terms, at(self.now)
        )
        expected = one_by_one(named, self.model.acknowledge)
        assert by_id(outcomes) == expected
        counted = list(expected.values())
        assert self.state.counters == Counters(
            before.success + counted.count("success"),
            before.expired + counted.count("expired"),
            before.invalid + counted.count("invalid"),
        )

    @rule(data=st.data(), deadline=st.integers(1, 30))
    def modify_ack_deadline(self, data: st.DataObject, deadline: int) -> None:
        named = self.some_ids(data)
        expected = one_by_one(named, lambda each: self.model.modify(each, self.now, deadline))
        assert self.modified(named, deadline) == expected

    @rule(data=st.data())
    def nack(self, data: st.DataObject) -> None:
        named = self.some_ids(data)
        expected = self.model.nack(named, self.now)
        assert self.modified(named, 0) == expected

    def modified(self, named: list[AckId], deadline: int) -> Outcome:
        self.state, outcomes = delivery.modify_ack_deadline(
            self.state, by_lease(named), self.terms, at(self.now), timedelta(seconds=deadline)
        )
        return by_id(outcomes)

    @rule(age=st.integers(5, 60))
    def retention_passes(self, age: int) -> None:
        """Drop what is too old, as every look at the topic does."""
        oldest = self.now - age
        self.settle()
        retaining = replace(self.terms.subscription, message_retention_duration=timedelta(0, age))
        self.state = retention.discard(
            self.state, retaining, at(self.now), lambda: None, self.earlier
        )
        self.model.discard(oldest)
        for span in self.state.in_state(State.AVAILABLE, State.BACKING_OFF):
            assert span.publish_time_min >= at(oldest)

    def earlier(self, spans: Sequence[Span], time: datetime) -> tuple[Positions, datetime | None]:
        times = {p: at(message.published) for p, message in self.model.messages.items()}
        gone = Positions.of(position for position, each in times.items() if each < time)
        return gone, min((each for each in times.values() if each >= time), default=None)

    @rule()
    def forward(self) -> None:
        self.settle()
        self.state = redelivery.decide_forwarding(self.state, self.terms.subscription, "dead")
        for number in redelivery.forwardings(self.state):
            self.state = redelivery.forwarded(self.state, number)
            self.model.leases += 1  # forwardings and leases share their numbers
        self.model.forward()
        self.state = replace(self.state, counters=Counters())

    def settle(self) -> None:
        self.state = delivery.settle(self.state, self.terms, at(self.now))
        self.model.settle(self.now)

    # What must hold

    @invariant()
    def every_message_is_where_the_model_has_it(self) -> None:
        state = delivery.settle(self.state, self.terms, at(self.now))
        held = [
            (position, (span.state, span.lease_id, span.delivery_attempt))
            for span in state.unacked()
            for position in span.positions
        ]
        expected = {
            position: (self.state_of(message), message.lease_id, message.attempt)
            for position, message in self.model.messages.items()
            if not message.acked
        }
        assert len(held) == len(dict(held)), "a message in two spans"
        assert dict(held) == expected

    def state_of(self, message: Stored) -> State:
        if message.lease_id:
            return State.LEASED
        return State.BACKING_OFF if message.waits_until > self.now else State.AVAILABLE

    @invariant()
    def every_message_lies_within_the_times_of_its_span(self) -> None:
        for span in self.state.spans:
            for position in span.positions:
                published = at(self.model.messages[position].published)
                assert span.publish_time_min <= published <= span.publish_time_max

    @invariant()
    def spans_stay_few(self) -> None:
        available = self.state.in_state(State.AVAILABLE)
        assert len([s for s in available if s.failed_lease_id is None]) <= MAX_NEW_SPANS

    @invariant()
    def a_key_is_out_in_one_batch_at_a_time_and_in_order(self) -> None:
        if not self.model.fields.ordered:
            return
        out: dict[str, set[int]] = {}
        for message in self.model.messages.values():
            if message.lease_id and message.key:
                out.setdefault(message.key, set()).add(message.lease_id)
        assert all(len(leases) == 1 for leases in out.values())

    def teardown(self) -> None:
        """Nothing is lost: once all waits are over, all that is unacknowledged comes again."""
        self.now += 1000
        self.settle()
        self.forward()
        self.lease(None, 10)
        assert self.state.count(State.AVAILABLE) == 0

    # How ids are chosen

    def leased(self) -> set[int]:
        return {p for p, message in self.model.messages.items() if message.lease_id}

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
