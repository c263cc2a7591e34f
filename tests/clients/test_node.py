"""Google's Node client, unmodified, against a real `pubsub-delta serve`: `make client-test`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.serving import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

NODE = Path(__file__).resolve().parent / "node"
SCENARIOS = sorted(path.name for path in NODE.glob("*.test.mjs"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    if shutil.which("node") is None or not (NODE / "node_modules").is_dir():
        pytest.fail("the Node client is not installed; make client-test installs it")
    process = ServerProcess(tmp_path_factory.mktemp("node") / "store")
    process.start()
    yield process
    assert process.stop() == 0


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 6


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_node_client_does_what_it_does_at_google(server: ServerProcess, scenario: str) -> None:
    # There is no machine of Google here, at which the client would ask who it is.
    found_by = {"PUBSUB_EMULATOR_HOST": server.address, "METADATA_SERVER_DETECTION": "none"}
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", scenario],
        cwd=NODE,
        env={**os.environ, **found_by},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{server.log.read_text()[-3000:]}"
    passed = re.search(r"^# pass (\d+)$", done.stdout, flags=re.MULTILINE)
    assert passed is not None, done.stdout
    assert int(passed[1]) >= 1
