"""What standard output and standard error have not taken when a process ends."""

from __future__ import annotations

import os
import sys


def drop_unwritten() -> None:
    """Drop what the standard streams do not take, as on a full disk.

    Else Python tries once more when it exits, and the exit code is 120 whatever was done.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
