"""The console's forms: errors at their fields, lost updates, and what a form leaves alone."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi import Request, Response

from pubsub_delta.console import forms
from pubsub_delta.console.forms import Form
from pubsub_delta.console.resource_changes import EDIT_CONFLICT, fingerprint, on_conflict
from pubsub_delta.console.subscription_form import form_values
from pubsub_delta.errors import Aborted, InvalidArgument
from pubsub_delta.resources import DeadLetterPolicy, ExpirationPolicy, RetryPolicy
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import PLAIN

WRITTEN = [
    ("a=1\r\nb=2\r\n", {"a": "1", "b": "2"}),
    ("a=1\nb=2", {"a": "1", "b": "2"}),
]
WRONG = [
    ({"id": "x"}, "id", "'x' is not a subscription id"),
    ({"id": "first"}, "id", "exists already"),
    ({"topic": ""}, "topic", "no topic is chosen"),
    ({"topic": "absent"}, "topic", "absent does not exist"),
    ({"ack_deadline": "9"}, "ack_deadline", "9 is out of range"),
    ({"ack_deadline": "ten"}, "ack_deadline", "'ten' is not a whole number"),
    ({"retention_days": "0"}, "retention", "from 10 min to 31 d is accepted"),
    ({"retention_days": "31", "retention_hours": "1"}, "retention", "from 10 min to 31 d"),
    ({"retention_hours": "many"}, "retention", "'many' is not a whole number"),
    ({"expiration_days": "7"}, "expiration_days", "not longer than the message retention"),
    ({"expiration_days": "1e99"}, "expiration_days", "'1e99' is not a number"),
    ({"filter": "attributes.lang = en"}, "filter", "column 19"),
    ({"dead_letter": "on"}, "dead_letter_topic", "no topic is chosen"),
    ({"dead_letter": "on", "dead_letter_topic": "flights"}, "dead_letter_topic", "own topic"),
    ({"dead_letter": "on", "dead_letter_topic": "absent"}, "dead_letter_topic", "does not exist"),
    ({"dead_letter": "on", "dead_letter_topic": "letters", "max_delivery_attempts": "4"},
     "max_delivery_attempts", "4 is out of range"),
    ({"retry": "backoff", "minimum_backoff": "20", "maximum_backoff": "10"},
     "minimum_backoff", "is more than"),
    ({"retry": "backoff", "maximum_backoff": "601"}, "maximum_backoff", "out of range"),
    ({"retry": "backoff", "minimum_backoff": "nan"}, "minimum_backoff", "'nan' is not a number"),
    ({"retry": "backoff", "minimum_backoff": "1_0"}, "minimum_backoff", "'1_0' is not a number"),
    ({"delivery": "push", "push_endpoint": "ftp://a"}, "push_endpoint", "neither http"),
    ({"delivery": "push", "push_endpoint": "http://a", "exactly_once": "on"},
     "push_endpoint", "only where messages are pulled"),
    ({"delivery": "table", "table": "no table"}, "table", "names no table"),
    ({"delivery": "table", "table": "shop.orders", "exactly_once": "on"},
     "table", "only where messages are pulled"),
    ({"labels": "team"}, "labels", "'team' is not key=value"),
    ({"labels": "a=1\na=2"}, "labels", "'a' is given twice"),
    ({"labels": "x" * 64 + "=1"}, "labels", "has 64 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "field", "text"), WRONG)
def test_an_error_stands_at_the_field_that_it_concerns(
    sent: dict[str, str], field: str, text: str
) -> None:
    """Errors of the library appear at the field they concern, with its text."""
    browser = Browser()
    typed = {"id": "second", "topic": "flights", "labels": "kept=this", **sent}
    answer = browser.post("/subscriptions/_new", typed)
    assert answer.status_code == 400
    (told,) = re.findall(rf'<p class="error" id="{field}-error">(.*?)</p>', answer.text, re.DOTALL)
    assert text in words(told)
    assert re.search(rf'id="{field}"[^>]*aria-describedby="[^"]*{field}-error', answer.text)
    assert 'role="alert"' in answer.text
    if "labels" not in sent:
        assert "kept=this" in answer.text, "what was typed is lost"
    names = {each.name for each in browser.store.list_subscriptions()}
    assert names == {"projects/local/subscriptions/first"}


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({}, "data"),
        ({"attributes": "googclient=1"}, "attributes"),
        ({"attributes": f"a={'x' * 1025}"}, "attributes"),
        ({"data": "a", "ordering_key": "k" * 1025}, "ordering_key"),
    ],
)
def test_a_message_that_breaks_a_rule_is_told_at_the_field(
    sent: dict[str, str], field: str
) -> None:
    browser = Browser()
    answer = browser.post("/topics/flights/publish", sent)
    assert answer.status_code == 400
    assert f'id="{field}-error"' in answer.text
    assert browser.world.backlog() == {}


WRONG_BY_ITSELF = [
    sent
    for sent, _, _ in WRONG
    if not {"topic", "id"} & sent.keys() and sent.get("dead_letter_topic") in (None, "letters")
]
"""Forms that are wrong whatever the store holds."""


@pytest.mark.parametrize("wrong", [{"id": "x"}, *WRONG_BY_ITSELF])
def test_no_topic_is_created_for_a_form_with_an_error(wrong: dict[str, str]) -> None:
    browser = Browser()
    sent = {"id": "second", "topic": "+", "new_topic": "news", **wrong}
    assert browser.post("/subscriptions/_new", sent).status_code == 400
    names = {each.name.rsplit("/", 1)[1] for each in browser.store.list_topics()}
    assert names == {"flights", "letters"}


def test_a_topic_that_a_form_has_created_is_not_created_again_after_an_error() -> None:
    """The topic stays where the subscription is refused: the form then names it as chosen."""
    browser = Browser()
    lost = {"dead_letter": "on", "dead_letter_topic": "absent"}
    refused = browser.post(
        "/subscriptions/_new", {"id": "second", "topic": "+", "new_topic": "news", **lost}
    )
    assert "does not exist" in words(refused.text)
    form = form_from_pairs(refused.text, "/subscriptions/_new")
    assert form.fields["topic"] == "news"
    mended = {name: value for name, value in form.fields.items() if name != "dead_letter"}
    assert "The subscription was created." in words(
        browser.client.post(form.action, data=mended).text
    )
    assert browser.store.get_subscription("second").topic == "projects/local/topics/news"


def test_a_filter_is_checked_while_it_is_typed() -> None:
    browser = Browser()
    for text, told in (
        ("", "Every message"),
        ("attributes:a", "can be read"),
        ("attributes:", "column 12"),
    ):
        answer = browser.client.get("/filters/check", params={"filter": text})
        assert told in words(answer.text)


@pytest.mark.parametrize(
    ("path", "sent", "change"),
    [
        ("/subscriptions/first", {"ack_deadline": "20"}, {"ack_deadline_seconds": 30}),
        ("/subscriptions/first", {"ack_deadline": "20"}, {"labels": {"team": "gates"}}),
        ("/topics/flights", {"labels": "a=b"}, {"labels": {"team": "gates"}}),
        ("/snapshots/before", {"labels": "a=b"}, {"labels": {"team": "gates"}}),
    ],
)
def test_a_lost_update_is_told_and_nothing_overwritten(
    path: str, sent: dict[str, str], change: dict[str, object]
) -> None:
    """Somebody changed the subscription meanwhile: told, not overwritten."""
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    _, kind, name = path.split("/")
    update = getattr(browser.store, f"update_{kind[:-1]}")
    shown = browser.get(f"{path}/edit").text
    stale = re.findall(r'name="fingerprint" value="(\w+)"', shown)[0]
    browser.world.be_at(1)
    update(name, **change)
    stored = getattr(browser.store, f"get_{kind[:-1]}")(name)
    answer = browser.post(f"{path}/edit", {**sent, "fingerprint": stale})
    assert answer.status_code == 409
    assert "Somebody changed it while you were editing" in words(answer.text)
    assert getattr(browser.store, f"get_{kind[:-1]}")(name) == stored
    assert next(iter(sent.values())) in answer.text, "what was typed is lost"
    fresh = re.findall(r'name="fingerprint" value="(\w+)"', answer.text)[0]
    browser.post(f"{path}/edit", {**sent, "fingerprint": fresh})
    assert getattr(browser.store, f"get_{kind[:-1]}")(name) != stored


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/subscriptions/first", {"ack_deadline": "20"}),
        ("/topics/flights", {"labels": "a=b"}),
        ("/snapshots/before", {"labels": "a=b"}),
    ],
)
def test_a_writer_who_crosses_a_form_is_not_overwritten(
    path: str, sent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes in the same second, after the form was compared with what is stored."""
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    _, kind, name = path.split("/")
    update = getattr(browser.store, f"update_{kind[:-1]}")

    def crossed(*names: str, **fields: Any) -> Any:
        monkeypatch.undo()
        update(name, labels={"team": "towers"})
        return update(*names, **fields)

    monkeypatch.setattr(browser.store, f"update_{kind[:-1]}", crossed)
    answer = browser.post(f"{path}/edit", sent)
    assert answer.status_code == 409
    assert "Somebody changed it while you were editing" in words(answer.text)
    stored = getattr(browser.store, f"get_{kind[:-1]}")
    assert "team=towers" in words(answer.text), "what is stored now is not shown"
    assert next(iter(sent.values())) in answer.text, "what was typed is lost"
    assert stored(name).labels == {"team": "towers"}
    fresh = re.findall(r'name="fingerprint" value="(\w+)"', answer.text)[0]
    assert browser.post(f"{path}/edit", {**sent, "fingerprint": fresh}).status_code == 200
    assert stored(name).labels != {"team": "towers"} or stored(name).ack_deadline_seconds == 20


