"""The flows of reference/001–003 that say "Console", clicked through in Chromium.

Each of them ends with a look at the state through the library.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Page, expect

from pubsub_delta import DeadLetterPolicy, ManualClock, NotFound, PubSub, RetryPolicy

pytestmark = pytest.mark.console

_numbers = count(1)
TWO_THREE_FOUR = timedelta(days=2, hours=3, minutes=4)


@pytest.fixture
def pair(store: PubSub) -> tuple[str, str]:
    """A topic and a subscription of its own, for one test."""
    number = next(_numbers)
    store.create_topic(f"topic-{number}")
    store.create_subscription(f"reader-{number}", f"topic-{number}")
    return f"topic-{number}", f"reader-{number}"


def states(store: PubSub, subscription: str) -> dict[str, str]:
    return {each.data.decode(): each.state for each in store.peek(subscription, 100)}


def choose_retention(page: Page) -> None:
    for unit, number in (("Days", "2"), ("Hours", "3"), ("Minutes", "4")):
        page.get_by_label(unit, exact=True).first.select_option(number)


def click(page: Page, name: str, role: Any = "button") -> None:
    page.get_by_role(role, name=name, exact=True).first.click()


def shows_more_options(page: Page) -> None:
    if page.locator("details.more[open]").count() == 0:
        page.get_by_text("More options").click()


def done(page: Page, text: str) -> None:
    """Wait until a page says that something was done; a slow commit has a page of progress."""
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible(timeout=60_000)


def test_create_a_topic_with_message_retention(page: Page, store: PubSub) -> None:
    """001: Create topic, Topic ID, Set message retention duration, days hours minutes, Create."""
    page.goto("/topics")
    click(page, "Create topic", "link")
    page.get_by_label("Topic ID").fill("retained")
    expect(page.get_by_label("Days", exact=True)).to_be_hidden()
    page.get_by_label("Set message retention duration").check()
    choose_retention(page)
    click(page, "Create topic")
    done(page, "The topic was created.")
    assert store.get_topic("retained").message_retention_duration == TWO_THREE_FOUR


def test_update_and_disable_the_retention_of_a_topic(
    page: Page, store: PubSub, pair: tuple[str, str]
) -> None:
    """001: Select your topic, click Edit, adjust or uncheck Enable message retention, Update."""
    topic = pair[0]
    for is_on, kept in ((True, TWO_THREE_FOUR), (False, None)):
        page.goto("/topics")
        click(page, topic, "link")
        click(page, "Edit", "link")
        page.get_by_label("Enable message retention").set_checked(is_on)
        if is_on:
            choose_retention(page)
        click(page, "Update")
        done(page, "The topic was updated.")
        assert store.get_topic(topic).message_retention_duration == kept


def test_create_a_subscription_with_retention_of_acked_messages(
    page: Page, store: PubSub, pair: tuple[str, str]
) -> None:
    """001: Create subscription, Subscription ID, days, hours, minutes, Retain acked messages."""
    page.goto("/subscriptions")
    click(page, "Create subscription", "link")
    page.get_by_label("Subscription ID").fill(f"{pair[1]}-retaining")
    page.get_by_label("Topic", exact=True).select_option(pair[0])
    shows_more_options(page)
    choose_retention(page)
    page.get_by_label("Retain acknowledged messages").check()
    click(page, "Create")
    done(page, "The subscription was created.")
    made = store.get_subscription(f"{pair[1]}-retaining")
    assert made.message_retention_duration == TWO_THREE_FOUR
    assert made.retain_acked_messages


def test_update_the_retention_of_a_subscription(
    page: Page, store: PubSub, pair: tuple[str, str]
) -> None:
    """001: Select your subscription, click Edit, adjust the duration or the box, Update."""
    page.goto("/subscriptions")
    click(page, pair[1], "link")
    click(page, "Edit", "link")
    choose_retention(page)
    page.get_by_label("Retain acknowledged messages").check()
    click(page, "Update")
    done(page, "The subscription was updated.")
    stored = store.get_subscription(pair[1])
    assert stored.message_retention_duration == TWO_THREE_FOUR
    assert stored.retain_acked_messages


def test_create_a_subscription_with_exponential_backoff(
    page: Page, store: PubSub, pair: tuple[str, str]
) -> None:
    """002: Retry after exponential backoff; Minimum backoff and Maximum backoff; Create."""
    page.goto("/subscriptions/_new")
    page.get_by_label("Subscription ID").fill(f"{pair[1]}-patient")
    page.get_by_label("Topic", exact=True).select_option(pair[0])
    shows_more_options(page)
    expect(page.get_by_label("Minimum backoff, in seconds")).to_be_hidden()
    page.get_by_label("Retry after exponential backoff").check()
    expect(page.get_by_label("Minimum backoff, in seconds")).to_have_value("10")
    expect(page.get_by_label("Maximum backoff, in seconds")).to_have_value("600")
    page.get_by_label("Minimum backoff, in seconds").fill("30")
    click(page, "Create")
    done(page, "The subscription was created.")
    policy = store.get_subscription(f"{pair[1]}-patient").retry_policy
    assert policy == RetryPolicy("30s", "600s")


def test_create_a_subscription_with_a_new_dead_letter_topic(
    page: Page, store: PubSub, pair: tuple[str, str]
) -> None:
    """002: Enable dead lettering; choose or create a topic; it prompts for a subscription."""
    page.goto("/subscriptions/_new")
    page.get_by_label("Subscription ID").fill(f"{pair[1]}-careful")
    page.get_by_label("Topic", exact=True).select_option(pair[0])
    shows_more_options(page)
    page.get_by_label("Enable dead lettering").check()
    page.get_by_label("Dead-letter topic", exact=True).select_option("Create a topic…")
    page.locator("#new_dead_letter_topic").fill(f"{pair[0]}-lost")
    prompt = page.get_by_label("Create a subscription to it")
    prompt.check()
    expect(page.get_by_label("ID of that subscription")).to_have_value(f"{pair[0]}-lost-kept")
    page.get_by_label("Maximum delivery attempts").fill("7")
    click(page, "Create")
    done(page, "The subscription was created.")
    expect(page.get_by_role("img", name="To be done")).to_have_count(0)
    lost = f"projects/local/topics/{pair[0]}-lost"
    stored = store.get_subscription(f"{pair[1]}-careful")
    assert stored.dead_letter_policy == DeadLetterPolicy(lost, 7)
    assert store.get_subscription(f"{pair[0]}-lost-kept").topic == lost


def test_an_action_item_is_resolved_and_dead_lettering_removed(
    page: Page, store: PubSub, pair: tuple[str, str]
) -> None:
    """002: Edit, Enable dead lettering, Update; click the action item; Edit, clear it, Update."""
    store.create_topic(f"{pair[0]}-letters")
    page.goto(f"/subscriptions/{pair[1]}/edit")
    page.get_by_label("Enable dead lettering").check()
    page.get_by_label("Dead-letter topic", exact=True).select_option(f"{pair[0]}-letters")
    expect(page.get_by_label("Create a subscription to it")).to_be_visible()
    click(page, "Update")
    done(page, "The subscription was updated.")
    expect(page.get_by_role("img", name="To be done")).to_have_count(1)
    click(page, "Create it")
    done(page, "The dead-letter topic has a subscription now.")
    expect(page.get_by_role("img", name="To be done")).to_have_count(0)
    assert len(store.list_topic_subscriptions(f"{pair[0]}-letters")) == 1
    click(page, "Edit", "link")
    page.get_by_label("Enable dead lettering").uncheck()
    click(page, "Update")
    done(page, "The subscription was updated.")
    assert store.get_subscription(pair[1]).dead_letter_policy is None


def test_publish_peek_pull_and_acknowledge(
    page: Page, store: PubSub, pair: tuple[str, str]
) -> None:
    topic, reader = pair
    page.goto(f"/topics/{topic}")
    click(page, "Publish message", "link")
    page.get_by_label("Data", exact=True).fill("first")
    page.get_by_role("button", name="Add attribute").click()
    page.get_by_label("Attributes: key 1").fill("carrier")
    page.get_by_label("Attributes: value 1").fill("UA")
    click(page, "Publish")
    done(page, "The message was published.")
    store.publish(topic, [b"second"])
    page.goto(f"/subscriptions/{reader}/messages")
    expect(page.locator("ul.found > li").filter(has_text="available")).to_have_count(2)
    assert states(store, reader) == {"first": "available", "second": "available"}
    click(page, "Pull by hand", "link")
    click(page, "Pull")
    expect(page.get_by_text("2 messages are leased to you")).to_be_visible(timeout=60_000)
    assert states(store, reader) == {"first": "leased", "second": "leased"}
    expect(page.locator("ul.found :checked")).to_have_count(0)
    page.reload()
    expect(page.get_by_text("2 messages are leased to you")).to_be_visible()
    page.locator("ul.found > li").filter(has_text="first").get_by_role("checkbox").check()
    click(page, "Acknowledge chosen")
    done(page, "1 acknowledged.")
    expect(page.get_by_text("1 message is leased to you")).to_be_visible()
    assert states(store, reader) == {"second": "leased"}


def test_seek_to_a_time(
    page: Page, store: PubSub, clock: ManualClock, pair: tuple[str, str]
) -> None:
    """003: Replay messages; seek to a point in time; select date and time; Seek."""
    topic, reader = pair
    store.update_subscription(reader, retain_acked_messages=True)
    store.publish(topic, [b"a", b"b"])
    store.pull(reader).ack()
    assert states(store, reader) == {}
    page.goto("/subscriptions")
    click(page, reader, "link")
    click(page, "Replay", "link")
    page.get_by_label("To a point in time").check()
    earlier = clock.now() - timedelta(minutes=5)
    page.get_by_label("Date", exact=True).fill(f"{earlier:%Y-%m-%d}")
    page.get_by_label("Time, UTC").fill(f"{earlier:%H:%M:%S}")
    click(page, "Preview")
    expect(page.locator(".lanes")).to_have_count(2)
    told = page.locator(".figure").filter(has_text="Become unacknowledged")
    expect(told).to_contain_text("2", timeout=60_000)
    assert states(store, reader) == {}, "a preview changes nothing"
    click(page, "Seek")
    done(page, "The messages were replayed.")
    assert states(store, reader) == {"a": "available", "b": "available"}


def test_create_a_snapshot_and_seek_to_it(page: Page, store: PubSub, pair: tuple[str, str]) -> None:
    """003: Create snapshot, select a subscription, name, Create; Replay messages, to a snapshot."""
    topic, reader = pair
    store.publish(topic, [b"a", b"b", b"c"])
    page.goto("/snapshots")
    click(page, "Create snapshot", "link")
    page.get_by_label("Select a subscription").select_option(reader)
    page.get_by_label("Snapshot ID").fill(f"{reader}-before")
    click(page, "Create")
    done(page, "The snapshot was created.")
    store.pull(reader).ack()
    page.goto(f"/subscriptions/{reader}")
    click(page, "Replay", "link")
    page.get_by_label("To a snapshot").check()
    page.get_by_label("Snapshot", exact=True).select_option(f"{reader}-before")
    click(page, "Preview")
    told = page.locator(".figure").filter(has_text="Become unacknowledged")
    expect(told).to_contain_text("3", timeout=60_000)
    click(page, "Seek")
    done(page, "The messages were replayed.")
    assert set(states(store, reader).values()) == {"available"}
    assert len(states(store, reader)) == 3


@pytest.mark.parametrize("kind", ["topics", "subscriptions", "snapshots"])
def test_delete(page: Page, store: PubSub, pair: tuple[str, str], kind: str) -> None:
    names = {"topics": pair[0], "subscriptions": pair[1], "snapshots": f"{pair[1]}-snapshot"}
    store.create_snapshot(f"{pair[1]}-snapshot", pair[1])
    ask: Callable[[str], Any] = getattr(store, f"get_{kind[:-1]}")
    page.goto(f"/{kind}/{names[kind]}")
    click(page, "Delete", "link")
    click(page, "Cancel", "link")
    assert ask(names[kind])
    click(page, "Delete", "link")
    page.get_by_label("Type its ID to confirm").fill("another")
    click(page, "Delete")
    expect(page.get_by_role("alert")).to_contain_text("'another' is not its ID")
    page.get_by_label("Type its ID to confirm").fill(names[kind])
    click(page, "Delete")
    done(page, f"The {kind[:-1]} {names[kind]} was deleted.")
    with pytest.raises(NotFound):
        ask(names[kind])


def test_a_filter_is_checked_while_it_is_typed(page: Page) -> None:
    page.goto("/subscriptions/_new")
    shows_more_options(page)
    field = page.get_by_label("Subscription filter")
    told = page.locator("#filter-told")
    field.press_sequentially("attributes.lang = en")
    expect(told).to_contain_text("column 19")
    field.fill('attributes.lang = "en"')
    expect(told).to_contain_text("The filter can be read.")


def test_an_error_is_announced_at_its_field(page: Page, pair: tuple[str, str]) -> None:
    page.goto("/subscriptions/_new")
    page.get_by_label("Subscription ID").fill(pair[1])
    page.get_by_label("Topic", exact=True).select_option(pair[0])
    shows_more_options(page)
    page.get_by_role("button", name="Add label").click()
    page.get_by_label("Labels: key 1").fill("kept")
    page.get_by_label("Labels: value 1").fill("this")
    click(page, "Create")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("exists already", timeout=60_000)
    expect(page.get_by_label("Subscription ID")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Labels: value 1")).to_have_value("this")
    alert.get_by_role("link").click()
    assert page.url.endswith("#id")


def test_two_readers_edit_one_subscription(
    page: Page, store: PubSub, clock: ManualClock, pair: tuple[str, str]
) -> None:
    """A lost update is told, not overwritten."""
    page.goto(f"/subscriptions/{pair[1]}/edit")
    clock.advance(1)
    store.update_subscription(pair[1], ack_deadline_seconds=99)
    page.get_by_label("Acknowledgement deadline, in seconds").fill("33")
    click(page, "Update")
    expect(page.get_by_role("alert")).to_contain_text("99 s")
    assert store.get_subscription(pair[1]).ack_deadline_seconds == 99
    expect(page.get_by_label("Acknowledgement deadline, in seconds")).to_have_value("33")
    click(page, "Update")
    done(page, "The subscription was updated.")
    assert store.get_subscription(pair[1]).ack_deadline_seconds == 33


def test_a_page_works_by_keyboard_alone(page: Page, store: PubSub) -> None:
    """Works by keyboard: from the list to a topic that is created."""
    page.goto("/topics")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Create topic")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Topic ID")).to_be_focused()
    page.keyboard.type("by-keyboard")
    page.keyboard.press("Enter")
    done(page, "The topic was created.")
    assert store.get_topic("by-keyboard")
