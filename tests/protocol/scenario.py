"""A scenario: a store, the processes that use it at the same time, and what must hold after all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pubsub_delta import DataLoss
from tests.protocol.outcome import Outcome
from tests.protocol.search import Search, Searched, Snapshot
from tests.protocol.stepping import Handle, Process
from tests.unit.in_memory import InMemory

Verb = Callable[[Handle, "InMemory"], object]
"""What a process does. It knows the store as it was at the beginning."""


@dataclass(frozen=True)
class Scenario:
    """Processes on one store.

    ``holds`` yields what does not hold in a state. ``gaps``: whether each process skips numbers of
    its own where it reads an ack state, as by chance it does; without, they may be the same.
    """

    name: str
    begin: Callable[[], InMemory]
    verbs: Mapping[str, Verb]
    holds: Callable[[Outcome], Iterator[str]]
    gaps: bool = True

    def search(
        self, *, locks: bool = True, lost: int = 0, only: tuple[str, ...] | None = None
    ) -> Searched:
        """Search it to the end; Violated where something does not hold.

        ``only``: the processes that take part.
        """
        world = self.begin()
        names = [*self.verbs] if only is None else only
        processes = [
            Process(name, partial(_run, self.verbs[name], world), number, self.gaps)
            for number, name in enumerate(names, 1)
        ]

        def check(snapshot: Snapshot) -> Iterator[str]:
            try:
                yield from everywhere(Outcome(snapshot))
                yield from self.holds(Outcome(snapshot))
            except DataLoss as error:
                yield f"a message is leased or captured that is not stored: {error}"

        tables = world.driver.world.lane.tables
        return Search(tables, processes, check, locks=locks, lost=lost).run()


def _run(verb: Verb, world: InMemory, handle: Handle) -> object:
    return verb(handle, world)


def everywhere(outcome: Outcome) -> Iterator[str]:
    """Yield what may hold in no state of any store."""
    for place in outcome.places:
        if ("refused", "DataLoss") in place.told:
            yield f"{place.process.name} is told that messages are lost"
    for positions in outcome.positions():
        if len(set(positions)) < len(positions):
            yield f"a position was given twice: {positions}"
