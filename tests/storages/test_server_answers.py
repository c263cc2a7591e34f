"""A server tells the truth, though its storage told it that a commit has failed which has landed.

Clients are given no second attempt of their own: what is answered is what the server found out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
from google.api_core.exceptions import GoogleAPICallError

from tests.acceptance.serving import LONG, ServerProcess
from tests.storages.proxy import Action, Fault
from tests.storages.servers import Storage
from tests.storages.test_faults import COMMIT, MOST_COMMITS

pytestmark = [
    pytest.mark.storages,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

ONCE: dict[str, Any] = {"retry": None, "timeout": LONG}


class Client:
    """Google's clients of a server, and a topic and a subscription of a name that nobody had."""

    def __init__(self, server: ServerProcess, place: int) -> None:
        self.address = server.address
        self.publisher, self.subscriber = server.publisher().api, server.subscriber()
        self.topic, self.subscription, self.snapshot, self.other = (
            f"projects/local/{kind}/{name}-{place}"
            for kind, name in (
                *(("topics", "orders"), ("subscriptions", "billing")),
                *(("snapshots", "noon"), ("topics", "other")),
            )
        )
        self.publisher.create_topic(name=self.topic, **ONCE)
        self.subscribe(enable_exactly_once_delivery=True, retain_acked_messages=True)

    def subscribe(self, **fields: Any) -> None:
        request = {"name": self.subscription, "topic": self.topic, "ack_deadline_seconds": 600}
        self.subscriber.create_subscription(request={**request, **fields}, **ONCE)

    def publish(self, *data: bytes) -> list[str]:
        messages = [{"data": each} for each in data]
        return list(self.publisher.publish(topic=self.topic, messages=messages, **ONCE).message_ids)

    def pull(self) -> list[Any]:
        request = {"subscription": self.subscription, "max_messages": 9, "return_immediately": True}
        return list(self.subscriber.pull(request=request, **ONCE).received_messages)

    def ack(self, *received: Any) -> None:
        ids = [each.ack_id for each in received]
        self.subscriber.acknowledge(subscription=self.subscription, ack_ids=ids, **ONCE)

    def by_rest(self, method: str, path: str) -> Any:
        body = b"{}" if method == "PUT" else None
        request = Request(f"http://{self.address}/v1/{path}", data=body, method=method)
        request.add_header("Content-Type", "application/json")
        with urlopen(request, timeout=LONG) as answer:
            return json.load(answer)


def create_a_topic(client: Client) -> Iterator[None]:
    yield
    assert client.publisher.create_topic(name=client.other, **ONCE).name == client.other
    yield
    client.publisher.get_topic(topic=client.other, **ONCE)


def create_a_topic_by_rest(client: Client) -> Iterator[None]:
    yield
    assert client.by_rest("PUT", client.other)["name"] == client.other


def create_a_subscription(client: Client) -> Iterator[None]:
    client.subscriber.delete_subscription(subscription=client.subscription, **ONCE)
    yield
    client.subscribe()
    yield
    client.publish(b"a")
    assert [each.message.data for each in client.pull()] == [b"a"]


def publish(client: Client) -> Iterator[None]:
    yield
    ids = client.publish(b"a", b"b")
    yield
    received = client.pull()
    assert [each.message.message_id for each in received] == ids
    client.ack(*received)
    assert client.pull() == []


def acknowledge(client: Client) -> Iterator[None]:
    client.publish(b"a", b"b")
    received = client.pull()
    yield
    client.ack(*received)
    yield
    assert client.pull() == []
    with pytest.raises(GoogleAPICallError):  # it was told that it succeeded
        client.ack(*received)


def nack(client: Client) -> Iterator[None]:
    client.publish(b"a")
    (received,) = client.pull()
    yield
    request = {"subscription": client.subscription, "ack_ids": [received.ack_id]}
    client.subscriber.modify_ack_deadline(request={**request, "ack_deadline_seconds": 0}, **ONCE)
    yield
    assert len(client.pull() or client.pull()) == 1


