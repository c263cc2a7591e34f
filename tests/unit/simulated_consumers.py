"""Consumers in a simulated world, who use the real operations and note what they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any, TypeVar, cast

from pubsub_delta.clock import ManualClock
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.errors import Aborted, Unknown
from pubsub_delta.names import ResourceName, subscription_name
from pubsub_delta.operations.acknowledge import acknowledge, modify_ack_deadline
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.operations.pull import finish_micro_batch, pull, pull_micro_batch
from pubsub_delta.policy import delivery, replay
from pubsub_delta.policy.ack_ids import AckId as AckIdText
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.policy.ack_state import AckState, Span, State, union
from pubsub_delta.policy.delivery import Outcomes
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import AckResult, Subscription
from pubsub_delta.tables.ack_state.states import AckStates, Decide
from pubsub_delta.tables.store import Tables
from tests.unit.bookkeeper import Answer, Change, Said, Violated
from tests.unit.builders import PLAIN, START, Crashed
from tests.unit.model import AckId
from tests.unit.simulated_port import SimulatedPort, Undertaking, look
from tests.unit.simulation import LostAnswer, World

T = TypeVar("T")
NAME = subscription_name(PLAIN.name, project="local")
Doing = Callable[[Any], Answer]


# The store as one consumer's process sees it


class NotedAckStates(AckStates):
    """The real thing, and the bookkeeper is told what it is used for."""

    def __init__(self, world: World, consumer: str, new_id: Callable[[], str]) -> None:
        self.port = SimulatedPort(world, consumer)
        self.world = world
        self.asked: tuple[Change, Doing] | None = None
        super().__init__(self.port, new_id, lambda _: world.scheduler.pause(), lambda: 0)
        if world.storm.one_process:
            self._cache = world.memory

    def change(self, uid: str, decide: Decide[T], *_: object) -> T:
        change, answer_of = self.asked or self._forgetting()
        self.asked = None
        doing = self.port.doing = Undertaking(change)

        def noted(state: AckState) -> tuple[AckState, T]:
            following, result = decide(state)
            if change.settles:
                doing.answer = answer_of(result)
            else:
                before, after = (union(s.in_state(State.FORWARDING)) for s in (state, following))
                doing.answer = Answer(forgotten=frozenset(before - after))
            return following, result

        try:
            return super().change(uid, noted)
        except Aborted:
            self.world.book.gave_up(change)
            raise
        finally:
            self.port.doing = None

    def _forgetting(self) -> tuple[Change, Doing]:
        self.world.changes += 1
        name = self.port.consumer
        return Change(self.world.changes, name, self.world.now, settles=False), lambda _: Answer()


@dataclass(frozen=True)
class SimulatedMessages:
    world: World

    @property
    def history(self) -> SimulatedMessages:
        return self

    def newest_version(self) -> int:
        return self.world.topic.version

    def exists(self) -> bool:
        return True


@dataclass(frozen=True)
class SimulatedSource:
    world: World
    messages: SimulatedMessages

    uid = PLAIN.uid
    has_lost_messages = staticmethod(lambda _: False)

    @property
    def subscription(self) -> Subscription:
        return self.world.terms.subscription

    @property
    def terms(self) -> delivery.Terms:
        return self.world.terms

    def catch_up(self, state: AckState, now: datetime) -> AckState:
        return replay.catch_up(state, self.terms, look(self.world), now)


@dataclass(frozen=True)
class DeadLetterTopic:
    name: str = "projects/local/topics/dead"
    uid: str = "d" * 32


class SimulatedTables:
    """What the operations ask of a store: one subscription, and one dead-letter topic."""

    def __init__(self, world: World, consumer: str, new_id: Callable[[], str]) -> None:
        self.world = world
        self.registry = self
        self.lanes = None
        self.ack_states = NotedAckStates(world, consumer, new_id)
        self.is_received, self.prefetching = bool, world.prefetching

    def source(self, _: ResourceName) -> SimulatedSource:
        return SimulatedSource(self.world, self.messages())

    def messages(self, _: str = "") -> SimulatedMessages:
        return SimulatedMessages(self.world)

    def topic(self, _: str) -> DeadLetterTopic:
        return DeadLetterTopic()

    topic_of_uid = topic


def source(tables: Tables, name: ResourceName, _: str | None = None) -> SimulatedSource:
    """Stand in for ``delivery.sources.source``: who looks may see an old topic."""
    return cast(SimulatedTables, tables).source(name)


def append_dead_letters(
    tables: Tables, _: object, target: str, number: int, spans: Sequence[Span], now: datetime
) -> bool:
    """Stand in for the append of a DataFrame (``delivery.dead_letters._append``)."""
    cast(SimulatedTables, tables).world.append(number, list(union(spans)))
    return True


# A consumer


class Consumer:
    """A client that pulls, and says of messages whatever is drawn; it forgets all at a crash."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.ids = (f"{name}.{number}" for number in count())
        self.start()

    def start(self) -> None:
        """Begin with an empty memory."""
        self.tables = SimulatedTables(self.world, self.name, self.ids.__next__)
        self.known: list[AckId] = []
        self.world.book.believed.pop(self.name, None)

    @property
    def store(self) -> Tables:
        return cast(Tables, self.tables)

    def go_on(self, operations: int) -> None:
        for _ in range(operations):
            try:
                self.act()
            except Crashed:
                self.start()
            except (Aborted, Unknown, LostAnswer) as error:
                self.world.seen[type(error).__name__] += 1
                self.world.note(f"failed: {error!r}")

    def act(self) -> None:
        random = self.world.random
        if not self.known or random.random() < 0.3:
            self.pull(random.choice((1, 2, 3, 5, None, None)))
        elif random.random() < 0.45:
            self.acknowledge(self.some())
        elif random.random() < 0.5:
            self.modify(self.some(), random.choice((0, 0, 1, 5, 10, 20)))
        elif random.random() < 0.7:
            self.exchange()
        else:
            for _ in range(random.randint(1, 10)):
                self.world.scheduler.pause()

    def some(self) -> list[AckId]:
        """Choose ids that were given out: recent ones mostly, some again, some late."""
        random = self.world.random
        recent = self.known[-6:]
        chosen = random.sample(recent, random.randint(1, len(recent)))
        return sorted({*chosen, *random.sample(self.known, random.random() < 0.3)})

    def pull(self, max_messages: int | None) -> list[AckId]:
        def run(change: Change, now: datetime) -> Answer:
            return leased_by(pull(self.store, NAME, max_messages, lambda: now))

        return self.tell(
            Said(), lambda taken: leased_by_spans(taken.leased), run, pulls=True, wants=True
        )

    def acknowledge(self, named: list[AckId]) -> None:
        def answer(outcomes: Outcomes) -> Answer:
            return Answer(acknowledged=by_id(outcomes))

        def run(_: Change, now: datetime) -> Answer:
            result = acknowledge(self.store, NAME, texts(named), now)
            return Answer(acknowledged=by_text(result))

        self.tell(Said(acknowledged=tuple(named)), answer, run)

    def modify(self, named: list[AckId], seconds: int) -> None:
        def answer(outcomes: Outcomes) -> Answer:
            return Answer(deadlines=((seconds, by_id(outcomes)),))

        def run(_: Change, now: datetime) -> Answer:
            result = modify_ack_deadline(self.store, NAME, texts(named), seconds, lambda: now)
            return Answer(deadlines=((seconds, by_text(result)),))

        self.tell(Said(deadlines=((seconds, tuple(named)),)), answer, run)

    def exchange(self) -> list[AckId]:
        """Say of each message one thing at most, and ask for more."""
        random = self.world.random
        parts: tuple[list[AckId], ...] = ([], [], [], [])
        for ack_id in self.some():
            random.choice(parts).append(ack_id)
        acked, extended, nacked, given_back = map(tuple, parts)
        deadlines = ((15.0, extended), (0.0, nacked))
        request = AckRequest(
            held(acked), {timedelta(seconds=s): held(ids) for s, ids in deadlines}, held(given_back)
        )
        wanted = random.choice((0, 1, 3))

        def told(said: Any, leased: Any) -> Answer:
            found = tuple((s.total_seconds(), by_id(o)) for s, o in said.deadlines.items())
            return Answer(
                leased.leased, leased.lease_id, leased.until, by_id(said.acknowledged), found
            )

        def answer(taken: Any) -> Answer:
            return told(taken.outcomes, leased_by_spans(taken.leased))

        def run(_: Change, now: datetime) -> Answer:
            channel = StoreChannel(self.store, NAME, PLAIN.uid, lambda: now)
            done = channel.exchange(request, wanted, now)
            return told(done.response, leased_by(cast("Lease | None", done.leased)))

        return self.tell(
            Said(acked, deadlines, given_back), answer, run, pulls=True, wants=wanted > 0
        )

    def tell(
        self,
        said: Said,
        answer: Doing,
        run: Callable[[Change, datetime], Answer],
        *,
        pulls: bool = False,
        wants: bool = False,
    ) -> list[AckId]:
        """Run an operation; whatever comes of it, the bookkeeper is told."""
        world = self.world
        world.changes += 1
        change = Change(world.changes, self.name, world.now, said, pulls, wants)
        before = world.course()
        self.tables.ack_states.asked = (change, answer)
        world.book.doubt(change)
        told = run(change, world.clock.now())
        try:
            world.book.told(change, told, world.now)
            if world.course() == before:
                world.seen["told in peace"] += 1
                world.book.told_in_peace(change, told)
        except Violated as error:
            world.stop(error)
        world.note(f"told {change.number}: {told}")
        new = [(told.lease_id, each) for each in sorted(told.leased) if told.lease_id]
        self.known += new
        return new


