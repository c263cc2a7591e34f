"""A form creates the subscription for the dead letters with its own, or says at its field why not.

The page promises: "all that is wrong is told at once, at its fields".
"""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.errors import Unavailable
from tests.unit.browsing import Browser, form_from_pairs, words

FIELD = "dead_letter_subscription_id"
ASKED: dict[str, Any] = {
    "dead_letter": "on",
    "dead_letter_topic": "+",
    "new_dead_letter_topic": "lost",
    "create_dead_letter_subscription": "on",
}
NEW: dict[str, Any] = {"id": "second", "topic": "flights", **ASKED}


def names(browser: Browser) -> set[str]:
    """Return the ids of all topics and subscriptions."""
    found = [each.name for each in browser.store.list_topics()]
    found += [each.name for each in browser.store.list_subscriptions()]
    return {name.rpartition("/")[2] for name in found}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("no id", "is not a subscription id"),
        ("", "is not a subscription id"),
        ("first", "a subscription first exists already"),
        ("second", "it is the ID of the subscription itself"),
    ],
)
def test_a_wrong_id_is_told_at_its_field_before_anything_is_created(given: str, why: str) -> None:
    browser = Browser()
    before = names(browser)
    answer = browser.post("/subscriptions/_new", {**NEW, FIELD: given})
    assert answer.status_code == 400
    told = words(answer.text)
    assert why in told[told.index("ID of the subscription for dead letters: ") :][:100]
    assert f'id="{FIELD}-error"' in answer.text
    assert 'id="id-error"' not in answer.text
    assert names(browser) == before
    form = form_from_pairs(answer.text, "/subscriptions/_new")
    browser.client.post(form.action, data={**form.fields, FIELD: "kept"})
    assert names(browser) == before | {"second", "lost", "kept"}


@pytest.mark.parametrize("given", ["no id", "first"])
def test_a_wrong_id_in_an_edit_changes_nothing(given: str) -> None:
    browser = Browser()
    before = names(browser)
    answer = browser.post("/subscriptions/first/edit", {**ASKED, FIELD: given})
    assert answer.status_code == 400
    assert f'id="{FIELD}-error"' in answer.text
    assert names(browser) == before
    assert browser.store.get_subscription("first").dead_letter_policy is None


def test_an_edit_creates_what_it_asks_for_though_nothing_else_is_changed() -> None:
    """ "If it has no subscription, … the form offers to create one"."""
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters"))
    policy = browser.store.get_subscription("first").dead_letter_policy
    answer = browser.post(
        "/subscriptions/first/edit", {"create_dead_letter_subscription": "on", FIELD: "kept"}
    )
    assert browser.store.get_subscription("kept").topic == "projects/local/topics/letters"
    assert browser.store.get_subscription("first").dead_letter_policy == policy
    assert "It has a subscription: kept." in words(answer.text)


def test_an_edit_that_could_not_create_it_says_what_is_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = Browser()

    def full(*_: Any, **__: Any) -> Any:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(type(browser.store), "create_subscription", full)
        answer = browser.post("/subscriptions/first/edit", {**ASKED, FIELD: "kept"})
    told = "first is saved, but the subscription kept for its dead letters was not created"
    assert told in words(answer.text)
    form = form_from_pairs(answer.text, "/subscriptions/first/edit")
    again = browser.client.post(form.action, data=form.fields)
    assert "The subscription was updated." in words(again.text)
    assert {"lost", "kept"} <= names(browser)


@pytest.mark.parametrize(
    ("given", "why"), [("first", "exists already"), ("no id", "is not a subscription id")]
)
def test_the_page_that_offers_the_subscription_says_at_its_field_why_not(
    given: str, why: str
) -> None:
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters", 5))
    refused = browser.post("/subscriptions/first", {FIELD: given}, "dead-letter-subscription")
    assert refused.status_code == 400
    (told,) = re.findall(rf'id="{FIELD}-error"[^>]*>([^<]*)<', refused.text)
    assert why in told
    assert names(browser) == {"letters", "flights", "first"}


@pytest.mark.parametrize("policy", [DeadLetterPolicy("others", 5), None])
def test_a_page_of_a_former_dead_letter_topic_creates_nothing(
    policy: DeadLetterPolicy | None,
) -> None:
    """ "A page of the console changes what it has shown, and nothing else." """
    browser = Browser(dead_letter_policy=DeadLetterPolicy("letters", 5))
    browser.store.create_topic("others")
    form = form_from_pairs(browser.get("/subscriptions/first").text, "dead-letter-subscription")
    browser.store.update_subscription("first", dead_letter_policy=policy)
    answer = browser.client.post(form.action, data=form.fields, headers=browser.sent_with_forms)
    assert "Somebody changed the dead-letter topic" in words(answer.text)
    assert [each.name.rsplit("/", 1)[1] for each in browser.store.list_subscriptions()] == ["first"]
    if policy is not None:
        refused = browser.post("/subscriptions/first", {FIELD: "x"}, "dead-letter-subscription")
        again = form_from_pairs(refused.text, "dead-letter-subscription").fields | {FIELD: "kept"}
        browser.client.post(form.action, data=again, headers=browser.sent_with_forms)
        assert browser.store.get_subscription("kept").topic == "projects/local/topics/others"


@pytest.mark.parametrize("at", ["/subscriptions/_new", "/subscriptions/first/edit"])
def test_a_form_without_a_dead_letter_policy_creates_no_topic_for_one(at: str) -> None:
    """What is written into fields of a box that is not checked is not asked for."""
    browser = Browser()
    topics = len(browser.store.list_topics())
    given = {**ASKED, "dead_letter": None, "id": "second", "topic": "flights", "labels": "a=b"}
    answer = browser.post(at, {**given, "create_dead_letter_subscription": None})
    assert answer.status_code == 200
    assert len(browser.store.list_topics()) == topics
    assert {"a": "b"} in [each.labels for each in browser.store.list_subscriptions()]
    assert all(each.dead_letter_policy is None for each in browser.store.list_subscriptions())
