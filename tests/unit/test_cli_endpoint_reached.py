"""``--endpoint``: which server is meant, whether it can be reached, and whether it may be asked."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("grpc")
import grpc
from click.testing import CliRunner
from hypothesis import example, given

from pubsub_delta.cli.application import App
from pubsub_delta.cli.endpoint import connection
from pubsub_delta.cli.endpoint.client import EndpointClient
from pubsub_delta.cli.endpoint.connection import Connection, connection_of
from pubsub_delta.cli.endpoint.errors import AckIdsError, StatusError, error_of
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.settings import Settings, read_settings
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, Unavailable, Unknown
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.resources import Message
from pubsub_delta.server.ack_failures import INVALID_ACK_ID
from pubsub_delta.server.publishing import Append
from pubsub_delta.server.security import Security
from pubsub_delta.server.status import AckIdFailure
from tests.unit.hostile import is_refusal, outcome, texts
from tests.unit.serving_world import Terminal, WorldBackend, served
from tests.unit.test_server_command import certificate

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def test_the_endpoint_comes_from_options_then_environment_then_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('endpoint = "file:1"\nendpoint_tls = "public"\n')
    variables = {"PUBSUB_DELTA_CONFIG": str(file)}
    assert read_settings({}, variables) == Settings(endpoint="file:1", endpoint_tls="public")
    variables["PUBSUB_DELTA_ENDPOINT"] = "variable:2"
    variables["PUBSUB_DELTA_ENDPOINT_TOKEN_FILE"] = "token.txt"
    assert read_settings({}, variables).endpoint == "variable:2"
    assert read_settings({}, variables).endpoint_token_file == "token.txt"
    assert read_settings({"endpoint": "option:3"}, variables).endpoint == "option:3"


@pytest.mark.parametrize("key", ["root", "tables_root", "endpoint_tls", "endpoint_token_file"])
def test_a_path_may_begin_at_home(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell expands ``~`` in --root=~/store, in a variable or in the file."""
    monkeypatch.setenv("HOME", "/home/ann")
    given = {key: "~/it", **({"endpoint": "h:1"} if key.startswith("endpoint") else {})}
    assert getattr(read_settings(given, {}), key) == "/home/ann/it"


@pytest.mark.parametrize(
    ("given", "variables", "meant"),
    [
        ({"endpoint": "h:1"}, {"ROOT": "/r"}, Settings(endpoint="h:1")),
        ({"root": "/r"}, {"ENDPOINT": "h:1"}, Settings("/r")),
        ({}, {"ROOT": "/r", "ENDPOINT_TLS": "public"}, Settings("/r", endpoint_tls="public")),
        ({"remote": "sc://h:1"}, {"ENDPOINT": "h:1"}, Settings(remote="sc://h:1")),
        ({"project": "p"}, {"ENDPOINT": "h:1"}, Settings(project="p", endpoint="h:1")),
    ],
)
def test_whoever_names_a_store_or_a_server_first_decides(
    given: dict[str, str], variables: dict[str, str], meant: Settings
) -> None:
    """The command line before the environment before the file."""
    named = {f"PUBSUB_DELTA_{name}": text for name, text in variables.items()}
    assert read_settings(given, named) == meant


@pytest.mark.parametrize(
    ("words", "variables", "told"),
    [
        ("--endpoint=h:1 --root=/r", {}, "the command line names both endpoint and root"),
        ("--endpoint=h:1 --remote=sc://h:2", {}, "names both endpoint and remote"),
        ("", {"ROOT": "/r", "ENDPOINT": "h:1"}, "the environment names both endpoint and root"),
        (
            "--endpoint-tls=public",
            {"ROOT": "/r"},
            "--endpoint-tls has no effect without --endpoint",
        ),
        (
            "--endpoint-token-file=x --root=/r",
            {"ENDPOINT": "h:1"},
            "--endpoint-token-file has no effect",
        ),
    ],
)
def test_a_server_and_a_store_exclude_each_other(
    words: str, variables: dict[str, str], told: str
) -> None:
    environment = {f"PUBSUB_DELTA_{name}": text for name, text in variables.items()}
    result = CliRunner().invoke(cli, ["topics", "list", *words.split()], obj=_nowhere(environment))
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def _nowhere(environment: dict[str, str]) -> App:
    return App(lambda _: pytest.fail("a store was opened"), environment=environment)


