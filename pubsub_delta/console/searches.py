"""Searches for messages: they run in threads, show their progress, and can be stopped."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from datetime import datetime, timedelta

from pubsub_delta.operations.find import FoundMessage, MessageSearch

PAGE = 50
"""Messages of one page."""
KEPT = 50
"""The largest number of searches that are kept; the oldest that are done go first."""
IDLE_TIMEOUT = timedelta(seconds=60)
"""A search is stopped if no request asks for its progress for this long."""
PREVIEW_BYTES = 300
"""Bytes of data that are kept of each message."""


class BackgroundSearch:
    """A search in a thread, and the messages that it has found.

    Args:
        search: finds the messages.
        at: the address of the list of messages.
        query_string: the search as in the address.
        is_older: whether it is for a page that is not the first.
        at_present: returns the time.
    """

    def __init__(
        self,
        search: MessageSearch,
        at: str,
        query_string: str,
        is_older: bool,
        at_present: Callable[[], datetime],
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.at = at
        self.query_string = query_string
        self.is_older = is_older
        self.found: list[FoundMessage] = []
        self.has_more = False
        self.problem: Exception | None = None
        self.search = search
        self._at_present = at_present
        self._last_request = at_present()
        self._stop = threading.Event()
        self._future: Future[None] | None = None

    @property
    def progress(self) -> float:
        """The share of messages that was searched, from 0 to 1."""
        return self.search.progress

    @property
    def is_done(self) -> bool:
        """Whether the search has ended."""
        return self._future is not None and self._future.done()

    @property
    def was_stopped(self) -> bool:
        """Whether the search was stopped before its end."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the search, at most ``seconds``; return whether it is done."""
        self._last_request = self._at_present()
        assert self._future is not None
        return bool(wait_for([self._future], seconds).done)

    def stop(self) -> None:
        """Stop the search."""
        self._stop.set()

    def start(self, threads: ThreadPoolExecutor) -> None:
        """Start the search in a thread."""
        self._future = threads.submit(self._run)

    def _run(self) -> None:
        messages = self.search.messages(max_bytes=PREVIEW_BYTES, is_stopped=self._is_over)
        try:
            for message in messages:
                if len(self.found) == PAGE:
                    self.has_more = True
                    return
                self.found.append(message)
        except Exception as error:  # else it would look like a search that found nothing
            self.problem = error

    def _is_over(self) -> bool:
        if self._at_present() - self._last_request > IDLE_TIMEOUT:
            self._stop.set()
        return self._stop.is_set()


class BackgroundSearches:
    """The running searches, and the last ones that are done."""

    def __init__(self, at_present: Callable[[], datetime]) -> None:
        self._at_present = at_present
        self._threads = ThreadPoolExecutor(2, "search")
        self._lock = threading.Lock()
        self._searches: OrderedDict[str, BackgroundSearch] = OrderedDict()

    def start(
        self, search: MessageSearch, at: str, query: str, *, is_older: bool = False
    ) -> BackgroundSearch:
        """Start a search; the arguments are those of ``BackgroundSearch``."""
        running = BackgroundSearch(search, at, query, is_older, self._at_present)
        running.start(self._threads)
        with self._lock:
            self._searches[running.id] = running
            for id_ in [id_ for id_, each in self._searches.items() if each.is_done]:
                if len(self._searches) <= KEPT:
                    break
                del self._searches[id_]
        return running

    def find(self, id_: str) -> BackgroundSearch | None:
        """Return a search; None if there is none of this ID."""
        with self._lock:
            return self._searches.get(id_)

    def close(self) -> None:
        """Stop all searches, and wait for their end."""
        with self._lock:
            for each in self._searches.values():
                each.stop()
        self._threads.shutdown(cancel_futures=True)