def test_an_answer_that_tells_of_a_crossing_tells_it_again() -> None:
    """A reader may load the page of a piece of work anew."""
    store = Browser().store
    form = Form({"fingerprint": fingerprint(store.get_topic("flights"))})
    store.update_topic("flights", labels={"team": "towers"})
    answer = on_conflict(
        form,
        lambda: store.get_topic("flights"),
        lambda _, stored: Response(f"stored: {stored.labels}"),
        lambda _, error: Response(str(error)),
    )
    request, crossing = Request({"type": "http"}), Aborted("not what it was")
    for _ in range(2):
        assert b"towers" in answer(request, crossing).body
    assert form.warning == EDIT_CONFLICT
    assert answer(request, InvalidArgument("labels: no")).body == b"labels: no"


def test_too_many_writers_are_told_at_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser()

    def failing(*_: Any, **__: Any) -> None:
        raise Aborted("topic flights: concurrent writers were faster")

    monkeypatch.setattr(browser.store, "update_topic", failing)
    answer = browser.post("/topics/flights/edit", {"labels": "a=b"})
    assert answer.status_code == 400
    assert "concurrent writers were faster" in words(answer.text)
    assert "while you were editing" not in words(answer.text)
    assert "a=b" in answer.text


def test_a_subscription_that_was_created_anew_is_another_one() -> None:
    browser = Browser()
    stale = re.findall(
        r'name="fingerprint" value="(\w+)"', browser.get("/subscriptions/first/edit").text
    )
    browser.store.delete_subscription("first")
    browser.store.create_subscription("first", "flights")
    sent = {"ack_deadline": "20", "fingerprint": stale[0]}
    assert browser.post("/subscriptions/first/edit", sent).status_code == 409


