"""The same command lines with gcloud, against Google's emulator, and with pubsub-delta on a store.

What both print is compared, with their exit codes, and what they tell of what succeeded. Texts of
errors are their own. What only one of them knows is left out: times of creation and states.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance.processes import environment
from tests.servers import free_port

LINES = Path(__file__).with_name("gcloud_lines.txt")
START_SECONDS, LONG = 240, 300
TOLERATED = timedelta(minutes=5)
"""So far apart may be what is relative to now."""
ZONE = "Europe/Berlin"

GCLOUD = shutil.which("gcloud")
JARS = sorted(
    Path(GCLOUD).resolve().parents[1].glob("platform/pubsub-emulator/lib/cloud-pubsub-*.jar")
    if GCLOUD
    else []
)
"""Google's emulator, where its component is installed."""

pytestmark = [
    pytest.mark.trial,
    pytest.mark.timeout(3_600),
    pytest.mark.skipif(not JARS, reason="gcloud and its pubsub-emulator are not installed here"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Google's emulator needs Java"),
]

_ONLY_HERE = re.compile(r'^ *"?(?:createTime|updateTime|state)"?: .*\n', re.MULTILINE)
_MESSAGE_ID = re.compile(r"^(- '|    \")\d+(['\"])$", re.MULTILINE)
_LAST_COMMA = re.compile(r",$", re.MULTILINE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_MOVED = re.compile(r"^Set ackDeadlineSeconds .*\n", re.MULTILINE)


@dataclass
class Tool:
    """One of the two, with what an ``@ID`` line printed last."""

    command: list[str]
    variables: Mapping[str, str]
    kept: str = field(default="none")

    def run(self, line: str) -> tuple[int, str, str]:
        """Return a line's exit code, what it prints, and what it tells of a success."""
        keeps = line.startswith("@ID ")
        words = shlex.split(line.removeprefix("@ID ").replace("{ID}", self.kept))
        done = subprocess.run(
            [*self.command, *words],
            env={**self.variables, "TZ": ZONE},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=LONG,
        )
        if keeps:
            self.kept = done.stdout.strip() or "none"
        told = _MOVED.sub("", done.stderr) if done.returncode == 0 else ""
        printed, told = (each.replace(self.kept, "{ID}") for each in (done.stdout, told))
        return done.returncode, printed, told


def alike(one: str, other: str) -> bool:
    """Tell whether two outputs are the same, but for ids, and for how far now has moved on."""
    shown = []
    for text in (one, other):
        text = _LAST_COMMA.sub("", _ONLY_HERE.sub("", text))
        shown.append(_MESSAGE_ID.sub(r"\1id\2", text))
    times = [
        [datetime.fromisoformat(each.replace("Z", "+00:00")) for each in _TIME.findall(text)]
        for text in shown
    ]
    if _TIME.sub("time", shown[0]) != _TIME.sub("time", shown[1]):
        return False
    return all(abs(a - b) <= TOLERATED for a, b in zip(*times, strict=True))


@pytest.fixture
def gcloud(tmp_path: Path) -> Iterator[Tool]:
    port = free_port()
    command = ["java", "-jar", str(JARS[-1]), "--host=127.0.0.1", f"--port={port}"]
    with (tmp_path / "emulator.log").open("wb") as log:
        emulator = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and emulator.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.2)
    variables = {
        **os.environ,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB": f"http://127.0.0.1:{port}/",
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_CONFIG": str(tmp_path / "gcloud"),
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_CORE_PROJECT": "p",
    }
    yield Tool([str(GCLOUD), "pubsub"], variables)
    emulator.terminate()
    emulator.wait(LONG)


@pytest.fixture
def pubsub_delta(tmp_path: Path) -> Tool:
    root = {"PUBSUB_DELTA_ROOT": str(tmp_path / "store"), "PUBSUB_DELTA_PROJECT": "p"}
    return Tool([sys.executable, "-m", "pubsub_delta"], {**environment(), **root})


def test_a_script_for_gcloud_prints_the_same(gcloud: Tool, pubsub_delta: Tool) -> None:
    """Spec section 10: every command works by writing pubsub-delta for gcloud pubsub."""
    lines = [each for each in LINES.read_text(encoding="utf-8").splitlines() if each]
    different = []
    with ThreadPoolExecutor(2) as both:
        for line in lines:
            _, bar, known = line.partition(" | ")
            if line.startswith("#"):
                continue
            asked = known if bar else line
            theirs, ours = both.map(
                lambda tool, asked=asked: tool.run(asked), (gcloud, pubsub_delta)
            )
            if bar:
                if theirs[0] == ours[0]:
                    different.append(f"{asked}\n  the exit codes are the same: {ours[0]}")
            elif theirs[0] != ours[0] or not all(map(alike, theirs[1:], ours[1:])):
                different.append(f"{asked}\n  gcloud       {theirs}\n  pubsub-delta {ours}")
    assert not different, "\n".join(different)
