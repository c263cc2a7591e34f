"""What a table tells of a number that a table subscription has given to a write."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta.tables.lanes.direct.targets import DirectTarget
from pubsub_delta.tables.targets import Outcome

APPLICATION = "pubsub_delta.0"
COLUMNS = pa.schema([("data", pa.string())])
ROWS = pa.table({"data": ["late"]}, schema=COLUMNS)


@pytest.fixture
def target(tmp_path: Path) -> DirectTarget:
    DeltaTable.create(str(tmp_path), COLUMNS)
    return DirectTarget(str(tmp_path), None)


def told(target: DirectTarget, number: int) -> list[Outcome | None]:
    """Return what is told to who wrote by a number, and to who would write others by it."""
    now = DirectTarget(target._path, None, takes_rows=False)
    return [now.outcome((APPLICATION, number), f"{number}.{each}") for each in ("mine", "others")]


@pytest.mark.parametrize("has_followers", [False, True])
@pytest.mark.parametrize("outcome", [Outcome.WRITTEN, Outcome.CANCELLED])
def test_a_number_has_the_outcome_of_the_write_that_took_it(
    target: DirectTarget, outcome: Outcome, has_followers: bool
) -> None:
    """ "Each once": what another write of the number has written stands in nobody's place."""
    if outcome is Outcome.WRITTEN:
        target.append(ROWS, (APPLICATION, 7), "7.mine")
    else:
        target.cancel((APPLICATION, 7), "7.mine")
    if has_followers:
        DirectTarget(target._path, None).append(ROWS, (APPLICATION, 8), "8.mine")
    assert told(target, 7) == [outcome, Outcome.OTHER]
    assert told(target, 6) == [Outcome.OTHER, Outcome.OTHER]
    assert told(target, 9) == [None, None]
