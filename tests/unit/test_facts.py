"""Facts about a table's past, which no commit changes: they are found out once."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pubsub_delta.tables import remembered
from pubsub_delta.tables.remembered import Remembered


class Squares:
    """Tells the squares of numbers, and which ones it was asked for."""

    def __init__(self) -> None:
        self.remembered = Remembered(cast(Any, None))
        self.asked: list[list[int]] = []

    def of(self, *numbers: int, table: str = "table") -> dict[int, int]:
        def find(unknown: list[int]) -> dict[int, int]:
            self.asked.append(unknown)
            return {number: number**2 for number in unknown if number >= 0}

        return self.remembered.facts(table, numbers, find)


def test_only_what_is_not_known_is_found_out_and_all_of_it_together() -> None:
    squares = Squares()
    assert squares.of(1, 2) == {1: 1, 2: 4}
    assert squares.of(2, 3, 4) == {2: 4, 3: 9, 4: 16}
    assert squares.of(1, 4) == {1: 1, 4: 16}
    assert squares.asked == [[1, 2], [3, 4]]


def test_facts_are_those_of_their_table() -> None:
    squares = Squares()
    assert squares.of(5) == squares.of(5, table="another") == {5: 25}
    assert squares.asked == [[5], [5]]


def test_what_could_not_be_found_out_is_asked_for_again() -> None:
    squares = Squares()
    assert squares.of(-1, 1) == {1: 1}
    assert squares.of(-1, 1) == {1: 1}
    assert squares.asked == [[-1, 1], [-1]]


def test_the_facts_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound the one that was found out first is forgotten."""
    monkeypatch.setattr(remembered, "MOST_FACTS", 2)
    squares = Squares()
    assert squares.of(1, 2, 3) == {1: 1, 2: 4, 3: 9}
    assert squares.of(2, 3) == {2: 4, 3: 9}
    assert squares.of(1) == {1: 1}
    assert squares.asked == [[1, 2, 3], [1]]
