"""Sets of message positions, as compressed bitmaps."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np
from pyroaring import BitMap64

_BITMAPS_AT_A_TIME = 1024
_WORDS_AT_A_TIME = 65_536
_FEW_RUNS = 32


class Positions:
    """An immutable set of message positions (64-bit, not negative).

    A contiguous set takes a few bytes per 65,536 positions. A scattered one takes about two bytes a
    position, and at most an eighth of a byte for each position of its range.

    >>> leased = Positions.between(0, 9) - Positions.of([3])
    >>> len(leased), 3 in leased, leased.first(4).runs()
    (9, False, [(0, 2), (4, 4)])
    """

    __slots__ = ("_bitmap",)

    def __init__(self, bitmap: BitMap64 | None = None) -> None:
        self._bitmap = BitMap64() if bitmap is None else bitmap

    @classmethod
    def of(cls, positions: Iterable[int]) -> Positions:
        """Return the set of the given positions."""
        return cls(BitMap64(positions))

    @classmethod
    def between(cls, first: int, last: int) -> Positions:
        """Return the contiguous set from first to last, both included."""
        bitmap = BitMap64()
        bitmap.add_range(first, last + 1)
        return cls(bitmap)

    @classmethod
    def from_bits(cls, start: int, bits: bytes) -> Positions:
        """Read a plain bitmap; the lowest bit of its first byte is the position ``start``.

        >>> Positions.from_bits(100, bytes([0b101])).runs()
        [(100, 100), (102, 102)]
        """
        return cls._of_sorted(_places(np.frombuffer(bits, np.uint8)) + start)

    @classmethod
    def from_array(cls, positions: np.ndarray) -> Positions:
        """Return the set of the positions in an array of whole numbers, in any order.

        >>> Positions.from_array(np.array([3, 1, 2])).runs()
        [(1, 3)]
        """
        return cls._of_sorted(positions)

    @classmethod
    def from_words(cls, numbers: np.ndarray, bits: np.ndarray) -> Positions:
        """Read words of 64 bits, in any order; the lowest bit of word n is position 64 · n.

        >>> Positions.from_words(np.array([3, 0]), np.array([0b11, 0b100])).runs()
        [(2, 2), (192, 193)]
        """
        order = np.argsort(numbers)
        return cls.union(
            cls._of_some_words(numbers[part], bits[part])
            for part in np.array_split(order, len(order) // _WORDS_AT_A_TIME + 1)
        )

    @classmethod
    def _of_some_words(cls, numbers: np.ndarray, bits: np.ndarray) -> Positions:
        places = _places(bits.view(np.uint8))
        return cls._of_sorted((numbers[places >> 6] << 6) + (places & 63))

    @classmethod
    def _of_sorted(cls, positions: np.ndarray) -> Positions:
        return cls(BitMap64(array("Q", positions.astype(np.uint64).tobytes())))

    @classmethod
    def union(cls, sets: Iterable[Positions]) -> Positions:
        """Return every position that is in at least one of the sets."""
        return cls(BitMap64().union(*(each._bitmap for each in sets)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Positions:
        """Read the portable 64-bit roaring format; ValueError for other bytes."""
        if not data:
            raise ValueError("no bytes: not a bitmap")
        return cls(BitMap64.deserialize(bytes(data)))

    def to_bytes(self) -> bytes:
        """Write the portable 64-bit roaring format, runs compressed."""
        self._bitmap.run_optimize()
        return bytes(self._bitmap.serialize())

    def bits_by(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield plain bitmaps of ``size`` positions each, some at a time: their numbers, and bits.

        Bitmap n begins at position n · size, with the lowest bit of its first byte.

        >>> [(n.tolist(), bits.tolist()) for n, bits in Positions.of([0, 9, 17]).bits_by(8)]
        [([0, 1, 2], [1, 2, 2])]
        """
        positions = np.frombuffer(self._bitmap.to_array(), np.uint64)
        numbers = np.unique(positions // size)
        for start in range(0, len(numbers), _BITMAPS_AT_A_TIME):
            chosen = numbers[start : start + _BITMAPS_AT_A_TIME]
            first, last = np.searchsorted(positions, [chosen[0] * size, (chosen[-1] + 1) * size])
            part = positions[first:last]
            unpacked = np.zeros(len(chosen) * size, np.uint8)
            unpacked[np.searchsorted(chosen, part // size) * size + (part % size).astype(int)] = 1
            yield chosen, np.packbits(unpacked, bitorder="little")

    def __len__(self) -> int:
        return len(self._bitmap)

    def __iter__(self) -> Iterator[int]:
        return iter(self._bitmap)

    def __contains__(self, position: int) -> bool:
        return position in self._bitmap

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Positions):
            return NotImplemented
        return bool(self._bitmap == other._bitmap)

    def __hash__(self) -> int:
        return hash((len(self), self.min if self else -1, self.max if self else -1))

    def __or__(self, other: Positions) -> Positions:
        return Positions(self._bitmap | other._bitmap)

    def __and__(self, other: Positions) -> Positions:
        return Positions(self._bitmap & other._bitmap)

    def __sub__(self, other: Positions) -> Positions:
        return Positions(self._bitmap - other._bitmap)

    @property
    def min(self) -> int:
        """The smallest position; the set must not be empty."""
        return int(self._bitmap.min())

    @property
    def max(self) -> int:
        """The largest position; the set must not be empty."""
        return int(self._bitmap.max())

    def meets(self, first: int, last: int) -> bool:
        """Return whether the set has a position from first to last, both included.

        >>> Positions.of([3, 9]).meets(4, 8), Positions.of([3, 9]).meets(4, 9)
        (False, True)
        """
        if not self or first > self.max:
            return False
        return int(self._bitmap.next_set_bit(max(first, 0))) <= last

    def holds(self, positions: np.ndarray) -> np.ndarray:
        """Return for each number of an array whether it is in the set.

        The cost depends on the array, not on the set.

        >>> Positions.of([3, 9]).holds(np.array([9, 4, 3, 9])).tolist()
        [True, False, True, True]
        """
        if not self or not len(positions):
            return np.zeros(len(positions), bool)
        runs = self.runs(limit=_FEW_RUNS + 1)
        if len(runs) <= _FEW_RUNS:
            firsts, lasts = np.array(runs, np.int64).T
            run = np.searchsorted(firsts, positions, "right") - 1
            return np.asarray((run >= 0) & (positions <= lasts[run]))
        asked = Positions.from_array(positions) & self
        found = np.frombuffer(asked._bitmap.to_array(), np.uint64).astype(np.int64)
        if not len(found):
            return np.zeros(len(positions), bool)
        places = np.minimum(np.searchsorted(found, positions), len(found) - 1)
        return np.asarray(found[places] == positions)

    def first(self, count: int) -> Positions:
        """Return the ``count`` smallest positions, or all if there are fewer."""
        if count >= len(self):
            return self
        if count <= 0:
            return Positions()
        return self.within(self.min, int(self._bitmap[count - 1]))

    def within(self, first: int, last: int) -> Positions:
        """Return the positions of the set from first to last, both included.

        >>> Positions.of([1, 5, 9]).within(2, 1 << 60).runs()
        [(5, 5), (9, 9)]
        """
        if not self or (first <= self.min and self.max <= last):
            return self
        # A range as a set takes some bytes for each 65,536 positions, and DataFrames get long ones.
        # Nothing is removed outside of the range if the set has no position there.
        bitmap = BitMap64(self._bitmap)
        bitmap.remove_range(0, max(first, 0))
        bitmap.remove_range(max(last, -1) + 1, self.max + 1)
        return Positions(bitmap)

    def runs(self, limit: int | None = None) -> list[tuple[int, int]]:
        """Return the first ``limit`` runs of neighbouring positions, as (first, last)."""
        found: list[tuple[int, int]] = []
        start = self._bitmap.next_set_bit(0) if self else None
        while start is not None and (limit is None or len(found) < limit):
            last = self._last_of_run(start)
            found.append((start, last))
            start = self._bitmap.next_set_bit(last + 1) if last < self.max else None
        return found

    def _last_of_run(self, start: int) -> int:
        """Find the end of the run that begins at start, doubling the step, then halving it."""
        good, step = start, 1
        while self._bitmap.contains_range(start, good + step + 1):
            good, step = good + step, step * 2
        while step:
            if self._bitmap.contains_range(start, good + step + 1):
                good += step
            step //= 2
        return good

    def __repr__(self) -> str:
        shown = ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in self.runs(limit=4))
        return f"Positions({len(self)}: {shown})"


def _places(bits: np.ndarray) -> np.ndarray:
    """Return the numbers of the bits that are set, from the lowest one of the first byte."""
    return np.flatnonzero(np.unpackbits(bits, bitorder="little").view(bool))
