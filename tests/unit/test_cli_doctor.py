"""``doctor`` and ``demo``: what is wrong with a store, and a store to try commands on."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from filelock import FileLock

from pubsub_delta.cli import checks, session
from pubsub_delta.cli.application import App
from pubsub_delta.cli.demo import FLIGHTS, TO_TRY
from pubsub_delta.cli.main import cli
from pubsub_delta.clock import SystemClock
from pubsub_delta.errors import DataLoss, FailedPrecondition, Unavailable
from pubsub_delta.resources import DeadLetterPolicy
from pubsub_delta.tables.layout import layout_of
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_cli_arguments import run as run_on

Told = dict[str, dict[str, str]]


def opened(root: Path) -> Any:
    """Return the store as a command opens it: directly."""
    return App(environment={"PUBSUB_DELTA_ROOT": str(root)}).store


def run(root: Path | str | None, *words: str, **variables: str) -> Result:
    environment = {"HOME": "/nowhere", "PATH": os.environ["PATH"], **variables}
    if root is not None:
        environment["PUBSUB_DELTA_ROOT"] = str(root)
    return CliRunner().invoke(cli, words, obj=App(environment=environment))


def findings(result: Result) -> Told:
    """Return what is told of each check."""
    return {each["check"]: each for each in json.loads(result.stdout)}


def doctor(root: Path | str | None, **variables: str) -> tuple[int, Told]:
    result = run(root, "doctor", "--format=json", **variables)
    return result.exit_code, findings(result)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """Return a store on a disk, with a subscription."""
    made = opened(tmp_path / "store")
    made.create_topic("flights")
    made.create_subscription("delays", "flights")
    made.publish("flights", ["late"])
    return made


def test_a_store_that_is_well_is_well(store: Any, tmp_path: Path) -> None:
    code, told = doctor(tmp_path / "store")
    assert (code, {each["state"] for each in told.values()}) == (0, {"ok"}), told
    assert told["topics"]["found"] == "1 of 1 can be read"
    assert told["lane"]["found"].startswith("direct lane: ")
    assert "advice" not in told["locks"]


def test_for_people_there_is_a_line_for_each_with_what_to_do_below(tmp_path: Path) -> None:
    shown = run(tmp_path / "absent", "doctor")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    number = next(n for n, line in enumerate(lines) if line.startswith("! storage "))
    assert lines[number].endswith(f"{tmp_path / 'absent'} does not exist")
    assert lines[number + 1].startswith("    the first `pubsub-delta topics create` makes it")
    assert not (tmp_path / "absent").exists()


def test_where_no_store_is_named_that_is_what_is_wrong() -> None:
    code, told = doctor(None)
    assert (code, told["store"]["state"]) == (1, "problem")
    assert "pubsub-delta demo" in told["store"]["advice"]


def test_a_root_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, told = doctor(tmp_path / "file")
    assert (code, told["storage"]["state"]) == (1, "problem")


def test_a_damaged_table_is_named_and_stops_no_other_check(store: Any, tmp_path: Path) -> None:
    store.create_topic("gone")
    uid = store.get_topic("gone").uid
    log = tmp_path / "store/messages" / uid / "_delta_log"
    for path in log.iterdir():
        path.write_text("{damaged")
    code, told = doctor(tmp_path / "store")
    assert code == 1
    assert told["topic gone"]["state"] == "problem"
    assert "DATA_LOSS" in told["topic gone"]["found"]
    assert "data-loss" in told["topic gone"]["advice"]
    assert told["topics"] == {
        "check": "topics",
        "state": "problem",
        "found": "1 of 2 can be read",
    }
    assert told["subscriptions"]["state"] == "ok"


def test_a_registry_that_cannot_be_read_is_a_finding(
    store: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise DataLoss("subscriptions: a file is gone")

    monkeypatch.setattr(type(store), "list_subscriptions", lost)
    code, told = doctor(tmp_path / "store")
    assert (code, told["subscriptions"]["state"]) == (1, "problem")
    assert told["subscriptions"]["found"] == "DATA_LOSS: subscriptions: a file is gone"
    assert told["snapshots"]["state"] == "ok"


def test_spark_that_does_not_start_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def not_started(_: Any) -> Any:
        tried.append(1)
        raise FailedPrecondition("Spark could not be started")

    monkeypatch.setattr(session, "running_session", lambda: None)
    monkeypatch.setattr(session, "_new_session", not_started)
    code, told = doctor("main.pubsub")
    assert code == 1
    assert "Spark could not be started" in told["topics"]["found"]
    assert tried == [1]
    assert not {"subscriptions", "snapshots"} & set(told)


def test_the_disk_of_another_machine_is_not_looked_for_on_this_one(tmp_path: Path) -> None:
    """With --remote the root is a path of the server."""
    found = [{"storage", "locks"} & set(doctor(tmp_path)[1])]
    found.append({"storage", "locks"} & set(doctor(tmp_path, PUBSUB_DELTA_REMOTE="nowhere")[1]))
    assert found == [{"storage", "locks"}, set()]


def test_a_lock_that_is_held_is_named(store: Any, tmp_path: Path) -> None:
    layout = layout_of(str(tmp_path / "store"))
    assert checks.locks(layout).state == "ok"
    path = next((tmp_path / "store/_locks").glob("topics.lock"))
    with FileLock(path, is_singleton=False):
        held = checks.locks(layout)
    assert (held.state, held.found) == ("warning", "held now: topics")
    assert f"fuser {path}" in held.advice
    assert checks.locks(layout).state == "ok"


def test_a_disk_with_little_room_is_told(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for free, state in ((10**9 - 1, "warning"), (10**9, "ok")):
        usage = SimpleNamespace(total=10**12, used=10**12 - free, free=free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        assert checks.storage(layout_of(str(tmp_path / "store"))).state == state


@pytest.mark.parametrize("needed", [False, True])
def test_java_is_missed_only_where_it_is_needed(tmp_path: Path, needed: bool) -> None:
    found = checks.spark({"PATH": str(tmp_path)}, needed=needed)
    assert found.state == ("problem" if needed else "ok")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/java").touch()
    # as Eclipse Temurin has it: of its four versions one is that of Java
    (tmp_path / "release").write_text(
        'IMPLEMENTOR="Eclipse Adoptium"\nIMPLEMENTOR_VERSION="Temurin-17.0.9+9"\n'
        'JAVA_RUNTIME_VERSION="17.0.9+9"\nJAVA_VERSION="17.0.9"\n'
        'JAVA_VERSION_DATE="2023-10-17"\n'
    )
    found = checks.spark({"PATH": "", "JAVA_HOME": str(tmp_path)}, needed=needed)
    assert (found.state, "Java 17.0.9 " in found.found) == ("ok", True)
    (tmp_path / "bin/java").chmod(0o755)
    elsewhere = {"PATH": str(tmp_path / "bin"), "JAVA_HOME": str(tmp_path / "gone")}
    found = checks.spark(elsewhere, needed=needed)
    assert found.found.endswith(f"Java 17.0.9 by {tmp_path / 'bin/java'}")


@pytest.mark.parametrize("needed", [False, True])
def test_packages_that_are_no_pair_are_told(monkeypatch: pytest.MonkeyPatch, needed: bool) -> None:
    # "ranges of versions that are tested as pairs"
    installed = {"pyspark": "4.3.0", "delta-spark": "4.4.1"}
    monkeypatch.setattr(checks, "version", installed.__getitem__)
    found = checks.spark({"PATH": ""}, needed=needed)
    assert found.state == ("problem" if needed else "warning")
    assert found.found == "pyspark 4.3.0, delta-spark 4.4.1: no pair"
    assert "pyspark 4.0, 4.1 or 4.2 with delta-spark 4.4 is accepted" in found.advice


def test_a_subscription_that_loses_messages_or_keeps_dead_letters_is_told(
    store: Any, tmp_path: Path
) -> None:
    store.create_topic("failed")
    policy = DeadLetterPolicy("failed")
    store.create_subscription("dead", "flights", dead_letter_policy=policy)
    store.create_subscription("off", "flights")
    store.detach_subscription("off")
    store.create_topic("old")
    store.create_subscription("orphan", "old")
    store.delete_topic("old")
    now = SystemClock().now()
    told = {each.check: each for each in checks.subscriptions(store, now)}
    assert told["subscription off"].state == "warning"
    assert "subscriptions delete off" in told["subscription off"].advice
    assert told["subscription orphan"].state == "warning"
    assert told["subscriptions"].found == "4 of 4 can be read"
    assert "subscription dead" not in told


def test_a_dead_letter_topic_that_is_gone_is_a_problem(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "If the dead-letter topic cannot be written (gone) … the message stays on the source"
    store.create_topic("failed")
    store.create_subscription("dead", "flights", dead_letter_policy=DeadLetterPolicy("failed"))
    topic = type(store).get_topic

    def gone(self: Any, name: str) -> Any:
        return topic(self, name.replace("failed", "gone"))

    monkeypatch.setattr(type(store), "get_topic", gone)
    told = {each.check: each for each in checks.subscriptions(store, SystemClock().now())}
    assert told["subscription dead"].state == "problem"
    assert "topics create projects/local/topics/failed" in told["subscription dead"].advice


def test_a_dead_letter_topic_that_cannot_be_read_is_not_told_as_gone(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create_topic("failed")
    store.create_subscription("dead", "flights", dead_letter_policy=DeadLetterPolicy("failed"))

    def away(_: Any, name: str) -> Any:
        raise Unavailable(f"the table of {name} cannot be read")

    monkeypatch.setattr(type(store), "get_topic", away)
    told = {each.check: each for each in checks.subscriptions(store, SystemClock().now())}
    found = told["subscription dead"]
    assert (found.state, found.found[:12]) == ("problem", "UNAVAILABLE:")


def test_a_backlog_that_is_about_to_disappear_is_told() -> None:
    backend = WorldBackend()
    backend.store.create_topic("flights")
    backend.store.create_subscription("delays", "flights", message_retention_duration="1h")
    backend.store.publish("flights", ["late"])

    def told() -> list[str]:
        return [each.check for each in checks.subscriptions(backend.store, backend.clock.now())]

    backend.clock.advance(54 * 60)
    assert told() == ["subscriptions"]
    backend.clock.advance(1)
    assert told() == ["subscription delays", "subscriptions"]


def test_a_backlog_that_the_topic_keeps_for_longer_is_not_about_to_disappear() -> None:
    # Pub/Sub: discarded once it is older than the larger of the two retentions
    backend = WorldBackend()
    backend.store.create_topic("flights", message_retention_duration="1d")
    backend.store.create_subscription("delays", "flights", message_retention_duration="1h")
    backend.store.publish("flights", ["late"])
    backend.clock.advance(55 * 60)
    told = checks.subscriptions(backend.store, backend.clock.now())
    assert [each.check for each in told] == ["subscriptions"]


def test_a_writer_whose_clock_is_ahead_is_told(store: Any) -> None:
    now = SystemClock().now()
    assert [each.check for each in checks.topics(store, now)] == ["topics"]
    (commit, *_) = store.topic_history("flights", 1)
    as_allowed = commit.time - timedelta(minutes=1)
    assert [each.check for each in checks.topics(store, as_allowed)] == ["topics"]
    behind = list(checks.topics(store, as_allowed - timedelta(microseconds=1)))
    assert [(each.check, each.state) for each in behind] == [
        ("topic flights", "warning"),
        ("topics", "ok"),
    ]


def test_a_snapshot_that_nobody_can_seek_to_is_told(store: Any) -> None:
    # "Less than 1 h left → FAILED_PRECONDITION … for seeking to it"
    store.create_snapshot("before", "delays")
    late = store.get_snapshot("before").expire_time - timedelta(minutes=59)
    assert [each.state for each in checks.snapshots(store, late)] == ["warning", "ok"]
    early = late - timedelta(minutes=2)
    assert [each.state for each in checks.snapshots(store, early)] == ["ok"]


def test_of_very_many_the_first_are_looked_at(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create_topic("failed")
    monkeypatch.setattr(checks, "MOST", 1)
    assert (
        next(checks.topics(store, SystemClock().now())).found == "1 of the first 1 of 2 can be read"
    )


def test_nothing_is_written_or_leased(store: Any, tmp_path: Path) -> None:
    def state() -> list[Path]:
        return sorted(path for path in (tmp_path / "store").rglob("*.json"))

    before = state()
    doctor(tmp_path / "store")
    assert state() == before
    assert store.metrics("delays")["num_outstanding_messages"] == 0


def test_of_a_server_it_is_told_whether_it_answers() -> None:
    backend = WorldBackend()
    backend.store.create_topic("flights")
    with served(backend) as address:
        code, told = doctor(None, PUBSUB_DELTA_ENDPOINT=address)
    assert (code, told["resources"]["found"]) == (0, "1 topic, 0 subscriptions, 0 snapshots")
    code, told = doctor(None, PUBSUB_DELTA_ENDPOINT=address)
    assert (code, told["server"]["state"]) == (1, "problem")


# The demo


def test_the_demo_makes_a_store_and_what_it_says_to_try_works(tmp_path: Path) -> None:
    root = tmp_path / "flights"
    made = run(None, "demo", str(root))
    assert made.exit_code == 0, made.stderr
    assert f"export PUBSUB_DELTA_ROOT={root}\n" in made.stdout
    assert f"Published {FLIGHTS:,} flights" in made.stderr
    store = opened(root)
    assert store.metrics("flights")["message_count"] == FLIGHTS
    assert store.metrics("delays")["num_undelivered_messages"] == FLIGHTS - 300
    assert store.metrics("united")["num_undelivered_messages"] == FLIGHTS / 8
    for command, _ in TO_TRY:
        assert f"pubsub-delta {command}\n" in made.stdout
        ending = {"watch": ["--count=1"], "--follow": ["--limit=5"]}
        words = shlex.split(command)
        words += next((more for word, more in ending.items() if word in words), [])
        shown = run(root, *words)
        assert shown.exit_code == 0, (command, shown.stderr)
    assert store.metrics("delays")["num_undelivered_messages"] == FLIGHTS + 1  # one was published


def test_the_demo_leaves_a_directory_alone_that_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run(None, "demo", str(tmp_path))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "ALREADY_EXISTS" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_demo_is_not_made_in_the_store_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path / "mine", "demo").exit_code == 0
    assert (tmp_path / "pubsub-demo/topics").is_dir()
    assert not (tmp_path / "mine").exists()


def test_the_demo_is_made_in_the_directory_of_the_option(tmp_path: Path) -> None:
    """--root names the store of every command: the demo makes that one, if it can."""
    root = tmp_path / "flights"
    made = run(tmp_path / "mine", "demo", f"--root={root}")
    assert made.exit_code == 0, made.stderr
    assert f"export PUBSUB_DELTA_ROOT={root}\n" in made.stdout
    assert (root / "topics").is_dir()


def test_the_demo_is_made_on_no_object_storage_and_in_no_catalog() -> None:
    for root in ("s3://bucket/flights", "catalog.flights"):
        refused = run(None, "demo", f"--root={root}")
        assert (refused.exit_code, refused.stderr.count("--root: ")) == (2, 1)


def test_no_store_is_opened_for_a_wrong_format() -> None:
    assert run_on(object(), "doctor", "--format=nonsense").exit_code == 2
