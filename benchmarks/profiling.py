"""Where the time of one pull and of one ack goes, by the library's steps."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks.floor import read_all
from benchmarks.jobs import jobs_of
from benchmarks.measuring import Bench, Section
from pubsub_delta import PubSub
from pubsub_delta.tables.ack_state_tables import AckStateTables
from pubsub_delta.tables.history import History
from pubsub_delta.tables.messages import Messages
from pubsub_delta.tables.registry import Registry

STEPS: dict[str, tuple[type, str]] = {
    "look up the subscription": (Registry, "source"),
    "look at the topic's commits": (History, "commits_after"),
    "find new messages (absorb)": (Messages, "absorb"),
    "read the ack state": (AckStateTables, "read"),
    "swap it (the commit)": (AckStateTables, "replace"),
}
WARM_UPS = 5


class Profile:
    """Seconds and Spark jobs of each step of one operation."""

    def __init__(self, bench: Bench, section: Section) -> None:
        self.bench, self.section = bench, section
        self.operation, self.keep = "", False
        self.inner = 0.0
        self.jobs: dict[str, list[int]] = {}

    def run(self, operation: str, call: Callable[[], Any]) -> Any:
        """Run an operation; what none of its steps took is told as the rest."""
        self.operation, self.inner = operation, 0.0
        start = time.perf_counter()
        result = call()
        whole = time.perf_counter() - start
        self.section.add(f"{operation}: whole", whole, keep=self.keep)
        self.section.add(
            f"{operation}: the rest (policy, Python)", whole - self.inner, keep=self.keep
        )
        return result

    def step(self, name: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        jobs, result = jobs_of(self.bench.spark, call)
        seconds = time.perf_counter() - start
        self.inner += seconds
        what = f"{self.operation}: {name}"
        self.section.add(what, seconds, keep=self.keep)
        if self.keep:
            self.jobs.setdefault(what, []).append(len(jobs))
        return result


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
    """Publish, pull and acknowledge a thousand messages, and time each step."""
    rounds = 5 * bench.rounds
    section = Section(
        "profile",
        f"Publish of 1,000 messages, pull(1000), a read, batch.ack(); {rounds} rounds after "
        f"{WARM_UPS}.",
    )
    store = PubSub(bench.spark, f"{bench.directory}/store")
    store.create_topic("profile")
    store.create_subscription("profile", "profile", ack_deadline_seconds=600)
    thousand = ["x" * 64] * 1000
    told = Profile(bench, section)
    with watched(told):
        for turn in range(rounds + WARM_UPS):
            told.keep = turn >= WARM_UPS
            told.run("publish", lambda: store.publish("profile", thousand))
            batch = told.run("pull", lambda: store.pull("profile", 1000))
            section.time("read", partial(read_all, batch.df), keep=told.keep)
            told.run("ack", batch.ack)
    for what, jobs in told.jobs.items():
        section.facts[f"Spark jobs: {what}"] = f"{statistics.median(jobs):g}"
    return section
