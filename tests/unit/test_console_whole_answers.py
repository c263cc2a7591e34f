"""Answers of the console, compared whole: error pages, views of data, all that is wrong."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi import Request
from fastapi.testclient import TestClient

from pubsub_delta import Schema, SchemaType
from pubsub_delta.console import message_data, serve, subscriptions
from pubsub_delta.console.forms import Form
from pubsub_delta.console.jobs import WAIT_SECONDS
from pubsub_delta.console.lists import PAGE_SIZE, list_page
from pubsub_delta.console.measurements import Measurement
from pubsub_delta.console.message_data import DataView, Node, data_views, json_tree
from pubsub_delta.console.schemas import Revision, revisions_of
from pubsub_delta.console.security import is_cross_origin
from pubsub_delta.console.subscription_form import check_new, check_update
from pubsub_delta.errors import Aborted
from pubsub_delta.resources import ExpirationPolicy, RetryPolicy
from tests.unit.browsing import BASE, Browser, form_from_pairs, words
from tests.unit.builders import PLAIN, at


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nonsense"),
        ("GET", "/static/nonsense.js"),
        ("GET", "/nonsense/first/messages"),
        ("PUT", "/topics"),
    ],
)
def test_a_page_that_is_not_there_says_so(method: str, path: str) -> None:
    """No page of a framework: the console's own, with its words and a way back."""
    browser = Browser()
    answer = browser.client.request(method, path, headers=browser.sent_with_forms)
    assert answer.status_code == 404
    assert "There is no such page." in words(answer.text)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_an_unexpected_error_has_a_page_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the error, and where its traceback stands."""
    browser = Browser()

    def broken(_: str) -> Any:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(browser.store, "get_topic", broken)
    client = TestClient(browser.app, base_url=BASE, raise_server_exceptions=False)
    answer = client.get("/topics/flights")
    assert answer.status_code == 500
    said = (
        "RuntimeError: the disk is on fire (unexpected; the log of the console has the traceback)"
    )
    assert said in words(answer.text)


def test_the_progress_of_a_job_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser asks again as soon as it is answered: an answer at once would be asked for again
    and again. When the job is done it goes to its page."""
    browser = Browser()
    console: Any = browser.app
    while not hasattr(getattr(console, "state", None), "console"):
        console = console.app
    jobs = console.state.console.jobs
    waited: list[float] = []

    class Working:
        id, title, section, is_done, start = "7", "Counting", "topics", False, at(0)

        def wait(self, seconds: float) -> None:
            waited.append(seconds)
            self.is_done = len(waited) > 1

    working = Working()
    monkeypatch.setattr(jobs, "find", lambda _: working)
    monkeypatch.setattr(jobs, "elapsed", lambda _: 1.0)
    answers = [browser.get("/jobs/7/progress") for _ in range(2)]
    assert waited == [WAIT_SECONDS] * 2
    assert [each.headers.get("hx-redirect") for each in answers] == [None, "/jobs/7"]


@pytest.mark.parametrize(
    ("headers", "is_cross"),
    [
        ({}, False),
        ({"origin": "http://a:1", "host": "a:1"}, False),
        ({"origin": "http://a:1", "host": "a:2"}, True),
        ({"origin": "http://[", "host": "a"}, True),
        ({"origin": "null", "host": "a"}, True),
        ({"origin": "http://a"}, True),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "cross-site", "origin": "http://a", "host": "a"}, True),
        ({"sec-fetch-site": "same-origin", "origin": "http://b", "host": "a"}, True),
    ],
)
def test_whose_page_has_sent_a_request(headers: dict[str, str], is_cross: bool) -> None:
    """Both headers must name this console, where a browser sends them."""
    assert is_cross_origin(headers) is is_cross


def test_a_server_writes_no_line_for_each_request() -> None:
    """Addresses of pages hold what was searched for. An X-Forwarded-For is nobody's address."""
    told = serve._server(Browser().app, log_config=None).config
    assert (told.access_log, told.log_level, told.server_header, told.proxy_headers) == (
        False, "warning", False, False,
    )  # fmt: skip
    assert told.timeout_graceful_shutdown == 5


