"""What the pages of errors show is what the library says, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from pubsub_delta import (
    DeadLetterPolicy,
    DeadLetterWarning,
    ManualClock,
    Message,
    PublishFlowControl,
    PubSub,
    PubSubError,
    RetryPolicy,
)

DOCS = Path(__file__).parents[2] / "docs/errors"
UID = re.compile(r"\b[0-9a-f]{32}\b")
SHORT = re.compile(r"(?<=/)[0-9a-f]{4}\b")


class World:
    """A store of two topics, with a subscription each, and one that has a dead-letter topic."""

    def __init__(self, root: Path) -> None:
        self.clock, self.root = ManualClock(), root
        self.store = self.another()
        for topic in ("orders", "flights", "failed"):
            self.store.create_topic(topic)
        self.store.create_subscription("billing", "orders")
        self.store.create_subscription("delays", "flights")
        policy = DeadLetterPolicy("failed")
        self.store.create_subscription("kitchen", "orders", dead_letter_policy=policy)

    def another(self, **given: Any) -> PubSub:
        return PubSub(None, str(self.root), clock=self.clock, **given)

    def subscribe(self, **fields: Any) -> object:
        return self.store.create_subscription("made", "orders", **fields)

    def lease_is_over(self) -> object:
        self.store.publish("orders", ["a", "b"])
        batch = self.store.pull("billing")
        for name in ("billing", "kitchen"):
            self.store.seek(name, time=self.clock.now() + timedelta(seconds=1))
        self.clock.advance(2 * 86_400)
        self.store.maintain(exact=True)
        return list(batch)

    def nearly_expired(self) -> object:
        self.store.publish("orders", ["a"])
        self.clock.advance(7 * 86_400 - 12 * 60)
        return self.store.create_snapshot("monday", "billing")

    def snapshot_without_a_topic(self) -> object:
        self.store.delete_topic("orders")
        return self.store.create_snapshot("monday", "billing")

    def version_below(self) -> None:
        for version in (20, 19):
            self.store.publish("flights", ["a"], idempotency_id=("nightly-load", version))

    def stopped_publisher(self) -> object:
        publisher = self.store.publisher("orders")
        publisher.stop()
        return publisher.publish("a").result()

    def too_large(self) -> object:
        limits = PublishFlowControl(byte_limit=10_000, limit_exceeded_behavior="error")
        with self.store.publisher("orders", flow_control=limits) as publisher:
            return publisher.publish(b"x" * 20_000).result()

    def changed_since(self) -> object:
        read = self.store.get_topic("flights")
        self.store.update_topic("flights", labels={"a": "b"})
        return self.store.update_topic("flights", labels={}, if_unchanged=read)

    def other_topic(self) -> None:
        self.store.create_snapshot("monday", "billing")
        self.store.seek("delays", snapshot="monday")

    def both_targets(self) -> None:
        self.store.seek("delays", time=self.clock.now(), snapshot="monday")

    def detached(self) -> object:
        self.store.detach_subscription("billing")
        return self.store.pull("billing")

    def fail(self) -> None:
        self.store.publish("orders", ["a", "b"])
        for _ in range(5):
            self.store.pull("kitchen").nack()

    def without_dead_letter_topic(self) -> object:
        self.fail()
        topic = self.store.get_topic("failed")
        self.store._tables.registry.remove_topic(topic.uid, self.clock.now())
        return self.store.pull("kitchen")

    def without_the_table_of_dead_letters(self) -> object:
        self.fail()
        rmtree(self.root / "messages" / self.store.get_topic("failed").uid)
        return self.another().pull("kitchen")

    def dead_letter_topic_that_is_gone(self) -> object:
        self.store.delete_subscription("kitchen")
        self.store.delete_topic("failed")
        return self.subscribe(dead_letter_policy=DeadLetterPolicy("failed"))

    def two_rows(self) -> object:
        path = self.root / "ack_state" / self.store.get_subscription("billing").uid
        write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="append")
        return self.another().pull("billing")

    def no_registry(self) -> object:
        rmtree(self.root / "subscriptions")
        return self.another().pull("billing")

    def messages_missing(self) -> object:
        self.store.publish("orders", ["a", "b"])
        batch = self.store.pull("billing")
        DeltaTable(self.root / "messages" / self.store.get_topic("orders").uid).delete()
        return list(batch)

    def layout(self, version: str) -> object:
        table = DeltaTable(self.root / "topics")
        given = {"pubsub_delta.layoutVersion": version}
        table.alter.set_table_properties(given, raise_if_not_exists=False)
        return self.another().list_topics()


def root(text: str, **given: Any) -> Callable[[World], object]:
    return lambda _: PubSub(None, text, **given).list_topics()


CASES: dict[str, dict[str, Callable[[World], object]]] = {
    "invalid-argument": {
        "topic id": lambda w: w.store.create_topic("my topic"),
        "full name": lambda w: w.store.pull("projects/p/topics/t"),
        "host": root("file://data/pubsub"),
        "bucket": root("s3a:/bucket/pubsub"),
        "drive": root("C:"),
        "deadline": lambda w: w.subscribe(ack_deadline_seconds=5),
        "retention": lambda w: w.store.create_topic("made", message_retention_duration="32d"),
        "backoff": lambda w: w.subscribe(retry_policy=RetryPolicy("60s", "30s")),
        "attempts": lambda w: w.subscribe(dead_letter_policy=DeadLetterPolicy("failed", 3)),
        "immutable": lambda w: w.store.update_subscription("billing", filter="attributes:a"),
        "week": lambda w: w.store.create_topic("made", message_retention_duration="a week"),
        "naive": lambda w: w.store.seek("billing", time=datetime(2026, 1, 1)),
        "yesterday": lambda w: w.store.seek("billing", time="yesterday"),
        "empty": lambda w: w.store.publish("orders", ["a", Message(b"")]),
        "single": lambda w: w.store.publish("orders", "a"),
        "no string": lambda w: w.subscribe(filter="attributes.carrier = UA"),
        "lower case": lambda w: w.subscribe(filter="attributes:a and attributes:b"),
        "mixed": lambda w: w.subscribe(filter="attributes:a AND attributes:b OR attributes:c"),
        "none": lambda w: w.store.pull("billing", max_messages=0),
        "ack ids": lambda w: w.store.acknowledge("billing", ["abc", "d", "e"]),
        "two targets": World.both_targets,
        "other topic": World.other_topic,
    },
    "not-found": {
        "snapshot": lambda w: w.store.seek("billing", snapshot="monday"),
        "dead letters": World.dead_letter_topic_that_is_gone,
    },
    "already-exists": {"topic": lambda w: w.store.create_topic("orders")},
    "failed-precondition": {
        "detached": World.detached,
        "lease": World.lease_is_over,
        "in use": lambda w: w.store.delete_topic("failed"),
        "short": World.nearly_expired,
        "no topic": World.snapshot_without_a_topic,
        "version": World.version_below,
        "stopped": World.stopped_publisher,
        "DataFrame": lambda w: w.store.backlog("billing"),
        "lane": root("main.pubsub", lane="direct"),
        "bare word": root("pubsub"),
        "newer": lambda w: w.layout("2"),
    },
    "aborted": {"changed": World.changed_since},
    "resource-exhausted": {"too large": World.too_large},
    "data-loss": {
        "rows": World.two_rows,
        "registry": World.no_registry,
        "missing": World.messages_missing,
    },
    "dead-letter-warning": {
        "gone": World.without_dead_letter_topic,
        "table gone": World.without_the_table_of_dead_letters,
    },
}


def shown(page: str) -> set[str]:
    """Return the messages of a page, without parts of uids."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return {SHORT.sub("UID", line) for block in blocks for line in block.splitlines()}


@pytest.mark.parametrize(
    ("page", "case"), [(page, case) for page, cases in CASES.items() for case in cases]
)
def test_a_message_of_a_page_is_what_is_said(page: str, case: str, tmp_path: Path) -> None:
    """The pages of errors: "Its message says what was wrong, …, and what would be accepted"."""
    world = World(tmp_path)
    with pytest.raises((PubSubError, DeadLetterWarning)) as error:  # warnings are errors here
        CASES[page][case](world)
    said = UID.sub("UID", str(error.value).replace(str(tmp_path), "/data/pubsub"))
    assert said in shown(page)
