"""`pubsub-delta serve` where it refuses to start, its logs, and TLS."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc")
import asyncio
import os

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.pubsub_v1 import SubscriberClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from pubsub_delta.cli.token_files import read_token
from pubsub_delta.clock import SystemClock
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.server.logs import JsonFormatter
from pubsub_delta.server.security import Security, split_address
from pubsub_delta.server.serve import run
from tests.unit.serving import LONG, SUBSCRIPTION, MemoryStore, serving

RUN = "import sys; sys.modules.update({absent}); from pubsub_delta.cli.main import main; main()"


def serve(*options: str, absent: str = "{}") -> subprocess.CompletedProcess[str]:
    """Run the command where it ends before the store is opened."""
    return subprocess.run(
        [sys.executable, "-c", RUN.replace("{absent}", absent), "serve", "--root=./x", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,  # a server that starts does not end
    )


@contextmanager
def started(root: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    """Start a server in a process of its own, and wait until it serves."""
    command = [*before, sys.executable, "-c", RUN.replace("{absent}", "{}"), "serve"]
    with subprocess.Popen(
        [*command, f"--root={root}", "--host-port=localhost:0"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stderr is not None
        try:
            assert any("localhost:" in line for line in server.stderr), "it has ended"
            yield server
        finally:
            server.kill()


def test_without_the_extra_the_error_says_how_to_install_it() -> None:
    done = serve(absent="{'grpc': None}")
    assert done.returncode == 1
    assert "the module grpc is not installed; pip install 'pubsub-delta[server]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_public_address_is_refused_before_anything_is_started() -> None:
    done = serve("--host-port=0.0.0.0:8085")
    assert done.returncode == 1
    assert "FAILED_PRECONDITION" in done.stderr
    assert "--insecure" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        *("8085", "localhost", "localhost:", "localhost:65536", "a/b:1", f"a:{'9' * 5000}"),
        *("::1:8085", "[::1:8085", "::1]:8085", "a:b:1", "[]:[]:1"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str) -> None:
    with pytest.raises(InvalidArgument, match="host-port"):
        split_address(text)


@pytest.mark.parametrize("wait", ["11s", "1d", "-1s"])
def test_requests_do_not_wait_longer_for_each_other_than_their_clients_do(wait: str) -> None:
    done = serve(f"--group-commit={wait}")
    assert done.returncode == 1
    assert "group-commit: " in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("port", [0, 1, 65535])
def test_a_port_is_any_number_of_two_bytes(port: int) -> None:
    assert split_address(f"localhost:{port}") == ("localhost", port)


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
def test_a_record_is_one_line_of_json(level: str) -> None:
    """Its severity is one of Cloud Logging's ``LogSeverity``."""
    number = getattr(logging, level)
    record = logging.LogRecord("pubsub_delta.server", number, "", 0, "two\nlines", (), None)
    record.code, record.created = "NOT_FOUND", 1_767_225_600.25
    line = JsonFormatter().format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["message"], told["severity"], told["code"]) == ("two\nlines", level, "NOT_FOUND")
    assert told["logger"] == "pubsub_delta.server"
    assert told["time"] == "2026-01-01T00:00:00.250000+00:00"


