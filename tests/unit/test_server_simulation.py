"""Servers and clients in storms that are drawn from a seed (see ``server_simulation``)."""

from __future__ import annotations

import os
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
from pubsub_delta.resources import DeadLetterPolicy, PushConfig, RetryPolicy
from tests.unit.server_observer import Violated
from tests.unit.server_simulation import DEAD, Simulation, Storm
from tests.unit.virtual_time import run

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "exactly once": {"enable_exactly_once_delivery": True},
    "ordered": {"enable_message_ordering": True},
    "dead letters": {"dead_letter_policy": DeadLetterPolicy(DEAD, 5)},
    "retries": {"retry_policy": RetryPolicy(timedelta(seconds=1), timedelta(seconds=4))},
    "pushed": {"push_config": PushConfig("https://example.com/push")},
    "ordered, pushed": {
        "push_config": PushConfig("https://example.com/push"),
        "enable_message_ordering": True,
    },
    "ordered, exactly once": {
        "enable_message_ordering": True,
        "enable_exactly_once_delivery": True,
    },
}
STORMS = {
    "calm": Storm(),
    "two servers": Storm(servers=2, elsewhere=0.3),
    "balanced calls": Storm(servers=2, balanced=True),
    "slow readers": Storm(slow=0.5),
    "faults": Storm(refused=0.1, lost=0.03, servers=2),
    "seeks": Storm(seeks=8, servers=2),
    "lives": Storm(lives=10, servers=2),
    "updates": Storm(updates=4, servers=2),
    "restarts": Storm(restarts=10, servers=2),
    "kills": Storm(kills=20, servers=2),
    "all at once": Storm(
        *(40, 2, True, 0.2, 0.2, 0.05, 0.02), seeks=15, lives=20, updates=10, restarts=15, kills=20
    ),
}


SEEDS = int(os.environ.get("SEEDS", "1"))
"""`make trial` sets more."""

IN_EVERY_RUN = [
    ("plain", "calm"),
    ("plain", "slow readers"),
    ("plain", "kills"),
    ("exactly once", "faults"),
    ("exactly once", "restarts"),
    ("ordered", "two servers"),
    ("ordered", "lives"),
    ("plain", "balanced calls"),
    ("exactly once", "balanced calls"),
    ("ordered, exactly once", "kills"),
    ("dead letters", "calm"),
    ("retries", "seeks"),
    ("pushed", "restarts"),
    ("plain", "updates"),
    ("ordered, pushed", "calm"),
]


def carry_out(kind: str, storm: str, seed: str, folder: Path) -> Simulation:
    """Carry out a schedule; a failure tells what happened last."""

    async def main() -> Simulation:
        simulation = Simulation(seed, KINDS[kind], STORMS[storm], folder)
        try:
            await simulation.run()
        except Violated as violated:
            last = "\n".join(simulation.happened[-60:])
            raise AssertionError(f"{kind}, {storm}, {seed}:\n{last}\n{violated}") from violated
        return simulation

    return run(main())


@pytest.mark.parametrize(("kind", "storm"), IN_EVERY_RUN)
def test_what_must_hold_holds_in_every_storm(kind: str, storm: str, tmp_path: Path) -> None:
    """Each rule stands in ``server_observer``, in the words of its violation."""
    simulation = carry_out(kind, storm, "1", tmp_path)
    assert simulation.observer.deliveries > 50


def test_a_seed_is_a_schedule(tmp_path: Path) -> None:
    happened = [carry_out("plain", "calm", "2", tmp_path / n).happened for n in ("a", "b")]
    assert happened[0] == happened[1]


@pytest.mark.trial
@pytest.mark.parametrize("storm", STORMS)
def test_what_must_hold_holds_in_many_storms(storm: str, tmp_path: Path) -> None:
    for seed, kind in product(range(2, 2 + SEEDS), KINDS):
        carry_out(kind, storm, str(seed), tmp_path / f"{kind} {seed}")
