"""The names of resources for shell completion, and two caches of them.

``ResourceNames`` lists names and keeps them in memory for seconds. ``NamesFile`` keeps them on
disk: a shell starts a process for every Tab, and opening a store takes most of its time.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pubsub_delta.cli.service import Service
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.resources import Page, all_pages
from pubsub_delta.tables.layout import layout_of

MEMORY_TTL = timedelta(seconds=10)
"""How long names are kept in memory; another process may create resources meanwhile."""
TIMEOUT_SECONDS = 5.0
"""How long completion waits for names; it offers none after that."""
FILE_TTL = timedelta(minutes=10)
"""How long names are kept on disk: a snapshot expires without a commit."""
SETTLED = timedelta(seconds=2)
"""A table whose directory changed within this time is not cached: file times are coarse, and it may
change again without a new time.
"""

_listings: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


class ResourceNames:
    """Lists the names of resources, and keeps them in memory. A listing that fails gives none.

    Args:
        service: returns the store or the server.
        now: returns the time.
    """

    def __init__(self, service: Callable[[], Service], now: Callable[[], datetime]) -> None:
        self._service = service
        self._now = now
        self._cache: dict[tuple[str, str], tuple[datetime, Sequence[str]]] = {}

    def clear(self) -> None:
        """Clear the cache, after a command that may have created or deleted resources."""
        self._cache.clear()

    def __call__(self, collection: str, project: str) -> Sequence[str]:
        """Return the full names of a collection (``topics``) in a project."""
        now = self._now()
        until, names = self._cache.get((collection, project), (now, ()))
        if until <= now:
            names = self._list(collection, project)
            self._cache[collection, project] = now + MEMORY_TTL, names
        return names

    def _list(self, collection: str, project: str) -> Sequence[str]:
        names: list[str] = []
        thread = threading.Thread(
            target=self._list_into, args=(names, collection, project), daemon=True
        )
        _listings.add(thread)
        thread.start()
        thread.join(TIMEOUT_SECONDS)
        return () if thread.is_alive() else names

    def _list_into(self, names: list[str], collection: str, project: str) -> None:
        with suppress(Exception):  # the command itself reports the error when it is run
            listing: Callable[..., Page[Any]] = getattr(self._service(), f"list_{collection}")
            pages = all_pages(lambda token: listing(project=project, page_token=token))
            names += [each.name for each in pages]


class NamesFile:
    """Keeps the names of a store on a local disk in a file of the user's cache.

    The file is valid while the table's directory has the same entries with the same times: every
    commit changes them.

    Args:
        root: the root of the store.
        environment: variables; the cache is in ``XDG_CACHE_HOME``, or ``~/.cache``.
        now: returns the time.
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
        except InvalidArgument:  # the command itself reports it
            self._directory = None

    def names(
        self, collection: str, project: str, list_names: Callable[[], Sequence[str]]
    ) -> Sequence[str]:
        """Return the names from the file if it is valid, else list them and write the file."""
        if self._folder is None or self._directory is None:
            return list_names()
        path = self._folder / f"{collection}.json"
        now, entries = self._now(), self._entries(collection)
        key = {"directory": self._directory, "project": project, "entries": entries}
        cached = _read(path)
        if {name: cached.get(name) for name in key} == key and _is_fresh(cached, now):
            return [str(name) for name in cached["names"]]
        found = list_names()
        if found and entries and max(time for _, time in entries) < _nanos(now - SETTLED):
            _write(path, {**key, "time": now.timestamp(), "names": list(found)})
        return found

    def _entries(self, collection: str) -> list[list[Any]]:
        """Return the entries of a table's directory, each with its time of modification."""
        with suppress(OSError), os.scandir(f"{self._directory}/{collection}") as entries:
            return sorted([each.name, each.stat().st_mtime_ns] for each in entries)
        return []


def exit_beside_listing(code: int) -> None:
    """Exit at once if a listing goes on: in native code its thread would crash an orderly exit."""
    if any(thread.is_alive() for thread in _listings):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _is_fresh(cached: Mapping[str, Any], now: datetime) -> bool:
    return timedelta(0) <= now - datetime.fromtimestamp(cached["time"], now.tzinfo) < FILE_TTL


def _nanos(time: datetime) -> int:
    return int(time.timestamp() * 1_000_000_000)


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            json.dump(content, file)
        os.replace(new, path)
