"""Pages of the console whose resource was deleted and created again: they change nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console import message_page, responses
from pubsub_delta.console.resource_changes import EDIT_CONFLICT
from pubsub_delta.errors import Unavailable
from pubsub_delta.operations import administer, seek, snapshot
from pubsub_delta.resources import Message
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.test_races import once

Again = Callable[[Browser], None]


def topic_again(browser: Browser) -> None:
    browser.store.delete_topic("flights")
    browser.store.create_topic("flights")


def subscription_again(browser: Browser) -> None:
    browser.store.delete_subscription("first")
    browser.store.create_subscription("first", "flights")


def snapshot_again(browser: Browser) -> None:
    browser.store.delete_snapshot("before")
    browser.store.create_snapshot("before", "first")


PAGES = {
    "/topics/flights": topic_again,
    "/subscriptions/first": subscription_again,
    "/snapshots/before": snapshot_again,
}
EACH = pytest.mark.parametrize(("at", "again"), PAGES.items(), ids=list(PAGES))
OPERATIONS = {
    "/topics/flights": (administer, "delete_topic"),
    "/subscriptions/first": (administer, "delete_subscription"),
    "/snapshots/before": (snapshot, "delete_snapshot"),
}


@pytest.fixture
def browser() -> Browser:
    made = Browser()
    made.store.publish("flights", [Message(b"a0"), Message(b"a1")])
    made.store.create_snapshot("before", "first")
    return made


def send(browser: Browser, page: str, to: str, **fields: str) -> Any:
    """Send the form of a page that was loaded earlier."""
    form = form_from_pairs(page, to)
    sent = {**form.fields, **fields}
    return browser.client.post(form.action, data=sent, headers=browser.sent_with_forms)


def names(browser: Browser) -> list[str]:
    store = browser.store
    found = [each.name for each in store.list_topics()]
    found += [each.name for each in store.list_subscriptions()]
    return found + [each.name for each in store.list_snapshots()]


@EACH
def test_what_was_created_again_is_not_deleted_by_an_earlier_page(
    browser: Browser, at: str, again: Again
) -> None:
    """ "A form remembers what it showed": this one has shown what is gone."""
    page = browser.get(f"{at}/delete").text
    again(browser)
    before = names(browser)
    name = at.rsplit("/", 1)[1]
    answer = send(browser, page, "/delete", name=name)
    assert answer.status_code == 409
    assert "Nothing was deleted" in words(answer.text)
    assert names(browser) == before
    assert send(browser, answer.text, "/delete", name=name).status_code == 200
    assert names(browser) == [each for each in before if not each.endswith(f"/{name}")]


@EACH
def test_what_is_created_again_at_that_moment_is_not_deleted(
    browser: Browser, at: str, again: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The same happens to the slower one of two who write in the same second"."""
    module, verb = OPERATIONS[at]
    real, left, go_on = getattr(module, verb), [again], threading.Event()

    def crossed(*args: Any) -> None:
        assert go_on.wait(60)
        for each in [left.pop()] if left else []:
            each(browser)
        real(*args)

    before = names(browser)
    monkeypatch.setattr(module, verb, crossed)
    monkeypatch.setattr(responses, "WAIT_SECONDS", 0)
    at_work = browser.delete(at).url.path
    assert at_work.startswith("/jobs/")
    go_on.set()
    pauses = (threading.Event().wait(0.01) for _ in range(2_000))
    answer = next(each for _ in pauses if (each := browser.client.get(at_work)).status_code != 200)
    for page in (answer, browser.client.get(at_work)):  # the second one is requested again
        assert page.status_code == 409
        assert "Nothing was deleted" in words(page.text)
    assert names(browser) == before