def test_a_replay_of_what_has_changed_since_the_preview_is_not_done() -> None:
    browser = Browser()
    browser.world.publish("a")
    shown = browser.ask("/subscriptions/first/replay", {"time_date": "2030-01-01"}, "/preview")
    stale = re.findall(r'name="(\w+)" value="([^"]*)"', shown.text)
    browser.world.be_at(1)
    browser.store.update_subscription("first", retain_acked_messages=True)
    answer = browser.client.post("/subscriptions/first/replay", data=dict(stale))
    assert answer.status_code == 409
    assert browser.world.backlog() == {"a": "available"}


def test_an_edit_changes_only_what_was_edited() -> None:
    """What a form cannot show to the last second stays as it is."""
    fields: dict[str, Any] = {
        "message_retention_duration": "1d5s",
        "retry_policy": RetryPolicy("1.5s", "2s"),
    }
    browser = Browser(None, **fields, dead_letter_policy=DeadLetterPolicy("letters", 9))
    before = browser.store.get_subscription("first")
    answer = browser.post("/subscriptions/first/edit")
    assert "Nothing was changed." in words(answer.text)
    assert browser.store.get_subscription("first") == before
    browser.post("/subscriptions/first/edit", {"ack_deadline": "11"})
    after = browser.store.get_subscription("first")
    assert after.message_retention_duration == before.message_retention_duration
    assert after.retry_policy == before.retry_policy
    assert after.dead_letter_policy == before.dead_letter_policy
    assert after.ack_deadline_seconds == 11


