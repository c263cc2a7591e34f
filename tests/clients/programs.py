"""Programs with Google's clients in four languages, which tests speak with by lines."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.acceptance.processes import environment
from tests.acceptance.serving import ServerProcess, eventually

HERE = Path(__file__).resolve().parent
PROJECT = "clients"
JAVA = HERE / "java/target"
COMMANDS = {
    "go": [str(HERE / "go/client")],
    "java": ["java", "-cp", f"{JAVA / 'classes'}:{JAVA / 'dependency'}/*", "Client"],
    "node": ["node", str(HERE / "node/client.mjs")],
    "python": [sys.executable, "-W", "ignore", str(HERE / "client.py")],
}

PROGRAMS = {
    "go": HERE / "go/client",
    "java": JAVA / "classes/Client.class",
    "node": HERE / "node/node_modules",
    "python": HERE / "client.py",
}
"""What is there when the program of a language is installed."""


def installed() -> list[str]:
    """Return the languages whose programs are built: `make client-test` builds what it can."""
    return [language for language, path in PROGRAMS.items() if path.exists()]


class ClientProgram:
    """A program that publishes what it is sent, and acknowledges and tells what it receives.

    Times are those at which the program's line was read here (``time.monotonic``).
    """

    def __init__(self, language: str, server: ServerProcess, log: Path) -> None:
        self.published: dict[str, float] = {}
        self.received: list[tuple[float, str]] = []
        self.errors: list[str] = []
        self._ready = threading.Event()
        self._log = log
        self._process = subprocess.Popen(
            [*COMMANDS[language], PROJECT, f"from-{language}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("wb"),
            text=True,
            bufsize=1,
            env={
                **os.environ,
                **environment(),
                "PUBSUB_EMULATOR_HOST": server.address,
                "METADATA_SERVER_DETECTION": "none",
            },
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        eventually(lambda: self._ready.is_set() or self._process.poll() is not None)
        assert self._ready.is_set(), log.read_text()[-3000:]

    def send(self, text: str) -> None:
        """Let it publish a message with this text."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")

    def times(self, text: str) -> list[float]:
        """Return when a message was received."""
        return [at for at, received in list(self.received) if received == text]

    def stop(self) -> None:
        """Let it end, and assert that it ends in order."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(120)
        finally:
            self._process.kill()
        self._reader.join(10)
        assert code == 0, self._log.read_text()[-3000:]

    def kill(self) -> None:
        """End it at once, if it runs."""
        self._process.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            now, (kind, _, text) = time.monotonic(), line.rstrip("\n").partition(" ")
            if kind == "published":
                self.published[text] = now
            elif kind == "received":
                self.received.append((now, text))
            elif kind == "ready":
                self._ready.set()
            else:
                self.errors.append(line)
