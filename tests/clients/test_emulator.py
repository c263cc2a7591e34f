"""Raw calls to a server and to Google's emulator, one by one: what differs is known."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.pubsub_v1")
import grpc
from google.protobuf import json_format

from pubsub_delta.server.grpc_services import SERVICES
from tests.acceptance.serving import ServerProcess
from tests.clients.emulator_calls import ANY, Call, calls
from tests.clients.emulator_differences import DIFFERENCES
from tests.servers import free_port

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

JAR = "google-cloud-sdk/platform/pubsub-emulator/lib"
VOLATILE = {
    "messageIds",
    "messageId",
    "publishTime",
    "ackId",
    "etag",
    "expireTime",
    "nextPageToken",
}
VOLATILE |= {"revisionId", "revisionCreateTime"}
NOT_OF_THE_EMULATOR: dict[str, Any] = {"state": "ACTIVE", "expirationPolicy": {"ttl": "2678400s"}}
"""What Pub/Sub answers, its libraries and the API's comments say, and the emulator leaves out."""


def emulator_jar() -> Path | None:
    """Return the emulator of the Google Cloud SDK on this machine, if there is one."""
    for above in (Path("/usr/lib"), Path("/usr/share"), Path("/opt"), Path.home()):
        found = sorted((above / JAR).glob("cloud-pubsub-emulator-*.jar"))
        if found:
            return found[-1]
    return None


@contextmanager
def emulator(jar: Path, directory: Path) -> Iterator[str]:
    """Run Google's emulator; give its address."""
    port = free_port()
    command = ["java", "-jar", str(jar), "--host=127.0.0.1", f"--port={port}"]
    with (directory / "emulator.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def outcomes(address: str) -> dict[str, Any]:
    """Make all calls, and return what each was answered."""
    found = {}
    ack_ids: list[str] = []
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(address, options) as channel:
        for call in calls():
            fields = {k: ack_ids if v is ANY else v for k, v in call.fields.items()}
            found[call.name], response = _outcome(channel, call, fields)
            if call.method == "Pull" and response is not None and response.received_messages:
                ack_ids = [each.ack_id for each in response.received_messages]
    return found


def _outcome(channel: Any, call: Call, fields: Mapping[str, Any]) -> tuple[Any, Any]:
    of = SERVICES[call.service][call.method]
    ask = channel.unary_unary(
        f"/{call.service}/{call.method}",
        request_serializer=of.request.SerializeToString,
        response_deserializer=of.response.FromString,
    )
    try:
        response = ask(of.request(**fields), timeout=30)
    except grpc.RpcError as error:
        return error.code().name, None
    return _without(json_format.MessageToDict(response), VOLATILE), response


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {
            k: "…" if k in names else _without(v, names)
            for k, v in value.items()
            if NOT_OF_THE_EMULATOR.get(k) != v
        }
    if isinstance(value, list):
        return [_without(each, names) for each in value]
    return value


def test_calls_are_answered_as_google_s_emulator_answers_them_but_for_known_differences(
    tmp_path: Path,
) -> None:
    # "raw calls compared with Google's emulator one by one"; "where they differ for a reason, the
    # docs say so"
    jar = emulator_jar()
    if jar is None or shutil.which("java") is None:
        pytest.skip("there is no emulator of the Google Cloud SDK on this machine, or no Java")
    server = ServerProcess(tmp_path / "store")
    server.start()
    ours = outcomes(server.address)
    assert server.stop() == 0
    with emulator(jar, tmp_path) as address:
        theirs = outcomes(address)
    differing = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    print(f"{len(ours)} calls, {len(differing)} differ")  # noqa: T201
    for name, (mine, other) in differing.items():
        if name not in DIFFERENCES:
            print(name, mine, other, sep="\n    ")  # noqa: T201
    assert set(differing) == set(DIFFERENCES)
