"""Positions: an immutable set, held as a bitmap, against Python's own set."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.policy.positions import Positions

near = st.sets(st.integers(0, 40), max_size=30)
far = st.sets(
    st.one_of(st.integers(0, 200), st.integers(65_500, 65_600), st.integers(2**40, 2**40 + 9)),
    max_size=40,
)
farther = st.sets(st.integers(0, 200) | st.integers(2**20 - 9, 2**20 + 9), max_size=40)


@given(far, far)
def test_positions_behave_like_a_set(one: set[int], other: set[int]) -> None:
    a, b = Positions.of(one), Positions.of(other)
    assert set(a | b) == one | other
    assert set(a & b) == one & other
    assert set(a - b) == one - other
    assert set(Positions.union([a, b, a])) == one | other
    assert (a == b) == (one == other)
    assert (set(a), set(b)) == (one, other)  # neither was changed
    assert list(a) == sorted(one)
    assert len(a) == len(one)
    assert bool(a) == bool(one)


@given(far)
def test_equal_sets_have_equal_hashes(one: set[int]) -> None:
    again = Positions.from_bytes(Positions.of(one).to_bytes())
    assert again == Positions.of(one)
    assert hash(again) == hash(Positions.of(one))


@given(far)
def test_bounds_are_the_extremes(one: set[int]) -> None:
    found = Positions.of(one)
    if one:
        assert (found.min, found.max) == (min(one), max(one))
    assert all(each in found for each in one)
    assert 2**50 not in found


@given(farther, st.integers(-1, 50))
def test_first_takes_the_smallest(one: set[int], count: int) -> None:
    assert list(Positions.of(one).first(count)) == sorted(one)[: max(count, 0)]


def test_first_counts_across_the_32_bits_of_a_bitmap() -> None:
    found = Positions.of([7, 2**32 - 1, 2**32, 2**32 + 1])
    assert list(found.first(3)) == [7, 2**32 - 1, 2**32]


@given(near, st.integers(0, 10))
def test_runs_are_the_longest_stretches_of_neighbours(one: set[int], limit: int) -> None:
    runs = Positions.of(one).runs()
    assert [each for first, last in runs for each in range(first, last + 1)] == sorted(one)
    assert all(b[0] > a[1] + 1 for a, b in pairwise(runs))
    assert Positions.of(one).runs(limit) == runs[:limit]


@pytest.mark.parametrize("last", [0, 1, 62, 63, 64, 65_535, 65_536, 200_000, 2**33])
def test_a_long_run_is_found_whole(last: int) -> None:
    found = Positions.between(0, last) | Positions.of([last + 2])
    assert found.runs() == [(0, last), (last + 2, last + 2)]
    assert len(found) == last + 2


def test_between_includes_both_ends() -> None:
    assert list(Positions.between(3, 5)) == [3, 4, 5]
    assert list(Positions.between(3, 3)) == [3]
    assert not Positions.between(3, 2)


def test_the_union_of_nothing_is_empty() -> None:
    assert Positions.union([]) == Positions() == Positions.of([])


@given(st.integers(0, 2**40), st.binary(max_size=12))
def test_a_plain_bitmap_counts_from_its_lowest_bit(start: int, bits: bytes) -> None:
    expected = [
        start + 8 * place + bit
        for place, byte in enumerate(bits)
        for bit in range(8)
        if byte >> bit & 1
    ]
    assert list(Positions.from_bits(start, bits)) == expected


@given(st.sets(st.integers(0, 2**40), max_size=200), st.randoms(use_true_random=False))
def test_words_of_64_bits_are_read_in_any_order(positions: set[int], random: Random) -> None:
    words: dict[int, int] = {}
    for position in positions:
        words[position >> 6] = words.get(position >> 6, 0) | 1 << (position & 63)
    numbers = list(words)
    random.shuffle(numbers)
    bits = np.array([words[n] for n in numbers], np.uint64).view(np.int64)
    assert list(Positions.from_words(np.array(numbers, np.int64), bits)) == sorted(positions)


def test_more_words_than_are_read_at_a_time() -> None:
    numbers = np.arange(200_000)[::-1]
    found = Positions.from_words(numbers, np.full(200_000, -1))
    assert found == Positions.between(0, 64 * 200_000 - 1)


def test_a_contiguous_set_costs_a_few_bytes_for_every_65536_positions() -> None:
    # Ten million messages that are still leased must fit a row.
    assert len(Positions.between(0, 10_000_000).to_bytes()) < 20 * (10_000_000 / 65_536 + 1)


def test_what_is_no_position_is_not_equal_and_not_contained() -> None:
    assert Positions.of([1]) != {1}
    assert 2 not in Positions.of([1])


@pytest.mark.parametrize("position", [-1, 2**64])
def test_a_position_is_64_bits_and_not_negative(position: int) -> None:
    with pytest.raises(OverflowError):
        Positions.of([position])


@pytest.mark.parametrize("data", [b"x", Positions.of([1, 2, 2**40]).to_bytes()[:-1]])
def test_bytes_that_are_no_bitmap_are_refused(data: bytes) -> None:
    # "ValueError where the bytes are not that"
    with pytest.raises(ValueError, match="deserialize"):
        Positions.from_bytes(data)


def test_no_bytes_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="no bytes"):
        Positions.from_bytes(b"")


def test_the_repr_shows_the_first_runs() -> None:
    assert repr(Positions.of([1, 2, 3, 9])) == "Positions(4: 1–3, 9)"


def test_the_range_of_a_data_frame_is_never_made_a_set() -> None:
    """A DataFrame reserves 2³⁶ positions: as a set they take 100 MB, and 2⁵⁷ no memory."""
    stored = Positions.of([5, (1 << 36) + 1, 1 << 58])
    assert list(stored.within(0, 1 << 57)) == [5, (1 << 36) + 1]
    assert list(stored.first(2)) == [5, (1 << 36) + 1]
    assert list(stored.within(6, 7)) == []
    assert list(stored.within(1 << 58, 1 << 59)) == [1 << 58]


def test_a_range_leaves_out_what_is_before_it_and_after_it() -> None:
    # "the positions from first to last, both included"
    found = Positions.of([0, 1, 5, 9, 10])
    assert list(found.within(1, 9)) == [1, 5, 9]
    assert list(found.within(2, 9)) == [5, 9]
    assert list(found.within(0, 0)) == list(found.within(-9, 0)) == [0]
    assert list(found.within(-9, -2)) == []


def test_of_many_scattered_positions_each_is_told_from_its_neighbours() -> None:
    found = Positions.of(range(0, 400, 4))  # more runs than are compared one by one
    asked = np.array([396, 1, 0, 397, 8, 400])
    assert found.holds(asked).tolist() == [True, False, True, False, True, False]


def test_however_many_plain_bitmaps_there_are_none_is_left_out() -> None:
    parts = list(Positions.of(range(0, 8 * 3_000, 8)).bits_by(8))
    assert [n for numbers, _ in parts for n in numbers.tolist()] == list(range(3_000))
    assert {bit for _, bits in parts for bit in bits.tolist()} == {1}


def test_the_last_position_of_every_plain_bitmap_is_in_it() -> None:
    """Some bitmaps are made at a time; the last one of those is whole, too."""
    parts = list(Positions.of(range(7, 8 * 3_000, 8)).bits_by(8))
    assert [bit for _, bits in parts for bit in bits.tolist()] == [0x80] * 3_000


def test_positions_that_are_all_missing_are_held_by_no_set_of_many_runs() -> None:
    many = Positions.of(range(0, 10_000, 2))
    assert many.holds(np.array([1, 3, 9_999])).tolist() == [False] * 3
    assert many.holds(np.array([1, 4, 9_999])).tolist() == [False, True, False]
