"""The console's pages, word for word: what each says of one store, and what its fields hold.

``python -m tests.unit.test_console_whole_pages`` writes the pages as they are now, to be read in
the diff.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    PushConfig,
    RetryPolicy,
)
from pubsub_delta.schemas import SchemaSettings
from tests.unit.browsing import Browser
from tests.unit.builders import DAY, HOUR, MINUTE
from tests.unit.page_outline import outline
from tests.unit.schema_cases import AVRO

KEPT = Path(__file__).parent / "console_pages"

_DRAWN = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b|(?<=/pull/)[\w-]{16}")
"""Tokens of forms, uids and ids of what was pulled, which are others in each run."""

PAGES = {
    "overview": "/",
    "maintenance": "/maintenance",
    "topics": "/topics",
    "topics-by-label": "/topics?filter=labels.team%3Dair",
    "topic": "/topics/flights",
    "topic-details": "/topics/flights/details",
    "topic-metrics": "/topics/flights/metrics",
    "topic-subscriptions": "/topics/flights/subscriptions",
    "topic-messages": "/topics/flights/messages",
    "topic-found": "/topics/flights/messages/found",
    "topic-found-by": "/topics/flights/messages/found?text=E&attribute=carrier%3DAA",
    "topic-search-refused": "/topics/flights/messages/found?message_id=x&earliest=y"
    "&json_field=%24%5B",
    "topic-message": "/topics/flights/messages/0",
    "topic-message-json": "/topics/flights/messages/5",
    "topic-message-data": "/topics/flights/messages/5/data",
    "topic-download": "/topics/flights/messages/download?text=S",
    "topic-message-not-there": "/topics/flights/messages/77",
    "topic-new": "/topics/_new",
    "topic-edit": "/topics/flights/edit",
    "topic-delete": "/topics/flights/delete",
    "topic-publish": "/topics/flights/publish",
    "topic-with-schema": "/topics/states/details",
    "topic-with-schema-edit": "/topics/states/edit",
    "topic-not-there": "/topics/none",
    "schemas": "/schemas",
    "schema": "/schemas/states",
    "subscriptions": "/subscriptions",
    "subscription": "/subscriptions/first",
    "subscription-details": "/subscriptions/first/details",
    "subscription-metrics": "/subscriptions/first/metrics",
    "subscription-chart": "/subscriptions/first/ack-state-chart",
    "subscription-chart-by-position": "/subscriptions/first/ack-state-chart?by=position",
    "subscription-chart-part": "/subscriptions/first/ack-state-chart?by=time"
    "&start=1767225600000000&end=1767233400000000",
    "subscription-chart-positions": "/subscriptions/first/ack-state-chart?by=position"
    "&start=1&end=5",
    "subscription-history": "/subscriptions/first/history",
    "subscription-messages": "/subscriptions/first/messages",
    "subscription-found": "/subscriptions/first/messages/found",
    "subscription-found-leased": "/subscriptions/first/messages/found?state=leased",
    "subscription-message": "/subscriptions/first/messages/6",
    "subscription-pull": "/subscriptions/first/pull",
    "subscription-replay": "/subscriptions/first/replay",
    "subscription-replay-preview": "/subscriptions/first/replay/preview?target=time"
    "&time_date=2026-01-01&time_time=02:00:00",
    "subscription-replay-preview-snapshot": "/subscriptions/first/replay/preview?target=snapshot"
    "&snapshot=before",
    "subscription-replay-preview-refused": "/subscriptions/first/replay/preview?target=time"
    "&time_date=2026-13-01&time_time=2",
    "subscription-new": "/subscriptions/_new",
    "subscription-edit": "/subscriptions/first/edit",
    "subscription-delete": "/subscriptions/first/delete",
    "subscription-plain": "/subscriptions/plain/details",
    "subscription-plain-edit": "/subscriptions/plain/edit",
    "subscription-push": "/subscriptions/pushed/details",
    "subscription-push-edit": "/subscriptions/pushed/edit",
    "subscription-of-letters": "/subscriptions/of-letters/details",
    "subscription-of-many": "/subscriptions/many/ack-state-chart?by=position",
    "subscription-of-many-found": "/subscriptions/many/messages/found",
    "not-there": "/nothing",
    "filter-check": "/filters/check?filter=attributes.a%3D",
    "dead-letter-check": "/dead-letter-topics/check?dead_letter_topic=letters",
    "snapshots": "/snapshots",
    "snapshot": "/snapshots/before",
    "snapshot-metrics": "/snapshots/before/metrics",
    "snapshot-new": "/snapshots/_new",
    "snapshot-edit": "/snapshots/before/edit",
    "snapshot-delete": "/snapshots/before/delete",
}
"""Each page's name, and its address."""


