"""Where the time of a publish, pull, read and ack goes in the direct lane, by calls of the lane."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub
from pubsub_delta.tables.lanes.direct import DirectLane, DirectScans

STEPS: dict[str, tuple[type, str]] = {
    "version: see whether there is anything new": (DirectLane, "version"),
    "history: read what the log tells": (DirectLane, "history"),
    "read: rows of a control table": (DirectLane, "read"),
    "files: statistics of a topic's files": (DirectLane, "files"),
    "append: a commit to the topic": (DirectLane, "append"),
    "merge: a commit to a control table": (DirectLane, "merge"),
    "rows: read messages": (DirectScans, "rows"),
}
WARM_UPS = 5

T = TypeVar("T")


class Profile:
    """Seconds and calls of each step of one operation."""

    def __init__(self, section: Section) -> None:
        self.section = section
        self.keep = False
        self.calls: dict[str, list[int]] = {}
        self._steps: dict[str, list[float]] = {}
        self._inside = False

    def run(self, operation: str, call: Callable[[], T]) -> T:
        """Run an operation; what none of its steps took is told as the rest."""
        self._steps.clear()
        start = time.perf_counter()
        result = call()
        whole = time.perf_counter() - start
        if self.keep:
            sums = {name: sum(seconds) for name, seconds in self._steps.items()}
            rest = whole - sum(sums.values())
            for name, seconds in {
                "whole": whole,
                **sums,
                "the rest (policy, Python)": rest,
            }.items():
                self.section.add(f"{operation}: {name}", seconds)
            for name, each in self._steps.items():
                self.calls.setdefault(f"{operation}: {name}", []).append(len(each))
        return result

    def step(self, name: str, call: Callable[[], Any]) -> Any:
        """Run a step, and keep its seconds, unless it is a part of another one."""
        if self._inside:
            return call()
        self._inside = True
        start = time.perf_counter()
        try:
            return call()
        finally:
            self._steps.setdefault(name, []).append(time.perf_counter() - start)
            self._inside = False


@contextmanager
def watched(profile: Profile) -> Iterator[None]:
    """Time the steps of the library while this lasts."""
    originals = {name: getattr(owner, method) for name, (owner, method) in STEPS.items()}

    def wrap(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return profile.step(name, partial(original, *args, **kwargs))

        return call

    try:
        for name, (owner, method) in STEPS.items():
            setattr(owner, method, wrap(name, originals[name]))
        yield
    finally:
        for name, (owner, method) in STEPS.items():
            setattr(owner, method, originals[name])


def profile(bench: Bench) -> Section:
    """Publish, pull, read and acknowledge a hundred messages, and time each step."""
    rounds = 20 * bench.rounds
    section = Section(
        "profile",
        f"Publish of 100 messages, pull(1000), batch.arrow(), batch.ack() in a store without "
        f"Spark; {rounds} rounds after {WARM_UPS}.",
    )
    store = PubSub(None, f"{bench.directory}/store")
    store.create_topic("profile")
    store.create_subscription("profile", "profile", ack_deadline_seconds=600)
    hundred = ["x" * 64] * 100
    told = Profile(section)
    with watched(told):
        for turn in range(rounds + WARM_UPS):
            told.keep = turn >= WARM_UPS
            told.run("publish", lambda: store.publish("profile", hundred))
            batch = told.run("pull", lambda: store.pull("profile", 1000))
            told.run("read", batch.arrow)
            told.run("ack", batch.ack)
    for what, calls in told.calls.items():
        section.facts[f"calls: {what}"] = f"{statistics.median(calls):g}"
    return section
