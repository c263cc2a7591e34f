"""Searches among messages: they run in threads, tell how far they are, and can be stopped."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from datetime import datetime, timedelta

from pubsub_delta.errors import PubSubError
from pubsub_delta.operations.find import FoundMessage, MessageSearch

PAGE = 50
"""Messages of a page."""
KEPT = 50
"""Searches that are done are forgotten beyond so many, the oldest first."""
UNWATCHED = timedelta(seconds=60)
"""A search that nobody has asked about for so long is stopped."""
_BEGINNING = 300
"""So many bytes of each message are kept for the page."""


class Running:
    """A search under way, and what it has found so far.

    ``query``: what it looks for, as in the address. ``at``: the address of the messages.
    """

    def __init__(
        self, search: MessageSearch, at: str, query: str, at_present: Callable[[], datetime]
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.at = at
        self.query = query
        self.found: list[FoundMessage] = []
        self.has_more = False
        self.problem: PubSubError | None = None
        self._search = search
        self._at_present = at_present
        self._asked = at_present()
        self._stop = threading.Event()
        self._future: Future[None] | None = None

    @property
    def progress(self) -> float:
        """How much it has looked through, from 0 to 1."""
        return self._search.progress

    @property
    def is_done(self) -> bool:
        """Whether it looks no further."""
        return self._future is not None and self._future.done()

    @property
    def was_stopped(self) -> bool:
        """Whether it was stopped before it had looked everywhere."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until it is done, at most so long; tell whether it is. Somebody asks about it."""
        self._asked = self._at_present()
        assert self._future is not None
        return bool(wait_for([self._future], seconds).done)

    def stop(self) -> None:
        """Look no further."""
        self._stop.set()

    def start(self, threads: ThreadPoolExecutor) -> None:
        """Begin to look."""
        self._future = threads.submit(self._run)

    def _run(self) -> None:
        messages = self._search.messages(max_bytes=_BEGINNING, is_stopped=self._is_over)
        try:
            for message in messages:
                if len(self.found) == PAGE:
                    self.has_more = True
                    return
                self.found.append(message)
        except PubSubError as error:
            self.problem = error

    def _is_over(self) -> bool:
        if self._at_present() - self._asked > UNWATCHED:
            self._stop.set()
        return self._stop.is_set()


class Searches:
    """The searches under way, and the last ones that are done."""

    def __init__(self, at_present: Callable[[], datetime]) -> None:
        self._at_present = at_present
        self._threads = ThreadPoolExecutor(2, "search")
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Running] = OrderedDict()

    def start(self, search: MessageSearch, at: str, query: str) -> Running:
        """Start a search."""
        running = Running(search, at, query, self._at_present)
        running.start(self._threads)
        with self._lock:
            self._known[running.id] = running
            for id_ in [id_ for id_, each in self._known.items() if each.is_done]:
                if len(self._known) <= KEPT:
                    break
                del self._known[id_]
        return running

    def find(self, id_: str) -> Running | None:
        """Return a search, None where it is forgotten or never was."""
        with self._lock:
            return self._known.get(id_)

    def close(self) -> None:
        """Stop all of them, and wait for that."""
        with self._lock:
            for each in self._known.values():
                each.stop()
        self._threads.shutdown(cancel_futures=True)
