"""The crash trials: what a worker does, and at which point of it it is killed."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Call = dict[str, Any]

SEED = int(os.environ.get("SEED") or time.time())
TRIALS = int(os.environ.get("TRIALS", "6"))


@dataclass(frozen=True)
class Trial:
    """Calls on a copy of a store that was prepared; the last one does not end."""

    name: str
    family: str
    calls: tuple[Call, ...]
    crash: dict[str, Any] | None = None
    """At which write to die, and whether before or after it."""
    stage: tuple[str, str] | None = None
    """Under which table to look for a file of which stage."""
    after: float | None = None
    """After how many seconds to be killed."""


def _create(subscription: str, topic: str, **fields: Any) -> Call:
    return _call("create_subscription", subscription=subscription, topic=topic, fields=fields)


def _call(op: str, **named: Any) -> Call:
    return {"op": op, **named}


def _pull(subscription: str, max: int | None = None) -> Call:
    return _call("pull", subscription=subscription, max=max)


def _ack(subscription: str, count: int | None = None) -> Call:
    return _call("ack", subscription=subscription, count=count)


def _publish(topic: str, count: int = 3) -> Call:
    return _call("publish", topic=topic, count=count)


def _maintain(**duties: bool) -> Call:
    return _call("maintain", duties=duties)


_WAIT = _call("advance", seconds=11)
_OFTEN = _call("checkpoint_often")

FAMILIES: dict[str, list[Call]] = {
    # A topic with a subscription that holds a lease and one that retains what it acknowledged.
    "orders": [
        _call("create_topic", topic="orders"),
        _create("billing", "orders", ack_deadline_seconds=600),
        _create("archive", "orders", retain_acked_messages=True),
        _OFTEN,
        _publish("orders"),
        _call("advance", seconds=60),
        _publish("orders"),
        _pull("archive"),
        _ack("archive"),
        _pull("billing", 3),
        _ack("billing", 1),
        _call("create_snapshot", snapshot="early", subscription="billing"),
        _publish("orders"),
    ],
    # A subscription with messages that have had their last delivery attempt.
    "letters": [
        _call("create_topic", topic="work"),
        _call("create_topic", topic="dead"),
        _create("failing", "work", dead_letter_topic="dead"),
        _create("undertaker", "dead"),
        _OFTEN,
        _publish("work"),
        *(each for _ in range(5) for each in (_pull("failing"), _WAIT)),
        _publish("work"),
    ],
    # A topic of small files, whose oldest messages nobody needs.
    "small-files": [
        _call("create_topic", topic="events"),
        _create("reader", "events"),
        _OFTEN,
        _publish("events"),
        _pull("reader"),
        _ack("reader"),
        _call("advance", seconds=60),
        _publish("events"),
        _pull("reader", 1),
        _ack("reader"),
        _maintain(optimize=True),
        _publish("events"),
        _publish("events"),
    ],
}

_BASE_MICROS = 1_767_225_600_000_000
"""When a ManualClock begins: 2026."""

OPERATIONS: dict[str, tuple[str, tuple[Call, ...], tuple[int, ...]]] = {
    # the family, the calls, and the writes of the last call at which to die
    # reserve positions, append
    "publish": ("orders", (_publish("orders"),), (1, 2)),
    "pull": ("orders", (_pull("billing", 2),), (1,)),
    "ack": ("orders", (_pull("billing"), _ack("billing", 2)), (1,)),
    "nack": (
        "orders",
        (_pull("billing"), _call("nack", subscription="billing", count=2)),
        (1,),
    ),
    "seek to a time": (
        "orders",
        (_call("seek_time", subscription="archive", micros=_BASE_MICROS + 30_000_000),),
        (1,),
    ),
    "seek to a snapshot": (
        "orders",
        (
            _pull("billing"),
            _ack("billing"),
            _call("seek_snapshot", subscription="billing", snapshot="early"),
        ),
        (1,),
    ),
    # announce, settle, copy, finish
    "create_snapshot": (
        "orders",
        (_call("create_snapshot", snapshot="late", subscription="billing"),),
        (1, 2, 3, 4),
    ),
    # positions, messages, the row
    "create_topic": ("orders", (_call("create_topic", topic="second"),), (1, 2, 3)),
    "create_subscription": ("orders", (_create("second", "orders"),), (1, 2)),
    "delete_subscription": (
        "orders",
        (_call("delete_subscription", subscription="archive"),),
        (1,),
    ),
    "delete_topic": ("orders", (_call("delete_topic", topic="orders"),), (1,)),
    # decide, reserve positions, append, forget
    "forward dead letters": ("letters", (_pull("failing"),), (1, 2, 3, 4)),
    "forward by maintain": ("letters", (_maintain(dead_letters=True),), (1, 2, 3, 4)),
    "retention, days": (
        "small-files",
        (_call("advance", seconds=8 * 86_400), _publish("events"), _maintain(retention=True)),
        (1,),
    ),
    "retention, exact": ("small-files", (_maintain(retention=True, exact=True),), (1,)),
    "optimize": ("small-files", (_maintain(optimize=True),), (1,)),
    "vacuum": ("small-files", (_maintain(vacuum=True),), (1, 2, 3)),
}

INSIDE: dict[str, tuple[str, tuple[str, ...]]] = {
    # the table that is looked at, and the stages of its commit
    "publish": ("messages/orders", ("data", "temporary", "commit", "checkpoint")),
    "pull": ("ack_state/billing", ("data", "commit", "checkpoint")),
    "ack": ("ack_state/billing", ("temporary", "commit", "last checkpoint")),
    "create_snapshot": ("snapshots", ("data", "commit")),
    "forward dead letters": ("messages/dead", ("data", "commit", "checkpoint")),
    "retention, exact": ("messages/events", ("commit", "checkpoint")),
    "optimize": ("messages/events", ("data", "commit", "checkpoint")),
}


def named() -> Iterator[Trial]:
    """Return a trial for each write of each operation, before it and after it."""
    for name, (family, calls, writes) in OPERATIONS.items():
        for write in writes:
            for when in ("before", "after"):
                crash = {"write": write, "when": when}
                yield Trial(f"{name}, {when} write {write}", family, calls, crash=crash)


def inside() -> Iterator[Trial]:
    """Return a trial for each stage of Delta's commit, in the operations that write most."""
    for name, (table, stages) in INSIDE.items():
        family, calls, _ = OPERATIONS[name]
        for stage in stages:
            yield Trial(f"{name}, at {stage}", family, calls, stage=(table, stage))


