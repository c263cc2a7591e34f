"""The table of the ack state in a simulated world: the port of the compare-and-swap, and faults.

Every call may lose a race, its answer, or the process that made it (see ``simulation``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pubsub_delta.tables.ack_state.states import StoredAckState
from pubsub_delta.tables.lanes import retries
from pubsub_delta.tables.lanes.protocol import Conflict
from tests.unit.bookkeeper import Answer, Change, Violated
from tests.unit.builders import FakeLog
from tests.unit.simulation import LostAnswer, World

NOTHING = Answer()


def most_tries() -> int:
    """Return how often is tried: on what is remembered, and then on what is read."""
    return retries.ATTEMPTS + 1


@dataclass
class Undertaking:
    """A change that a consumer is making: how often it was tried, and what was decided last."""

    change: Change
    answer: Answer = NOTHING
    reads: int = 0
    replaces: int = 0


class SimulatedPort:
    """The compare-and-swap as one consumer sees it."""

    def __init__(self, world: World, consumer: str) -> None:
        self.world, self.consumer = world, consumer
        self.doing: Undertaking | None = None
        self.seen = 0
        self.refused = 0

    def create(self, uid: str, first: StoredAckState) -> None:
        raise NotImplementedError

    def read(self, uid: str) -> StoredAckState:
        world, storm = self.world, self.world.storm
        world.scheduler.pause()
        self._tried("reads")
        if world.happens("read lost", storm.lost_reads):
            raise LostAnswer("the answer was lost")
        found = world.history[-1]
        oldest = 0 if storm.going_back else self.seen
        older = [each for each in world.history[-5:-1] if each.revision >= oldest]
        if older and world.happens("read of an old state", storm.old_reads):
            found = world.random.choice(older)
        self.seen = max(self.seen, found.revision)
        world.scheduler.pause()  # it may be old by the time it is used
        return found

    def replace(self, uid: str, following: StoredAckState, expected: StoredAckState) -> bool:
        world, storm = self.world, self.world.storm
        world.scheduler.pause()
        self._tried("replaces")
        self.seen = max(self.seen, expected.revision)
        assert self.doing is not None
        hopeless = expected.revision <= self.refused
        if hopeless and not (storm.one_process or storm.going_back):
            what = f"{expected.revision}, though {self.refused} was refused: {self.doing}"
            world.stop(Violated("no try is known to fail", what))
        sent = (following, expected, self.doing.change, self.doing.answer)
        if world.happens("conflict", storm.conflicts):
            raise Conflict("a concurrent writer was faster")
        if not storm.locks and world.happens("lands later", storm.late):
            world.pending.append(sent)
            raise self._lost()
        if world.happens("lost before it landed", storm.lost / 2):
            raise self._lost()
        landed = world.land(*sent)
        if world.happens("answer lost", storm.lost):
            world.seen["landed, answer lost"] += landed
            raise self._lost()
        self.seen = max(self.seen, world.history[-1].revision)
        world.scheduler.pause()
        if not landed:
            self.refused = expected.revision
            world.seen["race lost"] += 1
        if not landed and world.random.random() < 0.5:
            raise Conflict("a concurrent writer was faster")
        return landed

    def _lost(self) -> LostAnswer:
        """Lose an answer; whoever waits for it may wait for long."""
        task = self.world.scheduler.now
        if task is not None and self.world.random.random() < 0.2:
            task.waits_until = self.world.scheduler.step + 300
        self.world.scheduler.pause()
        return LostAnswer("the answer was lost")

    @contextmanager
    def locked(self, uid: str, *, wait: bool = True) -> Iterator[None]:
        world = self.world
        if not world.storm.locks or world.held_by == self.consumer:
            yield
            return
        if world.held_by is not None and not wait:
            world.seen["lock held"] += 1
            raise Conflict("the ack state is being written")
        while world.held_by is not None:
            world.scheduler.pause()
        world.held_by = self.consumer
        try:
            yield
        finally:
            world.held_by = None

    def _tried(self, what: str) -> None:
        doing = self.doing
        if doing is None:
            return
        setattr(doing, what, getattr(doing, what) + 1)
        if doing.replaces > most_tries() or doing.reads > 2 * most_tries():
            self.world.stop(Violated("the number of tries is bounded", f"{doing}"))


class SimulatedLog(FakeLog):
    """One look at the topic: at a version of it that may be old."""

    version: int = 0

    def added(self, after_version: int, up_to: int | None, *args: Any, **times: Any) -> Any:
        last = self.version if up_to is None else min(up_to, self.version)
        return super().added(after_version, last, *args, **times)


def look(world: World) -> SimulatedLog:
    """Look at the topic, which takes a while."""
    world.scheduler.pause()
    log = SimulatedLog(world.topic)
    log.version = world.topic.version
    if world.happens("look at an old topic", world.storm.old_topics):
        log.version = max(0, log.version - world.random.randint(1, 3))
    world.scheduler.pause()
    return log
