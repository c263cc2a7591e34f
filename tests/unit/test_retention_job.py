"""The job deletes what nobody can get any more, and nothing else (Pub/Sub: message retention)."""

from __future__ import annotations

from itertools import count

import pytest

from pubsub_delta import DeadLetterPolicy, ExpirationPolicy, MaintenanceReport
from tests.unit.builders import DAY, HOUR, at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


def run(store: InMemory, *, exact: bool = True, dry_run: bool = False) -> MaintenanceReport:
    told = store.store.maintain(
        exact=exact, dry_run=dry_run, dead_letters=False, expiration=False, optimize=False,
        vacuum=False,
    )  # fmt: skip
    assert told.problems == {}
    return told


def acked_and_unacked() -> InMemory:
    """Return a store that has stored a message which is acknowledged, and one which is not."""
    store = InMemory()
    store.publish("acked")
    store.ack("acked")
    store.be_at(1)
    store.publish("unacked")
    return store


def test_what_everybody_has_acknowledged_is_deleted() -> None:
    store = acked_and_unacked()
    store.be_at(2)
    told = run(store)
    assert told.discarded == {f"projects/local/topics/{TOPIC}": 1}
    assert store.stored() == ["unacked"]


def test_a_dry_run_deletes_nothing_and_tells_what_it_would() -> None:
    store = acked_and_unacked()
    store.be_at(2)
    told = run(store, dry_run=True)
    assert told.discarded == {f"projects/local/topics/{TOPIC}": 1}
    assert store.stored() == ["acked", "unacked"]


def test_without_exact_only_whole_days_are_deleted() -> None:
    store = acked_and_unacked()
    store.be_at(HOUR)
    assert run(store, exact=False).discarded == {}
    store.ack("unacked")
    assert run(store, exact=False).discarded == {}
    assert store.stored() == ["acked", "unacked"]
    store.be_at(DAY)
    assert run(store, exact=False).discarded == {f"projects/local/topics/{TOPIC}": 2}


def test_what_came_since_the_last_commit_of_a_subscription_is_kept() -> None:
    """Nothing that a live subscription may still deliver is ever deleted from the topic."""
    store = InMemory()
    store.publish("new")
    store.be_at(1)
    assert run(store).discarded == {}
    assert list(store.backlog()) == ["new"]


def test_a_snapshot_holds_the_first_message_that_followed_it_and_all_later_ones() -> None:
    store = InMemory()
    store.store.create_snapshot("before", NAME)
    for second, data in enumerate("abc", start=1):
        store.be_at(second)
        store.publish(data)
    store.ack("a", "b", "c")
    assert run(store).discarded == {}
    store.store.seek(NAME, snapshot="before")
    assert list(store.backlog()) == ["a", "b", "c"]


def test_a_snapshot_holds_what_it_captured_and_what_followed() -> None:
    store = InMemory()
    store.publish("captured")
    store.be_at(1)
    store.store.create_snapshot("before", NAME)
    store.be_at(2)
    store.publish("later")
    store.ack("captured", "later")
    store.be_at(3)
    assert run(store).discarded == {}
    store.store.seek(NAME, snapshot="before")
    assert list(store.backlog()) == ["captured", "later"]
    store.ack("captured", "later")
    store.store.delete_snapshot("before")
    run(store)
    assert store.stored() == []


def test_a_detached_subscription_holds_nothing() -> None:
    """Detach: the backlog is dropped."""
    store = acked_and_unacked()
    store.store.detach_subscription(NAME)
    store.be_at(2)
    run(store)
    assert store.stored() == []


def test_a_deleted_topics_messages_stay_for_its_subscriptions_only() -> None:
    """Its subscriptions keep their backlog; its own retention no longer applies."""
    store = acked_and_unacked()
    store.store.update_topic(TOPIC, message_retention_duration="31d")
    uid = store.store.get_topic(TOPIC).uid
    store.ack("unacked")
    store.be_at(2)
    store.publish("backlog")
    run(store)
    assert store.stored_under(uid) == ["unacked", "backlog"]
    store.store.delete_topic(TOPIC)
    run(store)
    assert store.stored_under(uid) == ["backlog"]
    assert list(store.backlog()) == ["backlog"]
    store.ack("backlog")
    store.be_at(3)
    run(store)
    assert store.stored_under(uid) == []


def test_a_topic_that_nobody_holds_is_emptied_once_it_is_deleted() -> None:
    store = acked_and_unacked()
    uid = store.store.get_topic(TOPIC).uid
    store.store.delete_subscription(NAME)
    store.store.delete_topic(TOPIC)
    run(store, exact=False)
    assert store.stored_under(uid) == []
    store.be_at(32 * DAY)
    assert run(store).discarded == {}


