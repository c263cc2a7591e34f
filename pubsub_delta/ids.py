"""Sequences of ids whose texts are made at their access."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import eq
from typing import Any, overload


class Ids(Sequence[str]):
    """A sequence of message or ack ids whose texts are made at their access.

    The result of a call on ten million messages therefore takes little memory.

    >>> ids = Ids(3, lambda: (str(n) for n in range(7, 10)))
    >>> len(ids), ids[-1], "8" in ids, ids == ["7", "8", "9"]
    (3, '9', True, True)
    """

    def __init__(self, count: int, make: Callable[[], Iterable[str]]) -> None:
        self._count = count
        self._make = make

    @classmethod
    def of(cls, ids: Iterable[str]) -> Ids:
        """Return a sequence of existing texts."""
        known = tuple(ids)
        return cls(len(known), lambda: known)

    @classmethod
    def chain(cls, parts: Iterable[Ids]) -> Ids:
        """Return the concatenation of sequences."""
        held = tuple(parts)
        return cls(sum(map(len, held)), lambda: (id_ for part in held for id_ in part))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self._make())

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(self)[index]
        if not -self._count <= index < self._count:
            raise IndexError(f"index {index} of {self._count} ids")
        return next(islice(self, index % self._count, None))

    def __reversed__(self) -> Iterator[str]:
        return reversed(tuple(self))

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return the first place of a text, in one pass; ValueError if it is not there."""
        within = range(self._count)[start:stop]
        for place, each in zip(within, islice(self, within.start, within.stop), strict=True):
            if each == value:
                return place
        raise ValueError(f"{value!r} is not among the ids")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, (str, bytes)):
            return len(self) == len(other) and all(map(eq, self, other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Ids.of, (tuple(self),)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 3)))
        return f"Ids([{shown}{', …' if self._count > 3 else ''}], count={self._count})"
