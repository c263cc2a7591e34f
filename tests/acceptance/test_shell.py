"""``pubsub-delta shell`` as a process: fed by a pipe, and typed into at a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from contextlib import closing, suppress
from pathlib import Path

import pytest

from pubsub_delta.session import DELTA_PACKAGE, DELTA_SETTINGS, SPEED_SETTINGS
from tests.acceptance.processes import environment
from tests.servers import connect_server

pytestmark = pytest.mark.trial

SHELL = [sys.executable, "-m", "pubsub_delta", "shell"]
PROMPT = "pubsub-delta>"
TAB, CTRL_C, CTRL_D, ENTER = "\t", "\x03", "\x04", "\r"
WAIT_SECONDS = 120

_CONTROL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")


def variables(home: Path) -> dict[str, str]:
    """Return the environment of a shell with a home and a store of its own."""
    kept = {name: value for name, value in environment().items() if "PUBSUB_DELTA" not in name}
    return {
        **kept,
        "HOME": str(home),
        "PUBSUB_DELTA_ROOT": str(home / "store"),
        "TERM": "xterm-256color",
        "PROMPT_TOOLKIT_NO_CPR": "1",  # nobody here answers where the cursor is
    }


def run(script: str, home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a shell whose standard input is a pipe."""
    return subprocess.run(
        [*SHELL, *options],
        input=script,
        capture_output=True,
        text=True,
        env=variables(home),
        cwd=home,
        check=False,
        timeout=240,
    )


