"""JSON over HTTP/1.1 at the port of gRPC, as clients of REST see it, on a store in memory."""

from __future__ import annotations

import json
import socket
import ssl
import time
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.pubsub_v1 import PublisherClient, SchemaServiceClient, SubscriberClient

from pubsub_delta.server.grpc_services import IAM_POLICY, SCHEMA_SERVICE, SERVICES
from pubsub_delta.server.rest import bindings
from pubsub_delta.server.security import Security
from tests.unit.serving import LONG, SUBSCRIPTION, TOPIC, MemoryStore, eventually, serving
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_server_command import certificate

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

FLIGHTS = "projects/local/topics/flights"
DELAYS = "projects/local/subscriptions/delays"
SNAPSHOT = "projects/local/snapshots/monday"
JSON = {"Content-Type": "application/json"}


def ask(
    address: str, verb: str, target: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    """Send a request; return the status and the JSON of the reply."""
    connection = HTTPConnection(address, timeout=LONG)
    sent = {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
    text = None if body is None else json.dumps(body)
    connection.request(verb, target, text, sent)
    reply = connection.getresponse()
    read = json.loads(reply.read())
    connection.close()
    return reply.status, read


def error(address: str, *request: Any, **headers: str) -> tuple[int, str, str]:
    """Send a request that is refused; return the status, the canonical code and the message."""
    status, read = ask(address, *request, **headers)
    assert read["error"]["code"] == status
    return status, read["error"]["status"], read["error"]["message"]


def test_get_of_the_root_says_ok() -> None:
    """Google's emulator: health checks ask for ``/``."""
    with serving(MemoryStore()) as address:
        connection = HTTPConnection(address, timeout=LONG)
        connection.request("GET", "/")
        reply = connection.getresponse()
        assert (reply.status, reply.read()) == (200, b"Ok\n")
        connection.request("HEAD", "/")
        assert (connection.getresponse().status) == 200


def test_a_message_is_published_pulled_and_acknowledged() -> None:
    store = MemoryStore()
    with serving(store) as address:
        data = b64encode(b"late \xff").decode()
        messages = [{"data": data, "attributes": {"carrier": "UA"}}, {"data": "YQ=="}]
        published = ask(address, "POST", f"/v1/{TOPIC}:publish", {"messages": messages})
        assert published == (200, {"messageIds": ["0", "1"]})
        status, pulled = ask(address, "POST", f"/v1/{SUBSCRIPTION}:pull", {"maxMessages": 10})
        received = pulled["receivedMessages"]
        assert status == 200
        assert received[0]["message"]["attributes"] == {"carrier": "UA"}
        assert b64decode(received[0]["message"]["data"]) == b"late \xff"
        ids = {"ackIds": [each["ackId"] for each in received]}
        assert ask(address, "POST", f"/v1/{SUBSCRIPTION}:acknowledge", ids) == (200, {})
        eventually(lambda: store.unacked == [])
        assert store.counters.requests["Publish", "OK"] == 1
        assert store.counters.requests["Acknowledge", "OK"] == 1


def test_googles_python_library_works_over_rest() -> None:
    with served(WorldBackend()) as address:
        publisher, subscriber = (
            over_rest(PublisherClient, address),
            over_rest(SubscriberClient, address),
        )
        topic = publisher.create_topic(request={"name": FLIGHTS, "labels": {"a": "b"}})
        assert (topic.name, dict(topic.labels)) == (FLIGHTS, {"a": "b"})
        made = {"name": DELAYS, "topic": FLIGHTS, "ack_deadline_seconds": 30}
        assert subscriber.create_subscription(request=made).ack_deadline_seconds == 30
        mask = {"paths": ["ack_deadline_seconds", "retry_policy"]}
        changed = {"name": DELAYS, "ack_deadline_seconds": 60, "retry_policy": {}}
        update = {"subscription": changed, "update_mask": mask}
        assert subscriber.update_subscription(request=update).ack_deadline_seconds == 60
        publisher.publish(topic=FLIGHTS, messages=[{"data": b"late"}, {"data": b"\x00\xff"}])
        snapshot = subscriber.create_snapshot(name=SNAPSHOT, subscription=DELAYS)
        assert snapshot.topic == FLIGHTS
        received = list(subscriber.pull(subscription=DELAYS, max_messages=5).received_messages)
        assert [each.message.data for each in received] == [b"late", b"\x00\xff"]
        ids = [each.ack_id for each in received]
        subscriber.modify_ack_deadline(subscription=DELAYS, ack_ids=ids, ack_deadline_seconds=30)
        subscriber.acknowledge(subscription=DELAYS, ack_ids=ids)
        subscriber.seek(request={"subscription": DELAYS, "snapshot": SNAPSHOT})
        again = subscriber.pull(subscription=DELAYS, max_messages=5).received_messages
        assert sorted(each.message.data for each in again) == [b"\x00\xff", b"late"]
        assert [each.name for each in publisher.list_topics(project="projects/local")] == [FLIGHTS]
        assert list(publisher.list_topic_subscriptions(topic=FLIGHTS)) == [DELAYS]
        assert list(publisher.list_topic_snapshots(topic=FLIGHTS)) == [SNAPSHOT]
        subscriber.delete_snapshot(snapshot=SNAPSHOT)
        publisher.detach_subscription(request={"subscription": DELAYS})
        assert subscriber.get_subscription(subscription=DELAYS).detached
        subscriber.delete_subscription(subscription=DELAYS)
        publisher.delete_topic(topic=FLIGHTS)
        with pytest.raises(exceptions.NotFound, match="flights does not exist"):
            publisher.get_topic(topic=FLIGHTS)
        with pytest.raises(exceptions.BadRequest, match="is not a topic id"):
            publisher.create_topic(name="projects/local/topics/a")
        schemas = over_rest(SchemaServiceClient, address)
        assert list(schemas.list_schemas(parent="projects/local")) == []


def over_rest(client: Any, address: str) -> Any:
    """Return a client of Google's library that speaks REST to a server."""
    transport = client.get_transport_class("rest")
    made = transport(host=address, url_scheme="http", credentials=AnonymousCredentials())
    return client(transport=made)


def test_pages_are_asked_for_in_the_query() -> None:
    with served(WorldBackend()) as address:
        for name in ("one", "two", "three"):
            assert ask(address, "PUT", f"/v1/projects/local/topics/{name}")[0] == 200
        names: list[str] = []
        token = ""
        while True:
            target = f"/v1/projects/local/topics?pageSize=2&pageToken={token}"
            _, page = ask(address, "GET", target)
            names += [each["name"].rpartition("/")[2] for each in page["topics"]]
            token = page.get("nextPageToken", "")
            if not token:
                break
        assert names == ["one", "three", "two"]
        _, part = ask(address, "GET", "/v1/projects/local/topics?pageSize=1&fields=topics/name")
        assert part == {"topics": [{"name": "projects/local/topics/one"}]}
        # What is refused for its selection has done nothing.
        refused = ask(address, "PUT", "/v1/projects/local/topics/four?fields=nope")
        assert refused[0] == 400
        assert ask(address, "GET", "/v1/projects/local/topics/four")[0] == 404


def test_every_method_is_called_by_its_own_path() -> None:
    """A method that the server does not have answers 501 UNIMPLEMENTED, none 404 for its path."""
    wanted = {"topics": FLIGHTS, "subscriptions": DELAYS, "snapshots": SNAPSHOT}
    backend = WorldBackend()
    with served(backend) as address:
        for binding in bindings.BINDINGS:
            target = binding.template
            for kind in ("topics", "subscriptions", "snapshots", "schemas"):
                name = wanted.get(kind, "projects/local/schemas/carriers")
                target = target.replace(f"projects/*/{kind}/*", name)
            _, path = target.split("{")
            _, _, rest = path.partition("=")
            target = "/v1/" + rest.replace("}", "").replace("projects/*", "projects/local")
            status, read = ask(address, binding.verb, target, {} if binding.body else None)
            told = read.get("error", {}).get("message", "")
            assert "no method of google.pubsub.v1" not in told, target
            assert status in (200, 400, 404, 409, 501), (target, read)
    counted = {name for name, _ in backend.counted.requests}
    named = {name for of in SERVICES.values() for name in of} - {"StreamingPull"}
    assert counted == named


def test_paths_of_no_method_are_not_found() -> None:
    with serving(MemoryStore()) as address:
        assert error(address, "GET", "/v2/nothing")[:2] == (404, "NOT_FOUND")
        status, code, told = error(address, "POST", f"/v1/{TOPIC}", {})
        assert (status, code) == (404, "NOT_FOUND")
        assert "DELETE and GET and PATCH and PUT are accepted there" in told
        _, _, told = error(address, "POST", f"/v1/{SUBSCRIPTION}:streamingPull", {})
        assert "works by gRPC only" in told


def test_errors_of_methods_come_with_their_codes_and_details() -> None:
    with serving(MemoryStore()) as address:
        status, read = ask(
            address, "POST", "/v1/projects/local/subscriptions/absent:pull", {"maxMessages": 1}
        )
        assert status == 404
        assert read["error"]["status"] == "NOT_FOUND"
        assert read["error"]["details"][0] == {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "NOT_FOUND",
            "domain": "pubsub.googleapis.com",
        }
        pull = f"/v1/{SUBSCRIPTION}:pull"
        assert error(address, "POST", pull, {})[:2] == (400, "INVALID_ARGUMENT")


def test_ack_ids_that_failed_with_exactly_once_delivery_are_named() -> None:
    store = MemoryStore({"enable_exactly_once_delivery": True})
    with serving(store) as address:
        ask(address, "POST", f"/v1/{TOPIC}:publish", {"messages": [{"data": "YQ=="}]})
        _, pulled = ask(address, "POST", f"/v1/{SUBSCRIPTION}:pull", {"maxMessages": 1})
        ids = {"ackIds": [pulled["receivedMessages"][0]["ackId"]]}
        ask(address, "POST", f"/v1/{SUBSCRIPTION}:seek", {"time": "2020-01-01T00:00:00Z"})
        _, read = ask(address, "POST", f"/v1/{SUBSCRIPTION}:acknowledge", ids)
        (detail,) = read["error"]["details"]
        assert detail["reason"] == "EXACTLY_ONCE_ACKID_FAILURE"
        assert list(detail["metadata"]) == ids["ackIds"]


def test_the_refusals_of_requests_that_call_nothing_are_counted() -> None:
    store = MemoryStore()
    with serving(store) as address:
        publish = f"/v1/{TOPIC}:publish"
        told = error(address, "POST", publish, {"messages": [{"dta": ""}]})
        assert told[:2] == (400, "INVALID_ARGUMENT")
        assert store.counters.requests["Publish", "INVALID_ARGUMENT"] == 1
        told = error(address, "POST", publish, {}, Content_Type="text/plain")
        assert "application/json is accepted" in told[2]
        told = error(address, "POST", publish, {}, Content_Encoding="br")
        assert "Content-Encoding: 'br'" in told[2]
        pull, now = f"/v1/{SUBSCRIPTION}:pull", {"maxMessages": 1, "returnImmediately": True}
        assert ask(address, "POST", pull, now, X_Server_Timeout="3600")[0] == 200
        for seconds in ("soon", "0", "-1", "nan", "inf", "3600.1", "1e9"):
            told = error(address, "POST", publish, {}, X_Server_Timeout=seconds)
            assert f"X-Server-Timeout: '{seconds}'" in told[2]
        assert store.messages == []


def test_the_token_is_asked_for_by_header_or_parameter() -> None:
    with serving(MemoryStore(), security=Security(token="secret")) as address:
        pull, body = f"/v1/{SUBSCRIPTION}:pull", {"maxMessages": 1, "returnImmediately": True}
        for given in ("Bearer other", "secret", " secret", "Basic secret", "Bearer sécret"):
            status, code, told = error(address, "POST", pull, body, Authorization=given)
            assert (status, code) == (401, "UNAUTHENTICATED")
            assert "bearer token" in told
        assert error(address, "POST", pull, body)[0] == 401
        assert error(address, "GET", "/v1/nothing")[0] == 401  # no hint of what exists
        assert ask(address, "POST", pull, body, Authorization="Bearer secret") == (200, {})
        # RFC 9110, 11.1 and 11.4: a scheme is named in any case, with spaces before the token
        for given in ("bearer secret", "BEARER secret", "Bearer  secret"):
            assert ask(address, "POST", pull, body, Authorization=given) == (200, {})
        assert ask(address, "POST", f"{pull}?access_token=secret", body) == (200, {})
        connection = HTTPConnection(address, timeout=LONG)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200


def test_a_body_is_not_read_without_the_token() -> None:
    with serving(MemoryStore(), security=Security(token="secret")) as address:
        host, _, port = address.partition(":")
        with socket.create_connection((host, int(port)), timeout=LONG) as client:
            head = (
                f"POST /v1/{TOPIC}:publish HTTP/1.1\r\nHost: l\r\nContent-Length: 9000000\r\n\r\n"
            )
            client.sendall(head.encode())
            assert client.recv(100).startswith(b"HTTP/1.1 401 Unauthorized\r\n")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": "attacker.example:8085"},
        {"Host": "localhost@attacker.example"},
    ],
)
def test_web_pages_get_nothing_from_a_server_without_a_token(headers: dict[str, str]) -> None:
    """A browser sends requests of any page to this machine: by its own name, or by another's."""
    store = MemoryStore()
    with serving(store) as address:
        body = {"messages": [{"data": "YQ=="}]}
        told = error(address, "POST", f"/v1/{TOPIC}:publish", body, **headers)
        assert told[:2] == (403, "PERMISSION_DENIED")
        assert store.messages == []
    with serving(store, security=Security(token="secret")) as address:
        sent = {**headers, "Authorization": "Bearer secret"}
        assert ask(address, "POST", f"/v1/{TOPIC}:publish", body, **sent)[0] == 200


