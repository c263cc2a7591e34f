"""What is drawn from a seed: the store, what each thread of each process does, and the nemesis.

A plan is plain JSON, so that a failing one can be kept, made smaller and run again. A seed draws
some of the features only: where nothing is sought and nothing restored, more is impossible.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Plan = dict[str, Any]
Step = dict[str, Any]

SPEEDS = (2.0, 5.0, 10.0)
"""Seconds of the store's clock in a second: an ack deadline of 10 s takes 5, 2 or one."""
SLOWER = 5
"""How many times longer a step of the Spark lane takes, at least."""
HOUR = 3600.0
_WEEK = 7 * 86_400
SUBSCRIPTIONS = ("plain", "ordered", "once", "once-ordered", "keeper", "events")
SNAPSHOTS = ("noon", "night")
_KEYS = ("", "red", "blue")
FEATURES = (
    *("seeks", "snapshots", "lives", "restores", "maintenance"),
    *("kills", "stops", "clocks", "keys", "letters", "disk"),
)
RARE = frozenset({"restores", "disk", "clocks"})
"""Features that excuse much: they are drawn less often than the others."""

_ALWAYS: dict[str, int] = {"publish": 10, "pull": 14, "ack": 14, "nack": 4, "extend": 3}
_OF_FEATURES: dict[str, dict[str, int]] = {
    "seeks": {"seek_time": 2},
    "snapshots": {"create_snapshot": 3, "seek_snapshot": 3, "delete_snapshot": 2},
    "lives": {
        "delete_subscription": 2,
        "create_subscription": 4,
        "delete_topic": 1,
        "create_topic": 3,
    },
    "restores": {"restore": 1},
    "maintenance": {"maintain": 3, "optimize": 1},
}


def draw(
    seed: int,
    *,
    steps: int = 40,
    storage: str = "",
    features: Sequence[str] | None = None,
    subscriptions: Sequence[str] = (),
    spark: bool = False,
) -> Plan:
    """Return the plan of a seed: each thread of it takes so many steps.

    ``storage``: the kind of object store that it runs on; by default a local disk. ``features``
    and ``subscriptions``: these, and not those that the seed draws. ``spark``: one process works
    by the Spark lane; it takes fewer steps, and the others take theirs more slowly.
    """
    chance = random.Random(seed)
    drawn = [each for each in FEATURES if chance.random() < (0.3 if each in RARE else 0.6)]
    features = drawn if features is None else list(features)
    features = [each for each in features if not (storage and each == "disk")]
    world = _world(chance, features, subscriptions)
    world |= {"disk": "disk" in features, "storage": storage, "seed": seed, "features": features}
    names = "abcdef"[: chance.randint(2, 4)]
    processes = {
        name: {
            "offset": chance.choice((-HOUR, 0.0, HOUR)) if "clocks" in features else 0.0,
            "threads": [
                _thread(chance, features, world, steps) for _ in range(chance.randint(1, 3))
            ],
        }
        for name in names
    }
    plan = {
        "seed": seed, "speed": chance.choice(SPEEDS), "world": world, "processes": processes,
        "nemesis": _nemesis(chance, features, names, steps, storage),
    }  # fmt: skip
    return _with_spark(plan) if spark else plan


