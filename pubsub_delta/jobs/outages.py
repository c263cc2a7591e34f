"""Tells by the texts of an error whether a storage is full, away or busy."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OUTAGE = re.compile(
    r"No space left on device|Disk quota exceeded|Too many open files|Input/output error"
    r"|java\.net\.(?:ConnectException|UnknownHostException|NoRouteToHostException"
    r"|SocketException|SocketTimeoutException)(?:: [^\n]*)?"
    r"|Unable to execute HTTP request[^\n]*|Status Code: (?:429|50[0234])[^\n]*"
    r"|ipc\.StandbyException[^\n]*"
)
"""What Spark says of a storage that is full, away or busy, somewhere among the causes."""


def outage_in(error: BaseException) -> str | None:
    """Return what an error or its causes say of a storage that is full, away or busy."""
    found = _OUTAGE.search("\n".join(_texts(error)))
    return None if found is None else found[0][:300]


def _texts(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield str(error)
        error = getattr(error, "_cause", None) or error.__cause__  # PySpark has causes of its own
