"""``subscriptions pull --output``, on a store in memory."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from pubsub_delta.batches import PulledBatch
from pubsub_delta.cli import pull
from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.errors import Aborted, DataLoss
from pubsub_delta.resources import DeadLetterPolicy, Message
from tests.unit.pulling_commands import World
from tests.unit.serving_world import served


@pytest.fixture
def world() -> World:
    return World()


# --output


ROWS = [
    Message(b"late", {"quoted": 'a "b", c\n', "gate": "3", "carrier": "UA"}, "N1"),
    Message('früh, \n"x"'.encode(), {}, ""),
]
BREAKS = [Message(each, {"all": each.decode()}, "") for each in (b"a\rb", b"\r", b"a\r\nb\n\r")]


@pytest.mark.parametrize("name", ["all.jsonl", "all.NDJSON", "all.csv", "all.parquet"])
@pytest.mark.parametrize("by_server", [False, True])
def test_a_file_has_every_message(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, by_server: bool
) -> None:
    monkeypatch.setattr(pull, "FILE_BATCH_SIZE", 1)  # several batches
    monkeypatch.setattr(pull, "BATCH_SIZE", 1)
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


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv", "all.parquet"])
def test_every_kind_of_line_break_is_read_back(world: World, tmp_path: Path, name: str) -> None:
    """A message of a file may be acknowledged, and stored nowhere else."""
    ids = list(world.store.publish("flights", BREAKS).message_ids)
    shown = world.run(f"--output={tmp_path / name}", "--auto-ack")
    assert shown.exit_code == 0
    assert read(tmp_path / name) == [
        (id_, each.data, dict(each.attributes), "") for id_, each in zip(ids, BREAKS, strict=True)
    ]


def read(path: Path) -> list[tuple[str, bytes, dict[str, str], str]]:
    """Return what stands in a file, as its kind has it."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
        assert [r["attributes"] for r in rows] == [sorted(r["attributes"]) for r in rows]
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


@pytest.mark.parametrize("is_taken", [False, True])
def test_on_a_disk_without_links_a_file_is_not_replaced_either(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    """Another process may create it while messages are pulled."""
    path = tmp_path / "all.jsonl"

    def has_no_links(*_: object) -> None:
        if is_taken:
            path.write_text("kept")
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", has_no_links)
    world.store.publish("flights", ["a"])
    shown = world.run(f"--output={path}", "--auto-ack")
    assert (shown.exit_code, world.undelivered) == (int(is_taken), int(is_taken)), shown.stderr
    assert (path.read_text() == "kept") == is_taken
    assert [each.name for each in tmp_path.iterdir()] == ["all.jsonl"]


@pytest.mark.parametrize("name", ["all.csv", "all.parquet"])
def test_a_file_says_how_often_a_message_was_delivered(tmp_path: Path, name: str) -> None:
    world = World()
    world.store.create_topic("failed")
    letters = DeadLetterPolicy("failed", 5)
    world.store.update_subscription("delays", dead_letter_policy=letters)
    world.store.publish("flights", ["a"])
    world.store.pull("delays").nack()
    assert world.run(f"--output={tmp_path / name}", "--auto-ack").exit_code == 0
    if name == "all.csv":
        with (tmp_path / name).open(newline="") as file:
            found = [row["delivery_attempt"] for row in csv.DictReader(file)]
    else:
        found = pq.read_table(tmp_path / name)["delivery_attempt"].to_pylist()
    assert [*map(int, found)] == [2]


def test_a_file_waits_for_its_first_message_and_for_no_more(world: World, tmp_path: Path) -> None:
    """--wait: "Wait for the first message"."""
    world.meanwhile.append(lambda: world.store.publish("flights", ["a", "b"]))
    shown = world.run(f"--output={tmp_path / 'all.csv'}", "--auto-ack", "--wait")
    assert (shown.exit_code, world.undelivered, len(world.waited)) == (0, 0, 1)


@pytest.mark.parametrize(("size", "limit"), [(2, 3), (2, 4), (5, 3)])
def test_a_file_has_no_more_messages_than_its_limit(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, limit: int
) -> None:
    """The limit is of the file, and not of each of its batches."""
    monkeypatch.setattr(pull, "FILE_BATCH_SIZE", size)
    world.store.publish("flights", [b"x"] * 5)
    shown = world.run(f"--output={tmp_path / 'some.jsonl'}", f"--limit={limit}", "--auto-ack")
    assert f"Wrote {limit} messages" in shown.stderr
    assert (world.undelivered, world.outstanding) == (5 - limit, 0)


def test_messages_that_cannot_be_read_come_again_at_once(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pull for a file leases them for ten minutes, and an error gives them back."""
    world.store.publish("flights", [b"x"] * 2)

    def damaged(_: Any) -> Any:
        raise DataLoss("a file of the topic is gone")

    monkeypatch.setattr(PulledBatch, "__iter__", damaged)
    assert world.run(f"--output={tmp_path / 'all.csv'}", "--auto-ack").exit_code == 1
    assert (world.undelivered, world.outstanding) == (2, 0)


def test_without_messages_there_is_no_file(world: World, tmp_path: Path) -> None:
    shown = world.run(f"--output={tmp_path / 'all.csv'}", "--auto-ack")
    assert (shown.exit_code, list(tmp_path.iterdir())) == (0, [])
    assert shown.stderr.startswith("There are no messages, ")


def test_leases_are_made_longer_where_a_file_takes_long(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "FILE_BATCH_SIZE", 1)
    world.store.publish("flights", [str(n) for n in range(5)])
    long = pull._Puller.with_long_lease

    def slowly(puller: Any, *args: Any) -> Any:
        world.backend.clock.advance(250)
        return long(puller, *args)

    monkeypatch.setattr(pull._Puller, "with_long_lease", slowly)
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