SCRIPT = r"""
    # what a night's job might do
    topics create flights
    gcloud pubsub subscriptions create delays \
        --topic=flights
    topics publish flights --message='an hour late' --format='value(messageIds)'
    topics describe absent
    subscriptions pull delays --auto-ack --format=value(message.data.decode(base64))
    subscriptions watch delays --count=2 --interval=0.2s --format=json
    topics history flights --format=value(version,operation,messageCount)
    exit
    topics list
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def done(home: Path) -> subprocess.CompletedProcess[str]:
    return run(SCRIPT, home)


def test_a_script_on_standard_input(done: subprocess.CompletedProcess[str]) -> None:
    assert done.stderr.splitlines() == [
        "Created topic [projects/local/topics/flights].",
        "Created subscription [projects/local/subscriptions/delays].",
        "ERROR: (pubsub-delta.topics.describe) NOT_FOUND: topic projects/local/topics/absent "
        "does not exist; `pubsub-delta topics list` shows those that exist",
    ]
    out = done.stdout.splitlines()
    assert out[:2] == ["0", "an hour late"]
    assert [json.loads(line)["num_undelivered_messages"] for line in out[2:4]] == [0, 0]
    assert out[4:] == ["1\tpublish\t1", "0\tcreate table\t"]
    assert done.returncode == 1  # one command failed


@pytest.mark.usefixtures("done")
def test_ctrl_c_ends_a_watch_with_success(home: Path) -> None:
    watch = subprocess.Popen(
        [*SHELL[:-1], "subscriptions", "watch", "delays", "--interval=0.2s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=variables(home),
        cwd=home,
        start_new_session=True,  # a terminal sends Ctrl-C to all of them, the JVM too
    )
    with watch:
        assert watch.stdout is not None
        for _ in range(2):
            assert "  backlog 0  outstanding 0  oldest 0s  acked 0/s" in watch.stdout.readline()
        os.killpg(watch.pid, signal.SIGINT)
        _, told = watch.communicate(timeout=60)
    assert (watch.returncode, told.strip()) == (0, "")


def test_commands_of_a_server(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="needs pubsub-delta[connect]")
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.jars.packages": DELTA_PACKAGE,
        **DELTA_SETTINGS,
        **SPEED_SETTINGS,
    }
    script = """
        topics create flights
        subscriptions create delays --topic=flights --ack-deadline=600
        topics publish flights --message=late --format=value(messageIds)
        subscriptions backlog delays --format=value(state)
        subscriptions pull delays --auto-ack --format=value(message.data.decode(base64),ackStatus)
        topics history flights --format=value(version,operation,messageCount)
        topics describe absent
    """
    with connect_server(tmp_path / "server.log", settings) as url:
        done = run(script, tmp_path, f"--remote={url}")
    assert done.stderr.splitlines() == [
        "Created topic [projects/local/topics/flights].",
        "Created subscription [projects/local/subscriptions/delays].",
        "ERROR: (pubsub-delta.topics.describe) NOT_FOUND: topic projects/local/topics/absent "
        "does not exist; `pubsub-delta topics list` shows those that exist",
    ]
    told = ["0", "available", "late\tSUCCESS", "1\tpublish\t1", "0\tcreate table\t"]
    assert done.stdout.splitlines() == told
    assert done.returncode == 1


class Terminal:
    """A terminal of 100 columns with a shell in it, as somebody sits before it."""

    def __init__(self, home: Path) -> None:
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.process = subprocess.Popen(
            SHELL,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=variables(home),
            cwd=home,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # Ctrl-C is for this one
        )
        os.close(inner)
        self._raw = ""
        self._seen = 0

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def complete(self, begun: str, rest: str) -> None:
        """Type the beginning of a word and Tab, and wait until the rest has come by itself."""
        self.type(begun)
        self.until(begun[-2:])
        self.type(TAB)
        self.until(rest)

    def until(self, wanted: str) -> str:
        """Wait until a text is shown, and return all that was shown since the last one."""
        while True:
            plain = _CONTROL.sub("", self._raw)[self._seen :]
            if wanted in plain:
                self._seen += plain.index(wanted) + len(wanted)
                return plain
            ready, _, _ = select.select([self._fd], [], [], WAIT_SECONDS)
            assert ready, f"{wanted!r} did not come: {plain!r}"
            try:
                self._raw += os.read(self._fd, 65536).decode("utf-8", "replace")
            except OSError:  # the shell has ended
                pytest.fail(f"{wanted!r} did not come before the end: {plain!r}")

    def ended(self) -> int:
        """Wait for the end, and return the exit code."""
        with suppress(OSError):  # there is no more
            while os.read(self._fd, 65536):
                pass
        return self.process.wait(timeout=60)

    def close(self) -> None:
        """Take the terminal away from whatever is still running in it."""
        self.process.kill()
        self.process.wait()
        os.close(self._fd)


def test_a_terminal_completes_names_and_survives_errors_and_ctrl_c(tmp_path: Path) -> None:
    with closing(Terminal(tmp_path)) as shell:
        begun = shell.until(PROMPT)
        assert "Spark" not in begun
        assert f"Store {tmp_path}/store, project local." in begun
        for command in ("topics create flights", "subscriptions create delays --topic=flights"):
            shell.type(command + ENTER)
            shell.until("Created ")
            shell.until(PROMPT)

        shell.complete("topics descr", "ibe")
        shell.complete(" fl", "ights")
        shell.type(ENTER)
        shell.until("name: projects/local/topics/flights")
        shell.until(PROMPT)

        shell.type("subscriptions describe absent" + ENTER)
        shell.until("NOT_FOUND: subscription projects/local/subscriptions/absent does not exist")
        shell.until(PROMPT)

        shell.complete("subscriptions watch de", "lays")
        shell.type(" --interval=0.2s" + ENTER)
        shell.until("Ctrl-C ends")
        shell.until("backlog")
        shell.type(CTRL_C)
        shell.until(PROMPT)

        shell.complete("topics delete fl", "ights")
        shell.type(ENTER)
        shell.until("Do you want to continue [y/N]")
        shell.type("y" + ENTER)
        shell.until("Deleted topic [projects/local/topics/flights].")
        shell.until(PROMPT)
        shell.type(CTRL_D)
        assert shell.ended() == 0
    kept = (tmp_path / ".local/state/pubsub_delta/history").read_text()
    assert "+topics describe flights\n" in kept
