"""A page asks before it deletes, and what a deletion leaves is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.errors import DataLoss
from tests.unit.browsing import Browser, form_from_pairs, words

DAMAGED = "a file of it is missing or damaged; restore it from a copy"


@pytest.mark.parametrize(
    ("at", "measure", "listing"),
    [
        ("/subscriptions/first", "subscription_metrics", "list_subscriptions"),
        ("/snapshots/before", "metrics", "list_snapshots"),
        ("/topics/flights", "messages_by_day", "list_topics"),
    ],
)
def test_what_is_damaged_can_be_deleted(
    at: str, measure: str, listing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The page says how many messages go": it says why not, and the library deletes such ones."""
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    before = len(getattr(browser.store, listing)())

    def damaged(*_: Any, **__: Any) -> Any:
        raise DataLoss(DAMAGED)

    monkeypatch.setattr(type(browser.store), measure, damaged)
    told = words(browser.get(f"{at}/delete").text)
    assert f"How many messages go with it is not known: {DAMAGED}." in told
    answer = browser.delete(at, name="another")
    assert "is not its ID" in words(answer.text)
    browser.delete(at)
    assert len(getattr(browser.store, listing)()) == before - 1


def test_the_snapshots_of_a_deleted_topic_are_replayed_to_its_subscriptions() -> None:
    """ "Any subscription of its topic can seek to it": the page of neither says that none can."""
    browser = Browser()
    store = browser.store
    store.create_topic("gates")
    store.create_subscription("of-gates", "gates")
    store.create_snapshot("others", "of-gates")
    browser.world.publish("a")
    store.create_snapshot("before", "first")
    browser.world.store.pull("first").ack()
    for topic in ("flights", "gates"):
        store.delete_topic(topic)
    assert "/subscriptions/first/replay?snapshot=before" in browser.get("/snapshots/before").text
    assert "of-gates" not in browser.get("/snapshots/before").text
    page = browser.get("/subscriptions/first/replay").text
    assert re.findall("<option[^>]*>([^<]*)", page) == ["Choose a snapshot", "before"]
    target = {"target": "snapshot", "snapshot": "before"}
    preview = browser.ask("/subscriptions/first/replay", target)
    form = form_from_pairs(preview.text, "/subscriptions/first/replay")
    done = browser.client.post(form.action, data=form.fields, headers=browser.sent_with_forms)
    assert "The messages were replayed." in words(done.text)
    assert browser.world.backlog() == {"a": "available"}
    store.detach_subscription("first")
    assert "no subscription that could seek" in words(browser.get("/snapshots/before").text)


def test_the_page_that_deletes_a_detached_subscription_promises_no_loss() -> None:
    browser = Browser()
    browser.world.publish("a")
    browser.store.detach_subscription("first")
    page = words(browser.get("/subscriptions/first/delete").text)
    assert "It has no backlog." in page
    assert "is lost" not in page
