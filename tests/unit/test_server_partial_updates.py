"""Updates of a server whose mask leads into a field, while others change the rest of that field."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from google.protobuf.field_mask_pb2 import FieldMask

from pubsub_delta.errors import Aborted
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    NoWrapper,
    OidcToken,
    PushConfig,
    RetryPolicy,
    Subscription,
)
from pubsub_delta.server import partial_updates, wire
from pubsub_delta.server.grpc_services import PUBLISHER, SUBSCRIBER, message_class
from pubsub_delta.server.pushing import Pushers
from pubsub_delta.server.update_masks import changed_fields
from pubsub_delta.tables.registry.registry import Registry
from tests.unit.builders import PLAIN
from tests.unit.raw_calls import Server, refused
from tests.unit.serving import LONG
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_races import once

TOPIC = "projects/p/topics/any"
SUBSCRIPTION = "projects/p/subscriptions/any"
SNAPSHOT = "projects/p/snapshots/before"
ENDPOINT = "https://example.com/push"
SENDER = OidcToken("sender@example.com")


@pytest.fixture
def backend() -> WorldBackend:
    made = WorldBackend()
    made.store.create_topic(TOPIC)
    policy = RetryPolicy(timedelta(seconds=10), timedelta(seconds=100))
    made.store.create_subscription(SUBSCRIPTION, TOPIC, retry_policy=policy)
    return made


@pytest.fixture
def server(backend: WorldBackend) -> Iterator[Server]:
    with served(backend) as address, grpc.insecure_channel(address) as channel:
        yield Server(channel)


def update(server: Server, mask: str, **fields: Any) -> Any:
    asked = {"subscription": {"name": SUBSCRIPTION, **fields}, "update_mask": {"paths": [mask]}}
    return server.call(SUBSCRIBER, "UpdateSubscription", **asked)


def test_the_rest_of_a_field_is_as_somebody_else_has_set_it_meanwhile(
    backend: WorldBackend, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "An update changes only the fields it names", also the parts of a field."""
    other = backend.open("p")
    theirs = RetryPolicy(timedelta(seconds=10), timedelta(seconds=300))

    def act() -> None:
        other.update_subscription(SUBSCRIPTION, retry_policy=theirs)

    once(monkeypatch, Registry, "change_subscription", act, "before")
    update(server, "retry_policy.minimum_backoff", retry_policy={"minimum_backoff": {"seconds": 5}})
    assert other.get_subscription(SUBSCRIPTION).retry_policy == RetryPolicy(
        timedelta(seconds=5), timedelta(seconds=300)
    )


