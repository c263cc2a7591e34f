"""Retries what a concurrent writer, or a storage that is away, kept from being written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from tenacity import (
    RetryCallState,
    RetryError,
    Retrying,
    nap,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_random_exponential,
)

from pubsub_delta.errors import Aborted, Unavailable
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


def repeat_in_time(
    attempt: Callable[[], T],
    total_timeout: timedelta,
    on_failure: Callable[[BaseException], object],
    sleep: Callable[[float], None] = nap.sleep,
) -> T:
    """Call a function until it has written, or ``total_timeout`` is over; then raise its error.

    Only after Aborted and Unavailable, where nothing was written, is it called again. Pub/Sub: its
    clients publish again so. ``on_failure``: called with each error after which it is.
    """

    def tell(state: RetryCallState) -> None:
        error = None if state.outcome is None else state.outcome.exception()
        assert error is not None
        on_failure(error)

    retrying = Retrying(
        retry=retry_if_exception_type((Aborted, Unavailable)),
        wait=wait_random_exponential(multiplier=0.1, max=10),
        stop=stop_after_delay(total_timeout),
        before_sleep=tell,
        sleep=sleep,
        reraise=True,
    )
    return retrying(attempt)
