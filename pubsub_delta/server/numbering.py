"""Numbering: which positions publishes were given, deduced from the history of their topic.

Delta gives rows their ids in the order of the commits, without a gap between two appends. So once
the end of one commit is known, the history tells the positions of those that follow it, and no
file need be looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from pubsub_delta.policy.positions import Positions

REMEMBERED = 10_000
"""Commits of a topic whose positions are remembered."""


class Commit(Protocol):
    """A commit of a topic, as its history tells it."""

    @property
    def version(self) -> int: ...
    @property
    def publish_id(self) -> str | None: ...
    @property
    def message_count(self) -> int: ...
    @property
    def adds_messages(self) -> bool: ...
    @property
    def moves_messages(self) -> bool: ...


class Numbering:
    """What is known of the positions of one topic's commits. Any thread may ask and tell."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[int, Positions] = {}
        self._end: tuple[int, int] | None = None  # a version, and the first position after it

    def see(self, newest_first: Sequence[Commit]) -> None:
        """Learn from commits that follow each other without a gap."""
        with self._lock:
            for commit in reversed(newest_first):
                self._see(commit)

    def learn(self, commit: Commit, positions: Positions) -> None:
        """Learn the positions of a publish that were looked up."""
        if not _is_publish(commit) or len(positions) != commit.message_count:
            return
        with self._lock:
            self._keep(commit.version, positions)
            if self._end is None or self._end[0] < commit.version:
                self._end = commit.version, positions.max + 1

    def positions(self, commit: Commit) -> Positions | None:
        """Return the positions of a publish; None where they cannot be told."""
        with self._lock:
            found = self._found.get(commit.version)
        return found if found is not None and len(found) == commit.message_count else None

    def _see(self, commit: Commit) -> None:
        if commit.version == 0 and not commit.adds_messages and self._end is None:
            self._end = 0, 0  # the table was created, empty
        if self._end is None or commit.version <= self._end[0]:
            return
        version, start = self._end
        self._end = None
        if commit.version != version + 1:
            return
        if _is_publish(commit):
            end = start + commit.message_count
            self._keep(commit.version, Positions.between(start, end - 1))
            self._end = commit.version, end
        elif not commit.adds_messages and not commit.moves_messages:
            self._end = commit.version, start

    def _keep(self, version: int, positions: Positions) -> None:
        self._found[version] = positions
        while len(self._found) > REMEMBERED:
            del self._found[next(iter(self._found))]


def _is_publish(commit: Commit) -> bool:
    """Tell whether a commit is a publish whose number of messages is known."""
    counted = commit.publish_id is not None and commit.message_count > 0
    return counted and commit.adds_messages and not commit.moves_messages
