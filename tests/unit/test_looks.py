"""What looks at a topic have found is kept, and only other publishes are read."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables import looks
from pubsub_delta.tables.history import Commit
from pubsub_delta.tables.looks import Looks
from tests.unit.builders import at


def publish(version: int, publish_id: str = "first") -> Commit:
    return Commit(version, at(version), publish_id, 1, True, False)


class Topic:
    """A topic in which each publish adds the message of its version; odd ones pass the filter."""

    def __init__(self) -> None:
        self.looks = Looks()
        self.read: list[list[int]] = []
        self.can_tell = True

    def look(self, versions: Iterable[int], question: str = "all", **of: str) -> list[int] | None:
        publishes = [publish(version, **of) for version in versions]
        found = self.looks.added(question, publishes, self._find)
        return None if found is None else sorted(n for part in found for n in part.positions)

    def _find(self, publishes: list[Commit]) -> dict[int, Absorbed] | None:
        versions = [each.version for each in publishes]
        self.read.append(versions)
        odd = {n: Absorbed(Positions.of([n]), at(n), at(n)) for n in versions if n % 2}
        return odd if self.can_tell else None


def test_a_look_reads_what_no_look_has_read_before() -> None:
    """Of whatever times: a preview of a replay to another time reads nothing twice."""
    topic = Topic()
    assert topic.look([4, 3]) == [3]
    assert topic.look([4]) == []
    assert topic.look([5, 4, 3, 2, 1]) == [1, 3, 5]
    assert topic.look([3, 2, 1]) == [1, 3]
    assert topic.read == [[4, 3], [5, 2, 1]]


def test_a_topic_that_was_put_back_is_read_anew() -> None:
    """Another commit may stand at the version of one that was read."""
    topic = Topic()
    topic.look([3])
    assert topic.look([3], publish_id="second") == [3]
    assert topic.read == [[3], [3]]


def test_another_question_has_answers_of_its_own() -> None:
    topic = Topic()
    assert topic.look([1]) == topic.look([1], "with a filter") == [1]
    assert topic.read == [[1], [1]]


def test_what_cannot_be_told_is_not_kept() -> None:
    topic = Topic()
    topic.can_tell = False
    assert topic.look([1]) is None
    topic.can_tell = True
    assert topic.look([1]) == [1]


def test_the_looks_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound the one that is longest ago is forgotten."""
    monkeypatch.setattr(looks, "MOST_LOOKS", 2)
    topic = Topic()
    for question in ("a", "b", "a", "c", "a", "b"):
        topic.look([1], question)
    assert len(topic.read) == 4  # a, b, c, and b again