@pytest.mark.parametrize("at", PAGES)
@pytest.mark.parametrize("verb", ["delete", "update"])
def test_what_is_changed_and_then_deleted_at_that_moment_is_told_by_the_first_error(
    browser: Browser, at: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of an error reads the resource again, which may be gone by then."""
    kind, name = at.split("/")[1][:-1], at.split("/")[2]
    module = snapshot if kind == "snapshot" else administer
    operation, store = f"{verb}_{kind}", browser.store
    real, left = getattr(module, operation), [1]

    def crossed(*args: Any) -> Any:
        if not left:
            return real(*args)
        left.pop()
        getattr(store, f"update_{kind}")(name, labels={"theirs": "1"})
        try:
            return real(*args)
        finally:
            getattr(store, f"delete_{kind}")(name)

    page = browser.get(f"{at}/{'edit' if verb == 'update' else 'delete'}").text
    monkeypatch.setattr(module, operation, crossed)
    fields = {"labels": "mine=1"} if verb == "update" else {"name": name}
    answer = send(browser, page, "/edit" if verb == "update" else "/delete", **fields)
    told = words(answer.text)
    assert "has changed since" in told
    assert "nothing was written" in told
    assert "does not exist" in told


def test_a_replay_that_fails_before_its_subscription_is_deleted_tells_why(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = preview(browser)

    def crossed(*_: Any) -> None:
        browser.store.delete_subscription("first")
        raise Unavailable("the disk is full")

    monkeypatch.setattr(seek, "seek", crossed)
    assert "the disk is full" in words(send(browser, page, "/replay").text)


@EACH
def test_an_edit_of_what_was_created_again_is_not_saved(
    browser: Browser, at: str, again: Again
) -> None:
    page = browser.get(f"{at}/edit").text
    again(browser)
    answer = send(browser, page, "/edit", labels="team=blue")
    assert answer.status_code == 409
    assert EDIT_CONFLICT[:20] in words(answer.text)


def preview(browser: Browser) -> str:
    asked = {"target": "snapshot", "snapshot": "before"}
    return browser.get("/subscriptions/first/replay/preview", params=asked).text


@pytest.mark.parametrize("again", [subscription_again, snapshot_again])
def test_a_replay_is_that_of_its_preview(browser: Browser, again: Again) -> None:
    browser.store.pull("first").ack()
    page = preview(browser)
    again(browser)
    answer = send(browser, page, "/replay")
    assert answer.status_code == 409
    assert "Nothing was replayed" in words(answer.text)
    assert not browser.store.pull("first").message_count


def test_a_subscription_that_is_created_again_at_that_moment_is_not_sought(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = preview(browser)
    real, left = seek.seek, [subscription_again]

    def crossed(*args: Any) -> None:
        for each in [left.pop()] if left else []:
            each(browser)
        real(*args)

    monkeypatch.setattr(seek, "seek", crossed)
    assert send(browser, page, "/replay").status_code == 409
    assert not browser.store.pull("first").message_count


def published_again(browser: Browser) -> list[bytes]:
    """Return what came to the topic after the messages that the test has published."""
    browser.store.create_subscription("reader", "flights")
    topic_again(browser)
    browser.store.create_subscription("second", "flights")
    browser.store.publish("flights", [Message(b"b0"), Message(b"b1")])
    return [each.data for each in browser.store.pull("second")]


@pytest.mark.parametrize("since", ["the list", "the question", "the message"])
def test_a_message_of_a_later_topic_is_not_published_in_the_place_of_another(
    browser: Browser, since: str
) -> None:
    """The page has shown a message of the earlier topic; the later one has its ID, too."""
    asked = form_from_pairs(browser.get("/topics/flights/messages/found").text, "again", "get")
    link = browser.get("/topics/flights/messages/0").text
    opened = link.split("publish-again?")[1].split('"')[0].replace("&amp;", "&")
    chosen = {"message_id": "0", **{k: v for k, v in asked.fields.items() if k == "of"}}
    question = browser.get("/topics/flights/publish-again", params=chosen).text
    assert published_again(browser) == [b"b0", b"b1"]
    if since == "the list":
        answer = browser.client.get("/topics/flights/publish-again", params=chosen)
    elif since == "the message":
        answer = browser.client.get(f"/topics/flights/publish-again?{opened}")
    else:
        answer = send(browser, question, "/publish-again")
    assert "search again" in words(answer.text)
    assert answer.status_code in (400, 404)
    assert len(list(browser.store.pull("second"))) == 0


def test_a_topic_that_is_created_again_while_its_message_is_shown_gets_nothing_of_it(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page leads on with the topic that it has read the message of."""
    once(monkeypatch, message_page, "dead_letter_of", lambda: published_again(browser), "after")
    link = browser.get("/topics/flights/messages/0").text
    opened = link.split("publish-again?")[1].split('"')[0].replace("&amp;", "&")
    answer = browser.client.get(f"/topics/flights/publish-again?{opened}")
    assert "search again" in words(answer.text)
