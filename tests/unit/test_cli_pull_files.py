"""``subscriptions pull``: --wait, --follow and --output, on a store in memory."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from pubsub_delta.cli import pull
from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.errors import Aborted
from pubsub_delta.resources import Message
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_cli_pull import printing

__all__ = ["printing"]

DATA = "--format=value(message.data.decode(base64))"


class World:
    """A subscription, and command lines in a process that may be interrupted where it waits."""

    def __init__(self, **fields: Any) -> None:
        self.backend = WorldBackend()
        self.store = self.backend.store
        self.store.create_topic("flights")
        self.store.create_subscription("delays", "flights", **fields)
        self.address: str | None = None
        self.waited: list[float] = []
        self.meanwhile: list[Callable[[], object]] = []

    def pause(self, seconds: float) -> None:
        """Wait: something happens, or else Ctrl+C comes."""
        self.waited.append(seconds)
        self.backend.clock.advance(seconds)
        self.meanwhile.pop(0)() if self.meanwhile else interrupt()

    def run(self, *options: str) -> Result:
        where = {"ROOT": "/r"} if self.address is None else {"ENDPOINT": self.address}
        app = App(
            lambda said: self.backend.open(said.project),
            self.backend.clock,
            {f"PUBSUB_DELTA_{name}": text for name, text in where.items()},
            pause=self.pause,
        )
        return CliRunner().invoke(cli, ["subscriptions", "pull", "delays", *options], obj=app)

    @property
    def undelivered(self) -> int:
        return int(self.store.metrics("delays")["num_undelivered_messages"])

    @property
    def outstanding(self) -> int:
        return int(self.store.metrics("delays")["num_outstanding_messages"])


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def world() -> World:
    return World()


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


def test_each_batch_is_acknowledged_before_the_next_is_taken(
    world: World, monkeypatch: pytest.MonkeyPatch, printing: list[str]
) -> None:
    monkeypatch.setattr(pull, "A_BATCH", 2)
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


@pytest.mark.parametrize("end", [interrupt, lambda: os.kill(os.getpid(), signal.SIGTERM)])
def test_ctrl_c_gives_back_what_is_not_printed(
    world: World, monkeypatch: pytest.MonkeyPatch, end: Callable[[], None]
) -> None:
    world.store.publish("flights", ["a"])
    echo = click.echo

    def closed(text: str = "", *args: Any, **more: Any) -> None:
        if not more.get("err"):
            end()
        echo(text, *args, **more)

    monkeypatch.setattr(click, "echo", closed)
    shown = world.run("--follow", DATA)
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == "Printed and acknowledged 0 messages.\n"
    assert (world.undelivered, world.outstanding) == (1, 0)


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


# --output


ROWS = [
    Message(b"late", {"carrier": "UA", "quoted": 'a "b", c\n'}, "N1"),
    Message('früh, \n"x"'.encode(), {}, ""),
]


@pytest.mark.parametrize("name", ["all.jsonl", "all.NDJSON", "all.csv", "all.parquet"])
@pytest.mark.parametrize("by_server", [False, True])
def test_a_file_has_every_message(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, by_server: bool
) -> None:
    monkeypatch.setattr(pull, "OF_A_FILE", 1)  # several batches
    monkeypatch.setattr(pull, "A_BATCH", 1)
    ids = list(world.store.publish("flights", ROWS).message_ids)
    path = tmp_path / name
    if by_server:
        with served(world.backend) as world.address:
            shown = world.run(f"--output={path}", "--auto-ack")
    else:
        shown = world.run(f"--output={path}", "--auto-ack")
    told = f"Wrote 2 messages to [{path}].\nAcknowledged 2 messages.\n"
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "", told)
    assert world.undelivered == 0
    assert read(path) == [
        (id_, each.data, dict(each.attributes), each.ordering_key)
        for id_, each in zip(ids, ROWS, strict=True)
    ]
    assert [each.name for each in tmp_path.iterdir()] == [name]


def read(path: Path) -> list[tuple[str, bytes, dict[str, str], str]]:
    """Return what stands in a file, as its kind has it."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
        return [
            (r["message_id"], r["data"], dict(r["attributes"]), r["ordering_key"]) for r in rows
        ]
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            lines = list(csv.DictReader(file))
        return [
            (r["message_id"], r["data"].encode(), json.loads(r["attributes"]), r["ordering_key"])
            for r in lines
        ]
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        (r["messageId"], decoded(r["data"]), r.get("attributes", {}), r.get("orderingKey", ""))
        for r in records
    ]


def decoded(text: str) -> bytes:
    import base64

    return base64.b64decode(text)


