"""The addresses by which ``deltalake`` opens tables."""

from __future__ import annotations

import re

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.layout import on_disk, path_of

_UNREACHABLE = re.compile(r"%[0-9A-Fa-f]{2}|[\[\]^|\\#?\x00-\x1f\x7f]")
"""Characters of a path that ``deltalake`` misreads, or that make it panic."""


_SCHEMES = frozenset({"file", "s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl"})
"""Schemes of storages that ``deltalake`` commits to atomically; Spark can use others."""


def reaches(path: str) -> bool:
    """Return whether ``deltalake`` can open a path or URL as it is written.

    >>> reaches("/data/pubsub"), reaches("/data/100%25"), reaches("dbfs:/pubsub")
    (True, False, False)
    """
    return _scheme(path) in _SCHEMES and _UNREACHABLE.search(path) is None


def _scheme(path: str) -> str:
    return path.split(":", 1)[0] if on_disk(path) is None else "file"


def address_of(table: str) -> str:
    """Return the path or URL by which ``deltalake`` opens a table; FailedPrecondition if none."""
    path = path_of(table)
    if path is None:
        raise FailedPrecondition(
            f"{table}: only Spark opens tables of a catalog; open the store with a session"
        )
    if _scheme(path) not in _SCHEMES:
        raise FailedPrecondition(
            f"{table}: the direct lane does not open storage of {_scheme(path)!r}; "
            f"{', '.join(sorted(_SCHEMES))} are accepted, and Spark's lane accepts what its "
            "session opens"
        )
    if not reaches(path):
        raise FailedPrecondition(
            f"{table}: deltalake cannot open this path: one without control characters, "
            r"percent-encoded letters and any of [ ] ^ | \ # ? is accepted, or Spark's lane"
        )
    local = on_disk(path)
    return path if local is None else local


def is_local(table: str) -> bool:
    """Return whether a table is on a disk of this machine."""
    return "://" not in address_of(table)
