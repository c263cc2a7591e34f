"""The checker is not blind: histories made by hand, each with a violation, and what excuses it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.histories.stories import NAME, TOPIC, Story, leased

ALONE = ("checker", "answers", "deliveries", "effects", "records", "telling", "stories")


@pytest.mark.parametrize("module", ALONE)
def test_the_checker_shares_no_code_with_the_library(module: str) -> None:
    text = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("pubsub_delta") for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("pubsub_delta")


def test_a_message_that_is_published_pulled_and_acknowledged_breaks_nothing() -> None:
    story, ids = leased()
    story.ack(ids)
    story.end()
    assert story.violations() == {}


# Leases: "While leased a message is not delivered again."


def test_two_leases_of_a_message_at_one_time_are_found() -> None:
    story, _ = leased()
    story.pull("a")
    assert story.violations() == {"double lease": 1}


def test_a_message_twice_in_one_batch_is_found() -> None:
    story = Story()
    story.publish("a")
    story.pull("a", "a")
    assert story.violations()["double lease"] == 1


EXCUSES: dict[str, Callable[[Story, list[str]], object]] = {
    "its deadline": lambda story, ids: story.wait(10),
    "a nack": lambda story, ids: story.nack(ids),
    "a nack in doubt": lambda story, ids: story.nack(ids, ""),
    "a seek": lambda story, ids: story.seek(0),
    "a restore": lambda story, ids: story.restore(),
    "a shorter deadline": lambda story, ids: story.extend(ids, 1),
    "a clock ahead that has looked": lambda story, ids: story.op(
        "pull", {"messages": [], "until": 0}, subscription=NAME, clock=3600.0
    ),
}


@pytest.mark.parametrize("excuse", EXCUSES)
def test_a_lease_that_may_have_ended_is_no_double_lease(excuse: str) -> None:
    story, ids = leased()
    EXCUSES[excuse](story, ids)
    story.pull("a")
    assert "double lease" not in story.violations()


def test_an_extended_lease_is_not_over_at_its_first_deadline() -> None:
    story, ids = leased()
    story.extend(ids, 60)
    story.wait(20)
    story.pull("a")
    assert story.violations() == {"double lease": 1}


def test_a_lease_is_over_by_the_clock_of_whoever_looks() -> None:
    # "A lease ends early or late by as much as the clocks are apart."
    story, _ = leased()
    story.pull("a", clock=3600.0)
    assert story.violations() == {}
    behind, _ = leased()
    behind.wait(100)
    behind.pull("a", clock=-3600.0)
    assert behind.violations() == {"double lease": 1}


def test_an_ack_of_a_live_lease_succeeds() -> None:
    story, ids = leased()
    story.ack(ids, "expired")
    assert story.violations() == {"wrong outcome": 1}


def test_each_id_has_an_outcome() -> None:
    story, ids = leased()
    story.op("ack", {}, subscription=NAME, ids=ids)
    assert story.violations() == {"wrong outcome": 1}


# Acknowledgements: "none after a successful ack"


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_delivery_after_a_confirmed_ack_is_found(exactly_once: bool) -> None:
    story, ids = leased(exactly_once=exactly_once)
    story.ack(ids)
    story.pull("a")
    assert story.violations() == {"given again": 1}


def test_a_seek_or_a_restore_may_bring_an_acknowledged_message_back() -> None:
    back: list[Callable[[Story], object]] = [lambda s: s.seek(0), lambda s: s.restore()]
    for bring_back in back:
        story, ids = leased(retains=True)
        story.ack(ids)
        bring_back(story)
        story.pull("a")
        assert story.violations() == {}


def test_an_ack_in_doubt_excuses_both_outcomes() -> None:
    for comes_again in (False, True):
        story, ids = leased()
        story.ack(ids, "", by="q.0")
        story.kill("q.0")
        story.end(*(["a"] if comes_again else []))
        assert story.violations() == {}


def test_with_exactly_once_only_a_live_lease_is_acknowledged() -> None:
    story, ids = leased(exactly_once=True)
    story.wait(20)
    story.ack(ids)
    assert story.violations() == {"wrong outcome": 1}


def test_an_ack_id_from_before_a_seek_does_not_succeed() -> None:
    # "an ack id from before a seek never changes anything afterwards"
    story, ids = leased()
    story.seek(0)
    story.ack(ids)
    assert story.violations()["wrong outcome"] == 1
    story.end()
    assert story.violations()["lost"] == 1


# Losses: "every subscription that existed at publish time gets its own copy"


def test_a_message_that_never_comes_is_lost() -> None:
    story = Story()
    story.publish("a", "b")
    story.end("a")
    assert story.violations() == {"lost": 1}


def test_a_message_that_was_delivered_and_never_acknowledged_comes_again() -> None:
    story, _ = leased()
    story.end()
    assert story.violations() == {"lost": 1}


def test_a_publish_in_doubt_is_there_as_a_whole_or_not_at_all() -> None:
    for comes, found in ((), {}), (("a", "b"), {}), (("a",), {"lost": 1}):
        story = Story()
        story.publish("a", "b", told=False, by="q.0")
        story.kill("q.0")
        story.end(*comes)
        assert story.violations() == found


@pytest.mark.parametrize(("time", "lost"), [(0, 1), (1000, 0)])
def test_a_seek_to_a_time_takes_what_was_published_before_it(time: int, lost: int) -> None:
    story = Story()
    story.publish("a")
    story.seek(time)
    story.end()
    assert story.violations() == ({"lost": lost} if lost else {})


def test_what_a_seek_brought_back_is_lost_if_it_does_not_come() -> None:
    story, ids = leased(retains=True)
    story.ack(ids)
    story.seek(0)
    story.end()
    assert story.violations() == {"lost": 1}


def test_what_a_snapshot_holds_is_lost_if_retention_took_it() -> None:
    # "Nothing that a live snapshot may still deliver is ever deleted from the topic."
    story, ids = leased()
    story.snapshot()
    story.ack(ids)
    story.op("maintain", {"discarded": {TOPIC: 1}, "problems": {}})
    story.create("probe")
    story.seek_snapshot("probe")
    story.end(name="probe")
    assert story.violations() == {"lost": 1}


def test_what_was_acknowledged_before_a_snapshot_is_not_in_it() -> None:
    story, ids = leased()
    story.ack(ids)
    story.snapshot()
    story.create("probe")
    story.seek_snapshot("probe")
    story.end(name="probe")
    assert story.violations() == {}


def test_what_was_published_after_a_snapshot_is_in_it() -> None:
    story = Story()
    story.snapshot()
    story.publish("a")
    story.create("probe")
    story.seek_snapshot("probe")
    story.end(name="probe")
    assert story.violations() == {"lost": 1}


@pytest.mark.parametrize(("overlap", "lost"), [(True, 0), (False, 1)])
def test_a_seek_beside_a_deletion_may_have_been_one_of_the_subscription_before(
    overlap: bool, lost: int
) -> None:
    story = Story()
    story.snapshot()
    story.publish("a")
    began = story.time
    if overlap:
        story.seek_snapshot(lasts=3)
        story.time = began
    story.delete()
    story.create()
    if not overlap:
        story.seek_snapshot()
    story.end()
    assert story.violations() == ({"lost": lost} if lost else {})


def test_a_message_that_is_older_than_its_retention_may_go() -> None:
    story = Story(retention=600)
    story.publish("a")
    story.wait(700)
    story.end()
    assert story.violations() == {}