_DAYS = {"retention_days": "2", "retention_hours": "3", "retention_minutes": "4"}
_WRONG = {
    "id": "9 bad",
    "retention_days": "x",
    "labels": "No: x",
    **dict.fromkeys(
        (
            "push_endpoint",
            "table",
            "ack_deadline",
            "expiration_days",
            "max_delivery_attempts",
            "minimum_backoff",
            "maximum_backoff",
        ),
        "?",
    ),
    "filter": "a =",
    "expires": "after",
    "retry": "backoff",
}
_ALL = {
    "id": "second",
    "topic": "flights",
    **_DAYS,
    "retain_acked": "on",
    "expires": "after",
    "expiration_days": "12",
    "ack_deadline": "33",
    "filter": 'hasPrefix(attributes.kind, "r")',
    "ordering": "on",
    "exactly_once": "on",
    "dead_letter": "on",
    "dead_letter_topic": "letters",
    "max_delivery_attempts": "9",
    "retry": "backoff",
    "minimum_backoff": "11",
    "maximum_backoff": "222",
    "labels": "a=b\nc=d",
}
_PUSH = {
    "id": "second",
    "topic": "flights",
    "delivery": "push",
    "push_endpoint": "https://push.example/y",
    "push_account": "me@example.com",
    "push_audience": "them",
    "unwrapped": "on",
    "write_metadata": "on",
}
ANSWERS: Mapping[str, tuple[str, Mapping[str, str | None]]] = {
    "answer-topic-new": ("/topics/_new", {"id": "news", "retain": "on", "labels": "a=b", **_DAYS}),
    "answer-topic-new-refused": ("/topics/_new", {"id": "9 bad", "labels": "No: x", **_DAYS}),
    "answer-topic-new-taken": ("/topics/_new", {"id": "flights"}),
    "answer-topic-edit": ("/topics/flights/edit", {"retain": "on", "labels": "", **_DAYS}),
    "answer-topic-delete": ("/topics/flights/delete", {"name": "flights"}),
    "answer-topic-delete-refused": ("/topics/flights/delete", {"name": "flight"}),
    "answer-publish": ("/topics/flights/publish", {"data": "hello", "attributes": "a=b\nc=d"}),
    "answer-publish-refused": ("/topics/flights/publish", {"data": "?", "is_base64": "on"}),
    "answer-publish-schema": ("/topics/states/publish", {"data": '{"no": 1}'}),
    "answer-subscription-new": ("/subscriptions/_new", _ALL),
    "answer-subscription-new-push": ("/subscriptions/_new", _PUSH),
    "answer-subscription-new-refused": ("/subscriptions/_new", _WRONG),
    "answer-subscription-edit": ("/subscriptions/first/edit", {"ack_deadline": "99", **_DAYS}),
    "answer-subscription-edit-refused": ("/subscriptions/first/edit", {"ack_deadline": "9"}),
    "answer-subscription-delete": ("/subscriptions/first/delete", {"name": "first"}),
    "answer-subscription-delete-refused": ("/subscriptions/first/delete", {"name": ""}),
    "answer-pull": ("/subscriptions/first/pull", {"max_messages": "2"}),
    "answer-pull-refused": ("/subscriptions/first/pull", {"max_messages": "0"}),
    "answer-snapshot-new": ("/snapshots/_new", {"subscription": "first", "id": "after"}),
    "answer-snapshot-new-refused": ("/snapshots/_new", {"subscription": "", "id": "after"}),
    "answer-snapshot-edit": ("/snapshots/before/edit", {"expire_date": "2026-01-05", "labels": ""}),
    "answer-snapshot-edit-refused": ("/snapshots/before/edit", {"expire_date": "2025-01-05"}),
    "answer-snapshot-delete": ("/snapshots/before/delete", {"name": "before"}),
}
"""Each answer's name, the page with the form that is sent, and what is filled in."""


def furnished() -> Browser:
    """Return a console on a store with one of everything, which pages only look at."""
    found = Browser(
        dead_letter_policy=DeadLetterPolicy("letters", max_delivery_attempts=7),
        retry_policy=RetryPolicy("15s", "300s"),
        filter='NOT attributes.kind = "test"',
        enable_message_ordering=True,
        enable_exactly_once_delivery=True,
        ack_deadline_seconds=45,
        retain_acked_messages=True,
        message_retention_duration="3d",
        expiration_policy=ExpirationPolicy("20d"),
        labels={"team": "air", "stage": "one"},
    )
    store, world = found.store, found.world
    store.update_topic("flights", labels={"team": "air"}, message_retention_duration="10d")
    store.create_subscription("plain", "flights", expiration_policy=ExpirationPolicy(None))
    store.create_subscription(
        "pushed",
        "flights",
        push_config=PushConfig("https://push.example/x", {"x-goog-version": "v1"}),
    )
    store.create_subscription("of-letters", "letters")
    store.create_topic("many")
    store.create_subscription("many", "many")
    store.create_schema("states", "AVRO", AVRO)
    store.create_topic("states", schema_settings=SchemaSettings("states", "JSON"))
    world.publish("JFK", "LGA", "EWR", attributes={"kind": "real", "carrier": "AA"})
    world.publish("left out", attributes={"kind": "test"})
    world.be_at(HOUR)
    world.ack("LGA")
    world.be_at(2 * HOUR)
    store.create_snapshot("before", "first", labels={"why": "a deployment"})
    world.publish("BOS", '{"a": [1, 2]}')
    world.be_at(2 * HOUR + 10 * MINUTE)
    world.pull(2)
    world.be_at(DAY)
    world.publish("SFO", "ORD")
    world.pull(3)
    world.publish(*(f"number {n}" for n in range(75)), topic="many")
    world.pull(30, name="many")
    return found


_looked_at = functools.cache(furnished)


def page(name: str) -> str:
    """Return a page as it is now, with its status."""
    if name in PAGES:
        found = _looked_at().client.get(PAGES[name])
    else:
        found = furnished().post(*ANSWERS[name])
    text = _DRAWN.sub("(drawn)", outline(found.text))
    return f"{found.status_code}\n{text}\n"


@pytest.mark.parametrize("name", [*PAGES, *ANSWERS])
def test_a_page_says_the_same_word_for_word(name: str) -> None:
    kept = KEPT / f"{name}.txt"
    assert page(name) == kept.read_text(encoding="utf-8")


def test_every_page_that_is_kept_is_looked_at() -> None:
    assert {each.stem for each in KEPT.iterdir()} == {*PAGES, *ANSWERS}


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for each in (*PAGES, *ANSWERS):
        (KEPT / f"{each}.txt").write_text(page(each), encoding="utf-8")
