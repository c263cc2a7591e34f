"""What others do while a subscription is deleted that has expired, and that somebody uses."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, ExpirationPolicy
from pubsub_delta.delivery import expiration
from pubsub_delta.errors import AlreadyExists, FailedPrecondition, NotFound
from tests.model.memory import LAYOUT
from tests.unit.builders import DAY, HOUR, MINUTE
from tests.unit.expiring import (
    FULL_NAME,
    at_its_deletion,
    expired,
    idle_after_a_day,
    in_use_as_it_expires,
    while_it_is_invisible,
)
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


class Killed(BaseException):
    """The process ends here, and nothing of it goes on."""


def killed(store: InMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a job that is killed when it has made the subscription invisible."""

    def kill(*_: Any) -> bool:
        raise Killed

    with monkeypatch.context() as now:
        now.setattr(expiration, "_end", kill)
        with pytest.raises(Killed):
            store.store.maintain(dead_letters=False, retention=False)


def test_retention_deletes_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec: "Nothing that a live subscription […] may still deliver is ever deleted"."""
    store = in_use_as_it_expires(monkeypatch)
    store.publish("b")
    store.be_at(2 * DAY + MINUTE)
    others: list[Any] = []

    def retention() -> None:
        others.append(store.driver.open().maintain(expiration=False, exact=True))

    while_it_is_invisible(monkeypatch, retention)
    assert expired(store) == []
    told = [(each.discarded, each.problems) for each in others]
    assert told == [({f"projects/local/topics/{TOPIC}": 1}, {})]  # "a" is too old
    assert [each.data for each in store.pull()] == ["b"]


def test_retention_deletes_nothing_of_it_when_another_one_has_expired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of one does not end what another one still keeps."""
    store = idle_after_a_day()
    other, policy = f"projects/local/subscriptions/{NAME}-2", ExpirationPolicy(ttl="1d")
    store.store.create_subscription(
        other, TOPIC, expiration_policy=policy, message_retention_duration="10m"
    )
    store.be_at(2 * DAY)
    use = partial(store.change, lambda state: replace(state, active_time=store.now))
    at_its_deletion(monkeypatch, use)
    store.publish("b")
    store.be_at(2 * DAY + MINUTE)
    others: list[Any] = []
    while_it_is_invisible(
        monkeypatch, lambda: others.append(store.driver.open().maintain(exact=True))
    )
    assert expired(store) == []
    assert [each.problems for each in others] == [{}]
    assert other in others[0].expired
    assert [each.data for each in store.pull()] == ["b"]


def test_what_held_its_messages_is_gone_afterwards() -> None:
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    assert expired(store) == [FULL_NAME]
    assert store.tables.registry.expirations.begun() == []
    assert store.store.maintain(exact=True).discarded == {f"projects/local/topics/{TOPIC}": 1}


def test_nothing_is_written_for_one_that_is_not_idle() -> None:
    store = idle_after_a_day()
    before = store.driver.world.lane.version(LAYOUT.subscriptions)
    assert expired(store) == []
    assert store.driver.world.lane.version(LAYOUT.subscriptions) == before


def test_its_dead_letter_topic_cannot_be_deleted_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who deletes it is told that the subscription still has it, which may be shown again."""
    store = idle_after_a_day()
    store.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(LETTERS))
    store.be_at(2 * DAY)
    told: list[str] = []

    def delete() -> None:
        with pytest.raises(FailedPrecondition) as refused:
            store.driver.open().delete_topic(LETTERS)
        told.append(str(refused.value))

    while_it_is_invisible(monkeypatch, delete)
    assert expired(store) == [FULL_NAME]
    assert f"is the dead-letter topic of {FULL_NAME}" in told[0]
    store.store.delete_topic(LETTERS)


def test_its_dead_letter_topic_can_be_deleted_once_it_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody is left who names the topic once the subscription is deleted, and not before."""
    store = idle_after_a_day()
    store.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy(LETTERS))
    store.be_at(2 * DAY)
    killed(store, monkeypatch)
    with pytest.raises(FailedPrecondition, match=f"is the dead-letter topic of {FULL_NAME}"):
        store.driver.open().delete_topic(LETTERS)
    assert expired(store) == [FULL_NAME]
    store.store.delete_topic(LETTERS)


def test_it_is_in_no_listing_and_keeps_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    killed(store, monkeypatch)
    other = store.driver.open()
    assert (list(other.list_subscriptions()), other.list_topic_subscriptions(TOPIC)) == ([], [])
    for call in (other.get_subscription, other.pull, other.metrics, other.delete_subscription):
        with pytest.raises(NotFound):
            call(NAME)
    with pytest.raises(AlreadyExists, match=r"has expired, and is being deleted; .* run maintain"):
        other.create_subscription(NAME, TOPIC)
    assert expired(store, dry_run=True) == expired(store) == [FULL_NAME]
    other.create_subscription(NAME, TOPIC)


def test_what_a_killed_job_left_is_shown_again_if_it_was_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However late the next run is: nobody could use it meanwhile, so it gets its ttl anew."""
    store = in_use_as_it_expires(monkeypatch)
    store.publish("b")
    killed(store, monkeypatch)
    store.be_at(9 * DAY)
    assert expired(store, dry_run=True) == expired(store) == []
    assert store.store.get_subscription(NAME).update_time == store.now
    store.be_at(10 * DAY)
    assert expired(store) == []
    store.be_at(10 * DAY + HOUR)
    assert expired(store) == [FULL_NAME]


def test_its_messages_are_there_when_it_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if other jobs deleted what nobody can get, and the name is as it was."""
    store = in_use_as_it_expires(monkeypatch)
    store.publish("b")
    store.be_at(2 * DAY + MINUTE)
    killed(store, monkeypatch)
    assert store.driver.open().maintain(expiration=False, exact=True).problems == {}
    assert expired(store) == []
    assert [each.data for each in store.pull()] == ["b"]


def test_another_run_may_go_on_at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two deletes it, and tells it."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    others: list[list[str]] = []

    def run() -> None:
        others.append(list(store.driver.open().maintain().expired))

    while_it_is_invisible(monkeypatch, run)
    assert (expired(store), others) == ([], [[FULL_NAME]])


def test_who_updates_it_at_the_last_moment_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update is activity: it shows the subscription again, and is not lost."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    stored = store.store.get_subscription(NAME)

    def update() -> None:
        labels = {"labels": {"a": "b"}, "update_time": store.now}
        assert store.tables.registry.change_subscription(stored.uid, labels)

    while_it_is_invisible(monkeypatch, update)
    assert expired(store) == []
    assert store.store.get_subscription(NAME).labels == {"a": "b"}


def test_who_deletes_it_at_the_last_moment_has_deleted_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = in_use_as_it_expires(monkeypatch)
    uid = store.store.get_subscription(NAME).uid
    while_it_is_invisible(monkeypatch, lambda: store.tables.registry.remove_subscription(uid))
    assert expired(store) == []
    with pytest.raises(NotFound):
        store.store.get_subscription(NAME)


def test_an_interrupted_job_shows_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the ack state is read: nobody can tell whether it was used."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    stored, read = store.store.get_subscription(NAME), expiration.is_idle
    asked: list[int] = []

    def interrupted(*args: Any) -> bool:
        asked.append(1)
        if len(asked) == 2:  # before the change of the row, and after it
            raise KeyboardInterrupt
        return read(*args)

    with monkeypatch.context() as now:
        now.setattr(expiration, "is_idle", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.store.maintain()
    assert store.store.get_subscription(NAME) == stored
