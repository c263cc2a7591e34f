"""The console's pages: labels and landmarks, empty states, listings, and parts that fail."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from html import unescape
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from pubsub_delta.console import lists
from pubsub_delta.console.application import create_app
from pubsub_delta.console.security import ConsoleAccess
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    PushConfig,
    RetryPolicy,
)
from tests.model.drivers import MemoryDriver
from tests.unit.browsing import BASE, Browser, elements, words
from tests.unit.builders import HOUR

PAGES = [
    "/topics", "/topics/_new", "/topics/flights", "/topics/flights/edit", "/topics/flights/delete",
    "/topics/flights/publish", "/subscriptions", "/subscriptions/_new", "/subscriptions/first",
    "/subscriptions/first/edit", "/subscriptions/first/delete", "/subscriptions/first/messages",
    "/subscriptions/first/messages/found", "/subscriptions/first/replay", "/",
    "/subscriptions/first/details", "/topics/flights/details", "/topics/flights/messages",
    "/subscriptions/first/pull", "/maintenance", "/subscriptions/first/history",
    "/subscriptions/first/ack-state-chart", "/snapshots", "/snapshots/_new", "/snapshots/before",
    "/snapshots/before/edit", "/snapshots/before/metrics", "/snapshots/before/delete",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_screen_reader_finds_labels_headings_and_landmarks(path: str) -> None:
    """Labels, focus: every field has a label, every id is there once, every link a text."""
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters"))
    browser.world.publish("a")
    browser.store.create_snapshot("before", "first")
    html = browser.get(path).text
    found = elements(html)
    ids = [given["id"] for _, given in found if "id" in given]
    assert len(ids) == len(set(ids))
    labelled = {given.get("for") for tag, given in found if tag == "label"}
    for tag, given in found:
        if tag in ("input", "select", "textarea") and given.get("type") != "hidden":
            assert given.get("id") in labelled or given.get("aria-label"), given
        for name in (given.get("aria-describedby") or "").split():
            assert name in ids, name
        for name in (given.get("aria-labelledby") or "").split():
            assert name in ids, name
        assert tag != "th" or "scope" in given
    assert labelled <= set(ids)
    assert not re.search(r"<(a|button)\b[^>]*>\s*</", html)
    if "<html" in html:
        tags = [tag for tag, _ in found]
        assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
        assert ("html", {"lang": "en"}) in found
        assert ("nav", {"aria-label": "Main"}) in found


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/topics", "There is no topic yet"),
        ("/subscriptions", "There is no subscription yet"),
        ("/snapshots", "There is no snapshot"),
        ("/snapshots/_new", "There is no subscription to take a snapshot of"),
    ],
)
def test_empty_states_say_what_to_do_next(path: str, told: str) -> None:
    browser = Browser()
    browser.store.delete_subscription("first")
    for topic in ("flights", "letters"):
        browser.store.delete_topic(topic)
    html = browser.get(path).text
    empty = html[html.index('<div class="empty">') :]
    assert told in words(empty)
    assert 'href="' in empty


def test_an_empty_backlog_and_an_unread_topic_say_what_to_do_next() -> None:
    browser = Browser()
    found = words(browser.get("/subscriptions/first/messages/found").text)
    assert "Every message is acknowledged. Publish to its topic, or replay messages" in found
    assert "no message was available" in words(browser.pull().text)
    assert "Create a subscription to receive them" in words(browser.get("/topics/letters").text)


def test_a_long_listing_is_shown_in_pages() -> None:
    browser = Browser()
    for number in range(60):
        browser.store.create_topic(f"topic-{number:02}")
    first = browser.get("/topics").text
    (following,) = re.findall(r'id="page-after" href="([^"]*)"', first)
    second = browser.get(unescape(following)).text
    names = re.findall(r'href="/topics/([\w-]+)"', first + second)
    assert len(set(names) - {"_new"}) == 62
    assert "Page 2 of 2" in words(second)
    assert "Page 2 of 2" in words(browser.get("/topics?page=99").text)
    assert browser.get("/topics?page=nonsense").status_code == 200


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "Delivery Pull Acknowledgement deadline 10 s"),
        ({"ack_deadline_seconds": 45}, "Acknowledgement deadline 45 s"),
        ({}, "Message retention 7 d, unacknowledged only"),
        (
            {"message_retention_duration": "2h", "retain_acked_messages": True},
            "Message retention 2 h, and acknowledged ones",
        ),
        ({}, "Expires After 31 d without use"),
        ({"expiration_policy": ExpirationPolicy(None)}, "Expires Never"),
        ({}, "Filter None"),
        ({"filter": "attributes:a"}, "Filter attributes:a"),
        ({}, "Message ordering Off"),
        ({"enable_message_ordering": True}, "Message ordering On"),
        ({}, "Exactly-once delivery Off"),
        ({"enable_exactly_once_delivery": True}, "Exactly-once delivery On"),
        ({}, "Dead lettering Off Redelivery Immediately"),
        (
            {"dead_letter_policy": DeadLetterPolicy("letters", 7)},
            "Dead lettering To letters after 7 delivery attempts",
        ),
        (
            {"retry_policy": RetryPolicy("10s", "5m")},
            "Redelivery After exponential backoff, 10 s to 5 min",
        ),
        ({}, "Labels None"),
        ({"labels": {"team": "gates", "tier": "a"}}, "Labels team : gates tier : a"),
        (
            {"push_config": PushConfig("https://h.example/push")},
            "Delivery Push to https://h.example/push",
        ),
    ],
)
def test_the_page_of_a_subscription_tells_each_field_as_it_is(
    fields: dict[str, Any], told: str
) -> None:
    assert told in words(Browser(**fields).get("/subscriptions/first/details").text)


def test_a_detached_subscription_says_so() -> None:
    browser = Browser()
    browser.store.detach_subscription("first")
    text = words(browser.get("/subscriptions/first").text)
    assert "detached from its topic and has no messages any more" in text
    part = browser.client.get(
        "/subscriptions/first/ack-state-chart", headers={"HX-Request": "true"}
    )
    assert "Failed precondition" in part.text
    assert "<html" not in part.text


def test_a_part_that_fails_tells_it_in_its_place() -> None:
    browser = Browser()
    part = browser.client.get("/topics/absent/metrics", headers={"HX-Request": "true"})
    assert part.status_code == 200  # else htmx would put it nowhere
    assert 'role="alert"' in part.text
    assert "topics/absent': no subscription, topic or snapshot" in words(part.text)


def test_a_snapshot_shows_its_time_to_live_and_who_can_seek_to_it() -> None:
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    browser.world.be_at(HOUR)
    text = words(browser.get("/snapshots/before").text)
    assert "in 6 d 23 h" in text
    assert "Replay it to first" in text


def test_a_time_on_a_page_is_told_to_machines_in_iso_8601() -> None:
    """HTML: the datetime of a ``time`` element is a date, a T and a time with its offset."""
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    times = [
        given["datetime"] or ""
        for tag, given in elements(browser.get("/snapshots/before").text)
        if tag == "time"
    ]
    assert times
    read = [datetime.fromisoformat(each.replace("Z", "+00:00")) for each in times]
    assert all(each.tzinfo for each in read)
    assert all("T" in each for each in times)


@pytest.mark.parametrize(
    ("project", "root", "options", "arguments"),
    [
        (
            "p",
            "/data/pubsub",
            ["--root=/data/pubsub", "--project=p"],
            "'/data/pubsub', project='p'",
        ),
        ("local", "/it's \\ $(a)", ["--root=/it's \\ $(a)"], repr("/it's \\ $(a)")),
    ],
)
def test_the_first_steps_lead_to_the_store_and_the_project_of_the_console(
    project: str, root: str, options: list[str], arguments: str
) -> None:
    """ "These three steps put a first message through it." """
    world = MemoryDriver()
    app = create_app(world.open(), ConsoleAccess(), world.clock, project=project, root=root)
    page = TestClient(app, base_url=BASE).get("/").text
    steps = [unescape(each) for each in re.findall(r'<pre id="step-[^>]*>(.*?)</pre>', page, re.S)]
    topic, subscription = map(shlex.split, steps[0].splitlines())
    assert topic == ["pubsub-delta", "topics", "create", "greetings", *options]
    assert subscription[4:] == ["--topic=greetings", *options]
    assert f"store = PubSub(None, {arguments})\n" in steps[1]


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
