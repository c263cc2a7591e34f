"""The names of a store on this machine, kept for the completion of the next word.

A shell starts a process for every Tab, and opening a store takes it longer than all the rest. So
what was listed last is kept in a file of the user's cache, and holds for as long as the table's
directory looks as it did: every commit of any writer changes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.tables.layout import layout_of

SETTLED = timedelta(seconds=2)
"""A directory that has changed within it may change again and look the same: clocks tick."""
HELD = timedelta(minutes=10)
"""For so long names hold at most: a snapshot expires without a commit."""


class KeptNames:
    """The names of one store; none are kept where it is not on a local disk.

    Args:
        root: where the store is.
        environment: where the cache is: ``XDG_CACHE_HOME``, or ``~/.cache``.
        now: tells the time.
    """

    def __init__(
        self, root: str, environment: Mapping[str, str], now: Callable[[], datetime]
    ) -> None:
        home, cache = environment.get("HOME"), environment.get("XDG_CACHE_HOME")
        base = Path(cache) if cache else Path(home, ".cache") if home else None
        self._folder = None if base is None else base / "pubsub_delta"
        self._now = now
        try:
            self._directory = layout_of(root).local_directory()
        except InvalidArgument:  # the command itself tells
            self._directory = None

    def names(
        self, collection: str, project: str, listed: Callable[[], Sequence[str]]
    ) -> Sequence[str]:
        """Return the names of a collection: those that are kept, if they hold, or as listed."""
        if self._folder is None or self._directory is None:
            return listed()
        path = self._folder / f"{collection}.json"
        now, looks = self._now(), self._looks(collection)
        about = {"directory": self._directory, "project": project, "looks": looks}
        kept = _read(path)
        if {key: kept.get(key) for key in about} == about and self._holds(kept, now):
            return [str(name) for name in kept["names"]]
        found = listed()
        if found and looks and max(time for _, time in looks) < _nanos(now - SETTLED):
            _write(path, {**about, "time": now.timestamp(), "names": list(found)})
        return found

    def _holds(self, kept: Mapping[str, Any], now: datetime) -> bool:
        return timedelta(0) <= now - datetime.fromtimestamp(kept["time"], now.tzinfo) < HELD

    def _looks(self, collection: str) -> list[list[Any]]:
        """Return the names in a table's directory, and when each was changed."""
        with suppress(OSError), os.scandir(f"{self._directory}/{collection}") as entries:
            return sorted([each.name, each.stat().st_mtime_ns] for each in entries)
        return []


def _nanos(time: datetime) -> int:
    return int(time.timestamp() * 1_000_000_000)


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _write(path: Path, kept: Mapping[str, Any]) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            json.dump(kept, file)
        os.replace(new, path)
