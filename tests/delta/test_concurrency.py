"""Compare-and-swap on the ack state: races, lost answers, damage."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import DataLoss, PubSub
from pubsub_delta.session import is_remote
from pubsub_delta.tables.ack_state import StoredAckState
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.lanes.spark.lane import SparkLane
from tests.conftest import Bench


def test_consumers_in_threads_never_hold_the_same_message(bench: Bench) -> None:
    topic, subscription = bench.pair(ack_deadline_seconds=600)
    bench.store.publish(topic, [f"{n:03}" for n in range(40)])
    stores = [bench.another() for _ in range(3)]

    def take(store: PubSub) -> list[str]:
        taken: list[str] = []
        while (batch := store.pull(subscription, 10)).message_count:
            taken += [row[0] for row in batch.df.select("message_id").collect()]
        return taken

    with ThreadPoolExecutor(3) as pool:
        taken = [message for part in pool.map(take, stores) for message in part]
    assert len(taken) == len(set(taken)) == 40


@pytest.fixture(params=["on disk", "elsewhere"])
def wherever(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a store on a local disk, and without locks, as if it were on an object store."""
    if request.param == "elsewhere":
        monkeypatch.setattr(TableLocks, "locked", lambda *_, **__: nullcontext())


@pytest.mark.usefixtures("wherever")
def test_who_remembers_an_old_state_reads_again_and_decides_again(bench: Bench) -> None:
    topic, subscription = bench.pair()
    one, two = bench.another(), bench.another()
    bench.store.publish(topic, ["a", "b", "c"])
    assert [m.data for m in one.pull(subscription, 1)] == [b"a"]
    assert [m.data for m in two.pull(subscription, 1)] == [b"b"]
    assert [m.data for m in one.pull(subscription, 2)] == [b"c"]  # one still remembers only "a"


@pytest.mark.usefixtures("wherever")
def test_a_swap_that_comes_second_changes_nothing_and_says_so(bench: Bench) -> None:
    # "written with one MERGE that succeeds only if the row's revision is the one that was read"
    _, subscription = bench.pair()
    uid = bench.store.get_subscription(subscription).uid
    tables = bench.another()._tables.ack_state_tables
    first = tables.read(uid)

    def swap(mark: str, stored: StoredAckState) -> bool:
        commits = (mark * 32, *stored.recent_commits)
        following = StoredAckState(first.state, stored.revision + 1, commits)
        return tables.replace(uid, following, stored)

    assert swap("a", first)
    before = bench.commits(bench.ack_state_table(subscription))
    assert not swap("b", first)
    assert swap("c", tables.read(uid))
    assert bench.commits(bench.ack_state_table(subscription)) == before + 1
    now = tables.read(uid)
    assert (now.revision, now.recent_commits[0]) == (first.revision + 2, "c" * 32)


@pytest.mark.usefixtures("wherever")
def test_of_swaps_at_the_same_time_one_lands(bench: Bench) -> None:
    _, subscription = bench.pair()
    uid = bench.store.get_subscription(subscription).uid
    ports = [bench.another()._tables.ack_state_tables for _ in range(4)]
    first = ports[0].read(uid)

    def swap(number: int) -> bool:
        following = StoredAckState(first.state, first.revision + 1, (f"{number:032x}",))
        try:
            return ports[number].replace(uid, following, first)
        except Conflict:
            return False

    with ThreadPoolExecutor(4) as pool:
        landed = list(pool.map(swap, range(4)))
    assert sum(landed) == 1
    assert ports[0].read(uid).recent_commits == (f"{landed.index(True):032x}",)


@pytest.mark.trial
def test_a_restored_ack_state_goes_on(bench: Bench) -> None:
    """What was acknowledged since the version that is restored comes again."""
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b", "c"])
    table, other = bench.ack_state_table(subscription), bench.another()
    assert [m.data for m in bench.store.pull(subscription, 1)] == [b"a"]
    for _ in range(2):  # the second time a state that was restored before
        version = bench.commits(table) - 1
        assert [m.data for m in bench.store.pull(subscription, 1)] == [b"b"]
        assert len(bench.store.pull(subscription, 1).ack().success) == 1
        bench.spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {version}")
        assert bench.store.metrics(subscription)["num_undelivered_messages"] == 3
    assert [m.data for m in other.pull(subscription, 1)] == [b"b"]
    assert [m.data for m in bench.store.pull(subscription, 1)] == [b"c"]
    assert bench.store.metrics(subscription)["num_outstanding_messages"] == 3


