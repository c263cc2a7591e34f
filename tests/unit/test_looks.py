"""What looks at a topic have found is kept, and only later commits are read."""

from __future__ import annotations

import pytest

from pubsub_delta.policy.ack_state import Absorbed
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables import looks
from pubsub_delta.tables.history import Commit
from pubsub_delta.tables.looks import Looks
from tests.unit.builders import at


class Topic:
    """A topic in which each commit adds the message of its version."""

    def __init__(self) -> None:
        self.looks = Looks()
        self.read: list[list[int]] = []

    def look(self, newest: int, question: str = "all") -> list[int]:
        commits = [Commit(n, at(n), None, 1, True, False) for n in range(newest, 0, -1)]
        found = self.looks.added(question, 0, commits, self._absorb)
        return sorted(n for part in found for n in part.positions)

    def _absorb(self, after: int, commits: list[Commit]) -> list[Absorbed]:
        assert min(commit.version for commit in commits) == after + 1
        self.read.append([commit.version for commit in commits])
        return [Absorbed(Positions.of([c.version]), at(0), at(0)) for c in commits]


def test_a_look_reads_what_came_since_the_look_before() -> None:
    topic = Topic()
    assert [topic.look(2), topic.look(2), topic.look(4)] == [[1, 2], [1, 2], [1, 2, 3, 4]]
    assert topic.read == [[2, 1], [4, 3]]


def test_a_topic_that_was_put_back_is_read_anew() -> None:
    topic = Topic()
    assert [topic.look(3), topic.look(2)] == [[1, 2, 3], [1, 2]]


def test_another_question_has_answers_of_its_own() -> None:
    topic = Topic()
    assert topic.look(1) == topic.look(1, "with a filter") == [1]
    assert topic.read == [[1], [1]]


def test_the_looks_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound the one that is longest ago is forgotten."""
    monkeypatch.setattr(looks, "MOST_LOOKS", 2)
    topic = Topic()
    for question in ("a", "b", "a", "c", "a", "b"):
        topic.look(1, question)
    assert len(topic.read) == 4  # a, b, c, and b again
