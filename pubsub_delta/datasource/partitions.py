"""Input partitions of a read: each has some positions, or some files, of a topic's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from pubsub_delta.policy.ack_state import Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.protocol import DataFile

PARTITION_BYTES = 16 * 1024 * 1024
"""The bytes of files that a partition has at most, about."""
MESSAGE_COST = 64
"""The cost of a message beside its bytes in a file."""


@dataclass(frozen=True)
class PackedSpan:
    """A span as it travels to a task."""

    positions: bytes
    publish_time_min: datetime
    publish_time_max: datetime
    state: str
    delivery_attempt: int

    @classmethod
    def of(cls, span: Span) -> PackedSpan:
        """Pack a span."""
        return cls(
            span.positions.to_bytes(),
            span.publish_time_min,
            span.publish_time_max,
            span.state.value,
            span.delivery_attempt,
        )

    def span(self) -> Span:
        """Return the span, with only the fields that a reader needs."""
        return Span(
            State(self.state),
            Positions.from_bytes(self.positions),
            self.publish_time_min,
            self.publish_time_max,
            delivery_attempt=self.delivery_attempt,
        )


@dataclass(frozen=True)
class SpansPartition:
    """Messages of spans, which are read in order.

    ``ack_prefix``: the beginning of their ack ids; None for a backlog, of whose messages some may
    be deleted. ``counted``: whether delivery attempts are shown.
    """

    table: str
    spans: tuple[PackedSpan, ...]
    ack_prefix: str | None
    counted: bool


@dataclass(frozen=True)
class FilesPartition:
    """Messages of some files of a topic, as of a version.

    ``positions``: the positions to read, as ``Positions`` packs them; None for all.
    """

    table: str
    version: int
    paths: tuple[str, ...]
    earliest: datetime | None = None
    latest: datetime | None = None
    positions: bytes | None = None
    ordering_keys: tuple[str, ...] | None = None


def spans_partitions(
    table: str,
    spans: Sequence[Span],
    files: Sequence[DataFile],
    *,
    ack_prefix: str | None,
    counted: bool,
    ordered: bool,
) -> list[SpansPartition]:
    """Return the partitions of spans, in order; one with ordering, so that all stay in order."""
    every = Positions.union(span.positions for span in spans)
    found = []
    for positions in [every] if ordered else divide(every, files):
        chosen = [part for span in spans if (part := span.only(positions))]
        packed = tuple(map(PackedSpan.of, chosen))
        found.append(SpansPartition(table, packed, ack_prefix, counted))
    return found


def divide(
    positions: Positions, files: Sequence[DataFile], most: int = PARTITION_BYTES
) -> list[Positions]:
    """Divide positions into runs that cost about the same to read.

    Runs end where a file begins, and within large files.

    >>> def file(first, last):
    ...     rows = last - first + 1
    ...     return DataFile(rows, 36 * rows, None, first, last, None, None)
    >>> divide(Positions.between(0, 299), [file(0, 99), file(100, 199), file(200, 299)], 20_000)
    [Positions(200: 0–199), Positions(100: 200–299)]
    """
    ends: list[int] = []
    cost = 0
    for file in sorted(files, key=lambda each: each.position_min or 0):
        first, last = file.position_min, file.position_max
        if first is None or last is None or not file.rows:
            return [positions] if positions else []
        held = positions.within(first, last)
        if not held:
            continue
        of_file = len(held) * MESSAGE_COST + file.size * len(held) // file.rows
        if cost and cost + of_file > most:
            ends.append(first)
            cost = 0
        pieces = min(-(-of_file // most), len(held))
        ends += [held.first(len(held) * each // pieces).max + 1 for each in range(1, pieces)]
        cost += of_file // pieces
    bounds = [0, *sorted(set(ends)), 2**63]
    parts = (positions.within(start, end - 1) for start, end in pairwise(bounds))
    return [part for part in parts if part]


def grouped(
    files: Sequence[tuple[str, int, int]], most: int = PARTITION_BYTES
) -> list[tuple[str, ...]]:
    """Group files (path, bytes, rows) so that the groups cost about the same to read.

    >>> grouped([("a", 6, 0), ("b", 3, 0), ("c", 3, 0)], most=10)
    [('a', 'b'), ('c',)]
    """
    parts: list[list[str]] = []
    cost = most
    for path, size, rows in files:
        of_file = size + rows * MESSAGE_COST
        if not parts or cost + of_file > most:
            parts.append([])
            cost = 0
        parts[-1].append(path)
        cost += of_file
    return [tuple(part) for part in parts]
