"""A process that works on the store by the library, at a steady rate, until it is told to end.

    python -m tests.endurance.library ROOT FOLDER NAME RATE [upkeep]

It publishes ``RATE`` messages a second, and consumes as many. With ``upkeep`` it also maintains the
store, takes snapshots and seeks. What was confirmed, and how long each call took, it writes down.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeVar

from pubsub_delta import Aborted, AlreadyExists, NotFound, PubSub
from tests.journal import Journal

T = TypeVar("T")
TOPIC, SUBSCRIPTION, REPLAYED = "flow", "flow", "replayed"
SMALL = 5
"""Messages of a publish."""
_UPKEEP = 60.0


class Workers:
    """The threads of a process."""

    def __init__(self, root: str, folder: Path, name: str, rate: float) -> None:
        self._store = PubSub(None, root)
        self._lines, self._name, self._rate = Journal(folder / f"{name}.jsonl"), name, rate
        self._ended = threading.Event()
        self._chance = random.Random(name)

    def run(self, upkeep: bool) -> None:
        """Work until the standard input ends."""
        jobs: list[tuple[Callable[[], object], float]] = [
            (self._publish, SMALL / self._rate),
            (self._consume, SMALL / self._rate),
        ]
        if upkeep:
            jobs += [(self._maintain, _UPKEEP), (self._replay, _UPKEEP / 3)]
        threads = [threading.Thread(target=self._repeat, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        self._ended.set()
        for thread in threads:
            thread.join()

    def _repeat(self, what: Callable[[], object], every: float) -> None:
        """Do something at a steady rate; what is late is not made up for."""
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            due = max(due + every, time.monotonic())
            try:
                what()
            except Aborted as error:  # nothing was written
                self._lines.write(aborted=str(error)[:200])

    def _timed(self, kind: str, what: Callable[[], T]) -> T:
        began = time.monotonic()
        done = what()
        self._lines.write(op=kind, at=time.time(), ms=1000 * (time.monotonic() - began))
        return done

    def _publish(self) -> None:
        stamp = time.time_ns()
        texts = [f"{self._name}.{stamp}.{n}" for n in range(SMALL)]
        self._timed("publish", lambda: self._store.publish(TOPIC, texts))
        self._lines.write(published=texts)

    def _consume(self) -> None:
        batch = self._timed("pull", lambda: self._store.pull(SUBSCRIPTION, 2 * SMALL))
        texts = {each.ack_id: each.data.decode() for each in batch}
        chosen = self._chance.random()
        if not texts or chosen < 0.03:  # forgotten: its lease ends
            return
        if chosen < 0.1:
            self._timed("nack", batch.nack)
            return
        self._lines.write(acking=list(texts.values()))
        told = self._timed("ack", batch.ack)
        self._lines.write(acked=[texts[each] for each in (*told.success, *told.expired)])

    def _replay(self) -> None:
        """Seek one subscription back, drain it, and seek it to a snapshot."""
        back = datetime.now(timezone.utc) - timedelta(seconds=30)
        self._timed("seek", lambda: self._store.seek(REPLAYED, time=back))
        self._store.pull(REPLAYED).ack()
        try:
            self._timed("snapshot", lambda: self._store.create_snapshot("soak", REPLAYED))
            self._timed("seek", lambda: self._store.seek(REPLAYED, snapshot="soak"))
            self._store.delete_snapshot("soak")
        except AlreadyExists:
            self._store.delete_snapshot("soak")
        except NotFound as error:
            self._lines.write(aborted=str(error)[:200])

    def _maintain(self) -> None:
        report = self._timed(
            "maintain",
            lambda: self._store.maintain(
                exact=True, optimize=True, vacuum=True, log_retention="5m"
            ),
        )
        self._lines.write(problems=report.problems, discarded=sum(report.discarded.values()))


def prepare(root: str) -> None:
    """Create what the processes share."""
    store = PubSub(None, root)
    store.create_topic(TOPIC)
    store.create_subscription(SUBSCRIPTION, TOPIC, ack_deadline_seconds=30)
    store.create_subscription(REPLAYED, TOPIC, retain_acked_messages=True,
                              message_retention_duration="10m")  # fmt: skip


def in_doubt(written: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return what a process that was killed may have acknowledged: its last ack has no answer."""
    acks = [each for each in written if "acking" in each or "acked" in each]
    last = acks[-1] if acks else {}
    return set(last.get("acking", ()))


def drain(root: str, subscription: str, wait: float) -> set[str]:
    """Acknowledge everything that is left of a subscription when its leases are over."""
    store = PubSub(None, root)
    left: set[str] = set()
    end = time.monotonic() + wait
    while True:
        batch = store.pull(subscription)
        left |= {each.data.decode() for each in batch}
        if batch.message_count:
            batch.ack()
        elif not store.metrics(subscription)["num_undelivered_messages"]:
            return left
        elif time.monotonic() > end:
            raise AssertionError(f"{subscription}: something never comes")
        else:
            time.sleep(1)


if __name__ == "__main__":
    Workers(sys.argv[1], Path(sys.argv[2]), sys.argv[3], float(sys.argv[4])).run(
        "upkeep" in sys.argv[5:]
    )
