"""Every page: a screenshot to look at, and what a machine can see of barriers and of time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from pubsub_delta import ManualClock, PubSub
from pubsub_delta.console.security import ConsoleAccess
from tests.console.conftest import LONG, Served

pytestmark = pytest.mark.console

SCREENS = Path(os.environ.get("SCREENS", "console-screens"))
"""Where the screenshots are left."""
PAGES = {
    "overview": "/",
    "topics": "/topics",
    "topic-new": "/topics/_new",
    "topic": "/topics/flights",
    "topic-messages": "/topics/flights/messages",
    "topic-details": "/topics/flights/details",
    "topic-edit": "/topics/flights/edit",
    "topic-delete": "/topics/flights/delete",
    "publish": "/topics/flights/publish",
    "publish-copy": "/topics/us-states/publish?copy_of=topics/us-states/1",
    "subscriptions": "/subscriptions",
    "subscription-new": "/subscriptions/_new",
    "subscription": "/subscriptions/departures-board",
    "subscription-edit": "/subscriptions/departures-board/edit",
    "subscription-details": "/subscriptions/departures-board/details",
    "subscription-delete": "/subscriptions/departures-board/delete",
    "messages": "/subscriptions/departures-board/messages",
    "pull": "/subscriptions/departures-board/pull",
    "replay": "/subscriptions/departures-board/replay",
    "snapshots": "/snapshots",
    "snapshot-new": "/snapshots/_new",
    "snapshot": "/snapshots/before-deploy",
    "snapshot-edit": "/snapshots/before-deploy/edit",
    "topic-empty": "/topics/weather",
    "schemas": "/schemas",
    "schema": "/schemas/states",
    "message-by-schema": "/topics/us-states/messages/1",
    "not-found": "/topics/absent",
}
TELLING = (
    "overview",
    "topic",
    "topics",
    "subscriptions",
    "subscription-new",
    "subscription",
    "messages",
    "replay",
    "schema",
    "message-by-schema",
)
"""Pages that have everything that the others have: these are looked at in every look."""
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "middle": {"viewport": {"width": 768, "height": 800}, "color_scheme": "light"},
    "narrow": {"viewport": {"width": 390, "height": 800}, "color_scheme": "light"},
    "narrow-dark": {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
}


def settled(page: Page) -> None:
    """Wait until no part of a page is still to come."""
    expect(page.locator(".later, .htmx-request")).to_have_count(0, timeout=60_000)


def test_the_steps_between_are_seen_too(chromium: Browser, served: Served) -> None:
    """A preview, a form with errors, what was pulled, and a message that is opened."""
    context = chromium.new_context(base_url=served.url, **LOOKS["light"])
    context.set_default_timeout(LONG)
    page = context.new_page()
    page.goto("/subscriptions/departures-board")
    settled(page)
    page.goto("/subscriptions/departures-board/replay?snapshot=before-deploy")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible(timeout=60_000)
    page.screenshot(path=SCREENS / "replay-preview-light.png", full_page=True)
    page.goto("/subscriptions/_new")
    page.get_by_label("Subscription ID").fill("x")
    page.get_by_label("Topic", exact=True).select_option("flights")
    page.get_by_text("More options").click()
    page.get_by_label("Acknowledgement deadline, in seconds").fill("3")
    page.get_by_label("Enable dead lettering").check()
    page.get_by_label("Dead-letter topic", exact=True).select_option("flights-dead-letters")
    expect(page.get_by_label("Create a subscription to it")).to_be_visible()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible(timeout=60_000)
    page.screenshot(path=SCREENS / "subscription-errors-light.png", full_page=True)
    page.goto("/subscriptions/archive/pull")
    page.get_by_label("Messages", exact=True).fill("3")
    page.get_by_role("button", name="Pull", exact=True).click()
    expect(page.get_by_text("messages are leased to you")).to_be_visible(timeout=60_000)
    page.locator("ul.found summary").first.click()
    expect(page.locator("ul.found .tree").first).to_be_visible()
    page.screenshot(path=SCREENS / "pulled-light.png", full_page=True)
    page.goto("/topics/flights/messages?text=4093")
    page.locator("ul.found summary").first.click()
    expect(page.locator("ul.found .tree").first).to_be_visible()
    page.screenshot(path=SCREENS / "found-light.png", full_page=True)
    context.close()


def test_every_page_is_seen_and_has_no_barrier(chromium: Browser, served: Served) -> None:
    """Labels, contrast, light and dark, narrow and wide; nothing wider than the screen."""
    problems = []
    for look, settings in LOOKS.items():
        context = chromium.new_context(base_url=served.url, **settings)
        context.set_default_timeout(LONG)
        page = context.new_page()
        for name in PAGES if look == "light" else TELLING:
            page.goto(PAGES[name])
            settled(page)
            page.screenshot(path=SCREENS / f"{name}-{look}.png", full_page=True)
            found = Axe().run(page).response["violations"]
            problems += [f"{name}, {look}: {v['id']}: {v['nodes'][0]['html']}" for v in found]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                problems.append(f"{name}, {look}: wider than the screen")
        context.close()
    assert not problems, "\n".join(problems)


def test_the_pages_of_an_empty_store_fit_a_telephone(
    chromium: Browser, clock: ManualClock, tmp_path: Path
) -> None:
    empty = PubSub(None, str(tmp_path / "store"), clock=clock)
    with Served(empty, clock, ConsoleAccess("127.0.0.1")) as running:
        context = chromium.new_context(base_url=running.url, **LOOKS["narrow"])
        context.set_default_timeout(LONG)
        page = context.new_page()
        for path in ("/", "/topics", "/subscriptions", "/snapshots", "/schemas"):
            page.goto(path)
            settled(page)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        context.close()
