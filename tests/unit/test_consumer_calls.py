"""Calls of consumers, on tables in memory: what they refuse, write and pass on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta import DeadLetterPolicy, ExpirationPolicy, RetryPolicy
from pubsub_delta.errors import DeadLetterWarning, InvalidArgument, PubSubError
from pubsub_delta.operations import pull
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.policy.ack_ids import AckId
from pubsub_delta.policy.ack_requests import AckRequest
from tests.model.memory_lane import MemoryLane
from tests.unit.builders import at
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory

DEAD = DeadLetterPolicy(LETTERS, 5)


def exhausted(store: InMemory) -> None:
    """Let all available messages fail as often as is permitted."""
    for _ in range(5):
        ack_ids = [each.ack_id for each in store.pull()]
        store.store.modify_ack_deadline(NAME, ack_ids, 0)


def test_an_ack_id_of_another_subscription_is_invalid_and_changes_nothing() -> None:
    """Malformed, or of another subscription: `invalid`."""
    store = InMemory()
    store.store.create_subscription("second", TOPIC)
    store.publish("a")
    (mine,), (other,) = store.pull(), store.pull(name="second")
    told = store.store.acknowledge(NAME, [other.ack_id])
    assert (list(told.success), list(told.invalid)) == ([], [other.ack_id])
    assert store.backlog() == {"a": "leased"}
    assert list(store.store.acknowledge(NAME, [mine.ack_id]).success) == [mine.ack_id]


def test_a_wholly_malformed_call_is_refused_and_a_malformed_id_counted() -> None:
    """Only an empty list or a wholly malformed call raises; counted by `response_code`."""
    store = InMemory()
    store.publish("a")
    (mine,) = store.pull()
    for ack_ids in ([], ["nothing"], [mine.ack_id[:-1], ""]):
        with pytest.raises(InvalidArgument, match="ack_ids"):
            store.store.acknowledge(NAME, ack_ids)
    told = store.store.acknowledge(NAME, [mine.ack_id, "nothing", "nothing"])
    assert list(told.invalid) == ["nothing"]
    counted = store.store.metrics(NAME)["ack_message_count"]
    assert counted == {"success": 1, "expired": 0, "invalid": 1}


@pytest.mark.parametrize("purged", [False, True])
def test_an_empty_pull_keeps_what_it_has_scanned_and_nothing_else(purged: bool) -> None:
    """ "With a filter the subscription reads the attributes of these messages once"; a time in the
    future "acknowledges what is published until then"."""
    store = InMemory(filter="" if purged else "attributes:delay")
    if purged:
        store.store.seek(NAME, time=at(60))
        store.pull()
    for _ in range(2):
        store.publish("a")
        before = store.revision()
        for _ in range(2):
            assert store.pull() == []
            assert store.revision() == before + 1


def test_a_pull_of_none_is_refused() -> None:
    """`max_messages ≤ 0` → INVALID_ARGUMENT."""
    for count in (0, -1):
        with pytest.raises(InvalidArgument, match="max_messages"):
            InMemory().pull(count)


def test_a_pull_that_finds_nothing_writes_nothing() -> None:
    store = InMemory()
    store.publish("a")
    store.pull()
    written = store.revision()
    assert store.pull() == []
    assert store.revision() == written


def test_a_pull_that_leases_nothing_forwards_all_the_same() -> None:
    """Forwarding happens at pull and in the maintenance job."""
    store = InMemory(dead_letter_policy=DEAD)
    store.publish("a")
    exhausted(store)
    assert store.pull() == []
    assert store.stored(LETTERS) == ["a"]
    assert store.backlog() == {}


def pull_on_a_full_disk(store: InMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decide that an exhausted message is forwarded, where the dead-letter topic is not written."""
    exhausted(store)

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryLane, "append", full)
        with pytest.warns(DeadLetterWarning, match="no space left"):
            store.pull()


