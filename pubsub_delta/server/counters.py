"""The counters of a server."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pubsub_delta.server.memory import Memory


@dataclass
class Counters:
    """Counts since the start of the server.

    ``requests``: by method and canonical code; ``pushes``: by the code of the response, or the
    reason without one. ``table_rows``: messages that were written to tables, ``table_failures``:
    deliveries whose message did not fit its table. ``memory``: of the messages that the server
    holds now.
    """

    published: int = 0
    publish_commits: int = 0
    delivered: int = 0
    acknowledged: int = 0
    expired: int = 0
    exchanges: int = 0
    failed_exchanges: int = 0
    open_streams: int = 0
    table_rows: int = 0
    table_failures: int = 0
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    pushes: Counter[str] = field(default_factory=Counter)
    memory: Memory = field(default_factory=Memory)
