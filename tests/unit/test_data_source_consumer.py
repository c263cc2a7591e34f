"""What a stream of ``format("pubsub_delta")`` leases and acknowledges, offset by offset.

A consumer is the Python process of a query; another one on the same offsets is the query started
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from pubsub_delta import DeadLetterPolicy, FailedPrecondition, Message, NotFound
from pubsub_delta.datasource import partitions
from pubsub_delta.datasource.consumer import Consumer
from pubsub_delta.datasource.offsets import Offset
from pubsub_delta.policy.ack_ids import AckId
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.querying import ALIVE, Query, a_store, end, texts


@pytest.fixture(autouse=True)
def _end() -> Iterator[None]:
    """End the processes of queries, which give nothing back."""
    yield
    end()


def test_asking_for_the_next_offset_acknowledges_what_was_processed() -> None:
    # "Ack of batch n and pull of batch n+1 are one commit."
    store = a_store()
    query = Query(store, most=2)
    assert query.step()
    assert store.backlog() == {"a": "leased", "b": "leased", "c": "available"}
    before = store.revision()
    assert query.plan()
    assert store.revision() == before + 1
    assert store.backlog() == {"c": "leased"}
    query.run()
    query.commit()
    assert not query.plan()
    assert store.backlog() == {}
    assert query.seen == [["a", "b"], ["c"]]


def test_an_idle_stream_writes_nothing() -> None:
    store = a_store()
    query = Query(store)
    while query.step():
        pass
    before = store.revision()
    assert not query.plan()
    assert store.revision() == before


def test_a_micro_batch_that_is_run_again_finds_the_same_messages() -> None:
    # "a restarted query gets `partitions(start, end)` for the same offsets again and must find the
    # same messages"
    store = a_store(ack_deadline_seconds=10)
    query = Query(store, most=2)
    query.plan()
    assert query.run() == ["a", "b"]
    store.publish("d")
    store.be_at(60)  # the lease is long over
    query.start()
    assert query.run() == ["a", "b"]
    query.commit()
    assert query.step()
    assert query.seen[-1] == ["c", "d"]


def test_what_others_took_meanwhile_is_not_seen_again() -> None:
    store = a_store(ack_deadline_seconds=10)
    query = Query(store)
    query.plan()
    query.run()
    store.be_at(60)
    taken = store.pull(1)
    query.start()
    assert query.run() == ["b", "c"]
    query.commit()
    query.plan()
    store.store.modify_ack_deadline(NAME, [taken[0].ack_id], 0)
    assert store.backlog() == {"a": "available"}


def test_a_lease_of_which_spark_never_heard_is_found_again_by_the_next_start() -> None:
    """The process died before Spark wrote the offset: the same messages, at once."""
    store = a_store(ack_deadline_seconds=600)
    query = Query(store, most=1)
    query.step()
    query.plan()
    query.planned = None
    query.start()
    store.publish("d")
    assert query.plan()
    assert query.run() == ["b"]


def test_a_first_lease_of_which_spark_never_heard_runs_out() -> None:
    """No offset names it: nobody but its deadline gives the messages back."""
    store = a_store(ack_deadline_seconds=10)
    query = Query(store)
    query.plan()
    query.planned = None
    query.start()
    assert not query.plan()
    store.be_at(11)
    assert query.plan()
    assert query.run() == ["a", "b", "c"]


def test_a_lease_that_spark_never_heard_of_and_others_took_holds_nothing_up() -> None:
    store = a_store(ack_deadline_seconds=10)
    query = Query(store, most=1)
    query.step()
    query.plan()  # b
    query.planned = None
    store.be_at(60)
    for each in store.pull():
        store.store.acknowledge(NAME, [each.ack_id])
    query.start()
    assert query.step()
    assert query.seen[-1] == []
    assert not query.plan()
    store.publish("d")
    assert query.step()
    assert query.seen[-1] == ["d"]
    assert not query.step()
    assert store.backlog() == {}


def test_a_micro_batch_that_is_forgotten_is_empty_when_it_is_run_again() -> None:
    """A sink skips a batch id that it has seen: other messages under it would be lost."""
    store = a_store(ack_deadline_seconds=10)
    query = Query(store)
    query.plan()
    query.run()
    store.be_at(60)
    store.change(lambda state: replace(state, streams=()))
    query.start()
    assert query.run() == []
    query.commit()
    assert query.step()
    assert query.seen[-1] == ["a", "b", "c"]


def test_parts_of_the_same_offsets_are_asked_for_as_often_as_spark_likes() -> None:
    store = a_store()
    query = Query(store)
    query.plan()
    before = store.revision()
    assert query.run() == query.run() == ["a", "b", "c"]
    assert store.revision() == before


def test_an_empty_range_has_no_parts() -> None:
    # "This may be called with an empty offset range when start == end"
    consumer = Query(a_store()).consumer
    assert consumer.parts(consumer.start(), consumer.start()) == []


def drained(query: Query) -> list[list[str]]:
    query.start()
    query.consumer.drain()
    while query.step():
        assert len(query.seen) < 20, "it does not end"
    return query.seen


def test_available_now_ends_when_what_was_there_is_acknowledged() -> None:
    # "will eventually reach the target offset, and finally returns the same offset"
    store = a_store()
    assert drained(Query(store, most=2)) == [["a", "b"], ["c"]]
    assert store.backlog() == {}


def test_available_now_leaves_what_comes_later() -> None:
    # "The source must behave as if there is no new data coming in after the target offset"
    store = a_store()
    query = Query(store, most=2)
    query.consumer.drain()
    store.publish("d", "e")
    while query.step():
        pass
    assert query.seen == [["a", "b"], ["c"]]
    assert store.backlog() == {"d": "available", "e": "available"}


def test_available_now_takes_what_failed_before_it_and_not_what_comes_later() -> None:
    """ "The source must behave as if there is no new data", though what failed comes last."""
    store = a_store()
    store.store.pull(NAME).nack()
    query = Query(store, most=2)
    query.consumer.drain()
    published = []
    while query.step():
        published += ["d", "e"]
        store.publish("d", "e")
        assert len(query.seen) < 20, "it does not end"
    assert query.seen == [["a", "b"], ["c"]]
    assert sorted(store.backlog()) == ["d", "e"]


def drained_of_what_fails(store: InMemory) -> list[list[str]]:
    """Give back every message of a query that drains, one a micro-batch; return what it saw."""
    uid = store.store.get_subscription(NAME).uid
    query = Query(store, most=1)
    query.consumer.drain()
    while query.plan():
        start = query.committed or query.consumer.start()
        assert query.planned is not None
        (part,) = query.consumer.parts(start, query.planned)
        query.run()
        (position,) = part.spans[0].span().positions
        lease_id = int(str(part.ack_prefix).split(".")[1])
        ack_id = str(AckId(uid, lease_id, position))
        store.store.modify_ack_deadline(NAME, [ack_id], 0)
        query.commit()
        assert len(query.seen) < 20, "it does not end"
    return query.seen


def test_available_now_leaves_what_is_given_back_again_and_again() -> None:
    """Each message was offered once: that is all there was to do."""
    store = a_store()
    assert drained_of_what_fails(store) == [["a"], ["b"], ["c"]]
    assert "a" in store.backlog()


def test_available_now_ends_where_a_message_that_fails_holds_up_those_of_its_key() -> None:
    """Only ``a`` can be offered: ``b`` and ``c`` wait behind it."""
    store = InMemory(enable_message_ordering=True)
    store.store.publish(TOPIC, [Message(each, ordering_key="k") for each in (b"a", b"b", b"c")])
    assert drained_of_what_fails(store) == [["a"], ["a"]]
    assert store.backlog().keys() == {"a", "b", "c"}


def test_available_now_runs_the_last_micro_batch_again_first() -> None:
    store = a_store()
    query = Query(store, most=2)
    query.plan()
    query.run()
    query.start()
    query.consumer.drain()
    assert query.run() == ["a", "b"]
    query.commit()
    while query.step():
        pass
    assert query.seen[-1] == ["c"]
    assert store.backlog() == {}


def test_of_two_micro_batches_only_the_one_that_runs_is_extended() -> None:
    """A query that asks for an earlier micro-batch again holds the later one no longer."""
    store = a_store()
    query = Query(store, most=1)
    query.step()
    earlier, first = query.committed, query.consumer.start()
    query.plan()
    held = query.consumer._batch_lease
    assert held is not None
    assert held._thread.is_alive()
    assert earlier is not None
    query.consumer.parts(first, earlier)
    assert not held._thread.is_alive()


def test_a_lease_is_extended_for_as_long_as_the_process_lives() -> None:
    store = a_store(ack_deadline_seconds=10)
    query = Query(store)
    query.plan()
    batch_lease = query.consumer._batch_lease
    assert batch_lease is not None
    query.consumer.leave()
    assert query.consumer._batch_lease is None
    assert store.backlog() == {"a": "leased", "b": "leased", "c": "leased"}
    store.be_at(11)
    assert [each.data for each in store.pull()] == ["a", "b", "c"]


@pytest.mark.parametrize("starts_again", [True, False])
def test_a_planned_micro_batch_of_another_subscription_is_refused(starts_again: bool) -> None:
    """ "A checkpoint belongs to one subscription", also where that is gone since the plan."""
    store = a_store()
    query = Query(store)
    query.plan()
    store.store.delete_subscription(NAME)
    store.store.create_subscription(NAME, TOPIC)
    if starts_again:
        query.start()
    query.committed = Offset(query.planned.subscription) if query.planned else None
    with pytest.raises(FailedPrecondition, match="checkpoint: it belongs to another subscription"):
        query.run()


def test_a_checkpoint_of_another_subscription_is_refused() -> None:
    # "A checkpoint belongs to one subscription."
    store = a_store()
    query = Query(store)
    query.step()
    store.store.delete_subscription(NAME)
    store.store.create_subscription(NAME, TOPIC)
    query.start()
    with pytest.raises(FailedPrecondition, match="checkpoint: it belongs to another subscription"):
        query.plan()


def test_a_subscription_that_is_not_there_is_told_at_the_start() -> None:
    store = InMemory()
    with pytest.raises(NotFound, match="absent does not exist; create it first"):
        Query(store, name="absent").plan()


def test_a_topic_that_the_subscription_is_not_attached_to_is_refused() -> None:
    """Also by a query that goes on with its checkpoint: "`topic` beside it is checked"."""
    store = a_store()
    tables, name = store.driver.open()._tables, store.store._subscription(NAME)
    right, wrong = (
        Consumer(tables, name, store.driver.clock, store.store._topic(topic))
        for topic in (TOPIC, LETTERS)
    )
    ALIVE.append(right)
    start = right.start()
    assert start.batch == -1
    first = right.following(start, 1)
    for refused in (
        wrong.start,
        lambda: wrong.following(start, 1),
        lambda: wrong.parts(start, first),
    ):
        with pytest.raises(FailedPrecondition, match=r"letters, but .* is attached to .*flights"):
            refused()
    store.store.delete_topic(TOPIC)  # "A deleted topic leaves its subscriptions their backlog."
    second = right.following(first, 1)
    assert [len(part.spans) for part in right.parts(first, second)] == [1]


def test_attempts_are_counted_under_a_dead_letter_policy() -> None:
    store = a_store(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    consumer = Query(store).consumer
    start = consumer.start()
    (part,) = consumer.parts(start, consumer.following(start, None))
    assert part.counted
    assert [each.delivery_attempt for each in part.spans] == [1]


@pytest.mark.parametrize("ordered", [False, True])
def test_the_messages_of_an_ordered_subscription_stay_in_one_part(
    ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "The messages of an ordering key stand in one partition, in order."
    monkeypatch.setattr(partitions, "MESSAGE_COST", partitions.PARTITION_BYTES)
    store = a_store(enable_message_ordering=ordered)
    consumer = Query(store).consumer
    start = consumer.start()
    found = consumer.parts(start, consumer.following(start, None))
    assert texts(store, found) == ["a", "b", "c"]
    assert len(found) == (1 if ordered else 3)


def test_bytes_are_counted_as_messages_of_the_mean_size() -> None:
    """`maxBytesPerTrigger`: an estimate from what the log tells of the files."""
    store = a_store()
    consumer = Query(store).consumer
    files = store.tables.lanes.control.files(
        store.tables.messages(store.store.get_topic(TOPIC).uid).table
    )
    mean = sum(each.size for each in files) / 3
    assert consumer.messages_of(int(2 * mean) + 1) == 2
    assert consumer.messages_of(1) == 1
    assert Query(InMemory()).consumer.messages_of(1) == 1


def test_a_day_is_no_reason_to_lose_a_lease() -> None:
    """What a query holds when it is down for long is its own until somebody else takes it."""
    store = a_store()
    query = Query(store)
    query.plan()
    query.run()
    store.be_at(timedelta(days=1).total_seconds())
    query.start()
    assert query.run() == ["a", "b", "c"]
