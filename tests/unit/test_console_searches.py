"""A search of the console goes on while its page asks for it, and ends when nobody does."""

from __future__ import annotations

import io
import json
import threading
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from pubsub_delta.clock import ManualClock
from pubsub_delta.console.context import Console
from pubsub_delta.console.searches import IDLE_TIMEOUT, BackgroundSearch, BackgroundSearches
from pubsub_delta.errors import DataLoss
from pubsub_delta.resources import Message
from tests.unit.browsing import BASE, Browser, form_from_pairs
from tests.unit.builders import at

SECONDS = IDLE_TIMEOUT.total_seconds()
LONG = 20


class Endless:
    """A search that looks whether it is stopped when it is told to, and finds nothing."""

    progress = 0.5

    def __init__(self) -> None:
        self.may_look, self.looked = threading.Semaphore(0), threading.Semaphore(0)
        self.ended = threading.Event()

    def messages(self, *, max_bytes: int, is_stopped: Any) -> Any:
        del max_bytes
        while self.may_look.acquire(timeout=LONG) and not is_stopped():
            self.looked.release()
            yield from ()
        self.ended.set()

    def look(self) -> None:
        self.may_look.release()


def begun() -> tuple[ManualClock, Endless, BackgroundSearches, BackgroundSearch]:
    clock, endless = ManualClock(at(0)), Endless()
    searches = BackgroundSearches(clock.now)
    running = searches.start(cast("Any", endless), "/topics/t/messages", "text=late")
    return clock, endless, searches, running


def test_a_search_goes_on_as_long_as_its_page_asks_for_it() -> None:
    clock, endless, searches, running = begun()
    for _ in range(5):
        clock.advance(SECONDS - 1)
        assert not running.wait(0)
        endless.look()
        assert endless.looked.acquire(timeout=LONG)
    assert not running.was_stopped
    running.stop()
    endless.look()
    assert running.wait(LONG)
    searches.close()


def test_a_search_that_nobody_asks_for_ends() -> None:
    clock, endless, searches, running = begun()
    clock.advance(SECONDS)
    endless.look()
    assert endless.looked.acquire(timeout=LONG), "it is not over yet"
    clock.advance(1)
    endless.look()
    assert endless.ended.wait(LONG)
    assert running.was_stopped
    searches.close()


