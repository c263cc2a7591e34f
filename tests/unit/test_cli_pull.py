"""``subscriptions pull``: what is leased for how long, shown, and acknowledged when."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pubsub_delta import ManualClock
from pubsub_delta.cli import standard_streams
from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.rest import received_record
from pubsub_delta.errors import Aborted, DataLoss
from pubsub_delta.ids import Ids
from pubsub_delta.resources import AckResult, ReceivedMessage
from tests.unit.serving_world import Terminal, WorldBackend, served
from tests.unit.test_cli_arguments import NOW, SUBSCRIPTIONS, Noting, run

DATA = "--format=value(message.data.decode(base64))"
MODIFY = ("subscriptions", "modify-message-ack-deadline", "sss")
STATUS = "--format=value(message.data.decode(base64),ackStatus)"


class Pulled(list[ReceivedMessage]):
    """A batch that notes what is done with it, and says of an ack what was prepared."""

    def __init__(self, *data: str, expired: str = "", invalid: str = "") -> None:
        super().__init__(
            ReceivedMessage(each, str(n), NOW, each.encode(), {"k": "v"}, "", None)
            for n, each in enumerate(data)
        )
        self.done: list[str] = []
        self.outcome = result([*data], expired, invalid)
        self.unreadable = False

    @property
    def message_count(self) -> int:
        return len(self)

    def ack(self) -> AckResult:
        self.done.append("ack")
        return self.outcome

    def nack(self, ids: object = None) -> AckResult:
        self.done.append("nack")
        return self.outcome

    def give_back(self) -> None:
        self.done.append("give back")

    def modify_ack_deadline(self, seconds: int) -> AckResult:
        self.done.append(f"deadline {seconds}")
        return self.outcome

    def __iter__(self) -> Iterator[ReceivedMessage]:
        self.done.append("read")
        if self.unreadable:
            raise DataLoss("a file is gone")
        return super().__iter__()


def result(ack_ids: list[str], expired: str = "", invalid: str = "") -> AckResult:
    fine = [each for each in ack_ids if each not in expired + invalid]
    return AckResult(Ids.of(fine), Ids.of(expired), Ids.of(invalid))


@pytest.fixture
def printing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is printed, as it stands among what is done with a batch."""
    printed: list[str] = []
    echo = click.echo

    def noted(text: str = "", *args: Any, **more: Any) -> None:
        if not more.get("err"):
            printed.append(text)
        echo(text, *args, **more)

    monkeypatch.setattr(click, "echo", noted)
    return printed


def test_pull_shows_a_box_and_acknowledges_where_it_is_asked_to() -> None:
    for options, last in ([], "ACK_ID"), (["--auto-ack"], "ACK_STATUS"):
        batch = Pulled("late")
        store = Noting(pull=batch)
        shown = run(store, "subscriptions", "pull", "sss", "--limit=3", *options)
        assert store.calls == [("pull", (SUBSCRIPTIONS + "sss", 3), {})]
        heading = ["DATA", "MESSAGE_ID", "ORDERING_KEY", "ATTRIBUTES", "DELIVERY_ATTEMPT"]
        lines = [[c.strip() for c in line.split("│")[1:-1]] for line in shown.stdout.splitlines()]
        assert lines[1] == [*heading, last]
        assert lines[3] == ["late", "0", "", "k=v", "", "SUCCESS" if options else "late"]
        assert ("ack" in batch.done) == bool(options)


def test_the_lease_is_made_long_before_anything_is_read() -> None:
    # reading and printing may take longer than the ack deadline, which is 10 seconds at first
    batch = Pulled("a", "b")
    run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack", STATUS)
    assert batch.done == ["deadline 600", "read", "ack"]
    batch = Pulled("a", "b")
    run(Noting(pull=batch), "subscriptions", "pull", "sss")
    assert batch.done == ["read"]


@pytest.mark.parametrize("form", [DATA, "--format=csv(message.messageId)", "--format=json(ackId)"])
def test_what_shows_no_status_is_printed_before_it_is_acknowledged(
    form: str, printing: list[str]
) -> None:
    # whoever reads the output may be gone: what was not printed must come again
    batch = Pulled("a")
    ack = batch.ack
    batch.ack = lambda: (batch.done.append(f"printed {len(printing)}"), ack())[1]  # type: ignore
    shown = run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack", form)
    assert shown.exit_code == 0
    assert batch.done == ["deadline 600", "read", "printed 1", "ack"]


def test_what_cannot_be_printed_comes_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: Any, **more: Any) -> None:
        if not more.get("err"):
            raise BrokenPipeError

    monkeypatch.setattr(click, "echo", closed)
    batch = Pulled("a")
    run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack", DATA)
    assert batch.done == ["deadline 600", "read", "give back"]


@pytest.mark.parametrize("column", ["message.data.error()", "messageId.format('{3}')"])
def test_what_cannot_be_formatted_comes_again_though_its_status_is_shown(column: str) -> None:
    # its status is known after the acknowledgement only, and nobody would have seen the message
    batch = Pulled("a")
    form = f"--format=value(ackStatus,{column})"
    shown = run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack", form)
    assert shown.exit_code == 1
    assert "format" in shown.stderr
    assert batch.done == ["deadline 600", "read", "give back"]


def test_of_a_pull_that_shows_no_ack_ids_the_messages_come_again_at_once() -> None:
    """Whoever corrects a transform and pulls again finds the messages: nobody has their ack ids."""
    batch = Pulled("a")
    form = "--format=value(message.data.error())"
    assert run(Noting(pull=batch), "subscriptions", "pull", "sss", form).exit_code == 1
    assert batch.done == ["read", "give back"]


