"""The protocol of scans: questions about a topic that take a read of its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from pubsub_delta.clock import end_of_day, start_of_day
from pubsub_delta.policy.ack_state import Absorbed, Span, union
from pubsub_delta.policy.filter_terms import Filter
from pubsub_delta.policy.positions import Positions


@dataclass(frozen=True)
class Window:
    """The messages of a scan: those of some positions, published between two times.

    None for unrestricted positions, or an unrestricted time. Both times are included.
    """

    positions: Positions | None = None
    earliest: datetime | None = None
    latest: datetime | None = None

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Window:
        """Return the window of the messages of at least one span."""
        return cls(
            union(spans),
            min(span.publish_time_min for span in spans),
            max(span.publish_time_max for span in spans),
        )

    def on_whole_days(self) -> Window:
        """Return the window with the whole days of its times, in UTC: those of the partitions.

        Where the positions tell which messages are meant, a scan need not read their times.
        """
        return Window(
            self.positions,
            None if self.earliest is None else start_of_day(self.earliest),
            None if self.latest is None else end_of_day(self.latest),
        )


class Scans(Protocol):
    """Reads the messages of topics.

    A table has its name in SQL (``layout``). Every method raises TableMissing if the table does not
    exist, DataLoss if it is damaged.
    """

    def fold(self, table: str, window: Window, filter_: Filter | None = None) -> Positions:
        """Return the stored messages of a window that pass a filter."""

    def parts(self, table: str, window: Window) -> list[Absorbed]:
        """Return the messages of a window in parts of neighbouring positions, with their times."""

    def of_same_keys(self, table: str, of: Window, among: Window) -> Positions:
        """Return the messages of ``among`` whose ordering key is that of a message of ``of``.

        A message without a key (null or empty) shares it with none.
        """

    def followers(self, table: str, of: Window, among: Window) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""

    def rows(self, table: str, window: Window, columns: Sequence[str]) -> pa.Table:
        """Return some columns of the messages of a window, ordered by position."""

    def batches(
        self, table: str, window: Window, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield what ``rows`` returns in parts, so that it need not fit into memory."""

    def count(self, table: str, window: Window) -> tuple[int, datetime | None]:
        """Return how many messages a window holds, and the earliest publish time among them."""

    def byte_count(self, table: str, window: Window) -> int:
        """Return the bytes of data, attributes (keys and values) and ordering keys of a window."""
