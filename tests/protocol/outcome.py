"""What a store gives once everybody is done or dead: other processes read it, at a later time."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property

from pubsub_delta import MaintenanceReport, ManualClock, PubSub
from pubsub_delta.policy.ack_state import AckState, union
from pubsub_delta.policy.positions import Positions
from tests.model.drivers import MemoryPubSub
from tests.model.memory import MemoryTables, World
from tests.protocol.contents import copied
from tests.protocol.search import Snapshot
from tests.protocol.stepping import Event, Place
from tests.unit.builders import HOUR, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC

LATER = 3 * HOUR
"""When others look: leases are over, and whoever takes a snapshot is taken for dead."""


class Outcome:
    """A state as others find it. Each question is put to a copy of the tables."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the processes stand."""
        return self._snapshot.places

    def place(self, process: str) -> Place | None:
        """Return where a process stands; None where it does not take part."""
        found = (each for each in self._snapshot.places if each.process.name == process)
        return next(found, None)

    def told(self, process: str, word: str) -> list[Event]:
        """Return what a process was told, of one kind, without the word for it."""
        place = self.place(process)
        return [] if place is None else [each[1:] for each in place.told if each[0] == word]

    def is_done(self, process: str) -> bool:
        place = self.place(process)
        return place is None or (place.call is None and not place.died)

    def open(self, now: float = LATER) -> PubSub:
        """Open a copy of the store."""
        world = World()
        world.ids = iter(range(1 << 64, 1 << 65))
        world.lane.tables = {
            name: copied(each.table) for name, each in self._snapshot.contents.items()
        }
        return MemoryPubSub(MemoryTables(world), ManualClock(at(now)))

    def received(
        self,
        name: str = NAME,
        before: Callable[[PubSub], object] = lambda _: None,
        now: float = LATER,
    ) -> Counter[str]:
        """Return what a subscription gives when it is pulled empty, and how often each."""
        store = self.open(now)
        found: Counter[str] = Counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before(store)
            while batch := store.pull(name):
                found.update(each.data.decode() for each in batch)
                batch.ack()
        return found

    @cached_property
    def backlog(self) -> Counter[str]:
        return self.received()

    @cached_property
    def kept(self) -> Counter[str]:
        """What it gives after maintenance: the same."""
        return self.received(before=maintain)

    def stored(self, topic: str = TOPIC) -> list[str]:
        """Return the data of the messages that a topic stores."""
        store = self.open()
        uid = store.get_topic(topic).uid
        rows = self._snapshot.contents[store.tables.layout.messages(uid)].table.rows
        return [row["data"].decode() for row in rows]

    def ack_state(self, name: str = NAME) -> AckState:
        """Return the ack state of a subscription as it is stored."""
        store = self.open()
        return store.tables.ack_states.read(store.get_subscription(name).uid)

    def captured(self, snapshot: str) -> Positions | None:
        """Return the messages that a snapshot captured; None where there is no such snapshot."""
        store = self.open()
        found = store.tables.registry.captured(f"projects/local/snapshots/{snapshot}", at(LATER))
        return None if found is None else union(found[2].spans)

    def positions(self) -> Iterable[list[int]]:
        """Yield the positions of the messages of each topic."""
        for name, each in self._snapshot.contents.items():
            if "/messages/" in name:
                yield [row["position"] for row in each.table.rows]

    def letters(self) -> Counter[str]:
        """Return what the dead-letter topic stores."""
        return Counter(self.stored(LETTERS))


def maintain(store: PubSub) -> MaintenanceReport:
    return store.maintain(exact=True, optimize=False, vacuum=False)
