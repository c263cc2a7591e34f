"""Which commits of a table may be forgotten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

LEAST = 200
"""So many commits must be old enough, or none is forgotten: that takes some commits itself, and
begins at a checkpoint, of which there is one in a hundred versions."""

_MARGIN = timedelta(hours=1)
"""How much older than the oldest commit that is needed one must be to be forgotten: the clocks of
writers differ, and time goes by until Delta looks at its own."""
_MINUTE = timedelta(minutes=1)
"""Delta forgets what is older than the beginning of the minute that it reckons with."""


@dataclass(frozen=True)
class Known:
    """A commit that a table's log still tells, and when it was made."""

    version: int
    time: datetime


@dataclass(frozen=True)
class Truncation:
    """Commits to forget, from the first that is known on: those older than so many seconds.

    ``kept_from``: the first version that is not among them.
    """

    first: int
    seconds: int
    kept_from: int

    @property
    def commits(self) -> int:
        """How many they are."""
        return self.kept_from - self.first


def truncation(
    known: Sequence[Known], now: datetime, keep: timedelta, needed_after: int | None = None
) -> Truncation | None:
    """Return what of a table's commits to forget, None where it is not worth it.

    ``keep``: how young a commit must be to be kept. ``needed_after``: all commits after this
    version are, because of a snapshot, and those of the hour before them.
    """
    if needed_after is not None:
        needed = [now - each.time for each in known if each.version > needed_after]
        keep = max([keep, *(age + _MARGIN for age in needed)])
    versions = [each.version for each in known]
    young = [each.version for each in known if now - each.time <= keep + _MINUTE]
    if not versions:
        return None
    kept_from = min(young, default=max(versions) + 1)
    found = Truncation(min(versions), math.ceil(keep.total_seconds()), kept_from)
    return found if found.commits >= LEAST else None
