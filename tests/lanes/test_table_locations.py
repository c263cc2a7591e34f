"""Where the table of a subscription is, however its path and the root are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import PubSub, TableConfig
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.table_configs import check_table_config
from pubsub_delta.table_config import TableState
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.targets import TableLocations, Unwritable
from tests.lanes.table_world import NAME, TOPIC, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("of_root", ["", "file:", "file://", "file://localhost"])
@pytest.mark.parametrize("of_table", ["", "file:", "file://"])
def test_a_table_below_the_root_is_known_however_the_two_are_written(
    world: World, of_root: str, of_table: str
) -> None:
    """A job may open the store by another URL than the program that named the table."""
    world.make()
    store = PubSub(None, f"{of_root}{world.root}")
    config = TableConfig(f"{of_table}{world.table}")
    made = store.create_subscription(NAME, TOPIC, table_config=config)
    assert made.table_config is not None
    assert made.table_config.state is TableState.ACTIVE
    store.publish(TOPIC, ["a"])
    report = PubSub(None, f"file:{world.root}").maintain()
    assert (list(report.written.values()), report.problems) == ([1], {})


@pytest.mark.parametrize("of_root", ["", "file:"])
def test_a_table_of_the_store_is_none_however_the_two_are_written(
    world: World, tmp_path: Path, of_root: str
) -> None:
    store = PubSub(None, f"{of_root}{world.root}", tables_root=f"file://{tmp_path}")
    for table in (f"{world.root}/topics", f"file:{world.root}/topics"):
        with pytest.raises(InvalidArgument, match="among the tables of the store"):
            store.create_subscription(NAME, TOPIC, table_config=TableConfig(table))


@pytest.mark.parametrize("table", ["link.topics", "link.orders", "{0}/link/orders"])
def test_a_table_of_the_store_is_none_by_a_link(world: World, tmp_path: Path, table: str) -> None:
    """Whatever links a path goes by, it does not lead to the tables of the store."""
    world.make()
    Path(tmp_path, "link").symlink_to(world.root)
    store = PubSub(None, str(world.root), tables_root=str(tmp_path))
    with pytest.raises(InvalidArgument, match=r"among the tables of the store itself$"):
        store.create_subscription(NAME, TOPIC, table_config=TableConfig(table.format(tmp_path)))


@pytest.mark.parametrize(
    ("of_tables", "table"),
    [
        ("hdfs://host/lake", "hdfs://host/lake/orders"),
        ("", "{0}/of%20today"),
        ("", "{0}/of#today"),
        ("", "{0}/[today]"),
    ],
)
def test_a_table_that_this_process_cannot_open_is_told_as_that(
    world: World, of_tables: str, table: str
) -> None:
    """No word of a table to be created: one that is made there is not opened either."""
    tables = of_tables or f"{world.root}/tables"
    store = PubSub(None, f"{world.root}", tables_root=tables)
    config = TableConfig(table.format(tables))
    with pytest.raises(InvalidArgument, match="is not a path or URL that deltalake opens"):
        store.create_subscription(NAME, TOPIC, table_config=config)


def test_a_store_in_a_catalog_has_no_tables_without_a_root() -> None:
    with pytest.raises(Unwritable, match="tables_root names one") as told:
        TableLocations(layout_of("main.pubsub"), None).path("shop.orders")
    assert told.value.state is TableState.PERMISSION_DENIED
    assert TableLocations(layout_of("main.pubsub"), "/t").path("shop.orders") == "/t/shop/orders"


@pytest.mark.parametrize(
    ("given", "table"),
    [("shop:sales.orders", "shop.sales.orders"), ("shop.sales.orders", "shop.sales.orders")],
)
def test_a_table_may_be_named_as_gclouds_help_names_it(given: str, table: str) -> None:
    """gcloud: --bigquery-table=PROJECT:DATASET.TABLE names the same table as with a dot."""
    no_others: dict[str, Any] = {"push_config": None, "enable_exactly_once_delivery": False}
    found = check_table_config(TableConfig(given), **no_others)
    assert found is not None
    assert found.table == table
