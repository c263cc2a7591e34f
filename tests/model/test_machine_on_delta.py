"""The same machine on real tables, where a step takes a second or more.

``DELTA_STEPS=500 pytest -m trial tests/model/test_machine_on_delta.py`` takes so many steps.
"""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import Phase
from pyspark.sql import SparkSession

from tests.model.drivers import DeltaDriver
from tests.model.running import run_seeds, settings_of

STEPS = int(os.environ.get("DELTA_STEPS", "40"))
"""How many steps the trial takes at least."""


@pytest.mark.trial
@pytest.mark.timeout(12 * 3600)
def test_real_tables_do_what_the_reference_does(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roots = (tmp_path / f"store-{number}" for number in count())
    # A failure is told as it was found: to look for a shorter one would take hours.
    each = settings_of(2, steps=20, phases=[Phase.generate])
    seen, told = run_seeds(lambda: DeltaDriver(spark, next(roots)), STEPS, each)
    with capsys.disabled():
        sys.stdout.write(told)
    assert seen["delivered"]
    assert seen["success"]
