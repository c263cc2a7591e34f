"""Commands that a signal ends in the middle of a commit, on a store in memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pubsub_delta.batches import PulledBatch
from pubsub_delta.cli import publish as publishing
from pubsub_delta.cli import pull
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.signals import EndingSignals
from tests.unit.pulling_commands import DATA, World
from tests.unit.serving_world import Terminal, WorldBackend

pytestmark = pytest.mark.usefixtures("hangups")

each_signal = pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", "SIGHUP"])


@pytest.fixture
def world() -> World:
    return World()


def send(name: str) -> None:
    os.kill(os.getpid(), getattr(signal, name))


def sent_with(
    monkeypatch: pytest.MonkeyPatch, of: type, method: str, sent: str, call: int = 1
) -> None:
    """Send a signal when a commit has landed, and before its method returns."""
    commit: Callable[..., Any] = getattr(of, method)
    calls: list[int] = []

    def interrupted(*args: Any, **more: Any) -> Any:
        done = commit(*args, **more)
        calls.append(1)
        if len(calls) == call:
            send(sent)
        return done

    monkeypatch.setattr(of, method, interrupted)


@each_signal
@pytest.mark.parametrize("option", ["--follow", "--auto-ack", "--output=FILE"])
@pytest.mark.parametrize("commit", ["pull", "modify_ack_deadline"])
def test_what_a_pull_leases_at_its_signal_is_given_back(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    commit: str,
    option: str,
    sent: str,
) -> None:
    """--follow: "at Ctrl+C the others are available again at once"."""
    world.store.publish("flights", ["a"])
    sent_with(monkeypatch, type(world.store) if commit == "pull" else PulledBatch, commit, sent)
    form = [] if "FILE" in option else [DATA]
    assert world.run(option.replace("FILE", str(tmp_path / "all.csv")), *form).stdout == ""
    assert (world.undelivered, world.outstanding) == (1, 0)
    assert list(tmp_path.iterdir()) == []


@each_signal
def test_follow_counts_what_it_acknowledges_at_its_signal(
    world: World, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    world.store.publish("flights", ["a"])
    sent_with(monkeypatch, PulledBatch, "ack", sent)
    shown = world.run("--follow", DATA)
    assert (shown.exit_code, shown.stdout) == (0, "a\n")
    assert shown.stderr == "Printed and acknowledged 1 message.\n"
    assert world.undelivered == 0


@each_signal
def test_what_is_acknowledged_at_a_signal_is_printed(
    world: World, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    """--auto-ack: "If the format shows ackStatus, as the table does, they are acknowledged before."

    Nobody would get a message that is acknowledged and not printed.
    """
    world.store.publish("flights", ["kept"])
    sent_with(monkeypatch, PulledBatch, "ack", sent)
    shown = world.run("--auto-ack")
    assert (shown.exit_code, world.undelivered) == (1, 0)
    assert "kept" in shown.stdout
    assert "SUCCESS" in shown.stdout


@each_signal
def test_of_a_file_that_is_whole_every_message_is_acknowledged(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sent: str
) -> None:
    """--auto-ack: it "acknowledges them once the whole file is on the disk"."""
    monkeypatch.setattr(pull, "FILE_BATCH_SIZE", 1)
    world.store.publish("flights", ["a", "b", "c"])
    sent_with(monkeypatch, PulledBatch, "ack", sent)
    assert world.run(f"--output={tmp_path / 'all.jsonl'}", "--auto-ack").exit_code == 1
    assert (world.undelivered, world.outstanding) == (0, 0)


@each_signal
def test_a_second_signal_does_not_cut_what_gives_messages_back(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sent: str
) -> None:
    """The end of a terminal often comes twice: from the system, and from its shell."""
    monkeypatch.setattr(pull, "FILE_BATCH_SIZE", 1)
    world.store.publish("flights", ["a", "b", "c"])
    sent_with(monkeypatch, type(world.store), "pull", sent, 3)
    sent_with(monkeypatch, PulledBatch, "give_back", sent)  # the first of them
    assert world.run(f"--output={tmp_path / 'all.jsonl'}", "--auto-ack").exit_code == 1
    assert (world.undelivered, world.outstanding) == (3, 0)


@each_signal
def test_what_is_published_at_a_signal_is_told(monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    """The number tells where to go on."""
    backend = WorldBackend()
    terminal = Terminal(backend, None)
    assert terminal.run("topics create flights").exit_code == 0
    monkeypatch.setattr(publishing, "MAX_BATCH", 2)
    sent_with(monkeypatch, type(backend.store), "publish", sent)
    line = ["topics", "publish", "flights", "--from=-"]
    shown = CliRunner().invoke(cli, line, obj=terminal.app(), input=b"a\nb\nc\n")
    assert shown.exit_code == 1
    told = "Published 2 messages to [projects/local/topics/flights] before that."
    assert shown.stderr.splitlines()[0] == told


def test_a_second_ctrl_c_ends_a_step_that_hangs() -> None:
    signals = EndingSignals()
    with signals.handled():
        with signals.put_off():
            send("SIGTERM")
            send("SIGTERM")
            with pytest.raises(KeyboardInterrupt):
                send("SIGINT")
            seen = signal.getsignal(signal.SIGTERM)
        assert seen != signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
