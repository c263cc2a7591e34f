"""What ``as_of`` names: a version of a topic, or a time. On tables in memory."""

from __future__ import annotations

from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.operations.read import version_as_of
from pubsub_delta.tables.messages import commits
from tests.unit.builders import HOUR, MINUTE, at
from tests.unit.in_memory import NAME, TOPIC, InMemory


def as_of(world: InMemory, wanted: Any) -> int:
    return version_as_of(world.tables.messages(world.store.get_topic(TOPIC).uid), wanted)[0]


def published() -> InMemory:
    """Return a topic with a publish in version 1, and one in version 2."""
    world = InMemory()
    world.be_at(MINUTE)
    world.publish("a")
    world.be_at(HOUR)
    world.publish("b")
    return world


@pytest.mark.parametrize(
    ("seconds", "version"),
    [(0, 0), (MINUTE - 1, 0), (MINUTE, 1), (HOUR - 1, 1), (HOUR, 2), (HOUR + 1, 2)],
)
def test_a_time_selects_what_was_published_until_then(seconds: int, version: int) -> None:
    """The messages with a publish time until then, as stored before the first later publish."""
    assert as_of(published(), at(seconds)) == version


def test_a_time_between_two_microseconds_is_the_earlier_one() -> None:
    """ "The last moment of a range": what was published in the next microsecond is later."""
    world = published()
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    assert version_as_of(messages, "2026-01-01T00:00:00.000000999Z") == (0, at(0))


def test_every_version_that_there_is_can_be_read_and_no_other() -> None:
    world = published()
    assert [as_of(world, version) for version in range(3)] == [0, 1, 2]
    for wrong in (-1, 3, True, 1.0):
        with pytest.raises(InvalidArgument, match="a version from 0 to 2, is accepted"):
            as_of(world, wrong)


def test_a_time_is_found_in_a_topic_of_more_commits_than_are_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seek to a time: messages published before it become acked, those from it on unacked."""
    monkeypatch.setattr(commits, "_FEW", 3)
    world = InMemory()
    for second in range(8):
        world.be_at(second)
        world.publish(str(second))
    world.pull()  # so all of them are one span
    world.be_at(30)
    world.store.seek(NAME, time=world.now.replace(second=5))
    assert [each.data for each in world.pull()] == ["5", "6", "7"]