def certificate(directory: Path) -> tuple[Path, Path]:
    """Write a certificate of this machine, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = SystemClock().now()
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    paths = directory / "server.pem", directory / "server.key"
    paths[0].write_bytes(signed.public_bytes(pem))
    paths[1].write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_server_with_tls_and_a_token_answers_who_has_both(tmp_path: Path) -> None:
    pem, key = certificate(tmp_path)
    security = Security(certificate=pem, key=key, token="secret")
    security.check("0.0.0.0")
    with serving(MemoryStore(), security=security) as address:
        credentials = grpc.composite_channel_credentials(
            grpc.ssl_channel_credentials(pem.read_bytes()),
            grpc.access_token_call_credentials("secret"),
        )
        port = address.rpartition(":")[2]
        with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
            client = SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))
            ask = {"subscription": SUBSCRIPTION, "max_messages": 1, "return_immediately": True}
            assert not client.pull(request=ask, timeout=20).received_messages


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    absent = tmp_path / "absent.pem"
    with pytest.raises(InvalidArgument, match=r"absent\.pem"):
        Security(certificate=absent, key=absent).tls()
    with pytest.raises(InvalidArgument, match="one of them is missing"):
        Security(certificate=absent).check("localhost")


FILE = Path("a.pem")
ACCESS: Any = object()
HERE = ("localhost", "127.0.0.1", "127.9.9.9", "::1")
ANYWHERE = ("0.0.0.0", "::", "192.0.2.1", "pubsub.example.org")
OPEN: list[dict[str, Any]] = [
    {},
    {"certificate": FILE, "key": FILE},
    {"token": "secret"},
    {"access": ACCESS},
]
PROTECTED: list[dict[str, Any]] = [
    {"certificate": FILE, "key": FILE, "token": "secret"},
    {"certificate": FILE, "key": FILE, "access": ACCESS},
    {"insecure": True},
    {"insecure": True, "token": "secret"},
]


@pytest.mark.parametrize("fields", [*OPEN, *PROTECTED], ids=lambda each: ", ".join(each) or "none")
def test_others_reach_a_server_only_by_tls_and_with_a_token(fields: dict[str, Any]) -> None:
    """TLS alone lets everybody in, and a token alone can be read on its way."""
    security = Security(**fields)
    for host in HERE:
        security.check(host)
    for host in ANYWHERE:
        if fields in PROTECTED:
            security.check(host)
        else:
            with pytest.raises(FailedPrecondition, match="lacks TLS or a token"):
                security.check(host)


@pytest.mark.parametrize(
    "fields",
    [
        {"token": ""},
        {"token": "a\nb"},
        {"token": "pässword"},
        {"token": "secret", "access": ACCESS},
        {"key": FILE},
        {"certificate": FILE},
    ],
    ids=[
        "empty token",
        "token of two lines",
        "token that no header carries",
        "token and access",
        "key",
        "certificate",
    ],
)
def test_what_does_not_go_together_is_refused_at_every_address(fields: dict[str, Any]) -> None:
    for host in (*HERE, *ANYWHERE):
        with pytest.raises(InvalidArgument):
            Security(**fields, insecure=True).check(host)


@pytest.mark.parametrize(
    ("option", "setting"),
    [
        ("--token-file", "token-file"),
        ("--console-port=0 --console-token-file", "console-token-file"),
    ],
)
def test_a_token_file_that_is_no_text_is_told(tmp_path: Path, option: str, setting: str) -> None:
    (tmp_path / "token").write_bytes(b"\xff\xfes\x00e\x00")  # UTF-16, as PowerShell writes it
    done = serve(*f"{option}={tmp_path / 'token'}".split())
    assert done.returncode == 1
    assert f"INVALID_ARGUMENT: {setting}: " in done.stderr
    assert "it is not UTF-8" in done.stderr


@pytest.mark.parametrize("text", [b"secret", b" secret\r\n", b"\xef\xbb\xbfsecret\r\n"])
def test_a_token_is_what_stands_between_the_blanks_of_its_file(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "token").write_bytes(text)
    assert read_token(tmp_path / "token", "token-file") == "secret"


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_server_ends_in_order_when_it_is_told_to_or_its_terminal_ends(
    ending: signal.Signals, tmp_path: Path
) -> None:
    """Then it writes the acknowledgements that it has, and gives back what is leased."""
    with started(tmp_path) as server:
        server.send_signal(ending)
        assert server.wait(30) == 0


def test_a_server_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    with started(tmp_path, "nohup") as server:
        server.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(0.5)


class Told:
    """A server that counts what it is told by signals."""

    def __init__(self, *, has_policy_file: bool) -> None:
        self.has_policy_file = has_policy_file
        self.reloads, self.stopped = 0, False

    async def start(self, _: object) -> int:
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGHUP)
        return 0

    async def reload(self) -> None:
        self.reloads += 1
        os.kill(os.getpid(), signal.SIGHUP if self.reloads < 3 else signal.SIGTERM)

    async def stop(self) -> None:
        self.stopped = True


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize(("has_policy_file", "reloads"), [(True, 3), (False, 0)])
def test_a_hangup_reads_the_policy_again_and_ends_a_server_without_one(
    has_policy_file: bool, reloads: int
) -> None:
    """ "After SIGHUP it reads its policy file again, if it has one. Else it ends." """
    server: Any = Told(has_policy_file=has_policy_file)
    asyncio.run(asyncio.wait_for(run(lambda: server, lambda _: None), LONG))
    assert (server.reloads, server.stopped) == (reloads, True)