def test_revisions_show_what_has_changed_since_the_one_before() -> None:
    """The first has none before it; lines around a change are shown with a space."""
    fields = ["a", "b", "c", "d", "e", "f"]

    def schema(revision: str, *lines: str) -> Schema:
        text = 'syntax = "proto3";\n' + "\n".join(lines)
        return Schema(
            "projects/p/schemas/s", SchemaType.PROTOCOL_BUFFER, text, revision, at(0), "u"
        )

    first = schema("1", *fields)
    second = schema("2", *fields[:3], "D", *fields[4:])
    same = schema("3", *fields[:3], "D", *fields[4:])
    assert revisions_of([]) == []
    assert revisions_of([same, second, first]) == [
        Revision(same, "2", ()),
        Revision(
            second,
            "1",
            (
                ("@", "@ -3,5 +3,5 @@"),
                (" ", "b"), (" ", "c"), ("-", "d"), ("+", "D"), (" ", "e"), (" ", "f"),
            ),
        ),
        Revision(first, "", ()),
    ]  # fmt: skip


def test_views_of_data_are_told_whole() -> None:
    """A note stands where something is cut off, and nowhere else."""
    hexed = message_data.hexadecimal
    assert data_views(b"abc", 3) == [
        DataView("text", "Text", "abc"),
        DataView("hex", "Hexadecimal", hexed(b"abc")),
    ]
    assert data_views(b"abc", 4)[0] == DataView(
        "text", "Text", "abc", note="The beginning of 4 bytes; a download has all of them"
    )
    most = message_data.MAX_TEXT_BYTES
    for size, note in (
        (most, ""),
        (most + 1, f"The beginning of {most + 1:,} bytes; a download has all of them"),
    ):
        text = data_views(b"a" * size, size)[0]
        assert (len(text.text), text.note) == (most, note)
    longest = message_data._HEX_BYTES
    for size, note in (
        (longest, ""),
        (longest + 1, f"The first {longest:,} of {longest + 1:,} bytes"),
    ):
        assert data_views(b"\xff" * size, size) == [
            DataView("hex", "Hexadecimal", hexed(b"\xff" * longest), note=note)
        ]


def test_the_tree_of_json_ends_at_its_depth() -> None:
    """What is deeper is written as one line."""
    depth = 0
    node: Node | None = json_tree(b"[" * 200 + b"]" * 200)
    assert node is not None
    while node.parts:
        (node,) = node.parts
        depth += 1
    assert depth == message_data._DEEPEST + 1
    assert node == Node("…", "more", "more than a page shows; it stands in the text")


def test_a_rate_is_known_after_a_second_look() -> None:
    (column,) = (each for each in subscriptions.COLUMNS if each.name == "rate")
    assert column.key(subscriptions.Row("a", PLAIN, None, None)) is None
    for rate in (None, 0.0, 2.5):
        measured: Any = Measurement("u", at(0), None, 7, rate)
        assert column.key(subscriptions.Row("a", PLAIN, measured, None)) == rate


def test_every_column_but_the_first_can_be_chosen() -> None:
    columns = subscriptions.COLUMNS
    rows = [subscriptions.Row(f"s{n:03}", PLAIN, None, None) for n in range(PAGE_SIZE + 1)]
    asked = Request({"type": "http", "query_string": b"page=2", "headers": []})
    told = list_page(asked, "/subscriptions", rows, columns, "id")
    assert told.choices == columns[1:]
    assert [row.id for row in told.rows] == [f"s{PAGE_SIZE:03}"]
    assert (told.total, told.every, told.pages, told.page) == (PAGE_SIZE + 1, PAGE_SIZE + 1, 2, 2)


def test_all_that_is_wrong_of_an_edit_is_told_at_its_fields() -> None:
    """ "all that is wrong is told at once, at its fields"; what is checked together, together."""
    form = Form()
    fields = {
        "ack_deadline_seconds": 5,
        "retry_policy": RetryPolicy("10s", "5s"),
        "labels": {"": "a"},
        "message_retention_duration": timedelta(days=2),
        "expiration_policy": ExpirationPolicy(timedelta(days=1)),
    }
    check_update(form, fields, PLAIN, "local")
    assert form.errors.keys() >= {"ack_deadline", "labels", "expiration_days"}
    assert len(form.errors) == 4
    longer = Form()
    both = {
        "message_retention_duration": timedelta(days=20),
        "expiration_policy": ExpirationPolicy(timedelta(days=40)),
    }
    check_update(longer, both, PLAIN, "local")
    assert longer.errors == {}


