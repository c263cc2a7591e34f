"""A server with a policy file as its users run it: tokens, roles, files that change, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.pubsub_v1 import PublisherClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from tests.acceptance.processes import environment
from tests.acceptance.serving import LONG, ServerProcess
from tests.unit.access_files import ADMIN, ANN, bound, document, token_of
from tests.unit.serving import eventually

pytestmark = [
    pytest.mark.trial,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

TOPIC = "projects/local/topics/flights"
SUBSCRIPTION = "projects/local/subscriptions/delays"
SUBSCRIBER = (SUBSCRIPTION, bound("pubsub.subscriber", ANN))
PUBLISHER = (TOPIC, bound("pubsub.publisher", ANN))


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.json"
    write(path)
    return path


def write(path: Path, *bindings: Any) -> None:
    """Put a policy file in its place, as one that is renamed."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(document(*bindings)))
    os.replace(new, path)


@pytest.fixture
def server(tmp_path: Path, policy: Path) -> Iterator[ServerProcess]:
    for member in (ADMIN, ANN):
        (tmp_path / f"{member}.token").write_text(token_of(member))
    started = ServerProcess(tmp_path / "pubsub", f"--policy-file={policy}")
    started.start()
    assert cli(started, ADMIN, "topics", "create", "flights").returncode == 0
    made = cli(started, ADMIN, "subscriptions", "create", "delays", "--topic=flights")
    assert made.returncode == 0
    yield started
    assert started.stop() == 0


def cli(server: ServerProcess, member: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the token of a member."""
    tokens = server.log.parent / f"{member}.token"
    return subprocess.run(
        [
            *(sys.executable, "-m", "pubsub_delta", *words),
            *(f"--endpoint={server.address}", f"--endpoint-token-file={tokens}"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )


class _Token(grpc.UnaryUnaryClientInterceptor, grpc.StreamStreamClientInterceptor):  # type: ignore[misc]
    def __init__(self, member: str) -> None:
        self._metadata = [("authorization", f"Bearer {token_of(member)}")]

    def _with(self, details: Any) -> Any:
        return details._replace(metadata=[*(details.metadata or ()), *self._metadata])

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        return continuation(self._with(details), request)

    def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
        return continuation(self._with(details), requests)


def channel(server: ServerProcess, member: str) -> Any:
    return grpc.intercept_channel(grpc.insecure_channel(server.address), _Token(member))


def publish(server: ServerProcess, member: str) -> None:
    transport = PublisherGrpcTransport(channel=channel(server, member))
    messages = [{"data": b"late"}]
    PublisherClient(transport=transport).publish(topic=TOPIC, messages=messages, timeout=LONG)


def is_denied(server: ServerProcess, member: str) -> bool:
    try:
        publish(server, member)
    except exceptions.PermissionDenied:
        return True
    return False


def test_a_file_that_changes_is_in_force_and_ends_streams(
    server: ServerProcess, policy: Path
) -> None:
    # "policy file reloaded when it changes or by SIGHUP"
    assert is_denied(server, ANN)
    write(policy, SUBSCRIBER, PUBLISHER)
    eventually(lambda: not is_denied(server, ANN))
    transport = SubscriberGrpcTransport(channel=channel(server, ANN))
    got: list[bytes] = []

    def callback(message: Any) -> None:
        got.append(message.data)
        message.ack()

    with pubsub_v1.SubscriberClient(transport=transport) as subscriber:
        future = subscriber.subscribe(SUBSCRIPTION, callback)
        eventually(lambda: got)
        write(policy, PUBLISHER)
        with pytest.raises(exceptions.PermissionDenied):
            future.result(LONG)


def test_a_signal_lets_the_server_read_the_file_again(server: ServerProcess, policy: Path) -> None:
    policy.write_text("{")
    server.signal(signal.SIGHUP)
    eventually(lambda: "the policy file cannot be read" in server.log.read_text())
    publish(server, ADMIN)  # what was read before holds on
    write(policy, PUBLISHER)
    server.signal(signal.SIGHUP)
    eventually(lambda: not is_denied(server, ANN))


def test_the_command_line_has_a_token_and_is_told_what_it_may_not(server: ServerProcess) -> None:
    # "Also the console/CLI `--endpoint` with tokens keep working"
    listed = cli(server, ADMIN, "topics", "list", "--format=value(name)")
    assert listed.stdout.strip() == TOPIC
    for name in ("flights", "absent"):
        denied = cli(server, ANN, "topics", "describe", name)
        assert denied.returncode == 1
        told = "PERMISSION_DENIED: User not authorized to perform this action."
        assert told in denied.stderr


def test_a_wrong_file_is_told_before_anything_is_started(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text('{"bindings": {"flights": []}}')
    serve = [sys.executable, "-m", "pubsub_delta", "serve", "--root=./x"]
    done = subprocess.run(
        [*serve, f"--policy-file={tmp_path / 'policy.json'}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 1
    assert "INVALID_ARGUMENT: policy-file" in done.stderr
    assert "bindings: 'flights'" in done.stderr
    assert not (tmp_path / "x").exists()
