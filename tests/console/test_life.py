"""A console that is looked at for long: live, stopped and started, in two tabs, with much to find.

Each test ends with a look at the state through the library.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page, expect

from pubsub_delta import DeadLetterPolicy, ManualClock, Message, PubSub
from pubsub_delta.console.security import ConsoleAccess
from tests.console.conftest import LONG, POISONED, START, Served

pytestmark = pytest.mark.console


@pytest.fixture
def own(tmp_path: Path) -> tuple[PubSub, ManualClock]:
    """A store of one test's own, with a topic that has a subscription."""
    clock = ManualClock(START)
    store = PubSub(None, str(tmp_path / "store"), clock=clock)
    store.create_topic("orders", message_retention_duration="7d")
    store.create_subscription("billing", "orders")
    return store, clock


def opened(chromium: Browser, served: Served) -> Any:
    context = chromium.new_context(base_url=served.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(LONG)
    return context.new_page()


def test_a_newcomer_finds_the_poisoned_message_and_publishes_it_again(
    chromium: Browser, own: tuple[PubSub, ManualClock]
) -> None:
    """One poisoned message among 200,000, found and published again to its source by clicks."""
    store, clock = own
    store.create_topic("orders-dead-letters")
    store.create_subscription("letters", "orders-dead-letters")
    store.update_subscription("billing", dead_letter_policy=DeadLetterPolicy("orders-dead-letters"))
    store.publish("orders", [Message(POISONED, {"carrier": "UA"}, "UA-17")])
    for _ in range(6):
        batch = store.pull("billing")
        if batch.message_count:
            batch.nack()
        clock.advance(1)
    store.publish("orders-dead-letters", [b'{"flight": %d}' % n for n in range(200_000)])
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        page = opened(chromium, running)
        page.goto("/")
        page.get_by_role("link", name="Look at them").click()
        page.get_by_label("Data contains").fill("poisoned")
        page.get_by_role("button", name="Search").click()
        page.locator("ul.found summary").first.click()
        expect(page.get_by_text("5 deliveries on billing failed")).to_be_visible()
        page.get_by_role("link", name="Publish again to its source").click()
        expect(page.get_by_text("receives it as new: billing")).to_be_visible()
        page.get_by_role("button", name="Publish again").click()
        expect(page.get_by_role("status").filter(has_text="1 published again")).to_be_visible()
        page.context.close()
    (again,) = store.peek("billing")
    assert (again.data, again.attributes) == (POISONED, {"carrier": "UA"})


def test_figures_follow_what_happens_unless_live_is_off(
    chromium: Browser, own: tuple[PubSub, ManualClock]
) -> None:
    store, clock = own
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        page = opened(chromium, running)
        page.clock.install()
        page.goto("/subscriptions/billing")
        figure = page.locator(".figure").filter(has_text="Unacknowledged").first
        expect(figure).to_contain_text("0")
        store.publish("orders", [b"a", b"b", b"c"])
        page.clock.run_for(11_000)
        expect(figure).to_contain_text("3")
        page.get_by_role("button", name="Live").click()
        store.publish("orders", [b"d"])
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.clock.run_for(60_000)
        assert asked == []
        page.context.close()


def test_messages_that_come_are_put_above_the_list_without_closing_what_is_open(
    chromium: Browser, own: tuple[PubSub, ManualClock]
) -> None:
    store, clock = own
    store.publish("orders", [b"first late", b"on time"])
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        page = opened(chromium, running)
        page.clock.install()
        page.goto("/topics/orders/messages?text=late")
        page.locator("ul.found summary").first.click()
        expect(page.locator("ul.found .opened pre").first).to_be_visible()
        page.locator("ul.found input").first.check()
        store.publish("orders", [b"second late", b"on time too"])
        page.clock.run_for(11_000)
        expect(page.locator("ul.found code.line")).to_have_text(["second late", "first late"])
        expect(page.get_by_text("1 came since")).to_be_visible()
        expect(page.locator("ul.found input:checked")).to_have_count(1)
        expect(page.locator("ul.found > li").nth(1).locator("pre").first).to_be_visible()
        page.get_by_role("button", name="Choose all").click()
        expect(page.locator("ul.found input:checked")).to_have_count(2)
        page.context.close()


def test_a_message_is_repaired_in_a_copy(
    chromium: Browser, own: tuple[PubSub, ManualClock]
) -> None:
    store, clock = own
    store.publish("orders", [Message(b'{"total": "x"}\n', {"carrier": "UA"}, "UA-17")])
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        page = opened(chromium, running)
        page.goto("/subscriptions/billing/messages")
        page.locator("ul.found summary").first.click()
        page.get_by_role("link", name="Edit a copy").click()
        expect(page.get_by_label("Attributes: value 1")).to_have_value("UA")
        page.get_by_label("Data", exact=True).fill('{"total": 7}\n')
        page.get_by_role("button", name="Publish, then another like it").click()
        expect(page.get_by_label("Data", exact=True)).to_have_value('{"total": 7}\n')
        expect(page.get_by_role("status").filter(has_text="was published")).to_be_visible()
        page.context.close()
    old, new = store.peek("billing")
    assert (old.data, new.data) == (b'{"total": "x"}\n', b'{"total": 7}\n')
    assert (new.attributes, new.ordering_key) == ({"carrier": "UA"}, "UA-17")


def test_a_console_that_is_down_is_told_and_nothing_that_was_typed_is_lost(
    chromium: Browser, own: tuple[PubSub, ManualClock]
) -> None:
    """The console is stopped and started meanwhile: a banner, a retry, and the form as it was."""
    store, clock = own
    running = Served(store, clock, ConsoleAccess("127.0.0.1"))
    with running:
        page = opened(chromium, running)
        page.goto("/topics/_new")
        page.get_by_label("Topic ID").fill("typed-before")
        other = page.context.new_page()
        other.goto("/subscriptions/billing")
        expect(other.locator(".figure").first).to_be_visible()
    page.get_by_role("button", name="Create topic").click()
    banner = page.get_by_role("alert").filter(has_text="does not answer")
    expect(banner).to_contain_text("Nothing was sent")
    expect(page.get_by_label("Topic ID")).to_have_value("typed-before")
    other.get_by_role("button", name="By order of receipt").click()
    told = other.get_by_role("alert").filter(has_text="does not answer")
    expect(told).to_be_visible()
    with Served(store, clock, ConsoleAccess("127.0.0.1"), running.port):
        expect(banner).to_be_hidden()
        expect(told).to_be_hidden()
        expect(other.get_by_role("button", name="By order of receipt")).to_have_attribute(
            "aria-pressed", "true"
        )
        page.get_by_role("button", name="Create topic").click()
        expect(page.get_by_text("from before the console was restarted")).to_be_visible()
        expect(page.get_by_label("Topic ID")).to_have_value("typed-before")
        page.get_by_role("button", name="Create topic").click()
        expect(page.get_by_role("status").filter(has_text="was created")).to_be_visible()
        page.reload()
        expect(page.get_by_role("status").filter(has_text="was created")).to_have_count(0)
        page.context.close()
    assert store.get_topic("typed-before")


def test_a_drag_looks_closer_and_a_click_chooses_the_time_of_a_replay(
    chromium: Browser, own: tuple[PubSub, ManualClock]
) -> None:
    store, clock = own
    for _ in range(4):
        store.publish("orders", [b"x"] * 10)
        clock.advance(3_600)
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        page = opened(chromium, running)
        page.goto("/subscriptions/billing")
        expect(page.locator(".available .block")).to_have_count(4)
        track = page.locator(".available .track").bounding_box()
        assert track is not None
        middle = track["y"] + track["height"] / 2
        page.mouse.move(track["x"] + 0.1 * track["width"], middle)
        page.mouse.down()
        page.mouse.move(track["x"] + 0.4 * track["width"], middle, steps=5)
        page.mouse.up()
        expect(page.get_by_role("button", name="Show all")).to_be_visible()
        expect(page.locator(".available .block")).to_have_count(1)
        page.get_by_role("button", name="Show all").click()
        expect(page.locator(".available .block")).to_have_count(4)
        page.mouse.click(track["x"] + 0.5 * track["width"], middle)
        expect(page.get_by_label("Time, UTC")).to_have_value("08:00:00")
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("button", name="Purge 20 messages")).to_be_visible()
        page.context.close()
    assert len(store.peek("billing", 100)) == 40, "a preview changes nothing"


