"""push_config in the calls of google.pubsub.v1, as the official client makes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

pytest.importorskip("httpcore")
from google.api_core import exceptions
from google.pubsub_v1.types import pubsub

from pubsub_delta import NoWrapper, OidcToken, PushConfig, Subscription
from pubsub_delta.server import subscription_workers, wire
from tests.endpoints import PushEndpoint, listening
from tests.model.drivers import MemoryDriver
from tests.unit.builders import PLAIN
from tests.unit.serving import (
    LONG,
    SUBSCRIPTION,
    TOPIC,
    MemoryStore,
    clients,
    eventually,
    publish,
    serving,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

URL = "https://example.com/push"
V1 = {"x-goog-version": "v1"}


@dataclass
class AdministeredStore(MemoryStore):
    """A store whose subscription is created, changed and deleted by the real operations."""

    driver: MemoryDriver = field(default_factory=MemoryDriver)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.administration = self.driver.open()
        self.administration.create_topic(TOPIC)

    def subscription(self, name: str) -> Subscription:
        found: Subscription = self.administration.get_subscription(name)
        self.subscription_now = found
        return found

    def push_subscriptions(self) -> list[Subscription]:
        found = [each for each, _ in self.driver.processes[0]._tables.registry.sources()]
        return [each for each in found if each.push_config is not None]


@pytest.fixture(autouse=True)
def seldom_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be noticed by a later look that a call should have told."""
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 3600)


@pytest.fixture
def endpoint() -> Iterator[PushEndpoint]:
    with listening() as made:
        yield made


@dataclass
class Clients:
    store: AdministeredStore
    publisher: Any
    subscriber: Any

    def create(self, **push_config: Any) -> Any:
        request = {"name": SUBSCRIPTION, "topic": TOPIC, "push_config": push_config}
        return self.subscriber.create_subscription(request=request, timeout=LONG)

    def update(self, paths: list[str], **fields: Any) -> Any:
        request = {
            "subscription": {"name": SUBSCRIPTION, **fields},
            "update_mask": {"paths": paths},
        }
        return self.subscriber.update_subscription(request=request, timeout=LONG)

    def modify(self, **push_config: Any) -> None:
        request = {"subscription": SUBSCRIPTION, "push_config": push_config}
        self.subscriber.modify_push_config(request=request, timeout=LONG)

    @property
    def shown(self) -> Any:
        found = self.subscriber.get_subscription(subscription=SUBSCRIPTION, timeout=LONG)
        return found.push_config

    def publish(self, data: bytes) -> None:
        publish(self.publisher, {"topic": TOPIC, "messages": [{"data": data}]})

    def pull(self) -> Any:
        pulled = self.subscriber.pull(subscription=SUBSCRIPTION, max_messages=1, timeout=LONG)
        return pulled.received_messages[0]


@pytest.fixture
def served() -> Iterator[Clients]:
    store = AdministeredStore()
    with serving(store) as address, clients(address) as (publisher, subscriber):
        yield Clients(store, publisher, subscriber)


def test_a_subscription_pushes_from_its_creation_on(
    served: Clients, endpoint: PushEndpoint
) -> None:
    made = served.create(push_endpoint=endpoint.url)
    assert made.push_config.push_endpoint == endpoint.url
    assert dict(made.push_config.attributes) == V1
    assert served.shown == made.push_config
    served.publish(b"x")
    eventually(lambda: endpoint.data == [b"x"] and served.store.unacked == [])


def test_the_query_of_an_endpoint_is_told_to_nobody_who_may_only_pull(
    served: Clients, endpoint: PushEndpoint
) -> None:
    """It can have a secret, which an error would write into a log."""
    served.create(push_endpoint=f"{endpoint.url}?token=secret")
    with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages") as told:
        served.pull()
    assert "secret" not in str(told.value)


def test_modify_push_config_begins_and_ends_pushing(
    served: Clients, endpoint: PushEndpoint
) -> None:
    # "change a push subscription to a pull one (signified by an empty PushConfig) or vice versa"
    served.create()
    assert not served.shown
    served.publish(b"before")
    served.modify(push_endpoint=endpoint.url)
    eventually(lambda: endpoint.data == [b"before"] and served.store.unacked == [])
    with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages"):
        served.pull()
    served.modify()
    assert not served.shown
    served.publish(b"after")
    assert served.pull().message.data == b"after"
    assert endpoint.data == [b"before"]


def test_a_look_that_is_older_than_a_change_does_not_undo_it(endpoint: PushEndpoint) -> None:
    read, changed = threading.Event(), threading.Event()

    class Slow(AdministeredStore):
        def push_subscriptions(self) -> list[Subscription]:
            found = super().push_subscriptions()
            read.set()
            changed.wait(LONG)
            return found

    store = Slow()
    config = PushConfig(endpoint.url)
    store.administration.create_subscription(SUBSCRIPTION, TOPIC, push_config=config)
    with serving(store) as address, clients(address) as (publisher, subscriber):
        served = Clients(store, publisher, subscriber)
        assert read.wait(LONG)
        served.modify()
        changed.set()
        time.sleep(0.3)
        served.publish(b"pulled")
        assert served.pull().message.data == b"pulled"
    assert endpoint.requests == []


