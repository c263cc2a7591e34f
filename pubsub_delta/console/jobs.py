"""Jobs: work that may take long runs in threads, and a page shows its progress."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from fastapi import Request, Response

from pubsub_delta.errors import PubSubError, ResourceExhausted

T = TypeVar("T")

WAIT_SECONDS = 0.7
"""How long a request waits for its job; after that the response is a page of progress."""
KEPT = 100
KEPT_BYTES = 64 * 1024 * 1024
"""The largest number of jobs that are done, and of bytes of the forms of all jobs."""

ResponseTo = Callable[[Request, T], Response]


class Job(Generic[T]):
    """A piece of work that runs in a thread, and the response to it.

    Args:
        title: what the job does, for the page of its progress.
        started: when it was started.
        future: its result.
        then: makes the response from the result.
        failed: makes the response from an error of the library.
        form_bytes: the size of the form that ``failed`` shows again.
        section: the section of the console that the job belongs to.
    """

    def __init__(
        self,
        title: str,
        started: datetime,
        future: Future[T],
        then: ResponseTo[T],
        failed: ResponseTo[PubSubError],
        form_bytes: int,
        section: str = "",
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.section = section
        self.title = title
        self.started = started
        self.form_bytes = form_bytes
        self._future = future
        self._then: ResponseTo[T] | None = then
        self._failed: ResponseTo[PubSubError] | None = failed
        future.add_done_callback(self._drop_callback)

    @property
    def is_done(self) -> bool:
        """Whether the job is done."""
        return self._future.done()

    def wait(self, seconds: float) -> bool:
        """Wait for the job, at most ``seconds``; return whether it is done."""
        return bool(wait([self._future], seconds).done)

    def response(self, request: Request) -> Response:
        """Return the response to the result, or to the error. The job must be done."""
        try:
            result = self._future.result()
        except PubSubError as error:
            assert self._failed is not None
            return self._failed(request, error)
        assert self._then is not None
        return self._then(request, result)

    def _drop_callback(self, done: Future[T]) -> None:
        """Drop the callback that is not needed, with the form that it holds."""
        if done.cancelled() or not isinstance(done.exception(), PubSubError):
            self._failed, self.form_bytes = None, 0
        else:
            self._then = None


class Jobs:
    """The running jobs, and the last ones that are done.

    Args:
        now: returns the time.
        workers: the number of threads.
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
        then: ResponseTo[T],
        failed: ResponseTo[PubSubError],
        form_bytes: int = 0,
        section: str = "",
    ) -> Job[T]:
        """Start a job; the arguments are those of ``Job``.

        ResourceExhausted, and nothing is done, if its form does not fit beside those of jobs that
        are not done.
        """
        with self._lock:
            self._make_room(form_bytes)
            work_of = self._threads.submit(work)
            job = Job(title, self._now(), work_of, then, failed, form_bytes, section)
            self._jobs[job.id] = job  # type: ignore[assignment]
        return job

    def _make_room(self, form_bytes: int) -> None:
        """Remove the oldest done jobs until another one fits."""
        for id_ in [id_ for id_, each in self._jobs.items() if each.is_done]:
            if len(self._jobs) < KEPT and form_bytes + self._form_bytes() <= KEPT_BYTES:
                return
            del self._jobs[id_]
        waiting = self._form_bytes()
        if waiting and form_bytes and form_bytes + waiting > KEPT_BYTES:
            raise ResourceExhausted(
                f"forms of {waiting / 2**20:,.0f} MB wait to be carried out, and the console takes "
                f"{KEPT_BYTES // 2**20} MB of them; nothing was done: send the form again later"
            )

    def _form_bytes(self) -> int:
        return sum(each.form_bytes for each in self._jobs.values())

    def find(self, id_: str) -> Job[object] | None:
        """Return a job; None if there is none of this ID."""
        with self._lock:
            return self._jobs.get(id_)

    def forget(self, job: Job[T]) -> None:
        """Remove a job whose response was sent."""
        with self._lock:
            self._jobs.pop(job.id, None)

    def elapsed(self, job: Job[object]) -> timedelta:
        """Return the time since a job was started."""
        return max(timedelta(0), self._now() - job.started)

    def close(self) -> None:
        """Wait for running jobs, and drop those that have not begun."""
        self._threads.shutdown(cancel_futures=True)
