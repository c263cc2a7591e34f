"""The console's messages: found without a lease, opened, published again, and pulled by hand."""

from __future__ import annotations

import errno
import io
import json
import re
import tempfile
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet as pq
import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console import message_search
from pubsub_delta.console.message_data import MAX_NODES, data_views, json_tree
from pubsub_delta.console.searches import PAGE
from pubsub_delta.resources import DeadLetterPolicy, Message
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import HOUR, MINUTE

FOUND = "/subscriptions/first/messages/found"


def test_looking_at_messages_leases_nothing() -> None:
    """The messages tab shows them without leasing."""
    browser = Browser()
    browser.world.publish("a", "b")
    before = browser.world.revision()
    shown = words(browser.get(FOUND).text)
    assert "2 messages, the newest first" in shown
    assert browser.world.revision() == before
    assert browser.world.backlog() == {"a": "available", "b": "available"}


def test_chosen_messages_are_acknowledged_and_leave_the_page() -> None:
    """Nothing chosen at first, acknowledged ones leave the page, the rest stay."""
    browser = Browser()
    world = browser.world
    world.publish("a", "b")
    page = browser.pull()
    assert world.backlog() == {"a": "leased", "b": "leased"}
    assert 'type="checkbox" name="ack_id"' in page.text
    assert " checked" not in page.text
    form = form_from_pairs(page.text, page.url.path)
    (first, _) = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
    sent = {**form.fields, "ack_id": first, "verb": "ack"}
    done = browser.client.post(form.action, data=sent)
    assert "1 acknowledged." in words(done.text)
    assert "1 message is leased to you" in words(done.text)
    assert world.backlog() == {"b": "leased"}


def test_a_page_of_pulled_messages_that_is_loaded_again_pulls_nothing() -> None:
    """A pull that a reload repeats is none."""
    browser = Browser()
    browser.world.publish("a", "b")
    page = browser.pull(1)
    assert sorted(browser.world.backlog().values()) == ["available", "leased"]
    again = browser.get(page.url.path)
    assert "1 message is leased to you" in words(again.text)
    assert sorted(browser.world.backlog().values()) == ["available", "leased"]


def test_messages_that_were_pulled_are_given_back_or_kept_longer() -> None:
    browser = Browser()
    world = browser.world
    world.publish("a")
    page = browser.pull()
    assert 'data-seconds="10"' in page.text, "the countdown of the lease"
    form = form_from_pairs(page.text, page.url.path)
    longer = browser.client.post(form.action, data={**form.fields, "verb": "extend"})
    assert "1 kept for 60 s more." in words(longer.text)
    assert 'data-seconds="70"' in longer.text
    (ack_id,) = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
    done = browser.client.post(form.action, data={**form.fields, "ack_id": ack_id, "verb": "nack"})
    assert "1 nacked." in words(done.text)
    assert world.backlog() == {"a": "available"}


def test_an_answer_whose_lease_is_over_says_so() -> None:
    browser = Browser()
    browser.world.publish("a")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)
    (ack_id,) = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
    browser.world.be_at(MINUTE)
    done = browser.client.post(form.action, data={**form.fields, "ack_id": ack_id, "verb": "ack"})
    assert "of 1 the lease was over" in words(done.text)


def test_an_answer_is_for_messages_of_its_own_page() -> None:
    """Which page shows a message decides where it can be answered."""
    browser = Browser()
    browser.world.publish("a", "b")
    first, second = browser.pull(1), browser.pull(1)
    (other,) = re.findall(r'name="ack_id" value="([^"]*)"', second.text)
    form = form_from_pairs(first.text, first.url.path)
    answer = browser.client.post(form.action, data={**form.fields, "ack_id": other, "verb": "ack"})
    assert "No message was selected" in words(answer.text)
    assert browser.world.backlog() == {"a": "leased", "b": "leased"}


def test_a_page_of_pulled_messages_is_one_of_its_own_subscription() -> None:
    browser = Browser()
    browser.store.create_subscription("second", "flights")
    browser.world.publish("a")
    pulled = browser.pull(1)
    path = pulled.url.path
    assert browser.client.get(path).status_code == 200
    elsewhere = browser.client.get(path.replace("/first/", "/second/"))
    assert "ack_id" not in elsewhere.text