@pytest.mark.parametrize(
    "endpoint",
    ["", "localhost", ":8085", "localhost:0", "localhost:99999", "http://h:1", "a b:1", "é:1"],
)
def test_what_is_no_address_is_refused(endpoint: str) -> None:
    result = Terminal(WorldBackend(), None).run(f"topics list --endpoint='{endpoint}'")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert (
        f"INVALID_ARGUMENT: endpoint: {endpoint!r} is not the address of a server" in result.stderr
    )
    assert "localhost:8085" in result.stderr


@given(texts)
@example("[::1]:8085\n")
@example("[]:1")
@example("h\0:1")
@example("\ud800:1")
def test_any_text_is_an_address_or_refused(endpoint: str) -> None:
    told = outcome(lambda: connection_of(Settings(endpoint=endpoint)))
    assert is_refusal(told, endpoint) or isinstance(told, Connection)


def test_a_server_that_is_not_there_is_told_in_one_line() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = Terminal(WorldBackend(), address).run("topics list")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("ERROR: (pubsub-delta.topics.list) UNAVAILABLE: endpoint: ")
    assert f"no server can be reached at {address} " in result.stderr
    assert len(result.stderr.splitlines()) == 1


@dataclass
class Failed:
    """An error of gRPC with a code and its details."""

    told: str

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return self.told

    def trailing_metadata(self) -> None:
        return None


@pytest.mark.parametrize(
    "told",
    [
        "failed to connect to all addresses; last error: UNKNOWN: no route to host",
        "errors resolving store.example: [field:hostname error:DNS query cancelled]",
        "DNS resolution failed for store.example:443: C-ares status is not ARES_SUCCESS",
    ],
)
def test_a_request_that_was_sent_to_nobody_is_unavailable(told: str) -> None:
    """Unavailable: nothing was written. gRPC tells so in three ways."""
    error = error_of(Failed(told), "store.example:443", 5)
    assert type(error) is Unavailable
    assert "no server can be reached at store.example:443" in str(error)
    ended = error_of(Failed("Socket closed"), "store.example:443", 5)
    assert type(ended) is Unknown


