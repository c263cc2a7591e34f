"""Consumers of one subscription in a simulated world: who goes on, and what fails, is drawn.

Consumers are threads of which only one runs at a time. Every call of the port, every look at the
topic and every sleep is a point at which the scheduler may let another one go on. It draws who
that is from one seeded generator, as well as conflicts, lost answers, reads of an old state,
crashes and what the clock says. So a seed is a schedule, and the same one each time.

The operations, the policy and the compare-and-swap are the real ones; the table is simulated.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from random import Random

from pubsub_delta.clock import ManualClock
from pubsub_delta.errors import DeadLetterWarning
from pubsub_delta.policy.ack_state import ACKNOWLEDGED, AckState
from pubsub_delta.resources import DeadLetterPolicy, ExpirationPolicy, RetryPolicy
from pubsub_delta.tables.ack_state.states import StoredAckState
from tests.unit.bookkeeper import Answer, Bookkeeper, Change, Violated, Where
from tests.unit.builders import START, Crashed, FakeTopic, terms, topic_of
from tests.unit.model import Fields

PAUSES = (0.5, 1, 2, 4, 8, 11)


class Stopped(BaseException):
    """Something was violated: the simulation is over."""


class LostAnswer(ConnectionError):
    """It is open what became of a call."""


@dataclass(frozen=True)
class Storm:
    """What happens, and how often: chances per call, or per step of the scheduler.

    ``old_reads``: a read returns what was stored some revisions ago, but nothing older than what
    the same process has seen before, unless ``going_back``. ``late``: what is reported as failed
    lands some time after that. ``one_process``: the consumers are threads of one.
    ``queries``: how many streaming queries consume besides, without ordering.
    """

    consumers: int = 3
    operations: int = 12
    locks: bool = False
    conflicts: float = 0.06
    lost: float = 0.08
    late: float = 0.02
    lost_reads: float = 0.02
    old_reads: float = 0.05
    old_topics: float = 0.05
    crashes: float = 0.004
    stalls: float = 0.01
    ticks: float = 0.1
    publishes: float = 0.04
    going_back: bool = False
    one_process: bool = False
    queries: int = 0


CALM = Storm(1, 0, False, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


@dataclass
class Task:
    """A consumer's thread."""

    name: str
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    crashes: bool = False
    waits_until: int = 0
    done: bool = False


class Scheduler:
    """Lets one task at a time go on, until each is done."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tasks: list[Task] = []
        self.now: Task | None = None
        self.step = 0
        self.error: BaseException | None = None
        self._back = threading.Semaphore(0)

    def start(self, name: str, run: Callable[[], None]) -> None:
        task = Task(name)
        self.tasks.append(task)

        def body() -> None:
            try:
                self._wait(task)
                run()
            except (Crashed, Stopped):
                pass
            except BaseException as error:
                self.error = self.error or error
            finally:
                task.done = True
                self._back.release()

        threading.Thread(target=body, name=name, daemon=True).start()

    def pause(self) -> None:
        """Let others go on; come back when it is one's turn."""
        task = self.now
        if task is not None:
            self._back.release()
            self._wait(task)

    def _wait(self, task: Task) -> None:
        task.go.acquire()
        if self.error is not None:
            raise Stopped
        if task.crashes:
            task.crashes = False
            raise Crashed

    def run(self, between: Callable[[Task], None]) -> None:
        while waiting := [task for task in self.tasks if not task.done]:
            self.step += 1
            ready = [task for task in waiting if task.waits_until <= self.step]
            if self.error is None and not ready:
                continue
            task = self.random.choice(ready or waiting)
            if self.error is None:
                between(task)
            self.now = task
            task.go.release()
            self._back.acquire()
            self.now = None
        if self.error is not None:
            raise self.error


