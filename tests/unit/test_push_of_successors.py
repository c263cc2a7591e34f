"""What a server leased of a subscription is not pushed for a later one of its name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import pytest

pytest.importorskip("httpcore")

from google.pubsub_v1 import StreamingPullRequest

from pubsub_delta import Message, PushConfig, Subscription
from pubsub_delta.server import subscription_workers
from pubsub_delta.server.pushing import Pushers
from tests.endpoints import listening
from tests.unit.serving import LONG, SUBSCRIPTION, clients, eventually, serving
from tests.unit.serving_calls import NAME, TOPIC, Calls, running
from tests.unit.serving_push import SELDOM, publish_all
from tests.unit.test_server_push_changes import Looked

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def test_what_waits_for_a_stream_is_not_pushed_to_the_endpoint_of_a_successor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    asked, stuck = threading.Event(), threading.Event()

    def requests() -> Iterator[StreamingPullRequest]:
        yield StreamingPullRequest(
            subscription=SUBSCRIPTION, stream_ack_deadline_seconds=60, max_outstanding_messages=1
        )
        asked.wait(LONG)

    with listening() as endpoint:
        store = Looked()
        with serving(store, SELDOM) as address, clients(address) as (publisher, subscriber):
            publish_all(publisher, *(f"a{n}" for n in range(20)))
            stream = subscriber.transport.grpc_channel.stream_stream(
                "/google.pubsub.v1.Subscriber/StreamingPull",
                request_serializer=StreamingPullRequest.serialize,
                response_deserializer=None,
            )(requests())
            eventually(lambda: len(store.leased) > 1)
            store.before_exchange = partial(stuck.wait, LONG)  # the commit that would tell is slow
            store.succeed(PushConfig(endpoint.url))
            looked = store.looks
            eventually(lambda: store.looks > looked + 2)
            stuck.set()
            publish_all(publisher, "b0")
            eventually(lambda: b"b0" in endpoint.data)
            asked.set()
            stream.cancel()
            assert endpoint.data == [b"b0"]


@dataclass
class CreatedAnew(Looked):
    """A store whose subscription another process creates anew just after it was found."""

    following: PushConfig | None = None

    def subscription(self, name: str) -> Subscription:
        if self.following is not None:
            now = replace(self.subscription_now, uid="d" * 32, push_config=self.following)
            self.subscription_now, self.following = now, None
        return super().subscription(name)


def test_a_successor_is_not_pushed_to_the_endpoint_of_what_was_found_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subscription_workers, "REFRESH_SECONDS", 0.05)
    with listening() as one, listening() as other:
        store = CreatedAnew({"push_config": PushConfig(one.url)})
        store.following = PushConfig(other.url)
        store.publisher(store.subscription_now.topic)([Message(b"b0")])
        with serving(store, SELDOM):
            eventually(lambda: one.data or other.data)
        assert (one.data, other.data) == ([], [b"b0"])


def test_a_subscription_that_was_created_again_is_pushed_by_a_worker_of_its_own() -> None:
    """The worker of the one before has its leases, also where the endpoint is the same."""
    config = PushConfig("http://127.0.0.1:9/")

    async def test(calls: Calls) -> None:
        pushers, store = Pushers(calls.hub, calls.backend.now), calls.store
        await pushers.apply(store.update_subscription(NAME, push_config=config))
        store.delete_subscription(NAME)
        later = store.create_subscription(NAME, TOPIC, push_config=config)
        await pushers.apply(later)
        assert pushers._workers[NAME].dispatcher.leaser.uid == later.uid
        await pushers.stop()

    running(test)
