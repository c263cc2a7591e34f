"""`pubsub-delta serve` as a process, and the official client of Google Cloud Pub/Sub."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.protobuf import duration_pb2, field_mask_pb2, timestamp_pb2

from tests.acceptance.serving import LONG, ServerProcess, eventually, pulled
from tests.servers import free_port

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

METRICS = free_port()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    root = tmp_path_factory.mktemp("served") / "store"
    process = ServerProcess(root, f"--metrics-port={METRICS}", "--metrics-interval=5s")
    process.start()
    yield process
    assert process.stop() == 0


def topic(name: str) -> str:
    return f"projects/local/topics/{name}"


def subscription(name: str) -> str:
    return f"projects/local/subscriptions/{name}"


def snapshot(name: str) -> str:
    return f"projects/local/snapshots/{name}"


def pair(server: ServerProcess, name: str, **fields: Any) -> tuple[Any, Any]:
    """Create a topic and a subscription of a name; return both clients."""
    publisher, subscriber = server.publisher(), server.subscriber()
    publisher.create_topic(name=topic(name), timeout=LONG)
    request = {"name": subscription(name), "topic": topic(name), **fields}
    subscriber.create_subscription(request=request, timeout=LONG)
    return publisher, subscriber


def test_resources_are_created_listed_updated_and_deleted(server: ServerProcess) -> None:
    publisher, subscriber = server.publisher(), server.subscriber()
    made = publisher.create_topic(
        request={"name": topic("admin"), "labels": {"of": "test"}}, timeout=LONG
    )
    assert (made.name, dict(made.labels)) == (topic("admin"), {"of": "test"})
    with pytest.raises(exceptions.AlreadyExists):
        publisher.create_topic(name=topic("admin"), timeout=LONG)
    publisher.create_topic(name=topic("admin-dead"), timeout=LONG)
    request = {
        "name": subscription("admin"),
        "topic": topic("admin"),
        "ack_deadline_seconds": 30,
        "filter": 'attributes.kind = "wanted"',
        "expiration_policy": {},
        "dead_letter_policy": {"dead_letter_topic": topic("admin-dead")},
        "retry_policy": {"minimum_backoff": duration_pb2.Duration(seconds=5)},
        "push_config": {},
    }
    sub = subscriber.create_subscription(request=request, timeout=LONG)
    assert sub.ack_deadline_seconds == 30
    assert sub.dead_letter_policy.max_delivery_attempts == 5
    assert "ttl" not in sub.expiration_policy
    assert sub.retry_policy.maximum_backoff == timedelta(seconds=600)
    changed = subscriber.update_subscription(
        request={
            "subscription": {
                "name": subscription("admin"),
                "dead_letter_policy": {"max_delivery_attempts": 7},
                "labels": {"new": "one"},
            },
            "update_mask": field_mask_pb2.FieldMask(
                paths=["dead_letter_policy.max_delivery_attempts", "labels", "retry_policy"]
            ),
        },
        timeout=LONG,
    )
    assert changed.dead_letter_policy.max_delivery_attempts == 7
    assert changed.dead_letter_policy.dead_letter_topic == topic("admin-dead")
    assert dict(changed.labels) == {"new": "one"}
    assert "retry_policy" not in changed
    listed = subscriber.list_subscriptions(project="projects/local", timeout=LONG)
    assert subscription("admin") in [each.name for each in listed]
    paged = publisher.list_topics(
        request={"project": "projects/local", "page_size": 1}, timeout=LONG
    )
    assert {topic("admin"), topic("admin-dead")} <= {each.name for each in paged}
    attached = publisher.list_topic_subscriptions(topic=topic("admin"), timeout=LONG)
    assert list(attached) == [subscription("admin")]
    with pytest.raises(exceptions.InvalidArgument, match="filter"):
        subscriber.update_subscription(
            request={
                "subscription": {"name": subscription("admin"), "filter": ""},
                "update_mask": field_mask_pb2.FieldMask(paths=["filter"]),
            },
            timeout=LONG,
        )
    subscriber.delete_subscription(subscription=subscription("admin"), timeout=LONG)
    publisher.delete_topic(topic=topic("admin"), timeout=LONG)
    with pytest.raises(exceptions.NotFound):
        publisher.get_topic(topic=topic("admin"), timeout=LONG)


def test_what_is_published_comes_to_a_callback_with_its_attributes_once(
    server: ServerProcess,
) -> None:
    publisher, subscriber = pair(server, "flow", ack_deadline_seconds=60)
    seen: dict[str, Any] = {}

    def callback(message: Any) -> None:
        seen[message.message_id] = message
        message.ack()

    future = subscriber.subscribe(subscription("flow"), callback)
    sent = [publisher.publish(topic("flow"), b"%d" % n, n=str(n)) for n in range(500)]
    ids = {each.result(LONG): n for n, each in enumerate(sent)}
    eventually(lambda: len(seen) >= 500)
    future.cancel()
    future.result(LONG)
    # the ids that the publish told are those that are delivered
    assert {each: seen[each].data for each in ids} == {each: b"%d" % n for each, n in ids.items()}
    assert {message.attributes["n"] for message in seen.values()} == set(map(str, range(500)))


def test_a_message_of_ten_megabytes_comes_through(server: ServerProcess) -> None:
    publisher, _ = pair(server, "large", ack_deadline_seconds=60)
    subscriber = server.subscriber_of_large_messages()
    data = b"x" * 9_990_000
    publisher.publish(topic("large"), data).result(LONG)
    (received,) = pulled(subscriber, subscription("large"), 1)
    assert received.message.data == data


def test_keys_come_in_order_and_filters_let_pass_what_they_should(server: ServerProcess) -> None:
    _, subscriber = pair(
        server,
        "ordered",
        enable_message_ordering=True,
        ack_deadline_seconds=60,
        filter='attributes.kind = "wanted"',
    )
    options = pubsub_v1.types.PublisherOptions(enable_message_ordering=True)
    publisher = server.publisher(publisher_options=options)
    for n in range(60):
        kind = "wanted" if n % 2 else "other"
        publisher.publish(topic("ordered"), b"%d" % n, ordering_key=f"key-{n % 3}", kind=kind)
    seen: list[tuple[str, int]] = []

    def callback(message: Any) -> None:
        seen.append((message.ordering_key, int(message.data)))
        message.ack()

    future = subscriber.subscribe(subscription("ordered"), callback)
    eventually(lambda: len(seen) >= 30)
    future.cancel()
    future.result(LONG)
    assert sorted(n for _, n in seen) == [n for n in range(60) if n % 2]
    for key in range(3):
        of_key = [n for name, n in seen if name == f"key-{key}"]
        assert of_key == sorted(of_key)


def test_exactly_once_delivery_confirms_acks_and_names_invalid_ids(server: ServerProcess) -> None:
    publisher, subscriber = pair(
        server, "once", enable_exactly_once_delivery=True, ack_deadline_seconds=120
    )
    for n in range(3):
        publisher.publish(topic("once"), b"%d" % n).result(LONG)
    first, second, third = (each.ack_id for each in pulled(subscriber, subscription("once"), 3))
    subscriber.acknowledge(subscription=subscription("once"), ack_ids=[first], timeout=LONG)
    subscriber.modify_ack_deadline(
        subscription=subscription("once"), ack_ids=[second], ack_deadline_seconds=0, timeout=LONG
    )
    with pytest.raises(exceptions.InvalidArgument) as mixed:
        subscriber.acknowledge(
            subscription=subscription("once"), ack_ids=[second, third], timeout=LONG
        )
    info = mixed.value.details[0]
    assert info.reason == "EXACTLY_ONCE_ACKID_FAILURE"
    assert dict(info.metadata) == {
        second: "PERMANENT_FAILURE_INVALID_ACK_ID",
        third: "TRANSIENT_FAILURE_OF_OTHERS",
    }
    # What is transient is repeated by the libraries, and then it is told to have succeeded.
    subscriber.acknowledge(subscription=subscription("once"), ack_ids=[third], timeout=LONG)
    futures: list[Any] = []
    stream = subscriber.subscribe(
        subscription("once"), lambda message: futures.append(message.ack_with_response())
    )
    eventually(lambda: futures)
    assert futures[0].result(LONG).name == "SUCCESS"
    stream.cancel()
    stream.result(LONG)


def test_a_message_that_fails_too_often_goes_to_the_dead_letter_topic(
    server: ServerProcess,
) -> None:
    publisher, subscriber = server.publisher(), server.subscriber()
    publisher.create_topic(name=topic("graves"), timeout=LONG)
    request = {"name": subscription("graves"), "topic": topic("graves")}
    subscriber.create_subscription(request={**request, "ack_deadline_seconds": 60}, timeout=LONG)
    policy = {"dead_letter_topic": topic("graves"), "max_delivery_attempts": 5}
    publisher, subscriber = pair(
        server, "failing", dead_letter_policy=policy, ack_deadline_seconds=60
    )
    attempts: list[int] = []

    def callback(message: Any) -> None:
        attempts.append(message.delivery_attempt)
        message.nack()

    future = subscriber.subscribe(subscription("failing"), callback)
    publisher.publish(topic("failing"), b"broken").result(LONG)
    (dead,) = pulled(subscriber, subscription("graves"), 1)
    future.cancel()
    future.result(LONG)
    assert attempts == [1, 2, 3, 4, 5]
    assert dead.message.data == b"broken"
    assert dead.message.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"
    assert dead.message.attributes["CloudPubSubDeadLetterSourceSubscription"] == "failing"


def test_a_seek_brings_messages_back(server: ServerProcess) -> None:
    publisher, subscriber = pair(
        server, "sought", retain_acked_messages=True, ack_deadline_seconds=60
    )
    began = datetime.now(timezone.utc)
    for n in range(3):
        publisher.publish(topic("sought"), b"%d" % n).result(LONG)
    made = subscriber.create_snapshot(
        name=snapshot("sought"), subscription=subscription("sought"), timeout=LONG
    )
    assert made.topic == topic("sought")
    for target in ({"snapshot": snapshot("sought")}, {"time": _timestamp(began)}):
        found = pulled(subscriber, subscription("sought"), 3)
        assert sorted(each.message.data for each in found) == [b"0", b"1", b"2"]
        subscriber.acknowledge(
            subscription=subscription("sought"),
            ack_ids=[each.ack_id for each in found],
            timeout=LONG,
        )
        subscriber.seek(request={"subscription": subscription("sought"), **target}, timeout=LONG)
    assert len(pulled(subscriber, subscription("sought"), 3)) == 3
    names = [each.name for each in subscriber.list_snapshots(project="projects/local")]
    assert snapshot("sought") in names
    subscriber.delete_snapshot(snapshot=snapshot("sought"), timeout=LONG)
    with pytest.raises(exceptions.NotFound):
        subscriber.get_snapshot(snapshot=snapshot("sought"), timeout=LONG)


def test_the_metrics_are_those_of_the_store_and_of_the_server(server: ServerProcess) -> None:
    def scrape() -> str:
        url = f"http://127.0.0.1:{METRICS}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return str(answer.read().decode())

    eventually(lambda: "pubsub_delta_up 1.0" in scrape())
    told = scrape()
    assert "pubsub_delta_server_published_total" in told
    assert 'pubsub_delta_server_requests_total{code="OK",method="CreateTopic"}' in told


def _timestamp(time: datetime) -> Any:
    made = timestamp_pb2.Timestamp()
    made.FromDatetime(time)
    return made
