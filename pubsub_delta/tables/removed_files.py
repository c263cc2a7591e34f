"""What a busy ack state's table has removed, which Delta carries along with its state.

Each commit removes a file, and Delta keeps a mark of it among the table's state for as long as
``delta.deletedFileRetentionDuration``: 8 days. It puts that state together anew for each commit. A
mark of what only forgotten commits had is of no use to anybody (decision 0019).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from pubsub_delta.tables import log_cleanup
from pubsub_delta.tables.commits import Commits
from pubsub_delta.tables.schemas import ACK_STATE

RETENTION = "delta.deletedFileRetentionDuration"
CHECKPOINTS = "delta.checkpointInterval"

WORTH_IT = 1_000
"""So many actions a checkpoint must have beyond the commits that stay, or none is left out."""
MARGIN = 60
"""Seconds for which marks are kept that may be of no use: a file is removed before its commit."""

_PASSING = re.compile(r"interval \d+ seconds")
"""A retention that is in force for a moment; nobody else would write it so."""
_PLAIN = re.compile(r"[\w ]+")
"""Values that Delta accepts for these properties, and that need no quoting."""


def forget(commits: Commits, table: str, directory: Path, version: int, kept: int) -> None:
    """Have a checkpoint written without marks that are of no use, where there are many.

    The caller holds the table's lock, and has just made the commit of ``version``; the last
    ``kept`` ones stay. Checkpoints are written by the table's properties, so these are changed for
    one commit, and back. Where a process is killed in between, the next one that comes here changes
    them back: until then less is kept, and checkpoints are written more often.
    """
    properties = log_cleanup.properties(directory, version)
    if not is_worth_it(properties, log_cleanup.actions_of_checkpoint(directory), kept):
        return
    seconds = math.ceil(log_cleanup.seconds_between(directory, version - kept, version)) + MARGIN
    try:
        _set(commits, table, {RETENTION: f"interval {seconds:d} seconds", CHECKPOINTS: "1"})
    finally:
        _set(commits, table, usual(properties))


def is_worth_it(properties: Mapping[str, str], actions: int, kept: int) -> bool:
    """Tell whether a checkpoint of so many actions has many marks, or a retention is to go back."""
    return actions >= kept + WORTH_IT or _is_passing(properties)


def usual(properties: Mapping[str, str]) -> dict[str, str]:
    """Return what a table has but for that moment: its own properties, or else those of all.

    >>> usual({RETENTION: "interval 5 days", "delta.appendOnly": "false"})
    {'delta.deletedFileRetentionDuration': 'interval 5 days', 'delta.checkpointInterval': '100'}
    >>> usual({RETENTION: "interval 61 seconds", CHECKPOINTS: "1"})
    {'delta.deletedFileRetentionDuration': 'interval 8 days', 'delta.checkpointInterval': '100'}
    """
    told = {each: ACK_STATE.properties[each] for each in (RETENTION, CHECKPOINTS)}
    if not _is_passing(properties):
        own = {each: properties.get(each, "") for each in told}
        told |= {each: value for each, value in own.items() if _PLAIN.fullmatch(value)}
    return told


def _is_passing(properties: Mapping[str, str]) -> bool:
    return _PASSING.fullmatch(properties.get(RETENTION, "")) is not None


def _set(commits: Commits, table: str, properties: Mapping[str, str]) -> None:
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    commits.alter(table, f"SET TBLPROPERTIES ({told})")
