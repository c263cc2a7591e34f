"""Consumers of one subscription in storms that are drawn from a seed (see ``simulation``).

A failure tells its seed and what happened last. ``SIMULATION_SEED=17 pytest
tests/unit/test_simulation.py`` runs that schedule alone; ``make trial`` runs many more.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta.delivery import consuming, dead_letters
from pubsub_delta.operations import acknowledge, pull
from pubsub_delta.policy import delivery, ordering
from pubsub_delta.tables.ack_state.states import AckStates
from pubsub_delta.tables.lanes import retries
from tests.unit.model import Fields
from tests.unit.simulated_consumers import append_dead_letters, consume, drain, source, stream
from tests.unit.simulation import CALM, Stopped, Storm, World

SEEDS = int(os.environ.get("SEEDS", "1"))
"""`make trial` sets more."""
ONLY = os.environ.get("SIMULATION_SEED")
ROUNDS = 4
"""Schedules of each storm on each kind of subscription."""
ROUNDS_OF_A_TRIAL = 25 * SEEDS

KINDS = {
    "plain": Fields(),
    "exactly once": Fields(exactly_once=True),
    "ordered": Fields(ordered=True),
    "ordered, exactly once": Fields(ordered=True, exactly_once=True, backoffs=(2, 16)),
    "dead letters": Fields(max_attempts=5),
    "ordered, dead letters": Fields(ordered=True, max_attempts=5, backoffs=(1, 4)),
}
STORMS = {
    "usual": Storm(),
    "locks": Storm(locks=True),
    "one process": Storm(one_process=True, crashes=0),
    "few messages": replace(
        CALM, consumers=3, operations=20, conflicts=0.02, ticks=0.02, publishes=0.01
    ),
    "crowded": Storm(consumers=5, operations=8, crashes=0.002),
    "crashes": Storm(crashes=0.02, operations=16),
    "queries": Storm(consumers=2, queries=2, crashes=0.01, lost=0.15),
    "lost answers": Storm(lost=0.3, late=0.1, stalls=0.03),
    "old reads": Storm(old_reads=0.4, old_topics=0.3, lost=0.15),
    "conflicts": Storm(conflicts=0.85, lost=0.02, operations=6, crashes=0.001),
}
BRINGS = {
    "usual": ("race lost", "stall", "conflict"),
    "locks": ("lock held",),
    "one process": ("race lost", "landed, answer lost"),
    "few messages": ("told in peace",),
    "crowded": ("race lost",),
    "crashes": ("crash",),
    "queries": ("crash", "landed, answer lost"),
    "lost answers": ("landed, answer lost", "lost before it landed", "landed late", "LostAnswer"),
    "old reads": ("read of an old state", "look at an old topic"),
    "conflicts": ("conflict", "race lost"),
}
"""What a storm must have brought about, or it would prove nothing."""
ENDS = {"lost answers": "Unknown", "conflicts": "Aborted"}
"""The errors that some operations must have ended with."""
ALL_KINDS, ALL_STORMS = list(KINDS), list(STORMS)


def seed_of(kind: str, storm: str, number: int) -> int:
    """Return a seed whose schedule is a storm on a kind of subscription."""
    return (number * len(STORMS) + ALL_STORMS.index(storm)) * len(KINDS) + ALL_KINDS.index(kind)


def simulate(seed: int, **other: Any) -> World:
    """Run the storm of a seed, then drain what is left; raise what was violated."""
    rest, kind = divmod(seed, len(KINDS))
    storm = replace(STORMS[ALL_STORMS[rest % len(STORMS)]], **other)
    world = World(seed, storm, KINDS[ALL_KINDS[kind]])
    try:
        world.run(consume, stream)
        drain(world)
    except (Stopped, Exception) as error:
        last = "\n".join(world.trace[-40:])
        what = world.scheduler.error or error
        raise AssertionError(f"{what}\n{last}\nSIMULATION_SEED={seed}") from what
    return world


@pytest.fixture(autouse=True)
def _operations_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "ATTEMPTS", 25)  # so that storms bring some to their last one
    monkeypatch.setattr(dead_letters, "_append", append_dead_letters)
    for module in (acknowledge, consuming, pull):
        monkeypatch.setattr(module, "source", source)


@pytest.mark.skipif(ONLY is not None, reason="SIMULATION_SEED asks for one schedule")
@pytest.mark.parametrize("storm", STORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_must_hold_holds_in_every_storm(kind: str, storm: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(ROUNDS):
        seen.update(simulate(seed_of(kind, storm, number)).seen)
    assert [what for what in BRINGS[storm] if not seen[what]] == []


@pytest.mark.skipif(ONLY is None, reason="SIMULATION_SEED asks for one schedule")
def test_the_schedule_that_is_asked_for() -> None:
    simulate(int(ONLY or 0))


@pytest.mark.parametrize("seed", [3, 26, 41])
def test_a_seed_is_a_schedule(seed: int) -> None:
    first, second = simulate(seed), simulate(seed)
    assert first.trace == second.trace
    assert first.history == second.history
    assert first.trace != simulate(seed + len(KINDS) * len(STORMS)).trace


BROKEN: dict[str, tuple[object, str, object]] = {
    "no change applies twice": (AckStates, "_has_landed", lambda *_: False),
    "what is told has landed": (AckStates, "_has_landed", lambda *_: True),
    "each key comes in order": (ordering, "_holding_up", lambda *_: []),
    "what is stored is what landed": (delivery, "_is_over", lambda *_: False),
}


@pytest.mark.parametrize("invariant", BROKEN)
def test_what_is_broken_is_found(invariant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BROKEN[invariant])
    found = Counter(
        violation
        for number in range(2 * ROUNDS)
        if (violation := violated_by(seed_of("ordered", "lost answers", number)))
    )
    assert found[invariant]


def violated_by(seed: int) -> str | None:
    """Return what a seed finds violated, if anything; it must be told with the seed."""
    try:
        simulate(seed)
    except AssertionError as error:
        told = str(error)
        return told.split(":")[0] if told.endswith(f"SIMULATION_SEED={seed}") else "no seed told"
    return None


def test_what_must_hold_holds_where_reads_go_back() -> None:
    for number in range(ROUNDS):
        for kind in KINDS:
            simulate(seed_of(kind, "old reads", number), going_back=True)


@pytest.mark.trial
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("storm", STORMS)
def test_what_must_hold_holds_in_very_many_storms(storm: str) -> None:
    seen: Counter[str] = Counter()
    often = 4 if storm == "few messages" else 1  # there the last attempt fails in few of them
    for number in range(ROUNDS, ROUNDS + often * ROUNDS_OF_A_TRIAL):
        for kind in KINDS:
            seen.update(simulate(seed_of(kind, storm, number)).seen)
    assert [what for what in (*BRINGS[storm], "dead letters") if not seen[what]] == []
    if storm in ENDS:
        assert seen[ENDS[storm]]
