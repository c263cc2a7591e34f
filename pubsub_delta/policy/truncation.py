"""Which commits of a table may be forgotten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

LEAST = 200
"""So many commits must be old enough, or none is forgotten: that takes some commits itself, and
begins at a checkpoint, of which there is one in a hundred versions."""

_MARGIN = timedelta(hours=1)
"""How much younger than the oldest commit that is needed a commit is forgotten at most: the clocks
of writers differ, and time goes by until Delta looks at its own."""

_MINUTE = 60
"""Delta forgets what is older than the beginning of the minute that it reckons with."""


@dataclass(frozen=True)
class Aged:
    """A commit, and how many seconds ago it was."""

    version: int
    age: float


@dataclass(frozen=True)
class Truncation:
    """Commits to forget: those older than so many seconds, among them all before a version."""

    before: int
    seconds: int
    commits: int


def truncation(
    known: Sequence[Aged], keep: timedelta, needed_after: int | None = None
) -> Truncation | None:
    """Return what of a table's commits to forget, None where it is not worth it.

    ``keep``: how young a commit must be to be kept. ``needed_after``: all commits after this
    version are, because of a snapshot, and those of the hour before them.
    """
    needed = [] if needed_after is None else [c.age for c in known if c.version > needed_after]
    kept = max([keep.total_seconds(), *(age + _MARGIN.total_seconds() for age in needed)])
    old = [commit.version for commit in known if commit.age > kept + _MINUTE]
    if len(old) < LEAST:
        return None
    return Truncation(before=min(old) + 1, seconds=math.ceil(kept), commits=len(old))
