"""Seek, snapshots and retention beside a deliberately naive model, message by message."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pubsub_delta.policy import delivery, retention
from pubsub_delta.policy.ack_state import Captured, State, union
from pubsub_delta.resources import RetryPolicy
from tests.unit.builders import FakeLog, FakeTopic, Reader, at, take
from tests.unit.model import AckId, Fields, Stored, one_by_one
from tests.unit.replay_model import Held, ModelTopic, ReplayModel
from tests.unit.test_delivery_properties import by_id, by_lease

BEGINNING = -1_000_000.0
WHO = st.integers(0, 1)
LIMITS = st.sampled_from([8, 15, 30, 60])
MAX_SNAPSHOTS = 3

subscriptions = st.fixed_dictionaries(
    {
        "fields": st.builds(
            Fields,
            ordered=st.booleans(),
            exactly_once=st.booleans(),
            backoffs=st.sampled_from([None, (2, 16)]),
        ),
        "filtered": st.booleans(),
        "coarse": st.booleans(),
        "retention": LIMITS,
        "retain_acked": st.booleans(),
    }
)


@dataclass
class Pair:
    """A subscription, and what the model has of it."""

    reader: Reader
    model: ReplayModel
    given: list[AckId] = field(default_factory=list)


@dataclass
class Taken:
    """A snapshot, and what the model has of it."""

    captured: Captured
    held: Held


class ReplayMachine(RuleBasedStateMachine):
    """Every step is done to both; whatever can be observed must be the same."""

    def __init__(self) -> None:
        super().__init__()
        self.topic = FakeTopic()
        self.log = ModelTopic()
        self.keys: dict[int, str] = {}
        self.pairs: list[Pair] = []
        self.snapshots: list[Taken] = []
        self.now = 0.0
        self.next_position = 0

    @initialize(config=subscriptions, before=st.integers(0, 2))
    def begin(self, config: dict[str, Any], before: int) -> None:
        for _ in range(before):
            self.publish(2, 0, 0)
        self.subscribe(config)

    # The topic

    @rule(count=st.integers(1, 4), late=st.sampled_from([0, 0, 0, 1, 5, 20]), odd=st.integers(0, 3))
    def publish(self, count: int, late: int, odd: int) -> None:
        """Publish one commit; that of a slow publisher has an old stamp."""
        positions = range(self.next_position, self.next_position + count)
        self.next_position += count
        for each in positions:
            self.keys[each] = f"key-{each % 3}" if each % 3 else ""
        self.topic.publish(*positions, at=self.now - late, matching=bool(odd))
        self.log.version = self.topic.version
        for each in positions:
            self.log.messages[each] = self.topic.messages[each]
            for pair in self.pairs:
                pair.model.arrive(each)

    @rule(seconds=st.integers(1, 12))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(seconds=st.none() | LIMITS)
    def change_topic_retention(self, seconds: int | None) -> None:
        self.model_time_passes()
        self.topic.retain(seconds, self.now)
        self.log.retain(seconds, self.now)

    @rule()
    def job(self) -> None:
        """Delete what nobody can get any more."""
        needed = self.needed()
        self.topic.delete_before(at(self.now) if needed is None else min(needed, at(self.now)))
        self.log.version = self.topic.version

    # Subscriptions

    @precondition(lambda self: len(self.pairs) < 2)
    @rule(config=subscriptions)
    def subscribe(self, config: dict[str, Any]) -> None:
        model = ReplayModel(
            topic=self.log,
            keys=self.keys,
            **{name: value for name, value in config.items() if name != "coarse"},
        )
        backoffs = model.fields.backoffs
        reader = Reader(
            self.topic,
            self.keys if model.fields.ordered else None,
            config["coarse"],
            filter="attributes:even" if model.filtered else "",
            enable_exactly_once_delivery=model.fields.exactly_once,
            retry_policy=None if backoffs is None else RetryPolicy(*backoffs),
            message_retention_duration=timedelta(seconds=model.retention),
            retain_acked_messages=model.retain_acked,
        )
        reader.log = FakeLog(self.topic, model.filtered, config["coarse"])
        self.pairs.append(Pair(reader, model))

    @rule(who=WHO, on=st.booleans())
    def retain_acked_messages(self, who: int, on: bool) -> None:
        pair = self.pairs[who % len(self.pairs)]
        pair.reader.update(self.now, retain_acked_messages=on)
        pair.model.pass_time(self.now)
        pair.model.retain_acked = on

    @rule(who=WHO, seconds=LIMITS)
    def change_retention(self, who: int, seconds: int) -> None:
        pair = self.pairs[who % len(self.pairs)]
        duration = timedelta(seconds=seconds)
        pair.reader.update(self.now, message_retention_duration=duration)
        pair.model.pass_time(self.now)
        pair.model.retention = seconds

    @rule(who=WHO)
    def look(self, who: int) -> None:
        """Write down what was found out, as a pull may do that finds nothing to lease."""
        self.pairs[who % len(self.pairs)].reader.look(self.now)

    @rule(who=WHO, count=st.none() | st.integers(1, 4), deadline=st.integers(1, 12))
    def pull(self, who: int, count: int | None, deadline: int) -> None:
        pair = self.pairs[who % len(self.pairs)]
        state, taken = take(
            pair.reader.caught_up(self.now), count, self.now, deadline, pair.reader.on
        )
        pair.model.pass_time(self.now)
        expected = pair.model.lease(count, self.now, deadline)
        assert sorted(union(taken)) == expected
        if taken:
            pair.reader.state = state
            lease_id = taken[0].lease_id or 0
            assert lease_id == pair.model.leases
            pair.given += [(lease_id, position) for position in expected]

    @rule(who=WHO, data=st.data())
    def acknowledge(self, who: int, data: st.DataObject) -> None:
        pair = self.pairs[who % len(self.pairs)]
        named = self.some_ids(data, pair)
        on = pair.reader.on
        pair.reader.state, outcomes = delivery.acknowledge(
            pair.reader.state, by_lease(named), on, at(self.now)
        )
        pair.model.pass_time(self.now)
        # Of a message that was discarded meanwhile the specification says nothing.
        gone = {p for p, message in pair.model.messages.items() if message.discarded}
        expected = one_by_one(named, pair.model.acknowledge)
        found = by_id(outcomes)
        assert {i: each for i, each in found.items() if i[1] not in gone} == {
            i: each for i, each in expected.items() if i[1] not in gone
        }

    @rule(who=WHO, data=st.data(), deadline=st.integers(0, 12))
    def modify_ack_deadline(self, who: int, data: st.DataObject, deadline: int) -> None:
        pair = self.pairs[who % len(self.pairs)]
        named = self.some_ids(data, pair)
        pair.reader.state, outcomes = delivery.modify_ack_deadline(
            pair.reader.state,
            by_lease(named),
            pair.reader.on,
            at(self.now),
            timedelta(seconds=deadline),
        )
        pair.model.pass_time(self.now)
        with pair.model.noting_acks():
            if deadline:
                expected = one_by_one(
                    named, lambda each: pair.model.modify(each, self.now, deadline)
                )
            else:
                expected = pair.model.nack(named, self.now)
        assert by_id(outcomes) == expected

    # Seeks and snapshots

    @rule(who=WHO, data=st.data())
    def seek_to_a_time(self, who: int, data: st.DataObject) -> None:
        pair = self.pairs[who % len(self.pairs)]
        time = data.draw(st.sampled_from(self.interesting_times()))
        pair.reader.seek(time, self.now)
        pair.model.seek_to_time(time, self.now)

    @precondition(lambda self: len(self.snapshots) < MAX_SNAPSHOTS)
    @rule(who=WHO)
    def create_snapshot(self, who: int) -> None:
        pair = self.pairs[who % len(self.pairs)]
        self.snapshots.append(Taken(pair.reader.snapshot(self.now), pair.model.snapshot(self.now)))

    @precondition(lambda self: self.snapshots)
    @rule(who=WHO, which=st.integers(0, MAX_SNAPSHOTS - 1))
    def seek_to_a_snapshot(self, who: int, which: int) -> None:
        pair = self.pairs[who % len(self.pairs)]
        taken = self.snapshots[which % len(self.snapshots)]
        pair.model.pass_time(self.now)
        pair.reader.seek(to=taken.captured, now=self.now)
        pair.model.seek_to_snapshot(taken.held, self.now)

    @precondition(lambda self: self.snapshots)
    @rule(which=st.integers(0, MAX_SNAPSHOTS - 1))
    def delete_snapshot(self, which: int) -> None:
        del self.snapshots[which % len(self.snapshots)]

    # What must hold

    @invariant()
    def all_holds(self) -> None:
        self.every_message_is_where_the_model_has_it()
        self.a_seek_to_the_beginning_brings_back_what_is_retained()
        self.a_seek_to_a_snapshot_brings_back_what_it_holds()
        self.every_message_lies_within_the_times_of_its_span()
        self.nothing_that_may_be_delivered_is_older_than_what_is_needed()

    def every_message_is_where_the_model_has_it(self) -> None:
        self.model_time_passes()
        for pair in self.pairs:
            state = pair.reader.caught_up(self.now)
            held = [
                (position, (span.state, span.lease_id))
                for span in state.unacked()
                for position in span.positions
            ]
            assert len(held) == len(dict(held)), "a message in two spans"
            assert dict(held) == {
                position: (self.state_of(message), message.lease_id)
                for position, message in pair.model.messages.items()
                if not message.acked
            }

    def state_of(self, message: Stored) -> State:
        if message.lease_id:
            return State.LEASED
        return State.BACKING_OFF if message.waits_until > self.now else State.AVAILABLE

    def a_seek_to_the_beginning_brings_back_what_is_retained(self) -> None:
        for pair in self.pairs:
            restored = pair.model.after("seek_to_time", BEGINNING, self.now)
            assert self.sought(pair.reader, BEGINNING) == restored.unacked()

    def a_seek_to_a_snapshot_brings_back_what_it_holds(self) -> None:
        for pair in self.pairs:
            for taken in self.snapshots:
                restored = pair.model.after("seek_to_snapshot", taken.held, self.now)
                assert self.sought(pair.reader, to=taken.captured) == restored.unacked()

    def sought(
        self, reader: Reader, time: float | None = None, to: Captured | None = None
    ) -> set[int]:
        before = reader.state
        reader.seek(time, self.now, to)
        found = set(reader.unacked(self.now))
        reader.state = before
        return found

    def every_message_lies_within_the_times_of_its_span(self) -> None:
        for pair in self.pairs:
            for span in pair.reader.caught_up(self.now).spans:
                for position in span.positions:
                    published = at(self.log.messages[position].published)
                    assert span.publish_time_min <= published <= span.publish_time_max

    def nothing_that_may_be_delivered_is_older_than_what_is_needed(self) -> None:
        # "Nothing that a live subscription, a retained acked range or a live snapshot may still
        # deliver is ever deleted from the topic."
        needed = self.needed()
        wanted = set()
        for pair in self.pairs:
            model = pair.model
            retained = {n for n, message in model.messages.items() if message.retained}
            wanted |= model.unacked() | retained | model.may_return()
        for position, each in self.log.messages.items():
            snapshots = (
                position in taken.held.unacked or each.version > taken.held.version
                for taken in self.snapshots
            )
            if any(snapshots) or self.log.covers(each.published, self.now):
                wanted.add(position)
        for position in wanted:
            assert position in self.topic.messages, "it is deleted already"
            assert needed is not None
            assert at(self.log.messages[position].published) >= needed

    # How the cases are made

    def model_time_passes(self) -> None:
        for pair in self.pairs:
            pair.model.pass_time(self.now)

    def needed(self) -> datetime | None:
        times = [retention.covered_from(self.topic.topic, at(self.now))]
        for taken in self.snapshots:
            version = taken.captured.after_version
            following = [
                at(m.published) for m in self.topic.messages.values() if m.version > version
            ]
            times.append(retention.needed_by_snapshot(taken.captured, min(following, default=None)))
        times += [pair.reader.needed(self.now) for pair in self.pairs]
        return min((time for time in times if time is not None), default=None)

    def some_ids(self, data: st.DataObject, pair: Pair) -> list[AckId]:
        wrong = st.tuples(st.integers(0, pair.model.leases + 1), st.just(self.next_position))
        if not pair.given:
            return data.draw(st.lists(wrong, max_size=1))
        recent = st.sampled_from(pair.given[-6:])
        chosen = st.lists(recent | recent | st.sampled_from(pair.given), max_size=6)
        return data.draw(chosen)

    def interesting_times(self) -> list[float]:
        """Return times at which something begins or ends, and others beside them."""
        exact = [self.now, *(each.published for each in self.log.messages.values())][-8:]
        exact += [self.now - pair.model.retention for pair in self.pairs]
        since = self.log.covered_from(self.now)
        exact += [] if since is None else [since]
        near = [time + step for time in exact for step in (-0.5, 0, 0.5)]
        return sorted({BEGINNING, self.now + 3, self.now + 15, *near})


TestReplay = ReplayMachine.TestCase
TestReplay.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