def test_an_answer_without_a_message_says_so() -> None:
    browser = Browser()
    browser.world.publish("a")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)
    answer = browser.client.post(form.action, data={**form.fields, "verb": "ack"})
    assert 'class="problem" role="alert">No message was selected' in answer.text
    assert "1 message is leased to you" in words(answer.text)


def lines(browser: Browser, path: str, **asked: str) -> list[str]:
    """Return the data of the messages that a search finds, in the order of the page."""
    answer = browser.client.get(f"{path}/found", params=asked, headers={"HX-Request": "true"})
    assert answer.status_code == 200, answer.text
    found = re.findall(r'<code class="line"[^>]*>(.*?)</code>', answer.text)
    return [unescape(each) for each in found]


MESSAGES = "/subscriptions/first/messages"
TOPIC = "/topics/flights/messages"


def searched() -> Browser:
    """Return a console of messages at three times, some acknowledged, one leased."""
    browser = Browser(retain_acked_messages=True)
    world = browser.world
    browser.store.publish("flights", [Message(b"one", {"carrier": "UA"}, "k1"), b"two"])
    world.be_at(HOUR)
    browser.store.publish("flights", [Message(b"three", {"carrier": "AA"}, "k2")])
    browser.store.publish("flights", [Message(b"four", {"gate": "B"})])
    world.ack("two")
    world.be_at(2 * HOUR)
    browser.store.publish("flights", [Message(b"five", {"gate": ""}, "k1")])
    return browser


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["five", "four", "three", "one"]),
        ({"state": "any"}, ["five", "four", "three", "two", "one"]),
        ({"state": "kept"}, ["two"]),
        ({"state": "leased"}, []),
        ({"text": "o", "state": "any"}, ["four", "two", "one"]),
        ({"text": "O"}, []),
        ({"key": "k1"}, ["five", "one"]),
        ({"attribute": "carrier=UA"}, ["one"]),
        ({"attribute": "carrier"}, ["three", "one"]),
        ({"attribute": "gate"}, ["five", "four"]),
        ({"attribute": "gate="}, ["five"]),
        ({"earliest": "2026-01-01T01:00:00"}, ["five", "four", "three"]),
        ({"latest": "2026-01-01T01:00"}, ["four", "three", "one"]),
        ({"earliest": "2026-01-01T00:30", "latest": "2026-01-01T01:30"}, ["four", "three"]),
        ({"message_id": "999999"}, []),
    ],
)
def test_messages_are_found_by_time_id_key_attribute_text_and_state(
    asked: dict[str, str], found: list[str]
) -> None:
    assert lines(searched(), MESSAGES, **asked) == found


def test_a_message_is_found_by_its_id() -> None:
    browser = searched()
    number = browser.store.peek("first")[0].message_id
    assert lines(browser, MESSAGES, message_id=number) == ["one"]


def test_messages_of_a_topic_without_a_subscription_are_found() -> None:
    browser = searched()
    browser.store.delete_subscription("first")
    assert lines(browser, TOPIC) == ["five", "four", "three", "two", "one"]
    assert lines(browser, TOPIC, text="thr") == ["three"]


@pytest.mark.parametrize(("count", "pages"), [(PAGE - 1, 1), (PAGE, 1), (PAGE + 1, 2), (120, 3)])
def test_what_is_found_stands_in_pages_the_newest_first(count: int, pages: int) -> None:
    """Another page is offered where there are more messages."""
    browser = Browser()
    browser.store.publish("flights", [str(n) for n in range(count)])
    seen = lines(browser, MESSAGES)
    page = browser.get(f"{MESSAGES}/found").text
    while older := re.findall(r'id="older" href="([^"]*)"', page):
        at = unescape(older[0]).replace("/messages?", "/messages/found?")
        page = browser.get(at).text
        seen += re.findall(r'<code class="line"[^>]*>(.*?)</code>', page)
        pages -= 1
    assert seen == [str(n) for n in reversed(range(count))]
    assert pages == 1


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"message_id": "x"}, "message_id"),
        ({"earliest": "yesterday"}, "earliest"),
        ({"state": "lost"}, "state"),
    ],
)
def test_a_search_that_cannot_be_read_is_told_at_its_field(
    asked: dict[str, str], field: str
) -> None:
    browser = Browser()
    answer = browser.client.get(MESSAGES, params=asked)
    assert answer.status_code == 400
    assert f'id="{field}-error"' in answer.text
    assert "/found" not in answer.text
    assert browser.client.get(f"{MESSAGES}/found", params=asked).status_code == 400


