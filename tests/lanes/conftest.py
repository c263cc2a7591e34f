"""One suite for both lanes: what is asked of ``Lane`` and of ``Scans`` holds for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from pubsub_delta.tables.lanes.direct import DirectLane, DirectScans
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Lane
from pubsub_delta.tables.lanes.scans import Scans

Maker = Callable[[TableLocks], tuple[Lane, Scans]]


@dataclass
class Bench:
    """The tables of one store, and the lane that works on them."""

    name: str
    root: Path
    make: Maker
    lane: Lane = field(init=False)
    scans: Scans = field(init=False)

    def __post_init__(self) -> None:
        self.lane, self.scans = self.another()

    def another(self) -> tuple[Lane, Scans]:
        """Return the same lane once more, as another process would have it."""
        return self.make(TableLocks(str(self.root)))

    def table(self, *parts: str) -> str:
        """Return a table of the store as it is named in SQL."""
        return f"delta.`{self.root.joinpath(*parts)}`"

    def path(self, *parts: str) -> Path:
        """Return the directory of a table of the store."""
        return self.root.joinpath(*parts)


def direct(locks: TableLocks) -> tuple[Lane, Scans]:
    lane = DirectLane(None, locks)
    return lane, DirectScans(lane.open_tables)


def maker(name: str, request: pytest.FixtureRequest) -> Maker:
    """Return what makes a lane; Spark is started when it is first asked for."""
    if name == "direct":
        return direct
    spark: Any = request.getfixturevalue("spark")
    from pubsub_delta.tables.lanes.spark import SparkLane, SparkScans

    return lambda locks: cast("tuple[Lane, Scans]", (SparkLane(spark, locks), SparkScans(spark)))


LANES = ["direct", "spark"]
NOT_BY_SPARK = {
    "test_a_table_that_was_dropped_has_no_files_left": "VACUUM may not remove files that young",
    "test_who_publishes_joins_small_files_now_and_then": "OPTIMIZE is for maintain",
    "test_an_ack_states_past_stays_short": "VACUUM is for maintain",
    "test_the_log_is_cleaned_and_told_as_far_as_it_goes": "Spark has no statement for it",
    "test_how_long_the_log_is_kept_can_be_changed": "as above",
    "test_a_read_survives_a_vacuum": "it looks into the direct lane",
    "test_of_two_that_join_the_same_files_one_does": "as above",
    "test_by_a_deltalake_that_doubles_rows_no_files_are_joined": "as above",
}
"""What the Spark lane does not promise, and why."""


@pytest.fixture(params=LANES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    why = NOT_BY_SPARK.get(request.node.name.split("[")[0])
    if request.param == "spark" and why:
        pytest.skip(why)
    return Bench(request.param, tmp_path, maker(request.param, request))


@pytest.fixture
def root(bench: Bench) -> str:
    return str(bench.root)


@pytest.fixture
def lane(bench: Bench) -> Lane:
    return bench.lane