@pytest.mark.parametrize(
    ("kept", "days", "wrong"),
    [
        (None, 1, set()),  # what it keeps could not be read: only that is told
        (None, 0.5, {"expiration_days"}),
        (timedelta(days=1), 1, {"expiration_days"}),
        (timedelta(hours=23), 1, set()),
        (timedelta(days=7), 7, {"expiration_days"}),
        (timedelta(days=7), 8, set()),
    ],
)
def test_a_new_subscription_expires_later_than_its_messages(
    kept: timedelta | None, days: float, wrong: set[str]
) -> None:
    """ "at least one day and longer than message_retention_duration"."""
    form = Form()
    fields: dict[str, Any] = {
        "expiration_policy": ExpirationPolicy(timedelta(days=days)),
        "enable_exactly_once_delivery": False,
    }
    if kept is not None:
        fields["message_retention_duration"] = kept
    check_new(form, "second", "flights", fields, "local")
    assert form.errors.keys() == wrong


def test_a_deletion_says_what_is_lost_and_what_stays() -> None:
    browser = Browser()
    browser.world.publish("a", "b")
    told = words(browser.get("/subscriptions/first/delete").text)
    assert "2 unacknowledged messages are in it" in told
    assert "Its snapshots stay until they expire." in told


def test_a_new_snapshot_is_told_at_once_what_is_wrong_with_its_id() -> None:
    browser = Browser()
    sent = {"id": "no id", "subscription": "first", "labels": f"{'k' * 64}=v"}
    answer = browser.post("/snapshots/_new", sent)
    assert answer.status_code == 400
    assert 'id="labels-error"' in answer.text
    assert "'no id'" in words(answer.text.partition('id="id-error"')[2])


def test_a_replay_that_somebody_else_hinders_shows_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a conflict only if the subscription has changed since it was shown."""
    browser = Browser()

    def hindered(*_: object, **__: object) -> None:
        raise Aborted("another process writes")

    monkeypatch.setattr(browser.store, "seek", hindered)
    sent = {"target": "time", "time_date": "2030-01-01"}
    shown = form_from_pairs(browser.ask("/subscriptions/first/replay", sent, "/preview").text)
    answer = browser.client.post(shown.action, data=shown.fields)
    assert "another process writes" in words(answer.text)
    assert "Somebody changed" not in words(answer.text)


@pytest.mark.parametrize("text", ["é", "€\u2028", "a\tb"])
def test_a_download_of_lines_is_readable_text(text: str) -> None:
    """JSON Lines in UTF-8: letters stand as they are, and every message is one line."""
    browser = Browser()
    browser.world.publish(text, attributes={"k": text})
    (line,) = browser.get("/topics/flights/messages/download?format=jsonl").content.splitlines()
    assert json.loads(line)["data"] == text
    assert ("é" in text) is ("é".encode() in line)
    told = json.loads(line)
    assert told.keys() == {"message_id", "publish_time", "ordering_key", "attributes", "data"}
    assert told["attributes"] == {"k": text}


@pytest.mark.parametrize("data", ["AB$D", "YW$Jj", "A", "AAA", "AA=A", "é==="])
def test_data_that_is_not_base64_is_told_at_its_field(data: str) -> None:
    """Nothing is left out silently: a letter that Base64 lacks is refused."""
    browser = Browser()
    answer = browser.post("/topics/flights/publish", {"data": data, "is_base64": "on"})
    assert answer.status_code == 400
    assert "it is not Base64; letters, digits, + and / are accepted" in words(answer.text)
    assert browser.world.stored() == []
    browser.post("/topics/flights/publish", {"data": " YW\nJj ", "is_base64": "on"})
    assert browser.world.stored() == ["abc"]
