"""Dead letters that the console publishes again: to their source, and to no later one."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console.dead_letters import suggested_id
from pubsub_delta.errors import Unavailable
from pubsub_delta.names import subscription_name
from pubsub_delta.resources import Message
from pubsub_delta.tables.messages import commits
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import HOUR, MINUTE
from tests.unit.test_console_messages import failing
from tests.unit.test_races import once


def test_the_id_that_is_suggested_for_a_subscription_is_accepted() -> None:
    """Pub/Sub: an id has "between 3 and 255 characters", and so may that of the topic."""
    for topic in ("letters", "projects/other/topics/letters", "l" * 255):
        suggested = suggested_id(topic)
        assert subscription_name(suggested, "local").id == suggested


def source_anew(browser: Browser) -> None:
    """Delete the source of a dead letter, and create another subscription of its name."""
    browser.store.delete_subscription("first")
    browser.store.create_topic("others")
    browser.store.create_subscription("first", "others")


@pytest.mark.parametrize("log", ["is whole", "is forgotten"])
def test_a_dead_letter_does_not_go_to_a_later_subscription_of_its_sources_name(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A subscription that is created anew under a name is another one."""
    browser = failing()
    (letter,) = browser.store.peek("kept")
    asked = f"/subscriptions/kept/publish-again?message_id={letter.message_id}"
    page = browser.get(asked).text
    assert "1 to flights" in words(page)
    source_anew(browser)
    if log == "is forgotten":
        monkeypatch.setattr(commits, "_FEW", 0)
    form = form_from_pairs(page, "/publish-again")
    answer = browser.client.post(form.action, data=form.fields, headers=browser.sent_with_forms)
    assert answer.status_code == 400
    assert "no chosen message has a topic that exists" in words(answer.text)
    assert browser.store.peek("first") == []
    assert "has no topic to go to any more" in words(browser.get(asked).text)
    shown = words(browser.get(f"/subscriptions/kept/messages/{letter.message_id}").text)
    assert "Its source is not there any more" in shown


def test_the_source_of_a_dead_letter_is_known_however_clocks_are_apart() -> None:
    browser = failing()
    (letter,) = browser.store.peek("kept")
    browser.world.be_at(-MINUTE)  # the clock of whoever creates the later one is behind
    source_anew(browser)
    browser.world.be_at(HOUR)
    page = browser.get(f"/subscriptions/kept/publish-again?message_id={letter.message_id}")
    assert "has no topic to go to any more" in words(page.text)


def test_a_source_whose_topic_is_created_anew_at_that_moment_gets_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = failing()
    (letter,) = browser.store.peek("kept")

    def again() -> None:
        browser.store.delete_topic("flights")
        browser.store.create_topic("flights")
        browser.store.create_subscription("second", "flights")

    asked = f"/subscriptions/kept/publish-again?message_id={letter.message_id}"
    form = form_from_pairs(browser.get(asked).text, "/publish-again")
    once(monkeypatch, type(browser.store), "publish", again, "before")
    answer = browser.client.post(form.action, data=form.fields, headers=browser.sent_with_forms)
    assert answer.status_code == 400
    assert "nothing was written" in words(answer.text)
    assert browser.store.peek("second") == []


def test_what_was_published_again_is_told_though_the_rest_was_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who sees only an error would publish it twice."""
    browser = failing()
    browser.store.publish("letters", [Message(b"own")])
    of_topic = {each.message_id: each.data for each in browser.store.peek("kept")}
    ids = "&".join(f"message_id={each}" for each in of_topic)
    asked = f"/subscriptions/kept/publish-again?{ids}"
    form = form_from_pairs(browser.get(asked).text, "/publish-again")
    publish, left = type(browser.store).publish, ["one"]

    def full(*args: Any, **named: Any) -> Any:
        if not left:
            raise Unavailable("the disk is full")
        left.pop()
        return publish(*args, **named)

    monkeypatch.setattr(type(browser.store), "publish", full)
    sent = {**form.fields, "message_id": list(of_topic)}
    answer = browser.client.post(form.action, data=sent, headers=browser.sent_with_forms)
    told = words(answer.text)
    assert "1 published again to" in told
    assert "1 not published to" in told
    assert "the disk is full" in told
