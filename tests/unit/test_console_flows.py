"""The flows of reference/001–003 that say "Console", click by click, on a store in memory.

The library's own look at the state ends each of them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.errors import AlreadyExists, NotFound
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    NoWrapper,
    OidcToken,
    RetryPolicy,
)
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import HOUR, MINUTE, at

SEVEN_DAYS = timedelta(days=7)
DAYS = {"retention_days": "2", "retention_hours": "3", "retention_minutes": "4"}
TWO_THREE_FOUR = timedelta(days=2, hours=3, minutes=4)


def test_a_topic_is_created_with_message_retention() -> None:
    """Check the box for Set message retention duration; select days, hours, and minutes; create."""
    browser = Browser()
    answer = browser.post("/topics/_new", {"id": "news", "retain": "on", **DAYS})
    assert answer.url.path == "/topics/news"
    assert "The topic was created." in words(answer.text)
    assert browser.store.get_topic("news").message_retention_duration == TWO_THREE_FOUR


def test_a_topic_is_created_without_retention_unless_the_box_is_checked() -> None:
    """Message retention is off by default."""
    browser = Browser()
    browser.post("/topics/_new", {"id": "news"})
    assert browser.store.get_topic("news").message_retention_duration is None
    again = browser.post("/topics/_new", {"id": "news"})
    assert again.status_code == 400
    assert re.search(r'id="id-error">[^<]*exists already', again.text)  # at the field of the ID


def test_the_retention_of_a_topic_is_adjusted_disabled_and_enabled() -> None:
    """Adjust the retention time or enable/disable message retention; click Update."""
    browser = Browser()
    for sent, kept in (
        ({"retain": "on"}, SEVEN_DAYS),
        (DAYS, TWO_THREE_FOUR),
        ({"retain": None}, None),
    ):
        answer = browser.post("/topics/flights/edit", sent)
        assert "The topic was updated." in words(answer.text)
        assert browser.store.get_topic("flights").message_retention_duration == kept


def test_a_topic_is_deleted_after_a_question() -> None:
    browser = Browser()
    assert "cannot be undone" in browser.get("/topics/flights/delete").text
    assert browser.store.get_topic("flights")
    browser.delete("/topics/flights")
    with pytest.raises(NotFound):
        browser.store.get_topic("flights")
    assert browser.store.get_subscription("first").topic == "_deleted-topic_"
    assert browser.get("/subscriptions/first").status_code == 200


def test_a_message_is_published_with_attributes_and_key() -> None:
    browser = Browser()
    sent = {"data": "late\r\nby an hour", "attributes": "carrier=UA\ngate=", "ordering_key": "UA"}
    answer = browser.post("/topics/flights/publish", sent)
    assert "The message was published." in words(answer.text)
    (message,) = browser.store.peek("first")
    assert message.data == b"late\nby an hour"
    assert message.attributes == {"carrier": "UA", "gate": ""}
    assert message.ordering_key == "UA"


def test_bytes_are_published_as_base64() -> None:
    browser = Browser()
    browser.post("/topics/flights/publish", {"data": "/wA=\n", "is_base64": "on"})
    assert browser.store.peek("first")[0].data == b"\xff\x00"
    answer = browser.post("/topics/flights/publish", {"data": "ü", "is_base64": "on"})
    assert answer.status_code == 400
    assert "not Base64" in words(answer.text)
    assert len(browser.store.peek("first")) == 1


def test_a_subscription_is_created_with_retention_of_acked_messages() -> None:
    """Select days, hours, and minutes; check the box for Retain acknowledged messages; create."""
    browser = Browser()
    sent = {"id": "second", "topic": "flights", "retain_acked": "on", **DAYS}
    answer = browser.post("/subscriptions/_new", sent)
    assert answer.url.path == "/subscriptions/second"
    made = browser.store.get_subscription("second")
    assert made.retain_acked_messages
    assert made.message_retention_duration == TWO_THREE_FOUR
    assert (made.retry_policy, made.dead_letter_policy) == (None, None)
    assert made.expiration_policy == ExpirationPolicy("31d")


def test_a_subscription_is_created_with_exponential_backoff() -> None:
    """Select Retry after exponential backoff; the defaults are 10 and 600 seconds."""
    browser = Browser()
    sent = {"id": "second", "topic": "flights", "retry": "backoff"}
    browser.post("/subscriptions/_new", sent)
    assert browser.store.get_subscription("second").retry_policy == RetryPolicy("10s", "600s")
    sent = {**sent, "id": "third", "minimum_backoff": "0.5", "maximum_backoff": "60"}
    browser.post("/subscriptions/_new", sent)
    assert browser.store.get_subscription("third").retry_policy == RetryPolicy("0.5s", "60s")


def test_a_subscription_is_created_with_every_other_field() -> None:
    browser = Browser()
    sent = {
        "id": "second",
        "topic": "flights",
        "ack_deadline": "60",
        "expires": "never",
        "filter": 'attributes.carrier = "UA"',
        "ordering": "on",
        "exactly_once": "on",
        "labels": "team=gates\n\nempty=",
    }
    browser.post("/subscriptions/_new", sent)
    made = browser.store.get_subscription("second")
    assert made.ack_deadline_seconds == 60
    assert made.expiration_policy == ExpirationPolicy(None)
    assert made.filter == 'attributes.carrier = "UA"'
    assert made.enable_message_ordering
    assert made.enable_exactly_once_delivery
    assert made.labels == {"team": "gates", "empty": ""}


def test_the_delivery_type_of_a_subscription_is_selected() -> None:
    """Select a Delivery type."""
    browser = Browser()
    sent = {"id": "second", "topic": "flights", "delivery": "push", "push_endpoint": "http://a/b"}
    answer = browser.post("/subscriptions/_new", sent)
    made = browser.store.get_subscription("second").push_config
    assert made is not None
    assert (made.push_endpoint, made.no_wrapper) == ("http://a/b", None)
    assert answer.status_code == 200
    assert "Push to http://a/b" in words(browser.get("/subscriptions/second/details").text)
    browser.post("/subscriptions/second/edit", {"unwrapped": "on", "write_metadata": "on"})
    changed = browser.store.get_subscription("second").push_config
    assert changed is not None
    assert changed.no_wrapper == NoWrapper(write_metadata=True)
    signed = {"push_account": "push@example.com", "push_audience": "receivers"}
    browser.post("/subscriptions/second/edit", signed)
    browser.post("/subscriptions/second/edit", {"ack_deadline": "20"})  # it is kept
    changed = browser.store.get_subscription("second").push_config
    assert changed is not None
    assert changed.oidc_token == OidcToken("push@example.com", "receivers")
    wrong = browser.post("/subscriptions/second/edit", {"push_account": "push"})
    assert "is not an address" in words(wrong.text)
    browser.post("/subscriptions/second/edit", {"delivery": "pull"})
    assert browser.store.get_subscription("second").push_config is None


def test_the_topic_of_a_subscription_is_chosen_or_created() -> None:
    """Choose or create a topic from the drop-down menu."""
    browser = Browser()
    sent = {"id": "second", "topic": "+", "new_topic": "news"}
    browser.post("/subscriptions/_new", sent)
    assert browser.store.get_subscription("second").topic == "projects/local/topics/news"


LETTERS: dict[str, Any] = {"dead_letter": "on", "dead_letter_topic": "letters"}


def test_a_subscription_is_created_with_a_dead_letter_topic_and_its_subscription() -> None:
    """If the chosen dead-letter topic does not have a subscription, create one when prompted."""
    browser = Browser()
    prompt = browser.get("/dead-letter-topics/check?dead_letter_topic=letters").text
    assert "letters has no subscription" in words(prompt)
    sent = {
        "id": "second",
        "topic": "flights",
        **LETTERS,
        "max_delivery_attempts": "7",
        "create_dead_letter_subscription": "on",
        "dead_letter_subscription_id": "kept",
    }
    answer = browser.post("/subscriptions/_new", sent)
    policy = browser.store.get_subscription("second").dead_letter_policy
    assert policy == DeadLetterPolicy("projects/local/topics/letters", 7)
    assert browser.store.get_subscription("kept").topic == "projects/local/topics/letters"
    assert "It has a subscription: kept." in words(answer.text)
    prompt = browser.get("/dead-letter-topics/check?dead_letter_topic=letters").text
    assert "has no subscription" not in words(prompt)


def test_a_dead_letter_topic_is_created_from_the_menu() -> None:
    browser = Browser()
    sent = {"dead_letter": "on", "dead_letter_topic": "+", "new_dead_letter_topic": "lost"}
    browser.post("/subscriptions/first/edit", sent)
    policy = browser.store.get_subscription("first").dead_letter_policy
    assert policy == DeadLetterPolicy("projects/local/topics/lost", 5)


def test_a_dead_letter_topic_may_be_of_another_project() -> None:
    browser = Browser()
    other = "projects/other/topics/lost"
    browser.store.create_topic(other)
    sent = {"dead_letter": "on", "dead_letter_topic": "/", "new_dead_letter_topic": other}
    answer = browser.post("/subscriptions/first/edit", sent)
    policy = browser.store.get_subscription("first").dead_letter_policy
    assert policy == DeadLetterPolicy(other, 5)
    assert answer.status_code == 200
    assert other in words(browser.get("/subscriptions/first/details").text)
    again = browser.post("/subscriptions/first/edit", {"ack_deadline": "20"})
    assert "The subscription was updated." in words(again.text)
    assert browser.store.get_subscription("first").dead_letter_policy == policy


def test_an_action_item_is_resolved_by_a_click() -> None:
    """The details panel shows possible action items; click one with an error icon to resolve it."""
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters"))
    assert "letters has no subscription" in words(browser.get("/subscriptions/first").text)
    answer = browser.post("/subscriptions/first", to="/dead-letter-subscription")
    assert "has no subscription" not in words(answer.text)
    assert "It has a subscription: letters-kept." in words(answer.text)
    assert browser.store.get_subscription("letters-kept").topic == "projects/local/topics/letters"


def test_dead_lettering_is_enabled_and_removed() -> None:
    """In the Dead lettering section, clear Enable dead lettering. Click Update."""
    browser = Browser()
    browser.post("/subscriptions/first/edit", {**LETTERS, "max_delivery_attempts": "100"})
    policy = browser.store.get_subscription("first").dead_letter_policy
    assert policy == DeadLetterPolicy("projects/local/topics/letters", 100)
    browser.post("/subscriptions/first/edit", {"dead_letter": None})
    assert browser.store.get_subscription("first").dead_letter_policy is None


def test_the_retention_of_a_subscription_is_updated() -> None:
    """Adjust the message retention duration, or enable/disable Retain acknowledged messages."""
    browser = Browser()
    browser.post("/subscriptions/first/edit", {**DAYS, "retain_acked": "on"})
    stored = browser.store.get_subscription("first")
    assert (stored.message_retention_duration, stored.retain_acked_messages) == (
        TWO_THREE_FOUR,
        True,
    )
    browser.post("/subscriptions/first/edit", {"retain_acked": None})
    assert not browser.store.get_subscription("first").retain_acked_messages


def test_a_subscription_is_deleted_after_a_question() -> None:
    browser = Browser()
    browser.delete("/subscriptions/first")
    with pytest.raises(NotFound):
        browser.store.get_subscription("first")


def preview(browser: Browser, sent: dict[str, Any]) -> str:
    """Ask for the preview of a replay, and go on to the seek; return the preview's words."""
    shown = browser.ask("/subscriptions/first/replay", sent, "/preview")
    assert shown.status_code == 200, words(shown.text)
    form = form_from_pairs(shown.text)
    done = browser.client.post(form.action, data=form.fields)
    assert "The messages were replayed." in words(done.text), words(done.text)
    return words(shown.text)


