"""Races that the search of ``tests/protocol`` found: each stands here once more, step by step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from pubsub_delta import DeadLetterPolicy, PubSub
from pubsub_delta.tables.ack_state import AckStateTables
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.lanes.protocol import Conflict
from tests.model.memory_lane import MemoryLane
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.test_races import another, once


class Died(BaseException):
    """The process ends here."""


def test_a_dead_letter_that_has_landed_does_not_go_back_with_its_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A crash between the two steps must neither lose nor duplicate the forwarded message."""
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    world.store.create_subscription("undelivered", LETTERS)
    world.publish("a")
    for _ in range(5):
        world.store.modify_ack_deadline(NAME, [each.ack_id for each in world.pull()], 0)

    def die() -> None:
        raise Died

    once(monkeypatch, MemoryLane, "append", die, "after")
    with pytest.raises(Died):
        world.pull()
    other = another(world)
    other.update_subscription(NAME, dead_letter_policy=None)
    other.delete_topic(LETTERS)
    assert list(other.pull(NAME)) == []
    assert world.backlog() == {}
    assert [each.data for each in world.pull(name="undelivered")] == ["a"]


@pytest.mark.parametrize(
    ("target", "is_locked"),
    [({"time": "2026-01-01T00:00:00Z"}, True), ({"snapshot": "s-1"}, False)],
)
def test_a_seek_to_a_time_is_noted_while_nobody_deletes_messages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: Any, is_locked: bool
) -> None:
    """Retention holds the lock of a local topic from its last look until it has deleted."""
    store = PubSub(None, str(tmp_path / "store"), lane="direct")
    uid = store.create_topic(TOPIC).uid
    store.create_subscription(NAME, TOPIC)
    store.create_snapshot("s-1", NAME)
    held: list[bool] = []
    replace = AckStateTables.replace

    def noted(tables: AckStateTables, *args: Any) -> bool:
        with ThreadPoolExecutor(1) as threads:
            held.append(threads.submit(is_taken).result())
        return replace(tables, *args)

    def is_taken() -> bool:
        lane = store.tables.lanes.control
        try:
            with lane.locked(store.tables.messages(uid).table, wait=False):
                return False
        except Conflict:
            return True

    monkeypatch.setattr(AckStateTables, "replace", noted)
    store.seek(NAME, **target)
    assert held == [is_locked]


def test_a_deletion_that_lost_a_race_to_a_slow_publisher_deletes_nothing_and_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In object storage no lock keeps a publisher away; here it is a tool that takes none."""
    store = PubSub(None, str(tmp_path))
    uid = store.create_topic(TOPIC).uid
    store.publish(TOPIC, ["old"])
    store.delete_topic(TOPIC)
    table, opened = str(tmp_path / "messages" / uid), OpenTables.opened
    late = DeltaTable(table).to_pyarrow_table()

    def crossed(tables: OpenTables, name: str) -> DeltaTable:
        found = opened(tables, name)
        if uid in name:
            write_deltalake(table, late, mode="append")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(OpenTables, "opened", crossed)
        report = store.maintain()
    assert "a slow publisher" in report.problems[f"projects/local/topics/{TOPIC} (deleted)"]
    assert DeltaTable(table).count() == 2, "nothing was deleted"
    assert store.maintain().discarded == {f"projects/local/topics/{TOPIC} (deleted)": 2}
