"""What the console shows where something is missing, wrong, or gone meanwhile.

A page says what is wrong at its field, or above; the store has not changed then.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console import flash
from pubsub_delta.console.flash import Flash, FlashMessages
from pubsub_delta.errors import DataLoss
from tests.unit.browsing import Browser, form_from_pairs, words
from tests.unit.test_console_lists import eventually
from tests.unit.test_console_messages import lines

REPLAY = "/subscriptions/first/replay"


def _wrong(html: str, field: str) -> str:
    """Return what stands at a field that is wrong."""
    (found,) = re.findall(rf'id="{field}-error">([^<]*)<', html)
    return str(found)


def test_a_replay_from_a_chart_begins_at_its_time() -> None:
    browser = Browser()
    form = form_from_pairs(browser.get(f"{REPLAY}?at=1767225600000000").text, "/preview", "get")
    assert form.fields["time_date"] == "2026-01-01"
    assert form.fields["time_time"].startswith("00:00")
    now = form_from_pairs(browser.get(REPLAY).text, "/preview", "get").fields
    for other in ("x", "-1", "9" * 18, "\u0661"):
        fields = form_from_pairs(browser.get(REPLAY, params={"at": other}).text, "/preview", "get")
        assert fields.fields == now


@pytest.mark.parametrize("sent", [{"target": "snapshot", "snapshot": ""}, {"target": "snapshot"}])
def test_a_replay_to_no_snapshot_is_told_at_its_field(sent: dict[str, Any]) -> None:
    browser = Browser()
    for answer in (browser.client.get(f"{REPLAY}/preview", params=sent), _sought(browser, sent)):
        assert answer.status_code == 400
        assert "no snapshot is chosen; choose one of the menu" in _wrong(answer.text, "snapshot")


def test_a_replay_to_a_time_that_is_none_is_told_at_its_field() -> None:
    browser = Browser()
    sent = {"target": "time", "time_date": "2026-02-30", "time_time": "00:00"}
    for answer in (browser.client.get(f"{REPLAY}/preview", params=sent), _sought(browser, sent)):
        assert answer.status_code == 400
        assert "2026-02-30" in words(answer.text)


def test_a_replay_to_a_snapshot_that_is_gone_is_told_at_its_field() -> None:
    """It was deleted while the page was open."""
    browser = Browser()
    sent = {"target": "snapshot", "snapshot": "before"}
    for answer in (browser.client.get(f"{REPLAY}/preview", params=sent), _sought(browser, sent)):
        assert answer.status_code == 400
        assert "does not exist" in _wrong(answer.text, "snapshot")
    browser.store.detach_subscription("first")
    sent = {"target": "time", "time_date": "2026-01-01", "time_time": "00:00"}
    told = browser.client.get(f"{REPLAY}/preview", params=sent).text
    assert "is detached" in words(told)
    assert 'id="snapshot-error"' not in told, "the error is not one of the snapshot"


def _sought(browser: Browser, sent: dict[str, Any]) -> Any:
    data = {**sent, "fingerprint": "x"}
    token = form_from_pairs(browser.get("/subscriptions/first/pull").text, "").fields
    data |= {name: value for name, value in token.items() if name not in ("max_messages",)}
    return browser.client.post(REPLAY, data=data, headers=browser.sent_with_forms)


def test_a_snapshot_needs_a_subscription_and_an_id_that_is_free() -> None:
    browser = Browser()
    answer = browser.post("/snapshots/_new", {"id": "before", "subscription": ""})
    assert answer.status_code == 400
    assert "none is chosen" in _wrong(answer.text, "subscription")
    sent = {"id": "before", "subscription": "first"}
    assert browser.post("/snapshots/_new", sent).url.path == "/snapshots/before"
    again = browser.post("/snapshots/_new", sent)
    assert again.status_code == 400
    assert "exists already" in _wrong(again.text, "id")


def test_what_a_page_names_and_is_gone_is_told() -> None:
    """A batch, a job and a search of a console that was started again meanwhile."""
    browser = Browser()
    browser.store.publish("flights", ["a"])
    form = form_from_pairs(browser.pull().text, "")
    for gone in ("/subscriptions/first/pull/gone", "/searches/gone/stop"):
        answer = browser.client.post(gone, data=form.fields, headers=browser.sent_with_forms)
        assert answer.status_code == 404
    assert browser.client.get("/jobs/gone").status_code == 404
    copied = browser.client.get("/topics/flights/publish", params={"copy_of": "snapshots/a/1"})
    assert copied.status_code == 404
    assert "topics/ID/MESSAGE_ID is accepted" in words(copied.text)


def test_a_batch_whose_messages_another_subscription_has_now_says_so() -> None:
    """The name is that of a later subscription: nothing of it is acknowledged."""
    browser = Browser()
    browser.store.publish("flights", ["a"])
    page = browser.pull()
    form = form_from_pairs(page.text, page.url.path)
    (ack_id,) = re.findall(r'name="ack_id" value="([^"]*)"', page.text)
    browser.store.delete_subscription("first")
    browser.store.create_subscription("first", "flights")
    sent = {**form.fields, "verb": "ack", "ack_id": ack_id}
    told = browser.client.post(form.action, data=sent, headers=browser.sent_with_forms).text
    assert "were no live lease of this subscription" in words(told)


def test_a_detached_subscription_and_one_that_cannot_be_measured_are_on_the_first_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def damaged(_: Any, name: str, **__: Any) -> Any:
        raise DataLoss(f"a file of {name} is gone")

    monkeypatch.setattr("tests.model.drivers.MemoryPubSub.subscription_metrics", damaged)
    browser = Browser()
    browser.store.create_subscription("second", "flights")
    browser.store.detach_subscription("second")
    told = words(eventually(browser, "/", "cannot be measured"))
    assert "first cannot be measured: a file of" in told
    assert "second is detached: it has no messages, and receives none." in told


def test_a_line_of_a_message_is_text_where_it_is_cut_and_hexadecimal_where_it_is_none() -> None:
    browser = Browser()
    browser.store.publish("flights", ["\u00e9" * 300, "caf\u00e9 au lait ".encode("latin-1") * 20])
    binary, text = lines(browser, "/topics/flights/messages")
    assert text.startswith("\u00e9" * 40)
    assert binary.startswith("63 61 66 e9 20 61")


def test_a_job_that_is_gone_is_told() -> None:
    assert Browser().client.get("/jobs/gone").status_code == 404
    assert Browser().client.get("/jobs/gone/progress").status_code == 404


def test_of_many_messages_that_no_page_has_shown_the_newest_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flash, "MOST", 3)
    kept = FlashMessages()
    keys = [kept.add(Flash("done")) for _ in range(5)]
    assert [kept.take(key) is not None for key in keys] == [False, False, True, True, True]