def test_a_lease_is_counted_down_and_kept_longer(
    chromium: Browser, own: tuple[PubSub, ManualClock]
) -> None:
    store, clock = own
    store.publish("orders", [b"a"])
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        page = opened(chromium, running)
        page.goto("/subscriptions/billing/pull")
        page.get_by_role("button", name="Pull", exact=True).click()
        expect(page.locator(".countdown")).to_have_text("8 s are left")
        page.get_by_role("button", name="Keep 60 s longer").click()
        expect(page.locator(".countdown")).to_have_text("68 s are left")
        page.context.close()
    clock.advance(69)
    assert store.pull("billing").message_count == 0


def test_local_time_stands_beside_utc(chromium: Browser, own: tuple[PubSub, ManualClock]) -> None:
    store, clock = own
    with Served(store, clock, ConsoleAccess("127.0.0.1")) as running:
        context = chromium.new_context(base_url=running.url, timezone_id="Asia/Tokyo",
                                       locale="en-GB")  # fmt: skip
        page = context.new_page()
        page.goto("/topics/orders/details")
        expect(page.get_by_text("2026-03-02 06:00:00 UTC").first).to_be_visible()
        expect(page.locator(".local").first).to_contain_text("15:00:00 here")
        page.goto("/subscriptions/billing/replay?at=1772431200000000")
        expect(page.locator("fieldset#time")).to_contain_text("15:00:00 in Asia/Tokyo")
        context.close()


def test_the_chart_and_the_search_work_by_keyboard(page: Page, store: PubSub) -> None:
    page.goto("/subscriptions/departures-board")
    expect(page.locator(".available .block").first).to_be_visible()
    page.get_by_role("button", name="By order of receipt").focus()
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="By order of receipt")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    page.goto("/topics/flights/messages?text=4093")
    page.locator("ul.found summary").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("ul.found .tree").first).to_be_visible()
    assert store.get_topic("flights")
