"""The checker is not blind: histories made by hand, each with a violation, and what excuses it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.histories.stories import NAME, TOPIC, Story

ALONE = ("checker", "answers", "deliveries", "effects", "records", "telling", "stories")


@pytest.mark.parametrize("module", ALONE)
def test_the_checker_shares_no_code_with_the_library(module: str) -> None:
    text = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("pubsub_delta") for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("pubsub_delta")


def leased(**fields: bool) -> tuple[Story, list[str]]:
    """Return a story in which somebody holds ``a`` for ten seconds."""
    story = Story(**fields)
    story.publish("a")
    return story, story.pull("a")


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


def test_a_message_that_is_older_than_its_retention_may_go() -> None:
    story = Story(retention=600)
    story.publish("a")
    story.wait(700)
    story.end()
    assert story.violations() == {}


# Order: "While a key has leased or backing-off messages, pull returns none of that key"


def ordered(**more: bool) -> Story:
    story = Story(ordered=True, **more)
    story.publish("a", key="k")
    story.publish("b", key="k")
    return story


def test_a_later_message_of_a_key_before_an_earlier_one_is_found() -> None:
    story = ordered()
    story.pull("b")
    assert story.violations() == {"out of order": 1}


def test_the_order_within_a_batch_counts() -> None:
    story = ordered()
    story.pull("b", "a")
    assert story.violations() == {"out of order": 1}
    right = ordered()
    right.pull("a", "b")
    assert right.violations() == {}


def test_a_key_gives_nothing_while_an_earlier_message_is_held() -> None:
    story = ordered()
    ids = story.pull("a")
    story.pull("b")
    assert story.violations() == {"out of order": 1}
    right = ordered()
    right.ack(right.pull("a"))
    right.pull("b")
    assert ids
    assert right.violations() == {}


def test_other_keys_are_not_in_any_order() -> None:
    story = Story(ordered=True)
    story.publish("a", key="k")
    story.publish("b", key="l")
    story.publish("c")
    story.pull("c")
    story.pull("b")
    assert story.violations() == {}


@pytest.mark.parametrize("exactly_once", [False, True])
def test_an_acknowledged_follower_returns_unless_its_ack_is_final(exactly_once: bool) -> None:
    # "Later messages already acked return too, except with exactly-once"
    story = ordered(exactly_once=exactly_once)
    a, b = story.pull("a", "b")
    story.ack([b])
    story.nack([a])
    story.pull("a", "b")
    assert story.violations() == ({"given again": 1} if exactly_once else {})


# Names that are used again


def test_an_ack_of_a_deleted_subscription_is_invalid() -> None:
    story, ids = leased()
    story.delete()
    story.create()
    story.ack(ids)
    assert story.violations() == {"another life": 1}
    right, ids = leased()
    right.delete()
    right.create()
    right.ack(ids, "invalid")
    assert right.violations() == {}


def test_a_new_subscription_has_nothing_from_before_it() -> None:
    story = Story()
    story.publish("a")
    story.delete()
    story.create()
    story.pull("a")
    assert story.violations() == {"from before": 1}


def test_a_message_of_another_topic_or_of_nobody_is_found() -> None:
    story = Story()
    story.pull("z")
    assert story.violations() == {"never published": 1}
    deleted = Story()
    deleted.publish("a")
    deleted.op("delete_topic", {}, topic=TOPIC)
    deleted.op("create_topic", {"uid": "another"}, topic=TOPIC)
    deleted.create("other")
    deleted.pull("a", name="other")
    assert deleted.violations()["of another topic"] == 1


def test_what_was_created_is_listed_and_what_was_deleted_is_not() -> None:
    story = Story()
    story.op("list_subscriptions", {"names": []})
    assert story.violations() == {"lost resource": 1}
    story = Story()
    story.delete()
    story.op("list_subscriptions", {"names": [NAME]})
    assert story.violations() == {"deleted, and there": 1}


# Ids, letters and errors


def test_a_message_under_two_ids_is_found() -> None:
    story = Story()
    story.publish("a")
    story.pull("a", ids={"a": "99"})
    assert story.violations() == {"published twice": 1}


def test_a_message_comes_as_it_was_published() -> None:
    story = Story()
    story.publish("a")
    story.times["a"] += 1
    story.pull("a")
    assert story.violations() == {"another message": 1}


def failed(times: int) -> Story:
    story = Story(attempts=5)
    story.publish("a")
    for _ in range(times):
        story.nack(story.pull("a"))
    return story


def test_a_dead_letter_is_forwarded_once_and_not_early() -> None:
    story = failed(5)
    story.pull("a", name="undertaker", source=NAME, ids={"a": "70"})
    story.end()
    assert story.violations() == {}
    early = failed(3)
    early.pull("a", name="undertaker", source=NAME, ids={"a": "70"})
    assert early.violations() == {"forwarded early": 1}
    twice = failed(5)
    for number in ("70", "71"):
        twice.pull("a", name="undertaker", source=NAME, ids={"a": number})
        twice.wait(20)
    assert twice.violations() == {"forwarded twice": 1}


def test_a_dead_letter_that_arrives_nowhere_is_lost() -> None:
    story = failed(5)
    story.end()
    assert story.violations() == {"lost": 1}


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("pull", "DataLoss", "messages are missing"),
        ("pull", "NotFound", "subscription does not exist"),
        ("pull", "KeyError", "'x'"),
        ("create_subscription", "AlreadyExists", "exists already"),
    ],
)
def test_an_error_that_nothing_explains_is_found(kind: str, error: str, text: str) -> None:
    story = Story()
    name = "other" if kind.startswith("create") else NAME
    story.op(kind, error=error, text=text, subscription=name, topic=TOPIC)
    assert story.violations() == {"unexplained error": 1}


def test_errors_that_others_explain_are_none_of_the_stores() -> None:
    story = Story()
    story.op("pull", error="Aborted", text="others wrote", subscription=NAME)
    story.op("create_subscription", error="AlreadyExists", subscription=NAME, topic=TOPIC)
    story.delete()
    story.op("pull", error="NotFound", text="does not exist", subscription=NAME)
    assert story.violations() == {}


def test_maintenance_that_fails_for_no_reason_is_found() -> None:
    story = Story()
    story.op("maintain", {"discarded": {}, "problems": {TOPIC: "KeyError: 'x'"}})
    assert story.violations() == {"unexplained error": 1}


def test_what_is_left_after_the_drain_and_who_does_not_end_is_told() -> None:
    story = Story()
    story.op("drained", {"left": 2}, subscription=NAME)
    story.lines.append({"event": "hung", "process": "a.0", "at": 0})
    assert story.violations() == {"left over": 1, "hung": 1}