def test_who_remembers_a_state_does_not_undo_a_restore(bench: Bench) -> None:
    """On the driver's disk: the number of a restored state's successor may be free.

    Other commits than changes of the state are no reason to decide anew.
    """
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b", "c"])
    table = bench.ack_state_table(subscription)
    assert [m.data for m in bench.store.pull(subscription, 1)] == [b"a"]
    bench.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('some' = 'property')")
    assert [m.data for m in bench.store.pull(subscription, 1)] == [b"b"]
    bench.spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 0")
    assert [m.data for m in bench.store.pull(subscription, 2)] == [b"a", b"b"]
    assert bench.store.metrics(subscription)["num_outstanding_messages"] == 2


def test_an_ack_state_that_is_gone_is_not_made_anew(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    bench.store.pull(subscription)
    directory = Path(bench.root) / "ack_state" / bench.store.get_subscription(subscription).uid
    shutil.rmtree(directory)
    bench.store.publish(topic, ["b"])
    with pytest.raises(DataLoss, match="this table is gone"):
        bench.store.pull(subscription)
    assert not directory.exists()


def losing_an_answer(monkeypatch: pytest.MonkeyPatch, store: PubSub, *, landed: bool) -> None:
    """Have the next swap of a store fail as a broken connection would, before or after it."""
    lane: Any = store._tables.lanes.control
    swap = lane.swap

    def lost(*args: Any) -> bool:
        monkeypatch.undo()
        if landed:
            swap(*args)
        raise ConnectionError("the answer was lost")

    monkeypatch.setattr(lane, "swap", lost)


def test_a_commit_whose_answer_was_lost_is_recognised(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "Every commit is found again by what it carries … when its answer is lost."
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b"])
    store = bench.another()
    losing_an_answer(monkeypatch, store, landed=True)
    assert [m.data for m in store.pull(subscription, 1)] == [b"a"]
    assert bench.store.metrics(subscription)["num_outstanding_messages"] == 1


def test_a_commit_that_failed_and_did_not_land_is_an_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    store = bench.another()
    losing_an_answer(monkeypatch, store, landed=False)
    with pytest.raises(ConnectionError):
        store.pull(subscription)
    assert [m.data for m in store.pull(subscription)] == [b"a"]


@pytest.mark.parametrize("landed", [True, False])
def test_a_dataframe_whose_answer_was_lost_is_published_if_it_landed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    """A commit is found again by its publish id when its answer is lost."""
    topic, subscription = bench.pair()
    real = SparkLane.append_frame

    def lost(*args: Any, **named: Any) -> bool:
        if landed:
            real(*args, **named)
        raise ConnectionError("the answer was lost")

    monkeypatch.setattr(SparkLane, "append_frame", lost)
    frame = bench.spark.createDataFrame([("a",), ("b",)], "data string")
    if landed:
        assert len(bench.store.publish(topic, frame).message_ids) == 2
    else:
        with pytest.raises(ConnectionError):
            bench.store.publish(topic, frame)
    assert len(list(bench.store.pull(subscription))) == 2 * landed


def test_a_damaged_bitmap_is_data_loss_and_not_fewer_messages(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b"])
    bench.store.pull(subscription, 1)
    table = bench.ack_state_table(subscription)
    for positions in ("X'00'", "X'0000000000000000'"):  # cut off, and empty
        bench.spark.sql(
            f"UPDATE {table} SET spans = transform(spans, s -> struct(s.state, s.failures, "
            "s.delivery_attempt, s.lease_id, s.failed_lease_id, s.until, s.forward_to, "
            f"s.message_count, s.publish_time_min, s.publish_time_max, {positions} AS positions)), "
            "revision = revision + 1"
        )
        with pytest.raises(DataLoss, match="bitmap"):
            bench.another().pull(subscription)


def test_an_emptied_commit_is_data_loss_and_not_fewer_messages(bench: Bench) -> None:
    """Delta itself takes a commit without a line for one without messages."""
    if is_remote(bench.spark):
        pytest.skip("the files are the server's")
    topic = bench.topic()
    bench.store.publish(topic, ["a"])
    log = Path(bench.root) / "messages" / bench.store.get_topic(topic).uid / "_delta_log"
    newest = max(log.glob("0*.json"))
    newest.write_bytes(b"")
    (log / f".{newest.name}.crc").unlink(missing_ok=True)
    with pytest.raises(DataLoss, match=log.parent.name):
        bench.another().read_topic(topic)
