"""Disks that are full, and disks that may only be read: a clear error, nothing half done, and on.

The disk is a tmpfs of some megabytes in a mount namespace of the worker's own, which goes with it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.trials.children import Worker
from tests.trials.plans import FAMILIES, Call
from tests.trials.stores import Store, settle

pytestmark = [pytest.mark.trial, pytest.mark.timeout(900)]

ALONE = ["unshare", "--mount", "--map-root-user", "--user"]
"""What gives a command mounts of its own; nobody has to be root for it."""

CALLS: dict[str, list[Call]] = {
    "publish": [{"op": "publish", "topic": "orders", "count": 3}],
    "pull": [{"op": "pull", "subscription": "billing"}],
    "seek": [{"op": "seek_snapshot", "subscription": "billing", "snapshot": "early"}],
    "create_snapshot": [{"op": "create_snapshot", "snapshot": "late", "subscription": "billing"}],
    "create_topic": [{"op": "create_topic", "topic": "second"}],
    "delete_subscription": [{"op": "delete_subscription", "subscription": "archive"}],
}


class Disk:
    """A store on a small disk, and the only process that sees it."""

    def __init__(self, place: Path) -> None:
        self.mount = place / "disk"
        self.mount.mkdir()
        self.inside = Store(self.mount)
        self.inside.journal = place / "journal.jsonl"
        self._copies = 0
        self._place = place
        script = 'mount -t tmpfs -o size=32m tmpfs "$0" && exec "$@"'
        within = [*ALONE, "/bin/sh", "-c", script, str(self.mount)]
        self.worker = Worker(place, within=within).wait_until_ready()

    def tell(self, *calls: Call) -> str | None:
        """Let the worker make calls; return what went wrong."""
        return self.inside.tell(self.worker, list(calls))

    def shell(self, command: str) -> None:
        """Do something to the disk."""
        assert self.tell({"op": "shell", "command": command}) is None

    def fill(self) -> None:
        """Leave no byte free."""
        self.shell(f"dd if=/dev/zero of={self.mount}/filler bs=4k 2>/dev/null; true")

    def free(self) -> None:
        """Free what ``fill`` has taken."""
        self.shell(f"rm {self.mount}/filler")

    def only_read(self, switch: bool) -> None:
        """Let the disk be read only, or written again."""
        self.shell(f"mount -o remount,{'ro' if switch else 'rw'} {self.mount}")

    def copy(self) -> Store:
        """Return what stands on the disk, where it can be looked at."""
        self._copies += 1
        copy = Store(self._place / f"copy-{self._copies}")
        copy.base.mkdir()
        self.shell(f"cp -a {self.inside.root} {copy.root}")
        shutil.copy(self.inside.journal, copy.journal)
        return copy


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    tried = subprocess.run([*ALONE, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mounts of one's own on this machine: {tried.stderr!r}")
    disk = Disk(tmp_path_factory.mktemp("disks"))
    assert disk.tell(*FAMILIES["orders"]) is None
    yield disk
    disk.worker.kill()


def refused(disk: Disk, name: str, error_name: str, why: str) -> None:
    """Make a call that must fail for a reason, and see that nothing of it was done."""
    error = disk.tell(*CALLS[name])
    assert error is not None, f"{name} was carried out"
    assert error.startswith(error_name), error
    assert why in error
    assert str(disk.mount) in error, "which table?"
    copy = disk.copy()
    assert settle(copy) == "before the call"
    shutil.copy(copy.journal, disk.inside.journal)


@pytest.mark.parametrize("name", CALLS)
def test_a_full_disk_is_named_and_nothing_is_half_done(
    disk: Disk, name: str, tell: Callable[[str], None]
) -> None:
    disk.fill()
    try:
        refused(disk, name, "Unavailable", "no space is left")
    finally:
        disk.free()
    tell("refused on a full disk, and nothing of it done")


@pytest.mark.parametrize("name", CALLS)
def test_a_disk_that_may_not_be_written_is_named_and_can_still_be_read(
    disk: Disk, name: str, tell: Callable[[str], None]
) -> None:
    disk.only_read(True)
    try:
        refused(disk, name, "FailedPrecondition", "no permission to write")
        assert disk.tell({"op": "look", "topic": "orders", "subscription": "billing"}) is None
    finally:
        disk.only_read(False)
    tell("refused on a disk that may only be read, and nothing of it done")


def test_afterwards_the_store_goes_on(disk: Disk) -> None:
    assert disk.tell({"op": "recover"}) is None
    assert settle(disk.copy()) == "between two calls"