def test_a_search_that_runs_is_kept_however_many_are_done_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of more than are kept, "the oldest that are done go first"."""
    monkeypatch.setattr("pubsub_delta.console.searches.KEPT", 3)
    _, endless, searches, running = begun()

    class Empty:
        progress = 1.0

        def messages(self, **_: Any) -> Any:
            return iter(())

    done = []
    for _ in range(5):
        done.append(searches.start(cast("Any", Empty()), "/topics/t/messages", ""))
        assert done[-1].wait(LONG)
    assert searches.find(running.id) is running
    assert [each for each in done if searches.find(each.id)] == done[-2:]
    running.stop()
    endless.look()
    searches.close()


def searches_of(browser: Browser) -> BackgroundSearches:
    app: Any = browser.app.app
    searches: BackgroundSearches = app.state.console.searches
    return searches


class Failing:
    """A search that fails before it has found a message."""

    progress = 0.5

    def __init__(self, error: Exception) -> None:
        self.error = error

    def messages(self, **_: Any) -> Any:
        yield from ()
        raise self.error


@pytest.mark.parametrize(
    "error", [DataLoss("a file is damaged"), MemoryError("a file is damaged: malloc failed")]
)
def test_a_search_that_fails_says_why(error: Exception) -> None:
    """It does not look like one that found nothing."""
    browser = Browser()
    running = searches_of(browser).start(
        cast("Any", Failing(error)), "/topics/flights/messages", "text=late"
    )
    client = TestClient(browser.app, base_url=BASE, raise_server_exceptions=False)
    answer = client.get(f"/searches/{running.id}")
    assert answer.status_code == 500
    assert "a file is damaged" in answer.text
    assert "No stored message matches" not in answer.text


def test_a_download_without_messages_has_the_columns_of_one_with_messages() -> None:
    """Files of several days are read as one table, also with a day on which nothing came."""
    browser = Browser()
    at_parquet = "/topics/flights/messages/download?format=parquet"
    empty = pq.read_table(io.BytesIO(browser.get(at_parquet).content))
    browser.store.publish("flights", [Message(b"a", {"lang": "de"}, "k")])
    filled = pq.read_table(io.BytesIO(browser.get(at_parquet).content))
    assert empty.schema == filled.schema
    assert empty.num_rows == 0
    assert filled["attributes"].to_pylist() == [[("lang", "de")]]


def test_newer_messages_are_not_added_to_a_search_that_was_stopped() -> None:
    """Its list may lack older ones, which a list that goes on would hide."""
    browser = Browser()
    browser.store.publish("flights", [b"a"])
    search = browser.store.find_messages("projects/local/topics/flights")
    by_htmx = {"HX-Request": "true"}
    running = searches_of(browser).start(search, "/topics/flights/messages", "")
    address = f"/searches/{running.id}"
    assert 'id="newer"' in browser.get(address, headers=by_htmx).text
    running.stop()
    assert 'id="newer"' not in browser.get(address, headers=by_htmx).text


def found(**asked: str) -> list[str]:
    """Return the data of the messages that a search finds among five."""
    browser = Browser()
    given = [
        Message(b"a", {"lang": " en"}, " k"),
        Message(b"b", {"lang": "en"}, "k"),
        Message(b"c d", {"other": ""}, "k "),
    ]
    browser.world.be_at(5.25)
    browser.store.publish("flights", given)
    browser.world.be_at(6)
    browser.store.publish("flights", [Message(b'{"e": " f"}')])
    browser.world.be_at(6.5)
    browser.store.publish("flights", [Message(b'{"e": "f"}')])
    lines = browser.get("/topics/flights/messages/download", params=asked).text.splitlines()
    return [json.loads(line)["data"] for line in reversed(lines)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"key": " k"}, ["a"]),
        ({"key": "k"}, ["b"]),
        ({"key": "k "}, ["c d"]),
        ({"attribute": "lang= en"}, ["a"]),
        ({"attribute": " lang =en"}, ["b"]),
        ({"attribute": " ", "text": "c"}, ["c d"]),
        ({"text": " d"}, ["c d"]),
        ({"text": " b"}, []),
        ({"json_field": "e= f"}, ['{"e": " f"}']),
        ({"json_field": " e =f"}, ['{"e": "f"}']),
    ],
)
def test_blanks_around_what_is_looked_for_count(asked: dict[str, str], expected: list[str]) -> None:
    """A message has its ordering key and its values with them, as the form that publishes one."""
    assert found(**asked) == expected


@pytest.mark.parametrize(
    ("latest", "expected"),
    [
        ("2026-01-01T00:00:04", []),
        ("2026-01-01T00:00:05", ["a", "b", "c d"]),
        ("2026-01-01T00:00:05.2", []),
        ("2026-01-01T00:00:05.25", ["a", "b", "c d"]),
        ("2026-01-01T00:00:06", ["a", "b", "c d", '{"e": " f"}', '{"e": "f"}']),
    ],
)
def test_until_a_second_includes_what_was_published_in_it(latest: str, expected: list[str]) -> None:
    """Pages show a publish time to the second: who types it finds that message."""
    assert found(latest=latest) == expected


def test_a_search_is_stopped_by_its_page() -> None:
    """ "Stop" ends a search that reads a topic: a page that goes on would keep its server busy."""
    browser, endless = Browser(), Endless()
    running_in: Any = browser.app.app
    console: Console = running_in.state.console
    at = "/topics/flights/messages"
    running = console.searches.start(cast("Any", endless), at, "text=late")
    at_page = f"/searches/{running.id}"
    form = form_from_pairs(browser.get(at_page).text, f"{at_page}/stop")
    endless.look()
    by_htmx = {**browser.sent_with_forms, "HX-Request": "true"}
    answer = browser.client.post(form.action, data=form.fields, headers=by_htmx)
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert running.was_stopped
    assert endless.ended.wait(LONG)
    again = browser.client.post(form.action, data=form.fields, headers=browser.sent_with_forms)
    assert again.url.path == at_page
