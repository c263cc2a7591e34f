"""Where the messages of commits are stored: by statistics without a read, or up to a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.lanes.protocol import DataFile
from pubsub_delta.tables.messages.commits import NewCommits
from tests.unit.in_memory import TOPIC, InMemory


@pytest.fixture
def world() -> InMemory:
    made = InMemory()
    for number in range(3):
        made.be_at(60.0 * number)
        made.publish(f"{number}")
    return made


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_files_that_are_runs_of_positions_are_not_opened_in_whatever_order_the_log_has_them(
    world: InMemory, monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...]
) -> None:
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    publishes = [each for each in messages.history.commits_after(0).commits if each.adds_messages]
    stored = [each.first_position for each in publishes]
    files = [DataFile(1, 1, None, n, n, None, None) for n in (sorted(stored)[i] for i in order)]

    def opened(*_: Any) -> Any:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(messages._lane, "files", lambda _: files)
    monkeypatch.setattr(messages, "_fold", opened)
    unknown = [replace(each, dense=False) for each in publishes]
    found = messages.absorb(NewCommits(unknown, True, False))
    assert [each.positions for each in found] == [Positions.of([each]) for each in stored]


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("earliest", "before", "expected"),
    [(0, 1, 1), (0, 2, 2), (1, 2, 1), (None, 1, 1), (1, None, 2), (None, None, 3), (2, 2, 0)],
)
def test_what_was_published_at_the_end_of_a_time_is_not_absorbed(
    world: InMemory, is_complete: bool, earliest: int | None, before: int | None, expected: int
) -> None:
    """ "Only those published in [earliest, before)", whether or not the log tells them."""
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    new = messages.history.commits_after(0)
    times = sorted(each.publish_time for each in new.commits if each.publish_time is not None)
    bounds = [None if n is None else times[n] for n in (earliest, before)]
    found = messages.absorb(replace(new, is_complete=is_complete), None, *bounds)
    assert sum(len(each.positions) for each in found) == expected
