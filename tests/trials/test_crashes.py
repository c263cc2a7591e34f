"""Processes that are killed while they write: nothing is lost, nothing comes twice, work goes on.

``TRIALS=200 SEED=1 pytest -m trial tests/trials/test_crashes.py`` runs so many; the seed draws
their order and the random ones among them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.trials import checker
from tests.trials.children import Worker, kill_after, kill_at
from tests.trials.expected import Model
from tests.trials.plans import FAMILIES, SEED, Trial, chosen
from tests.trials.stores import Store, settle

KEPT = Path(os.environ["PREPARED"]) if "PREPARED" in os.environ else None
"""Where the prepared stores are kept from one run to the next, if they are."""

pytestmark = [pytest.mark.trial, pytest.mark.timeout(900)]


class Bench:
    """Stores that were prepared once, and two workers: one to be killed, and one that lives on."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._victim: Worker | None = None
        self._survivor: Worker | None = None

    def survivor(self) -> Worker:
        """Return the worker that prepares stores, and goes on with them after a kill."""
        if self._survivor is None:
            self._survivor = Worker(self.base).wait_until_ready()
        return self._survivor

    def victim(self) -> Worker:
        """Return the worker that is to be killed next."""
        if self._victim is None:
            self._victim = Worker(self.base)
        return self._victim.wait_until_ready()

    def bury(self) -> None:
        """See to it that nothing is left of the victim; start the next one."""
        if self._victim is not None:
            self._victim.kill()
        self._victim = Worker(self.base)

    def close(self) -> None:
        """Leave no worker behind."""
        for worker in (self._victim, self._survivor):
            if worker is not None:
                worker.kill()

    def copy_of(self, family: str, name: str) -> Store:
        """Return a copy of a prepared store, and prepare it when it is first asked for."""
        prepared = Store(KEPT / family if KEPT else self.base / family)
        finished = prepared.base / "finished"
        if not finished.exists():
            shutil.rmtree(prepared.base, ignore_errors=True)
            assert prepared.tell(self.survivor(), FAMILIES[family]) is None
            finished.touch()
        place = self.base / name.replace(" ", "-").replace(",", "")
        shutil.copytree(prepared.base, place)
        return Store(place)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("crashes"))
    yield bench
    bench.close()


def carry_out(bench: Bench, store: Store, trial: Trial) -> bool:
    """Let a worker make the calls of a trial, and kill it; tell whether it was still at work."""
    watched = None if trial.stage is None else store.table(trial.stage[0])
    worker = bench.victim()
    worker.tell(
        root=str(store.root),
        journal=str(store.journal),
        calls=list(trial.calls),
        crash=trial.crash,
    )
    try:
        if trial.crash is not None:
            answer = worker.answer()
            assert answer is None, f"the point was never reached: {answer}"
            return True
        if trial.stage is not None and watched is not None:
            assert kill_at(worker, watched, trial.stage[1]), "the stage was never seen"
            return True
        assert trial.after is not None
        if kill_after(worker, trial.after):
            return True
        answer = worker.answer()
        assert answer is not None
        assert "error" not in answer, answer
        return False
    finally:
        bench.bury()


@pytest.mark.parametrize("trial", [pytest.param(each, id=each.name) for each in chosen()])
def test_a_killed_process_leaves_a_store_that_is_right_and_goes_on(
    bench: Bench, trial: Trial, tell: Callable[[str], None], request: pytest.FixtureRequest
) -> None:
    store = bench.copy_of(trial.family, request.node.callspec.id)
    killed = carry_out(bench, store, trial)
    left = settle(store)
    tell(f"killed at work; the store stands as {left}" if killed else "ended before its kill")
    assert store.tell(bench.survivor(), [{"op": "recover"}]) is None
    model = store.model()
    assert checker.differences(store.root, model) == []
    letters = {each.dead_letter_topic for each in model.consumers.values()}
    for name, consumer in model.consumers.items():
        if consumer.dead_letter_topic is None and consumer.topic not in letters:
            assert model.wanted(name) == set(), "something never came"
    tell(f"recovered, seed {SEED}")
    shutil.rmtree(store.base)


WRONG: dict[str, Callable[[Model], object]] = {
    "were published, and are gone": lambda m: m.topics["orders"].add("another"),
    "were not published": lambda m: m.topics["orders"].pop(),
    "neither acknowledged nor deliverable": lambda m: m.consumers["billing"].unacked.add(
        next(iter(m.consumers["billing"].acked))
    ),
    "are to be delivered again": lambda m: m.consumers["billing"].unacked.pop(),
    "may be leased again": lambda m: m.consumers["archive"].leases.update({"another": 2**62}),
    "subscription another is gone": lambda m: m.consumers.update(another=m.consumers["billing"]),
    "should not be there": lambda m: m.consumers.pop("archive"),
    "snapshot early holds": lambda m: m.snapshots["early"][1].pop(),
}


@pytest.mark.parametrize("problem", WRONG)
def test_the_checker_sees_what_is_wrong(bench: Bench, problem: str) -> None:
    store = bench.copy_of("orders", problem)
    model = store.model()
    assert checker.differences(store.root, model) == []
    WRONG[problem](model)
    assert any(problem in told for told in checker.differences(store.root, model))
