"""The idempotency ID of a batch: from the ID of the run, and the value of the batch."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

LONGEST_ID = 256
"""The largest size of an application ID, in bytes."""


def batch_id(idempotency_id: str, column: str, value: str | bytes | None) -> tuple[str, int]:
    r"""Return the idempotency ID of the batch of one value; it does not depend on other values.

    Name and value are percent-encoded. A null has no ``=``. A digest shortens an ID that is too
    long.

    >>> batch_id("flights", "month", "3"), batch_id("flights", "month", None)
    (('flights/month=3', 0), ('flights/month', 0))
    >>> batch_id("flights", "city", "Köln"), batch_id("flights", "city", b"K\xf6ln")
    (('flights/city=K%C3%B6ln', 0), ('flights/city=K%F6ln', 0))
    >>> batch_id("flights", "carrier", "A=B/C")
    ('flights/carrier=A%3DB%2FC', 0)
    """
    id_ = f"{idempotency_id}/{quote(column, safe='')}"
    if value is not None:
        id_ += f"={quote(value, safe='')}"
    written = id_.encode()
    if len(written) > LONGEST_ID:
        ending = f"/sha256={hashlib.sha256(written).hexdigest()}"
        id_ = written[: LONGEST_ID - len(ending)].decode(errors="ignore") + ending
    return id_, 0
