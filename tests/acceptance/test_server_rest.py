"""REST as its users have it: a server in a process of its own, and Google's own tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
from google.auth.credentials import AnonymousCredentials
from google.pubsub_v1 import PublisherClient, SubscriberClient

from pubsub_delta.errors import FailedPrecondition
from tests.acceptance.serving import LONG, ServerProcess, pulled

pytestmark = [
    pytest.mark.trial,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

TOPIC = "projects/local/topics/flights"
SUBSCRIPTION = "projects/local/subscriptions/delays"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    started = ServerProcess(tmp_path_factory.mktemp("rest") / "pubsub")
    started.start()
    yield started
    assert started.stop() == 0


@pytest.fixture(autouse=True)
def _nothing_stays(server: ServerProcess) -> Iterator[None]:
    yield
    publisher, subscriber = server.publisher(), server.subscriber()
    for subscription in subscriber.list_subscriptions(project="projects/local"):
        subscriber.delete_subscription(subscription=subscription.name)
    for topic in publisher.list_topics(project="projects/local"):
        publisher.delete_topic(topic=topic.name)


def over_rest(client: Any, server: ServerProcess) -> Any:
    """Return a client of Google's library that speaks REST."""
    transport = client.get_transport_class("rest")
    made = transport(host=server.address, url_scheme="http", credentials=AnonymousCredentials())
    return client(transport=made)


def test_what_is_published_by_either_protocol_is_pulled_by_the_other(
    server: ServerProcess,
) -> None:
    publisher, subscriber = over_rest(PublisherClient, server), over_rest(SubscriberClient, server)
    publisher.create_topic(name=TOPIC)
    subscriber.create_subscription(name=SUBSCRIPTION, topic=TOPIC)
    publisher.publish(topic=TOPIC, messages=[{"data": b"by REST", "attributes": {"by": "REST"}}])
    (received,) = pulled(server.subscriber(), SUBSCRIPTION, 1)
    assert (received.message.data, received.message.attributes["by"]) == (b"by REST", "REST")
    subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[received.ack_id])
    server.publisher().publish(TOPIC, b"by gRPC").result(LONG)
    (received,) = pulled(subscriber, SUBSCRIPTION, 1)
    assert received.message.data == b"by gRPC"


class Gcloud:
    """Google's command line, which knows of nothing but the server's address."""

    def __init__(self, server: ServerProcess, home: Path) -> None:
        self._environment = {
            **os.environ,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB": f"http://{server.address}/",
            "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
            "CLOUDSDK_CONFIG": str(home),
            "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
            "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
            "CLOUDSDK_CORE_PROJECT": "local",
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["gcloud", "pubsub", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG,
        )

    def told(self, *words: str) -> Any:
        """Return what a command tells, as JSON."""
        done = self.run(*words, "--format=json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "null")


@pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed here")
def test_gcloud_works_by_its_endpoint_override(server: ServerProcess, tmp_path: Path) -> None:
    gcloud = Gcloud(server, tmp_path)
    gcloud.told("topics", "create", "flights", "--labels=a=b")
    gcloud.told("topics", "update", "flights", "--message-retention-duration=1h")
    topic = gcloud.told("topics", "describe", "flights")
    assert (topic["labels"], topic["messageRetentionDuration"]) == ({"a": "b"}, "3600s")
    gcloud.told("subscriptions", "create", "delays", "--topic=flights", "--ack-deadline=30")
    gcloud.told("subscriptions", "update", "delays", "--min-retry-delay=20s", "--ack-deadline=60")
    changed = gcloud.told("subscriptions", "describe", "delays")
    assert (changed["ackDeadlineSeconds"], changed["retryPolicy"]["minimumBackoff"]) == (60, "20s")
    sent = gcloud.told("topics", "publish", "flights", "--message=late", "--attribute=by=gcloud")
    (received,) = gcloud.told("subscriptions", "pull", "delays")
    assert received["message"]["messageId"] == sent["messageIds"][0]
    assert received["message"]["attributes"] == {"by": "gcloud"}
    gcloud.told("subscriptions", "ack", "delays", f"--ack-ids={received['ackId']}")
    gcloud.told("snapshots", "create", "monday", "--subscription=delays")
    gcloud.told("subscriptions", "seek", "delays", "--time=-p1h")
    gcloud.told("subscriptions", "seek", "delays", "--snapshot=monday")
    assert gcloud.told("subscriptions", "pull", "delays") == []
    gcloud.told("snapshots", "delete", "monday")
    assert gcloud.told("topics", "list-subscriptions", "flights") == [SUBSCRIPTION]
    gcloud.told("topics", "detach-subscription", "delays")
    gcloud.told("subscriptions", "delete", "delays")
    gcloud.told("topics", "delete", "flights")
    refused = gcloud.run("topics", "describe", "flights")
    assert "NOT_FOUND: topic projects/local/topics/flights does not exist" in refused.stderr


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
def test_curl_works_as_googles_pages_show_it(server: ServerProcess) -> None:
    def curl(*words: str) -> Any:
        command = ["curl", "-s", "-H", "Content-Type: application/json", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG)
        return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout

    url = f"http://{server.address}"
    assert curl(f"{url}/") == "Ok\n"
    assert curl("-X", "PUT", f"{url}/v1/{TOPIC}")["name"] == TOPIC
    made = json.dumps({"topic": TOPIC, "pushConfig": {}})
    assert curl("-X", "PUT", f"{url}/v1/{SUBSCRIPTION}", "-d", made)["topic"] == TOPIC
    large = Path(server.root).parent / "large.json"  # curl asks first whether it may send so much
    large.write_text(json.dumps({"messages": [{"data": "YWFh" * 1_000_000}]}))
    (message_id,) = curl(f"{url}/v1/{TOPIC}:publish", "-d", f"@{large}")["messageIds"]
    found = curl(f"{url}/v1/{SUBSCRIPTION}:pull", "-d", '{"maxMessages": 1}')
    (received,) = found["receivedMessages"]
    assert received["message"]["messageId"] == message_id
    assert len(received["message"]["data"]) == 4_000_000
    ids = json.dumps({"ackIds": [received["ackId"]]})
    assert curl(f"{url}/v1/{SUBSCRIPTION}:acknowledge", "-d", ids) == {}
    error = curl("-X", "DELETE", f"{url}/v1/projects/local/topics/absent")["error"]
    assert (error["code"], error["status"]) == (404, "NOT_FOUND")


def test_a_second_server_at_a_port_says_that_it_is_taken(server: ServerProcess) -> None:
    other = ServerProcess(Path(server.root).parent / "other" / "pubsub")
    Path(other.root).parent.mkdir()
    other.port, other.address = server.port, server.address
    done = subprocess.run(other.command, capture_output=True, text=True, check=False, timeout=LONG)
    assert done.returncode == 1
    assert FailedPrecondition.code in done.stderr
    assert f"{server.address} cannot be bound" in done.stderr
