"""The machine on tables in memory: all that is real above the lane, beside the reference.

``STEPS=100000 pytest -m trial tests/model/test_machine.py`` takes so many steps. A trial tells its
seeds, and ``SEED=17`` lets it begin with that one.
"""

from __future__ import annotations

import os
import sys
from collections import Counter

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.model.drivers import MemoryDriver
from tests.model.running import MUST_HAPPEN, RARE, machine_on, missed, run_seeds, settings_of

STEPS = int(os.environ.get("STEPS", "20000"))
"""How many steps a trial takes at least."""


def test_the_store_does_what_the_reference_does() -> None:
    seen: Counter[str] = Counter()
    settings = settings_of(80, derandomize=True)
    run_state_machine_as_test(machine_on(MemoryDriver, seen), settings=settings)
    assert missed(seen, MUST_HAPPEN) == []
    assert seen["steps"] > 3_000


@pytest.mark.trial
@pytest.mark.timeout(12 * 3600)
def test_the_store_does_what_the_reference_does_for_very_many_steps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen, told = run_seeds(MemoryDriver, STEPS, settings_of(40))
    with capsys.disabled():
        sys.stdout.write(told)
    assert missed(seen, MUST_HAPPEN + RARE) == []
