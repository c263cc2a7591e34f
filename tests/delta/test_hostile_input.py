"""Hostile roots, names, attributes and ack ids, on real tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import FailedPrecondition, InvalidArgument, Message, PubSub
from pubsub_delta.jobs.inputs import message_columns
from pubsub_delta.policy.ack_ids import AckId, parse_ack_id
from pubsub_delta.tables.lanes.choice import LaneName
from tests.conftest import Bench, states

ROOTS = {
    "direct": 'it\'s "a" `root`; DROP -- 100% ünï *',
    "spark": 'it\'s "a" `root`; DROP -- 100%41 ünï #?*[b]\\',
}
HOSTILE = "'; DROP TABLE `topics`; -- \" ${env:HOME} {x} \\ \n ünï"


@pytest.fixture(scope="module")
def hostile(spark: SparkSession, lane: LaneName, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(spark, str(tmp_path_factory.mktemp("around") / ROOTS[lane]), lane)


@pytest.fixture(scope="module")
def pair(hostile: Bench) -> tuple[str, str]:
    """A topic with a subscription whose leases do not end by chance."""
    return hostile.pair(ack_deadline_seconds=600)


def test_a_store_stays_under_its_root_whatever_it_is_called(hostile: Bench) -> None:
    store = hostile.store
    topic, name = "a%2F..~+%25", "z-_..%60"  # legal ids, and what a path might make of them
    store.create_topic(topic, labels={HOSTILE[:63]: HOSTILE[:63]})
    store.create_subscription(name, topic, filter='attributes."it\'s `k`" = "\';--"')
    wanted = Message(HOSTILE.encode(), {"it's `k`": "';--", HOSTILE: HOSTILE}, HOSTILE)
    store.publish(topic, [wanted, Message(b"other", {"it's `k`": HOSTILE})])
    batch = store.pull(name)
    assert [message.message for message in batch] == [wanted]
    assert batch.ack().counts["invalid"] == 0
    assert store.get_topic(topic).labels == {HOSTILE[:63]: HOSTILE[:63]}
    root = Path(hostile.root)
    assert list(root.parent.iterdir()) == [root]
    registry = {"topics", "subscriptions", "snapshots", "schemas"}
    kinds = ("messages", "positions", "ack_state")
    assert {each.name for each in root.iterdir()} == {*registry, *kinds, "_locks"}
    below = [each.name for kind in kinds for each in (root / kind).iterdir()]
    assert len(below) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in below)


def test_a_root_that_deltalake_would_read_as_another_is_left_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "The direct lane is taken where deltalake can open the storage"
    root = str(tmp_path / ROOTS["spark"])
    assert PubSub(spark, root)._tables.lanes.choice[0] == "spark"
    with pytest.raises(FailedPrecondition, match=r"percent-encoded letters .* or Spark's lane"):
        PubSub(None, root, lane="direct").create_topic("flights")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.trial
def test_ack_ids_that_were_not_given_out_touch_no_message(
    hostile: Bench, pair: tuple[str, str]
) -> None:
    # "Malformed, or of another subscription → invalid"
    topic, mine = pair
    theirs = hostile.subscription(topic, ack_deadline_seconds=600)
    hostile.store.publish(topic, ["a", "b", "c"])
    held = [message.ack_id for message in hostile.store.pull(mine, max_messages=2)]
    foreign = [message.ack_id for message in hostile.store.pull(theirs)]
    known = parse_ack_id(held[0])
    assert known is not None
    bad = [
        *foreign,
        *(held[0][:-length] for length in (1, 2, 11)),
        *(held[0].replace(old, new, 1) for old, new in (("a", "b"), ("b", "a"), ("1", "2"))),
        *(f"{held[0]} ", f"{held[0]}\n", f"0{held[0]}", HOSTILE, ""),
        str(AckId(known.subscription_uid, known.lease_id + 1, known.position)),
        str(AckId(known.subscription_uid, known.lease_id, 10**17)),
    ]
    bad = sorted(set(bad) - set(held))
    before = {b"a": "leased", b"b": "leased", b"c": "available"}
    frame = hostile.spark.createDataFrame([(each,) for each in bad], "ack_id STRING")
    for ack_ids in (bad, frame):
        result = hostile.store.acknowledge(mine, ack_ids)
        assert (len(result.success), len(result.expired)) == (0, 0)
        assert sorted(result.invalid) == bad
        assert states(hostile, mine) == before
    assert len(hostile.store.modify_ack_deadline(mine, bad, 0).success) == 0
    assert states(hostile, mine) == before
    assert hostile.store.acknowledge(mine, [*bad, *held]).counts["success"] == 2
    assert states(hostile, mine) == {b"c": "available"}
    assert set(states(hostile, theirs).values()) == {"leased"}


@pytest.mark.parametrize("column", ["cast(NULL AS STRING)", "repeat('9', 10000)", "'.'"])
def test_a_column_without_any_ack_id_is_refused(
    hostile: Bench, pair: tuple[str, str], column: str
) -> None:
    frame = hostile.spark.sql(f"SELECT {column} AS ack_id")
    refusal = r"^ack_ids: .{3,101} is not an ack id; pass the ack_id of"
    with pytest.raises(InvalidArgument, match=refusal):
        hostile.store.acknowledge(pair[1], frame)


@pytest.mark.parametrize("ack_ids", [None, 5, [["a"]]])
def test_what_is_no_list_of_ack_ids_is_refused(
    hostile: Bench, pair: tuple[str, str], ack_ids: object
) -> None:
    with pytest.raises(InvalidArgument, match="is not a list of strings; pass a list of ack ids"):
        hostile.store.acknowledge(pair[1], ack_ids)


@pytest.mark.parametrize(
    "columns",
    [
        "1 AS ack_id",
        "NULL AS ack_id",
        "binary('x') AS ack_id",
        "array('a') AS ack_id",
        "'a' AS ack_id, 'b' AS ack_id",
    ],
)
def test_a_dataframe_needs_one_column_of_ack_ids(
    hostile: Bench, pair: tuple[str, str], columns: str
) -> None:
    frame = hostile.spark.range(1).selectExpr(*columns.split(", "))
    with pytest.raises(InvalidArgument, match="one STRING column 'ack_id' is needed"):
        hostile.store.acknowledge(pair[1], frame)


def test_a_dataframe_whose_columns_name_no_message_is_refused(
    hostile: Bench, pair: tuple[str, str]
) -> None:
    rows = hostile.spark.range(1).selectExpr("'a' AS data", "'b' AS data")
    with pytest.raises(InvalidArgument, match="column 'data' appears twice"):
        hostile.store.publish(pair[0], rows)
    rows = hostile.spark.range(1).selectExpr("'a' AS data")
    with pytest.raises(InvalidArgument, match="is not a column; one of data is accepted"):
        hostile.store.publish(pair[0], rows, order_by=["data"])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="application id, version"):
        hostile.store.publish(pair[0], ["a"], idempotency_id=("\ud800", 1))


def test_a_dataframe_without_rows_publishes_no_message(
    hostile: Bench, pair: tuple[str, str]
) -> None:
    rows = hostile.spark.range(0).selectExpr("'a' AS data")
    result = hostile.store.publish(pair[0], rows)
    assert (result.message_count, list(result.message_ids)) == (0, [])


def test_names_of_metrics_are_texts(hostile: Bench) -> None:
    for name in (None, 7, ["a"]):
        with pytest.raises(InvalidArgument, match="is not a name; strings are accepted"):
            hostile.store.metrics(name)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="is not a name; strings are accepted"):
        hostile.store.metrics_table(7)  # type: ignore[arg-type]


def test_any_column_of_the_input_can_be_chosen(spark: SparkSession) -> None:
    rows = spark.range(2).selectExpr("CAST(id AS STRING) AS `a``b.c`")
    columns = message_columns(rows, "a`b.c", ("a`b.c",), "a`b.c")
    messages = rows.select(*columns).orderBy("ordering_key").collect()
    assert [bytes(row["data"]) for row in messages] == [b"0", b"1"]
    assert [row["attributes"] for row in messages] == [{"a`b.c": "0"}, {"a`b.c": "1"}]
