"""Creating, updating and deleting resources as calls, on tables in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pubsub_delta import DeadLetterPolicy, RetryPolicy
from pubsub_delta.errors import FailedPrecondition, NotFound
from tests.unit.builders import HOUR, MINUTE, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

DEAD = DeadLetterPolicy(LETTERS, 5)


def test_a_subscription_gets_what_is_published_after_its_creation() -> None:
    """Earlier messages only through topic retention + seek."""
    store = InMemory()
    store.publish("early")
    store.store.create_subscription("second", TOPIC)
    store.publish("late")
    assert store.backlog("second") == {"late": "available"}


def test_a_lease_that_was_over_before_an_update_failed_on_the_old_terms() -> None:
    """Pub/Sub: attempts are counted only while a dead-letter policy is set."""
    store = InMemory()
    store.publish("a")
    store.pull()
    store.be_at(10)
    store.store.update_subscription(NAME, dead_letter_policy=DEAD)
    (again,) = store.pull()
    assert again.attempt == 1


def test_a_new_retry_policy_is_for_later_failures() -> None:
    store = InMemory()
    store.publish("a")
    store.pull()
    store.be_at(10)
    store.store.update_subscription(NAME, retry_policy=RetryPolicy("600s", "600s"))
    assert store.backlog() == {"a": "available"}


def test_a_longer_retention_brings_nothing_back() -> None:
    """Already discarded messages do not come back when a subscription's retention is lengthened."""
    store = InMemory(message_retention_duration="10m", retain_acked_messages=True)
    store.publish("old")
    store.be_at(5 * MINUTE)
    store.publish("new")
    store.ack("old", "new")
    store.be_at(11 * MINUTE)
    told = store.store.metrics(NAME, exact=True)
    assert told["num_retained_acked_messages"] == 1
    assert told["oldest_retained_acked_message_age"] == 6 * MINUTE
    store.store.update_subscription(NAME, message_retention_duration="7d")
    store.store.seek(NAME, time=at(0))
    assert store.backlog() == {"new": "available"}


def test_a_topics_changed_retention_keeps_what_it_covered() -> None:
    """Lengthened from D1 to D2 at R: what was covered at R stays covered (from R − D1)."""
    store = InMemory()
    store.store.update_topic(TOPIC, message_retention_duration="10m")
    store.publish("given up")
    store.be_at(5 * MINUTE)
    store.publish("covered")
    store.ack("given up", "covered")
    store.be_at(12 * MINUTE)
    store.store.update_topic(TOPIC, message_retention_duration="1d")
    store.be_at(HOUR)
    store.store.seek(NAME, time=at(0))
    assert store.backlog() == {"covered": "available"}


def test_a_topics_cleared_retention_covers_nothing() -> None:
    """Cleared: nothing more is covered by it."""
    store = InMemory()
    store.store.update_topic(TOPIC, message_retention_duration=timedelta(hours=1))
    store.publish("a")
    store.ack("a")
    store.store.update_topic(TOPIC, message_retention_duration=None)
    store.store.update_topic(TOPIC, message_retention_duration=timedelta(hours=1))
    store.be_at(1)
    store.store.update_topic(TOPIC, message_retention_duration=None)
    store.store.update_topic(TOPIC, message_retention_duration=timedelta(hours=1))
    store.store.seek(NAME, time=at(0))
    assert store.backlog() == {}


def test_a_dead_letter_topic_must_exist_also_for_an_update() -> None:
    """Absent topic at creation → NOT_FOUND."""
    store = InMemory()
    with pytest.raises(NotFound, match="nowhere"):
        store.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy("nowhere", 5))
    with pytest.raises(NotFound, match="nowhere"):
        store.store.create_subscription(
            "second", TOPIC, dead_letter_policy=DeadLetterPolicy("nowhere", 5)
        )
    assert store.store.get_subscription(NAME).dead_letter_policy is None


def test_a_dead_letter_topic_stays_while_a_subscription_needs_it() -> None:
    """Deleting a topic that is another subscription's dead-letter topic → FAILED_PRECONDITION."""
    store = InMemory(dead_letter_policy=DEAD)
    with pytest.raises(FailedPrecondition, match=NAME):
        store.store.delete_topic(LETTERS)
    store.store.update_subscription(NAME, dead_letter_policy=None)
    store.store.delete_topic(LETTERS)


def test_a_detached_subscription_is_not_listed_with_its_topic() -> None:
    store = InMemory()
    store.store.create_subscription("second", TOPIC)
    store.be_at(MINUTE)
    store.store.detach_subscription(NAME)
    told = store.store.list_topic_subscriptions(TOPIC)
    assert list(told) == ["projects/local/subscriptions/second"]
    detached = store.store.get_subscription(NAME)
    assert (detached.detached, detached.update_time) == (True, at(MINUTE))


@pytest.mark.parametrize("retained", [True, False])
def test_a_topic_that_retains_from_its_creation_covers_from_then_on(retained: bool) -> None:
    """ "Messages published since then can be replayed", also to a subscription made later."""
    world = InMemory()
    duration = timedelta(days=1) if retained else None
    made = world.store.create_topic("kept", message_retention_duration=duration)
    assert made.retained_from == (world.now if retained else None)
    world.publish("early", topic="kept")
    world.be_at(60)
    world.store.create_subscription("late", "kept")
    world.store.seek("late", time=made.create_time)
    assert world.backlog("late") == ({"early": "available"} if retained else {})