def test_what_somebody_else_has_cleared_meanwhile_does_not_come_back(
    backend: WorldBackend, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = backend.open("p")
    other.create_topic("dead")
    dead = DeadLetterPolicy("projects/p/topics/dead", 5)
    other.update_subscription(SUBSCRIPTION, dead_letter_policy=dead)

    def act() -> None:
        other.update_subscription(SUBSCRIPTION, dead_letter_policy=None)

    once(monkeypatch, Registry, "change_subscription", act, "before")
    with refused("INVALID_ARGUMENT", "dead_letter_policy.dead_letter_topic: ''"):
        update(
            server,
            "dead_letter_policy.max_delivery_attempts",
            dead_letter_policy={"max_delivery_attempts": 7},
        )
    assert other.get_subscription(SUBSCRIPTION).dead_letter_policy is None


def test_a_mask_of_whole_fields_waits_for_nobody(
    backend: WorldBackend, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = backend.open("p")
    labels = {"team": "blue"}
    once(
        monkeypatch,
        Registry,
        "change_subscription",
        lambda: other.update_subscription(SUBSCRIPTION, labels=labels),
        "before",
    )
    update(server, "ack_deadline_seconds", ack_deadline_seconds=20)
    stored = other.get_subscription(SUBSCRIPTION)
    assert (stored.labels, stored.ack_deadline_seconds) == (labels, 20)


def test_whoever_is_overtaken_each_time_overwrites_nothing_with_the_last_try_either() -> None:
    """ "Aborted after" so many changes: the last write, too, is one over what was read."""
    stored: list[object] = []
    over: list[object] = []

    async def read() -> object:
        stored.append(object())
        return stored[-1]

    async def write(_: object, if_unchanged: object) -> None:
        over.append(if_unchanged)
        raise Aborted("somebody was faster")

    mask = FieldMask(paths=["retry_policy.minimum_backoff"])
    with pytest.raises(Aborted):
        asyncio.run(partial_updates.update(mask, read, write))
    assert over == stored
    assert len(over) == 20


@pytest.mark.parametrize(
    ("field", "usual"),
    [
        ("message_retention_duration", timedelta(days=7)),
        ("ack_deadline_seconds", 10),
        ("expiration_policy", ExpirationPolicy("31d")),
        ("retry_policy", None),
        ("retain_acked_messages", False),
        ("labels", {}),
    ],
)
def test_a_field_that_a_mask_names_without_a_value_is_as_that_of_a_new_subscription(
    backend: WorldBackend, server: Server, field: str, usual: object
) -> None:
    """Pub/Sub: "Defaults to 7 days", "if it is 0, the default of 10 seconds", "a default policy
    with `ttl` of 31 days will be used"."""
    backend.store.update_subscription(
        SUBSCRIPTION,
        message_retention_duration="1d",
        ack_deadline_seconds=60,
        expiration_policy=ExpirationPolicy(None),
        retain_acked_messages=True,
        labels={"env": "test"},
    )
    update(server, field)
    assert getattr(backend.store.get_subscription(SUBSCRIPTION), field) == usual


@pytest.mark.parametrize(
    ("mask", "field", "left"),
    [
        (
            "push_config.oidc_token",
            "push_config",
            PushConfig(ENDPOINT, {}, NoWrapper(True)),
        ),
        (
            "push_config.no_wrapper",
            "push_config",
            PushConfig(ENDPOINT, {}, None, SENDER),
        ),
        (
            "push_config.no_wrapper.write_metadata",
            "push_config",
            PushConfig(ENDPOINT, {}, NoWrapper(False), SENDER),
        ),
        ("push_config.push_endpoint", "push_config", None),
        ("dead_letter_policy.max_delivery_attempts", "dead_letter_policy", DeadLetterPolicy(TOPIC)),
        ("retry_policy.maximum_backoff", "retry_policy", RetryPolicy("10s", "600s")),
    ],
)
def test_a_part_of_a_field_that_a_mask_names_without_a_value_is_cleared(
    mask: str, field: str, left: object
) -> None:
    """AIP-134: a field that the mask names, and the request leaves out, is cleared.

    Here the request leaves out the whole field that the mask leads into.
    """
    stored = replace(
        PLAIN,
        push_config=PushConfig(ENDPOINT, {}, NoWrapper(True), SENDER),
        dead_letter_policy=DeadLetterPolicy(TOPIC, 7),
        retry_policy=RetryPolicy("10s", "100s"),
    )
    fields = changed_fields(
        message_class("Subscription")(name=SUBSCRIPTION),
        FieldMask(paths=[mask]),
        wire.subscription_message(stored),
        wire.SUBSCRIPTION_FIELDS,
    )
    assert fields == {field: left}


def test_of_two_updates_at_a_time_the_one_that_is_stored_last_is_used(
    server: Server, backend: WorldBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages are pushed to the endpoint that the subscription has, and not to a former one."""
    real, begun, used = Pushers.apply, threading.Event(), []

    async def apply(pushers: Pushers, subscription: Subscription) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.sleep(0.3)
        await real(pushers, subscription)
        assert subscription.push_config is not None
        used.append(subscription.push_config.push_endpoint)

    monkeypatch.setattr(Pushers, "apply", apply)

    def push_to(path: str) -> None:
        config = {"push_endpoint": f"https://localhost:1/{path}"}
        asked = {"subscription": SUBSCRIPTION, "push_config": config}
        server.call(SUBSCRIBER, "ModifyPushConfig", **asked)

    with ThreadPoolExecutor() as callers:
        first = callers.submit(push_to, "first")
        assert begun.wait(LONG)
        push_to("second")
        first.result(LONG)
    stored = backend.store.get_subscription(SUBSCRIPTION).push_config
    assert stored is not None
    assert stored.push_endpoint == used[-1]
    assert len(used) == 2


def test_a_snapshot_is_updated_where_the_mask_says_so() -> None:
    """ "`update_snapshot` changes labels and expire_time"; only the named fields change."""
    with served(WorldBackend()) as address, grpc.insecure_channel(address) as channel:
        server = Server(channel)
        server.call(PUBLISHER, "CreateTopic", name=TOPIC)
        server.call(SUBSCRIBER, "CreateSubscription", name=SUBSCRIPTION, topic=TOPIC)
        made = {"name": SNAPSHOT, "subscription": SUBSCRIPTION, "labels": {"a": "1", "b": "2"}}
        before = server.call(SUBSCRIBER, "CreateSnapshot", **made)

        def update(path: str, **changed: Any) -> Any:
            asked = {"snapshot": {"name": SNAPSHOT, **changed}, "update_mask": {"paths": [path]}}
            return server.call(SUBSCRIBER, "UpdateSnapshot", **asked)

        earlier = before.expire_time.ToDatetime() - timedelta(days=1)
        update("expire_time", expire_time=earlier, labels={"a": "ignored"})
        update("labels.b", labels={"b": "3"}, expire_time=before.expire_time)
        found = server.call(SUBSCRIBER, "GetSnapshot", snapshot=SNAPSHOT)
        assert dict(found.labels) == {"a": "1", "b": "3"}
        assert found.expire_time.ToDatetime() == earlier
        with refused("INVALID_ARGUMENT", "'topic' cannot be changed"):
            update("topic", topic=TOPIC)
