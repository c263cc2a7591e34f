"""Work that may take long: it runs in threads, and a page tells how it goes on."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from fastapi import Request, Response

from pubsub_delta.errors import PubSubError

T = TypeVar("T")

PATIENCE_SECONDS = 0.7
"""An answer waits so long for its work, before it tells that it goes on."""
KEPT = 100
KEPT_BYTES = 64 * 1024 * 1024
"""Jobs that are done are forgotten beyond so many, or so many bytes of forms, the oldest first."""

Then = Callable[[Request, T], Response]


class Job(Generic[T]):
    """One piece of work, and the page that it leads to.

    ``then`` answers with what it returned, ``failed`` with the error of the library that it raised,
    and with the form that was posted, of so many bytes. Once it is done the other of the two goes.
    ``section``: the part of the console that asked for it.
    """

    def __init__(
        self,
        title: str,
        started: datetime,
        future: Future[T],
        then: Then[T],
        failed: Then[PubSubError],
        form_bytes: int,
        section: str = "",
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.section = section
        self.title = title
        self.started = started
        self.form_bytes = form_bytes
        self._future = future
        self._then: Then[T] | None = then
        self._failed: Then[PubSubError] | None = failed
        future.add_done_callback(self._let_go)

    @property
    def is_done(self) -> bool:
        """Whether its page can be asked for."""
        return self._future.done()

    def wait(self, seconds: float) -> bool:
        """Wait until it is done, at most so long; tell whether it is."""
        return bool(wait([self._future], seconds).done)

    def page(self, request: Request) -> Response:
        """Answer with what became of it. It must be done."""
        try:
            result = self._future.result()
        except PubSubError as error:
            assert self._failed is not None
            return self._failed(request, error)
        assert self._then is not None
        return self._then(request, result)

    def _let_go(self, done: Future[T]) -> None:
        """Keep no form that no page will show again."""
        if done.cancelled() or not isinstance(done.exception(), PubSubError):
            self._failed, self.form_bytes = None, 0
        else:
            self._then = None


class Jobs:
    """The work under way, and what became of the last pieces of it.

    Args:
        now: tells the time.
        workers: how many run at a time; the others wait for their turn.
    """

    def __init__(self, now: Callable[[], datetime], workers: int = 4) -> None:
        self._now = now
        self._threads = ThreadPoolExecutor(workers, "console")
        self._jobs: OrderedDict[str, Job[object]] = OrderedDict()
        self._lock = threading.Lock()

    def start(
        self,
        title: str,
        work: Callable[[], T],
        then: Then[T],
        failed: Then[PubSubError],
        form_bytes: int = 0,
        section: str = "",
    ) -> Job[T]:
        """Start a piece of work, which a form of so many bytes asked for."""
        job = Job(title, self._now(), self._threads.submit(work), then, failed, form_bytes, section)
        with self._lock:
            self._jobs[job.id] = job  # type: ignore[assignment]
            for id_ in [id_ for id_, each in self._jobs.items() if each.is_done and id_ != job.id]:
                kept = sum(each.form_bytes for each in self._jobs.values())
                if len(self._jobs) <= KEPT and kept <= KEPT_BYTES:
                    break
                del self._jobs[id_]
        return job

    def find(self, id_: str) -> Job[object] | None:
        """Return a piece of work, None where it is forgotten or never was."""
        with self._lock:
            return self._jobs.get(id_)

    def forget(self, job: Job[T]) -> None:
        """Forget a piece of work that nobody will ask for again."""
        with self._lock:
            self._jobs.pop(job.id, None)

    def elapsed(self, job: Job[object]) -> timedelta:
        """Return for how long a job has been known."""
        return max(timedelta(0), self._now() - job.started)

    def close(self) -> None:
        """Wait for what is under way; what waits for its turn is dropped."""
        self._threads.shutdown(cancel_futures=True)