def test_a_file_of_json_lines_can_be_published_again(world: World, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    world.store.publish("flights", ROWS)
    world.run(f"--output={path}", "--auto-ack")
    again = ["topics", "publish", "flights", f"--from={path}", "--format=jsonl", "--base64"]
    app = App(lambda _: world.store, world.backend.clock, {"PUBSUB_DELTA_ROOT": "/r"})
    assert CliRunner().invoke(cli, again, obj=app).exit_code == 0
    assert [each.message for each in world.store.pull("delays")] == ROWS


def test_without_auto_ack_messages_of_a_file_come_again_at_once(
    world: World, tmp_path: Path
) -> None:
    world.store.publish("flights", ["a", "b"])
    shown = world.run(f"--output={tmp_path / 'all.csv'}", "--limit=1")
    assert shown.stderr.endswith("They come again: --auto-ack acknowledges what is in the file.\n")
    assert (world.undelivered, world.outstanding) == (2, 0)
    assert (tmp_path / "all.csv").read_text().count("\n") == 2


def test_nothing_is_acknowledged_that_is_not_in_the_file(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "nothing is acknowledged before it is safely in the file"
    path = tmp_path / "all.jsonl"
    world.store.publish("flights", ["a"])
    steps: list[tuple[str, bool, int]] = []

    def noted(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any) -> Any:
            steps.append((name, path.exists(), world.undelivered))
            return real(*args)

        monkeypatch.setattr(os, name, call)

    noted("fsync")
    noted("link")
    world.run(f"--output={path}", "--auto-ack")
    assert steps == [("fsync", False, 1), ("link", False, 1), ("fsync", True, 1)]
    assert world.undelivered == 0


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_written_leaves_nothing_and_takes_nothing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    world.store.publish("flights", ["a", "b"])

    def full(*_: Any) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", full)
    shown = world.run(f"--output={tmp_path / 'all.csv'}", "--auto-ack")
    assert shown.exit_code == 1
    assert isinstance(error, KeyboardInterrupt) or "No space left on device" in shown.stderr
    assert list(tmp_path.iterdir()) == []
    assert (world.undelivered, world.outstanding) == (2, 0)


def test_bytes_that_are_no_text_are_not_written_to_csv(world: World, tmp_path: Path) -> None:
    world.store.publish("flights", [b"\xff"])
    shown = world.run(f"--output={tmp_path / 'all.csv'}", "--auto-ack")
    assert "INVALID_ARGUMENT: output: the data of message" in shown.stderr
    assert (shown.exit_code, world.undelivered, world.outstanding) == (1, 1, 0)
    assert world.run(f"--output={tmp_path / 'all.parquet'}", "--auto-ack").exit_code == 0


def test_a_file_that_is_there_is_never_replaced(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "all.csv"
    path.write_text("kept")
    world.store.publish("flights", ["a"])
    shown = world.run(f"--output={path}", "--auto-ack")
    assert "ALREADY_EXISTS: output: " in shown.stderr
    assert world.outstanding == 0
    monkeypatch.setattr(pull, "check_path", lambda _: None)  # it comes while messages are pulled
    monkeypatch.setattr("pubsub_delta.cli.message_files.check_path", lambda _: None)
    assert "ALREADY_EXISTS: output: " in world.run(f"--output={path}", "--auto-ack").stderr
    assert path.read_text() == "kept"
    assert (world.undelivered, world.outstanding) == (1, 0)
    assert [each.name for each in tmp_path.iterdir()] == ["all.csv"]


def test_without_messages_there_is_no_file(world: World, tmp_path: Path) -> None:
    shown = world.run(f"--output={tmp_path / 'all.csv'}", "--auto-ack")
    assert (shown.exit_code, list(tmp_path.iterdir())) == (0, [])
    assert shown.stderr.startswith("There are no messages, ")


def test_leases_are_made_longer_where_a_file_takes_long(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "OF_A_FILE", 1)
    world.store.publish("flights", [str(n) for n in range(5)])
    long = pull._Taking.long

    def slowly(taking: Any, *args: Any) -> Any:
        world.backend.clock.advance(250)
        return long(taking, *args)

    monkeypatch.setattr(pull._Taking, "long", slowly)
    path = tmp_path / "all.csv"
    assert world.run(f"--output={path}", "--auto-ack").exit_code == 0
    with path.open() as file:
        assert [row["data"] for row in csv.DictReader(file)] == ["0", "1", "2", "3", "4"]
    assert world.undelivered == 0


def test_what_a_file_could_not_acknowledge_is_told(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.publish("flights", ["a"])

    def lost(*_: Any) -> set[str]:
        raise Aborted("too many concurrent writers")

    monkeypatch.setattr(pull, "_not_acked", lost)
    path = tmp_path / "all.csv"
    shown = world.run(f"--output={path}", "--auto-ack")
    assert (shown.exit_code, path.exists(), world.undelivered) == (1, True, 1)
    assert "ABORTED" in shown.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--follow", "--output=x.csv"],
        ["--follow", "--no-auto-ack"],
        ["--follow", "--limit=0"],
        ["--output=x.csv", "--limit=0"],
        ["--output=x.csv", "--format=json"],
    ],
)
def test_options_that_exclude_each_other_are_refused(world: World, options: list[str]) -> None:
    shown = world.run(*options)
    assert (shown.exit_code, shown.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("name", ["all.txt", "all", "all.csv.zip"])
def test_a_name_that_tells_no_kind_is_refused(world: World, tmp_path: Path, name: str) -> None:
    world.store.publish("flights", ["a"])
    shown = world.run(f"--output={tmp_path / name}", "--auto-ack")
    assert "INVALID_ARGUMENT: output: " in shown.stderr
    assert (shown.exit_code, world.outstanding) == (1, 0)


def test_a_folder_that_is_not_there_is_told(world: World, tmp_path: Path) -> None:
    world.store.publish("flights", ["a"])
    shown = world.run(f"--output={tmp_path / 'no/all.csv'}", "--auto-ack")
    assert "FAILED_PRECONDITION: output: " in shown.stderr
    assert world.outstanding == 0