def test_a_message_is_opened_as_a_tree_as_text_and_in_hexadecimal() -> None:
    browser = Browser()
    data = b'{"flight": {"number": 17, "late": true, "legs": ["EWR", "SFO"]}, "big": 1e400}'
    browser.store.publish("flights", [Message(data, {"z": "1", "a": "2"})])
    number = browser.store.peek("first")[0].message_id
    part = browser.client.get(f"{MESSAGES}/{number}", headers={"HX-Request": "true"}).text
    assert "<html" not in part
    told = words(part)
    assert "JSON 2 fields flight 3 fields number 17 late true legs 2 items 0 EWR 1 SFO" in told
    assert "big 1e400" in told, "a number is shown as it is written"
    assert told.index("Attributes a 2 z 1") < told.index("Hexadecimal 00000000 7b 22")
    assert "<html" in browser.get(f"{MESSAGES}/{number}").text
    assert browser.get(f"{MESSAGES}/{number}/data").content == data
    assert browser.client.get(f"{MESSAGES}/77777").status_code == 404
    assert browser.client.get(f"{MESSAGES}/x").status_code == 404


@pytest.mark.parametrize(
    "data",
    [b"[" * 5_000, b'{"a": ' * 60 + b"1" + b"}" * 60, b"[1, NaN, " + b"1" * 6_000 + b"]", b'{"a"'],
)
def test_data_that_is_no_json_or_too_deep_is_shown_all_the_same(data: bytes) -> None:
    assert data_views(data, len(data))[-2].name == "text"


@pytest.mark.parametrize("letter", ["é", "€", "𐍈"])
def test_text_whose_beginning_ends_within_a_letter_is_text(letter: str) -> None:
    """A page reads the beginning of large data, wherever that ends."""
    data = f"late{letter}".encode()
    for end in range(4, len(data)):
        (text, _) = data_views(data[:end], len(data))
        assert (text.name, text.text) == ("text", "late")


def test_a_tree_has_so_many_values_at_most() -> None:
    tree = json_tree(json.dumps([[n, n] for n in range(3_000)]).encode())
    assert tree is not None
    assert sum(1 + len(each.parts) for each in tree.parts) <= MAX_NODES + 10
    assert tree.parts[-1].kind == "more"


def test_what_is_found_is_downloaded_as_json_lines_and_parquet() -> None:
    browser = searched()
    browser.store.publish("flights", [Message(b"\xff", {"odd": "bytes"})])
    told = browser.get(f"{MESSAGES}/download?format=jsonl&state=unacked")
    rows = [json.loads(each) for each in told.text.splitlines()]
    assert [each.get("data", each.get("data_base64")) for each in rows] == [
        "/w==", "five", "four", "three", "one",
    ]  # fmt: skip
    assert rows[-1]["attributes"] == {"carrier": "UA"}
    assert rows[-1]["state"] == "available"
    assert "attachment" in told.headers["content-disposition"]
    answer = browser.get(f"{MESSAGES}/download?format=parquet&text=o")
    table = pq.read_table(io.BytesIO(answer.content))
    assert table["data"].to_pylist() == [b"four", b"one"]
    assert table.column_names == [
        "message_id", "publish_time", "ordering_key", "attributes", "data",
    ]  # fmt: skip


def test_a_download_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that was sent, nor a part that it has not, nor one whose disk was full."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    browser = searched()
    for part in ("", "bytes=999999999-", "lines=1-2"):
        browser.client.get(f"{MESSAGES}/download?format=parquet", headers={"Range": part})
    assert list(tmp_path.iterdir()) == []

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(message_search, "_write_parquet", full)
    with suppress(OSError):
        browser.get(f"{MESSAGES}/download?format=parquet")
    assert list(tmp_path.iterdir()) == []


