"""A table has one lock on a machine, however its root is written; nobody waits for it for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from pubsub_delta.clock import uptime
from pubsub_delta.errors import Aborted, FailedPrecondition
from pubsub_delta.tables.lanes import locks
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.lanes.locks import TableLocks
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.layout import Layout, layout_of

UID = "0123456789abcdef" * 2
ANOTHER = UID[::-1]


class Session:
    """A session that is asked for its current catalog alone."""

    def __init__(self) -> None:
        self.catalog = self

    def currentCatalog(self) -> str:
        return "spark_catalog"

    def createDataFrame(self) -> None:
        raise AssertionError


def opened(root: Any, session: object = None) -> tuple[Layout, TableLocks]:
    """Open a store as a process of its own does; return its tables and their locks."""
    layout = layout_of(root)
    return layout, Lanes(cast("Any", session), layout).locks


def tables(layout: Layout) -> list[str]:
    return [
        *(layout.topics, layout.subscriptions, layout.snapshots),
        *(layout.messages(UID), layout.positions(UID), layout.ack_state(UID)),
        *(layout.snapshot(UID), layout.messages(ANOTHER)),
    ]


def share_their_locks(one: tuple[Layout, TableLocks], other: tuple[Layout, TableLocks]) -> None:
    """Check that a table is kept from two at once, and that each table has a lock of its own."""
    pairs = list(zip(tables(one[0]), tables(other[0]), strict=True))
    for held, _ in pairs:
        with one[1].locked(held):
            for mine, theirs in pairs:
                if mine != held:
                    with other[1].locked(theirs, wait=False):
                        pass
                    continue
                with pytest.raises(Conflict), other[1].locked(theirs, wait=False):
                    pass


@pytest.mark.parametrize(
    "spelling",
    [
        "{root}/",
        "{root}/.",
        "{root}/../pubsub",
        "/{root}",
        "file:{root}",
        "file:{root}/",
        "file://{root}",
        "file:{root}/.",
        "file:{parent}/./pubsub",
        "file:{parent}//pubsub",
        "file:{root}/../pubsub",
        "file:{parent}/link",
        "{parent}/link",
        "{parent}/link/",
        "{parent}/above/pubsub",
        "./pubsub",
        "./link",
        "above/pubsub",
    ],
)
def test_a_table_has_one_lock_however_its_root_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    """A lock is named by the table within its real root: all spellings share it."""
    root = tmp_path / "pubsub"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "above").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    written = spelling.format(root=root, parent=tmp_path)
    share_their_locks(opened(str(root)), opened(written))
    assert {each.name for each in root.iterdir()} == {"_locks"}


def test_a_root_below_a_folder_called_messages_is_no_other_root(tmp_path: Path) -> None:
    """A table is named within its root, whatever the root is called."""
    root = tmp_path / "messages"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    share_their_locks(opened(root), opened(tmp_path / "link"))


@pytest.mark.parametrize("other", ["spark_catalog.pubsub", "PUBSUB", "spark_catalog.PubSub"])
def test_a_table_of_a_catalog_has_one_lock_by_all_names_of_its_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """A catalog schema whose location is a local path is locked like one; `pubsub` is short."""
    monkeypatch.setattr(
        "pubsub_delta.tables.lanes.spark.location_of_schema", lambda *_: f"file:{tmp_path}"
    )
    share_their_locks(opened("pubsub", Session()), opened(other, Session()))


@pytest.mark.parametrize("root", ["pubsub", "{path}"])
def test_a_writer_waits_longer_for_the_messages_of_a_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    """ "A DataFrame or an OPTIMIZE holds the lock" of messages, also where a catalog has them."""
    monkeypatch.setattr(
        "pubsub_delta.tables.lanes.spark.location_of_schema", lambda *_: f"file:{tmp_path}"
    )
    monkeypatch.setattr(locks, "TOPIC_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(locks, "PATIENCE_SECONDS", 0)
    (layout, held), (_, mine) = (opened(root.format(path=tmp_path), Session()) for _ in range(2))
    for table, least in ((layout.messages(UID), 0.1), (layout.topics, 0)):
        begun = uptime()
        with held.locked(table), pytest.raises(Aborted), mine.locked(table):
            pass
        assert uptime() - begun >= least


def test_tables_whose_long_paths_begin_alike_have_a_lock_each(tmp_path: Path) -> None:
    """ "One table has one lock", also a table of a subscription deep below another root."""
    far = "/".join(["lake", *["a-long-name-of-a-folder"] * 10])
    held = TableLocks(str(tmp_path))
    with (
        held.locked(f"delta.`{tmp_path}/{far}/orders`"),
        TableLocks(str(tmp_path)).locked(f"delta.`{tmp_path}/{far}/returns`", wait=False),
    ):
        pass


@pytest.mark.parametrize("on_disk", [True, False])
def test_what_must_not_be_written_is_not_locked_for_a_write(tmp_path: Path, on_disk: bool) -> None:
    """On S3 a commit of Spark's can overwrite another: the store says which lane writes."""
    asked = TableLocks(str(tmp_path) if on_disk else None, lambda: "Spark alone writes here")
    with (
        pytest.raises(FailedPrecondition, match="Spark alone writes here"),
        asked.locked("delta.`s3://bucket/topics`"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_who_holds_a_lock_may_take_it_again(tmp_path: Path) -> None:
    layout, held = opened(tmp_path)
    with held.locked(layout.topics), held.locked(layout.topics, wait=False):
        pass
    with pytest.raises(ValueError, match="mine"), held.locked(layout.topics):
        raise ValueError("mine")
    with opened(tmp_path)[1].locked(layout.topics, wait=False):
        pass


HOLDING = """
import sys
from pubsub_delta.tables.lanes.locks import TableLocks

with TableLocks(sys.argv[1]).locked(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(root: Path, table: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of a table until it is told to end."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(root), table],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child
    finally:
        os.kill(child.pid, signal.SIGCONT)
        child.communicate("\n")


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("kind", "constant"), [("ack_state", "PATIENCE"), ("messages", "TOPIC_PATIENCE")]
)
def test_nobody_waits_for_ever_for_who_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, constant: str
) -> None:
    """Aborted: nothing was written, and trying again is safe, which it is once that one goes on."""
    monkeypatch.setattr(locks, f"{constant}_SECONDS", 0.2, raising=False)
    layout, mine = opened(tmp_path)
    table = getattr(layout, kind)(UID)
    with holder(tmp_path, table) as child:
        os.kill(child.pid, signal.SIGSTOP)
        told = rf"{kind}/{UID}`: another process has held .* fuser {tmp_path}/_locks/{kind}-{UID}"
        with pytest.raises(Aborted, match=told), mine.locked(table):
            pass
        with pytest.raises(Conflict), mine.locked(table, wait=False):
            pass
    with mine.locked(table):
        pass


@pytest.mark.parametrize(
    ("root", "why"),
    [("orders.csv", "Not a"), ("orders.csv/pubsub", "Not a"), ("/proc/pubsub", "No such")],
)
def test_a_root_that_cannot_be_made_is_told_as_that(tmp_path: Path, root: str, why: str) -> None:
    """A file in the way of a root is no damage of a store: nothing of it is to be restored."""
    if root.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("there is no /proc, where nobody makes directories")
    (tmp_path / "orders.csv").touch()
    layout, table_locks = opened(str(tmp_path / root))
    told = rf"^root: the directory .* cannot be made \({why}"
    with pytest.raises(FailedPrecondition, match=told), table_locks.locked(layout.topics):
        pass


def test_a_lock_that_a_thread_holds_keeps_the_others_of_its_process_away(tmp_path: Path) -> None:
    """ "A thread that holds it can take it again": the others of a store share its object."""
    layout, shared = opened(tmp_path)

    def write() -> None:
        with shared.locked(layout.topics, wait=False):
            pass

    with ThreadPoolExecutor(1) as other:
        with shared.locked(layout.topics), pytest.raises(Conflict):
            other.submit(write).result()
        other.submit(write).result()
