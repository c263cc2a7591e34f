"""The search: from every state that is met, each process that can go on goes on.

A state is what the tables hold, where each process stands, and who has which lock. States that are
met again are not searched again. A read of a table that nobody else will write goes first, alone:
in whatever order it comes, it tells the same. Which tables a process writes is found out by the
search itself, which begins anew when it meets another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from unittest import mock

from tenacity import nap

from pubsub_delta.tables.lanes.protocol import Conflict
from tests.model.memory_lane import MemoryTable
from tests.protocol.contents import Contents, described, execute, named, names_of, stored_of
from tests.protocol.stepping import (
    ACQUIRE,
    RELEASE,
    AnswerLost,
    Call,
    Place,
    Process,
    answer_of,
    run,
)

DIES = "dies"
STABLE = ("exists", "properties", "table_id")
"""What is asked of a table that stays as it is, once the table is there."""

Locks = tuple[tuple[str, int, int], ...]
"""Which table is locked by which process, and how often."""


@dataclass(frozen=True)
class Moment:
    """A state of the search.

    ``contents``: the number of what the tables hold. ``holder``: who has just got a lock, and goes
    next if it can: until then nobody else can see that it has the lock.
    """

    contents: int
    places: tuple[int, ...]
    locks: Locks = ()
    answers_lost: int = 0
    holder: int | None = None


@dataclass(frozen=True)
class Step:
    """How a state was come to: who did what."""

    process: str
    what: str
    came_from: Moment | None


@dataclass(frozen=True)
class Snapshot:
    """What a check looks at: the tables, and what each process was told up to now."""

    contents: Contents
    places: tuple[Place, ...]


Check = Callable[[Snapshot], Iterable[str]]
"""Names what does not hold in a state."""


class Violated(AssertionError):
    """Something does not hold. ``steps``: the shortest way there."""

    def __init__(self, what: str, steps: list[str]) -> None:
        numbered = (f"{number:>4}  {each}" for number, each in enumerate(steps, 1))
        super().__init__("\n".join([what, *numbered]))
        self.what, self.steps = what, steps


@dataclass
class Searched:
    """What a search has met."""

    states: int = 0
    steps: int = 0
    contents: int = 0
    places: int = 0
    written: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """The tables that a process writes, by how much it had been told before."""

    def line(self, name: str) -> str:
        return (
            f"{name}: {self.states:,} states, {self.steps:,} steps, {self.contents:,} contents of "
            f"the tables, {self.places:,} places of processes"
        )


@contextmanager
def nobody_sleeps() -> Iterator[None]:
    """Have whoever lost a race try again at once."""
    with mock.patch.object(nap, "time", SimpleNamespace(sleep=lambda _: None)):
        yield


class _MetMore(Exception):
    """A process writes a table that it was not known to write."""


class Search:
    """All orders of the steps of some processes, from one store.

    Args:
        tables: what the store holds at the beginning.
        processes: who uses it.
        check: what must hold in every state, whoever has died until then.
        locks: whether a table has one writer at a time, as on a local disk.
        lost: how many answers of commits may be lost.
        most: states after which it gives up.
    """

    def __init__(
        self,
        tables: Mapping[str, MemoryTable],
        processes: Iterable[Process],
        check: Check,
        *,
        locks: bool = True,
        lost: int = 0,
        most: int = 2_000_000,
    ) -> None:
        self._processes = tuple(processes)
        self._roots = {each.name: run(each) for each in self._processes}
        self._check, self._with_locks, self._lost, self._most = check, locks, lost, most
        self._numbers: dict[frozenset[tuple[str, str]], int] = {}
        self._contents: list[Contents] = []
        self._places: list[Place] = []
        self._place_numbers: dict[int, int] = {}
        self._done: dict[tuple[object, ...], tuple[int, Contents]] = {}
        self._checked: set[tuple[object, ...]] = set()
        self._first = {name: stored_of(each) for name, each in tables.items()}
        self.searched = Searched(written={each.name: {} for each in self._processes})

    def run(self) -> Searched:
        """Search to the end; raise Violated where something does not hold."""
        with nobody_sleeps():
            while True:
                try:
                    return self._run()
                except _MetMore:
                    continue

    def _run(self) -> Searched:
        places = tuple(self._number(self._roots[each.name]) for each in self._processes)
        first = Moment(self._number_of(self._first), places)
        came: dict[Moment, Step | None] = {first: None}
        left = deque([first])
        steps = 0
        while left:
            moment = left.popleft()
            self._hold(moment, came)
            moves = self._moves(moment)
            if all(what == DIES for _, what, _ in moves):
                self._be_over(moment, came)
            for process, what, following in moves:
                steps += 1
                if following not in came:
                    came[following] = Step(process, what, moment)
                    left.append(following)
            if len(came) > self._most:
                raise RuntimeError(f"more than {self._most:,} states; the search is not over")
        found = self.searched
        found.states, found.steps = len(came), steps
        found.contents, found.places = len(self._contents), len(self._places)
        return found

    # What is numbered, so that a state is small

    def _number(self, place: Place) -> int:
        number = self._place_numbers.setdefault(id(place), len(self._places))
        if number == len(self._places):
            self._places.append(place)
        return number

    def _number_of(self, contents: Contents) -> int:
        key = frozenset((name, each.key) for name, each in contents.items())
        number = self._numbers.setdefault(key, len(self._contents))
        if number == len(self._contents):
            self._contents.append(contents)
        return number

    # Steps

    def _moves(self, moment: Moment) -> list[tuple[str, str, Moment]]:
        if moment.holder is not None:
            found = self._moves_of(moment, [moment.holder])
            if found:
                return found
        return self._moves_of(moment, range(len(moment.places)))

    def _moves_of(self, moment: Moment, whose: Iterable[int]) -> list[tuple[str, str, Moment]]:
        found: list[tuple[str, str, Moment]] = []
        for index in whose:
            number = moment.places[index]
            place = self._places[number]
            call = place.call
            if call is None:
                continue
            self._note_written(place, call)
            if call.method == RELEASE or self._is_alone(moment, place.process, call):
                return [self._goes_on(moment, index, place, call)]
            if self._may_go(moment, place.process, call):
                found.append(self._goes_on(moment, index, place, call))
                if call.may_write and moment.answers_lost < self._lost:
                    found += self._answers_lost(moment, index, place, call)
            if any(holder == place.process.number for _, holder, _ in moment.locks):
                found.append(self._dies(moment, index, place))
        return found

    def _note_written(self, place: Place, call: Call) -> None:
        known = self.searched.written[place.process.name].setdefault(len(place.told), set())
        if call.may_write and call.table not in known:
            known.add(call.table)
            raise _MetMore

    def _is_alone(self, moment: Moment, process: Process, call: Call) -> bool:
        """Tell whether it is a read of what no other process will write from now on."""
        if call.may_write or call.method == ACQUIRE:
            return False
        if call.method in STABLE and call.table in self._contents[moment.contents]:
            return True
        for number in moment.places:
            place = self._places[number]
            if place.process is process or place.call is None:
                continue
            for told, tables in self.searched.written[place.process.name].items():
                if told >= len(place.told) and call.table in tables:
                    return False
        return True

    def _may_go(self, moment: Moment, process: Process, call: Call) -> bool:
        if not self._with_locks:
            return True
        held = {table for table, holder, _ in moment.locks if holder != process.number}
        if call.method == ACQUIRE:
            return call.table not in held or not call.args[1]  # without waiting it is refused
        return not (call.may_write and call.table in held)

    def _goes_on(
        self, moment: Moment, index: int, place: Place, call: Call
    ) -> tuple[str, str, Moment]:
        locks = moment.locks
        if call.method in (ACQUIRE, RELEASE):
            number, contents = self._of_lock(moment, place, call)
            if self._places[number].answers[-1].raised:
                pass
            elif self._with_locks:
                locks = _locked(locks, call, place.process.number)
        else:
            number, contents = self._executed(moment.contents, place, call)
        following = self._put(moment, index, number, contents, locks)
        comes_next = self._places[number].call
        waits = (
            comes_next is not None and comes_next.method == ACQUIRE
        )  # two may wait for each other
        if call.method == ACQUIRE and locks is not moment.locks and not waits:
            following = replace(following, holder=index)
        return place.process.name, described(call), following

    def _of_lock(self, moment: Moment, place: Place, call: Call) -> tuple[int, Contents]:
        held = {table for table, holder, _ in moment.locks if holder != place.process.number}
        refused = self._with_locks and call.method == ACQUIRE and call.table in held
        answer = answer_of(Conflict("locked"), True) if refused else answer_of(None)
        return self._number(place.after(answer)), self._contents[moment.contents]

    def _executed(self, before: int, place: Place, call: Call) -> tuple[int, Contents]:
        """Make a call; return where the process stands then, and what has changed."""
        contents = self._contents[before]
        key = contents[call.table].key if call.table in contents else None
        known = self._done.get((id(place), key))
        if known is None:
            changed, answer = execute(call, contents)
            known = self._number(place.after(answer)), changed
            self._done[id(place), key] = known
        return known

    def _answers_lost(
        self, moment: Moment, index: int, place: Place, call: Call
    ) -> Iterator[tuple[str, str, Moment]]:
        """Yield a step whose commit lands and one whose does not, both without an answer."""
        lost = self._number(place.after(answer_of(AnswerLost("no answer"), True)))
        _, changed = self._executed(moment.contents, place, call)
        for what, contents in (("lands", changed), ("does not land", {})):
            if contents or what != "lands":
                following = self._put(moment, index, lost, contents, moment.locks, 1)
                yield place.process.name, f"{described(call)}: {what}, no answer", following

    def _dies(self, moment: Moment, index: int, place: Place) -> tuple[str, str, Moment]:
        """End a process that holds a lock. Without one, it is as if it did not go on."""
        locks = tuple(each for each in moment.locks if each[1] != place.process.number)
        dead = self._number(place.dead())
        return place.process.name, DIES, self._put(moment, index, dead, {}, locks)

    def _put(
        self,
        moment: Moment,
        index: int,
        number: int,
        changed: Contents,
        locks: Locks,
        lost: int = 0,
    ) -> Moment:
        contents = moment.contents
        if changed and changed is not self._contents[contents]:
            contents = self._number_of({**self._contents[contents], **changed})
        places = (*moment.places[:index], number, *moment.places[index + 1 :])
        return Moment(contents, places, locks, moment.answers_lost + lost)

    # What must hold

    def _be_over(self, moment: Moment, came: Mapping[Moment, Step | None]) -> None:
        waiting = [self._places[number] for number in moment.places]
        names = [place.process.name for place in waiting if place.call is not None]
        if names:
            raise self._violated(f"{' and '.join(names)} wait for each other", moment, came)

    def _violated(self, what: str, moment: Moment, came: Mapping[Moment, Step | None]) -> Violated:
        names = names_of(self._contents[moment.contents])
        return Violated(what, [named(each, names) for each in _way(moment, came)])

    def _hold(self, moment: Moment, came: Mapping[Moment, Step | None]) -> None:
        places = tuple(self._places[number] for number in moment.places)
        for place in places:
            if place.error is not None:
                error = f"{type(place.error).__name__}: {place.error}"
                what = f"{place.process.name} ended with {error}"
                raise self._violated(what, moment, came)
        told = tuple((place.told, place.call is None) for place in places)
        key = (moment.contents, told)
        if key in self._checked:
            return
        self._checked.add(key)
        for wrong in self._check(Snapshot(self._contents[moment.contents], places)):
            raise self._violated(wrong, moment, came)


def _locked(locks: Locks, call: Call, number: int) -> Locks:
    held = {(table, holder): count for table, holder, count in locks}
    key = (call.table, number)
    held[key] = held.get(key, 0) + (1 if call.method == ACQUIRE else -1)
    return tuple(sorted((table, holder, count) for (table, holder), count in held.items() if count))


def _way(moment: Moment, came: Mapping[Moment, Step | None]) -> list[str]:
    """Return the steps that lead to a state, the first one first."""
    found: list[str] = []
    step = came[moment]
    while step is not None:
        found.append(f"{step.process}: {step.what}")
        step = came[step.came_from] if step.came_from is not None else None
    return found[::-1]