def failing(sent: Message = Message(b"poisoned", {"carrier": "UA"}, "k1")) -> Browser:  # noqa: B008
    """Return a console where one message was dead-lettered, and somebody reads dead letters."""
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters", 5))
    browser.store.create_subscription("kept", "letters")
    browser.store.publish("flights", [sent])
    for minute in range(6):
        browser.world.be_at(minute * MINUTE)
        batch = browser.store.pull("first")
        if batch.message_count:
            batch.nack()
    return browser


def test_a_dead_letter_is_published_again_to_its_source_with_its_history_shown() -> None:
    browser = failing()
    assert browser.store.peek("first") == []
    (letter,) = browser.store.peek("kept")
    at = "/subscriptions/kept"
    told = words(browser.get(f"{at}/messages/{letter.message_id}").text)
    assert "5 deliveries on first failed" in told
    assert "published first at 2026-01-01T00:00:00" in told
    assert "Publish again to its source" in told
    asked = f"{at}/publish-again?message_id={letter.message_id}"
    page = words(browser.get(asked).text)
    assert "1 to flights" in page
    assert "Every subscription of it receives it as new: first" in page
    answer = browser.post(asked)
    assert "1 published again to flights" in words(answer.text)
    (again,) = browser.store.peek("first")
    assert (again.data, again.attributes, again.ordering_key) == (
        b"poisoned", {"carrier": "UA"}, "k1",
    )  # fmt: skip
    assert len(browser.store.peek("kept")) == 1, "the letter stays"


def test_a_dead_letter_without_attributes_of_its_own_is_published_without_any() -> None:
    browser = failing(Message(b"poisoned"))
    (letter,) = browser.store.peek("kept")
    browser.post(f"/subscriptions/kept/publish-again?message_id={letter.message_id}")
    (again,) = browser.store.peek("first")
    assert (again.data, again.attributes) == (b"poisoned", {})


def test_a_dead_letter_whose_source_is_gone_stays_where_it_is() -> None:
    browser = failing()
    (letter,) = browser.store.peek("kept")
    browser.store.delete_subscription("first")
    page = words(
        browser.get(f"/subscriptions/kept/publish-again?message_id={letter.message_id}").text
    )
    assert "has no topic to go to any more" in page


def test_chosen_messages_of_a_topic_are_published_again() -> None:
    browser = Browser()
    browser.store.publish("flights", [b"a", b"b", b"c"])
    numbers = [each.message_id for each in browser.store.peek("first")]
    asked = "&".join(f"message_id={each}" for each in numbers[:2])
    page = browser.get(f"/topics/flights/publish-again?{asked}")
    form = form_from_pairs(page.text)
    sent: dict[str, Any] = {**form.fields, "message_id": numbers[:2]}
    assert "2 published again to flights" in words(browser.client.post(form.action, data=sent).text)
    assert [each.data for each in browser.store.peek("first")] == [b"a", b"b", b"c", b"a", b"b"]
    sent["message_id"] = [numbers[2], numbers[2]]
    assert "1 published again to flights" in words(browser.client.post(form.action, data=sent).text)
    assert "No message was selected" in words(browser.get("/topics/flights/publish-again").text)


def test_the_search_in_which_messages_were_chosen_is_kept_when_they_are_published_again() -> None:
    browser = Browser()
    browser.store.publish("flights", [b"late", b"early"])
    at = "/topics/flights"
    found = browser.get(f"{at}/messages/found?text=late&state=any").text
    number = browser.store.peek("first")[0].message_id
    chosen = form_from_pairs(found, method="get").fields | {"message_id": number}
    page = browser.get(f"{at}/publish-again?{urlencode(chosen)}").text
    assert f'href="{at}/messages?text=late&amp;state=any">Cancel' in page
    form = form_from_pairs(page)
    answer = browser.client.post(form.action, data={**form.fields, "message_id": number})
    assert dict(answer.url.params.items()) | {"done": ""} == {
        "text": "late", "state": "any", "done": "",
    }  # fmt: skip
    elsewhere = {**form.fields, "search": "done=7&text=late", "message_id": number}
    answer = browser.client.post(form.action, data=elsewhere)
    assert answer.url.params["done"] != "7", "only the fields of a search are taken"