@pytest.mark.timeout(20)
def test_whoever_takes_the_connection_and_says_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unreachable server: one line, in bounded time."""
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 1)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        result = Terminal(WorldBackend(), address).run("topics list")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "UNAVAILABLE: endpoint: no server can be reached" in result.stderr


def test_an_answer_that_does_not_come_is_given_up() -> None:
    with served(SlowToLook()) as address, grpc.insecure_channel(address) as channel:
        client = EndpointClient(Connection(channel, address, None, call_seconds=1.0), "local")
        patient = EndpointClient(Connection(channel, address, None), "local")
        topic = patient.create_topic("projects/local/topics/flights").name
        with pytest.raises(StatusError, match=r"did not respond within 1 seconds") as told:
            client.publish(topic, [Message(b"late")])
    assert told.value.code == "DEADLINE_EXCEEDED"


class SlowToLook(WorldBackend):
    """It takes three seconds to find a topic to publish to."""

    def publisher(self, topic: str) -> Append:
        time.sleep(3)
        return super().publisher(topic)


UNIMPLEMENTED = """
import sys
sys.modules[sys.argv.pop(1)] = None
from pubsub_delta.cli.main import main
main()
"""


@pytest.mark.parametrize("module", ["grpc", "google.protobuf", "grpc_reflection.v1alpha"])
def test_without_the_extra_the_error_says_how_to_install_it(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNIMPLEMENTED, module, "topics", "list", "--endpoint=localhost:1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert (
        f"the module {module} is not installed; pip install 'pubsub-delta[server]'" in done.stderr
    )


# TLS and the token


@pytest.fixture
def protected(tmp_path: Path) -> Iterator[tuple[Terminal, Path]]:
    """A server with TLS and the token ``secret``, and the directory of its files."""
    pem, key = certificate(tmp_path)
    backend, security = WorldBackend(), Security(certificate=pem, key=key, token="secret")
    (tmp_path / "token.txt").write_text("secret\n")
    with served(backend, security=security) as address:
        terminal = Terminal(backend, f"localhost:{address.rpartition(':')[2]}")
        yield terminal, tmp_path


def test_tls_and_the_token_are_given_by_files(protected: tuple[Terminal, Path]) -> None:
    terminal, files = protected
    options = f"--endpoint-tls={files}/server.pem --endpoint-token-file={files}/token.txt"
    assert terminal.run(f"topics create flights {options}").exit_code == 0
    list_all = terminal.run(
        "topics list --format=value(name.basename())",
        PUBSUB_DELTA_ENDPOINT_TLS=f"{files}/server.pem",
        PUBSUB_DELTA_ENDPOINT_TOKEN_FILE=f"{files}/token.txt",
    )
    assert (list_all.exit_code, list_all.stdout) == (0, "flights\n")


@pytest.mark.parametrize(
    ("token", "code"),
    [
        (None, "UNAUTHENTICATED: authorization: the bearer token is missing or not the server's"),
        (
            "wrong",
            "UNAUTHENTICATED: authorization: the bearer token is missing or not the server's",
        ),
        ("", "INVALID_ARGUMENT: endpoint_token_file: the content of "),
        ("two\nlines", "INVALID_ARGUMENT: endpoint_token_file: the content of "),
    ],
)
def test_without_the_token_nothing_is_answered(
    protected: tuple[Terminal, Path], token: str | None, code: str
) -> None:
    terminal, files = protected
    line = f"topics list --endpoint-tls={files}/server.pem"
    if token is not None:
        (files / "token.txt").write_text(token)
        line += f" --endpoint-token-file={files}/token.txt"
    result = terminal.run(line)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)
    assert code in result.stderr


def test_a_server_whose_certificate_is_not_trusted_is_not_asked(
    protected: tuple[Terminal, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    terminal, files = protected
    other, _ = certificate(tmp_path_factory.mktemp("other"))
    for trusted in (str(other), "public"):
        result = terminal.run(
            f"topics list --endpoint-tls={trusted} --endpoint-token-file={files}/token.txt"
        )
        assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
        assert "UNAVAILABLE" in result.stderr
        assert "CERTIFICATE_VERIFY_FAILED" in result.stderr
    plain = terminal.run("topics list")
    assert "UNAVAILABLE" in plain.stderr
    assert "--endpoint-tls if it has a certificate" in plain.stderr


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    for name in ("endpoint_tls", "endpoint_token_file"):
        settings = read_settings({"endpoint": "localhost:1", name: absent}, {})
        with pytest.raises(InvalidArgument, match=f"{name}: .*absent.* cannot be read"):
            connection_of(settings)


@pytest.mark.parametrize("content", [b"", b"\n", b"no PEM", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_without_a_certificate_is_trusted_by_nobody(tmp_path: Path, content: bytes) -> None:
    """--endpoint-tls: "trust the certificate or authority in this PEM file".

    gRPC takes an empty text for none, and trusts all public authorities.
    """
    file = tmp_path / "server.pem"
    file.write_bytes(content)
    settings = Settings(endpoint="localhost:1", endpoint_tls=str(file))
    with pytest.raises(InvalidArgument, match=r"endpoint_tls: .*server.pem' has no certificate"):
        connection_of(settings)


def test_a_file_of_authorities_may_have_comments(tmp_path: Path) -> None:
    """Bundles name each authority, in letters of its country."""
    pem, _ = certificate(tmp_path)
    pem.write_bytes("# Főtanúsítvány\r\n".encode() + pem.read_bytes())
    connection_of(Settings(endpoint="localhost:1", endpoint_tls=str(pem)))


def test_a_token_is_not_sent_where_others_could_read_it(tmp_path: Path) -> None:
    file = tmp_path / "token.txt"
    file.write_text("secret")
    settings = Settings(endpoint="pubsub.example:8085", endpoint_token_file=str(file))
    with pytest.raises(FailedPrecondition, match="others could read the token"):
        connection_of(settings)
    connection_of(replace(settings, endpoint_tls="public"))
    connection_of(replace(settings, endpoint="127.0.0.1:8085"))


@pytest.mark.parametrize(("failing", "fine"), [(1, 1), (3, 400), (400, 3), (400, 400), (400, 0)])
def test_of_many_ack_ids_those_that_failed_are_told_from_the_others(
    failing: int, fine: int
) -> None:
    # what a reply does not name goes by its code
    lost = [str(AckId("a" * 32, 1, n)) for n in range(failing)]
    kept = [str(AckId("a" * 32, 2, n)) for n in range(fine)]
    found: set[str] = set()
    while left := [each for each in lost if each not in found]:
        sent = AckIdFailure(dict.fromkeys(left, INVALID_ACK_ID), of=[*left, *kept])
        told = AckIdsError(sent.code, str(sent), sent.named).invalid([*left, *kept])
        assert told is not None
        assert told <= set(left)
        found |= told
