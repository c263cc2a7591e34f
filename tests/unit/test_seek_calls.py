"""Seeks and snapshots as calls, on tables in memory: targets, topics, and what is captured."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.errors import DeadLetterWarning, FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.policy.ack_state import AckState, Span, State, union
from pubsub_delta.policy.positions import Positions
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import DAY, HOUR, MINUTE, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


def test_no_target_or_two_are_refused() -> None:
    """No target, or both → INVALID_ARGUMENT."""
    store = InMemory()
    store.publish("a")
    store.store.create_snapshot("before", NAME)
    with pytest.raises(InvalidArgument, match="both"):
        store.store.seek(NAME, time=at(1), snapshot="before")
    with pytest.raises(InvalidArgument, match="neither"):
        store.store.seek(NAME)
    assert store.backlog() == {"a": "available"}


def test_a_snapshot_with_less_than_an_hour_left_cannot_be_sought() -> None:
    """Less than 1 h left → FAILED_PRECONDITION, for creating it and for seeking to it."""
    store = InMemory()
    store.store.create_snapshot("before", NAME)
    store.be_at(7 * DAY - HOUR)
    store.store.seek(NAME, snapshot="before")
    store.be_at(7 * DAY - HOUR + 1)
    with pytest.raises(FailedPrecondition, match="an hour"):
        store.store.seek(NAME, snapshot="before")
    store.be_at(7 * DAY)
    with pytest.raises(NotFound, match="before"):
        store.store.seek(NAME, snapshot="before")


def test_a_snapshot_is_of_a_topic_and_not_of_its_name() -> None:
    """A new topic of the same name has nothing of the old one."""
    store = InMemory()
    store.publish("old")
    store.store.create_snapshot("before", NAME)
    store.store.delete_topic(TOPIC)
    store.store.create_topic(TOPIC)
    store.store.create_subscription("second", TOPIC)
    with pytest.raises(InvalidArgument, match="of another"):
        store.store.seek("second", snapshot="before")
    store.ack("old")
    store.store.seek(NAME, snapshot="before")
    assert store.backlog() == {"old": "available"}


def test_a_snapshot_holds_what_came_since_the_last_commit() -> None:
    """Holds what was unacked then: an expired lease and a new message are."""
    store = InMemory()
    store.publish("leased")
    store.pull()
    store.publish("new")
    store.be_at(10)
    store.store.create_snapshot("before", NAME)
    told = store.store.metrics("before", exact=True)
    assert (told["num_messages"], told["oldest_message_age"]) == (2, 10)
    store.store.seek(NAME, time=at(11))
    assert store.backlog() == {}
    store.store.seek(NAME, snapshot="before")
    assert store.backlog() == {"leased": "available", "new": "available"}


def test_a_snapshot_of_an_empty_backlog_holds_what_follows() -> None:
    store = InMemory()
    store.publish("a")
    store.ack("a")
    store.store.create_snapshot("after", NAME)
    store.publish("b")
    assert store.store.metrics("after", exact=True)["num_messages"] == 1
    store.store.seek(NAME, snapshot="after")
    assert store.backlog() == {"b": "available"}


def test_a_snapshot_is_as_old_as_its_oldest_message() -> None:
    """`expire_time` = creation + 7 d − age of the oldest unacked message."""
    store = InMemory()
    store.publish("a")
    store.be_at(HOUR)
    store.publish("b")
    store.be_at(2 * HOUR)
    store.pull()
    store.be_at(2 * HOUR + 10)  # what was leased together is together now
    assert store.backlog() == {"a": "available", "b": "available"}
    store.ack("a")
    store.be_at(3 * HOUR)
    snapshot = store.store.create_snapshot("before", NAME)
    assert snapshot.expire_time == at(3 * HOUR + 7 * DAY - 2 * HOUR)


def test_the_oldest_message_of_a_snapshot_can_be_in_any_span_that_reaches_back_as_far() -> None:
    """The publish times of a span include those of messages that are acknowledged by now."""
    store = InMemory()
    for minute, data in ((0, "a"), (30, "b"), (40, "c"), (50, "d")):
        store.be_at(minute * MINUTE)
        store.publish(data)
    store.ack("a")

    def united(state: AckState) -> AckState:
        of = {data: Positions.of([place]) for place, data in enumerate("abcd")}
        first = Span(State.AVAILABLE, of["c"], at(0), at(40 * MINUTE))
        second = Span(State.AVAILABLE, of["b"] | of["d"], at(30 * MINUTE), at(50 * MINUTE))
        assert union(state.unacked()) == first.positions | second.positions
        return replace(state, spans=(first, second))

    store.change(united)
    store.be_at(HOUR)
    snapshot = store.store.create_snapshot("before", NAME)
    assert snapshot.expire_time == at(HOUR + 7 * DAY - 30 * MINUTE)


def test_dead_letters_on_their_way_are_in_no_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are never delivered again, also not by a seek to a snapshot."""
    store = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    store.publish("a")
    for _ in range(5):
        store.store.modify_ack_deadline(NAME, [each.ack_id for each in store.pull()], 0)

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryLane, "append", full)
        with pytest.warns(DeadLetterWarning):
            store.pull()
    store.publish("b")
    store.store.create_snapshot("before", NAME)
    assert store.stored(LETTERS) == ["a"]
    assert store.store.metrics("before", exact=True)["num_messages"] == 1
    store.store.seek(NAME, snapshot="before")
    assert store.backlog() == {"b": "available"}


@pytest.mark.parametrize(
    ("of_source", "of_seeker", "expected"),
    [
        ("", "attributes:a", ["a", "both"]),
        ("attributes:b", "attributes:a", ["both"]),
        ("attributes:a", "", ["a", "both"]),
        ("attributes:a", "attributes:a", ["a", "both"]),
    ],
)
def test_the_seekers_filter_is_applied_to_what_a_snapshot_holds(
    of_source: str, of_seeker: str, expected: list[str]
) -> None:
    """From any subscription of the same topic, with the *seeker's* filter applied."""
    store = InMemory(filter=of_source)
    store.publish("a", attributes={"a": ""})
    store.publish("b", attributes={"b": ""})
    store.publish("both", attributes={"a": "", "b": ""})
    store.store.create_snapshot("before", NAME)
    store.store.create_subscription("second", TOPIC, filter=of_seeker)
    store.store.seek("second", snapshot="before")
    assert list(store.backlog("second")) == expected


def test_a_pending_purge_is_in_a_snapshot_and_in_its_metrics() -> None:
    """A snapshot copies the state as it is, a pending purge included."""
    store = InMemory()
    store.store.seek(NAME, time=at(MINUTE))
    store.store.create_snapshot("purged", NAME)
    store.publish("purged")
    store.be_at(MINUTE)
    store.publish("kept")
    assert store.store.metrics("purged", exact=True)["num_messages"] == 1
    store.store.seek(NAME, snapshot="purged")
    assert store.backlog() == {"kept": "available"}


def test_a_seek_brings_back_what_the_topic_retained_when_it_was_asked_for() -> None:
    """It restores any message while the topic's retention covers it."""
    store = InMemory()
    store.store.update_topic(TOPIC, message_retention_duration=timedelta(minutes=10))
    store.publish("a")
    store.ack("a")
    store.be_at(10 * MINUTE)
    store.store.seek(NAME, time=at(0))
    store.be_at(20 * MINUTE)
    assert store.backlog() == {"a": "available"}
