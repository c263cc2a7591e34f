"""What standard output and standard error do not take, as on a full disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pubsub_delta import FailedPrecondition


@contextmanager
def writing_stdout() -> Iterator[None]:
    """Raise FailedPrecondition if standard output takes nothing in the block.

    A disk may be full, or the encoding of a locale may lack a letter.
    """
    try:
        yield
    except BrokenPipeError:  # its reader has gone away: no error of anybody's
        raise
    except OSError as error:
        raise FailedPrecondition(
            f"standard output cannot be written: {os.strerror(error.errno or 0)}"
        ) from error
    except UnicodeEncodeError as error:
        raise FailedPrecondition(
            f"standard output cannot be written: its encoding, {error.encoding}, does not have "
            f"{error.object[error.start]!r}; a locale with UTF-8, or PYTHONIOENCODING=utf-8, is "
            "accepted"
        ) from error


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
