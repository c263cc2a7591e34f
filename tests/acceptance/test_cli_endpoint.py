"""The command line against a server as both are run: two processes, and no Spark in one of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.processes import environment
from tests.acceptance.serving import ServerProcess

pytestmark = [pytest.mark.trial, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("endpoint") / "store")
    process.start()
    yield process
    assert process.stop() == 0


def told(server: ServerProcess, *words: str, where: Path) -> Any:
    """Run a command in a directory that has no store, and read what it prints as JSON."""
    command = [sys.executable, "-m", "pubsub_delta", *words, "--format=json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=where,
        env={**environment(), "PUBSUB_DELTA_ENDPOINT": server.address, "JAVA_HOME": "/absent"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def test_commands_are_answered_by_a_running_server(server: ServerProcess, tmp_path: Path) -> None:
    def run(*words: str) -> Any:
        return told(server, *words, where=tmp_path)

    topic, subscription = "projects/local/topics/flights", "projects/local/subscriptions/delays"
    assert run("topics", "create", "flights")[0]["name"] == topic
    made = run("subscriptions", "create", "delays", "--topic=flights", "--retain-acked-messages")
    assert (made[0]["name"], made[0]["retainAckedMessages"]) == (subscription, True)
    words = ["late", "on time", "diverted"]
    published = [run("topics", "publish", "flights", f"--message={word}") for word in words]
    assert [each["messageIds"] for each in published] == [["0"], ["1"], ["2"]]

    pulled = run("subscriptions", "pull", "delays", "--limit=10")
    assert [each["message"]["messageId"] for each in pulled] == ["0", "1", "2"]
    ids = ",".join(each["ackId"] for each in pulled)
    run("subscriptions", "ack", "delays", f"--ack-ids={ids}")
    assert run("subscriptions", "pull", "delays") == []

    run("snapshots", "create", "drained", "--subscription=delays")
    assert run("topics", "list-snapshots", "flights") == ["projects/local/snapshots/drained"]
    run("subscriptions", "seek", "delays", "--time=-p1d")
    again = run("subscriptions", "pull", "delays", "--limit=10", "--auto-ack")
    assert [each["ackStatus"] for each in again] == ["SUCCESS"] * 3
    run("subscriptions", "update", "delays", "--ack-deadline=60")
    assert run("subscriptions", "describe", "delays")["ackDeadlineSeconds"] == 60
    assert [each["name"] for each in run("topics", "list")] == [topic]
    assert not any(tmp_path.iterdir())
