"""Topics and backlogs by name in SQL: views that are right, and nobody else's are touched."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import (
    InvalidArgument,
    ManualClock,
    Message,
    NotFound,
    PubSub,
    SchemaSettings,
)
from tests.conftest import Bench


@pytest.fixture
def ask(spark: SparkSession) -> Callable[[str], list[tuple[object, ...]]]:
    return lambda query: sorted(map(tuple, spark.sql(query).collect()), key=repr)


Ask = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
def store(own_bench: Bench) -> PubSub:
    """A store with a topic and two subscriptions."""
    store = own_bench.store
    store.create_topic("orders", message_retention_duration="1d")
    for name in ("billing", "ship-ping"):
        store.create_subscription(name, "orders", ack_deadline_seconds=60)
    sent = [Message(b"tea", {"table": "7"}, "seven"), Message(b"\xff"), b"cake"]
    store.publish("orders", sent)
    return store


def test_a_topic_and_a_backlog_are_found_by_name_in_a_schema(
    store: PubSub, schema: str, ask: Ask, own_bench: Bench
) -> None:
    # "gives `orders` and `orders_billing_backlog`-like views over the uid-named tables"
    report = store.create_views(schema)
    assert report.views == ("orders", "orders_billing_backlog", "orders_ship_ping_backlog")
    assert (report.created, report.refused) == (report.views, {})
    assert ask(f"SELECT text, attributes['table'], ordering_key FROM {schema}.orders") == [
        ("cake", None, ""),
        ("tea", "7", "seven"),
        (None, None, ""),
    ]
    assert own_bench.spark.table(f"{schema}.orders").columns == [
        *("message_id", "publish_time", "text", "data", "attributes", "ordering_key"),
        "publish_date",
    ]
    backlog = f"SELECT text, state, delivery_attempt FROM {schema}.orders_billing_backlog"
    assert ask(f"{backlog} WHERE text = 'tea'") == [("tea", "available", None)]
    batch = store.pull("billing", 1)
    store.pull("billing", 1)
    batch.ack()
    assert len(ask(backlog)) == 3  # as it was
    store.create_views(schema)
    assert sorted(str(state) for _, state, _ in ask(backlog)) == ["available", "leased"]
    assert len(ask(f"SELECT * FROM {schema}.orders_ship_ping_backlog")) == 3
    (as_of,) = ask(f"SELECT DISTINCT unix_micros(as_of) FROM {schema}.orders_billing_backlog")
    now = own_bench.clock.now().timestamp()
    assert as_of == (int(now * 1_000_000),)


def test_a_message_without_data_has_an_empty_text_however_it_was_published(
    store: PubSub, ask: Ask
) -> None:
    """ "`text`: the data as text, null where it is none in UTF-8"; a DataFrame stores a null."""
    rows = store.spark.sql("SELECT map('by', 'frame') AS attributes")
    store.publish("orders", rows)
    store.publish("orders", [Message(attributes={"by": "list"})])
    store.create_views(temporary=True)
    empty = "SELECT attributes['by'], data FROM orders WHERE text = ''"
    assert ask(empty) == [("frame", b""), ("list", b"")]


def test_a_temporary_backlog_is_as_it_was_until_the_views_are_made_again(
    store: PubSub, ask: Ask
) -> None:
    # "temp views for path stores"
    store.create_views()
    count = "SELECT count(*) FROM orders_billing_backlog"
    assert ask(count) == [(3,)]
    assert store.pull("billing").ack().counts["success"] == 3
    assert ask(count) == [(3,)]
    store.publish("orders", ["more"])
    report = store.create_views()
    assert "orders_billing_backlog" in report.replaced
    assert "orders" in report.unchanged
    assert ask("SELECT text, state FROM orders_billing_backlog") == [("more", "available")]


@pytest.mark.parametrize("where", ["catalog", "session"])
def test_views_follow_what_is_created_deleted_and_created_anew(
    store: PubSub, schema: str, ask: Ask, where: str
) -> None:
    # "kept right when resources change (created, deleted, recreated; stale views dropped)"
    place = schema if where == "catalog" else None
    dot = f"{schema}." if place else ""
    store.create_views(place)
    store.delete_subscription("billing")
    store.delete_topic("orders")
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    # Whoever asks before the views are right is told, rather than given what the old topic had.
    with pytest.raises(Exception, match="was deleted, or created anew, since this view was made"):
        ask(f"SELECT count(*) FROM {dot}orders")
    store.publish("orders", ["new"])
    report = store.create_views(place)
    assert report.dropped == ("orders_ship_ping_backlog",)
    assert "ship_ping_backlog" in report.created
    assert "orders" in report.replaced
    assert ask(f"SELECT text FROM {dot}orders") == [("new",)]
    assert ask(f"SELECT text FROM {dot}orders_billing_backlog") == [("new",)]
    assert len(ask(f"SELECT * FROM {dot}ship_ping_backlog")) == 3  # of a topic that is gone
    store.detach_subscription("billing")
    store.delete_subscription("ship-ping")
    store.delete_topic("orders")
    assert len(store.create_views(place).dropped) == 3
    assert not store.create_views(place).views


@pytest.mark.parametrize("where", ["catalog", "session"])
def test_a_view_without_rows_tells_that_its_resource_is_gone(
    store: PubSub, schema: str, ask: Ask, where: str
) -> None:
    # "a view of what is no more fails with a message that says so"
    place, dot = (schema, f"{schema}.") if where == "catalog" else (None, "")
    store.create_topic("receipts")
    store.pull("billing").ack()
    store.create_views(place)
    of_no_rows = [
        f"SELECT count(*) FROM {dot}orders_billing_backlog",
        f"SELECT text FROM {dot}orders WHERE publish_date = DATE'1999-12-31'",
        f"SELECT text FROM {dot}receipts",
    ]
    assert [ask(query) for query in of_no_rows] == [[(0,)], [], []]
    store.delete_subscription("billing")
    for topic in ("orders", "receipts"):
        store.delete_topic(topic)
        store.create_topic(topic)
    store.create_subscription("billing", "orders")
    store.publish("orders", ["new"])
    for query in of_no_rows:
        with pytest.raises(Exception, match="was deleted, or created anew, since this view"):
            ask(query)


@pytest.mark.parametrize("where", ["catalog", "session"])
def test_what_others_made_is_never_overwritten_or_dropped(
    store: PubSub, schema: str, ask: Ask, own_bench: Bench, where: str
) -> None:
    # "a user's view or table of the same name is never overwritten"
    place = schema if where == "catalog" else None
    kind, dot = ("VIEW", f"{schema}.") if place else ("TEMPORARY VIEW", "")
    store.create_views(place)
    ask(f"CREATE {kind} {dot}mine AS SELECT * FROM {dot}orders")  # which inherits our comments
    ask(f"DROP VIEW {dot}orders")
    ask(f"CREATE {kind} {dot}ORDERS AS SELECT 'theirs' AS message_id")
    report = store.create_views(place)
    assert report.dropped == ()
    assert list(report.refused) == ["orders"]
    assert "prefix" in report.refused["orders"]
    assert ask(f"SELECT * FROM {dot}orders") == [("theirs",)]
    store.delete_topic("orders")
    assert "mine" not in store.create_views(place).dropped
    other = PubSub(own_bench.spark, f"{own_bench.root}/other", clock=ManualClock())
    other.create_topic("orders")
    other.create_topic("mine")
    refused = other.create_views(place).refused
    assert sorted(refused) == ["mine", "orders"]
    assert other.create_views(place, prefix="o_").created == ("o_mine", "o_orders")
    assert store.create_views(place).dropped == ()
    assert other.create_views(place, prefix="o_").unchanged == ("o_mine", "o_orders")
    assert sorted(other.create_views(place).dropped) == ["o_mine", "o_orders"]


def test_a_table_of_the_name_is_not_hidden_or_replaced(
    store: PubSub, schema: str, ask: Ask
) -> None:
    ask(f"CREATE TABLE {schema}.orders (a INT) USING delta")
    assert list(store.create_views(schema).refused) == ["orders"]
    assert ask(f"SELECT * FROM {schema}.orders") == []


def test_two_names_that_would_be_one_view_are_two(store: PubSub, schema: str) -> None:
    store.create_topic("Orders")
    store.create_topic("topics")
    report = store.create_views(schema)
    assert "orders" not in [each.casefold() for each in report.views]
    assert len([each for each in report.views if each.casefold().startswith("orders_")]) == 4
    assert any(each.startswith("topics_") for each in report.views)
    assert report.refused == {}


def test_a_view_whose_files_are_gone_can_still_be_told_and_dropped(
    store: PubSub, schema: str, own_bench: Bench
) -> None:
    topic = store.get_topic("orders")
    store.create_views(schema)
    for name in ("billing", "ship-ping"):
        store.delete_subscription(name)
    store.delete_topic("orders")
    shutil.rmtree(Path(own_bench.root) / "messages" / topic.uid)
    assert len(store.create_views(schema).dropped) == 3


@pytest.mark.parametrize("where", ["catalog", "session"])
def test_a_table_that_is_gone_keeps_no_other_view_from_being_made(
    store: PubSub, schema: str, ask: Ask, own_bench: Bench, where: str
) -> None:
    # "A view that cannot be created is reported, and the other views are created"
    place, dot = (schema, f"{schema}.") if where == "catalog" else (None, "")
    store.create_topic("receipts")
    store.create_views(place)
    for table in (own_bench.ack_state_table("billing"), own_bench.messages_table("receipts")):
        shutil.rmtree(table.split("`")[1])
    store.pull("ship-ping", 1).ack()
    report = own_bench.another().create_views(place)
    assert report.refused.keys() == {"orders_billing_backlog"}
    assert "this table is gone" in report.refused["orders_billing_backlog"]
    assert not report.dropped
    assert len(ask(f"SELECT text FROM {dot}orders_ship_ping_backlog")) == 2
    assert len(ask(f"SELECT text FROM {dot}orders_billing_backlog")) == 3  # as it was
    report = own_bench.another().create_views(place, prefix="new_")
    assert report.refused.keys() == {"new_orders_billing_backlog", "new_receipts"}
    assert report.views == ("new_orders", "new_orders_ship_ping_backlog")


def test_a_topic_whose_log_is_damaged_keeps_no_other_view_from_being_made(
    store: PubSub, own_bench: Bench
) -> None:
    """ "A view that cannot be created is reported, and the other views are created"."""
    fields = '[{"name": "paid", "type": "string"}]'
    slip = f'{{"type": "record", "name": "Slip", "fields": {fields}}}'
    store.create_schema("slip", "AVRO", slip)
    store.create_topic("receipts", schema_settings=SchemaSettings("slip", "JSON"))
    table = own_bench.messages_table("receipts").split("`")[1]
    for commit in Path(table, "_delta_log").glob("*.json"):
        commit.write_bytes(b"\0")
    report = own_bench.another().create_views(temporary=True)
    assert report.refused.keys() == {"receipts", "receipts_typed"}
    assert all("damaged" in why for why in report.refused.values())
    assert "orders" in report.views


def test_projects_have_views_of_their_own(store: PubSub, schema: str, own_bench: Bench) -> None:
    staging = PubSub(own_bench.spark, str(own_bench.root), project="staging", clock=own_bench.clock)
    staging.create_topic("orders")
    store.create_views(schema)
    assert list(staging.create_views(schema).refused) == ["orders"]
    assert staging.create_views(schema, prefix="s_").created == ("s_orders",)
    assert len(store.create_views(schema).views) == 3


def test_a_backlog_in_too_many_pieces_is_told(
    store: PubSub, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pubsub_delta.tables.lanes.spark.views.MOST_RUNS", 1)
    batch = store.pull("billing")
    batch.ack([batch.arrow()["ack_id"].to_pylist()[1]])
    report = store.create_views(schema)
    assert "too many pieces" in report.refused["orders_billing_backlog"]
    assert "orders" in report.created
    monkeypatch.setattr("pubsub_delta.tables.lanes.spark.views.MOST_RUNS", 2)
    assert store.create_views(schema).created == ("orders_billing_backlog",)


def test_a_store_in_the_catalog_has_its_views_beside_its_tables(
    spark: SparkSession, schema: str, ask: Ask
) -> None:
    # "catalog views in a catalog schema"
    store = PubSub(spark, schema, clock=ManualClock())
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    store.publish("orders", ["a", "b"])
    assert store.create_views().views == ("orders", "orders_billing_backlog")
    store.pull("billing", 1).ack()
    assert ask(f"SELECT text FROM {schema}.orders") == [("a",), ("b",)]
    store.create_views()
    assert ask(f"SELECT text FROM {schema}.orders_billing_backlog") == [("b",)]
    assert store.create_views(temporary=True, prefix="t_").created == (
        "t_orders",
        "t_orders_billing_backlog",
    )
    assert ask("SELECT text FROM t_orders_billing_backlog") == [("b",)]
    store.delete_subscription("billing")
    store.delete_topic("orders")
    for temporary in (None, True):
        assert len(store.create_views(temporary=temporary, prefix="t_").dropped) == 2


def test_a_topic_has_a_view_though_it_is_called_as_a_table_of_the_store(
    spark: SparkSession, schema: str, ask: Ask
) -> None:
    # "views beside its tables"; a name that is taken ends with eight digits of a digest
    store = PubSub(spark, schema, clock=ManualClock())
    tables = ("schemas", "snapshots", "subscriptions", "topics")
    for name in tables:
        store.create_topic(name)
    report = store.create_views()
    assert not report.refused
    assert [name.rpartition("_")[0] for name in report.views] == list(tables)
    assert ask(f"SELECT count(*) FROM {schema}.{report.views[0]}") == [(0,)]


def test_what_cannot_be_a_place_for_views_is_refused(store: PubSub) -> None:
    with pytest.raises(NotFound, match="schema: 'nowhere' does not exist"):
        store.create_views("nowhere")
    with pytest.raises(InvalidArgument, match="schema: '/data/x' is a path"):
        store.create_views("/data/x")
    with pytest.raises(InvalidArgument, match="one of the two is accepted"):
        store.create_views("bi", temporary=True)
    with pytest.raises(InvalidArgument, match="schema: it is not given"):
        store.create_views(temporary=False)
    with pytest.raises(InvalidArgument, match="prefix: 'a-b'"):
        store.create_views(prefix="a-b")
