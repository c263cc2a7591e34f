"""Messages that come while a list of them is open, and copies of a message that are edited."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console import message_search
from pubsub_delta.resources import DeadLetterPolicy, Message
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import MINUTE

MESSAGES = "/subscriptions/first/messages"
TOPIC = "/topics/flights/messages"
BY_HTMX = {"HX-Request": "true"}


def found(html: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'<code class="line"[^>]*>(.*?)</code>', html)]


def next_address(html: str) -> str:
    """Return where a list asks for what came since."""
    (asked,) = re.findall(r'<span id="newer" hx-get="([^"]*)"[^>]* data-live', html)
    return unescape(asked)


def look(browser: Browser, at: str) -> Any:
    return browser.get(at, headers=BY_HTMX)


@pytest.mark.parametrize("path", [MESSAGES, TOPIC])
def test_messages_that_come_are_put_above_a_list_each_once(path: str) -> None:
    """A live tail: what was committed since the last look, whatever its position is."""
    browser = Browser()
    browser.store.publish("flights", [b"a", b"b"])
    page = look(browser, f"{path}/found").text
    assert found(page) == ["b", "a"]
    nothing = look(browser, next_address(page)).text
    assert (found(nothing), "came since" in nothing) == ([], False)
    browser.store.publish("flights", [b"c"])
    browser.store.publish("flights", [b"d"])
    newer = look(browser, next_address(nothing)).text
    assert 'hx-swap-oob="afterbegin:#found-rows"' in newer
    assert (found(newer), "2 came since" in newer) == (["d", "c"], True)
    browser.store.publish("flights", [b"e"])
    again = look(browser, next_address(newer)).text
    assert (found(again), "3 came since" in again) == (["e"], True)


def test_only_what_the_search_asks_for_is_put_above_its_list() -> None:
    browser = Browser()
    browser.store.publish("flights", [b"late 1"])
    page = look(browser, f"{TOPIC}/found?text=late").text
    browser.store.publish("flights", [b"on time", b"late 2"])
    assert found(look(browser, next_address(page)).text) == ["late 2"]


def test_the_first_message_that_comes_makes_the_list() -> None:
    browser = Browser()
    page = look(browser, f"{MESSAGES}/found").text
    browser.store.publish("flights", [b"a"])
    answer = look(browser, next_address(page))
    assert answer.headers["HX-Retarget"] == "#found"
    assert found(answer.text) == ["a"]
    assert 'id="found-rows"' in answer.text


@pytest.mark.parametrize("path", [MESSAGES, TOPIC])
def test_a_topic_that_was_created_again_has_a_list_of_its_own(path: str) -> None:
    browser = Browser()
    browser.store.publish("flights", [b"a", b"b"])
    page = look(browser, f"{path}/found").text
    browser.store.delete_topic("flights")
    browser.store.delete_subscription("first")
    browser.store.create_topic("flights")
    browser.store.create_subscription("first", "flights")
    for text in ("c", "d", "e"):
        browser.store.publish("flights", [text])
    answer = look(browser, next_address(page))
    assert answer.headers["HX-Retarget"] == "#found"
    assert found(answer.text) == ["e", "d", "c"]


def test_a_list_that_is_long_says_that_more_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_search, "MOST_LIVE", 3)
    browser = Browser()
    browser.store.publish("flights", [b"a"])
    page = look(browser, f"{TOPIC}/found?text=").text
    browser.store.publish("flights", [b"b", b"c", b"d"])
    newer = look(browser, next_address(page)).text
    assert found(newer) == ["d", "c"]
    assert "more came since than this list shows" in newer
    assert "data-live" not in newer


def test_rows_that_came_before_count_to_the_length_of_a_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list that is open for days does not grow for ever."""
    monkeypatch.setattr(message_search, "MOST_LIVE", 3)
    browser = Browser()
    browser.store.publish("flights", [b"a"])
    page = look(browser, f"{TOPIC}/found?text=").text
    browser.store.publish("flights", [b"b", b"c"])
    newer = look(browser, next_address(page)).text
    assert found(newer) == ["c", "b"]
    browser.store.publish("flights", [b"d"])
    again = look(browser, next_address(newer)).text
    assert found(again) == []
    assert "more came since than this list shows" in again


