"""Stores that earlier commits have written are read and used, each in a copy.

``tests/fixtures/kept_store.py`` wrote them, and nobody writes them anew. One of another layout than
the library's is refused by name.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pubsub_delta import FailedPrecondition, ManualClock, PubSub
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_state import State
from tests.fixtures import kept_store
from tests.fixtures.kept_store import STORE, WRITTEN_UNTIL, found_in
from tests.fixtures.reading import LAYOUTS, OTHERS, READABLE, backlog_of, copied, emptied, found_of
from tests.unit.builders import DAY, HOUR, at


@pytest.fixture(params=READABLE, ids=lambda each: each.name)
def kept(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def root(kept: Path, tmp_path: Path) -> Path:
    return copied(kept, tmp_path)


def opened(root: Path, seconds: float = WRITTEN_UNTIL) -> PubSub:
    return PubSub(None, str(root), clock=ManualClock(at(seconds)), lane="direct")


def test_there_is_a_store_of_the_layout_that_is_written() -> None:
    """A change of the layout comes with a store of the new one, written by its commit."""
    assert READABLE


@pytest.mark.parametrize("other", OTHERS, ids=lambda each: each.name)
def test_a_store_of_another_layout_is_refused_by_name(other: Path, tmp_path: Path) -> None:
    version = f"it has layout version {LAYOUTS[other]}, and this library reads"
    with pytest.raises(FailedPrecondition, match=version):
        opened(copied(other, tmp_path)).get_topic("flights")


def test_what_it_holds_is_what_was_written(kept: Path, root: Path) -> None:
    assert found_in(root) == found_of(kept)


def test_every_kind_of_state_is_in_it(kept: Path) -> None:
    backlogs = found_of(kept)["backlogs"].values()
    assert {each["state"] for backlog in backlogs for each in backlog} == {
        "available",
        "leased",
        "backing_off",
    }
    assert max(each["attempt"] or 0 for backlog in backlogs for each in backlog) == 6


def test_everything_in_it_is_delivered_once_its_leases_are_over(kept: Path, root: Path) -> None:
    """At least once: nothing is lost by who comes later."""
    store = opened(root, WRITTEN_UNTIL + HOUR)
    for name in ("plain", "exactly", "filtered", "waiting", "queried", "typed", "left-over"):
        assert emptied(store, name) == backlog_of(kept, name), name
    dead = backlog_of(kept, "failing")
    assert emptied(store, "failing") + emptied(store, "undelivered") == dead
    assert emptied(store, "ordered") >= backlog_of(kept, "ordered")
    with pytest.raises(FailedPrecondition, match="is detached"):
        store.pull("detached")


def test_ack_ids_of_its_leases_are_good(kept: Path, root: Path) -> None:
    tables = opened(root).tables
    store = opened(root)
    uid = store.get_subscription("exactly").uid
    (lease,) = tables.ack_states.read(uid).in_state(State.LEASED)
    assert lease.lease_id is not None
    ids = [str(AckId(uid, lease.lease_id, each)) for each in lease.positions]
    assert store.acknowledge("exactly", ids).counts["success"] == len(ids) == 2
    again = opened(root, WRITTEN_UNTIL + HOUR)
    found = backlog_of(kept, "exactly")
    assert sum(emptied(again, "exactly").values()) == sum(found.values()) - 2


def test_a_seek_to_its_snapshot_brings_back_what_that_holds(kept: Path, root: Path) -> None:
    store = opened(root, WRITTEN_UNTIL + HOUR)
    assert emptied(store, "plain")
    store.seek("plain", snapshot="before")
    assert emptied(store, "plain") == backlog_of(kept, "plain")
    store.seek("ordered", snapshot="of-ordered")
    assert emptied(store, "ordered") >= backlog_of(kept, "ordered")


def test_a_seek_to_a_time_brings_back_what_its_topic_retains(kept: Path, root: Path) -> None:
    store = opened(root, WRITTEN_UNTIL + HOUR)
    emptied(store, "exactly")
    store.seek("exactly", time=at(0))
    assert sum(emptied(store, "exactly").values()) == 9


def test_it_is_maintained_and_loses_nothing(kept: Path, root: Path) -> None:
    store = opened(root, WRITTEN_UNTIL + HOUR)
    report = store.maintain(exact=True, optimize=True, vacuum=True)
    assert report.problems == {}
    assert report.dead_letters == {"projects/local/subscriptions/failing": 1}
    assert emptied(store, "plain") == backlog_of(kept, "plain")
    assert emptied(store, "failing") + emptied(store, "undelivered") == backlog_of(kept, "failing")
    later = opened(root, 40 * DAY)
    told = later.maintain(exact=True)
    assert "projects/local/snapshots/before" in told.expired
    assert later.maintain(exact=True).problems == {}


def test_it_is_published_to_as_before(kept: Path, root: Path) -> None:
    store = opened(root, WRITTEN_UNTIL + HOUR)
    before = {
        int(each["id"])
        for each in found_of(kept)["backlogs"]["projects/local/subscriptions/queried"]
    }
    (message_id,) = store.publish("flights", ["new"]).message_ids
    assert int(message_id) > max(before)
    again = store.publish("flights", ["once"], idempotency_id=("loader", 7))
    assert again.message_count == 1
    assert int(next(iter(again.message_ids))) in before
    assert emptied(store, "plain") == backlog_of(kept, "plain") + Counter(["new"])
    store.publish("typed", [b'{"state": "Ohio"}'])
    assert emptied(store, "typed")['{"state": "Ohio"}'] == 1


def test_its_resources_are_changed_and_deleted(root: Path) -> None:
    store = opened(root, WRITTEN_UNTIL + HOUR)
    store.update_subscription("plain", labels={"new": "label"}, ack_deadline_seconds=20)
    store.update_topic("flights", message_retention_duration="3d")
    store.create_snapshot("new", "plain")
    for snapshot in ("new", "before", "of-ordered"):
        store.delete_snapshot(snapshot)
    for each in list(store.list_subscriptions()):
        store.delete_subscription(each.name)
    for topic in ("flights", "letters", "typed"):
        store.delete_topic(topic)
    assert store.maintain(exact=True).problems == {}


def test_the_program_that_wrote_it_writes_the_same_today(kept: Path, tmp_path: Path) -> None:
    """So that it can write one of the next layout."""
    assert kept_store.write(tmp_path / STORE) == found_of(kept)