def test_messages_are_replayed_to_a_time() -> None:
    """Click Replay messages; seek to a point in time; select date and time; click Seek."""
    browser = Browser(retain_acked_messages=True)
    world = browser.world
    world.publish("a")
    world.be_at(HOUR)
    world.publish("b")
    world.ack("a", "b")
    world.publish("c")
    told = preview(browser, {"target": "time", "time_date": "2026-01-01", "time_time": "00:30:00"})
    assert "Become unacknowledged 1 " in told
    assert "Become acknowledged 0 " in told
    assert "1 → 2" in told
    assert world.backlog() == {"b": "available", "c": "available"}


def test_whether_acknowledged_messages_come_back_is_said_before_the_preview() -> None:
    """Pub/Sub: those that the subscription retains, and those that the topic's retention covers."""
    for of_subscription, of_topic in ((False, None), (True, None), (False, "1d"), (True, "1d")):
        browser = Browser(retain_acked_messages=of_subscription)
        browser.store.update_topic("flights", message_retention_duration=of_topic)
        told = words(browser.get("/subscriptions/first/replay").text)
        comes_back = of_subscription or of_topic is not None
        assert ("Acknowledged messages do not come back" in told) != comes_back


def test_a_seek_into_the_future_purges() -> None:
    browser = Browser()
    world = browser.world
    world.publish("a", "b")
    world.be_at(MINUTE)
    told = preview(browser, {"target": "time", "time_date": "2026-01-01", "time_time": "00:30"})
    assert "Become acknowledged 2 " in told
    assert "acknowledged as it comes" in told
    assert "Purge 2 messages, and everything for the next 29 min" in told
    assert world.backlog() == {}