def test_every_error_of_a_form_is_told_at_once() -> None:
    browser = Browser()
    sent = {
        "id": "x",
        "topic": "",
        "ack_deadline": "9",
        "retention_days": "0",
        "filter": "attributes:",
        "labels": "team",
        "retry": "backoff",
        "maximum_backoff": "601",
        "dead_letter": "on",
    }
    answer = browser.post("/subscriptions/_new", sent)
    wrong = set(re.findall(r'class="error" id="(\w+)-error"', answer.text))
    assert wrong == {
        "id", "topic", "ack_deadline", "retention", "filter", "labels", "maximum_backoff",
        "dead_letter_topic",
    }  # fmt: skip
    assert '<details class="more" open>' in answer.text, "an error is not hidden"


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/subscriptions/_new", {"id": "second", "topic": "flights", "retention_days": "0"}),
        ("/subscriptions/_new", {"id": "second", "topic": "absent"}),
        ("/topics/_new", {"id": "news", "retain": "on", "retention_days": "0"}),
        ("/subscriptions/first/edit", {"expiration_days": "1"}),
        ("/subscriptions/first/edit", {"dead_letter": "on", "dead_letter_topic": "absent"}),
    ],
)
def test_errors_are_in_the_words_of_the_page(path: str, sent: dict[str, str]) -> None:
    """No Python in errors: `datetime.timedelta(0)`, `create_topic creates it`, field names."""
    browser = Browser()
    answer = browser.post(path, sent)
    assert answer.status_code == 400
    alert = answer.text[answer.text.index('role="alert"') :]
    text = words(alert[: alert.index("<form")])
    assert not re.search(r"timedelta|creates it|[a-z]_[a-z]|\(\)", text), text


def test_an_error_of_a_filter_stands_once_and_goes_when_it_is_right() -> None:
    """What is told while it is typed takes the place of the error of the form."""
    browser = Browser()
    answer = browser.post("/subscriptions/_new", {"id": "second", "filter": "attributes:"})
    place = answer.text[answer.text.index('id="filter-told"') :]
    assert 'id="filter-error"' in place[: place.index("</div>")]
    assert answer.text.count('filter-error"') == 2, "the error, and what refers to it"
    part = browser.client.get("/filters/check", params={"filter": "attributes:a"}).text
    assert "error" not in part


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/topics/_new", {"id": "news", "labels": "kept=this"}),
        ("/topics/flights/edit", {"labels": "kept=this"}),
        ("/topics/flights/publish", {"data": "kept=this"}),
        ("/subscriptions/_new", {"id": "second", "topic": "flights", "labels": "kept=this"}),
        ("/subscriptions/first/edit", {"labels": "kept=this"}),
        ("/snapshots/_new", {"id": "kept=this", "subscription": "first"}),
        ("/snapshots/before/edit", {"labels": "kept=this"}),
    ],
)
def test_a_form_from_before_a_restart_comes_back_with_what_was_typed(
    path: str, sent: dict[str, str]
) -> None:
    """The console was restarted: nothing is done, and nothing that was typed is lost."""
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    before = browser.store.get_topic("flights"), len(browser.store.list_topics())
    answer = browser.post(path, {**sent, "csrf_token": "of another console"})
    assert answer.status_code == 403
    assert "Your values are still in it" in words(answer.text)
    assert "kept=this" in answer.text
    assert (browser.store.get_topic("flights"), len(browser.store.list_topics())) == before
    assert browser.world.backlog() == {}
    form = form_from_pairs(answer.text, path)
    again = browser.client.post(path, data=form.fields)
    assert again.status_code == (400 if "kept=this" in sent.get("id", "") else 200)


@pytest.mark.parametrize("minutes", [10, 59, 60, 13 * 60, 18 * 60 + 1, 24 * 60, 31 * 24 * 60 - 1])
def test_a_form_reads_the_duration_that_it_shows(minutes: int) -> None:
    """ "What a form leaves alone": nothing changes because somebody has looked at it."""
    length = timedelta(minutes=minutes)
    assert forms.duration(Form(forms.duration_values("retention", length)), "retention") == length


def test_a_form_reads_the_time_that_it_shows_whatever_its_zone() -> None:
    time = datetime(2026, 1, 2, 23, 4, 5, tzinfo=timezone(timedelta(hours=5)))
    assert forms.utc_time(Form(forms.utc_time_values("until", time)), "until") == time


@pytest.mark.parametrize("days", ["1.5", "31", "1234", "36500"])
def test_a_form_shows_each_day_of_a_ttl(days: str) -> None:
    ttl = ExpirationPolicy(timedelta(days=float(days)))
    assert form_values(replace(PLAIN, expiration_policy=ttl), "p")["expiration_days"] == days


@pytest.mark.parametrize(("text", "labels"), WRITTEN)
def test_a_line_ends_where_a_browser_ends_it(text: str, labels: dict[str, str]) -> None:
    # HTML: a form is sent with CR LF at the end of each line of a text area
    assert forms.pairs(forms.form_from_pairs([("labels", text)]), "labels") == labels