def test_a_detached_subscription_forwards_nothing() -> None:
    """Detached, it has nothing and gives nothing."""
    store = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    store.publish("a")
    for _ in range(5):
        ack_ids = [each.ack_id for each in store.pull()]
        store.store.modify_ack_deadline(NAME, ack_ids, 0)
    store.store.detach_subscription(NAME)
    told = store.store.maintain(retention=False, expiration=False)
    assert (told.dead_letters, told.problems) == ({}, {})
    assert store.stored(LETTERS) == []


def test_a_deleted_topic_is_known_until_its_files_may_be_removed() -> None:
    """VACUUM may not remove young files; whoever forgets the topic leaves them for ever."""
    store = acked_and_unacked()
    store.store.delete_subscription(NAME)
    store.store.delete_topic(TOPIC)
    registry = store.tables.registry
    run(store)
    store.be_at(44 * DAY)
    run(store)
    assert [topic.name for topic, _ in registry.deleted_topics()] == [
        f"projects/local/topics/{TOPIC}"
    ]
    store.be_at(46 * DAY)
    store.store.maintain(dry_run=True)
    assert len(registry.deleted_topics()) == 1
    run(store)
    assert registry.deleted_topics() == []


def test_it_is_known_after_the_longest_retention_until_vacuum_has_removed_the_files() -> None:
    """VACUUM keeps what retention has deleted for 8 days."""
    store = InMemory(message_retention_duration="31d", expiration_policy=ExpirationPolicy(ttl=None))
    store.publish("kept")
    uid = store.store.get_topic(TOPIC).uid
    store.store.delete_topic(TOPIC)
    store.be_at(31 * DAY - HOUR)
    run(store)
    assert store.stored_under(uid) == ["kept"]
    store.be_at(31 * DAY + HOUR)
    store.store.delete_subscription(NAME)
    run(store)
    assert store.stored_under(uid) == []
    store.be_at(31 * DAY + HOUR + 8 * DAY)
    run(store)
    assert len(store.tables.registry.deleted_topics()) == 1


def test_snapshots_that_come_and_go_faster_than_it_looks_are_told_as_aborted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Aborted is for what others did meanwhile: trying again is safe."""
    store = acked_and_unacked()
    versions = count()
    monkeypatch.setattr(store.tables.registry, "snapshots_version", lambda: next(versions))
    told = store.store.maintain(optimize=False, vacuum=False)
    problem = told.problems[f"projects/local/topics/{TOPIC}"]
    assert problem.startswith("Aborted: snapshots were created or deleted")
    assert store.stored() == ["acked", "unacked"]


@pytest.mark.parametrize("holders", [(NAME, "second"), ("second", NAME)])
def test_of_several_snapshots_the_one_that_holds_the_oldest_message_decides(
    holders: tuple[str, str],
) -> None:
    """ "Nothing that a live snapshot may still deliver", whichever was taken first."""
    store = InMemory()
    store.store.create_subscription("second", TOPIC)
    store.publish("old")
    store.ack("old", name="second")
    for holder in holders:
        store.store.create_snapshot(f"of-{holder}", holder)
    store.ack("old")
    store.be_at(1)
    store.publish("new")
    store.ack("new")
    store.ack("new", name="second")
    store.be_at(2)
    run(store)
    assert store.stored() == ["old", "new"]
    store.store.seek(NAME, snapshot=f"of-{NAME}")
    assert store.backlog() == {"old": "available", "new": "available"}


def test_the_report_counts_the_messages_of_all_deleted_topics_of_a_name() -> None:
    """Of a report: "deleted messages that no subscription or snapshot could get, by topic"."""
    world = InMemory()
    for data in (["a", "b"], ["c"]):
        world.publish(*data)
        world.store.delete_topic(TOPIC)
        world.store.create_topic(TOPIC)
    name = f"projects/local/topics/{TOPIC} (deleted)"
    needed = world.store.maintain(dry_run=True).kept_from[name]
    assert needed == at(0)  # of the subscription to the first of them
    world.store.delete_subscription(NAME)
    report = world.store.maintain(optimize=True, vacuum=True)
    assert report.discarded[name] == 3
    assert report.vacuumed.count(name) == 1
    assert report.kept_from[name] is None


@pytest.mark.parametrize("expiration", [True, False])
@pytest.mark.parametrize("holder", ["snapshot", "subscription"])
def test_a_dry_run_tells_what_the_run_with_the_same_duties_deletes(
    holder: str, expiration: bool
) -> None:
    """Of ``dry_run``: it only reports what the duties would do."""
    world = InMemory(expiration_policy=ExpirationPolicy("1d"), message_retention_duration="10m")
    if holder == "snapshot":
        world.publish("a")
        world.store.create_snapshot("before", NAME)
        world.store.delete_subscription(NAME)
    world.be_at(8 * DAY)
    if holder == "subscription":
        world.publish("a")
        world.be_at(8 * DAY + 1)
    duties = {"exact": True, "expiration": expiration, "dead_letters": False}
    told = world.store.maintain(**duties, dry_run=True)
    done = world.store.maintain(**duties)
    assert (told.discarded, told.expired) == (done.discarded, done.expired)
    assert bool(done.discarded) == expiration