def test_what_the_output_cannot_encode_comes_again_though_its_status_is_shown() -> None:
    batch = Pulled("café")
    store: Any = Noting(pull=batch)
    line = ["subscriptions", "pull", "sss", "--auto-ack", STATUS]
    variables = {"PUBSUB_DELTA_ROOT": "/r", "PUBSUB_DELTA_PROJECT": "p"}
    app = App(lambda _: store, ManualClock(NOW), variables)
    assert CliRunner(charset="ascii").invoke(cli, line, obj=app).exit_code == 1
    assert batch.done == ["deadline 600", "read", "give back"]


def test_a_reader_that_is_gone_loses_nothing_though_a_status_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = Pulled("a")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(standard_streams, "sys", SimpleNamespace(stdout=pipe))
        run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack")
    assert batch.done == ["deadline 600", "read", "give back"]


def test_what_cannot_be_read_comes_again_at_once() -> None:
    batch = Pulled("a")
    batch.unreadable = True
    shown = run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack")
    assert shown.exit_code == 1
    assert batch.done == ["deadline 600", "read", "give back"]


def test_the_status_tells_whether_a_message_comes_again() -> None:
    # "Lease over and the message unacked → expired; it is acked by this, unless it is under
    # another lease": the same ack once more is a success if it counted
    batch = Pulled("a", "b", "c", "d", expired="bc", invalid="d")
    store = Noting(pull=batch, acknowledge=result(["b", "c"], expired="c"))
    shown = run(store, "subscriptions", "pull", "sss", "--auto-ack", STATUS)
    assert shown.stdout == "a\tSUCCESS\nb\tSUCCESS\nc\tFAILURE\nd\tFAILURE\n"
    assert store.calls[1:] == [("acknowledge", (SUBSCRIPTIONS + "sss", ["b", "c"]), {})]


def test_where_no_status_is_shown_a_failure_is_an_error() -> None:
    batch = Pulled("a", "b", invalid="b")
    shown = run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack", DATA)
    assert shown.stdout == "a\nb\n"
    assert shown.exit_code == 1
    assert "Failed to ack the messages with the following ackIds: [b]\n" in shown.stderr


def test_without_messages_nothing_is_acknowledged() -> None:
    batch = Pulled()
    shown = run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack")
    assert "ack" not in batch.done
    assert shown.stderr.endswith("Listed 0 items.\n")


def test_a_pull_that_could_not_lease_for_long_shows_nothing() -> None:
    batch = Pulled("a")

    def lost(seconds: int) -> AckResult:
        raise Aborted("too many concurrent writers")

    batch.modify_ack_deadline = lost  # type: ignore[method-assign]
    shown = run(Noting(pull=batch), "subscriptions", "pull", "sss", "--auto-ack")
    assert (shown.exit_code, shown.stdout, batch.done) == (1, "", ["give back"])


def test_a_late_ack_is_warned_of_and_is_no_error() -> None:
    # "Lease over and the message unacked → expired; it is acked by this"
    store = Noting(acknowledge=result(["a", "b"], expired="b"))
    done = run(store, "subscriptions", "ack", "sss", "--ack-ids=a,b")
    assert done.exit_code == 0
    assert "Acked the messages with the following ackIds: [a]" in done.stderr
    assert "The lease of these ackIds was over: [b]; their messages are acked unless" in done.stderr


@pytest.mark.parametrize(
    "outcome", [result(["a", "b"], expired="b"), result(["a", "b"], invalid="b")]
)
def test_a_new_deadline_that_had_no_effect_is_an_error(outcome: AckResult) -> None:
    """A lease that is over has no deadline any more, other than its ack may still count."""
    store = Noting(modify_ack_deadline=outcome)
    told = run(store, *MODIFY, "--ack-ids=a,b", "--ack-deadline=60")
    assert told.exit_code == 1
    assert "for messages with ackId [a]" in told.stderr
    assert "Failed to modify the messages with the following ackIds: [b]" in told.stderr


@pytest.mark.parametrize("by_server", [False, True])
@pytest.mark.parametrize("exactly_once", [False, True])
def test_an_ack_after_the_ack_deadline_is_a_success(by_server: bool, exactly_once: bool) -> None:
    backend = WorldBackend()
    backend.store.create_topic("flights")
    backend.store.create_subscription(
        "delays", "flights", enable_exactly_once_delivery=exactly_once
    )
    backend.store.publish("flights", ["late"])
    if not by_server:
        told = slow(Terminal(backend, None), backend)
    else:
        with served(backend) as address:
            told = slow(Terminal(backend, address), backend)
    assert told == "late\tSUCCESS\n"
    assert backend.store.metrics("delays")["num_undelivered_messages"] == 0


def slow(terminal: Terminal, backend: WorldBackend) -> str:
    """Pull, where reading the messages takes longer than the ack deadline."""
    with pytest.MonkeyPatch.context() as patch:

        def slowly(received: ReceivedMessage) -> dict[str, Any]:
            backend.clock.advance(30)
            return received_record(received)

        patch.setattr("pubsub_delta.cli.pull.received_record", slowly)
        shown = terminal.run(f"subscriptions pull delays --auto-ack {STATUS!r}")
    assert shown.exit_code == 0, shown.stderr
    return shown.stdout
