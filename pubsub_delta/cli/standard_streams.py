"""The standard streams of a process: closed, full, or without a reader."""

from __future__ import annotations

import errno
import os
import select
import sys

from pubsub_delta.errors import FailedPrecondition


def open_closed_streams() -> None:
    """Open ``/dev/null`` in the place of closed streams; FailedPrecondition for standard output.

    Else the next file that is opened gets the descriptor, and with it what is written there.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest descriptor that is free
    if sys.stdout is None:
        raise FailedPrecondition(
            "standard output is closed; `> /dev/null` is accepted if nothing shall be printed"
        )


def check_reader() -> None:
    """Raise BrokenPipeError if the reader of standard output is gone, as ``tail -f`` does."""
    try:
        watched = select.poll()
        watched.register(sys.stdout.fileno(), 0)
        gone = any(event & select.POLLERR for _, event in watched.poll(0))
    except (OSError, ValueError):  # it is not a descriptor
        return
    if gone:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
