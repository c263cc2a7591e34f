"""What makes a batch of an input known again: the id of the run, and the value that it is of."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

LONGEST_ID = 256
"""Bytes of an application id, as ``publish`` takes it."""


def batch_id(idempotency_id: str, column: str, value: str | None) -> tuple[str, int]:
    """Return the idempotency id of the batch of one value, whatever other values there are.

    Name and value are quoted as in a URL. A null has no ``=``. An id that would be too long ends
    with its digest.

    >>> batch_id("flights", "month", "3"), batch_id("flights", "month", None)
    (('flights/month=3', 0), ('flights/month', 0))
    >>> batch_id("flights", "carrier", "A=B/C")
    ('flights/carrier=A%3DB%2FC', 0)
    """
    told = f"{idempotency_id}/{quote(column, safe='')}"
    if value is not None:
        told += f"={quote(value, safe='')}"
    written = told.encode()
    if len(written) > LONGEST_ID:
        ending = f"/sha256={hashlib.sha256(written).hexdigest()}"
        told = written[: LONGEST_ID - len(ending)].decode(errors="ignore") + ending
    return told, 0
