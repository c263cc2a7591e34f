"""Pages of the console that are seldom asked for, and what seldom happens while they are made."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console import flash, lists
from pubsub_delta.console.context import Console
from pubsub_delta.console.flash import Flash, FlashMessages
from pubsub_delta.console.message_data import schema_view
from pubsub_delta.console.message_search import summary
from pubsub_delta.errors import Unavailable
from pubsub_delta.resources import PushConfig
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.test_console_searches import LONG, Endless


def test_a_search_is_stopped_by_its_page() -> None:
    """ "Stop" ends a search that reads a topic: a page that goes on would keep its server busy."""
    browser, endless = Browser(), Endless()
    running_in: Any = browser.app.app
    console: Console = running_in.state.console
    at = "/topics/flights/messages"
    running = console.searches.start(cast("Any", endless), at, "text=late")
    at_page = f"/searches/{running.id}"
    form = form_from_pairs(browser.get(at_page).text, f"{at_page}/stop")
    endless.look()
    by_htmx = {**browser.sent_with_forms, "HX-Request": "true"}
    answer = browser.client.post(form.action, data=form.fields, headers=by_htmx)
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert running.was_stopped
    assert endless.ended.wait(LONG)
    again = browser.client.post(form.action, data=form.fields, headers=browser.sent_with_forms)
    assert again.url.path == at_page


def test_a_list_has_the_resources_of_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_PAGE", 2)
    browser = Browser()
    names = [f"of-many-{n}" for n in range(7)]
    for name in names:
        browser.store.create_topic(name)
    page = words(browser.get("/topics").text)
    assert [name for name in names if name not in page] == []


def test_a_push_subscription_is_listed_as_one() -> None:
    browser = Browser(push_config=PushConfig("https://example.com/push"))
    assert "first Push" in words(browser.get("/subscriptions?columns=id&columns=delivery").text)


def test_the_page_that_deletes_a_detached_subscription_promises_no_loss() -> None:
    browser = Browser()
    browser.world.publish("a")
    browser.store.detach_subscription("first")
    page = words(browser.get("/subscriptions/first/delete").text)
    assert "It has no backlog." in page
    assert "is lost" not in page


def test_messages_that_could_not_be_answered_are_still_on_their_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who was told nothing would take them for acknowledged."""
    browser = Browser()
    browser.world.publish("a")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)

    def away(*_: Any, **__: Any) -> Any:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(browser.store, "acknowledge", away)
        (ack_id,) = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
        sent = {**form.fields, "ack_id": ack_id, "verb": "ack"}
        told = browser.client.post(form.action, data=sent, headers=browser.sent_with_forms)
    assert "the disk is full" in words(told.text)
    assert told.url.path == page.url.path
    again = browser.client.post(form.action, data=sent, headers=browser.sent_with_forms)
    assert "1 acknowledged" in words(again.text)


def test_who_is_signed_in_is_not_asked_for_the_token_again() -> None:
    browser = Browser()
    assert browser.get("/sign-in").url.path == "/"


def test_a_job_that_is_gone_is_told() -> None:
    assert Browser().client.get("/jobs/gone").status_code == 404
    assert Browser().client.get("/jobs/gone/progress").status_code == 404


def test_of_many_messages_that_no_page_has_shown_the_newest_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flash, "MOST", 3)
    kept = FlashMessages()
    keys = [kept.add(Flash("done")) for _ in range(5)]
    assert [kept.take(key) is not None for key in keys] == [False, False, True, True, True]


def test_fields_of_every_type_are_shown() -> None:
    """Maps are shown by their keys, lists by their places, and bytes as hexadecimal."""
    view = schema_view({"by": [("k", 1)], "list": [1, "x"], "raw": b"\x01\xff", "no": None}, "s")
    assert view.tree is not None
    found = {each.name: each for each in view.tree.parts}
    assert [(each.name, each.text) for each in found["by"].parts] == [("k", "1")]
    assert [each.text for each in found["list"].parts] == ["1", "x"]
    assert found["raw"].text == "01 ff"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (("ä" * 200).encode(), "ä" * 80),
        (b"x" + ("ä" * 200).encode(), "x" + "ä" * 79),
        (b"\xff" * 60, " ".join(["ff"] * 48)),
        (b"ok \xff", "ok"),
    ],
)
def test_a_row_shows_the_beginning_of_texts_and_bytes(data: bytes, line: str) -> None:
    """A character that the cut divides makes no bytes of a text."""
    message: Any = type("Found", (), {"data": data})()
    assert summary(message)["line"] == line