def test_a_preview_changes_nothing() -> None:
    browser = Browser()
    browser.world.publish("a")
    before = browser.world.revision()
    sent = {"target": "time", "time_date": "2030-01-01", "time_time": "00:00"}
    answer = browser.ask("/subscriptions/first/replay", sent, "/preview")
    assert "Become acknowledged 1 " in words(answer.text)
    assert browser.world.revision() == before
    assert browser.world.backlog() == {"a": "available"}


def test_messages_are_replayed_to_a_snapshot() -> None:
    """Seek to a snapshot; select the snapshot; click Seek."""
    browser = Browser()
    world = browser.world
    world.publish("a", "b")
    browser.store.create_snapshot("before", "first")
    world.ack("a", "b")
    assert world.backlog() == {}
    told = preview(browser, {"target": "snapshot", "snapshot": "before"})
    assert "Become unacknowledged 2 " in told
    assert world.backlog() == {"a": "available", "b": "available"}


def test_a_snapshot_is_created_from_its_page_and_from_the_subscription() -> None:
    """Click Create snapshot; select a subscription; enter a name; click Create."""
    browser = Browser()
    browser.world.publish("a")
    answer = browser.post("/snapshots/_new", {"subscription": "first", "id": "before"})
    assert answer.url.path == "/snapshots/before"
    assert browser.store.get_snapshot("before").topic == "projects/local/topics/flights"
    assert "/snapshots/_new?subscription=first" in browser.get("/subscriptions/first").text
    form = form_from_pairs(browser.get("/snapshots/_new?subscription=first").text)
    assert form.fields["subscription"] == "first"


