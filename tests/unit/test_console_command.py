"""`pubsub-delta console` where it refuses to start, and what it tells when it listens."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

pytest.importorskip("fastapi")
import uvicorn

from pubsub_delta.cli.console import access_options, console_access
from pubsub_delta.console import serve
from pubsub_delta.console.security import ConsoleAccess
from pubsub_delta.errors import FailedPrecondition
from tests.unit.browsing import Browser

RUN = "import sys; sys.modules.update({absent}); from pubsub_delta.cli.main import main; main()"


def console(*options: str, absent: str = "{}") -> subprocess.CompletedProcess[str]:
    """Run the command where it ends before Spark is started."""
    return subprocess.run(
        [sys.executable, "-c", RUN.replace("{absent}", absent), "console", "--root=./x", *options],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("module", ["fastapi", "jinja2", "uvicorn"])
def test_without_the_extra_the_error_says_how_to_install_it(module: str) -> None:
    done = console(absent=f"{{'{module}': None}}")
    assert done.returncode == 1
    assert f"{module} is not installed; pip install 'pubsub-delta[console]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_token_that_is_too_short_is_refused_before_spark_is_started(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short\n", encoding="utf-8")
    done = console(f"--token-file={tmp_path / 'token'}")
    assert done.returncode == 1
    assert "16 characters" in done.stderr
    assert "short\n" not in done.stderr.replace("shorter", ""), "a token does not belong in a log"


@pytest.mark.parametrize("prefix", ["", "console-"])
def test_help_begins_with_the_address_of_the_console(prefix: str) -> None:
    """Then come who may use it, under which names, and for what."""
    command = click.command()(access_options(prefix)(lambda **_: None))
    names = [f"--{prefix}{each}" for each in ("host", "token-file", "allowed-host", "read-only")]
    assert [each.opts[0] for each in command.params] == names


@pytest.mark.parametrize("prefix", ["", "console-"])
def test_the_console_answers_to_each_name_that_is_permitted(prefix: str) -> None:
    """ "Another host name of the console, as behind a proxy. Repeatable." """
    found: list[ConsoleAccess] = []

    @click.command()
    @access_options(prefix)
    def command(**options: Any) -> None:
        found.append(console_access(options, prefix))

    names = [f"--{prefix}allowed-host={each}" for each in ("One.example", "two.example")]
    assert CliRunner().invoke(command, names).exit_code == 0
    browser = Browser(found[0])
    for host, status in (
        *(("one.example", 200), ("two.example:443", 200), ("localhost:8086", 200)),
        *(("three.example", 421), ("e", 421), ("one.example.org", 421)),
    ):
        answer = browser.client.get("/topics", headers={"Host": host})
        assert (host, answer.status_code) == (host, status)


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(FailedPrecondition, match=f"port {port}: cannot be bound"):
            serve.open_socket("127.0.0.1", port)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_it_answers_where_it_says_that_it_listens(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running console, over a real socket; it ends when it is told to."""
    if host == "[::1]" and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    servers: list[uvicorn.Server] = []
    told: list[str] = []
    begun = threading.Event()

    class Noted(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            servers.append(self)

    def started(url: str) -> None:
        told.append(url)
        begun.set()

    monkeypatch.setattr(uvicorn, "Server", Noted)
    browser = Browser()
    browser.store.create_topic("odd%2Fname+x")
    app = browser.app
    running = threading.Thread(target=serve.serve, args=(app, host, 0, started))
    running.start()
    try:
        assert begun.wait(20)
        assert told[0].startswith(f"http://{host}:")
        with urllib.request.urlopen(told[0] + "topics", timeout=20) as answer:
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert "server" not in {name.lower() for name in answer.headers}
            listing = answer.read().decode()
        (link,) = re.findall(r'href="/(topics/odd[^"]*)"', listing)
        with urllib.request.urlopen(told[0] + link, timeout=20) as answer:
            assert b"odd%2Fname+x" in answer.read()
    finally:
        assert servers
        servers[0].should_exit = True
        running.join(20)
    assert not running.is_alive()