def test_a_search_that_takes_too_long_says_that_more_may_have_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next search would begin after what this one did not reach."""
    browser = Browser()
    browser.store.publish("flights", [b"a"])
    page = look(browser, f"{TOPIC}/found?text=").text
    browser.store.publish("flights", [b"b"])
    monkeypatch.setattr(message_search, "_LONGEST", timedelta(seconds=-1))
    newer = look(browser, next_address(page)).text
    assert "more came since than this list shows" in newer
    assert "data-live" not in newer


def test_older_pages_and_searches_that_were_stopped_stay_as_they_are() -> None:
    browser = Browser()
    browser.store.publish("flights", [str(n) for n in range(60)])
    page = look(browser, f"{TOPIC}/found").text
    (older,) = re.findall(r'id="older" href="([^"]*)"', page)
    at = unescape(older).replace("/messages?", "/messages/found?")
    assert 'id="newer"' not in look(browser, at).text


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("gate.terminal=B", ["1", "4"]),
        ("delay=5", ["1", "2"]),
        ("delay", ["1", "2", "3"]),
        ("legs.1=SFO", ["4"]),
        ("late=true", ["3"]),
        ("gate=B", []),
    ],
)
def test_messages_are_found_by_a_field_of_their_json_data(asked: str, lines: list[str]) -> None:
    browser = Browser()
    browser.store.publish(
        "flights",
        [
            b'{"n": 1, "gate": {"terminal": "B"}, "delay": 5}',
            b'{"n": 2, "gate": {"terminal": "\\u0043"}, "delay": 0.5e1}',
            b'{"n": 3, "delay": null, "late": true}',
            b'{"n": 4, "gate": {"term\\u0069nal": "B"}, "legs": ["EWR", "SFO"]}',
            b"delay gate terminal B 5",
        ],
    )
    page = browser.get(f"{TOPIC}/found", params={"json_field": asked}, headers=BY_HTMX).text
    assert sorted(re.findall(r'"n": (\d)', "".join(found(page)))) == lines


def test_a_dead_letter_is_repaired_in_a_copy_of_it() -> None:
    """What was poisoned is edited, and published to its source without what forwarding added."""
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters", 5))
    browser.store.create_subscription("kept", "letters")
    browser.store.publish("flights", [Message(b'{"delay": "x"}', {"carrier": "UA"}, "k1")])
    for minute in range(6):
        browser.world.be_at(minute * MINUTE)
        batch = browser.store.pull("first")
        if batch.message_count:
            batch.nack()
    (letter,) = browser.store.peek("kept")
    page = browser.get(f"/subscriptions/kept/messages/{letter.message_id}").text
    (at,) = re.findall(r'href="([^"]*copy_of=[^"]*)"', page)
    assert at.startswith("/topics/flights/publish?")
    form = form_from_pairs(browser.get(unescape(at)).text)
    assert form.fields["data"] == '{"delay": "x"}'
    assert form.fields["attributes"] == "carrier=UA"
    assert form.fields["ordering_key"] == "k1"
    done = browser.post(unescape(at), {"data": '{"delay": 7}'})
    assert "The message was published" in words(done.text)
    (again,) = browser.store.peek("first")
    assert (again.data, again.attributes, again.ordering_key) == (
        b'{"delay": 7}', {"carrier": "UA"}, "k1",
    )  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        Message(b"\xff\x00", {"a": "1"}),
        Message(b"one\r\ntwo\rthree"),
        Message("abc\u202edef".encode(), {"b": "x=y"}, "key"),
        Message(b"", {"only": "attributes"}),
    ],
)
def test_a_copy_that_nobody_edits_is_the_same_message(message: Message) -> None:
    browser = Browser()
    (number,) = browser.store.publish("flights", [message]).message_ids
    at = f"/topics/flights/publish?copy_of=topics%2Fflights%2F{number}"
    browser.post(at)
    first, second = browser.store.peek("first")
    assert (first.data, first.attributes, first.ordering_key) == (
        second.data, second.attributes, second.ordering_key,
    )  # fmt: skip


def test_a_copy_tells_what_its_form_cannot_hold() -> None:
    browser = Browser()
    made = Message(b"a", {"key=odd": "1", "lines": "a\nb", "kept": "c"}, "one\ntwo")
    (number,) = browser.store.publish("flights", [made]).message_ids
    page = browser.get(f"/topics/flights/publish?copy_of=topics%2Fflights%2F{number}").text
    told = words(page)
    for what in ("the attribute key=odd", "the attribute lines", "the ordering key"):
        assert what in told
    assert form_from_pairs(page).fields["attributes"] == "kept=c"


def test_a_message_that_is_too_large_for_a_form_is_not_copied_in_part() -> None:
    browser = Browser()
    (number,) = browser.store.publish("flights", [b"x" * 1_000_001]).message_ids
    answer = browser.client.get(f"/topics/flights/publish?copy_of=topics%2Fflights%2F{number}")
    assert answer.status_code == 409
    assert "1,000,001 bytes of data" in words(answer.text)
    (number,) = browser.store.publish("flights", [b"x" * 1_000_000]).message_ids
    page = browser.get(f"/topics/flights/publish?copy_of=topics%2Fflights%2F{number}").text
    assert len(form_from_pairs(page).fields["data"]) == 1_000_000


def test_another_message_like_one_is_published_from_the_form_that_it_left() -> None:
    browser = Browser()
    at = "/topics/flights/publish"
    done = browser.post(at, {"data": "a", "attributes": "k=v", "next": "another"})
    assert "The message was published" in words(done.text)
    form = form_from_pairs(done.text)
    assert (form.fields["data"], form.fields["attributes"]) == ("a", "k=v")
    assert [each.data for each in browser.store.peek("first")] == [b"a"]
