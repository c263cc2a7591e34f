"""Table subscriptions in the console, on real tables."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

from pubsub_delta import TableConfig
from pubsub_delta.console.application import create_app
from pubsub_delta.console.security import ConsoleAccess
from tests.lanes.table_world import METADATA, NAME, TOPIC, World
from tests.unit.browsing import BASE, Browser, form_from_pairs, words


class TableBrowser(Browser):
    """A browser that looks at the console of a store with a table."""

    def __init__(self, world: World) -> None:
        self.store = world.store
        self.app = create_app(self.store, ConsoleAccess(), world.clock, root=str(world.root))
        self.client = TestClient(self.app, base_url=BASE, follow_redirects=True)

    def table_of(self, name: str) -> TableConfig | None:
        return self.store.get_subscription(name).table_config


@pytest.fixture
def browser(tmp_path: Path) -> TableBrowser:
    world = World(tmp_path)
    world.make(METADATA)
    return TableBrowser(world)


def test_a_subscription_that_writes_to_a_table_is_made_shown_and_changed(
    browser: TableBrowser,
) -> None:
    """Pub/Sub: select a Delivery type: pull, push, or write to BigQuery."""
    sent = {"id": NAME, "topic": TOPIC, "delivery": "table", "table": "shop.orders"}
    assert browser.post("/subscriptions/_new", sent).status_code == 200
    assert browser.table_of(NAME) == TableConfig("shop.orders")
    details = words(browser.get(f"/subscriptions/{NAME}/details").text)
    assert "Written to the table shop.orders (ACTIVE)" in details
    browser.post(f"/subscriptions/{NAME}/edit", {"table_metadata": "on"})
    browser.post(f"/subscriptions/{NAME}/edit", {"ack_deadline": "20"})  # the table is kept
    assert browser.table_of(NAME) == TableConfig("shop.orders", write_metadata=True)
    listed = browser.get("/subscriptions?columns=delivery&chosen=1").text
    assert browser.store.get_subscription(NAME).ack_deadline_seconds == 20
    assert NAME in words(listed)


def test_the_delivery_type_goes_from_push_to_a_table_and_back(browser: TableBrowser) -> None:
    pushed = {"id": NAME, "topic": TOPIC, "delivery": "push", "push_endpoint": "http://a/b"}
    browser.post("/subscriptions/_new", pushed)
    browser.post(f"/subscriptions/{NAME}/edit", {"delivery": "table", "table": "shop.orders"})
    assert browser.table_of(NAME) == TableConfig("shop.orders")
    assert browser.store.get_subscription(NAME).push_config is None
    browser.post(f"/subscriptions/{NAME}/edit", {"delivery": "pull"})
    assert browser.table_of(NAME) is None


def test_a_table_that_is_not_there_is_refused_at_its_field(browser: TableBrowser) -> None:
    sent = {"id": NAME, "topic": TOPIC, "delivery": "table", "table": "shop.absent"}
    answer = browser.post("/subscriptions/_new", sent)
    assert answer.status_code == 400
    assert 'id="table-error"' in answer.text
    assert "there is no Delta table at" in words(answer.text)
    assert not list(browser.store.list_subscriptions())


def test_the_schema_of_a_table_is_chosen(browser: TableBrowser) -> None:
    sent = {"id": NAME, "topic": TOPIC, "delivery": "table", "table": "shop.orders"}
    browser.post("/subscriptions/_new", {**sent, "table_columns": "table-schema"})
    expected = TableConfig("shop.orders", use_table_schema=True)
    assert browser.table_of(NAME) == expected
    browser.post(f"/subscriptions/{NAME}/edit", {"drop_unknown": "on"})
    assert browser.table_of(NAME) == TableConfig(
        "shop.orders", use_table_schema=True, drop_unknown_fields=True
    )


@pytest.mark.parametrize(
    "kind", ["edit", "delete", "replay/preview?target=time&time_date=2026-01-01&time_time=00:00"]
)
def test_a_table_that_comes_meanwhile_is_no_change_of_its_subscription(
    tmp_path: Path, kind: str
) -> None:
    """A form is refused "if somebody has changed the resource since then"."""
    world = World(tmp_path)
    world.make()
    world.subscribe()
    browser = TableBrowser(world)
    away = world.table.rename(tmp_path / "away")
    form = form_from_pairs(browser.get(f"/subscriptions/{NAME}/{kind}").text)
    away.rename(world.table)
    answer = browser.client.post(
        form.action, data={**form.fields, "name": NAME}, headers=browser.sent_with_forms
    )
    assert answer.status_code == 200, words(answer.text)
    assert "Somebody changed" not in answer.text
