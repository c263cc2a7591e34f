"""Which of the batches that were pulled in the console are kept, and what their pages tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")

from typing import Any

from pubsub_delta.batches import PulledBatch
from pubsub_delta.console.jobs import Job
from pubsub_delta.console.leased_batches import MAX_KEPT, LeasedBatches
from pubsub_delta.errors import DataLoss, Unavailable
from pubsub_delta.resources import AckResult, ReceivedMessage, RetryPolicy
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.builders import MINUTE


def test_of_many_batches_the_one_that_is_in_use_is_kept() -> None:
    """The oldest are dropped: those that nobody has changed for the longest time."""
    batches = LeasedBatches()
    first, second, third, *_ = [batches.add("delays", [], None) for _ in range(MAX_KEPT)]
    batches.change(first)
    batches.add("delays", [], None)
    assert batches.find(first.id, "delays") == first
    assert batches.find(second.id, "delays") is None
    assert batches.find(third.id, "delays") == third, "20 are kept"


@pytest.mark.parametrize(("number", "pulled"), [("0", 0), ("1", 1), ("100", 100), ("101", 0)])
def test_a_page_has_1_to_100_messages(number: str, pulled: int) -> None:
    """ "a number from 1 to 100"."""
    browser = Browser()
    browser.world.publish(*map(str, range(101)))
    page = browser.post("/subscriptions/first/pull", {"max_messages": number})
    assert ("is out of range" in page.text) is (pulled == 0)
    assert page.status_code == (200 if pulled else 400)
    assert browser.store.metrics("first")["num_outstanding_messages"] == pulled


def test_a_lease_that_was_over_is_not_shown_as_longer() -> None:
    """The countdown is that of the lease: messages are delivered again when it is over."""
    browser = Browser()
    browser.world.publish("a")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)
    browser.world.be_at(MINUTE)
    longer = browser.client.post(form.action, data={**form.fields, "verb": "extend"})
    assert "of 1 the lease was over" in words(longer.text)
    assert 'data-seconds="0"' in longer.text


@pytest.mark.parametrize(("passed", "left", "more"), [(0, 600, 0), (30, 600, 30), (500, 160, 60)])
def test_a_long_lease_is_not_cut_short_by_keeping_it_longer(
    passed: int, left: int, more: int
) -> None:
    """ "all can be kept for 60 s more": never for less, up to the longest deadline of 600 s."""
    browser = Browser(ack_deadline_seconds=600)
    browser.world.publish("a")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)
    browser.world.be_at(passed)
    longer = browser.client.post(form.action, data={**form.fields, "verb": "extend"})
    assert f"1 kept for {more} s more." in words(longer.text)
    assert f'data-seconds="{left}"' in longer.text
    browser.world.be_at(passed + left - 1)
    assert browser.world.backlog() == {"a": "leased"}
    browser.world.be_at(passed + left)
    assert browser.world.backlog() == {"a": "available"}


def test_what_a_page_cannot_show_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has seen what could not be read: it is available at once, and has not failed."""
    browser = Browser(ack_deadline_seconds=600, retry_policy=RetryPolicy("600s", "600s"))
    browser.world.publish("a", "b")

    def broken(_: PulledBatch) -> Iterator[ReceivedMessage]:
        raise DataLoss("a file of it is missing or damaged; restore it from a copy")

    monkeypatch.setattr(PulledBatch, "__iter__", broken)
    assert "a file of it is missing" in words(browser.pull().text)
    assert browser.world.backlog() == {"a": "available", "b": "available"}


def test_what_another_page_has_answered_for_meanwhile_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "Acknowledged ones leave the page": those of two forms that are sent at once, too."""
    browser = Browser()
    browser.world.publish("a", "b")
    page = browser.pull()
    one, other = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
    form = form_from_pairs(page.text, page.url.path)
    acknowledge = browser.store.acknowledge

    def after_another(name: str, ack_ids: list[str]) -> AckResult:
        monkeypatch.setattr(browser.store, "acknowledge", acknowledge)
        fields = {**form.fields, "ack_id": other, "verb": "ack"}
        assert "1 acknowledged." in words(browser.client.post(form.action, data=fields).text)
        return acknowledge(name, ack_ids)

    monkeypatch.setattr(browser.store, "acknowledge", after_another)
    browser.client.post(form.action, data={**form.fields, "ack_id": one, "verb": "ack"})
    again = browser.get(page.url.path).text
    assert re.findall(r'name="ack_id" value="([^"]*)"', again) == []


def test_a_page_that_is_shown_later_counts_from_the_time_of_the_extension(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The countdown is that of the lease, whenever the result of slow work is looked at."""
    browser = Browser()
    browser.world.publish("a")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)
    with monkeypatch.context() as patched:
        patched.setattr(Job, "wait", lambda *_: False)
        sent = {**form.fields, "verb": "extend"}
        job = browser.client.post(form.action, data=sent, follow_redirects=False)
    at = job.headers["location"]
    assert at.startswith("/jobs/")
    while browser.client.get(at, follow_redirects=False).status_code != 303:
        pass
    browser.world.be_at(40)
    assert 'data-seconds="30"' in browser.get(at).text, "10 s and 60 s more, of which 40 are over"


@pytest.mark.parametrize(
    ("verb", "told"),
    [("ack", "1 acknowledged; of 1 the lease was over."), ("nack", "1 nacked; of 1 the lease")],
)
def test_what_was_too_late_is_not_counted_as_done(verb: str, told: str) -> None:
    """ "success", "expired" and "invalid" are three outcomes, and each id has one."""
    browser = Browser()
    browser.world.publish("a", "b")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)
    ids = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
    browser.store.modify_ack_deadline("first", ids[:1], 0)
    sent = {**form.fields, "ack_id": ids, "verb": verb}
    assert told in words(browser.client.post(form.action, data=sent).text)


def test_messages_that_could_not_be_answered_are_still_on_their_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who was told nothing would take them for acknowledged."""
    browser = Browser()
    browser.world.publish("a")
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)

    def away(*_: Any, **__: Any) -> Any:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(browser.store, "acknowledge", away)
        (ack_id,) = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
        sent = {**form.fields, "ack_id": ack_id, "verb": "ack"}
        told = browser.client.post(form.action, data=sent, headers=browser.sent_with_forms)
    assert "the disk is full" in words(told.text)
    assert told.url.path == page.url.path
    again = browser.client.post(form.action, data=sent, headers=browser.sent_with_forms)
    assert "1 acknowledged" in words(again.text)
