"""Compare-and-swap on the ack state: races, lost answers, damage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import DataLoss, PubSub
from pubsub_delta.session import is_remote
from pubsub_delta.tables.commits import Commits, Conflict
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


def test_who_remembers_an_old_state_reads_again_and_decides_again(bench: Bench) -> None:
    topic, subscription = bench.pair()
    one, two = bench.another(), bench.another()
    bench.store.publish(topic, ["a", "b", "c"])
    assert [m.data for m in one.pull(subscription, 1)] == [b"a"]
    assert [m.data for m in two.pull(subscription, 1)] == [b"b"]
    assert [m.data for m in one.pull(subscription, 2)] == [b"c"]  # one still remembers only "a"


class LosesTheAnswer(Commits):
    """Commits, but reports a failure once, as a broken connection would."""

    after = True

    def merge(self, *args: Any) -> int:
        if type(self).__dict__.get("broken"):
            return super().merge(*args)
        type(self).broken = True  # type: ignore[attr-defined]
        if self.after:
            super().merge(*args)
        raise ConnectionError("the answer was lost")


def test_a_commit_whose_answer_was_lost_is_recognised(bench: Bench) -> None:
    class Once(LosesTheAnswer):
        pass

    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b"])
    store = bench.another()
    store._tables.ack_state_tables._commits = Once(bench.spark, bench.spark, store._tables._layout)
    assert [m.data for m in store.pull(subscription, 1)] == [b"a"]
    assert bench.store.metrics(subscription)["num_outstanding_messages"] == 1


def test_a_commit_that_failed_and_did_not_land_is_an_error(bench: Bench) -> None:
    class Once(LosesTheAnswer):
        after = False

    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a"])
    store = bench.another()
    store._tables.ack_state_tables._commits = Once(bench.spark, bench.spark, store._tables._layout)
    with pytest.raises(ConnectionError):
        store.pull(subscription)
    assert [m.data for m in store.pull(subscription)] == [b"a"]


def test_deltas_conflicts_are_recognised_as_such(bench: Bench) -> None:
    _, subscription = bench.pair()
    table = bench.ack_state_table(subscription)
    commits = [bench.another()._tables._commits for _ in range(4)]

    def bump(each: Commits) -> object:
        try:
            return each._run(f"UPDATE {table} SET revision = revision + 1")
        except Conflict as conflict:
            return conflict

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(bump, commits))
    landed = [outcome for outcome in outcomes if not isinstance(outcome, Conflict)]
    row = bench.spark.table(table).first()
    assert row is not None
    assert row["revision"] == 1 + len(landed)
    assert len(landed) < 4


def test_a_damaged_bitmap_is_data_loss_and_not_fewer_messages(bench: Bench) -> None:
    topic, subscription = bench.pair()
    bench.store.publish(topic, ["a", "b"])
    bench.store.pull(subscription, 1)
    table = bench.ack_state_table(subscription)
    for positions in ("X'00'", "X'0000000000000000'"):  # cut off, and empty
        bench.spark.sql(
            f"UPDATE {table} SET spans = transform(spans, s -> struct(s.state, s.failures, "
            "s.delivery_attempt, s.lease_id, s.until, s.forward_to, s.message_count, "
            f"s.publish_time_min, s.publish_time_max, {positions} AS positions)), "
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