def test_with_tls_the_certificate_tells_whose_name_it_is(tmp_path: Path) -> None:
    pem, key = certificate(tmp_path)
    with serving(MemoryStore(), security=Security(pem, key)) as address:
        trusted = ssl.create_default_context(cafile=str(pem))
        port = int(address.rpartition(":")[2])
        connection = HTTPSConnection("localhost", port, timeout=LONG, context=trusted)
        for host, status in (("pubsub.example", 404), ("attacker.example", 403)):
            origin = {"Origin": "https://attacker.example"} if status == 403 else {}
            connection.request("GET", "/v1/nothing", headers={"Host": host, **origin})
            reply = connection.getresponse()
            reply.read()
            assert reply.status == status
        connection.close()


def test_a_pull_whose_client_has_gone_away_takes_no_message() -> None:
    store = MemoryStore()
    with serving(store) as address:
        host, _, port = address.partition(":")
        pull = f"POST /v1/{SUBSCRIPTION}:pull HTTP/1.1\r\nHost: localhost\r\n"
        body = '{"maxMessages": 10}'
        head = f"{pull}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=LONG) as client:
            client.sendall((head + body).encode())
            time.sleep(0.2)  # it waits for a message
        eventually(lambda: store.counters.requests["Pull", "CANCELLED"] == 1)
        ask(address, "POST", f"/v1/{TOPIC}:publish", {"messages": [{"data": "YQ=="}]})
        _, pulled = ask(address, "POST", f"/v1/{SUBSCRIPTION}:pull", {"maxMessages": 10})
        assert len(pulled["receivedMessages"]) == 1