def at_random(chance: random.Random, number: int) -> Trial:
    """Return a trial of random calls, killed at a random moment."""
    family = chance.choice(list(FAMILIES))
    calls = [chance.choice(_ANYTHING[family]) for _ in range(12)]
    return Trial(f"random {number}", family, tuple(calls), after=chance.uniform(0.02, 2))


_ANYTHING: dict[str, list[Call]] = {
    "orders": [
        _publish("orders", 2),
        _pull("billing", 2),
        _ack("billing", 1),
        _ack("billing"),
        _call("nack", subscription="billing", count=1),
        _pull("archive"),
        _ack("archive"),
        _call("seek_time", subscription="archive", micros=_BASE_MICROS + 30_000_000),
        _call("seek_snapshot", subscription="billing", snapshot="early"),
        _call("advance", seconds=30),
    ],
    "letters": [
        _publish("work", 2),
        _pull("failing"),
        _ack("failing", 1),
        _pull("undertaker"),
        _ack("undertaker"),
        _WAIT,
        _maintain(dead_letters=True),
    ],
    "small-files": [
        _publish("events", 2),
        _pull("reader", 2),
        _ack("reader"),
        _maintain(optimize=True),
        _maintain(retention=True, exact=True),
        _WAIT,
    ],
}


def chosen() -> list[Trial]:
    """Return as many trials as are asked for: each point once, shuffled, then all over again.

    A third as many of random calls are mixed in.
    """
    chance = random.Random(SEED)
    found: list[Trial] = []
    while len(found) < TRIALS:
        points = [*named(), *inside()]
        points += [at_random(chance, len(found) + n) for n in range(len(points) // 3)]
        chance.shuffle(points)
        found += points
    return found[:TRIALS]
