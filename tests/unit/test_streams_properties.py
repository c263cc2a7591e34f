"""Queries that crash at any point, and a consumer beside them, against the naive model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pubsub_delta.policy import ack_requests, delivery, redelivery, replay, streams
from pubsub_delta.policy.ack_state import AckState, Seek, union
from pubsub_delta.resources import DeadLetterPolicy, RetryPolicy
from tests.unit.builders import at, available, committed, take, terms
from tests.unit.model import AckId, Fields, Model, Stored, one_by_one
from tests.unit.test_delivery_properties import by_lease
from tests.unit.test_streams import TOPIC, run, unprocessed


@dataclass
class Query:
    """A streaming query: the batch id that is due, what it read for it, and its idempotent sink.

    ``started``: the batch that got messages last. ``mine``: what a re-run of it may see.
    """

    name: str
    batch_id: int = 0
    rows: set[int] | None = None
    sink: dict[int, set[int]] = field(default_factory=dict)
    started: int = -1
    lease_id: int = 0
    mine: set[int] = field(default_factory=set)


class QueryMachine(RuleBasedStateMachine):
    """One query and nobody else: in the end each message is in its sink exactly once."""

    names: tuple[str, ...] = ("one",)
    attempts: tuple[int | None, ...] = (None,)

    @initialize(data=st.data(), ordered=st.booleans(), exactly_once=st.booleans())
    def create(self, data: st.DataObject, ordered: bool, exactly_once: bool) -> None:
        backoffs = data.draw(st.sampled_from([None, (5, 7), (2, 60)]))
        attempts = data.draw(st.sampled_from(self.attempts))
        self.model = Model(Fields(ordered, exactly_once, backoffs, attempts))
        self.messages = self.model.messages
        self.keys: dict[int, str] = {}
        self.on = terms(
            self.keys if ordered else None,
            enable_exactly_once_delivery=exactly_once,
            retry_policy=None if backoffs is None else RetryPolicy(*backoffs),
            dead_letter_policy=None if attempts is None else DeadLetterPolicy("dead", attempts),
        )
        self.state, self.now = AckState(after_version=0), 0.0
        self.queries = [Query(name) for name in self.names]
        self.excused: set[int] = set()  # forwarded, or acknowledged by a consumer itself
        self.given: list[AckId] = []
        self.publish(8, 1)

    @rule(count=st.integers(1, 6), keys=st.integers(0, 3))
    def publish(self, count: int, keys: int) -> None:
        new = range(len(self.messages), len(self.messages) + count)
        for each in new:
            self.keys[each] = f"key-{each % (keys + 1)}" if each % (keys + 1) else ""
            self.messages[each] = Stored(0, self.keys[each])
        version = self.state.after_version + 1
        self.state = delivery.absorb(self.state, [committed(new)], version)

    @rule(seconds=st.sampled_from([1, 5, 10, 25]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.model.settle(self.now)

    @rule(which=st.integers(0, 1), count=st.none() | st.integers(1, 5), steps=st.integers(0, 3))
    def run(self, which: int, count: int | None, steps: int = 0) -> None:
        """Start the batch that is due, perhaps again: after a crash, wherever that was.

        ``steps``: how far it comes before anybody else does something.
        """
        query = self.queries[which % len(self.queries)]
        if query.started < query.batch_id:
            self.finish(query)
        self.forward()
        if query.started == query.batch_id:
            query.mine = seen = self.seen_again(query)
            for each in seen:
                self.messages[each].lease_id = query.lease_id
                self.messages[each].until = self.now + 10
                self.messages[each].waits_until = 0.0  # a batch does not wait for its own backoff
        elif seen := self.lease(count):
            query.started, query.lease_id, query.mine = query.batch_id, self.model.leases, seen
        self.given += [(query.lease_id, each) for each in seen]
        self.state, found = run(self.state, query.batch_id, count, self.now, self.on, query.name)
        assert found == sorted(seen)
        query.rows = set(seen)
        if steps:
            self.write(which)
        if steps > 1:
            self.commit(which, early=steps == 3, crash=False)

    @rule(which=st.integers(0, 1))
    def write(self, which: int) -> None:
        """Process the rows, of which the sink keeps the first that came with a batch id."""
        query = self.queries[which % len(self.queries)]
        if query.rows:
            query.sink.setdefault(query.batch_id, query.rows)

    @rule(which=st.integers(0, 1), early=st.booleans(), crash=st.booleans())
    def commit(self, which: int, early: bool, crash: bool) -> None:
        """Let Spark note down the end of a batch, of which the query may have told before."""
        query = self.queries[which % len(self.queries)]
        if query.rows is None or (query.rows and query.batch_id not in query.sink):
            return
        if early and query.started == query.batch_id:
            self.finish(query)
            self.state = streams.finish_before(
                self.state, query.name, query.batch_id + 1, self.on, at(self.now)
            )
        query.batch_id, query.rows = query.batch_id + (not crash), None

    @rule(which=st.integers(0, 1), failed=st.booleans())
    def give_back(self, which: int, failed: bool) -> None:
        query = self.queries[which % len(self.queries)]
        if query.started == query.batch_id:
            self.end([(query.lease_id, each) for each in query.mine], failed)
        self.state = unprocessed(self.state, query.batch_id, self.now, self.on, failed, query.name)
        query.rows = None

    @invariant()
    def every_message_is_where_the_model_has_it(self) -> None:
        state = delivery.settle(self.state, self.on, at(self.now))
        forwarding = redelivery.forwardings(state)
        spans = [span for span in state.unacked() if span.lease_id not in forwarding]
        waiting = [(n, each) for n, each in self.messages.items() if not each.acked]
        expected = {n: (each.lease_id, each.attempt) for n, each in waiting}
        assert {n: (s.lease_id, s.delivery_attempt) for s in spans for n in s.positions} == expected

    def teardown(self) -> None:
        for _ in range(3):
            self.time_passes(1000)
            self.run(0, None)
            self.write(0)
            self.commit(0, False, False)
        assert self.state.count() == 0
        written = Counter(each for rows in self.queries[0].sink.values() for each in rows)
        assert written == Counter(self.messages.keys())

    # What the rules say, message by message

    def finish(self, query: Query) -> None:
        for message in (self.messages[each] for each in query.mine):
            if message.lease_id in (None, query.lease_id):
                message.acked, message.lease_id = True, None
        query.mine = set()

    def seen_again(self, query: Query) -> set[int]:
        held = {n for n in query.mine if self.messages[n].held_by(query.lease_id)}
        waiting = {n: m for n, m in self.messages.items() if not m.acked and not m.lease_id}
        free = query.mine & waiting.keys()
        if not self.model.fields.ordered:
            return held | free
        others = {m.key for m in self.messages.values() if m.lease_id not in (None, query.lease_id)}
        before = [(n, m.key) for n, m in waiting.items() if n not in free]
        return held | {
            each
            for each in free
            if not (key := self.messages[each].key)
            or (key not in others and not any(n < each and key == other for n, other in before))
        }

    def lease(self, count: int | None) -> set[int]:
        taken = set(self.model.lease(count, self.now, 10))
        for query in self.queries:
            query.mine -= taken
        return taken

    def forward(self) -> None:
        leaving = {n for n, message in self.messages.items() if self.model.is_exhausted(message)}
        self.excused |= leaving
        self.model.forward()
        self.model.leases += bool(leaving)  # forwardings and leases share their numbers

    def end(self, named: list[AckId], failed: bool) -> None:
        """End deliveries, which counts as a failure of each, or of none."""
        held = [(lease, n) for lease, n in named if self.messages[n].held_by(lease)]
        before = {n: replace(self.messages[n]) for _, n in held}
        self.model.nack(held, self.now)
        for each, old in before.items() if not failed else ():
            row = self.messages[each]
            row.failures, row.attempt, row.failed_under = (
                old.failures,
                old.attempt,
                old.failed_under,
            )
            row.waits_until = 0.0


class CrowdMachine(QueryMachine):
    """Two queries and a consumer: nothing is held twice at once, and nothing is lost."""

    names = ("one", "two")
    attempts = (None, 2)

    @rule(count=st.none() | st.integers(1, 8))
    def pull(self, count: int | None) -> None:
        self.forward()
        expected = self.lease(count)
        self.given += [(self.model.leases, each) for each in expected]
        self.state = delivery.settle(self.state, self.on, at(self.now))
        self.state = redelivery.decide_forwarding(self.state, self.on.subscription, TOPIC)
        self.state, spans = take(self.state, count, self.now, on=self.on)
        assert set(union(spans)) == expected

    @rule(data=st.data())
    def speak(self, data: st.DataObject) -> None:
        """Let consumers, the queries among them, say what became of messages of theirs."""
        if not self.given:
            return
        some = st.lists(st.sampled_from(self.given[-16:]), max_size=3)
        acked, extended, nacked, returned = (data.draw(some) for _ in range(4))
        held = [{n for n in q.mine if self.messages[n].held_by(q.lease_id)} for q in self.queries]
        one_by_one(acked, self.model.acknowledge)
        self.excused |= {each for _, each in acked if self.messages[each].acked}
        one_by_one(extended, lambda each: self.model.modify(each, self.now, 30))
        self.end(nacked, failed=True)
        self.end(returned, failed=False)
        for query, before in zip(self.queries, held, strict=True):
            query.mine -= {n for n in before if not self.messages[n].held_by(query.lease_id)}
            # also too late, it has said that it did not process them
            query.mine -= {n for lease, n in nacked + returned if lease == query.lease_id}
        deadlines = {timedelta(seconds=30): by_lease(extended), timedelta(0): by_lease(nacked)}
        turn = ack_requests.AckRequest(by_lease(acked), deadlines, by_lease(returned))
        self.state, _ = ack_requests.apply(self.state, turn, self.on, at(self.now))

    @rule(seldom=st.integers(0, 9))
    def seek(self, seldom: int) -> None:
        """Seek to before all messages, where no acknowledged ones are retained."""
        if seldom != 9:
            return
        asked = Seek(at(self.now), self.state.after_version, at(-1))
        self.state = replace(replay.note_seek(self.state, asked, self.on), seeks=())
        for message in self.messages.values():
            message.lease_id, message.acked_under, message.waits_until = None, None, 0.0
            message.failures, message.attempt, message.failed_under = 0, 1, 0
        self.given.clear()
        for query in self.queries:
            query.mine = set()

    def teardown(self) -> None:
        self.time_passes(1000)
        self.pull(None)
        assert available(self.state, self.now, self.on) == []
        rows = [rows for query in self.queries for rows in query.sink.values()]
        acked = {each for each, message in self.messages.items() if message.acked}
        assert acked <= self.excused.union(*rows)


TestQuery = QueryMachine.TestCase
TestCrowd = CrowdMachine.TestCase
TestQuery.settings = TestCrowd.settings = settings(max_examples=150, stateful_step_count=40)
