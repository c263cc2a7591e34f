"""A RESTORE of the registry takes resources away, and brings back what was deleted.

docs/guarantees.md: "A RESTORE of the registry takes resources away and brings them back."
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from pubsub_delta import DeadLetterPolicy, DeadLetterWarning, ManualClock, NotFound, PubSub
from pubsub_delta.resources import ReceivedMessage

KINDS = ("topics", "subscriptions", "snapshots")
DAY = 86_400


class World:
    """A store, and its registry as an operator restores it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))
        self.store = PubSub(None, str(root), lane="direct", clock=self.clock)

    def table(self, kind: str) -> DeltaTable:
        return DeltaTable(self.root / kind)

    def versions(self) -> dict[str, int]:
        return {kind: self.table(kind).version() for kind in KINDS}

    def restore(self, to: dict[str, int], *kinds: str) -> None:
        for kind in kinds or KINDS:
            if self.table(kind).version() > to[kind]:
                self.table(kind).restore(to[kind])


def data(messages: Iterable[ReceivedMessage]) -> list[bytes]:
    return sorted(message.data for message in messages)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "store")
    world.store.create_topic("earlier")
    return world


def test_messages_of_a_topic_that_is_gone_stay_for_its_subscriptions(world: World) -> None:
    """As after its deletion; nobody deletes them, as no row tells what is needed of them."""
    store, before = world.store, world.versions()
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    store.publish("orders", ["a", "b"])
    assert data(store.pull("billing", 1)) == [b"a"]
    world.restore(before, "topics")
    assert store.get_subscription("billing").topic == "_deleted-topic_"
    with pytest.raises(NotFound, match="create it first"):
        store.publish("orders", ["c"])
    store.create_topic("orders")
    store.publish("orders", ["of another topic"])
    world.clock.advance(2 * DAY)
    assert store.maintain(exact=True, optimize=True, vacuum=True).problems == {}
    batch = store.pull("billing")
    assert data(batch) == [b"a", b"b"]
    batch.ack()


def test_a_topic_that_is_back_gives_out_no_number_again(world: World) -> None:
    """Its messages were deleted with it, and are not waited for."""
    store = world.store
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    first = set(store.publish("orders", ["a", "b"]).message_ids)
    before = world.versions()
    store.delete_subscription("billing")
    store.delete_topic("orders")
    world.clock.advance(2 * DAY)
    assert sum(store.maintain(exact=True, vacuum=True).discarded.values()) == 2
    store.create_topic("orders")
    store.create_subscription("billing", "orders")
    store.publish("orders", ["of the second one"])
    world.restore(before)
    assert data(store.pull("billing")) == []
    assert not first & set(store.publish("orders", ["c"]).message_ids)
    batch = store.pull("billing")
    assert data(batch) == [b"c"]
    batch.ack()
    assert store.maintain().problems == {}


def test_a_subscription_that_is_back_goes_on_where_it_was(world: World) -> None:
    """What was leased of the one that had its name meanwhile means nothing of it."""
    store = world.store
    store.create_topic("orders")
    store.create_subscription("billing", "orders", enable_exactly_once_delivery=True)
    store.publish("orders", ["a", "b"])
    before = world.versions()
    store.pull("billing", 1).ack()
    store.delete_subscription("billing")
    store.create_subscription("billing", "orders", enable_exactly_once_delivery=True)
    store.publish("orders", ["c"])
    of_the_second = store.pull("billing")
    world.restore(before)
    assert of_the_second.ack().counts == {"success": 0, "expired": 0, "invalid": 1}
    batch = store.pull("billing")
    assert data(batch) == [b"b", b"c"]
    assert batch.ack().counts["success"] == 2
    assert data(PubSub(None, str(world.root), clock=world.clock).pull("billing")) == []


def test_dead_letters_wait_for_a_topic_that_is_gone(world: World) -> None:
    store, before = world.store, world.versions()
    store.create_topic("orders")
    store.create_topic("dead")
    store.create_subscription("billing", "orders", dead_letter_policy=DeadLetterPolicy("dead", 5))
    store.publish("orders", ["a"])
    for _ in range(5):
        store.pull("billing").nack()
    kept = {**before, "topics": before["topics"] + 1}  # with the orders, and without the dead
    world.restore(kept, "topics")
    with pytest.warns(DeadLetterWarning, match="does not exist any more; create it"):
        assert data(store.pull("billing")) == []
    store.create_topic("dead")
    store.create_subscription("dead", "dead")
    store.maintain()
    assert data(store.pull("dead")) == [b"a"]
    assert data(store.pull("billing")) == []


def test_a_restore_that_meets_a_change_fails(world: World) -> None:
    """Delta refuses it, so that no name is there twice. The operator runs it again."""
    world.store.create_topic("orders")
    before = world.versions()["topics"]
    world.store.delete_topic("orders")
    opened = world.table("topics")
    world.store.create_topic("orders")
    with pytest.raises(CommitFailedError):
        opened.restore(before)
    assert len([t for t in world.store.list_topics() if t.name.endswith("orders")]) == 1
