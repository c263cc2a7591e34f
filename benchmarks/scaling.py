"""How many consumers one subscription carries, simulated: compare-and-swap without a lock.

Each consumer reads the ack state, decides, and swaps; whoever was overtaken waits as the library
waits, and reads again. Reading and committing take the times of a local disk, as measured here in
either lane, or of an object store, as its users report them. A consumer works on its batch for some
seconds between a pull and the acknowledgement, which are two swaps.
"""

from __future__ import annotations

import heapq
import random
import statistics
from dataclasses import dataclass, field

from benchmarks.measuring import Bench, Section
from pubsub_delta.tables.lanes.retries import ATTEMPTS

MINUTES = 60
CONSUMERS = (1, 2, 4, 8, 16, 32, 64)
SEED = 7


@dataclass(frozen=True)
class Storage:
    """Seconds of a read and of a commit, and of the work between a pull and its ack."""

    name: str
    read: float
    commit: float
    work: float


STORAGES = (
    Storage("local disk, direct lane", 0.003, 0.02, 5),
    Storage("local disk, Spark lane", 0.15, 0.45, 5),
    Storage("object store, direct lane", 0.05, 0.2, 5),
    Storage("object store, Spark lane", 0.4, 0.9, 5),
    Storage("object store, Spark lane, batches of a minute", 0.4, 0.9, 60),
)


@dataclass
class Contention:
    """Consumers of one subscription, each a loop of pull, work, ack."""

    storage: Storage
    consumers: int
    random: random.Random
    revision: int = 0
    landed: int = 0
    lost: int = 0
    aborted: int = 0
    waits: list[float] = field(default_factory=list)
    holding: set[int] = field(default_factory=set)

    def run(self, seconds: float) -> None:
        """Let every consumer go round for so long."""
        events: list[tuple[float, int, str, int, int, float]] = []
        for consumer in range(self.consumers):
            start = self.random.uniform(0, self.storage.work)
            heapq.heappush(events, (start, consumer, "read", 0, 0, start))
        while events and events[0][0] < seconds:
            now, consumer, what, attempt, seen, since = heapq.heappop(events)
            heapq.heappush(events, self._next(now, consumer, what, attempt, seen, since))

    def _next(
        self, now: float, consumer: int, what: str, attempt: int, seen: int, since: float
    ) -> tuple[float, int, str, int, int, float]:
        if what == "read":
            at = now + self._about(self.storage.read)
            return at, consumer, "swap", attempt, self.revision, since
        if what == "swap":
            return now + self._about(self.storage.commit), consumer, "land", attempt, seen, since
        if seen == self.revision:
            self.revision += 1
            self.landed += 1
            self.waits.append(now - since)
            self.holding ^= {consumer}
            at = now + (self._about(self.storage.work) if consumer in self.holding else 0)
            return at, consumer, "read", 0, 0, at
        self.lost += 1
        if attempt + 1 == ATTEMPTS:
            self.aborted += 1
            return now + 1, consumer, "read", 0, 0, now + 1
        pause = self.random.uniform(0, min(2, 0.05 * 2**attempt))
        return now + pause, consumer, "read", attempt + 1, 0, since

    def _about(self, seconds: float) -> float:
        return seconds * self.random.uniform(0.8, 1.3)


def scaling(_: Bench) -> Section:
    """Tell how many swaps land a second, how many are lost, and how long one takes."""
    section = Section(
        "scaling",
        f"Simulated, {MINUTES} minutes each, seed {SEED}: swaps that land a second / attempts for "
        f"each / seconds until one landed, median and 99th percentile / given up after {ATTEMPTS} "
        "attempts.",
    )
    for storage in STORAGES:
        for consumers in CONSUMERS:
            world = Contention(storage, consumers, random.Random(SEED))
            world.run(MINUTES * 60)
            quantiles = statistics.quantiles(world.waits, n=100)
            section.facts[f"{storage.name}, {consumers} consumers"] = (
                f"{world.landed / (MINUTES * 60):.2f} / "
                f"{(world.landed + world.lost) / world.landed:.1f} / "
                f"{quantiles[49]:.1f}, {quantiles[98]:.1f} / {world.aborted}"
            )
    return section
