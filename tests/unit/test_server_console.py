"""`pubsub-delta serve --console-port`: where it refuses to start, and a console beside a server."""

from __future__ import annotations

import logging
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("grpc")
from click.testing import CliRunner, Result

from pubsub_delta.cli.application import App
from pubsub_delta.cli.console import console_in_thread
from pubsub_delta.cli.main import cli
from pubsub_delta.clock import ManualClock
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.server.logs import log_to
from tests.servers import free_port
from tests.unit.browsing import Browser
from tests.unit.builders import at
from tests.unit.test_server_command import RUN

ROOT = {"PUBSUB_DELTA_ROOT": "/r"}
OPTIONS: dict[str, Any] = {
    "console_host": "localhost",
    "console_port": 0,
    "console_token_file": None,
    "console_allowed_host": (),
    "console_read_only": None,
}


def opened(_: object) -> Any:
    raise AssertionError("the store was opened")


def serve(*options: str) -> Result:
    """Run the command where it ends before the store is opened."""
    app = App(opened, ManualClock(at(0)), ROOT)
    return CliRunner().invoke(cli, ["serve", "--host-port=localhost:0", *options], obj=app)


def test_a_public_address_of_the_console_needs_a_token_of_its_own(tmp_path: Path) -> None:
    """The same checks as the `console` command, before anything is started."""
    (tmp_path / "token").write_text("the token of the server\n", encoding="utf-8")
    token = f"--token-file={tmp_path / 'token'}"
    done = serve("--console-port=0", "--console-host=0.0.0.0", token)
    assert done.exit_code == 1
    assert "FAILED_PRECONDITION: host: '0.0.0.0' can be reached by others" in done.stderr
    assert "--console-token-file" in done.stderr


def test_a_token_of_the_console_that_is_too_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short\n", encoding="utf-8")
    done = serve("--console-port=0", f"--console-token-file={tmp_path / 'token'}")
    assert done.exit_code == 1
    assert "16 characters" in done.stderr


def test_a_taken_port_of_the_console_is_told_before_the_server_takes_requests() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve(f"--console-port={port}", "--console-host=127.0.0.1")
    assert done.exit_code == 1
    assert f"port {port}: cannot be bound" in done.stderr
    assert "Listening on" not in done.stderr


@pytest.mark.parametrize(
    "option", ["--console-host=::1", "--console-read-only", "--console-allowed-host=a.example"]
)
def test_an_option_of_the_console_alone_is_refused(option: str) -> None:
    """It would do nothing."""
    done = serve(option)
    assert done.exit_code == 2
    told = f"{option.partition('=')[0]} needs --console-port, which runs the console"
    assert told in done.stderr


def test_without_the_extra_the_error_says_how_to_install_it() -> None:
    program = RUN.replace("{absent}", "{'jinja2': None}")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            program,
            "serve",
            "--root=./x",
            "--host-port=localhost:0",
            "--console-port=0",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "jinja2 is not installed; pip install 'pubsub-delta[console]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


class Told(App):
    """A run of the command line that notes what it tells."""

    def __init__(self, store: Any) -> None:
        super().__init__(lambda _: store, ManualClock(at(0)), ROOT)
        self.lines: list[str] = []

    def print_status(self, text: str) -> None:
        self.lines.append(text)

    @property
    def url(self) -> str:
        (line,) = self.lines
        return line.removeprefix("The console is at ")


def posted(url: str) -> int:
    """Return how a console answers a form that no page of its own has sent."""
    try:
        with urllib.request.urlopen(f"{url}topics/_new", data=b"id=news", timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_console_beside_a_server_answers_until_the_server_ends() -> None:
    app = Told(Browser().store)
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with console_in_thread(app, OPTIONS) as start:
        assert app.lines == [], "its address is told once it is there"
        start()
        assert app.url.startswith("http://localhost:")
        with urllib.request.urlopen(app.url + "topics", timeout=20) as answer:
            assert b"flights" in answer.read()
            assert answer.headers["X-Frame-Options"] == "DENY"
        # signals are for the server: its handlers end both
        assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert "console" not in {each.name for each in threading.enumerate()}
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(app.url, timeout=20)


def test_a_console_beside_a_server_takes_the_options_of_one_alone(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a token of many letters\n", encoding="utf-8")
    app = Told(Browser().store)
    secret = {**OPTIONS, "console_token_file": tmp_path / "token", "console_read_only": True}
    with console_in_thread(app, secret) as start:
        start()
        with urllib.request.urlopen(app.url + "topics", timeout=20) as answer:
            assert answer.url.endswith("/sign-in")
            assert b"flights" not in answer.read()
    app = Told(Browser().store)
    with console_in_thread(app, {**OPTIONS, "console_read_only": True}) as start:
        start()
        assert posted(app.url) == 403


def test_a_console_that_never_started_leaves_its_port() -> None:
    """The server could not start: nothing keeps the port."""
    port, app = free_port(), Told(Browser().store)
    beside = console_in_thread(app, {**OPTIONS, "console_host": "127.0.0.1", "console_port": port})
    with pytest.raises(FailedPrecondition, match="no such address"), beside:
        raise FailedPrecondition("no such address")
    assert app.lines == []
    socket.create_server(("127.0.0.1", port)).close()


def test_what_the_console_logs_is_in_the_servers_log(monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[logging.LogRecord] = []

    class Noted(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    kept = {n: logging.getLogger(n) for n in ("pubsub_delta", "py.warnings", "uvicorn")}
    before = {n: (each.handlers, each.propagate, each.level) for n, each in kept.items()}
    browser = Browser()
    app = Told(browser.store)
    try:
        log_to(Noted(), "json", "info")
        monkeypatch.setattr(browser.store, "list_topics", opened)
        with console_in_thread(app, OPTIONS) as start:
            start()
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(app.url + "topics", timeout=20)
    finally:
        logging.captureWarnings(False)
        for name, (handlers, propagate, level) in before.items():
            kept[name].handlers, kept[name].propagate = handlers, propagate
            kept[name].setLevel(level)
    assert [each.name for each in records if each.levelno >= logging.ERROR] == ["uvicorn.error"]