def update_a_subscription(client: Client) -> Iterator[None]:
    changed = {"name": client.subscription, "labels": {"team": "a"}}
    mask = {"paths": ["labels"]}
    yield
    request = {"subscription": changed, "update_mask": mask}
    assert client.subscriber.update_subscription(request=request, **ONCE).labels == {"team": "a"}


def modify_a_push_config(client: Client) -> Iterator[None]:
    config = {"push_endpoint": "http://127.0.0.1:9/"}
    named = {"subscription": client.subscription}
    client.subscriber.delete_subscription(request=named, **ONCE)
    client.subscribe()  # without exactly-once delivery, which nobody can push
    yield
    client.subscriber.modify_push_config(request={**named, "push_config": config}, **ONCE)
    yield
    found = client.subscriber.get_subscription(request=named, **ONCE)
    assert found.push_config.push_endpoint == config["push_endpoint"]


def create_a_snapshot_and_seek_to_it(client: Client) -> Iterator[None]:
    client.publish(b"a")
    named = {"subscription": client.subscription}
    yield
    client.subscriber.create_snapshot(request={**named, "name": client.snapshot}, **ONCE)
    client.ack(*client.pull())
    client.subscriber.seek(request={**named, "snapshot": client.snapshot}, **ONCE)
    yield
    assert [each.message.data for each in client.pull()] == [b"a"]


def delete_a_snapshot(client: Client) -> Iterator[None]:
    request = {"name": client.snapshot, "subscription": client.subscription}
    client.subscriber.create_snapshot(request=request, **ONCE)
    yield
    client.subscriber.delete_snapshot(snapshot=client.snapshot, **ONCE)
    yield
    client.subscriber.create_snapshot(request=request, **ONCE)


def delete_a_subscription(client: Client) -> Iterator[None]:
    yield
    client.subscriber.delete_subscription(subscription=client.subscription, **ONCE)
    yield
    client.subscribe()


def delete_a_topic(client: Client) -> Iterator[None]:
    yield
    client.publisher.delete_topic(topic=client.topic, **ONCE)
    yield
    client.publisher.create_topic(name=client.topic, **ONCE)


def delete_a_topic_by_rest(client: Client) -> Iterator[None]:
    yield
    assert client.by_rest("DELETE", client.topic) == {}


REQUESTS: list[Callable[[Client], Iterator[None]]] = [
    create_a_topic,
    create_a_topic_by_rest,
    create_a_subscription,
    publish,
    acknowledge,
    nack,
    update_a_subscription,
    modify_a_push_config,
    create_a_snapshot_and_seek_to_it,
    delete_a_snapshot,
    delete_a_subscription,
    delete_a_topic,
    delete_a_topic_by_rest,
]


@pytest.mark.parametrize("action", ["lose", "deny"])
def test_a_request_is_answered_by_what_has_landed(
    storage: Storage, root: str, tmp_path: Path, action: Action
) -> None:
    """Of no request it is told that its resource was there, or gone, by its own commit."""
    server = ServerProcess(root, directory=tmp_path)
    server.start()
    try:
        for request in REQUESTS:
            fail_at_every_commit(server, storage, action, request)
    finally:
        storage.proxy.set()
        assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def fail_at_every_commit(
    server: ServerProcess,
    storage: Storage,
    action: Action,
    request: Callable[[Client], Iterator[None]],
) -> None:
    for place in range(MOST_COMMITS):
        client = Client(server, place + MOST_COMMITS * REQUESTS.index(request))
        steps = request(client)
        next(steps)
        storage.proxy.set(Fault(action, "PUT", COMMIT, after=place, status=500))
        next(steps, None)
        (fault,) = storage.proxy.left()
        storage.proxy.set()
        for _ in steps:
            pass
        if fault.times:  # it has fewer commits
            assert place > 0
            return