class Query(Consumer):
    """A streaming query: what it did not see end, it runs again under the same id."""

    def __init__(self, world: World, name: str) -> None:
        self.batch_id = 0
        super().__init__(world, name)

    def act(self) -> None:
        self.micro_batch(self.batch_id)
        for _ in range(self.world.random.randint(0, 6)):
            self.world.scheduler.pause()  # it is being processed
        self.batch_id += 1  # Spark has noted that it ended
        if self.world.random.random() < 0.3:
            self.finish(self.batch_id)

    def micro_batch(self, batch_id: int) -> None:
        def run(_: Change, now: datetime) -> Answer:
            asked = (NAME, self.name, batch_id, 4, lambda: now)
            return leased_by(pull_micro_batch(self.store, *asked, uid=PLAIN.uid).lease)

        said = Said(micro_batch=(self.name, batch_id))
        self.tell(said, lambda taken: leased_by_spans(taken.leased), run, pulls=True)

    def finish(self, before: int) -> None:
        def run(_: Change, now: datetime) -> Answer:
            finish_micro_batch(self.store, NAME, self.name, before - 1, now, uid=PLAIN.uid)
            return Answer()

        self.tell(Said(micro_batch=(self.name, before)), lambda _: Answer(), run)


def stream(world: World, name: str) -> None:
    """Be a query for as many micro-batches as the storm has operations."""
    Query(world, name).go_on(world.storm.operations)


