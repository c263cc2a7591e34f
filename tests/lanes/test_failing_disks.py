"""A disk that fails, and a process that may open no more files: later all is well again."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from pubsub_delta import PubSub
from pubsub_delta.errors import FailedPrecondition, Unavailable
from pubsub_delta.tables.lanes.direct.errors import translating_errors
from pubsub_delta.tables.schemas import CHECKPOINT_INTERVAL

FAILING = {
    errno.EMFILE: "Too many open files",
    errno.ENFILE: "Too many open files in system",
    errno.EIO: "Input/output error",
    errno.ESTALE: "Stale file handle",
    errno.EBUSY: "it is busy",
    errno.ETIMEDOUT: "its disk does not answer",
}
RUST = "Generic LocalFileSystem error: Unable to open file /x/_delta_log/0.json: {} (os error {})"
ARROW = "[Errno {1}] Failed to open local file '/x/0.parquet'. Detail: [errno {1}] {0}"


def translated(error: Exception, table: str = "delta.`/x`") -> None:
    with translating_errors(table):
        raise error


@pytest.mark.parametrize("wording", [RUST, ARROW])
@pytest.mark.parametrize("number", FAILING, ids=errno.errorcode.__getitem__)
def test_a_disk_that_fails_for_a_while_is_unavailable(number: int, wording: str) -> None:
    """Unavailable: the storage cannot do it now; a consumer goes on after it."""
    with pytest.raises(Unavailable, match=rf"read or written now \({FAILING[number]}\)"):
        translated(OSError(wording.format(os.strerror(number), number)))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_that_takes_no_more_is_full(number: int) -> None:
    with pytest.raises(Unavailable, match="no space is left"):
        translated(OSError(RUST.format(os.strerror(number), number)))


def test_a_permission_that_is_missing_does_not_come_by_waiting() -> None:
    """A read that is refused asks for no permission to write, which a watch must not have."""
    with pytest.raises(FailedPrecondition, match="no permission to read or write it"):
        translated(OSError(RUST.format(os.strerror(errno.EACCES), errno.EACCES)))
    with pytest.raises(FailedPrecondition, match="no permission to write it"):
        translated(OSError(RUST.format(os.strerror(errno.EROFS), errno.EROFS)))


@pytest.mark.parametrize("name", ["n" * 256, "loop", "loop/pubsub"])
def test_a_root_that_no_path_leads_to_is_refused_by_name(tmp_path: Path, name: str) -> None:
    """A name of 256 letters, and a link to itself: no waiting and no restoring helps."""
    (tmp_path / "loop").symlink_to("loop")
    store = PubSub(None, str(tmp_path / name))
    for call in (store.list_topics, store.maintain, lambda: store.create_topic("orders")):
        with pytest.raises(
            FailedPrecondition, match=r"no table can be there \((File name|Too many)"
        ):
            call()


def test_a_connection_that_fails_is_no_disk() -> None:
    """It is told as that of a storage that cannot be reached."""
    text = "error sending request for url (http://localhost:9/x): tcp connect error (os error 110)"
    with pytest.raises(Unavailable, match="cannot be reached"):
        translated(OSError(text), "delta.`s3://bucket/x`")


HOLDS_ALL_FILES = """
import os, resource, sys
from pubsub_delta import PubSub, PubSubError
store = PubSub(None, sys.argv[1])
store.create_topic("orders")
store.create_subscription("billing", "orders")
store.publish("orders", ["a"])
resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
calls = {
    "publish": lambda: store.publish("orders", ["b"]),
    "pull": lambda: store.pull("billing", max_messages=1).nack(),
    "create": lambda: store.create_snapshot("before", "billing"),
    "delete": lambda: store.delete_snapshot("before"),
    "metrics": lambda: store.metrics("billing"),
}
told = set()
for free in range(0, 8):
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for each in held[:free]:
        os.close(each)
    for call in calls.values():
        try:
            call()
        except PubSubError as error:
            told.add(error.code)
    for each in held[free:]:
        os.close(each)
for name in store.list_snapshots():
    store.delete_snapshot("before")
for call in calls.values():
    call()
print(*sorted(told))
"""


@pytest.mark.filterwarnings("ignore")
def test_a_process_that_may_open_no_more_files_goes_on_afterwards(tmp_path: Path) -> None:
    """All that it tells is of a documented class, and nothing is left of what failed."""
    command = [sys.executable, "-c", HOLDS_ALL_FILES, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "UNAVAILABLE" in ended.stdout
    assert set(ended.stdout.split()) <= {"UNAVAILABLE", "ALREADY_EXISTS", "NOT_FOUND"}


def test_a_publish_whose_checkpoint_cannot_be_written_has_landed(tmp_path: Path) -> None:
    """After some commits a checkpoint is written, which a full disk may not take: the messages are
    published, and whoever was told otherwise would publish them again.
    """
    store = PubSub(None, str(tmp_path))
    topic = store.create_topic("orders")
    (tmp_path / "messages" / topic.uid / "_delta_log" / "_last_checkpoint" / "in_the_way").mkdir(
        parents=True
    )
    rows = pa.table({"data": [b"a"]})
    ids = [
        *(store.publish("orders", rows).message_ids[0] for _ in range(CHECKPOINT_INTERVAL)),
        *store.publish("orders", ["b"], idempotency_id=("loader", 1)).message_ids,
    ]
    assert len(set(ids)) == CHECKPOINT_INTERVAL + 1
    assert len(list(store.find_messages(topic.name).messages())) == CHECKPOINT_INTERVAL + 1
