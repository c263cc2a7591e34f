"""A table of the registry: what is kept, joined and told of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import pytest

from pubsub_delta.errors import DataLoss, FailedPrecondition
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.layout_version import PROPERTY
from pubsub_delta.tables.registry.resource_table import COMPACT_INTERVAL, ResourceTable
from pubsub_delta.tables.schemas import TOPICS
from tests.model.memory_lane import MemoryLane

NAME = "delta.`/store/topics`"
OTHERS = ("delta.`/store/subscriptions`", "delta.`/store/snapshots`")


def table(lane: MemoryLane, is_named: Callable[[], bool] = lambda: False) -> ResourceTable:
    made: ResourceTable
    ids = map(str, count())
    made = ResourceTable(lane, NAME, TOPICS, ids.__next__, lambda: made.create(), OTHERS, is_named)
    return made


def row(number: int) -> dict[str, Any]:
    return {"uid": f"{number}", "name": f"projects/p/topics/t{number}"}


@pytest.fixture
def compacted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return what is filled with the number of rows at each time that files are joined."""
    found: list[int] = []
    compact = MemoryLane.compact

    def noted(lane: MemoryLane, of: str) -> int:
        found.append(len(lane.rows(of)))
        return compact(lane, of)

    monkeypatch.setattr(MemoryLane, "compact", noted)
    return found


@pytest.mark.parametrize("reads", [True, False])
def test_small_files_are_joined_after_each_32_commits(compacted: list[int], reads: bool) -> None:
    """Each row is a file of its own, and every look at the registry reads them all."""
    topics = table(MemoryLane())
    assert topics.add(row(0), [("uid", "=", "uid")])
    for number in range(1, 3 * COMPACT_INTERVAL):
        if reads:
            topics.rows()
        assert topics.add(row(number), [("uid", "=", "uid")])
    if reads:
        gaps = {later - before for before, later in pairwise(compacted)}
        assert len(compacted) == 3
        assert gaps <= {COMPACT_INTERVAL, COMPACT_INTERVAL - 1}
    assert len(topics.rows()) == 3 * COMPACT_INTERVAL


@pytest.mark.parametrize("error", [Conflict("another was faster"), OSError("no answer")], ids=repr)
def test_a_row_that_was_added_stays_whether_or_not_files_can_be_joined(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(MemoryLane, "compact", fail)
    topics = table(MemoryLane())
    for number in range(2 * COMPACT_INTERVAL):
        topics.rows()
        assert topics.add(row(number), [("uid", "=", "uid")])


@pytest.mark.parametrize(
    ("there", "is_named", "is_lost"),
    [
        ((), False, False),
        (OTHERS[:1], False, True),
        (OTHERS[1:], False, True),
        (OTHERS, False, True),
        ((), True, True),
        (OTHERS, True, True),
    ],
)
def test_one_table_that_was_created_later_tells_that_this_one_is_lost(
    there: tuple[str, ...], is_named: bool, is_lost: bool
) -> None:
    """A process may have ended before it had created all of them."""
    lane = MemoryLane()
    for name in there:
        lane.create(name, TOPICS)
    topics = table(lane, lambda: is_named)
    if is_lost:
        with pytest.raises(DataLoss, match="restore it from a copy"):
            topics.rows()
        with pytest.raises(DataLoss, match="restore it from a copy"):
            topics.change("1", {"name": "n"})
    else:
        assert topics.rows() == []
        assert topics.version() is None
        assert not topics.change("1", {"name": "n"})
        assert not topics.remove("1")
        assert topics.row("1") is None


def test_after_a_table_of_another_layout_was_refused_nothing_is_added_to_it() -> None:
    """ "Whoever finds another layout version than its own reads and writes nothing." """
    lane = MemoryLane()
    topics = table(lane)
    topics.add(row(1), [("uid", "=", "uid")])
    topics.rows()
    stored = lane.tables[NAME]
    stored.schema = replace(stored.schema, properties={**stored.schema.properties, PROPERTY: "9"})
    stored.commit("SET TBLPROPERTIES", stored.versions[-1])
    before = len(stored.versions)
    for _ in range(2):
        with pytest.raises(FailedPrecondition, match="layout version 9"):
            topics.rows()
        with pytest.raises(FailedPrecondition, match="layout version 9"):
            topics.add(row(2), [("uid", "=", "uid")])
    assert len(stored.versions) == before


def test_a_check_that_fails_leaves_the_row_and_tells_so() -> None:
    topics = table(MemoryLane())
    topics.add(row(1), [("uid", "=", "uid")])
    before = topics.row("1")
    assert not topics.change("1", {"name": "n"}, lambda _: False)
    assert not topics.remove("1", lambda _: False)
    assert not topics.change("2", {"name": "n"})
    assert not topics.remove("2")
    assert topics.row("1") == before
    assert topics.change("1", lambda stored: {"name": f"{stored['name']}!"})
    after = topics.row("1")
    assert after is not None
    assert after["name"] == "projects/p/topics/t1!"
    assert before is not None
    assert after["etag"] != before["etag"]
    assert topics.remove("1")
    assert topics.rows() == []
