"""Histories of several processes on object stores whose requests fail, are lost and are slow.

``SEED=17 HISTORIES=5 pytest -m storages tests/storages/test_histories.py`` runs so many seeds.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.histories import plans
from tests.histories.run import run
from tests.storages.servers import Storage

pytestmark = [pytest.mark.storages, pytest.mark.timeout(1800)]

SEED = int(os.environ.get("SEED") or time.time())
HISTORIES = int(os.environ.get("HISTORIES", "1"))


@pytest.mark.parametrize("number", range(HISTORIES))
def test_what_several_processes_saw_breaks_no_promise(
    storage: Storage, number: int, tmp_path: Path
) -> None:
    plan = plans.draw(SEED + number, steps=20, storage=storage.kind)
    outcome = run(plan, tmp_path / "history", storage)
    assert not outcome.found, outcome.told()
    assert outcome.counts["deliveries"]
