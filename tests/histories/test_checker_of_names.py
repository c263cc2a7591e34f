"""The checker is not blind: order, names that are used again, ids, dead letters and errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.histories.stories import NAME, TOPIC, Story, leased

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


@pytest.mark.parametrize(("disk", "found"), [(True, 0), (False, 2)])
def test_a_snapshot_that_failed_on_a_full_disk_may_keep_its_name(disk: bool, found: int) -> None:
    # "a call that was killed, or whose storage failed, keeps the name for 10 minutes"
    story = Story()
    if disk:
        story.world["disk"] = 1
    full = "No space left on device"
    asked: dict[str, Any] = {"snapshot": "noon", "subscription": NAME}
    story.op("create_snapshot", error="Unavailable", text=full, **asked)
    story.op("create_snapshot", error="AlreadyExists", text="exists already", **asked)
    assert story.violations().get("unexplained error", 0) == found


@pytest.mark.parametrize(("sought", "found"), [(NAME, {}), ("other", {"unexplained error": 1})])
def test_a_seek_beside_a_pull_may_end_what_that_has_leased(
    sought: str, found: dict[str, int]
) -> None:
    story = Story()
    over = "2 of the messages of this batch are not leased by it any more"
    story.op("pull", error="FailedPrecondition", text=over, lasts=5, subscription=NAME)
    story.time -= 3
    story.op("seek_time", {}, subscription=sought, time=0, by="q.0")
    story.wait(20)
    assert story.violations() == found


def test_maintenance_that_fails_for_no_reason_is_found() -> None:
    story = Story()
    story.op("maintain", {"discarded": {}, "problems": {TOPIC: "KeyError: 'x'"}})
    assert story.violations() == {"unexplained error": 1}


def test_what_is_left_after_the_drain_and_who_does_not_end_is_told() -> None:
    story = Story()
    story.op("drained", {"left": 2}, subscription=NAME)
    story.lines.append({"event": "hung", "process": "a.0", "at": 0})
    assert story.violations() == {"left over": 1, "hung": 1}
