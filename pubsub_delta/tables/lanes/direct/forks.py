"""Refuses a process that was forked from one in which ``deltalake`` was at work.

Its threads do not go along, so each of its calls panics there; and a lock that another thread held
stays taken. A process that is forked before ``deltalake`` is used is as good as any.
"""

from __future__ import annotations

import os

from pubsub_delta.errors import FailedPrecondition

_PANIC = "Forked process detected"


class _Process:
    """Whether ``deltalake`` was used in this process, and in one that it was forked from."""

    def __init__(self) -> None:
        self.uses_deltalake = False
        self.is_forked = False

    def note_fork(self) -> None:
        self.is_forked = self.uses_deltalake


_THIS = _Process()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_THIS.note_fork)


def check_not_forked() -> None:
    """Raise FailedPrecondition in a forked process, before anything waits there for ever."""
    if _THIS.is_forked:
        raise _refusal()
    _THIS.uses_deltalake = True


def refusal_of_panic(error: BaseException) -> FailedPrecondition | None:
    """Return the error for a panic of ``deltalake`` after a fork; None for another error."""
    return _refusal() if _PANIC in str(error) else None


def _refusal() -> FailedPrecondition:
    return FailedPrecondition(
        f"process {os.getpid()} was forked from one that had opened tables, which deltalake does "
        'not support; start processes by "spawn" or "forkserver" '
        "(multiprocessing.get_context), or fork before the first store is used"
    )
