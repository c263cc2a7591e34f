"""`pubsub-delta serve` as a process, Google's client, and real HTTP endpoints that it pushes to."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
import jwt
from google.api_core import exceptions
from google.auth.transport.requests import Request
from google.cloud import pubsub_v1
from google.oauth2 import id_token
from google.protobuf import duration_pb2

from tests.acceptance.serving import LONG, ServerProcess, eventually, pulled
from tests.endpoints import Pushed, PushEndpoint, listening
from tests.servers import free_port

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

METRICS = free_port()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    root = tmp_path_factory.mktemp("pushed") / "store"
    process = ServerProcess(root, f"--metrics-port={METRICS}")
    process.start()
    yield process
    assert process.stop() == 0


def topic(name: str) -> str:
    return f"projects/local/topics/{name}"


def subscription(name: str) -> str:
    return f"projects/local/subscriptions/{name}"


def pair(
    server: ServerProcess, name: str, endpoint: PushEndpoint, **fields: Any
) -> tuple[Any, Any]:
    """Create a topic and a subscription of a name that pushes; return both clients."""
    publisher, subscriber = server.publisher(), server.subscriber()
    publisher.create_topic(name=topic(name), timeout=LONG)
    push = {"push_endpoint": endpoint.url}
    request = {"name": subscription(name), "topic": topic(name), "push_config": push, **fields}
    made = subscriber.create_subscription(request=request, timeout=LONG)
    assert made.push_config.push_endpoint == endpoint.url
    return publisher, subscriber


def test_a_receiver_verifies_tokens_of_either_server_by_the_keys_of_either(
    server: ServerProcess,
) -> None:
    # "several servers on one store"
    other = ServerProcess(server.root, directory=server.log.parent)
    other.start()
    with listening() as endpoint:
        publisher, subscriber = server.publisher(), server.subscriber()
        publisher.create_topic(name=topic("signed"), timeout=LONG)
        config = {
            "push_endpoint": endpoint.url,
            "oidc_token": {"service_account_email": "push@example.com", "audience": "receivers"},
        }
        request = {"name": subscription("signed"), "topic": topic("signed"), "push_config": config}
        made = subscriber.create_subscription(request=request, timeout=LONG)
        assert made.push_config.oidc_token.audience == "receivers"

        def issuers() -> set[str]:
            publisher.publish(topic("signed"), b"late").result(LONG)
            tokens = [each.headers["authorization"].split()[1] for each in list(endpoint.requests)]
            return {jwt.decode(each, options={"verify_signature": False})["iss"] for each in tokens}

        addresses = {f"http://{each.address}" for each in (server, other)}
        eventually(lambda: issuers() == addresses)
        for pushed in list(endpoint.requests)[-20:]:
            token = pushed.headers["authorization"].split()[1]
            for address in addresses:
                certs = f"{address}/.well-known/jwks.json"
                claims = id_token.verify_token(token, Request(), "receivers", certs_url=certs)
                assert claims["email"] == "push@example.com"
        subscriber.delete_subscription(subscription=subscription("signed"), timeout=LONG)
    assert other.stop() == 0


def test_messages_are_pushed_as_google_writes_them(server: ServerProcess) -> None:
    # "deliver by HTTP POST with the wrapped JSON format"
    with listening() as endpoint:
        publisher, subscriber = pair(
            server, "wrapped", endpoint, filter='attributes.kind = "wanted"'
        )
        publisher.publish(topic("wrapped"), b"no", kind="other").result(LONG)
        id_ = publisher.publish(topic("wrapped"), b"\x00yes", kind="wanted").result(LONG)
        eventually(lambda: endpoint.requests)
        with pytest.raises(exceptions.FailedPrecondition, match="pushes its messages"):
            subscriber.pull(subscription=subscription("wrapped"), max_messages=1, timeout=LONG)
        listed = subscriber.list_subscriptions(project="projects/local", timeout=LONG)
        shown = {each.name: each.push_config.push_endpoint for each in listed}
        assert shown[subscription("wrapped")] == endpoint.url
        subscriber.delete_subscription(subscription=subscription("wrapped"), timeout=LONG)
    (request,) = endpoint.requests
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("pubsub-delta/")
    assert request.told["subscription"] == subscription("wrapped")
    assert "deliveryAttempt" not in request.told
    message = request.told["message"]
    assert message["messageId"] == message["message_id"] == id_
    assert message["publishTime"] == message["publish_time"]
    assert message["attributes"] == {"kind": "wanted"}
    assert request.data == b"\x00yes"


def test_each_success_acknowledges_and_nothing_else_does(server: ServerProcess) -> None:
    # "ack on 102/200/201/202/204, back off otherwise"
    codes = [102, 200, 201, 202, 204, 203, 302, 400, 500]

    def answer(request: Pushed) -> int:
        code = int(request.data)
        again = endpoint.data.count(request.data) > 1
        return 200 if again and code not in codes[:5] else code

    with listening(answer) as endpoint:
        publisher, subscriber = pair(server, "codes", endpoint)
        for code in codes:
            publisher.publish(topic("codes"), b"%d" % code).result(LONG)
        eventually(lambda: len(endpoint.requests) >= len(codes) + 4)
        # what is acknowledged does not come again, neither pushed nor pulled
        request = {"subscription": subscription("codes"), "push_config": {}}
        subscriber.modify_push_config(request=request, timeout=LONG)
        asked = {"subscription": subscription("codes"), "max_messages": 10}
        left = subscriber.pull(request={**asked, "return_immediately": True}, timeout=LONG)
        assert list(left.received_messages) == []
    counted = {code: endpoint.data.count(b"%d" % code) for code in codes}
    assert counted == {code: 1 if code in codes[:5] else 2 for code in codes}


def test_a_message_that_fails_too_often_goes_to_the_dead_letter_topic(
    server: ServerProcess,
) -> None:
    publisher, subscriber = server.publisher(), server.subscriber()
    publisher.create_topic(name=topic("push-graves"), timeout=LONG)
    graves = {"name": subscription("push-graves"), "topic": topic("push-graves")}
    subscriber.create_subscription(request={**graves, "ack_deadline_seconds": 60}, timeout=LONG)
    policy = {"dead_letter_topic": topic("push-graves"), "max_delivery_attempts": 5}
    second = duration_pb2.Duration(seconds=1)
    retry = {"minimum_backoff": second, "maximum_backoff": second}
    with listening(lambda request: 503 if request.data == b"broken" else 204) as endpoint:
        publisher, subscriber = pair(
            server, "failing", endpoint, dead_letter_policy=policy, retry_policy=retry
        )
        publisher.publish(topic("failing"), b"broken").result(LONG)
        publisher.publish(topic("failing"), b"fine").result(LONG)
        (dead,) = pulled(subscriber, subscription("push-graves"), 1)
    attempts = [each.attempt for each in endpoint.requests if each.data == b"broken"]
    assert attempts == [1, 2, 3, 4, 5]
    assert endpoint.data.count(b"fine") == 1
    assert dead.message.data == b"broken"
    assert dead.message.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"
    assert dead.message.attributes["CloudPubSubDeadLetterSourceSubscription"] == "failing"


def test_keys_are_pushed_in_order(server: ServerProcess) -> None:
    failed: set[str] = set()

    def answer(request: Pushed) -> int:
        first = request.told["message"]["messageId"] not in failed
        failed.add(request.told["message"]["messageId"])
        return 500 if first and request.data == b"3" else 200

    with listening(answer) as endpoint:
        _, subscriber = pair(server, "ordered", endpoint, enable_message_ordering=True)
        options = pubsub_v1.types.PublisherOptions(enable_message_ordering=True)
        publisher = server.publisher(publisher_options=options)
        for n in range(6):
            for key in ("a", "b"):
                publisher.publish(topic("ordered"), b"%d" % n, ordering_key=key)
        eventually(lambda: len(endpoint.requests) >= 14)
        subscriber.delete_subscription(subscription=subscription("ordered"), timeout=LONG)
    for key in ("a", "b"):
        of_key = [r.data for r in endpoint.requests if r.told["message"]["orderingKey"] == key]
        assert of_key == [b"0", b"1", b"2", b"3", b"3", b"4", b"5"]


def test_pushes_are_counted(server: ServerProcess) -> None:
    with listening() as endpoint:
        publisher, _ = pair(server, "counted", endpoint)
        publisher.publish(topic("counted"), b"x").result(LONG)
        eventually(lambda: endpoint.requests)

        def told() -> str:
            url = f"http://127.0.0.1:{METRICS}/metrics"
            with urllib.request.urlopen(url, timeout=30) as answer:
                return str(answer.read().decode())

        eventually(lambda: 'pubsub_delta_server_pushes_total{code="204"}' in told())


def test_another_server_goes_on_with_what_was_under_way(tmp_path_factory: Any) -> None:
    process = ServerProcess(tmp_path_factory.mktemp("restarted") / "store")
    process.start()
    with listening(lambda _: 204 if ready else 503) as endpoint:
        ready: list[bool] = []
        publisher, _ = pair(process, "kept", endpoint)
        publisher.publish(topic("kept"), b"kept").result(LONG)
        eventually(lambda: endpoint.requests)
        assert process.stop() == 0
        ready.append(True)
        before = len(endpoint.requests)
        process.start()  # it finds the subscription by itself
        eventually(lambda: len(endpoint.requests) == before + 1)
        assert process.stop() == 0
