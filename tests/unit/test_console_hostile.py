"""Hostile contents on the console's pages: shown harmlessly, whatever they are."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.resources import Message
from tests.unit.browsing import Browser, elements, words

SCRIPT = "<script>alert(1)</script>"
HOSTILE = [
    SCRIPT,
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</textarea></pre><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% for x in y %}",
    "&lt;b&gt;",
    "\u202eexe.gpj\u2066",
    "\x00\x1b[31m\x07",
    "a" * 5_000,
]  # fmt: skip


def assert_harmless(html: str) -> None:
    """No element, attribute or character of somebody else's is in the page."""
    for tag, given in elements(html):
        assert tag not in ("img", "object", "iframe") or given.get("src") == "/static/icon.svg"
        assert tag != "script" or (given.get("src") or "").startswith("/static/")
        assert not [name for name in given if name.startswith("on")]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", html)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_messages_are_shown_harmlessly(text: str) -> None:
    """Every message, attribute and name escaped."""
    browser = Browser()
    key = text.replace("\x00", "")[:60]
    browser.store.publish("flights", [Message(text.encode(), {key: text[:1000]}, text[:1000])])
    (number,) = (each.message_id for each in browser.store.peek("first"))
    found = browser.get("/subscriptions/first/messages/found").text
    opened = browser.get(f"/subscriptions/first/messages/{number}").text
    again = browser.get(f"/subscriptions/first/publish-again?message_id={number}").text
    pulled = browser.pull().text
    assert_harmless(again)
    for html in (found, opened, pulled):
        assert_harmless(html)
        if text.isprintable() and "&" not in text:
            assert text[:60] in words(html)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_fields_come_back_harmlessly(text: str) -> None:
    browser = Browser()
    label = text[:60].replace("\n", "").replace("=", "-")
    browser.store.update_topic("flights", labels={label: label})
    browser.store.update_subscription("first", labels={label: label})
    for path in ("/topics", "/topics/flights", "/subscriptions/first"):
        assert_harmless(browser.get(path).text)
    for at in ("/topics/_new", "/subscriptions/_new"):
        sent = {"id": text, "labels": text, "filter": text, "topic": text, "ack_deadline": text}
        answer = browser.post(at, sent)
        assert answer.status_code == 400
        html = re.sub(r'value="[^"]*"|<textarea.*?</textarea>|<option.*?</option>', "",
                      answer.text, flags=re.DOTALL)  # fmt: skip
        assert_harmless(html)
        assert SCRIPT not in answer.text
    assert_harmless(browser.client.get("/topics/" + "%3Cscript%3E").text)
    assert_harmless(browser.client.get("/filters/check", params={"filter": text}).text)


def test_ten_megabytes_are_cut_to_what_a_page_can_show() -> None:
    browser = Browser()
    browser.store.publish("flights", [Message("é".encode() * 4_999_000)])
    (message,) = browser.store.peek("first")
    found = browser.get("/subscriptions/first/messages/found").text
    assert len(found) < 20_000
    opened = browser.get(f"/subscriptions/first/messages/{message.message_id}").text
    assert len(opened) < 100_000
    assert "The beginning of 9,998,000 bytes" in words(opened)
    pulled = browser.pull().text
    assert len(pulled) < 20_000
    whole = browser.get(f"/subscriptions/first/messages/{message.message_id}/data")
    assert len(whole.content) == 9_998_000
    assert whole.headers["content-disposition"].startswith("attachment")


def test_bytes_that_are_no_text_are_shown_in_hexadecimal() -> None:
    browser = Browser()
    browser.store.publish("flights", [Message(b"\xff\x00\xfe"), Message(b"", {"a": "b"})])
    first = browser.store.peek("first")[0].message_id
    text = words(browser.get(f"/subscriptions/first/messages/{first}").text)
    assert "Hexadecimal 00000000 ff 00 fe ..." in text


def test_a_message_of_ten_megabytes_is_published() -> None:
    browser = Browser()
    answer = browser.post("/topics/flights/publish", {"data": "x" * 10_000_000})
    assert "The message was published." in words(answer.text)
    answer = browser.post("/topics/flights/publish", {"data": "x" * 10_000_001})
    assert answer.status_code == 400
    assert "Data: at most 10,000,000 bytes" in words(answer.text)


def test_names_with_every_permitted_character_lead_to_their_pages() -> None:
    browser = Browser()
    name = "a-b_c.d~e+100%off"
    browser.post("/topics/_new", {"id": name})
    browser.post("/subscriptions/_new", {"id": name, "topic": name})
    listing = browser.get("/subscriptions").text
    (link,) = set(re.findall(r'href="(/subscriptions/a[^"]*?)(?<!/edit)"', listing))
    assert name in words(browser.get(link).text)
    browser.post(f"{link}/edit", {"ack_deadline": "33"})
    assert browser.store.get_subscription(name).ack_deadline_seconds == 33


@pytest.mark.parametrize("kind", ["topics", "subscriptions", "snapshots"])
def test_a_resource_of_every_id_has_its_page(kind: str) -> None:
    """ "The console shows topics, subscriptions and snapshots", whatever their IDs are."""
    browser = Browser()
    browser.store.create_topic("new")
    browser.store.create_subscription("new", "new")
    browser.store.create_snapshot("new", "new")
    listed = browser.get(f"/{kind}").text
    (link,) = set(re.findall(rf'href="(/{kind}/new)"', listed))
    assert "<title>new · pubsub_delta</title>" in browser.get(link).text
    (creation,) = set(re.findall(rf'href="(/{kind}/[^"]*new)"', listed)) - {link}
    assert "<title>Create" in browser.get(creation).text