def _with_spark(plan: Plan) -> Plan:
    """Let the first process work by Spark, and all that is beside it take as long as that takes."""
    first, *others = plan["processes"].values()
    first |= {
        "lane": "spark",
        "threads": [thread[: len(thread) // SLOWER + 1] for thread in first["threads"]],
    }
    for step in [step for each in others for thread in each["threads"] for step in thread]:
        step["pause"] = step["pause"] * SLOWER
    nemesis = [{**each, "at": each["at"] * SLOWER} for each in plan["nemesis"]]
    return {**plan, "speed": min(SPEEDS), "nemesis": nemesis}


def _world(chance: random.Random, features: list[str], wanted: Sequence[str]) -> dict[str, Any]:
    """Draw two or three subscriptions of two topics, one of which is deleted now and then."""
    topics: dict[str, Any] = {"orders": {}, "events": {}}
    chosen = chance.sample(SUBSCRIPTIONS, 3)[: chance.randint(1, 3)]
    subscriptions = {
        name: {
            "topic": "events" if name == "events" else "orders",
            "ordered": "ordered" in name,
            "exactly_once": "once" in name,
            "retains": name == "keeper",
            "attempts": None,
            "retention": _WEEK,
            "deadline": chance.choice((10, 20)),
        }
        for name in wanted or chosen
    }
    if "letters" in features:
        topics["letters"] = {}
        failing: dict[str, Any] = {"topic": "orders", "attempts": 5, "letters": "letters"}
        last: dict[str, Any] = {"topic": "letters", "attempts": None}
        for name, fields in (("failing", failing), ("undertaker", last)):
            subscriptions[name] = {
                "ordered": False, "exactly_once": False, "retains": False,
                "retention": _WEEK, "deadline": 10, **fields,
            }  # fmt: skip
    plain = {"ordered": False, "exactly_once": False, "retains": False, "attempts": None}
    probes = {
        f"probe-{snapshot}-{topic}": {"topic": topic, "retention": _WEEK, "deadline": 600, **plain}
        for snapshot in SNAPSHOTS
        for topic in topics
    }
    return {"topics": topics, "subscriptions": subscriptions, "probes": probes}


def _thread(
    chance: random.Random, features: list[str], world: dict[str, Any], steps: int
) -> list[Step]:
    weights = dict(_ALWAYS)
    for feature in features:
        weights |= _OF_FEATURES.get(feature, {})
    kinds = chance.choices(list(weights), list(weights.values()), k=steps)
    return [_step(chance, kind, features, world) for kind in kinds]


def _step(chance: random.Random, kind: str, features: list[str], world: dict[str, Any]) -> Step:
    subscriptions = list(world["subscriptions"])
    free = [each for each in subscriptions if each != "undertaker"]
    topics = [each for each in world["topics"] if each != "letters"]
    step: Step = {"op": kind, "pause": round(chance.uniform(0.0, 0.08), 3)}
    if kind == "publish":
        keys = _KEYS if "keys" in features else ("",)
        step |= {
            "topic": chance.choice([*topics, "orders", "orders"]),
            "keys": [chance.choice(keys) for _ in range(chance.randint(1, 4))],
            "again": chance.random() < 0.1,
        }
    elif kind == "pull":
        step |= {
            "subscription": chance.choice(subscriptions),
            "max": chance.choice((1, 2, 3, 5, 10, None)),
        }
    elif kind in ("ack", "nack", "extend"):
        step |= {
            "subscription": chance.choice(subscriptions),
            "share": chance.choice((0.3, 0.7, 1.0)),
            "whole": chance.random() < 0.3,
            "keep": chance.random() < 0.2,
            "seconds": chance.choice((1, 10, 30, 60)),
        }
    elif kind in ("seek_time", "restore"):
        step |= {"subscription": chance.choice(free), "back": chance.choice((-5, 3, 20, 60, 600))}
    elif kind.endswith("snapshot"):
        step |= {
            "subscription": chance.choice(free),
            "snapshot": chance.choice(SNAPSHOTS),
        }
    elif kind.endswith("subscription"):
        step |= {"subscription": chance.choice(free)}
    elif kind.endswith("topic"):
        step |= {"topic": "events"}
    elif kind == "maintain":
        step |= {"exact": chance.random() < 0.8, "vacuum": chance.random() < 0.3}
    return step


def _nemesis(
    chance: random.Random, features: Sequence[str], names: str, steps: int, storage: str
) -> list[dict[str, Any]]:
    """Draw what happens to processes and their storage, by the seconds after the start."""
    span, found = steps * 0.2, []
    if "kills" in features:
        for _ in range(chance.randint(1, 4)):
            at = round(chance.uniform(0.2, span), 2)
            found.append({"at": at, "do": "kill", "process": chance.choice(names)})
    if "stops" in features:
        for _ in range(chance.randint(1, 2)):
            at, length = chance.uniform(0.2, span), chance.uniform(1.2, 4.0)
            name = chance.choice(names)
            found.append({"at": round(at, 2), "do": "stop", "process": name})
            found.append({"at": round(at + length, 2), "do": "continue", "process": name})
    if "disk" in features:
        for _ in range(chance.randint(1, 2)):
            at = chance.uniform(0.5, span)
            found.append({"at": round(at, 2), "do": "fill"})
            found.append({"at": round(at + chance.uniform(0.3, 1.5), 2), "do": "free"})
    for _ in range(chance.randint(2, 6) if storage else 0):
        fault = {
            "action": chance.choice(("refuse", "reset", "lose", "hold")),
            "method": chance.choice(("PUT", "PUT", "*")),
            "times": chance.randint(1, 4),
            "seconds": 2.0,
        }
        at = round(chance.uniform(0.2, span), 2)
        found.append({"at": at, "do": "fault", "fault": fault, "delay": chance.choice((0.0, 0.05))})
    return sorted(found, key=lambda each: each["at"])
