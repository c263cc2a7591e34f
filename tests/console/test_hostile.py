"""Hostile contents in Chromium: nothing of them runs, hides, or leaves its place."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page, expect

from pubsub_delta import Message, PubSub
from pubsub_delta.console.security import ConsoleAccess
from tests.console.conftest import Served

pytestmark = pytest.mark.console

SCRIPT = "<script>alert('script')</script><img src=x onerror=alert('image')>"
QUOTES = "\"' onmouseover=alert('quote') x=\"'"
RTL = "abc\u202efdp.exe\u2066 שלום"
TEN_MB = 10_000_000 - 100


@pytest.fixture(scope="module")
def hostile(store: PubSub) -> str:
    """A subscription whose messages, labels and names are as bad as they may be."""
    store.create_topic("to.name~with+100%2Fodd", labels={SCRIPT[:60]: QUOTES[:60]})
    store.create_subscription("hostile", "to.name~with+100%2Fodd", labels={RTL: SCRIPT[:60]})
    messages = [Message(text.encode(), {text: text}, text) for text in (SCRIPT, QUOTES, RTL)]
    messages.append(Message(bytes(range(256))))
    messages.append(Message(b"x" * TEN_MB))
    store.publish("to.name~with+100%2Fodd", messages)
    return "hostile"


def test_nothing_of_a_message_runs(page: Page, hostile: str) -> None:
    """Hostile message contents (script, quotes, right-to-left, 10 MB) are shown harmlessly."""
    page.goto(f"/subscriptions/{hostile}/messages")
    rows = page.locator("ul.found > li")
    expect(rows).to_have_count(5)
    for row, text in zip(reversed(rows.all()), (SCRIPT, QUOTES), strict=False):
        row.locator("summary").first.click()
        expect(row.locator("pre").first).to_have_text(text)
        row.hover()
    rows.nth(2).locator("summary").first.click()
    expect(rows.nth(2).locator("pre").first).to_contain_text("abc\\u202efdp.exe\\u2066")
    rows.nth(1).locator("summary").first.click()
    expect(rows.nth(1)).to_contain_text("00000010  10 11 12 13")
    rows.nth(0).locator("summary").first.click()
    expect(rows.nth(0)).to_contain_text(f"The beginning of {TEN_MB:,} bytes")
    assert page.locator("main img, main script").count() == 0
    assert len(page.content()) < 120_000


def test_names_and_labels_stay_in_their_places(page: Page, hostile: str) -> None:
    page.goto(f"/subscriptions/{hostile}/details")
    page.get_by_role("link", name="to.name~with+100%2Fodd").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("to.name~with+100%2Fodd")
    page.get_by_role("link", name="Details").click()
    expect(page.get_by_text(SCRIPT[:60]).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_script_that_was_smuggled_in_would_not_run(chromium: Browser, served: Served) -> None:
    """The policy stands behind the escaping: a script in a page does nothing."""
    page = chromium.new_page()
    page.goto(f"{served.url}/topics")
    blocked = page.evaluate(
        """() => new Promise(resolve => {
            const told = event => resolve(event.effectiveDirective);
            document.addEventListener('securitypolicyviolation', told);
            const added = document.createElement('script');
            added.textContent = 'window.ran = true';
            document.body.append(added);
        })"""
    )
    assert blocked.startswith("script-src")
    assert page.evaluate("window.ran") is None
    page.close()


def test_a_page_of_another_origin_can_neither_read_nor_act(
    chromium: Browser, served: Served, store: PubSub
) -> None:
    """CSRF protection, seen from the attacker's page: localhost is another site than 127.0.0.1."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{served.url}/topics")
    page.goto(served.url.replace("127.0.0.1", "localhost") + "/sign-in")
    page.evaluate("document.querySelectorAll('meta').forEach(each => each.remove())")
    told = page.evaluate(
        """async url => {
            try { return (await fetch(url + '/topics', {credentials: 'include'})).status }
            catch (error) { return String(error) }
        }""",
        served.url,
    )
    assert "TypeError" in str(told)
    answer = context.request.post(
        f"{served.url}/topics/_new",
        form={"id": "forged"},
        headers={"Origin": "http://attacker.example"},
    )
    assert answer.status == 403
    assert "forged" not in {each.name.rsplit("/", 1)[1] for each in store.list_topics()}
    context.close()


def test_signing_in_with_a_token(chromium: Browser, served: Served) -> None:
    with Served(
        served.store, served.clock, ConsoleAccess("127.0.0.1", "a-token-of-some-length")
    ) as closed:
        context = chromium.new_context(base_url=closed.url)
        page = context.new_page()
        page.goto("/topics/flights")
        expect(page).to_have_url(f"{closed.url}/sign-in")
        page.get_by_label("Token of this console").fill("a-token-of-some-length")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page).to_have_url(f"{closed.url}/sign-in")
        page.goto("/topics")
        expect(page).to_have_url(f"{closed.url}/sign-in")
        context.close()


def test_a_link_on_another_site_leads_a_reader_to_the_page(
    chromium: Browser, served: Served
) -> None:
    """RFC 6265bis: a browser keeps a "Strict" cookie back where a link of another site is followed.

    The answer to that would be a new session, which would replace the reader's own.
    """
    with Served(
        served.store, served.clock, ConsoleAccess("127.0.0.1", "a-token-of-some-length")
    ) as closed:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{closed.url}/sign-in")
        page.get_by_label("Token of this console").fill("a-token-of-some-length")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        page.goto(served.url.replace("127.0.0.1", "localhost") + "/topics")
        page.evaluate("url => { location.href = url }", f"{closed.url}/topics")
        expect(page).to_have_url(f"{closed.url}/topics")
        context.close()
