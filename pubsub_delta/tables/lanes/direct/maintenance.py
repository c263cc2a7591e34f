"""Maintenance of tables by ``deltalake``: OPTIMIZE, VACUUM, and cleaning of the log."""

from __future__ import annotations

import re
from datetime import timedelta

import deltalake
from deltalake import DeltaTable

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.lanes.direct.commits import MESSAGES_WRITTEN

_LOG_RETENTION = "delta.logRetentionDuration"
_TIDY_SIZE = 4 * 1024 * 1024
"""Bytes up to which a publish joins files of a topic; OPTIMIZE joins larger ones."""
_DOUBLES_ROWS = (1, 6, 4)
"""The first release by which two OPTIMIZE of the same files both land (decision 0034)."""


def empty(opened: DeltaTable) -> None:
    """Delete the rows of an unused table, and their files."""
    if opened.get_add_actions().num_rows:
        opened.delete()
    elif opened.history(1)[0]["operation"] == "VACUUM END":
        return  # it was emptied before
    opened.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)


def clean_log(opened: DeltaTable, keep: timedelta) -> int:
    """Write a checkpoint and remove the commits older than ``keep``; return how many there were.

    ``keep`` becomes the table's ``delta.logRetentionDuration``, if it differs.
    """
    kept = interval(keep)
    if opened.metadata().configuration.get(_LOG_RETENTION) != kept:
        opened.alter.set_table_properties({_LOG_RETENTION: kept})
    opened.create_checkpoint()
    before = len(opened.history())
    opened.cleanup_metadata()
    return before


def interval(time: timedelta) -> str:
    """Write a duration in the form of table properties.

    >>> interval(timedelta(days=8)), interval(timedelta(hours=1.5))
    ('interval 8 days', 'interval 5400 seconds')
    """
    seconds = int(time.total_seconds())
    days, rest = divmod(seconds, 86_400)
    return f"interval {days} days" if days and not rest else f"interval {seconds} seconds"


def tidy_control(opened: DeltaTable) -> None:
    """VACUUM a control table and remove its expired commits."""
    vacuum(opened)
    opened.cleanup_metadata()


def vacuum(opened: DeltaTable) -> None:
    """VACUUM: remove the files that no version needs which the table retains."""
    # In full: files whose tombstones a checkpoint has dropped would otherwise never go.
    opened.vacuum(dry_run=False, enforce_retention_duration=False, full=True)


def join_small_files(opened: DeltaTable) -> None:
    """Join the small files of a topic."""
    compact(opened, _TIDY_SIZE)


def compact(opened: DeltaTable, target_size: int | None = None) -> int:
    """OPTIMIZE: write small files as few large ones; return how many were replaced.

    FailedPrecondition by a ``deltalake`` with which two at a time double rows: somebody has
    installed it over the one that this library asks for.
    """
    if _release_of(deltalake.__version__) >= _DOUBLES_ROWS:
        raise FailedPrecondition(
            f"deltalake {deltalake.__version__}: by it two programs that join files double "
            "rows, so none are joined; pip install 'deltalake<1.6.4' installs one that is accepted"
        )
    done = opened.optimize.compact(target_size=target_size, writer_properties=MESSAGES_WRITTEN)
    return int(done["numFilesRemoved"])


def _release_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version.

    >>> _release_of("1.6.10rc1")
    (1, 6, 10)
    """
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
