"""Pub/Sub: a subscription that is idle for longer than its ttl is deleted; use keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from pubsub_delta import ManualClock, Snapshot
from pubsub_delta.errors import Aborted, NotFound, Unavailable
from pubsub_delta.operations import maintain
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.operations.pull import finish_micro_batch
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.policy.iam import Binding, IamPolicy
from pubsub_delta.tables.ack_state import AckStates
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.registry import Registry
from pubsub_delta.tables.registry.expirations import Expirations
from tests.unit.builders import DAY, HOUR, MINUTE, at
from tests.unit.expiring import (
    FULL_NAME,
    at_its_deletion,
    expired,
    idle_after_a_day,
    in_use_as_it_expires,
)
from tests.unit.in_memory import NAME, InMemory

LAST_USE = 20 * HOUR


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
    stored = store.store.get_subscription(NAME)
    store.be_at(2 * DAY)
    use = partial(store.change, lambda state: replace(state, active_time=store.now))
    at_its_deletion(monkeypatch, use)
    assert expired(store) == []
    assert store.store.get_subscription(NAME) == stored


def test_it_is_kept_if_nobody_can_tell_whether_it_was_used_while_it_was_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A storage that is away for a moment deletes nothing; the next run does."""
    store = idle_after_a_day()
    stored = store.store.get_subscription(NAME)
    store.be_at(2 * DAY)

    def away(*_: Any) -> None:
        raise Unavailable("the storage is away")

    def lose_the_storage() -> None:
        monkeypatch.setattr(AckStates, "read", away)

    at_its_deletion(monkeypatch, lose_the_storage)
    report = store.store.maintain(dead_letters=False, retention=False)
    assert (report.expired, list(report.problems)) == ([], [FULL_NAME])
    assert store.store.get_subscription(NAME) == stored
    monkeypatch.undo()
    assert expired(store) == [FULL_NAME]


def test_who_may_use_it_may_still_use_it_when_it_is_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A policy goes with its resource: it is not gone while that is there."""
    store = idle_after_a_day()
    name, policies = store.store._subscription(NAME), store.tables.registry.iam_policies
    policy = IamPolicy((Binding("roles/pubsub.subscriber", ("user:a@example.org",)),), 1, "01")
    policies.change(name, store.now, lambda _: policy)
    store.be_at(2 * DAY)
    at_its_deletion(
        monkeypatch, lambda: store.change(lambda state: replace(state, active_time=store.now))
    )
    assert expired(store) == []
    assert policies.read(name, store.now) == policy


def test_who_updates_it_while_it_is_deleted_keeps_it_as_it_is_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An update counts as activity, and is not undone."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    other = store.driver.open()
    at_its_deletion(monkeypatch, lambda: other.update_subscription(NAME, labels={"a": "b"}))
    assert expired(store) == []
    assert store.store.get_subscription(NAME).labels == {"a": "b"}


def test_who_deletes_it_while_it_expires_does_not_get_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Delete: the backlog is dropped at once, also if it was used just before."""
    store = idle_after_a_day()
    store.be_at(2 * DAY)

    def use_and_delete() -> None:
        store.change(lambda state: replace(state, active_time=store.now))
        store.driver.open().delete_subscription(NAME)

    at_its_deletion(monkeypatch, use_and_delete)
    assert expired(store) == []
    with pytest.raises(NotFound):
        store.store.get_subscription(NAME)


def test_one_that_is_used_is_shown_by_the_next_run_if_the_storage_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The storage is away at that moment; the next run shows it again."""
    store = in_use_as_it_expires(monkeypatch)
    stored = store.store.get_subscription(NAME)

    def away(*_: Any) -> None:
        raise Unavailable("the storage is away")

    with monkeypatch.context() as now:
        now.setattr(Expirations, "end", away)
        told = store.store.maintain(dead_letters=False, retention=False)
    assert (told.expired, list(told.problems)) == ([], [FULL_NAME])
    with pytest.raises(NotFound):
        store.store.get_subscription(NAME)
    assert expired(store) == []
    assert replace(store.store.get_subscription(NAME), update_time=stored.update_time) == stored


def test_a_snapshot_that_is_given_more_time_while_it_is_deleted_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock of who lengthens it may be behind: it has not expired for him."""
    store = InMemory()
    store.store.create_snapshot("before", NAME)
    store.store.update_snapshot("before", expire_time=at(HOUR))
    store.be_at(HOUR)
    other = store.driver._open(ManualClock(at(HOUR - 1)))
    registry = store.tables.registry
    listed = registry.expired_snapshots

    def lengthened(now: datetime) -> list[Snapshot]:
        found = listed(now)
        other.update_snapshot("before", expire_time=at(DAY))
        return found

    monkeypatch.setattr(registry, "expired_snapshots", lengthened)
    assert expired(store) == []
    monkeypatch.undo()
    store.store.seek(NAME, snapshot="before")


