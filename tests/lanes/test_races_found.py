"""Races that the search of ``tests/protocol`` found: each stands here once more, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub
from pubsub_delta.tables.lanes.direct.open_tables import OpenTables
from pubsub_delta.tables.messages.messages import Messages
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import START, at
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
    ("beside", "received"),
    [
        ("carried out before the announcement", ["a"]),
        ("noted before the announcement", []),
        ("noted after the last look", []),
    ],
)
def test_of_a_seek_and_a_deletion_beside_it_each_sees_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, beside: str, received: list[str]
) -> None:
    """What a seek brings back is there, whichever of the two is faster, and nobody waits."""
    clock = ManualClock(START)
    store = PubSub(None, str(tmp_path / "store"), lane="direct", clock=clock)
    store.create_topic(TOPIC, message_retention_duration="10m")
    store.create_subscription(NAME, TOPIC)
    store.publish(TOPIC, ["a"])
    store.pull(NAME).ack()
    other = PubSub(None, str(tmp_path / "store"), lane="direct", clock=ManualClock(at(600)))
    pulled: list[str] = []

    def act() -> None:
        other.seek(NAME, time=at(0))
        if "carried out" in beside:
            pull()

    def pull() -> None:
        pulled.extend(each.data.decode() for each in other.pull(NAME))

    method = "discard_before" if "last look" in beside else "announce_discard"
    once(monkeypatch, Messages, method, act, "before")
    clock.advance(601)
    report = store.maintain(exact=True)
    pull()
    assert pulled == received
    assert bool(report.discarded) is ("last look" in beside)
    assert bool(report.problems) is not bool(report.discarded)


def test_what_is_compacted_between_the_looks_of_retention_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The DELETE means the version of the last look, which no compaction has changed since."""
    store = PubSub(None, str(tmp_path))
    messages = store.tables.messages(store.create_topic(TOPIC).uid)
    for each in "ab":
        store.publish(TOPIC, [each])
    once(monkeypatch, Messages, "announce_discard", messages.optimize, "before")
    assert store.maintain(exact=True).discarded == {f"projects/local/topics/{TOPIC}": 2}
    assert messages.count() == (0, None)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_deletion_that_lost_a_race_to_a_slow_publisher_deletes_nothing_and_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """In object storage no lock keeps a publisher away; here it is a tool that takes none.

    It commits before or after the table is opened for the DELETE, and the history was looked at.
    """
    store = PubSub(None, str(tmp_path))
    uid = store.create_topic(TOPIC).uid
    store.publish(TOPIC, ["old"])
    store.delete_topic(TOPIC)
    table, opened = str(tmp_path / "messages" / uid), OpenTables.opened
    late = DeltaTable(table).to_pyarrow_table()

    def crossed(tables: OpenTables, name: str, version: int | None = None) -> DeltaTable:
        if uid in name and when == "before":
            write_deltalake(table, late, mode="append")
        found = opened(tables, name, version)
        if uid in name and when == "after":
            write_deltalake(table, late, mode="append")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(OpenTables, "opened", crossed)
        report = store.maintain()
    assert "a slow publisher" in report.problems[f"projects/local/topics/{TOPIC} (deleted)"]
    assert DeltaTable(table).count() == 2, "nothing was deleted"
    assert store.maintain().discarded == {f"projects/local/topics/{TOPIC} (deleted)": 2}
