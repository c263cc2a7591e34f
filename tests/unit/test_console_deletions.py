"""A page asks before it deletes, also where what goes cannot be counted."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.errors import DataLoss
from tests.unit.browsing import Browser, words

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
