"""Every column of every list of the console, each with a value that no other column has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("fastavro")

from pubsub_delta import SchemaSettings
from pubsub_delta.console import schemas, snapshots, subscriptions, topics
from pubsub_delta.console.lists import Column
from pubsub_delta.resources import DeadLetterPolicy
from tests.unit.browsing import Browser, words
from tests.unit.builders import DAY, HOUR, MINUTE
from tests.unit.schema_cases import AVRO
from tests.unit.test_console_lists import eventually, ids

LISTS: dict[str, Sequence[Column[Any]]] = {
    "/topics": topics.COLUMNS,
    "/subscriptions": subscriptions.COLUMNS,
    "/snapshots": snapshots.COLUMNS,
    "/schemas": schemas.COLUMNS,
}


def busy() -> Browser:
    """Return a console of a subscription that has failed, leased and acknowledged messages."""
    browser = Browser()
    store = browser.store
    browser.world.be_at(HOUR)
    store.delete_subscription("first")
    store.create_subscription("keeper", "letters")
    store.create_subscription("idle", "flights", filter="attributes:none")
    store.create_schema("states", "AVRO", AVRO)
    store.update_topic("letters", schema_settings=SchemaSettings("states", "JSON"))
    store.update_topic("letters", schema_settings=None)
    store.update_topic("flights", labels={"team": "maps"}, message_retention_duration=DAY)
    store.create_subscription(
        "late",
        "flights",
        labels={"team": "gates"},
        ack_deadline_seconds=600,
        message_retention_duration=8 * DAY,
        filter="attributes:carrier",
        dead_letter_policy=DeadLetterPolicy("letters", 5),
        enable_message_ordering=True,
        retain_acked_messages=True,
        enable_exactly_once_delivery=True,
    )
    browser.world.publish("poisoned", attributes={"carrier": "UA"})
    for _ in range(5):
        store.pull("late").nack()
    store.pull("late")
    browser.world.be_at(2 * HOUR)
    browser.world.publish(*"abcdefghi", attributes={"carrier": "UA"})
    store.pull("late", 3).ack()
    store.pull("late", 2)
    browser.world.be_at(2 * HOUR + MINUTE)
    store.create_snapshot("held", "late", labels={"release": "7"})
    return browser


def cells(html: str, name: str) -> dict[str, str]:
    """Return what the row of a resource shows, by the headings of its columns."""
    (row,) = [each for each in re.findall(r"<tr>.*?</tr>", html, re.DOTALL) if f">{name}<" in each]
    found = re.findall(r'<td[^>]*data-label="([^"]*)"[^>]*>(.*?)</td>', row, re.DOTALL)
    return {label: words(cell) for label, cell in found}


def all_columns(at: str) -> str:
    return f"{at}?" + "&".join(f"columns={each.name}" for each in LISTS[at])


def test_each_column_of_subscriptions_shows_its_own_figure() -> None:
    shown = cells(eventually(busy(), all_columns("/subscriptions"), "gates"), "late")
    del shown["Acked"]  # a rate of two measurements
    assert shown == {
        "Topic": "flights",
        "Backlog": "6",
        "Oldest": "1 min",
        "Leased": "2",
        "Dead-lettered": "1",
        "Acked, ever": "3",
        "Last used": "2026-01-01 02:00:00 UTC",
        "Delivery": "Pull",
        "Ack deadline": "600 s",
        "Retention": "8 d",
        "Filter": "attributes:carrier",
        "Features": "retains acked ordering exactly-once dead letters",
        "Labels": "team : gates",
        "Created": "2026-01-01 01:00:00 UTC",
    }


def test_each_column_of_topics_shows_its_own_figure() -> None:
    browser = busy()
    shown = cells(eventually(browser, all_columns("/topics"), "UTC"), "flights")
    size = shown.pop("Size on disk")
    assert re.fullmatch(r"[\d.,]+ k?B", size)
    assert shown == {
        "Messages": "10",
        "Published": "0.9 /min",
        "Last publish": "2026-01-01 02:00:00 UTC",
        "Subscriptions": "2",
        "Message retention": "1 d",
        "Labels": "team : maps",
        "Created": "2026-01-01 00:00:00 UTC",
    }


def test_each_column_of_snapshots_and_schemas_shows_its_own_figure() -> None:
    browser = busy()
    snapshot, schema = browser.store.get_snapshot("held"), browser.store.get_schema("states")
    assert cells(browser.get(all_columns("/snapshots")).text, "held") == {
        "Topic": "flights",
        "Created": f"{snapshot.create_time:%Y-%m-%d %H:%M:%S} UTC",
        "Expires": "in 6 d 23 h",
        "Labels": "release : 7",
    }
    assert cells(browser.get(all_columns("/schemas")).text, "states") == {
        "Type": "Avro",
        "Newest revision": schema.revision_id,
        "Committed": "2026-01-01 01:00:00 UTC",
        "Topics": "0",
    }


NUMBERS = [
    (at, each.name)
    for at, columns in LISTS.items()
    for each in columns
    if each.is_number and at in ("/topics", "/subscriptions")
]


@pytest.mark.parametrize(("at", "column"), NUMBERS)
def test_a_list_that_is_sorted_by_a_number_begins_with_the_largest(at: str, column: str) -> None:
    """The others have less, or none; the oldest message is the dead letter of "keeper"."""
    browser = busy()
    eventually(browser, all_columns(at), "gates" if at == "/subscriptions" else "UTC")
    order = ids(browser.get(at, params={"sort": column}).text)
    largest = "late" if at == "/subscriptions" else "flights"
    if column != "rate":
        assert order[0] == ("keeper" if column == "age" else largest)
    again = ids(browser.get(at, params={"sort": column, "reverse": "on"}).text)
    assert sorted(again) == sorted(order)
