"""The same machine on real tables: by each lane, and by both on the same tables in turn.

``DELTA_STEPS=500 pytest -m trial tests/model/test_machine_on_delta.py`` takes so many steps where
Spark has part in them, which take a second or more each, and ten times as many where it has none.
"""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import Phase
from pyspark.sql import SparkSession

from pubsub_delta.tables.lanes.choice import LaneName
from tests.model.drivers import DeltaDriver
from tests.model.running import missed, run_seeds, settings_of

STEPS = int(os.environ.get("DELTA_STEPS", "40"))
"""How many steps a trial takes at least."""
MUST_HAPPEN_HERE = ("delivered", "success")


def take_steps(
    spark: SparkSession | None,
    place: Path,
    lanes: tuple[LaneName, LaneName],
    steps: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    roots = (place / f"store-{number}" for number in count())
    # A failure is told as it was found: to look for a shorter one would take hours.
    each = settings_of(2, steps=20, phases=[Phase.generate])
    seen, told = run_seeds(
        lambda: DeltaDriver(spark, next(roots), lanes), steps, each, MUST_HAPPEN_HERE
    )
    with capsys.disabled():
        sys.stdout.write(told)
    assert missed(seen, MUST_HAPPEN_HERE) == []


@pytest.mark.trial
@pytest.mark.timeout(12 * 3600)
def test_the_direct_lane_does_what_the_reference_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take_steps(None, tmp_path, ("direct", "direct"), 10 * STEPS, capsys)


@pytest.mark.trial
@pytest.mark.timeout(12 * 3600)
@pytest.mark.parametrize("lanes", [("spark", "spark"), ("direct", "spark")], ids=" and ".join)
def test_spark_does_what_the_reference_does_alone_and_beside_the_direct_lane(
    lanes: tuple[LaneName, LaneName],
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    take_steps(spark, tmp_path, lanes, STEPS, capsys)
