"""Keeps the lease of a batch while a job works on it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from pubsub_delta import PulledBatch

_log = logging.getLogger("pubsub_delta")


@contextmanager
def extended(batch: PulledBatch, ack_deadline_seconds: int) -> Iterator[None]:
    """Extend the lease of a batch until the block ends, each time long before it is over.

    Otherwise a batch that takes longer than its lease comes again: to another consumer, which may
    take as long, or with exactly-once delivery to the same one, as its ack is invalid. So nobody
    would ever acknowledge it.
    """
    over = Event()

    def extend() -> None:
        while not over.wait(ack_deadline_seconds / 3):
            try:
                batch.modify_ack_deadline(ack_deadline_seconds)
            except Exception:  # as a full disk: the next time may succeed
                _log.exception("the lease of a batch could not be extended")

    thread = Thread(target=extend, name="extending a lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