def test_the_expiry_and_the_labels_of_a_snapshot_are_changed() -> None:
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    sent = {"expire_date": "2026-01-03", "expire_time": "04:05:06", "labels": "why=deploy"}
    browser.post("/snapshots/before/edit", sent)
    stored = browser.store.get_snapshot("before")
    assert stored.expire_time == at(2 * 24 * HOUR + 4 * HOUR + 5 * MINUTE + 6)
    assert stored.labels == {"why": "deploy"}


def test_a_snapshot_is_deleted_after_a_question() -> None:
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    browser.delete("/snapshots/before")
    assert not browser.store.list_snapshots()


def test_a_topic_to_which_dead_letters_go_is_not_offered_for_deletion() -> None:
    """Deleting a dead-letter topic says who forwards to it."""
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters"))
    page = browser.get("/topics/letters/delete")
    assert "These subscriptions forward their dead letters to it" in words(page.text)
    assert 'href="/subscriptions/first/edit"' in page.text
    assert 'method="post"' not in page.text


def test_a_deletion_says_how_many_messages_go_and_asks_for_the_name() -> None:
    browser = Browser()
    browser.world.publish("a", "b")
    assert "2 unacknowledged messages are in it" in words(
        browser.get("/subscriptions/first/delete").text
    )
    answer = browser.delete("/subscriptions/first", name="firs")
    assert answer.status_code == 400
    assert "'firs' is not its ID; type first" in words(answer.text)
    assert browser.store.get_subscription("first")
    assert "The 2 messages that it stores go" in words(browser.get("/topics/flights/delete").text)
    for number, rest in ((5, "."), (6, ", and others.")):
        for each in range(1, number):
            with suppress(AlreadyExists):
                browser.store.create_subscription(f"other-{each}", "flights")
        page = words(browser.get("/topics/flights/delete").text)
        assert f"subscriptions ({number}) stay" in page
        assert f"first, other-1, other-2, other-3, other-4{rest}" in page


def test_what_was_done_is_said_once() -> None:
    """Success notes do not come back when a page is loaded again."""
    browser = Browser()
    answer = browser.post("/topics/_new", {"id": "news"})
    assert "The topic was created." in words(answer.text)
    assert "The topic was created." not in words(browser.get(str(answer.url)).text)