def test_a_pull_waits_as_long_as_its_client_says() -> None:
    """Google's X-Server-Timeout, in seconds."""
    with serving(MemoryStore()) as address:
        begun = time.monotonic()
        pull = ask(
            address, "POST", f"/v1/{SUBSCRIPTION}:pull", {"maxMessages": 1}, X_Server_Timeout="1"
        )
        assert pull == (200, {})
        assert time.monotonic() - begun < 15, "it waits 20 seconds where nobody says"


def test_a_pull_that_waits_when_the_server_ends_is_told_to_come_again() -> None:
    store = MemoryStore()
    with ThreadPoolExecutor(1) as thread:
        with serving(store) as address:
            body = {"maxMessages": 10}
            pull = thread.submit(error, address, "POST", f"/v1/{SUBSCRIPTION}:pull", body)
            eventually(lambda: store.requests)  # it waits for a message
        status, code, told = pull.result(LONG)
    assert (status, code) == (503, "UNAVAILABLE")
    assert "shutting down" in told


def test_what_names_no_method_is_counted_nowhere() -> None:
    """Memory: there is any number of paths."""
    store = MemoryStore()
    with serving(store) as address:
        for target in ("/v1/nothing?alt=media", f"/v1/{TOPIC}:nothing", "/v1/%FF"):
            assert ask(address, "GET", target)[0] in (400, 404)
        assert store.counters.requests == {}


def test_ten_megabytes_are_published_and_pulled() -> None:
    """Pub/Sub: 10,000,000 bytes a request, which base64 makes a third longer."""
    store = MemoryStore()
    with serving(store) as address:
        data = bytes(9_900_000)
        body = {"messages": [{"data": b64encode(data).decode()}]}
        assert ask(address, "POST", f"/v1/{TOPIC}:publish", body)[0] == 200
        _, pulled = ask(address, "POST", f"/v1/{SUBSCRIPTION}:pull", {"maxMessages": 1})
        assert b64decode(pulled["receivedMessages"][0]["message"]["data"]) == data
        too_large = {"messages": [{"data": b64encode(bytes(16_000_000)).decode()}]}
        status, code, told = error(address, "POST", f"/v1/{TOPIC}:publish", too_large)
        assert (status, code) == (400, "INVALID_ARGUMENT")
        assert "10,000,000 bytes of messages at most" in told


def test_the_services_of_the_server_are_those_that_are_bound() -> None:
    assert {each.service for each in bindings.BINDINGS} == set(SERVICES)
    assert {IAM_POLICY, SCHEMA_SERVICE} <= set(SERVICES)
