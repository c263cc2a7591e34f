"""Dead letters, and messages for a table, are divided by size: what is measured, and each part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pubsub_delta.delivery import dead_letters, table_writes
from pubsub_delta.policy.ack_state import Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from tests.unit.builders import at


def divided(sizes: list[int]) -> tuple[list[int], list[int]]:
    """Return how many messages each part has, and how many were measured at a time."""
    measured: list[int] = []

    def byte_count(spans: list[Span]) -> int:
        measured.append(sum(map(len, spans)))
        return sum(sizes[position] for span in spans for position in span.positions)

    source: Any = SimpleNamespace(messages=SimpleNamespace(byte_count=byte_count))
    held = Positions.between(0, len(sizes) - 1)
    parts = dead_letters._parts(source, [Span(State.AVAILABLE, held, at(0), at(0))])
    in_order = [position for part in parts for position in part]
    assert in_order == list(range(len(sizes))), "each is in one part, the lowest first"
    return [len(part) for part in parts], measured


@pytest.mark.parametrize(
    ("most_bytes", "most_messages", "sizes", "parts", "measured"),
    [
        (1_000, 100, [500] * 8, [8], []),
        (1_000, 100, [100] * 30, [10, 10, 10], [8] + [2] * 11),
        (999, 100, [100] * 12, [8, 4], [8, 2, 2]),
        (1_000, 100, [125] * 9, [8, 1], [8, 1]),
        (1_000, 100, [126] * 9, [7, 2], [8, 4, 1, 1, 1, 1, 1]),
        (1_000, 100, [5_000] * 9, [1] * 9, [8, 4, 2] + [1] * 9),
        (16_000_000, 10_000, [0] * 300, [300], [8, 32, 128, 132]),
        (12, 10_000, [0] * 40, [40], [8, 24, 8]),
        (1_000, 16, [0] * 33, [16, 16, 1], [8, 4, 4, 4, 4, 4, 4, 1]),
        (1_000, 3, [0] * 10, [8, 2], [8, 1, 1]),
    ],
)
def test_parts_of_dead_letters_are_full_and_not_larger(
    most_bytes: int,
    most_messages: int,
    sizes: list[int],
    parts: list[int],
    measured: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_BYTES", most_bytes)
    monkeypatch.setattr(dead_letters, "MOST_MESSAGES", most_messages)
    assert divided(sizes) == (parts, measured)


def slice_of(count: int, size: int, fitting: int | None) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the positions that were reached, and the number and room of each read.

    ``fitting``: how many messages a read returns at most.
    """
    asked: list[tuple[int, int]] = []

    def receive(wanted: Positions, room: int) -> list[ReceivedMessage]:
        asked.append((len(wanted), room))
        made = [ReceivedMessage("", f"{n}", at(0), b"x" * size, {}, "", None) for n in wanted]
        return made[:fitting]

    held = Positions.between(0, count - 1)
    without = SimpleNamespace(positions=Positions())
    lease: Any = SimpleNamespace(positions=held, set_aside=without, receive=receive)
    messages, reached = table_writes.read_slice(lease)
    assert [int(each.message_id) for each in messages] == list(reached)
    return list(reached), asked


@pytest.mark.parametrize(
    ("count", "size", "fitting", "reached", "asked"),
    [
        (30, 100, None, 10, [(8, 1_000), (2, 200)]),
        (30, 150, None, 8, [(8, 1_000)]),
        (30, 120, None, 9, [(8, 1_000), (1, 40)]),
        (5, 100, None, 5, [(5, 1_000)]),
        (8, 100, None, 8, [(8, 1_000)]),
        (9, 0, None, 9, [(8, 1_000), (1, 1_000)]),
        (2_000, 0, None, 2_000, [(8, 1_000), (1_000, 1_000), (992, 1_000)]),
        (30, 125, None, 8, [(8, 1_000)]),
        (30, 100, 8, 10, [(8, 1_000), (2, 200)]),
        (30, 100, 7, 7, [(8, 1_000)]),
        (30, 60, 8, 17, [(8, 1_000), (8, 520), (1, 40)]),
        (30, 50, 8, 16, [(8, 1_000), (12, 600)]),
    ],
)
def test_a_slice_of_a_table_is_full_and_ends_where_a_read_does(
    count: int,
    size: int,
    fitting: int | None,
    reached: int,
    asked: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_writes, "SLICE_BYTES", 1_000)
    assert slice_of(count, size, fitting) == (list(range(reached)), asked)


def test_a_slice_reaches_what_was_set_aside_behind_its_last_message() -> None:
    def receive(wanted: Positions, room: int) -> list[ReceivedMessage]:
        told = wanted - Positions.of([7])
        return [ReceivedMessage("", f"{n}", at(0), b"x", {}, "", None) for n in told]

    aside = SimpleNamespace(positions=Positions.of([7]))
    held = Positions.between(0, 8)
    lease: Any = SimpleNamespace(positions=held, set_aside=aside, receive=receive)
    messages, reached = table_writes.read_slice(lease)
    assert ([int(each.message_id) for each in messages], reached) == ([*range(7), 8], held)
