"""The file of a server's journal: begun anew, written in part, and not written at all."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("grpc")
from pubsub_delta.policy.positions import Positions
from pubsub_delta.server.lease_journals import Journal
from tests.unit.test_server_lease_journals import UID, given, here, killed, left_at, pytestmark

__all__ = ["pytestmark"]


def test_a_journal_that_does_not_take_the_place_of_its_file_is_none(tmp_path: Path) -> None:
    """A server that is killed while it begins a file anew leaves the one before, which counts."""
    one = here(tmp_path, "first")
    one.journal("s", UID).leased(7, Positions.of(range(3)))
    (path,) = tmp_path.rglob(UID)
    path.with_suffix(".new").write_text(path.read_text().replace("s\n", "other\n", 1))
    killed(one)
    assert left_at(tmp_path) == {"s": {7: [0, 1, 2]}}


def test_a_line_that_a_disk_takes_in_part_ends_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is given next would end the broken line, and could be taken over."""
    one = here(tmp_path, "first")
    journal = one.journal("s", UID)
    journal.leased(7, Positions.of(range(3)))

    class Full:
        def write(self, written: bytes) -> int:
            return len(written) - 1

        def close(self) -> None: ...

    journal._file = Full()  # type: ignore[assignment]
    journal.given(given(0))
    journal.given(given(1))
    assert [*tmp_path.rglob(UID)] == []
    killed(one)
    assert left_at(tmp_path) == {}


def test_a_journal_that_cannot_be_written_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """ "If this server is killed, waiting messages come again at their deadline"."""
    journal = Journal(tmp_path / "absent" / UID, "projects/p/subscriptions/s")
    journal.leased(7, Positions.of(range(5)))
    journal.leased(8, Positions.of(range(5, 9)))
    journal.given(given(0))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(
        "projects/p/subscriptions/s: the journal of leases cannot be written; if this server is "
        "killed, waiting messages come again at their deadline: [Errno 2] "
    )


def test_a_server_of_a_store_that_begins_with_it_is_noticed_when_it_is_gone(
    tmp_path: Path,
) -> None:
    """Its directory is made with those above it."""
    server = here(tmp_path / "new" / "store", "first")
    server.journal("s", UID).leased(7, Positions.of([1, 2]))
    killed(server)
    assert left_at(tmp_path / "new" / "store") == {"s": {7: [1, 2]}}
