"""Lists that say what is behind, the first page, and the figures that they are filled in with."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.clock import ManualClock, uptime
from pubsub_delta.console import overview, subscriptions
from pubsub_delta.console.lists import PAGE_SIZE
from pubsub_delta.console.measurements import MAX_AGE, MAX_AGE_OF_OTHERS, Measurements
from pubsub_delta.errors import NotFound
from pubsub_delta.resources import DeadLetterPolicy
from tests.unit.browsing import Browser, words
from tests.unit.builders import HOUR, MINUTE, at


def ids(html: str) -> list[str]:
    """Return what a list shows, in its order."""
    return re.findall(r'<a id="row-([^"]*)"', html)


def eventually(browser: Browser, path: str, text: str) -> str:
    """Load a page until its figures are there."""
    pause = threading.Event()
    for _ in range(500):
        html = browser.get(path).text
        if text in words(html):
            return html
        pause.wait(0.02)
    raise AssertionError(f"{text!r} never came: {words(html)}")


def behind() -> Browser:
    """Return a console of three subscriptions that are more or less behind."""
    browser = Browser()
    for number in (3, 1, 2):
        browser.store.create_topic(f"topic-{number}")
        browser.store.create_subscription(f"reader-{number}", f"topic-{number}")
        browser.store.publish(f"topic-{number}", [b"x"] * number * 1_000)
    browser.world.be_at(HOUR)
    return browser


def test_the_subscription_that_is_most_behind_comes_first() -> None:
    html = eventually(behind(), "/subscriptions", "3,000")
    assert ids(html) == ["reader-3", "reader-2", "reader-1", "first"]
    assert "reader-3 topic-3 3,000 1 h 0 0" in words(html)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("sort=id", ["first", "reader-1", "reader-2", "reader-3"]),
        ("sort=id&reverse=on", ["reader-3", "reader-2", "reader-1", "first"]),
        ("sort=backlog&reverse=on", ["first", "reader-1", "reader-2", "reader-3"]),
        ("q=READER-2", ["reader-2"]),
        ("q=nothing", []),
        ("sort=nonsense", ["reader-3", "reader-2", "reader-1", "first"]),
    ],
)
def test_a_list_is_searched_and_sorted(asked: str, found: list[str]) -> None:
    browser = behind()
    eventually(browser, "/subscriptions", "3,000")
    html = browser.get(f"/subscriptions?{asked}").text
    assert ids(html) == found
    if not found:
        assert "No subscription has" in words(html)


@pytest.mark.parametrize(
    ("asked", "found"),
    [("topic-2", ["reader-2"]), ("team=gates", ["reader-1"]), ("carrier", ["reader-9"]),
     ("projects/local", [])],
)  # fmt: skip
def test_a_list_is_searched_by_topic_labels_and_filter_too(asked: str, found: list[str]) -> None:
    browser = behind()
    browser.store.update_subscription("reader-1", labels={"team": "gates"})
    browser.store.create_subscription("reader-9", "topic-1", filter="attributes:carrier")
    browser.store.update_topic("topic-3", labels={"team": "maps"})
    assert ids(browser.get("/subscriptions", params={"q": asked}).text) == found
    assert ids(browser.get("/topics", params={"q": "team=maps"}).text) == ["topic-3"]


def test_columns_are_chosen_and_remembered() -> None:
    browser = behind()
    html = browser.get("/subscriptions?columns=filter&columns=labels").text
    heads = [words(each) for each in re.findall(r"<th scope=\"col\".*?</th>", html)]
    assert heads == ["Subscription ID", "Filter", "Labels"]
    again = browser.get("/subscriptions").text
    assert [words(each) for each in re.findall(r"<th scope=\"col\".*?</th>", again)] == heads
    (sorted_,) = re.findall(r'id="sort-filter" href="([^"]*)"', again)
    assert "columns=filter&columns=labels" in unescape(sorted_)


def test_no_column_but_the_first_is_a_choice_too() -> None:
    """A form sends nothing for boxes that are not checked."""
    browser = behind()
    html = browser.get("/subscriptions?columns=filter").text
    (form,) = re.findall(r'<form class="tools".*?</form>', html, re.DOTALL)
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', form)
    html = browser.get("/subscriptions", params=hidden).text
    for shown in (html, browser.get("/subscriptions").text):
        heads = [words(each) for each in re.findall(r"<th scope=\"col\".*?</th>", shown)]
        assert heads == ["Subscription ID"]
    (sorted_,) = re.findall(r'id="sort-id" href="([^"]*)"', html)
    assert "columns=id" in unescape(sorted_)


@pytest.mark.parametrize("page", ["2", "3", "999999999", "1000000000000", "-1", "0", "x"])
def test_a_page_after_the_last_one_is_the_last_one(page: str) -> None:
    """Resources are deleted while somebody has their page open, or its address."""
    browser = Browser()
    for number in range(60):
        browser.store.create_topic(f"topic-{number:02}")
    shown = ids(browser.get("/topics", params={"page": page, "sort": "id"}).text)
    assert shown[-1] == ("topic-59" if page in ("2", "3", "999999999") else "topic-47")


def test_a_page_that_is_full_is_the_last_one_if_nothing_follows() -> None:
    browser = Browser()
    for number in range(PAGE_SIZE - len(ids(browser.get("/topics").text))):
        browser.store.create_topic(f"topic-{number:02}")
    html = browser.get("/topics").text
    assert (len(ids(html)), 'id="page-after"' in html) == (PAGE_SIZE, False)
    browser.store.create_topic("topic-99")
    html = browser.get("/topics").text
    assert (len(ids(html)), 'id="page-after"' in html) == (PAGE_SIZE, True)
    assert len(ids(browser.get("/topics?page=2").text)) == 1


def test_a_list_that_is_sorted_anew_begins_with_its_first_page() -> None:
    browser = Browser()
    for number in range(2 * PAGE_SIZE):
        browser.store.create_topic(f"topic-{number:03}")
    page = browser.get("/topics?page=3").text
    links = [unescape(each) for each in re.findall(r'id="sort-[^"]*" href="([^"]*)"', page)]
    assert len(links) > 1
    first_ones = [ids(browser.get(each).text)[0] for each in links]
    assert set(first_ones) == {"flights", f"topic-{2 * PAGE_SIZE - 1:03}"}


def test_a_list_tells_how_it_is_sorted_to_a_screen_reader() -> None:
    html = behind().get("/subscriptions").text
    assert re.findall(r'aria-sort="(\w+)"', html) == ["none", "none", "descending", *["none"] * 4]


def test_a_topic_lists_what_is_behind_on_its_subscriptions() -> None:
    browser = Browser()
    browser.store.create_subscription("behind", "flights")
    browser.world.publish("a", "b", "c")
    browser.world.ack("a", "b", "c")  # of the first one
    browser.store.create_topic("elsewhere")
    browser.store.create_subscription("other", "elsewhere")
    page = browser.get("/topics/flights").text
    assert 'hx-get="/topics/flights/subscriptions"' in page
    part = eventually(browser, "/topics/flights/subscriptions", "behind 3 ")
    assert re.findall(r'href="/subscriptions/(\w+)"', part) == ["behind", "first"]
    assert "first 0 – 0" in words(part)


def test_a_topic_names_its_subscriptions_of_other_projects() -> None:
    browser = Browser()
    browser.store.create_subscription(
        "projects/other/subscriptions/theirs", "projects/local/topics/flights"
    )
    page = words(browser.get("/topics/flights").text)
    assert "Of other projects: projects/other/subscriptions/theirs" in page


def test_topics_are_listed_with_what_they_store_and_how_fast_they_grow() -> None:
    browser = behind()
    browser.store.publish("topic-2", [b"y"] * 600)
    html = eventually(browser, "/topics", "2,600")
    assert "topic-2 2,600" in words(html)
    assert "1.0 /s" in words(html)


def test_a_topic_counts_the_subscriptions_that_receive_its_messages() -> None:
    """A detached one has no messages, and receives none."""
    browser = Browser()
    for name in ("second", "third"):
        browser.store.create_subscription(name, "flights")
    browser.store.detach_subscription("third")
    at = "/topics?columns=readers&sort=readers"
    assert "flights 2" in words(browser.get(at).text)
    browser.store.delete_subscription("second")
    assert "flights 1" in words(browser.get(at).text)


def test_a_part_of_a_list_comes_without_the_page() -> None:
    browser = behind()
    part = browser.client.get("/subscriptions", headers={"HX-Request": "true"}).text
    assert "<html" not in part
    assert "data-live" in part
    assert 'hx-get="/subscriptions?' in part


def test_the_first_page_says_what_is_behind_and_what_is_to_be_done() -> None:
    browser = behind()
    browser.store.update_subscription("first", dead_letter_policy=DeadLetterPolicy("letters"))
    html = eventually(browser, "/", "6,000")
    told = words(html)
    assert "3 of 4 subscriptions are behind" in told
    assert "The dead-letter topic letters of first has no subscription" in told
    assert ids(html) == ["reader-3", "reader-2", "reader-1"]
    browser.store.create_subscription("kept", "letters")
    browser.store.publish("letters", [b"poisoned"])
    eventually(browser, "/", "1 dead letter waits on kept, of first.")


def test_the_first_page_says_nothing_of_a_dead_letter_topic_that_it_does_not_list() -> None:
    """A store has many projects, and the console shows one of them."""
    browser = Browser()
    browser.store.create_topic("projects/other/topics/letters")
    for letters in ("projects/other/topics/letters", "letters"):
        browser.store.update_subscription("first", dead_letter_policy=DeadLetterPolicy(letters))
        told = words(browser.get("/").text)
        assert ("The dead-letter topic" in told) == (letters == "letters")


def test_an_empty_store_gets_three_steps() -> None:
    browser = Browser()
    browser.store.delete_subscription("first")
    for topic in ("flights", "letters"):
        browser.store.delete_topic(topic)
    told = words(browser.get("/").text)
    for step in ("topics create greetings", "store.publish(", "batch.ack()"):
        assert step in told


def test_the_first_page_tells_what_maintenance_did_last() -> None:
    browser = Browser()
    assert "The topics' table histories have no maintenance" in words(
        browser.get("/maintenance").text
    )
    browser.world.publish("a")
    browser.world.be_at(9 * 24 * HOUR)
    browser.store.maintain()
    assert "Messages were deleted by retention" in words(browser.get("/maintenance").text)


class Counting:
    """Something to measure: how often each was measured, and a value that grows."""

    def __init__(self) -> None:
        self.clock = ManualClock(at(0))
        self.asked: list[str] = []
        self.values: dict[str, float] = {}
        self.known = Measurements(self.measure, lambda value: value, self.clock.now)

    def measure(self, name: str) -> float:
        self.asked.append(name)
        if name not in self.values:
            raise NotFound(f"{name} does not exist")
        return self.values[name]

    def latest(self, every: dict[str, str], shown: list[str]) -> dict[str, Any]:
        found = self.known.latest(every, shown, 20)
        self.known.latest(every, list(every), 20)
        thread = self.known._thread
        if thread is not None:
            thread.join(20)
        return found


def test_what_a_page_shows_is_measured_before_the_rest() -> None:
    counting = Counting()
    counting.values = dict.fromkeys("abc", 1.0)
    counting.latest(dict.fromkeys("abc", "uid"), ["c"])
    assert counting.asked[0] == "c"
    assert sorted(counting.asked) == ["a", "b", "c"]


def test_nothing_is_measured_again_while_it_is_fresh() -> None:
    counting = Counting()
    counting.values = {"a": 1.0, "b": 1.0}
    every = {"a": "1", "b": "2"}
    counting.known.latest(every, ["a", "b"], 20)
    counting.clock.advance(MAX_AGE.total_seconds() + 1)
    counting.known.latest(every, ["a"], 20)
    assert counting.asked.count("a") == 2
    assert counting.asked.count("b") == 1
    counting.clock.advance((MAX_AGE_OF_OTHERS + timedelta(seconds=1)).total_seconds())
    counting.latest(every, ["a"])
    assert counting.asked.count("b") == 2


def test_a_page_does_not_wait_for_what_is_fresh() -> None:
    counting, every = Counting(), {"a": "1"}
    counting.values = {"a": 1.0}
    counting.known.latest(every, ["a"], 20)
    for seconds in (0, 1, MAX_AGE.total_seconds() - 1):
        counting.clock.advance(seconds)
        began = uptime()
        counting.known.latest(every, ["a"], 20)
        assert uptime() - began < 10
    assert counting.asked == ["a"]


def test_a_rate_is_of_two_measurements_of_one_resource() -> None:
    """A name that was deleted and created again is another resource."""
    counting = Counting()
    counting.values = {"a": 100.0}
    assert counting.latest({"a": "first"}, ["a"])["a"].rate is None
    counting.clock.advance(MINUTE)
    counting.values = {"a": 220.0}
    assert counting.latest({"a": "first"}, ["a"])["a"].rate == 2.0
    counting.clock.advance(MINUTE)
    counting.values = {"a": 5.0}
    again = counting.latest({"a": "second"}, ["a"])["a"]
    assert (again.value, again.rate) == (5.0, None)


def test_what_is_created_again_while_it_is_measured_is_measured_itself() -> None:
    """A page that waits for the figures of a topic does not show those of an earlier one."""
    counting = Counting()
    counting.values = {"a": 100.0}
    begun, goes_on, is_again = threading.Event(), threading.Event(), threading.Event()

    def measure(name: str) -> float:
        value = counting.measure(name)
        begun.set()
        assert goes_on.wait(20)
        return value

    def at_present() -> Any:
        if is_again.is_set():  # the page waits by now
            goes_on.set()
        return counting.clock.now()

    known = Measurements(measure, lambda value: value, at_present)
    known.latest({"a": "first"}, ["a"], 0)
    assert begun.wait(20)
    counting.values = {"a": 5.0}
    is_again.set()
    found = known.latest({"a": "second"}, ["a"], 20)["a"]
    assert (found.uid, found.value) == ("second", 5.0)


def test_what_could_not_be_measured_before_has_no_rate() -> None:
    """A rate is of two measurements; an error is no measurement of nothing."""
    counting = Counting()
    assert counting.latest({"a": "1"}, ["a"])["a"].problem
    counting.clock.advance(MINUTE)
    counting.values = {"a": 600.0}
    assert counting.latest({"a": "1"}, ["a"])["a"].rate is None


def test_what_cannot_be_measured_says_why_and_stops_no_other() -> None:
    counting = Counting()
    counting.values = {"b": 1.0}
    found = counting.latest({"a": "1", "b": "2"}, ["a", "b"])
    assert "does not exist" in found["a"].problem
    assert found["b"].value == 1.0


def test_what_is_closed_measures_nothing() -> None:
    counting = Counting()
    counting.known.close()
    assert counting.known.latest({"a": "1"}, ["a"], 0.01) == {}
    assert counting.asked == []


def test_of_many_subscriptions_those_of_dead_letters_are_measured_first() -> None:
    browser = behind()
    browser.store.update_subscription("reader-1", dead_letter_policy=DeadLetterPolicy("topic-2"))
    eventually(browser, "/subscriptions", "3,000")
    app: Any = browser.app.app
    rows = subscriptions.rows_of(app.state.console, [], 0)
    first = [row.id for row in overview.measured_first(rows)]
    assert first == ["reader-2", "reader-3", "reader-1"]


def test_the_first_page_tells_of_a_dead_letter_topic_that_does_not_exist() -> None:
    """A restore of one table of the registry can leave it so: dead letters wait at their source."""
    browser = Browser()
    browser.store.update_subscription("first", dead_letter_policy=DeadLetterPolicy("letters"))
    for number in range(4):
        browser.store.create_subscription(
            f"s{number}-more", "flights", dead_letter_policy=DeadLetterPolicy("letters")
        )
    uid = browser.store.get_topic("letters").uid
    browser.world.tables.registry.remove_topic(uid, browser.world.now)
    told = words(browser.get("/").text)
    assert "The dead-letter topic letters of first, s0-more, s1-more does not exist." in told
