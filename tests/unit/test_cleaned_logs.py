"""The log of a topic is cleaned: it keeps what somebody needs, and what it lost is not made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.message_queries import MessageQuery
from pubsub_delta.policy.spans import MAX_NEW_SPANS
from pubsub_delta.tables.ack_state import AckStates
from pubsub_delta.tables.messages.commits import Commit, new_commits
from pubsub_delta.tables.registry import Registry
from tests.model.memory import LAYOUT
from tests.unit.builders import DAY, MINUTE, at
from tests.unit.in_memory import NAME, TOPIC, InMemory
from tests.unit.test_races import another, clean_up, once


def test_the_rate_of_publishes_counts_no_time_that_the_log_does_not_have() -> None:
    """Messages a second in the last 10 minutes, as far as the log reaches back."""
    world = InMemory()
    world.publish("old", "and gone")
    world.be_at(MINUTE)
    world.publish("a", "b")
    world.driver.world.lane.cut_log(LAYOUT.messages(world.store.get_topic(TOPIC).uid))
    world.be_at(MINUTE + 5)
    assert world.driver.open().topic_metrics(TOPIC).publish_rate == 2 / 5


def test_a_search_after_a_version_that_the_log_has_forgotten_is_refused() -> None:
    """It would leave out messages whose commits are gone, and nobody would know."""
    world = InMemory()
    world.publish("a")
    topic = f"projects/local/topics/{TOPIC}"
    list((search := world.store.find_messages(topic)).messages())
    world.publish("b")
    world.publish("c")
    world.driver.world.lane.cut_log(LAYOUT.messages(world.store.get_topic(TOPIC).uid))
    query = MessageQuery(after_version=search.version)
    with pytest.raises(InvalidArgument, match="the topic's log begins after this version"):
        list(world.driver.open().find_messages(topic, query).messages())


def test_the_log_keeps_what_came_after_a_snapshot() -> None:
    world = InMemory()
    world.store.create_snapshot("before", NAME)
    world.publish("a")
    world.publish("b")
    world.ack("a", "b")
    world.be_at(2 * DAY)
    world.store.create_snapshot("later", NAME)  # of several, the one that needs most decides
    topic = f"projects/local/topics/{TOPIC}"
    assert topic not in world.store.maintain(log_retention="6h").forgotten
    world.store.seek(NAME, snapshot="before")
    assert world.backlog() == {"a": "available", "b": "available"}
    world.store.delete_snapshot("before")
    assert topic in world.store.maintain(log_retention="6h").forgotten
    assert world.backlog() == {"a": "available", "b": "available"}


@pytest.mark.parametrize("step", ["capture_snapshot", "remove_hidden_snapshot"])
def test_a_snapshot_that_comes_or_goes_needs_no_log_that_was_cut(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """While it does, all messages of its topic are needed; nothing is wrong, nor deleted."""
    world = InMemory()
    world.publish("a")
    world.publish("b")
    world.ack("a")
    world.be_at(MINUTE)
    world.driver.world.lane.cut_log(LAYOUT.messages(world.store.get_topic(TOPIC).uid))
    reports = []
    once(monkeypatch, Registry, step, lambda: reports.append(clean_up(world)), "before")
    world.store.create_snapshot("soon", NAME)
    another(world).delete_snapshot("soon")
    (report,) = reports
    assert (report.problems, report.discarded) == ({}, {})
    assert report.kept_from[f"projects/local/topics/{TOPIC}"] == at(0)
    assert world.stored() == ["a", "b"]


def test_the_log_keeps_what_a_snapshot_needs_that_is_taken_while_a_slow_maintain_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is old is decided again when the log is cleaned: on a slow machine minutes later."""
    world = InMemory()
    world.publish("a")
    world.publish("ab")
    world.be_at(2 * MINUTE)
    change = AckStates.change

    def slowly(states: AckStates, *args: Any) -> Any:
        monkeypatch.undo()
        done = change(states, *args)
        other = world.driver.open()
        other.create_snapshot("meanwhile", NAME)
        world.publish("b")
        world.publish("c")
        other.pull(NAME).ack()
        world.be_at(2 * MINUTE + 40)
        return done

    monkeypatch.setattr(AckStates, "change", slowly)
    report = world.store.maintain(
        dead_letters=False, expiration=False, retention=False, log_retention="1m"
    )
    topic = f"projects/local/topics/{TOPIC}"
    assert "over half of log_retention" in report.problems[topic]
    assert report.forgotten == {}
    world.store.seek(NAME, snapshot="meanwhile")
    assert set(world.backlog()) == {"a", "ab", "b", "c"}


def test_the_log_keeps_what_a_subscription_that_sleeps_has_not_seen() -> None:
    world = InMemory()
    world.publish("a")
    world.ack("a")
    world.publish("b")
    world.publish("c")
    world.be_at(2 * DAY)
    world.store.maintain(retention=False, log_retention="6h")
    assert world.backlog() == {"b": "available", "c": "available"}


def test_a_seek_to_a_time_divides_messages_whose_commits_the_log_has_forgotten() -> None:
    """A span has the messages of several publishes; which of them are earlier, the topic tells."""
    world = InMemory()
    for n in range(MAX_NEW_SPANS + 8):
        world.be_at(n * MINUTE)
        world.publish(str(n))
    world.pull()
    world.driver.world.lane.cut_log(LAYOUT.messages(world.store.get_topic(TOPIC).uid))
    store = world.driver.open()  # another process, which has read no earlier commits
    for n in range(1, MAX_NEW_SPANS + 8):
        store.seek(NAME, time=at(n * MINUTE))
        later = [str(each) for each in range(n, MAX_NEW_SPANS + 8)]
        assert [each.data for each in world.driver.pull(store, NAME, None)] == later


def test_what_an_operator_restores_makes_an_earlier_announcement_void() -> None:
    """ "what was announced before that is void": a seek to a time brings all of it back."""
    publish, announcement, restore = (
        Commit(version, None, None, 0, adds_messages=False, removes_messages=False)
        for version in (1, 2, 3)
    )
    announcement = replace(announcement, discards_before=at(9))
    restore = replace(restore, restores=True)
    assert new_commits([announcement, publish], 0).discards_before == at(9)
    assert new_commits([restore, announcement, publish], 0).discards_before is None


def test_nothing_is_deleted_where_the_log_has_forgotten_what_came_after_the_announcement() -> None:
    """A slow publisher's commit may be among those: its messages are older than it looks."""
    world = InMemory()
    world.publish("a")
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    version = messages.history.version()
    messages.announce_discard(at(9), "first")
    world.publish("b")
    world.be_at(10)
    world.publish("c")
    world.driver.world.lane.cut_log(messages.table)
    fresh = another(world).tables.messages(world.store.get_topic(TOPIC).uid)
    assert not fresh.discard_before(at(9), version, "first")
    assert world.stored() == ["a", "b", "c"]


def test_nothing_is_deleted_where_the_log_has_forgotten_what_came_after_a_snapshot() -> None:
    """Another tool has cut the log: nobody knows what a seek to the snapshot would bring."""
    world = InMemory()
    world.store.create_snapshot("before", NAME)
    world.publish("a")
    world.ack("a")
    world.be_at(DAY)
    world.publish("b")
    world.ack("b")
    world.driver.world.lane.cut_log(LAYOUT.messages(world.store.get_topic(TOPIC).uid))
    report = another(world).maintain(exact=True)
    assert "does not reach back to its snapshots" in str(report.problems)
    assert (report.discarded, world.stored()) == ({}, ["a", "b"])
