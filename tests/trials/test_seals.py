"""Bitmaps as they are stored: every flipped bit is found."""

from __future__ import annotations

import random

import pytest
from pyroaring import BitMap64

from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.ack_state.rows import with_checksum, without_checksum

CHANCE = random.Random(1)
SETS = {
    "empty": Positions(),
    "one": Positions.of([5]),
    "a run": Positions.between(0, 99),
    "a run far out": Positions.between(2**33, 2**33 + 70_000),
    "scattered": Positions.of(CHANCE.sample(range(10**6), 500)),
    "scattered far out": Positions.of(CHANCE.sample(range(2**40), 50)),
}
each_set = pytest.mark.parametrize("positions", [pytest.param(v, id=k) for k, v in SETS.items()])


@each_set
def test_what_was_sealed_is_read(positions: Positions) -> None:
    assert without_checksum(with_checksum(positions)) == positions


@each_set
def test_readers_of_the_portable_format_pass_over_the_seal(positions: Positions) -> None:
    assert list(BitMap64.deserialize(with_checksum(positions))) == list(positions)


@each_set
def test_no_flipped_bit_goes_unnoticed(positions: Positions) -> None:
    data = with_checksum(positions)
    for bit in range(8 * len(data)):
        altered = bytearray(data)
        altered[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError):
            without_checksum(bytes(altered))


@each_set
def test_what_is_cut_off_is_noticed(positions: Positions) -> None:
    data = with_checksum(positions)
    for length in range(len(data)):
        with pytest.raises(ValueError):
            without_checksum(data[:length])
