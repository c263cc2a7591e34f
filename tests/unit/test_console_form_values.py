"""What the form of a subscription shows, reads of what it has shown, and opens."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console.error_texts import readable
from pubsub_delta.console.forms import Form, pairs
from pubsub_delta.console.subscription_form import (
    changed_fields,
    editable_fields,
    form_values,
)
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    NoWrapper,
    OidcToken,
    PushConfig,
    RetryPolicy,
)
from pubsub_delta.table_config import TableConfig
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import PLAIN

OIDC = OidcToken("pusher@project.iam.gserviceaccount.com", "https://a.example.org")
EVERY_KIND: list[dict[str, Any]] = [
    {"push_config": PushConfig("https://a.example.org")},
    {"push_config": PushConfig("https://a.example.org", oidc_token=OIDC)},
    {"push_config": PushConfig("https://a.example.org", no_wrapper=NoWrapper())},
    {"push_config": PushConfig("https://a.example.org", no_wrapper=NoWrapper(True))},
    {"table_config": TableConfig("shop.orders")},
    {"table_config": TableConfig("shop.orders", write_metadata=True)},
    {"table_config": TableConfig("shop.orders", use_table_schema=True, drop_unknown_fields=True)},
    {"table_config": TableConfig("shop.orders", use_topic_schema=True, write_metadata=True)},
    {"expiration_policy": ExpirationPolicy(None), "retain_acked_messages": True},
    {"expiration_policy": ExpirationPolicy("40d"), "enable_exactly_once_delivery": True},
    {"retry_policy": RetryPolicy("0s", "600s"), "labels": {"a": "", "b": "c"}},
    {"dead_letter_policy": DeadLetterPolicy("projects/other/topics/letters", 100)},
]
PLAIN_KINDS = [each for each in EVERY_KIND[:10] if "table_config" not in each]
LONG = ExpirationPolicy("40d")
KEPT_LONG: list[dict[str, Any]] = [
    {"message_retention_duration": kept, "expiration_policy": LONG}
    for kept in ("10m", "7d", "8d", "10d1h", "30d23h59m", "31d")
]


@pytest.mark.parametrize("fields", EVERY_KIND, ids=lambda each: ", ".join(each))
def test_a_form_reads_what_it_shows_of_every_field(fields: dict[str, Any]) -> None:
    """Who changes one field and saves must not change another without a word."""
    stored = replace(PLAIN, **fields)
    values = form_values(stored, "local")
    form = Form({**values}, {})
    assert changed_fields(form, stored, "local") == {}
    read = editable_fields(form)
    assert {name: read[name] for name in fields} == fields
    assert not form.has_errors
    plain = replace(PLAIN, uid=stored.uid)
    changed = changed_fields(Form({**values}, {}), plain, "local")
    assert changed.keys() == fields.keys()


@pytest.mark.parametrize(
    ("sent", "is_open"),
    [
        ({}, False),
        ({"topic": "absent"}, False),
        ({"delivery": "push", "push_endpoint": "ftp://a"}, False),
        ({"delivery": "push", "push_endpoint": "http://a", "topic": ""}, False),
        (
            {
                "delivery": "push",
                "push_endpoint": "http://a",
                "unwrapped": "on",
                "write_metadata": "on",
            },
            False,
        ),
        ({"delivery": "table", "table": "shop.orders", "table_metadata": "on"}, False),
        ({"ack_deadline": "9"}, True),
        ({"ack_deadline": "11", "topic": ""}, True),
        ({"ordering": "on", "topic": ""}, True),
        ({"labels": "team"}, True),
        ({"expires": "after", "expiration_days": "x"}, True),
    ],
)
def test_the_other_options_are_open_where_one_is_wrong_or_was_changed(
    sent: dict[str, str], is_open: bool
) -> None:
    """An error that nobody sees would leave its reader with a form that cannot be sent."""
    browser = Browser()
    typed = {"id": "x", "topic": "flights", **sent}  # the id is too short
    answer = browser.post("/subscriptions/_new", typed)
    assert answer.status_code == 400
    assert re.findall(r'<details class="more"( open)?>', answer.text) == [" open" * is_open]


def test_a_field_shows_its_first_error() -> None:
    """An error is added "unless the field has one already"."""
    form, fields = Form(), {"labels": "labels"}
    for why in ("the first", "the second"):
        form.add_error(InvalidArgument(f"labels: {why}"), fields)
    assert "first" in form.errors["labels"]


@pytest.mark.parametrize(
    ("at", "other"),
    [
        ("/subscriptions/first", {"ack_deadline": "20"}),
        ("/topics/flights", {"retain": "on"}),
        ("/snapshots/before", {"expire_date": "2026-01-03"}),
    ],
)
def test_a_label_that_a_line_cannot_hold_stays_and_hinders_no_edit(
    at: str, other: dict[str, str]
) -> None:
    """ "A page of the console changes what it has shown, and nothing else." """
    browser = Browser()
    browser.store.create_snapshot("before", "first")
    _, kind, name = at.split("/")
    labels = {"team": "gates", "a=b": "c", " x": "y", "note": "two\nlines", "k": "v\rw", "n\0": ""}
    getattr(browser.store, f"update_{kind[:-1]}")(name, labels=labels)
    stored = partial(getattr(browser.store, f"get_{kind[:-1]}"), name)
    before = stored()
    assert "Lines cannot hold a=b, x, note, k, n\\x00, which" in words(
        browser.get(f"{at}/edit").text
    )
    assert browser.post(f"{at}/edit", other).status_code == 200
    assert stored() != before
    assert stored().labels == labels
    browser.post(f"{at}/edit", {"labels": "new=1"})
    del labels["team"]
    assert stored().labels == {**labels, "new": "1"}
    browser.post(f"{at}/edit", {"labels": "note=one line"})
    assert stored().labels == {**labels, "note": "one line"}


@pytest.mark.parametrize("fields", [*PLAIN_KINDS, *KEPT_LONG], ids=lambda each: ", ".join(each))
def test_a_page_that_is_sent_as_it_was_shown_changes_nothing(fields: dict[str, Any]) -> None:
    """ "A page of the console changes what it has shown, and nothing else." So does a browser: it
    sends the first choice of a menu of which none is chosen."""
    browser = Browser()
    browser.store.create_subscription("second", "flights", **fields)
    stored = browser.store.get_subscription("second")
    assert "Nothing was changed." in words(browser.post("/subscriptions/second/edit").text)
    assert browser.store.get_subscription("second") == stored
    browser.world.be_at(1)
    browser.post("/subscriptions/second/edit", {"labels": "a=b"})
    changed = browser.store.get_subscription("second")
    assert changed == replace(stored, labels={"a": "b"}, update_time=changed.update_time)


@pytest.mark.parametrize("kept", ["10m", "7d", "8d", "31d"])
def test_the_page_of_a_topic_keeps_how_long_it_keeps_messages(kept: str) -> None:
    browser = Browser()
    stored = browser.store.update_topic("flights", message_retention_duration=kept)
    assert "Nothing was changed." in words(browser.post("/topics/flights/edit").text)
    assert browser.store.get_topic("flights") == stored


def test_a_duration_that_no_menu_has_is_shown_again() -> None:
    """Of a form with an error nothing is lost that was in it."""
    sent = {"id": "second", "topic": "flights", "retention_days": "32"}
    page = Browser().post("/subscriptions/_new", sent)
    assert form_from_pairs(page.text, "/subscriptions/_new").fields["retention_days"] == "32"


@pytest.mark.parametrize("at", ["/subscriptions/_new", "/topics/_new"])
def test_a_menu_has_every_number_of_days_that_is_accepted(at: str) -> None:
    """ "10 minutes to 31 days"."""
    days = Browser().get(at).text.partition('name="retention_days"')[2].partition("</select>")[0]
    assert re.findall(r"<option[^>]*>(\d+)<", days) == [str(day) for day in range(32)]


@pytest.mark.parametrize("key", ["a", " a b ", "é~%", "a=b", "=", "a=", " ", "\t"])
def test_a_row_takes_the_keys_that_its_line_holds(key: str) -> None:
    """The rows of the page are sent as lines, which end a key at the first equals sign."""
    script = Browser().get("/static/console.js").text
    (written,) = re.findall(r"field\.pattern = (\".*\");", script)
    try:
        is_held = pairs(Form({"labels": f"{key}=value"}), "labels") == {key.strip(): "value"}
    except InvalidArgument:
        is_held = False
    assert bool(re.fullmatch(json.loads(written), key)) is is_held


def test_what_was_given_is_shown_as_it_is() -> None:
    """Names of fields become words of the pages, but not what a user has typed."""
    told = "labels: 'expire_time' and \"push_config\" are taken; the topic's expire_time is not"
    shown = "labels: 'expire_time' and \"push_config\" are taken; the topic's expiry is not"
    assert readable(told) == shown


def test_a_token_is_of_the_account_and_for_the_audience_that_were_typed() -> None:
    browser = Browser()
    given = {"delivery": "push", "push_endpoint": "https://a.example.org"}
    named = {"push_account": OIDC.service_account_email, "push_audience": OIDC.audience}
    browser.post("/subscriptions/_new", {"id": "second", "topic": "flights", **given, **named})
    stored = browser.store.get_subscription("second").push_config
    assert stored is not None
    assert stored.oidc_token == OIDC


def test_an_edit_of_labels_leaves_the_expire_time_of_a_snapshot_as_it_is() -> None:
    """Its form has it to the second: what was not changed in the form is not changed."""
    browser = Browser()
    browser.world.be_at(0.25)
    expire_time = browser.store.create_snapshot("before", "first").expire_time
    browser.post("/snapshots/before/edit", {"labels": "a=b"})
    stored = browser.store.get_snapshot("before")
    assert (stored.labels, stored.expire_time) == ({"a": "b"}, expire_time)
    assert stored.expire_time.microsecond == 250_000


@pytest.mark.parametrize(
    ("page", "also"),
    [("/topics/_new", {}), ("/subscriptions/_new", {"topic": "flights"})],
)
def test_a_wrong_id_is_told_with_what_else_is_wrong(page: str, also: dict[str, str]) -> None:
    """ "all that is wrong is told at once, at its fields"."""
    answer = Browser().post(page, {"id": "no id", "labels": f"{'k' * 64}=v", **also})
    assert answer.status_code == 400
    assert {'id="id-error"', 'id="labels-error"'} <= {*re.findall('id="[a-z]+-error"', answer.text)}
