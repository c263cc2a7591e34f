"""An ack state is read back from its row as it was, and what is damaged is not read."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.ack_state import (
    AckState,
    Captured,
    Counters,
    Seek,
    Span,
    State,
    Stream,
)
from pubsub_delta.policy.metrics import metrics_of
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.ack_state.rows import (
    row_of_state,
    state_of_row,
    with_checksum,
    without_checksum,
)
from pubsub_delta.tables.schemas import ACK_STATE
from tests.unit.builders import at, available_span

LEASED = Span(State.LEASED, Positions.of([3, 4, 9]), at(1), at(2), 3, 4, 5, 4, until=at(6))
FORWARDING = replace(LEASED, state=State.FORWARDING, until=None, forward_to="1" * 32)
HELD = Captured((available_span([1, 2]),), after_version=7, floor=at(8), filter="attributes:a")
FULL = AckState(
    after_version=9,
    absorbed_below=10,
    next_lease_id=11,
    spans=(LEASED, FORWARDING),
    counters=Counters(12, 13, 14, 15),
    floor=at(16),
    first_lease_id=17,
    seeks=(
        Seek(at(18), 19, time=at(20), covered_from=at(21)),
        Seek(at(22), 23, captured=HELD),
    ),
    active_time=at(24),
    streams=(Stream("query", 25, 26, Positions.of([27])),),
)


def test_a_state_is_read_back_as_it_was() -> None:
    assert state_of_row(row_of_state(FULL), "a table") == FULL
    assert state_of_row(row_of_state(AckState(0)), "a table") == AckState(0)
    plain = AckState(0)
    same = [
        each.name
        for each in fields(AckState)
        if getattr(FULL, each.name) == getattr(plain, each.name)
    ]
    assert same == [], "a field that the test would not miss"


@pytest.mark.parametrize("bit", range(0, 8 * len(with_checksum(LEASED.positions)), 5))
def test_a_flipped_bit_of_a_bitmap_is_noticed(bit: int) -> None:
    data = bytearray(with_checksum(LEASED.positions))
    data[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ValueError):
        without_checksum(bytes(data))


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_bitmap_of_another_number_of_positions_is_data_loss(count: int) -> None:
    row = row_of_state(FULL)
    spans: list[dict[str, Any]] = row["spans"]
    spans[0]["message_count"] = count
    with pytest.raises(DataLoss, match="a table: a bitmap holds 3 positions"):
        state_of_row(row, "a table")


def test_a_bitmap_without_a_seal_is_not_read() -> None:
    with pytest.raises(ValueError, match="checksum cannot be read"):
        without_checksum(LEASED.positions.to_bytes())


def test_a_row_tells_its_metrics_in_columns_of_the_table() -> None:
    row = row_of_state(FULL)
    metrics = metrics_of(FULL)
    for name in (
        "num_undelivered_messages",
        "num_outstanding_messages",
        "oldest_unacked_publish_time",
    ):
        assert row[name] == getattr(metrics, name) != getattr(metrics_of(AckState(0)), name)
    assert {*row} <= {*ACK_STATE.columns.names}
