"""Retries a decision if a concurrent writer was faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    RetryError,
    Retrying,
    nap,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from pubsub_delta.errors import Aborted
from pubsub_delta.tables.lanes.protocol import Conflict

T = TypeVar("T")

ATTEMPTS = 100
"""Attempts at a change before it is Aborted.

In object storage there is no lock, and the last winner is faster than a loser, which must read: of
eight consumers one lost 25 races in a row.
"""


def repeat_on_conflict(
    attempt: Callable[[], T],
    what: str | Callable[[], str],
    sleep: Callable[[float], None] = nap.sleep,
) -> T:
    """Call a function until no concurrent writer is faster; Aborted after too many tries.

    ``what``: the name in the error, or a function that returns it.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(Conflict),
        wait=wait_random_exponential(multiplier=0.05, max=2),
        stop=stop_after_attempt(ATTEMPTS),
        sleep=sleep,
    )
    try:
        return retrying(attempt)
    except RetryError:
        named = what if isinstance(what, str) else what()
        raise Aborted(
            f"{named}: concurrent writers were faster {ATTEMPTS} times; "
            "nothing was written, and trying again is safe"
        ) from None
