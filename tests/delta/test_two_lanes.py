"""One store that both lanes work on at the same time, each on what the other has written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pubsub_delta import Aborted, AlreadyExists, FailedPrecondition, Message, NotFound, PubSub
from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes import choice
from pubsub_delta.tables.lanes.scans import Window
from pubsub_delta.tables.lanes.spark import SparkScans
from tests.conftest import Bench


class Both(Bench):
    """A store that is opened once for each lane."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        super().__init__(spark, root, "direct")
        self.direct = self.store
        self.spark_lane = PubSub(spark, root, clock=self.clock, lane="spark")


@pytest.fixture(scope="module")
def both(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Both:
    if request.config.getoption("--remote"):
        pytest.skip("Spark Connect: the files are where the server looks for them")
    return Both(spark, str(tmp_path_factory.mktemp("both")))


Pair = Callable[[Both], tuple[PubSub, PubSub]]


@pytest.fixture(params=["direct first", "spark first"])
def first_and_second(request: pytest.FixtureRequest, both: Both) -> tuple[PubSub, PubSub]:
    """One store by each lane: who does the first step, and who goes on."""
    stores = (both.direct, both.spark_lane)
    return stores if request.param == "direct first" else (stores[1], stores[0])


def test_publishes_in_turn_get_rising_positions(both: Both) -> None:
    # "Positions are never given twice: several processes, both lanes"
    topic, subscription = both.pair()
    rows = both.spark.range(0, 4, 1, 2).selectExpr("concat('f', id) AS data")
    ids: list[int] = []
    for store, messages in (
        (both.direct, ["d", "e"]),
        (both.spark_lane, ["s"]),
        (both.direct, rows),
        (both.spark_lane, rows),
        (both.direct, ["f"]),
    ):
        ids += map(int, store.publish(topic, messages).message_ids)
    assert len(ids) == 12
    assert ids == sorted(set(ids)), "in the order in which they landed, each once"
    table = DeltaTable(f"{both.root}/messages/{both.direct.get_topic(topic).uid}")
    assert sorted(table.to_pyarrow_table()["position"].to_pylist()) == ids
    half, rest = both.spark_lane.pull(subscription, 5), both.direct.pull(subscription)
    received = [int(message.message_id) for batch in (half, rest) for message in batch]
    assert received == ids


def test_what_one_pulls_the_other_acknowledges(
    both: Both, first_and_second: tuple[PubSub, PubSub]
) -> None:
    one, other = first_and_second
    topic, subscription = both.pair()
    one.publish(topic, ["a", "b", "c"])
    ids = {m.data: m.ack_id for m in one.pull(subscription)}
    assert other.pull(subscription).message_count == 0  # leased by the first
    assert other.acknowledge(subscription, [ids[b"a"]]).success == [ids[b"a"]]
    assert other.modify_ack_deadline(subscription, [ids[b"b"]], 0).success == [ids[b"b"]]
    again = one.pull(subscription)
    assert [message.data for message in again] == [b"b"]
    assert again.ack().counts["success"] == 1
    assert one.acknowledge(subscription, [ids[b"c"]]).counts["success"] == 1
    assert other.metrics(subscription)["num_undelivered_messages"] == 0


@pytest.mark.spark_lane
def test_what_one_has_in_a_snapshot_the_other_seeks_to(
    both: Both, first_and_second: tuple[PubSub, PubSub]
) -> None:
    one, other = first_and_second
    topic, subscription = both.pair()
    one.publish(topic, ["acked", "kept"])
    batch = one.pull(subscription)
    batch.ack([m.ack_id for m in batch if m.data == b"acked"])
    name = both.unused("snapshot")
    one.create_snapshot(name, subscription)
    batch.ack()
    other.publish(topic, ["later"])
    other.pull(subscription).ack()
    other.seek(subscription, snapshot=name)
    assert [message.data for message in one.pull(subscription)] == [b"kept", b"later"]
    other.delete_snapshot(name)
    with pytest.raises(NotFound, match=name):
        one.seek(subscription, snapshot=name)


def test_resources_of_one_are_those_of_the_other(
    both: Both, first_and_second: tuple[PubSub, PubSub]
) -> None:
    one, other = first_and_second
    name = both.unused("shared")
    seen = one.create_topic(name, labels={"by": "one"})
    assert other.get_topic(name) == seen
    with pytest.raises(AlreadyExists, match=name):
        other.create_topic(name)
    changed = other.update_topic(name, if_unchanged=seen, labels={"by": "other"})
    with pytest.raises(Aborted, match="labels"):
        one.update_topic(name, if_unchanged=seen, labels={"by": "one"})
    assert one.get_topic(name) == changed
    other.delete_topic(name)
    with pytest.raises(NotFound, match=name):
        one.get_topic(name)


def test_what_a_session_has_cached_of_the_store_hides_nothing_of_what_others_do(both: Both) -> None:
    """docs/guarantees.md: "What is told as published can be received."

    A program that looks at the registry in SQL may have cached it, and so the ack state.
    """
    topic, name = both.pair()
    tables = [f"delta.`{both.root}/{kind}`" for kind in ("topics", "subscriptions")]
    cached = [both.spark.table(each).cache() for each in (*tables, both.ack_state_table(name))]
    for each in cached:
        assert each.count()
    both.direct.publish(topic, ["of the first"])
    assert both.direct.pull(name).message_count == 1
    assert both.spark_lane.pull(name).message_count == 0  # they are leased
    both.direct.delete_subscription(name)
    both.direct.delete_topic(topic)
    both.direct.create_topic(topic)
    both.direct.create_subscription(name, topic)
    with pytest.raises(AlreadyExists):
        both.spark_lane.create_topic(topic)
    both.spark_lane.publish(topic, ["of the second"])
    assert [each.data for each in both.direct.pull(name)] == [b"of the second"]
    for each in cached:
        each.unpersist()


@pytest.mark.spark_lane
def test_what_is_stored_of_many_publishes_is_one_query(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job for each of a day's publishes would take a day, where retention has deleted some."""
    topic, subscription = both.pair()
    ids = [int(*both.direct.publish(topic, [text]).message_ids) for text in ("a", "b", "c", "d")]
    table = DeltaTable(f"{both.root}/messages/{both.direct.get_topic(topic).uid}")
    table.delete(f"position = {ids[1]}")
    queries: list[Window] = []
    real = SparkScans.fold

    def fold(scans: SparkScans, table: str, window: Window, *given: Filter | None) -> Positions:
        queries.append(window)
        return real(scans, table, window, *given)

    monkeypatch.setattr(SparkScans, "fold", fold)
    batch = both.spark_lane.pull(subscription)
    assert [message.data for message in batch] == [b"a", b"c", b"d"]
    assert len([each for each in queries if each.positions is None]) == 1


def test_a_session_with_another_file_system_hides_no_message_from_a_filter(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Messages that do not match are never in the backlog": all others are.

    A path without a scheme is on the session's own file system for Spark, which may have a copy of
    the store at that path, or nothing.
    """
    monkeypatch.setattr(choice, "MANY_MESSAGES", 2)
    session = both.spark.newSession()
    session.conf.set("fs.defaultFS", "viewfs://of-its-own/")
    session.conf.set("fs.viewfs.mounttable.of-its-own.linkFallback", f"file://{tmp_path}")
    topic, _ = both.pair()
    subscription = f"{topic}-filtered"
    both.direct.create_subscription(subscription, topic, filter="attributes:k")
    both.direct.publish(topic, [Message(b"a", {"k": "1"}), Message(b"b"), Message(b"c")])
    elsewhere = PubSub(session, both.root, clock=both.clock)
    assert [each.data for each in elsewhere.pull(subscription)] == [b"a"]
    shutil.copytree(both.root, f"{tmp_path}{both.root}")
    both.direct.publish(topic, [Message(b"d", {"k": "1"}), Message(b"e"), Message(b"f")])
    assert [each.data for each in elsewhere.pull(subscription)] == [b"d"]
    with pytest.raises(FailedPrecondition, match="Spark finds another table there"):
        elsewhere.publish(topic, session.sql("SELECT 'g' AS data"))
    with pytest.raises(FailedPrecondition, match="Spark finds another table there"):
        PubSub(session, both.root, clock=both.clock).create_views(temporary=True)
