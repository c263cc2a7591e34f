"""Rows as messages: which cannot be read, and what becomes of them and of those behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import DataLoss, DeadLetterPolicy
from pubsub_delta.batches import PulledBatch
from pubsub_delta.delivery.dead_letters import UNREADABLE
from pubsub_delta.delivery.leases import Lease
from pubsub_delta.delivery.unreadable import (
    SetAside,
    find_unreadable,
    python_values,
    warn_unreadable,
)
from pubsub_delta.errors import UnreadableMessageWarning
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.policy.ack_requests import AckRequest
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.tables.messages.stored import StoredMessages
from tests.unit.builders import PLAIN, START
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory
from tests.unit.raw_rows import RawPairs, raw_rows

GOOD: RawPairs = [(b"k", b"v")]
BAD: RawPairs = [(b"k", b"\xff")]


def test_what_can_be_read_is_left_as_it_is() -> None:
    rows = raw_rows(GOOD, [], [(b"\xc3\xa9", b""), *GOOD], keys=[b"a", b"", b"\xc3\xa9"])
    assert find_unreadable(rows) == {}
    assert SetAside(ordered=True).remove_unreadable(rows) == (rows, {})
    assert python_values(rows) == rows.to_pylist()


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (raw_rows(GOOD, BAD), "its attributes are no valid UTF-8"),
        (raw_rows(GOOD, [(b"\xc3(", b"v")]), "its attributes are no valid UTF-8"),
        (raw_rows(GOOD, [*GOOD, (b"n", None)]), "an attribute has no value"),
        (raw_rows(GOOD, GOOD, keys=[b"k", b"\xfe"]), "its ordering_key is not valid UTF-8"),
        (raw_rows(GOOD, GOOD, times=[START, None]), "it has no publish_time"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_place(rows: pa.Table, why: str) -> None:
    assert find_unreadable(rows) == {1: why}
    assert find_unreadable(rows.slice(0, 1)) == {}
    assert find_unreadable(rows.slice(1)) == {0: why}
    left, told = SetAside(ordered=False).remove_unreadable(rows)
    assert (left["position"].to_pylist(), told) == ([0], {1: why})


def test_a_time_beyond_the_years_that_there_are_cannot_be_read() -> None:
    rows = raw_rows(GOOD, GOOD, GOOD)
    for far in (2**62, -(2**62)):
        times = pa.array([0, far, 0], pa.int64()).cast(pa.timestamp("us", "UTC"))
        strange = rows.set_column(1, "publish_time", times)
        assert find_unreadable(strange) == {1: "its publish_time is not in the years 1 to 9999"}
        assert [row["publish_time"] is None for row in python_values(strange)] == [
            False,
            True,
            False,
        ]


def test_bytes_that_are_no_utf8_are_shown_as_what_they_are() -> None:
    (row, _) = python_values(
        raw_rows([(b"\xff", b"a\xfe"), (b"n", None)], [], keys=[b"\xc3(", b""])
    )
    assert row["attributes"] == [("\\xff", "a\\xfe"), ("n", "")]
    assert (row["ordering_key"], row["data"]) == ("\\xc3(", b"0")


# With ordering: "a failed message is redelivered together with every later message of its key"


def test_later_messages_of_its_key_are_set_aside_with_it() -> None:
    rows = raw_rows(GOOD, BAD, GOOD, GOOD, GOOD, keys=[b"a", b"a", b"b", b"a", b""])
    aside = SetAside(ordered=True)
    left, told = aside.remove_unreadable(rows)
    assert (left["position"].to_pylist(), list(told)) == ([0, 2, 4], [1])
    assert list(aside.positions) == [1, 3]
    later, told = aside.remove_unreadable(raw_rows(GOOD, GOOD, keys=[b"b", b"a"], first=5))
    assert (later["position"].to_pylist(), told, list(aside.positions)) == ([5], {}, [1, 3, 6])


def test_messages_without_a_key_hold_each_other_up_never() -> None:
    """Pub/Sub delivers messages without an ordering key in any order."""
    rows = raw_rows(GOOD, BAD, GOOD, keys=[b"", b"", b""])
    aside = SetAside(ordered=True)
    left, told = aside.remove_unreadable(rows)
    assert (left["position"].to_pylist(), list(told), list(aside.positions)) == ([0, 2], [1], [1])


def test_a_key_is_held_up_from_the_first_of_several_that_cannot_be_read() -> None:
    aside = SetAside(ordered=True)
    rows = raw_rows(GOOD, BAD, GOOD, BAD, GOOD, keys=[b"a"] * 5)
    left, told = aside.remove_unreadable(rows)
    assert (left["position"].to_pylist(), list(told)) == ([0], [1, 3])
    assert list(aside.positions) == [1, 2, 3, 4]


def test_without_ordering_keys_hold_nothing_up() -> None:
    aside = SetAside(ordered=False)
    left, _ = aside.remove_unreadable(raw_rows(BAD, GOOD, keys=[b"a", b"a"]))
    assert (left["position"].to_pylist(), list(aside.positions)) == ([1], [0])


def test_a_key_that_cannot_be_read_is_a_key_all_the_same() -> None:
    rows = raw_rows(GOOD, GOOD, GOOD, keys=[b"\xff", b"\xfe", b"\xff"])
    aside = SetAside(ordered=True)
    left, told = aside.remove_unreadable(rows.slice(0, 1))
    assert (left.num_rows, list(told)) == (0, [0])
    left, told = aside.remove_unreadable(raw_rows(GOOD, keys=[b"\xff"], first=9))
    assert (left.num_rows, list(told)) == (0, [9])


def test_what_has_another_time_is_set_aside_before_what_follows_it() -> None:
    rows, stray = raw_rows(GOOD, keys=[b"a"], first=2), raw_rows(GOOD, keys=[b"a"], first=1)
    aside = SetAside(ordered=True)
    left, told = aside.remove_unreadable(rows, stray)
    assert (left.num_rows, told) == (0, {1: "its publish_time is not that of its commit"})
    before = raw_rows(GOOD, keys=[b"a"], first=0)
    assert aside.remove_unreadable(before)[0].num_rows == 1


def test_a_warning_names_the_topic_and_a_few_messages() -> None:
    told = dict.fromkeys(range(7, 20), "it is odd")
    with pytest.warns(UnreadableMessageWarning) as warned:
        warn_unreadable(told, PLAIN)
    (text,) = [str(each.message) for each in warned]
    named = "messages 7 (it is odd), 8 (it is odd), 9 (it is odd), 10 (it is odd), 11 (it is odd)"
    assert text.startswith(f"{named} and 8 more of {PLAIN.topic} cannot be read")
    assert PLAIN.name in text
    warn_unreadable({}, PLAIN)


# In a store


class Damaged(InMemory):
    """A store with messages a, b and c, of which b has another publish time than its commit."""

    def __init__(self, *, lost: bool = False) -> None:
        super().__init__(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
        self.store.create_subscription("letters-kept", LETTERS)
        self.publish("a", "b", "c")
        self.ids = [each.message_id for each in self.pull()]
        self.be_at(10)
        uid = self.store.get_topic(TOPIC).uid
        (name,) = [each for each in self.driver.world.lane.tables if f"messages/{uid}" in each]
        table = self.driver.world.lane.tables[name]
        rows = [dict(row) for row in table.rows]
        if lost:
            del rows[1]
        else:
            rows[1]["publish_time"] -= timedelta(days=1)
        table.versions[-1] = pa.Table.from_pylist(rows, table.schema.columns)


def test_what_is_said_of_a_whole_batch_does_not_mean_what_was_set_aside() -> None:
    world = Damaged()
    batch = world.store.pull(NAME)
    with pytest.warns(UnreadableMessageWarning, match=f"message {world.ids[1]} "):
        assert [message.data for message in batch] == [b"a", b"c"]
    assert len(batch.modify_ack_deadline(600).success) == 2
    assert len(batch.ack().success) == 2
    assert world.store.metrics(NAME)["num_undelivered_messages"] == 1
    world.be_at(20)
    assert world.store.pull(NAME).message_count == 1


def test_a_table_of_a_batch_has_the_others() -> None:
    world = Damaged()
    batch = world.store.pull(NAME)
    with pytest.warns(UnreadableMessageWarning):
        assert batch.arrow()["data"].to_pylist() == [b"a", b"c"]
    assert len(batch.ack().success) == 2


@pytest.mark.parametrize("lost", [False, True])
def test_who_receives_is_given_the_others(lost: bool) -> None:
    world = Damaged(lost=lost)
    name, uid = world.store._subscription(NAME), world.store.get_subscription(NAME).uid
    channel = StoreChannel(world.tables, name, uid, world.driver.clock.now)
    lease = channel.exchange(AckRequest(), 10, world.now).leased
    assert isinstance(lease, Lease)
    with pytest.warns(UnreadableMessageWarning, match=f"message {world.ids[1]} "):
        found = lease.receive(lease.positions, 1000)
    assert [message.data for message in found] == [b"a", b"c"]
    assert list(lease.set_aside.positions) == [int(world.ids[1])]


def test_who_iterates_is_told_of_a_loss_in_an_earlier_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of a part at a time: "DataLoss, after the last message"."""
    whole = StoredMessages.batches

    def row_by_row(*given: Any) -> Iterator[pa.RecordBatch]:
        for batch in whole(*given):
            yield from (batch.slice(n, 1) for n in range(batch.num_rows))

    monkeypatch.setattr(StoredMessages, "batches", row_by_row)
    world = Damaged(lost=True)
    world.publish("d", "e")
    batch = iter(world.store.pull(NAME))
    assert [next(batch).data for _ in range(4)] == [b"a", b"c", b"d", b"e"]
    with pytest.raises(DataLoss, match="1 of 5 leased messages are missing"):
        next(batch)