def test_an_update_begins_changes_and_ends_pushing(served: Clients, endpoint: PushEndpoint) -> None:
    served.create()
    with listening() as other:
        served.update(["push_config"], push_config={"push_endpoint": endpoint.url})
        served.publish(b"1")
        eventually(lambda: endpoint.data == [b"1"])
        changed = served.update(
            ["push_config.push_endpoint"], push_config={"push_endpoint": other.url}
        )
        assert changed.push_config.push_endpoint == other.url
        served.publish(b"2")
        eventually(lambda: other.data == [b"2"])
        served.update(["labels"], labels={"a": "b"})
        served.publish(b"3")
        eventually(lambda: other.data == [b"2", b"3"])
        assert not served.update(["push_config"]).push_config
        served.publish(b"4")
        assert served.pull().message.data == b"4"
    assert endpoint.data == [b"1"]


def test_streams_end_when_a_subscription_begins_to_push(
    served: Clients, endpoint: PushEndpoint
) -> None:
    served.create()
    stream = served.subscriber.subscribe(SUBSCRIPTION, lambda message: message.ack())
    eventually(lambda: served.store.requests)
    served.modify(push_endpoint=endpoint.url)
    with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages"):
        stream.result(LONG)


def test_what_was_pulled_before_can_still_be_acknowledged(
    served: Clients, endpoint: PushEndpoint
) -> None:
    served.create()
    served.publish(b"x")
    ack_id = served.pull().ack_id
    served.modify(push_endpoint=endpoint.url)
    request = {"subscription": SUBSCRIPTION, "ack_ids": [ack_id]}
    served.subscriber.modify_ack_deadline(
        request={**request, "ack_deadline_seconds": 60}, timeout=LONG
    )
    served.subscriber.acknowledge(request=request, timeout=LONG)
    eventually(lambda: served.store.unacked == [])
    assert endpoint.requests == []


def test_a_deleted_subscription_pushes_no_more_and_another_of_its_name_does(
    served: Clients, endpoint: PushEndpoint
) -> None:
    served.create(push_endpoint=endpoint.url)
    served.publish(b"1")
    eventually(lambda: endpoint.data == [b"1"])
    served.subscriber.delete_subscription(subscription=SUBSCRIPTION, timeout=LONG)
    served.create(push_endpoint=endpoint.url)
    served.publish(b"2")
    eventually(lambda: endpoint.data == [b"1", b"2"])


@pytest.mark.parametrize(
    ("push_config", "told"),
    [
        ({"push_endpoint": "example.com"}, "'example.com' is neither http:// nor https://"),
        ({"push_endpoint": URL, "attributes": {"x-goog-version": "v1beta1"}}, "'v1' is accepted"),
        ({"push_endpoint": URL, "attributes": {"other": "1"}}, "'v1' is accepted"),
    ],
)
def test_other_configurations_are_refused(
    served: Clients, push_config: dict[str, Any], told: str
) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=told):
        served.create(**push_config)
    served.create()
    with pytest.raises(exceptions.InvalidArgument, match=told):
        served.modify(**push_config)
    with pytest.raises(exceptions.InvalidArgument, match=told):
        served.update(["push_config"], push_config=push_config)
    assert not served.shown


def test_without_keys_tokens_are_refused_by_name(served: Clients) -> None:
    signed = {"push_endpoint": URL, "oidc_token": {"service_account_email": "a@example.com"}}
    told = r"push_config\.oidc_token: this server has no keys"
    with pytest.raises(exceptions.FailedPrecondition, match=told):
        served.create(**signed)
    served.create()
    with pytest.raises(exceptions.FailedPrecondition, match=told):
        served.modify(**signed)
    with pytest.raises(exceptions.FailedPrecondition, match=told):
        served.update(["push_config"], push_config=signed)
    assert not served.shown


def test_exactly_once_delivery_is_refused_with_push(served: Clients) -> None:
    # "Push and export subscriptions don't support exactly-once delivery."
    served.create(push_endpoint=URL)
    with pytest.raises(exceptions.InvalidArgument, match="enable_exactly_once_delivery"):
        served.update(["enable_exactly_once_delivery"], enable_exactly_once_delivery=True)


def test_modify_push_config_of_no_subscription_is_not_found(served: Clients) -> None:
    with pytest.raises(exceptions.NotFound):
        served.modify()


@pytest.mark.parametrize(
    "config",
    [
        None,
        PushConfig(URL, V1),
        PushConfig(URL, V1, NoWrapper()),
        PushConfig(URL, V1, NoWrapper(write_metadata=True)),
        PushConfig(URL, V1, None, OidcToken("a@example.com")),
        PushConfig(URL, V1, NoWrapper(), OidcToken("a@example.com", "receivers")),
    ],
)
def test_what_is_written_is_read_back(config: PushConfig | None) -> None:
    message = wire.subscription_message(replace(PLAIN, push_config=config))
    assert wire.push_config(message.push_config) == config
    assert message.HasField("push_config")


def test_a_wrapper_is_the_default() -> None:
    given = pubsub.PushConfig(push_endpoint=URL, pubsub_wrapper={})
    assert wire.push_config(pubsub.PushConfig.pb(given)) == PushConfig(URL)
