"""The names of a store's resources for completion, remembered for a few seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from pubsub_delta.cli.service import Service
from pubsub_delta.resources import Page, Snapshot, Subscription, Topic
from pubsub_delta.schemas import Schema

FRESH = timedelta(seconds=10)
"""For so long names are not asked for again; another process may create some meanwhile."""

PATIENCE_SECONDS = 5.0
"""So long a prompt waits for names, and does without them then."""

Lister = Callable[..., Page[Topic] | Page[Subscription] | Page[Snapshot] | Page[Schema]]


class StoredNames:
    """The names of a store's resources; what cannot be listed has none.

    Args:
        store: returns the store that is meant, or the server.
        now: tells the time.
    """

    def __init__(self, store: Callable[[], Service], now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._kept: dict[tuple[str, str], tuple[datetime, Sequence[str]]] = {}

    def forget(self) -> None:
        """Ask anew at the next look, because a command may have changed what there is."""
        self._kept.clear()

    def __call__(self, collection: str, project: str) -> Sequence[str]:
        """Return the full names of a collection in a project."""
        now = self._now()
        until, names = self._kept.get((collection, project), (now, ()))
        if until <= now:
            names = self._listed(collection, project)
            self._kept[collection, project] = now + FRESH, names
        return names

    def _listed(self, collection: str, project: str) -> Sequence[str]:
        found: list[str] = []
        asking = threading.Thread(
            target=self._list_into, args=(found, collection, project), daemon=True
        )
        asking.start()
        asking.join(PATIENCE_SECONDS)
        return () if asking.is_alive() else found

    def _list_into(self, found: list[str], collection: str, project: str) -> None:
        # What goes wrong is told by the command itself, when it is run.
        with suppress(Exception):
            listing: Lister = getattr(self._store(), f"list_{collection}")
            page = listing(project=project)
            names = [each.name for each in page]
            while page.next_page_token:
                page = listing(project=project, page_token=page.next_page_token)
                names += [each.name for each in page]
            found += names
