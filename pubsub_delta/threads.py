"""Threads, and the process that has them.

The interpreter does not wait for daemon threads. One that is in native code when it exits, such as
``deltalake``'s, can crash the process. So what a program has not stopped by itself is stopped
before.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

from pubsub_delta.errors import FailedPrecondition

T = TypeVar("T")
R = TypeVar("R")


def refuse_to_pickle(of_one_process: object) -> NoReturn:
    """Raise TypeError: the ``__reduce__`` of what has locks, threads or open tables.

    It is raised where a function for Spark's executors, or for a pool of processes, refers to it.
    """
    raise TypeError(
        f"a {type(of_one_process).__name__} cannot be pickled, as it belongs to its process; a "
        "function that runs in another one opens the store there, as by PubSub(None, root), and "
        "gets messages and ack ids as values"
    )


_working: weakref.WeakKeyDictionary[Any, Callable[[Any], object]] = weakref.WeakKeyDictionary()


def stop_at_exit(working: T, stop: Callable[[T], object]) -> None:
    """Stop an object that has a thread when the interpreter exits, if it still lives then.

    It is stopped before what the program had registered with ``atexit`` until now: that may be the
    end of a Spark session. A forked process has no threads of its parent, and stops none.
    """
    _working[working] = stop
    atexit.unregister(_stop_all)
    atexit.register(_stop_all)


def _stop_all() -> None:
    for working, stop in tuple(_working.items()):
        stop(working)


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_working.clear)


def start_threads(those: Iterable[threading.Thread], stop: Callable[[], object]) -> None:
    """Start threads; where one cannot start, or Ctrl-C comes meanwhile, stop those that run.

    Nobody has what they belong to then, to stop it.
    """
    try:
        for thread in those:
            thread.start()
    except BaseException:
        stop()
        raise


OPEN_ANOTHER = 'open one there, in a process started by "spawn"'


class OwnProcess:
    """The process of an object with threads: a forked one has the object, and not its threads."""

    def __init__(self, of: str, instead: str) -> None:
        self._of = of
        self._instead = instead
        self._id = os.getpid()

    @property
    def is_this(self) -> bool:
        """Whether the threads are here."""
        return self._id == os.getpid()

    def check(self) -> None:
        """Raise FailedPrecondition in a process that was forked from it."""
        if not self.is_this:
            raise FailedPrecondition(
                f"{self._of} is that of process {self._id}, from which process {os.getpid()} was "
                f"forked; {self._instead}"
            )


def has_lock_of(condition: threading.Condition) -> bool:
    """Return whether the calling thread has the lock of a condition, which is an RLock.

    A signal handler runs in the middle of what the main thread does. There it can take such a lock
    once more, but waits for ever for a thread that needs it.
    """
    try:
        condition.notify(0)
    except RuntimeError:  # Python: raised if the calling thread has not acquired the lock
        return False
    return True


def in_threads(work: Callable[[T], R], items: Sequence[T], most: int) -> list[R]:
    """Return the results for all items, from at most so many threads.

    When the interpreter exits no thread takes work any more, and this one does all of it.
    """
    with ThreadPoolExecutor(most) as pool:
        results: Iterable[R]
        try:
            results = pool.map(work, items)
        except RuntimeError:
            results = map(work, items)
        return list(results)