class World:
    """A topic, the ack state of a subscription to it, and all that may go wrong."""

    def __init__(self, seed: int, storm: Storm, fields: Fields) -> None:
        self.random = Random(seed)
        self.scheduler = Scheduler(self.random)
        self.storm, self.fields = storm, fields
        self.clock = ManualClock(START)
        self.keys: dict[int, str] = {}
        self.topic = FakeTopic(topic_of())
        self.history = [StoredAckState(AckState(after_version=0), 1, ("first",))]
        self.book = Bookkeeper(fields)
        self.pending: list[tuple[StoredAckState, StoredAckState, Change, Answer]] = []
        self.held_by: str | None = None
        self.memory: dict[str, StoredAckState] = {}
        self.letters: tuple[int, set[int]] = (0, set())
        self.changes = 0
        self.trace: list[str] = []
        self.seen: Counter[str] = Counter()
        retry = None if fields.backoffs is None else RetryPolicy(*fields.backoffs)
        dead = (
            None if fields.max_attempts is None else DeadLetterPolicy("dead", fields.max_attempts)
        )
        self.terms = terms(
            self.keys if fields.ordered else None,
            enable_exactly_once_delivery=fields.exactly_once,
            retry_policy=retry,
            dead_letter_policy=dead,
            expiration_policy=ExpirationPolicy(None),
            ack_deadline_seconds=10,
        )

    @property
    def now(self) -> float:
        return (self.clock.now() - START).total_seconds()

    def note(self, what: str) -> None:
        who = self.scheduler.now.name if self.scheduler.now else "world"
        self.trace.append(f"{self.scheduler.step:4} {self.now:6.1f} s {who}: {what}")

    def happens(self, what: str, chance: float) -> bool:
        """Draw whether something happens, and count it."""
        drawn = bool(chance) and self.random.random() < chance
        if drawn:
            self.seen[what] += 1
            self.note(what)
        return drawn

    # What happens between two steps of the consumers

    def turn(self, task: Task) -> None:
        if self.random.random() < self.storm.ticks:
            self.clock.advance(self.random.choice(PAUSES))
        if self.random.random() < self.storm.publishes:
            self.publish()
        if self.pending and self.random.random() < 0.2:
            self.land_late()
        task.crashes = self.happens("crash", self.storm.crashes)
        if self.happens("stall", self.storm.stalls):
            task.waits_until = self.scheduler.step + self.random.choice((10, 50, 200))

    def publish(self) -> None:
        """Commit some messages, whose publisher may have been slow to do so."""
        first, count = len(self.keys), self.random.randint(1, 5)
        published = max(0.0, self.now - self.random.choice((0, 0, 0.5, 3, 30)))
        for position in range(first, first + count):
            self.keys[position] = self.random.choice(("", "a", "b", "c"))
        self.topic.publish(*range(first, first + count), at=published)
        for position in range(first, first + count):
            self.book.publish(position, self.keys[position], published, self.topic.version)
        self.note(f"published {first} to {first + count - 1} at {published:g}")

    def land_late(self) -> None:
        following, expected, change, answer = self.pending.pop(0)
        if self.land(following, expected, change, answer):
            self.seen["landed late"] += 1

    def course(self) -> tuple[int, ...]:
        """Return what is the same at two times if nothing happened in between."""
        old = self.seen["read of an old state"] + self.seen["look at an old topic"]
        return len(self.history), self.topic.version, old

    # The table

    def land(
        self, following: StoredAckState, expected: StoredAckState, change: Change, answer: Answer
    ) -> bool:
        """Replace the stored state if it is the expected one."""
        if not self.history[-1].is_same(expected):
            return False
        self.history.append(following)
        self.note(f"revision {following.revision} is {change}, {answer}")
        try:
            self.book.landed(change, answer)
            self.book.check_stored(list(stored_of(following.state)), following.state.after_version)
        except Violated as error:
            self.stop(error)
        return True

    def stop(self, error: BaseException) -> None:
        """End the simulation, in whatever handler of the library this happens."""
        self.scheduler.error = self.scheduler.error or error
        raise Stopped from error

    def prefetching(self, _: object) -> AbstractContextManager[None]:
        """Look at nothing ahead: when a look is made is drawn by the scheduler."""
        return nullcontext()

    def append(self, number: int, positions: list[int]) -> None:
        """Append to the dead-letter topic, unless this number or a later one has landed."""
        self.scheduler.pause()
        if self.happens("dead letters not written", self.storm.lost):
            raise LostAnswer("the answer was lost")
        last, _ = self.letters
        if number > last:
            self.letters = (number, set(positions))
            self.seen["dead letters"] += len(positions)
            try:
                self.book.appended(number, positions)
            except Violated as error:
                self.stop(error)
        self.scheduler.pause()
        if self.happens("answer for dead letters lost", self.storm.lost):
            raise LostAnswer("the answer was lost")

    # A run

    def run(self, consume: Consume, stream: Consume) -> None:
        """Let consumers and queries go through the storm."""
        for _ in range(3):
            self.publish()
        queries = 0 if self.fields.ordered else self.storm.queries
        names = [(consume, f"consumer {n}") for n in range(self.storm.consumers)]
        for run, name in [*names, *((stream, f"query {n}") for n in range(queries))]:
            self.scheduler.start(name, partial(run, self, name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeadLetterWarning)
            self.scheduler.run(self.turn)
            while self.pending:
                self.land_late()
        self.storm = CALM


Consume = Callable[[World, str], None]


def stored_of(state: AckState) -> Iterator[tuple[int, Where]]:
    """Write a stored state out, a row for each message that is not acknowledged."""
    for span in state.spans:
        if span.state not in ACKNOWLEDGED:
            until = None if span.until is None else (span.until - START).total_seconds()
            for position in span.positions:
                yield position, (span.state.value, span.lease_id, until)