def consume(world: World, name: str) -> None:
    """Be a consumer for as many operations as the storm has."""
    Consumer(world, name).go_on(world.storm.operations)


def drain(world: World) -> None:
    """Pull and acknowledge fairly until nothing has come for long enough."""
    fair, quiet = Consumer(world, "fair consumer"), 0
    assert isinstance(world.clock, ManualClock)
    for _ in range(200):
        got = fair.pull(None)
        if got:
            fair.acknowledge(got)
        quiet = 0 if got else quiet + 1
        if quiet > 4:
            break
        world.clock.advance(0 if got else 30)
    else:
        raise Violated("nothing is lost", "200 pulls do not drain it")
    world.book.check_drained()


# What the library's answers mean


def texts(named: Iterable[AckId]) -> list[str]:
    return [str(AckIdText(PLAIN.uid, lease_id, position)) for lease_id, position in named]


def held(named: Iterable[AckId]) -> dict[int, Positions]:
    leases: dict[int, list[int]] = {}
    for lease_id, position in named:
        leases.setdefault(lease_id, []).append(position)
    return {lease_id: Positions.of(each) for lease_id, each in sorted(leases.items())}


def leased_by(lease: Lease | None) -> Answer:
    return leased_by_spans([] if lease is None else lease.spans)


def leased_by_spans(spans: Sequence[Span]) -> Answer:
    if not spans:
        return Answer()
    until = spans[0].until
    assert until is not None
    seconds = (until - START).total_seconds()
    return Answer(frozenset(union(spans)), spans[0].lease_id, seconds)


def by_id(outcomes: Outcomes) -> tuple[tuple[AckId, str], ...]:
    found = [
        ((lease_id, position), name)
        for name in ("success", "expired", "invalid")
        for lease_id, positions in getattr(outcomes, name).items()
        for position in positions
    ]
    return tuple(sorted(found))


def by_text(result: AckResult) -> tuple[tuple[AckId, str], ...]:
    found = []
    for name in ("success", "expired", "invalid"):
        for text in getattr(result, name):
            parsed = parse_ack_id(text)
            assert parsed is not None
            found.append(((parsed.lease_id, parsed.position), name))
    return tuple(sorted(found))
