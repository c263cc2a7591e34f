"""Signing keys: the one that signs tokens, the time for a new one, and the removal of old ones.

A new key is published a day before it signs, so that receivers with a cache of keys have it by
then. An old key stays published until long after its last token has expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

SIGNS = timedelta(days=30)
"""How long a key signs."""
AHEAD = timedelta(days=1)
"""How long a key is published before it signs."""
KEPT = timedelta(days=1)
"""How long a key is published after it has signed."""


def signing(created: Sequence[datetime], now: datetime) -> datetime | None:
    """Return the creation time of the key that signs; None without keys.

    It is the newest that has been published for long enough. The first key of all signs at once.

    >>> first, second = datetime(2026, 1, 1), datetime(2026, 1, 31)
    >>> [signing([first, second], second + timedelta(hours=each)).day for each in (23, 24)]
    [1, 31]
    """
    known = [each for each in created if each <= now - AHEAD]
    return max(known) if known else min(created, default=None)


def needs_new(created: Sequence[datetime], now: datetime) -> bool:
    """Return whether to create a key now, so that it can sign when the newest one stops.

    >>> needs_new([], datetime(2026, 1, 1)), needs_new([datetime(2026, 1, 1)], datetime(2026, 2, 1))
    (True, True)
    """
    return not created or now >= max(created) + SIGNS


def published(created: Sequence[datetime], now: datetime) -> list[datetime]:
    """Return the published keys by their creation time, the newest first.

    >>> first, second = datetime(2026, 1, 1), datetime(2026, 1, 31)
    >>> [len(published([first, second], second + timedelta(days=each))) for each in (0, 1, 2)]
    [2, 2, 1]
    """
    newest_first = sorted(created, reverse=True)
    kept = newest_first[:1]
    for newer, older in pairwise(newest_first):
        if now < newer + AHEAD + KEPT:
            kept.append(older)
    return kept