def test_a_dead_letter_is_not_lost_where_it_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the dead-letter topic cannot be written, nothing is forwarded or lost."""
    store = InMemory(dead_letter_policy=DEAD)
    store.publish("a")
    pull_on_a_full_disk(store, monkeypatch)
    assert store.backlog() == {"a": "forwarding"}
    store.pull()
    assert store.stored(LETTERS) == ["a"]


@pytest.mark.parametrize("retain", [False, True])
def test_a_seek_completes_first_what_is_being_forwarded(
    monkeypatch: pytest.MonkeyPatch, retain: bool
) -> None:
    """A dead letter whose forwarding is decided is forwarded once, and then it is acked."""
    store = InMemory(dead_letter_policy=DEAD, retain_acked_messages=retain)
    store.publish("a")
    pull_on_a_full_disk(store, monkeypatch)
    store.store.seek(NAME, time=at(0))
    assert store.stored(LETTERS) == ["a"]
    assert store.backlog() == ({"a": "available"} if retain else {})
    store.pull()
    assert store.stored(LETTERS) == ["a"]


@pytest.mark.parametrize("retain", [False, True])
def test_a_seek_brings_a_dead_letter_back_only_if_acked_messages_are_retained(
    retain: bool,
) -> None:
    """It is acked on the source; acked ones come back if `retain_acked_messages` was on."""
    store = InMemory(dead_letter_policy=DEAD, retain_acked_messages=retain)
    store.publish("a")
    exhausted(store)
    store.pull()
    assert store.store.metrics(NAME)["num_retained_acked_messages"] == int(retain)
    store.store.seek(NAME, time=at(0))
    assert list(store.backlog()) == ["a"] * retain


def test_an_exchange_leases_for_as_long_as_it_says() -> None:
    """StreamingPull: `stream_ack_deadline_seconds`, if not the subscription's ack deadline."""
    store = InMemory()
    store.publish("a")
    name, uid = store.store._subscription(NAME), store.store.get_subscription(NAME).uid
    minute = timedelta(minutes=1)
    channel = StoreChannel(store.tables, name, uid, store.driver.clock.now)
    lease = channel.exchange(AckRequest(), 1, store.now, minute).leased
    assert lease is not None
    assert lease.until == store.now + minute


def test_a_micro_batch_that_is_processed_is_acknowledged_at_once() -> None:
    store = InMemory()
    store.publish("a", "b")
    name, uid = store.store._subscription(NAME), store.store.get_subscription(NAME).uid
    pull.pull_micro_batch(store.tables, name, "query", 0, 1, store.driver.clock.now, uid=uid)
    pull.finish_micro_batch(store.tables, name, "query", 0, store.now, uid=uid)
    assert store.backlog() == {"b": "available"}


def test_an_ack_id_that_was_never_given_out_is_invalid() -> None:
    """An ack of a delivery yet to come does nothing."""
    store = InMemory()
    store.publish("a")
    (first,) = store.pull()
    next_lease = str(AckId(store.store.get_subscription(NAME).uid, 2, 0))
    told = store.store.acknowledge(NAME, [next_lease])
    assert list(told.invalid) == [next_lease]
    assert store.backlog() == {"a": "leased"}
    assert list(store.store.acknowledge(NAME, [first.ack_id]).success) == [first.ack_id]


def test_what_a_process_remembers_is_not_believed_where_it_changes_nothing() -> None:
    """Whoever is given ack ids by another process can extend and end those leases."""
    store = InMemory()
    store.publish("a", "b")
    store.pull(1)  # what this process writes it remembers
    (other,) = store.driver.pull(store.driver.open(), NAME, 1)
    told = store.store.modify_ack_deadline(NAME, [other.ack_id], 60)
    assert (list(told.success), list(told.invalid)) == ([other.ack_id], [])
    store.driver.open().modify_ack_deadline(NAME, [other.ack_id], 0)
    assert [each.data for each in store.pull()] == ["b"]


@pytest.mark.parametrize("end", ["delete_subscription", "detach_subscription"])
def test_nothing_is_remembered_of_a_subscription_that_has_ended(end: str) -> None:
    # a process that creates and deletes subscriptions all day would remember each
    store = InMemory()
    store.publish("a")
    store.pull()
    states = store.tables.ack_states
    assert len(states._cache) == 1
    getattr(store.store, end)(NAME)
    assert states._cache == {}
    with pytest.raises(PubSubError):
        store.pull()


def test_nothing_is_remembered_of_a_subscription_that_has_expired() -> None:
    store = InMemory(expiration_policy=ExpirationPolicy("8d"))
    store.be_at(9 * 24 * 3600)
    store.store.maintain()
    assert store.tables.ack_states._cache == {}


@pytest.mark.parametrize(
    "fields", [{}, {"enable_message_ordering": True}, {"filter": "attributes:a"}], ids=str
)
def test_a_pull_while_everything_is_leased_writes_nothing(fields: dict[str, Any]) -> None:
    """Consumers ask again and again, and each write is a commit of the ack state."""
    world = InMemory(**fields)
    world.publish("a", attributes={"a": ""})
    world.publish("b", attributes={"a": ""})
    assert len(world.pull()) == 2
    before = world.revision()
    for _ in range(3):
        world.be_at((world.now - at(0)).total_seconds() + 1)
        assert world.pull() == []
    assert world.revision() == before


@pytest.mark.parametrize("ordered", [True, False])
def test_what_a_look_at_ordering_keys_found_is_kept_by_a_pull_of_nothing(ordered: bool) -> None:
    """Else each further pull would read the keys of the topic once more."""
    policy = RetryPolicy("60s", "60s")
    world = InMemory(enable_message_ordering=ordered, retry_policy=policy)
    world.publish("a", "b")
    assert len(world.pull()) == 2
    before = world.revision()
    world.be_at(30)  # the lease is over, and its messages back off
    for _ in range(3):
        assert world.pull() == []
        assert world.revision() == before + ordered