def test_a_snapshot_that_is_finished_at_last_is_not_taken_for_abandoned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who was slow, and is told that it was taken, has it."""
    store = InMemory()
    other = store.driver.open()
    registry: Any = store.tables.registry
    listed = registry.abandoned_snapshots
    capture = Registry.capture_snapshot

    def clean_up_meanwhile(*args: Any) -> Any:
        monkeypatch.setattr(registry, "abandoned_snapshots", finish_meanwhile)
        captured = capture(*args)
        store.be_at(2 * HOUR)
        found[:] = listed(store.now)
        return captured

    found: list[Snapshot] = []

    def finish_meanwhile(_: datetime) -> list[Snapshot]:
        return found

    monkeypatch.setattr(Registry, "capture_snapshot", clean_up_meanwhile)
    other.create_snapshot("before", NAME)
    assert [each.name for each in found] == ["projects/local/snapshots/before"]
    assert expired(store) == []
    assert store.store.get_snapshot("before")


def test_a_snapshot_is_deleted_once_it_has_expired_and_not_by_a_dry_run() -> None:
    store = InMemory()
    store.store.create_snapshot("before", NAME)
    store.be_at(7 * DAY)
    name = "projects/local/snapshots/before"
    assert expired(store, dry_run=True) == [name]
    assert expired(store) == [name]
    assert expired(store) == []


def test_what_expired_while_tables_were_written_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing to tables takes long; the other duties go by the time after it."""
    store = idle_after_a_day()
    monkeypatch.setattr(maintain, "_write_tables", lambda *_: store.be_at(2 * DAY))
    assert expired(store) == [FULL_NAME]


def test_a_dry_run_deletes_no_subscription() -> None:
    store = idle_after_a_day()
    store.be_at(2 * DAY)
    assert expired(store, dry_run=True) == [FULL_NAME]
    assert store.store.get_subscription(NAME)


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_a_run_that_is_not_dry_vacuums(monkeypatch: pytest.MonkeyPatch, dry_run: bool) -> None:
    store = InMemory()
    vacuumed: list[str] = []
    monkeypatch.setattr(store.driver.world.lane, "vacuum", vacuumed.append)
    told = store.store.maintain(vacuum=True, dry_run=dry_run)
    assert bool(vacuumed) is not dry_run
    # Nobody knows how many files were removed: deltalake counts those that an earlier one removed.
    lines = [line for line in told.lines() if line.startswith("vacuum: ")]
    assert all(line.endswith(": no unneeded files are left") for line in lines)
    assert bool(lines) is not dry_run


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_a_run_that_is_not_dry_joins_files(
    monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    store, joined = InMemory(), list[str]()

    def join(messages: Messages) -> int:
        joined.append(messages.table)
        return 1

    monkeypatch.setattr(Messages, "optimize", join)
    told = store.store.maintain(optimize=True, dry_run=dry_run)
    assert bool(joined) is bool(told.optimized) is not dry_run


def test_what_is_exchanged_counts_as_activity() -> None:
    store = idle_after_a_day()
    store.be_at(LAST_USE)
    name, uid = store.store._subscription(NAME), store.store.get_subscription(NAME).uid
    StoreChannel(store.tables, name, uid, store.driver.clock.now).exchange(
        AckRequest(), 0, store.now
    )
    store.be_at(LAST_USE + DAY)
    assert expired(store) == []


def test_a_problem_names_its_subscription_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = idle_after_a_day()
    store.be_at(LAST_USE + 2 * DAY)

    def lose(*_: object) -> None:
        raise Aborted(f"{FULL_NAME}: concurrent writers were faster 25 times")

    monkeypatch.setattr(store.tables.registry.expirations, "begin", lose)
    problems = store.store.maintain(dead_letters=False, retention=False).problems
    assert problems == {FULL_NAME: "Aborted: concurrent writers were faster 25 times"}


def test_the_end_of_a_micro_batch_counts_as_activity() -> None:
    store = idle_after_a_day()
    store.be_at(LAST_USE)
    name, uid = store.store._subscription(NAME), store.store.get_subscription(NAME).uid
    finish_micro_batch(store.tables, name, "query", 0, store.now, uid=uid)
    store.be_at(LAST_USE + DAY)
    assert expired(store) == []
