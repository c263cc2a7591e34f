"""Two processes of four threads on one store: each message is held by one consumer at a time.

Both go by the direct lane, or by Spark, or one by each on the same tables. And the control: without
the lock of tables on local disks Spark's commits get lost, so it is necessary; those of the direct
lane do not. ``SECONDS=120 pytest -m trial tests/trials/test_crowds.py`` gives the crowd more time.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.journal import entries
from tests.trials import checker, delta_log
from tests.trials.children import Worker

pytestmark = [pytest.mark.trial, pytest.mark.timeout(1800)]

SECONDS = float(os.environ.get("SECONDS", "30"))
CONTROL_SECONDS = float(os.environ.get("CONTROL_SECONDS", "60"))
"""How long losses are looked for without the lock, at most."""
VERSIONS = 2000
"""How many commits both processes of the control try to write."""

NAMES = ("one", "two")
CROWD = {
    "one": ["publish", "consume", "consume", "sweep"],
    "two": ["publish", "consume", "consume", "sweep"],
}


LANES = {
    "direct": (False, False),
    "spark": (True, True),
    "direct and spark": (False, True),
}
"""Whether each of the two processes works by Spark."""


@contextmanager
def working(place: Path, lanes: tuple[bool, bool]) -> Iterator[dict[str, Worker]]:
    """Start both processes."""
    found = {
        name: Worker(place, "tests.trials.crowd", spark=spark)
        for name, spark in zip(NAMES, lanes, strict=True)
    }
    try:
        for worker in found.values():
            worker.wait_until_ready()
        yield found
    finally:
        for worker in found.values():
            worker.kill()


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A store with a topic and a subscription, made by a process that is gone."""
    root = str(tmp_path / "store")
    worker = Worker(tmp_path, "tests.trials.crowd").wait_until_ready()
    worker.tell(root=root, prepare=True, ack_deadline_seconds=10)
    answer = worker.answer()
    worker.kill()
    assert answer == {"prepared": True}, answer
    return root


def journal(root: str, name: str) -> Path:
    return Path(root).parent / f"{name}.jsonl"


def let(workers: dict[str, Worker], roles: dict[str, list[str]], **plan: Any) -> list[int]:
    """Let both processes work at the same time; return the turns that each thread took."""
    for name, chosen in roles.items():
        path = str(journal(plan["root"], name))
        workers[name].tell(name=name, journal=path, roles=chosen, **plan)
    answers = [workers[name].answer() for name in roles]
    turns: list[int] = []
    for answer in answers:
        assert answer is not None
        assert "turns" in answer, answer
        turns += answer["turns"]
    return turns


def told(root: str) -> list[dict[str, Any]]:
    return [entry for name in NAMES for entry in entries(journal(root, name))]


def everything(events: list[dict[str, Any]], key: str) -> list[str]:
    return [message for event in events for message in event.get(key, ())]


def stored(root: str) -> checker.Stored:
    return checker.read(Path(root))


@pytest.mark.parametrize("lanes", LANES)
def test_no_message_is_held_twice_and_none_is_lost(
    lanes: str, root: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    seed = int(time.time())
    with working(tmp_path, LANES[lanes]) as workers:
        turns = let(workers, CROWD, root=root, seconds=SECONDS, seed=seed)
        assert all(turns), f"a thread did nothing: {turns}"
        let(workers, {"one": ["drain"]}, root=root, seconds=120, seed=seed)
    events = told(root)
    assert held_twice(events) == []
    published = everything(events, "published")
    acked = Counter(everything(events, "acked"))
    late = set(everything(events, "late"))
    assert set(published) == acked.keys() | late, "lost"
    assert given_after_an_ack(events) == []
    [topic] = stored(root).topics.values()
    texts = Counter(message.data for message in stored(root).messages[topic["uid"]].values())
    assert texts == Counter(published), "the topic holds other messages than were published"
    [subscription] = stored(root).subscriptions.values()
    [state] = delta_log.read(Path(root) / "ack_state" / subscription["uid"]).rows()
    assert state["spans"] == []
    assert state["counters"]["success"] == acked.total()
    swept = sum(sum(event["swept"].values()) for event in events if "swept" in event)
    problems = [event["problems"] for event in events if event.get("problems")]
    assert problems == []
    pulls = [event for event in events if "pull" in event]
    tell(f"crowd, {lanes}: {len(published)} messages, {len(pulls)} leases, {swept} files replaced")


def held_twice(events: list[dict[str, Any]]) -> list[str]:
    """Return the messages of which two consumers could believe at one time to have the lease.

    A lease counts from when its pull has returned until its holder begins to let go of it, or until
    it ends. All times are of one machine's clock.
    """
    let_go = {event["let_go"]: event["at"] for event in events if "let_go" in event}
    held = defaultdict(list)
    for event in events:
        if "pull" in event:
            end = min(event["until"], let_go.get(event["pull"], event["until"]))
            for message in event["data"]:
                held[message].append((event["got"], end))
    return [
        message
        for message, leases in held.items()
        for (_, end), (start, _) in zip(sorted(leases), sorted(leases)[1:], strict=False)
        if start < end
    ]


def given_after_an_ack(events: list[dict[str, Any]]) -> list[str]:
    """Return the messages that a pull gave which began after their acknowledgement was told."""
    acked = {m: event["at"] for event in events for m in event.get("acked", ())}
    return [
        message
        for event in events
        if "pull" in event
        for message in event["data"]
        if event["begun"] > acked.get(message, event["begun"])
    ]


def lost_without_the_lock(workers: dict[str, Worker], root: str, seconds: float) -> tuple[int, int]:
    """Let both processes publish without the lock; return how much was lost, and of how much."""
    appenders = dict.fromkeys(NAMES, ["append"] * 4)
    let(workers, appenders, root=root, seconds=seconds, seed=0, lock=False)
    published = everything(told(root), "published")
    [topic] = stored(root).topics.values()
    texts = {message.data for message in stored(root).messages[topic["uid"]].values()}
    return len(set(published) - texts), len(published)


def test_the_direct_lane_loses_nothing_without_the_lock(
    root: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """``deltalake`` is atomic between processes on a local disk: the lock is for Spark's sake."""
    with working(tmp_path, LANES["direct"]) as workers:
        lost, published = lost_without_the_lock(workers, root, SECONDS / 3)
    tell(f"direct lane, publishes without the lock: {lost} of {published} were lost")
    assert (lost, published > 0) == (0, True)


def test_without_the_lock_spark_loses_commits(
    root: str, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """Delta's log store for local disks lets two processes write the same version."""
    with working(tmp_path, LANES["spark"]) as workers:
        lost, published = lost_without_the_lock(workers, root, CONTROL_SECONDS)
        tell(f"control, publishes without the lock: {lost} of {published} were lost")
        log = tmp_path / "raced" / "_delta_log"
        log.mkdir(parents=True)
        for worker in workers.values():
            worker.tell(log=str(log), versions=VERSIONS)
        answers = [worker.answer() for worker in workers.values()]
    wrote = [set(answer["wrote"]) for answer in answers if answer is not None]
    both = wrote[0] & wrote[1]
    tell(f"control, the log store alone: {len(both)} of {VERSIONS} versions were written twice")
    if not lost and not both:
        pytest.xfail(f"no loss could be provoked in {CONTROL_SECONDS:.0f} seconds without the lock")
