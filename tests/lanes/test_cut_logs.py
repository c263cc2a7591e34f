"""What has landed does not land twice where the log has forgotten the commit by which it did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub
from pubsub_delta.policy import redelivery, table_writes
from pubsub_delta.tables.lanes.direct.targets import DirectTarget
from pubsub_delta.tables.targets import Outcome
from tests.lanes.table_world import (
    BYTES,
    DEAD,
    NAME,
    TOPIC,
    Killed,
    World,
    kill_before,
)

_TWO_DAYS = 2 * 86_400


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def cut_log(path: Path, commit: Callable[[], object]) -> None:
    """Remove the commits of a table that are there, as Delta's clean-up does after its retention.

    ``commit``: makes one that stays.
    """
    table = DeltaTable(str(path))
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 1 hour"})
    before = time.time() - _TWO_DAYS
    for each in path.joinpath("_delta_log").glob("*.json"):
        os.utime(each, (before, before))
    commit()
    table = DeltaTable(str(path))
    table.create_checkpoint()
    table.cleanup_metadata()
    assert len(DeltaTable(str(path)).history()) == 1


def own_row(path: Path) -> None:
    """Commit to the log of a table, as whoever owns it does."""
    DeltaTable(str(path)).alter.set_table_properties({"delta.checkpointInterval": "100"})


def test_rows_that_have_landed_do_not_come_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "Each message is one row, whoever is killed between its row and its acknowledgement"
    world.make()
    world.subscribe()
    world.publish(b"a", b"b")
    with monkeypatch.context() as patched:
        kill_before(patched, table_writes, "written")
        with pytest.raises(Killed):
            world.write()
    cut_log(world.table, lambda: own_row(world.table))
    assert world.write(world.another()) == (2, 0)
    assert world.data == [b"a", b"b"]
    assert world.states() == {}


def test_a_write_that_was_cancelled_is_told_from_one_that_landed(world: World) -> None:
    # "A table that changes in between gets nothing twice and loses nothing"
    world.make()
    rows = pa.table({"data": [b"a"]}, schema=BYTES)
    DirectTarget(str(world.table), None).append(rows, ("mine", 1), "first")
    DirectTarget(str(world.table), None).cancel(("mine", 2), "second")
    DirectTarget(str(world.table), None).append(rows, ("other", 1), "third")
    cut_log(world.table, lambda: own_row(world.table))
    target = DirectTarget(str(world.table), None)
    assert target.outcome(("mine", 2), "second") is Outcome.CANCELLED
    assert target.outcome(("mine", 2), "another of this number") is Outcome.OTHER
    assert target.outcome(("mine", 3), "third") is None
    assert target.outcome(("other", 1), "third") is Outcome.WRITTEN


@pytest.mark.parametrize("commits", [1, 3, 19])
def test_a_log_that_was_cleaned_is_not_taken_for_a_damaged_one(
    tmp_path: Path, commits: int
) -> None:
    # "No message is lost": a program that did nothing since goes on where the log was cut.
    clock = ManualClock()  # so that the lease of the first does not end on a slow machine
    quiet = PubSub(None, str(tmp_path / "store"), clock=clock)
    path = tmp_path / "store" / "messages" / quiet.create_topic(TOPIC).uid
    quiet.create_subscription(NAME, TOPIC)
    quiet.publish(TOPIC, [b"first"])
    assert quiet.pull(NAME).message_count == 1
    other = PubSub(None, str(tmp_path / "store"), clock=clock)
    for _ in range(commits):
        other.publish(TOPIC, [b"other"])
    cut_log(path, lambda: None)
    assert quiet.publish(TOPIC, [b"last"]).message_count == 1
    assert [each.data for each in quiet.pull(NAME)] == [*[b"other"] * commits, b"last"]


def test_dead_letters_that_have_landed_do_not_come_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "A dead letter is forwarded once, whoever dies in between"
    store: Any = world.store
    dead = store.create_topic(DEAD)
    store.create_subscription("letters", DEAD)
    store.create_subscription(NAME, TOPIC, dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b"a", b"b")
    for _ in range(5):
        store.pull(NAME).nack()
    with monkeypatch.context() as patched:
        kill_before(patched, redelivery, "forwarded")
        with pytest.raises(Killed):
            store.pull(NAME)
    assert world.states() == {"forwarding": 2}
    cut_log(world.root / "messages" / dead.uid, lambda: store.publish(DEAD, [b"own"]))
    other = world.another()
    assert list(other.maintain().dead_letters.values()) == [2]
    assert [each.data for each in other.pull("letters")] == [b"a", b"b", b"own"]
    assert world.states() == {}


@pytest.mark.parametrize("told", [[], [b"a"]], ids=["one-message", "some-with-statistics"])
def test_positions_are_not_given_out_again_where_neither_log_nor_statistics_tell_them(
    told: list[bytes], tmp_path: Path
) -> None:
    """Delta: statistics are optional. No message id comes twice, whatever of the rest is gone."""
    store = PubSub(None, str(tmp_path))
    store.create_topic(TOPIC)
    uid = store.get_topic(TOPIC).uid
    topic = tmp_path / "messages" / uid
    if told:
        store.publish(TOPIC, told)
    table = DeltaTable(topic)
    table.alter.set_table_properties({"delta.dataSkippingStatsColumns": "data"})
    before = [*map(int, store.publish(TOPIC, [b"b", *told]).message_ids)]
    cut_log(topic, lambda: own_row(topic))
    DeltaTable(tmp_path / "positions" / uid).restore(0)
    after = [*map(int, PubSub(None, str(tmp_path)).publish(TOPIC, [b"d"]).message_ids)]
    assert min(after) > max(before)
