"""Positions deduced from a topic's history, and when they cannot be."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.policy.positions import Positions
from pubsub_delta.server import numbering
from pubsub_delta.server.numbering import Numbering


@dataclass(frozen=True)
class Commit:
    version: int
    message_count: int = 0
    publish_id: str | None = None
    adds_messages: bool = False
    moves_messages: bool = False


CREATED = Commit(0)


def publish(version: int, count: int) -> Commit:
    return Commit(version, count, f"publish-{version}", adds_messages=True)


def vacuum(version: int) -> Commit:
    return Commit(version)


def optimize(version: int) -> Commit:
    return Commit(version, moves_messages=True)


def known(found: Numbering, commit: Commit) -> list[int] | None:
    positions = found.positions(commit)
    return None if positions is None else list(positions)


def test_a_topic_is_numbered_from_its_creation_on() -> None:
    found = Numbering()
    found.see([publish(2, 2), publish(1, 3), CREATED])
    assert known(found, publish(1, 3)) == [0, 1, 2]
    assert known(found, publish(2, 2)) == [3, 4]


def test_what_leaves_the_rows_alone_changes_nothing() -> None:
    found = Numbering()
    found.see([publish(2, 1), vacuum(1), CREATED])
    assert known(found, publish(2, 1)) == [0]


def test_after_an_optimize_nothing_is_known_until_a_publish_was_looked_up() -> None:
    # "OPTIMIZE leaves gaps"
    found = Numbering()
    found.see([publish(3, 1), optimize(2), publish(1, 2), CREATED])
    assert known(found, publish(3, 1)) is None
    found.learn(publish(3, 1), Positions.of([7]))
    found.see([publish(4, 2), publish(3, 1)])
    assert known(found, publish(4, 2)) == [8, 9]


def test_a_gap_in_what_is_seen_is_not_bridged() -> None:
    found = Numbering()
    found.see([publish(1, 1), CREATED])
    found.see([publish(3, 1)])
    assert known(found, publish(3, 1)) is None


def test_a_publish_of_unknown_size_ends_what_is_known() -> None:
    found = Numbering()
    found.see([publish(2, 1), publish(1, 0), CREATED])
    assert known(found, publish(2, 1)) is None


@pytest.mark.parametrize("count", [1, 5])
def test_positions_that_were_looked_up_must_be_all(count: int) -> None:
    found = Numbering()
    found.learn(publish(9, 3), Positions.between(10, 9 + count))
    assert known(found, publish(9, 3)) is None


def test_only_the_last_commits_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "REMEMBERED", 2)
    found = Numbering()
    found.see([publish(3, 1), publish(2, 1), publish(1, 1), CREATED])
    assert known(found, publish(1, 1)) is None
    assert known(found, publish(3, 1)) == [2]


@given(st.lists(st.tuples(st.sampled_from("pvo"), st.integers(1, 4)), max_size=20), st.data())
def test_what_is_deduced_is_what_delta_assigns(
    history: list[tuple[str, int]], data: st.DataObject
) -> None:
    commits, truth, end = [CREATED], {}, 0
    for version, (kind, count) in enumerate(history, start=1):
        if kind == "p":
            truth[version] = list(range(end, end + count))
            end += count
            commits.append(publish(version, count))
        else:
            end += 3 if kind == "o" else 0  # rewritten files take row ids, too
            commits.append(optimize(version) if kind == "o" else vacuum(version))
    found = Numbering()
    seen = 0
    while seen < len(commits):
        seen = data.draw(st.integers(seen + 1, len(commits)))
        first = data.draw(st.integers(0, seen - 1))
        found.see(list(reversed(commits[first:seen])))
        looked_up = commits[data.draw(st.integers(0, seen - 1))]
        if looked_up.version in truth:
            found.learn(looked_up, Positions.of(truth[looked_up.version]))
        for commit in commits[:seen]:
            if commit.version in truth:
                assert known(found, commit) in (None, truth[commit.version])