def test_who_iterates_is_told_of_a_loss_after_the_others() -> None:
    world = Damaged(lost=True)
    batch = iter(world.store.pull(NAME))
    assert [next(batch).data, next(batch).data] == [b"a", b"c"]
    with pytest.raises(DataLoss, match="1 of 3 leased messages are missing"):
        next(batch)


@pytest.mark.parametrize("read", [list, PulledBatch.arrow])
def test_what_is_said_of_a_whole_batch_does_not_mean_what_was_missing(
    read: Callable[[PulledBatch], object],
) -> None:
    """Who goes on after ``DataLoss`` has not received it: it comes again once it is restored."""
    world = Damaged(lost=True)
    batch = world.store.pull(NAME)
    with pytest.raises(DataLoss, match="1 of 3 leased messages are missing"):
        read(batch)
    assert len(batch.modify_ack_deadline(600).success) == 2
    assert len(batch.ack().success) == 2
    assert world.store.metrics(NAME)["num_undelivered_messages"] == 1
    world.be_at(20)
    assert world.store.pull(NAME).message_count == 1


def dead_letters(world: Damaged) -> list[ReceivedMessage]:
    """Let every delivery fail, and return what is forwarded."""
    for number in range(2, 6):
        world.store.pull(NAME)
        world.be_at(10 * number)
    world.store.pull(NAME)
    return list(world.store.pull("letters-kept"))


def test_dead_letters_have_the_order_of_their_messages_whatever_time_these_have() -> None:
    """Messages of an ordering key are forwarded in their order."""
    assert [each.data for each in dead_letters(Damaged())] == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("lost", "data", "why"),
    [
        (False, b"b", "its publish_time is not that of its commit"),
        (True, b"", "it is not stored any more"),
    ],
)
def test_it_becomes_a_dead_letter_that_tells_why(lost: bool, data: bytes, why: str) -> None:
    world = Damaged(lost=lost)
    letters = {each.data: each.attributes for each in dead_letters(world)}
    assert set(letters) == {b"a", data, b"c"}
    assert letters[data][UNREADABLE] == f"message {world.ids[1]}: {why}"
    assert letters[data]["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"
    assert ("CloudPubSubDeadLetterSourceTopicPublishTime" in letters[data]) is not lost
    assert UNREADABLE not in letters[b"a"]
