"""A process of the library that goes one call of its lane at a time.

Nothing in a process is left to chance: ids, times and the numbers that are skipped follow from its
number. So the answers that its lane has given decide which call comes next, and they are all that
has to be kept of it. To go on it is run again from its beginning, and given these answers.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from pubsub_delta import ManualClock, PubSubError
from pubsub_delta.tables.ack_state import AckStates
from tests.model.drivers import MemoryPubSub
from tests.model.memory import MemoryTables, World
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import START, at

READS = (
    *("exists", "table_id", "properties", "version", "last_commit", "history"),
    *("read", "read_latest"),
    *("rows", "files", "transaction_version"),
)
WRITES = (
    *("create", "swap", "merge", "append", "delete", "drop"),
    *("compact", "vacuum", "clean_log", "restore"),
)
ACQUIRE, RELEASE = "acquire the lock", "release the lock"


class Paused(BaseException):
    """The process has come to a call that was not answered yet."""


class AnswerLost(ConnectionError):
    """A commit was sent, and its writer is not told what became of it."""


@dataclass(frozen=True)
class Call:
    """A call of the lane. ``step``: the functions of the library that make it."""

    method: str
    table: str
    args: tuple[Any, ...]
    named: dict[str, Any]
    step: str

    @property
    def may_write(self) -> bool:
        """Whether it may write its table."""
        return self.method in WRITES


@dataclass(frozen=True)
class Answer:
    """What a call returned, or raised. ``key``: the same for what a process cannot distinguish."""

    value: Any
    raised: bool
    key: str


def answer_of(value: Any, raised: bool = False) -> Answer:
    shown = value.to_pylist() if isinstance(value, pa.Table) else value
    kind = type(value).__name__ if raised else ""
    return Answer(value, raised, f"{kind}{shown!r}")


Event = tuple[Any, ...]
"""What a process was told: a word, and what it is about."""
Program = Callable[["Handle"], object]


@dataclass(frozen=True)
class Process:
    """A program with a name, and a number of its own.

    ``gaps``: whether the numbers that it skips in an ack state are others than those of others.
    """

    name: str
    program: Program
    number: int
    gaps: bool = True


@dataclass
class Place:
    """Where a process stands: what it has been told, and the call that comes next, if any."""

    process: Process
    answers: tuple[Answer, ...]
    call: Call | None
    told: tuple[Event, ...]
    error: BaseException | None = None
    died: bool = False
    following: dict[str, Place] = field(default_factory=dict)

    def after(self, answer: Answer) -> Place:
        """Return where the process stands when its call is answered."""
        if answer.key not in self.following:
            self.following[answer.key] = run(self.process, (*self.answers, answer))
        return self.following[answer.key]

    def dead(self) -> Place:
        """Return it as it is when the process has died here."""
        if "died" not in self.following:
            self.following["died"] = Place(self.process, (), None, self.told, died=True)
        return self.following["died"]


class StepLane(MemoryLane):
    """A lane that gives the answers it was given, and then pauses its process."""

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        super().__init__()
        self._answers = answers
        self._given = 0
        self.next: Call | None = None

    def step(self, method: str, table: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if self._given < len(self._answers):
            answer = self._answers[self._given]
            self._given += 1
            if answer.raised:
                raise answer.value
            return answer.value
        if self.next is None:
            self.next = Call(method, table, args, named, functions())
        raise Paused

    @contextmanager
    def locked(self, table: str, *, wait: bool = True) -> Iterator[None]:
        self.step(ACQUIRE, table, (table, wait), {})
        try:
            yield
        finally:
            if self.next is None:
                self.step(RELEASE, table, (table,), {})

    def prefetching(self, *tables: str) -> AbstractContextManager[None]:
        return nullcontext()


def _stepped(method: str) -> Callable[..., Any]:
    def call(self: StepLane, *args: Any, **named: Any) -> Any:
        return self.step(method, args[0], args, named)

    return call


for _method in (*READS, *WRITES):
    setattr(StepLane, _method, _stepped(_method))


def functions() -> str:
    """Return the function that makes a call, the one of an operation, and the operation."""
    found: list[str] = []
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        name = frame.f_code.co_name
        layers = ("operations.", "delivery.", "tables.")
        inside = module.startswith(tuple(f"pubsub_delta.{layer}" for layer in layers))
        if inside and not module.startswith("pubsub_delta.tables.lanes") and name[0] != "<":
            found.append(f"{module.removeprefix('pubsub_delta.')}.{name}")
        frame = frame.f_back  # type: ignore[assignment]
    verbs = [each for each in found if each.startswith(("operations.", "delivery."))]
    known = [*found[:1], *verbs[:1], *verbs[-1:]]
    return " < ".join(dict.fromkeys(known))


@dataclass
class Handle:
    """What a program has: a store, its clock, and somewhere to say what it was told."""

    store: MemoryPubSub
    lane: StepLane
    clock: ManualClock
    told: list[Event]

    def tell(self, *event: Any) -> None:
        self.told.append(event)

    def be_at(self, seconds: float) -> None:
        """Let it be so many seconds after START."""
        self.clock.advance((at(seconds) - self.clock.now()).total_seconds())


def handle_of(process: Process, lane: StepLane, now: datetime = START) -> Handle:
    """Open the store as a process of its own."""
    world = World()
    world.lane = lane
    made = iter(range(1, 1 << 30))
    world.new_id = lambda: f"{process.number:08x}{next(made):024x}"  # type: ignore[method-assign]
    tables = MemoryTables(world)
    gap = 1000 * process.number if process.gaps else 0
    tables.ack_states = AckStates(
        tables.ack_state_tables, world.new_id, lambda _: None, lambda: gap
    )
    clock = ManualClock(now)
    return Handle(MemoryPubSub(tables, clock), lane, clock, [])


def run(process: Process, answers: tuple[Answer, ...] = ()) -> Place:
    """Run a process with the answers it was given, up to the call that comes next."""
    lane = StepLane(answers)
    handle = handle_of(process, lane)
    error: BaseException | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            process.program(handle)
    except Paused:
        pass
    except PubSubError as refused:
        handle.tell("refused", type(refused).__name__)
    except AnswerLost:
        handle.tell("in doubt")
    except Exception as wrong:
        error = wrong
    return Place(process, answers, lane.next, tuple(handle.told), error)
