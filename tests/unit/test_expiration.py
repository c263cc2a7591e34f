"""Pub/Sub: a subscription that is idle for longer than its ttl is deleted; use keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pubsub_delta import ExpirationPolicy
from pubsub_delta.errors import Aborted, NotFound
from pubsub_delta.operations import pull
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.turns import Turn
from tests.unit.builders import DAY, HOUR, MINUTE
from tests.unit.in_memory import NAME, TOPIC, InMemory

FULL_NAME = f"projects/local/subscriptions/{NAME}"
LAST_USE = 20 * HOUR


def idle_after_a_day() -> InMemory:
    """Return a store whose subscription expires after a day, with one message leased at 0."""
    found = InMemory(expiration_policy=ExpirationPolicy(ttl="1d"), message_retention_duration="10m")
    found.publish("a")
    found.pull()
    return found


def expired(store: InMemory, *, dry_run: bool = False) -> list[str]:
    """Return what the job deletes."""
    told = store.store.maintain(
        dead_letters=False, retention=False, optimize=False, vacuum=False, dry_run=dry_run
    )
    assert told.problems == {}
    return list(told.expired)


def ack_id(store: InMemory) -> str:
    """Return an ack id of a delivery long ago."""
    return str(AckId(store.store.get_subscription(NAME).uid, 1, 0))


USES: dict[str, Callable[[InMemory], object]] = {
    "pull": lambda store: store.pull(),
    "acknowledge": lambda store: store.store.acknowledge(NAME, [ack_id(store)]),
    "modify_ack_deadline": lambda store: store.store.modify_ack_deadline(NAME, [ack_id(store)], 10),
    "seek": lambda store: store.store.seek(NAME, time=store.now),
    "update": lambda store: store.store.update_subscription(NAME, labels={"a": "b"}),
}


@pytest.mark.parametrize("use", USES)
def test_any_use_counts_as_activity(use: str) -> None:
    """Pub/Sub: any pull, acknowledgement, seek or update counts as activity."""
    store = idle_after_a_day()
    store.be_at(LAST_USE)
    USES[use](store)
    store.be_at(LAST_USE + DAY)  # idle for no longer than the ttl
    assert expired(store) == []
    store.be_at(LAST_USE + DAY + 1)
    assert expired(store) == [FULL_NAME]
    with pytest.raises(NotFound):
        store.store.get_subscription(NAME)


def test_a_pull_is_noted_once_in_a_thousandth_of_the_ttl() -> None:
    """A pull that finds nothing writes nothing, unless activity was last noted a while ago."""
    store = idle_after_a_day()
    store.be_at(HOUR)
    store.pull()
    written = store.revision()
    store.be_at(HOUR + MINUTE)
    store.pull()
    assert store.revision() == written
    store.be_at(HOUR + 2 * MINUTE)
    store.pull()
    assert store.revision() == written + 1


def test_who_uses_it_while_it_is_deleted_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maintenance is safe beside consumers: what was in use at that moment is put back."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    registry = store.tables.registry
    remove = registry.remove_subscription

    def remove_while_somebody_pulls(uid: str) -> bool:
        store.change(lambda state: replace(state, active_time=store.now))
        return remove(uid)

    monkeypatch.setattr(registry, "remove_subscription", remove_while_somebody_pulls)
    assert expired(store) == []
    assert store.store.get_subscription(NAME).topic == f"projects/local/topics/{TOPIC}"


def test_a_snapshot_is_deleted_once_it_has_expired_and_not_by_a_dry_run() -> None:
    store = InMemory()
    store.store.create_snapshot("before", NAME)
    store.be_at(7 * DAY)
    name = "projects/local/snapshots/before"
    assert expired(store, dry_run=True) == [name]
    assert expired(store) == [name]
    assert expired(store) == []


def test_a_dry_run_deletes_no_subscription() -> None:
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    assert expired(store, dry_run=True) == [FULL_NAME]
    assert store.store.get_subscription(NAME)


def test_what_is_exchanged_counts_as_activity() -> None:
    store = idle_after_a_day()
    store.be_at(LAST_USE)
    pull.exchange(store.tables, store.store._subscription(NAME), Turn(), 0, store.now)
    store.be_at(LAST_USE + DAY)
    assert expired(store) == []


def test_a_problem_names_its_subscription_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = idle_after_a_day()
    store.be_at(LAST_USE + 2 * DAY)

    def lose(_: str) -> None:
        raise Aborted(f"{FULL_NAME}: concurrent writers were faster 25 times")

    monkeypatch.setattr(store.tables.registry, "remove_subscription", lose)
    problems = store.store.maintain(dead_letters=False, retention=False).problems
    assert problems == {FULL_NAME: "Aborted: concurrent writers were faster 25 times"}
