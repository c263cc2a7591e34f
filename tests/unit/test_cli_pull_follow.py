"""``subscriptions pull`` with --wait and --follow, on a store in memory."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from pubsub_delta.cli import pull, standard_streams
from pubsub_delta.resources import DeadLetterPolicy, Message, RetryPolicy
from tests.unit.pulling_commands import DATA, World, interrupt
from tests.unit.serving_world import served
from tests.unit.test_cli_pull import printing


@pytest.fixture
def world() -> World:
    return World()


__all__ = ["printing"]


# --wait


def test_wait_waits_for_the_first_message(world: World) -> None:
    world.meanwhile = [lambda: None, lambda: None, lambda: world.store.publish("flights", ["late"])]
    shown = world.run("--wait", "--auto-ack", DATA)
    assert (shown.exit_code, shown.stdout) == (0, "late\n")
    assert world.waited == [0.05, 0.1, 0.2]
    assert world.undelivered == 0


def test_wait_ends_when_it_is_over(world: World) -> None:
    world.meanwhile = [lambda: None] * 100
    shown = world.run("--wait=3s")
    assert (shown.exit_code, shown.stderr) == (0, "Listed 0 items.\n")
    assert 3 <= sum(world.waited) <= 4
    assert max(world.waited) == 1


@pytest.mark.parametrize("options", [[], ["--no-wait"], ["--wait=0"]])
def test_without_it_nothing_is_waited_for(world: World, options: list[str]) -> None:
    assert world.run(*options).stderr == "Listed 0 items.\n"
    assert world.waited == []


def test_a_wait_that_is_no_duration_is_refused(world: World) -> None:
    shown = world.run("--wait=soon")
    assert (shown.exit_code, shown.stderr.count("\n")) == (2, 1)


# --follow


@pytest.mark.parametrize("by_server", [False, True])
def test_follow_prints_and_acknowledges_what_comes(world: World, by_server: bool) -> None:
    world.store.publish("flights", ["a", "b"])

    def follow() -> Result:
        world.meanwhile = [lambda: world.store.publish("flights", ["c"]), lambda: None]
        return world.run("--follow", DATA)

    if by_server:
        with served(world.backend) as world.address:
            shown = follow()
    else:
        shown = follow()
    assert (shown.exit_code, shown.stdout) == (0, "a\nb\nc\n"), shown.stderr
    assert shown.stderr == "Printed and acknowledged 3 messages.\n"
    assert world.undelivered == 0


def test_follow_ends_at_its_limit(world: World) -> None:
    world.store.publish("flights", ["a", "b", "c"])
    assert world.run("--follow", "--limit=2", DATA).stdout == "a\nb\n"
    assert (world.undelivered, world.outstanding) == (1, 0)


def test_follow_takes_no_more_than_its_limit_with_its_last_batch(world: World) -> None:
    world.store.publish("flights", ["a"])
    world.meanwhile = [lambda: world.store.publish("flights", ["b", "c", "d"])]
    assert world.run("--follow", "--limit=2", DATA).stdout == "a\nb\n"
    assert (world.undelivered, world.outstanding) == (2, 0)


def test_each_batch_is_acknowledged_before_the_next_is_taken(
    world: World, monkeypatch: pytest.MonkeyPatch, printing: list[str]
) -> None:
    monkeypatch.setattr(pull, "BATCH_SIZE", 2)
    world.store.publish("flights", ["a", "b", "c"])
    seen: list[tuple[int, int]] = []
    echo = click.echo

    def noted(text: str = "", *args: Any, **more: Any) -> None:
        if not more.get("err"):
            seen.append((world.undelivered, world.outstanding))
        echo(text, *args, **more)

    monkeypatch.setattr(click, "echo", noted)
    world.run("--follow", DATA)
    assert seen == [(3, 2), (1, 1)]  # while it is printed it is leased, and not acknowledged
    assert printing == ["a\nb\n", "c\n"]


ENDS: dict[str, Callable[[], None]] = {
    "Ctrl+C": interrupt,
    "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "SIGHUP": lambda: os.kill(os.getpid(), signal.SIGHUP),
}
each_end = pytest.mark.parametrize("end", ENDS)


def ended_by(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """End a command when it prints its first message."""
    echo = click.echo

    def closed(text: str = "", *args: Any, **more: Any) -> None:
        if not more.get("err"):
            ENDS[end]()
        echo(text, *args, **more)

    monkeypatch.setattr(click, "echo", closed)


@pytest.mark.usefixtures("hangups")
@each_end
def test_a_pull_that_is_ended_gives_back_what_is_not_printed(
    world: World, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """What could not be printed then comes again at once."""
    world.store.publish("flights", ["a"])
    ended_by(end, monkeypatch)
    shown = world.run("--auto-ack", DATA)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert (world.undelivered, world.outstanding) == (1, 0)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, "a shell goes on with other commands"


@pytest.mark.usefixtures("hangups")
@each_end
def test_ctrl_c_gives_back_what_is_not_printed(
    world: World, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    world.store.publish("flights", ["a"])
    ended_by(end, monkeypatch)
    shown = world.run("--follow", DATA)
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == "Printed and acknowledged 0 messages.\n"
    assert (world.undelivered, world.outstanding) == (1, 0)


@pytest.mark.parametrize("options", [["--auto-ack"], ["--follow"], ["--output"]])
def test_what_is_given_back_is_no_failed_delivery(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str]
) -> None:
    """ "Comes again at once", also with a retry policy, and is no attempt: nobody has had it."""
    world.store.create_topic("letters")
    world.store.update_subscription(
        "delays",
        retry_policy=RetryPolicy("600s", "600s"),
        dead_letter_policy=DeadLetterPolicy("letters", 5),
    )
    world.store.publish("flights", ["a"])
    ended_by("Ctrl+C", monkeypatch)
    for number in range(6):
        files = [f"--output={tmp_path / str(number)}.csv"] if options == ["--output"] else []
        world.run(*(files or [*options, DATA]))
    (found,) = world.store.peek("delays")
    assert (found.state, found.delivery_attempt) == ("available", 1)


def test_a_followed_format_is_a_document_for_each_message(world: World) -> None:
    world.store.publish("flights", [Message(b"a", {"n": "1"}), Message(b"b", {"n": "2"})])
    world.meanwhile = [lambda: world.store.publish("flights", [Message(b"c", {"n": "3"})])]
    lines = world.run("--follow", "--format=json(message.attributes)").stdout.splitlines()
    assert [json.loads(each)["message"]["attributes"]["n"] for each in lines] == ["1", "2", "3"]
    world.store.publish("flights", ["d"])
    world.meanwhile = [lambda: world.store.publish("flights", ["e"])]
    shown = world.run("--follow", "--format=csv(message.data.decode(base64):label=data)")
    assert shown.stdout == "data\nd\ne\n"


def test_follow_tells_what_it_could_not_acknowledge(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.publish("flights", ["a"])
    monkeypatch.setattr(pull, "_not_acked", lambda *_: {"id"})
    shown = world.run("--follow", DATA)
    assert shown.exit_code == 1
    assert "Failed to ack the messages with the following ackIds: [id]" in shown.stderr


def test_follow_tells_at_its_end_of_every_batch_what_it_could_not_acknowledge(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gcloud's pull tells "FAILURE" of an ack that had no effect: the message comes again."""
    world.store.publish("flights", ["a"])
    world.meanwhile = [lambda: world.store.publish("flights", ["b"]), lambda: None]
    outcomes = [{"first"}, set[str]()]
    monkeypatch.setattr(pull, "_not_acked", lambda *_: outcomes.pop(0))
    shown = world.run("--follow", DATA)
    assert (shown.exit_code, shown.stdout) == (1, "a\nb\n")
    assert "the following ackIds: [first]" in shown.stderr


def test_a_tail_ends_when_nobody_reads_it_any_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as `tail -f` does: nothing is leased for a reader that is gone
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        standard_streams.check_reader()
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            standard_streams.check_reader()
    monkeypatch.undo()
    looked: list[int] = []
    monkeypatch.setattr(pull, "check_reader", lambda: looked.append(1))
    world.run("--follow", DATA)
    assert looked == [1]
