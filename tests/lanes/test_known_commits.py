"""Each look at a log lists it: a topic's commits that this process has read or made are known."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pubsub_delta import PubSub
from pubsub_delta.operations.publish import has_landed
from pubsub_delta.tables.lanes.direct import DirectLane

LISTING = ("load_as_version", "update_incremental", "history")
"""Methods of a table that list its log."""


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    opened = PubSub(None, str(tmp_path))
    opened.create_topic("till")
    opened.create_subscription("late", "till", ack_deadline_seconds=600)
    for number in range(3):
        opened.publish("till", [f"early {number}"])
    return opened


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables whose logs were listed by who looks for commits, and by what."""
    listed: list[str] = []

    def noting(name: str) -> None:
        real = getattr(DeltaTable, name)

        def noted(table: DeltaTable, *arguments: Any) -> Any:
            if "/messages/" in table.table_uri:
                listed.append(name)
            return real(table, *arguments)

        monkeypatch.setattr(DeltaTable, name, noted)

    for name in LISTING:
        noting(name)
    return listed


def test_a_publish_looks_at_its_topic_once(store: PubSub, looks: list[str]) -> None:
    store.publish("till", ["next"])
    store.publish("till", ["last"])
    assert looks == ["load_as_version"] * 2


def test_a_pull_of_what_this_process_has_published_looks_once(
    store: PubSub, looks: list[str]
) -> None:
    batch = store.pull("late")
    assert batch.message_count == 3
    assert looks == ["load_as_version"]


def test_what_another_process_publishes_meanwhile_is_found(store: PubSub, tmp_path: Path) -> None:
    other = PubSub(None, str(tmp_path))
    found = []
    for number in range(30):
        who = other if number % 3 else store
        published = who.publish("till", [f"{number}"])
        found += [message.message_id for message in store.pull("late")]
        assert found[-1:] == list(published.message_ids)
    assert len(set(found)) == len(found) == 33
    assert found == sorted(found, key=int), "whoever publishes later gets higher positions"


def test_an_append_lands_after_commits_that_its_writer_has_not_seen(
    store: PubSub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit that a publish has made is known only where it follows the last known one."""
    other = PubSub(None, str(tmp_path), lane="direct")
    real = DirectLane.append

    def outrun(lane: DirectLane, *arguments: Any) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(DirectLane, "append", real)
            # Without the lock that both take: as on object storage.
            patched.setattr(DirectLane, "locked", lambda *_, **__: nullcontext())
            other.publish("till", ["outran it"])
        return real(lane, *arguments)

    monkeypatch.setattr(DirectLane, "append", outrun)
    store.publish("till", ["outrun"])
    monkeypatch.undo()
    store.publish("till", ["last"])
    received = [message.data for message in store.pull("late")]
    assert received[3:] == [b"outrun", b"outran it", b"last"]


def test_a_later_publish_of_an_application_reads_no_history(
    store: PubSub, tmp_path: Path, looks: list[str]
) -> None:
    """Each micro-batch of a query into a topic with a schema asks whether it has landed; the log
    has a commit for each of the last days.
    """
    store.publish("till", ["a"], idempotency_id=("app", 1))
    store.publish("till", ["b"], idempotency_id=("app", 3))
    messages = PubSub(None, str(tmp_path)).tables.messages(store.get_topic("till").uid)
    messages.history.version()
    looks.clear()
    assert not has_landed(messages, ("app", 4))
    assert has_landed(messages, ("app", 3))
    assert "history" not in looks
    assert has_landed(messages, ("app", 1))
    assert not has_landed(messages, ("app", 2))
    assert not has_landed(messages, ("another", 1))
