"""What pushes notices what others change, goes on after failures, and ends."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("httpcore")
from google.api_core import exceptions

from pubsub_delta import PushConfig, Subscription
from pubsub_delta.server import pushing
from tests.endpoints import listening
from tests.unit.serving import LONG, SUBSCRIPTION, MemoryStore, clients, eventually, serving
from tests.unit.serving_push import SELDOM, publish_all, pushing_to

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Looked(MemoryStore):
    """A store that counts how often somebody looked for push subscriptions."""

    looks = 0

    def push_subscriptions(self) -> list[Subscription]:
        self.looks += 1
        return super().push_subscriptions()

    def set(self, config: PushConfig | None) -> None:
        """Change the field as another process does, and wait until that was noticed."""
        self.subscription_now = replace(self.subscription_now, push_config=config)
        before = self.looks
        eventually(lambda: self.looks > before + 2)


def test_what_another_process_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    # "New subscriptions created by other processes are noticed at some cadence"
    monkeypatch.setattr(pushing, "LOOK", 0.05)
    with listening() as one, listening() as other:
        store = Looked()
        with serving(store, SELDOM) as address, clients(address) as (publisher, subscriber):
            stream = subscriber.subscribe(SUBSCRIPTION, lambda message: message.ack())
            publish_all(publisher, "pulled")
            eventually(lambda: store.messages and store.unacked == [])
            store.set(PushConfig(one.url))
            with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages to"):
                stream.result(LONG)
            publish_all(publisher, "one")
            eventually(lambda: one.data == [b"one"] and store.unacked == [])
            store.set(PushConfig(other.url))
            publish_all(publisher, "other")
            eventually(lambda: other.data == [b"other"] and store.unacked == [])
            store.set(None)
            publish_all(publisher, "pulled again")
            pulled = subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
            assert pulled.received_messages[0].message.data == b"pulled again"
        assert len(one.requests) == len(other.requests) == 1


def test_a_look_that_fails_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pushing, "LOOK", 0.05)
    with listening() as endpoint:
        store = pushing_to(endpoint)
        found = store.push_subscriptions
        failures = [RuntimeError("the disk is away")] * 2

        def fail() -> Any:
            if failures:
                raise failures.pop()
            return found()

        monkeypatch.setattr(store, "push_subscriptions", fail)
        with (
            caplog.at_level(logging.ERROR, "pubsub_delta.server"),
            serving(store) as address,
            clients(address) as (publisher, _),
        ):
            publish_all(publisher, "x")
            eventually(lambda: endpoint.data == [b"x"])
    assert "push subscriptions could not be looked for" in caplog.text


def test_a_subscription_that_cannot_be_read_now_is_pushed_from_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pushing, "LOOK", 0.05)
    with listening() as endpoint:
        store = pushing_to(endpoint)
        read = store.subscription
        failures = [RuntimeError("the disk is away")] * 2

        def fail(name: str) -> Subscription:
            if failures:
                raise failures.pop()
            return read(name)

        monkeypatch.setattr(store, "subscription", fail)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "x")
            eventually(lambda: endpoint.data == [b"x"])


def test_the_end_of_a_subscription_ends_its_requests() -> None:
    released = threading.Event()
    with listening(lambda _: 200 if released.wait(LONG) else 500) as endpoint:
        store = pushing_to(endpoint, ack_deadline_seconds=1)
        with serving(store) as address, clients(address) as (publisher, _):
            publish_all(publisher, "x")
            eventually(lambda: endpoint.requests)
            store.gone = True
            time.sleep(1.5)  # longer than the answer is waited for
            assert store.figures.pushes == Counter()
        released.set()
