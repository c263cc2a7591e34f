"""One stored message that cannot be read stops none behind it, whoever reads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubsub_delta import (
    DeadLetterPolicy,
    ManualClock,
    Message,
    PubSub,
    PulledBatch,
    UnreadableMessageWarning,
)
from pubsub_delta.delivery.dead_letters import UNREADABLE
from pubsub_delta.operations.exchange import StoreChannel
from pubsub_delta.policy.ack_requests import AckRequest
from tests.unit.raw_rows import raw_maps, raw_texts

TOPIC, NAME = "flights", "delays"
PATH = f"projects/local/topics/{TOPIC}"


class World:
    """A store, one topic of messages 0, 1, … and a subscription."""

    def __init__(self, root: Path, **fields: Any) -> None:
        self.root, self.clock = root, ManualClock()
        self.store = PubSub(None, str(root), clock=self.clock)
        self.store.create_topic(TOPIC)
        self.store.create_subscription(NAME, TOPIC, **fields)

    def publish(self, count: int, keys: str = "") -> list[str]:
        sent = [Message(b"%d" % n, {"n": f"{n}"}, keys[n] if keys else "") for n in range(count)]
        return list(self.store.publish(TOPIC, sent).message_ids)

    def damage(self, **columns: Mapping[int, Any]) -> None:
        """Change some values of the file that holds the messages, by column and place."""
        uid = self.store.get_topic(TOPIC).uid
        (file,) = (self.root / "messages" / uid).rglob("publish_date=*/*.parquet")
        rows = pq.ParquetFile(file).read()
        for name, changed in columns.items():
            values = [changed.get(n, each) for n, each in enumerate(self._raw(rows, name))]
            type_ = rows.schema.field(name).type
            made = MAKERS[name](values) if name in MAKERS else pa.array(values, type_)
            rows = rows.set_column(rows.column_names.index(name), name, made)
        pq.write_table(rows, file)
        self.store = PubSub(None, str(self.root), clock=self.clock)

    def _raw(self, rows: pa.Table, name: str) -> list[Any]:
        plain: list[Any] = rows[name].to_pylist()
        if name == "ordering_key":
            return [each.encode() for each in plain]
        if name == "attributes":
            return [[(k.encode(), v.encode()) for k, v in each] for each in plain]
        return plain


MAKERS: dict[str, Callable[[list[Any]], pa.Array]] = {
    "ordering_key": raw_texts,
    "attributes": raw_maps,
}
DAMAGE: dict[str, tuple[dict[str, dict[int, Any]], str]] = {
    "a value": ({"attributes": {1: [(b"k", b"\xff")]}}, "its attributes are no valid UTF-8"),
    "a key": ({"attributes": {1: [(b"\xc3\x28", b"v")]}}, "its attributes are no valid UTF-8"),
    "no value": ({"attributes": {1: [(b"k", None)]}}, "an attribute has no value"),
    "an ordering key": ({"ordering_key": {1: b"\xff"}}, "its ordering_key is not valid UTF-8"),
    "no time": ({"publish_time": {1: None}}, "it has no publish_time"),
    "another time": (
        {"publish_time": {1: datetime(2025, 1, 1, tzinfo=timezone.utc)}},
        "its publish_time is not that of its commit",
    ),
}
LOST = {"position": {1: None}}
"""A row that no position names any more."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


damaged = pytest.mark.parametrize(("columns", "why"), DAMAGE.values(), ids=DAMAGE.keys())


def told(ids: list[str], place: int, why: str) -> str:
    return rf"message {ids[place]} \({why}\) of {PATH} cannot be read"


def by_iterating(batch: PulledBatch) -> list[bytes]:
    return [message.data for message in batch]


def by_arrow(batch: PulledBatch) -> list[bytes]:
    rows = batch.arrow()
    assert [dict(each) for each in rows["attributes"].to_pylist()] == [{"n": "0"}, {"n": "2"}]
    found: list[bytes] = rows["data"].to_pylist()
    return found


@damaged
@pytest.mark.parametrize("read", [by_iterating, by_arrow])
def test_the_others_of_its_batch_come_and_it_is_named(
    world: World,
    columns: dict[str, dict[int, Any]],
    why: str,
    read: Callable[[PulledBatch], list[bytes]],
) -> None:
    ids = world.publish(3)
    world.damage(**columns)
    batch = world.store.pull(NAME)
    with pytest.warns(UnreadableMessageWarning, match=told(ids, 1, why)):
        assert read(batch) == [b"0", b"2"]
    # What is said of the whole batch does not mean it: its delivery fails when the lease is over.
    assert batch.ack().counts == {"success": 2, "expired": 0, "invalid": 0}
    assert world.store.metrics(NAME)["num_outstanding_messages"] == 1
    world.clock.advance(10)
    assert [each.state for each in world.store.peek(NAME)] in (["available"], [])
    assert world.store.metrics(NAME)["num_undelivered_messages"] == 1
    world.publish(1)
    assert by_iterating(world.store.pull(NAME, 1)) == [b"0"]


@damaged
def test_a_consumer_that_receives_is_given_the_others(
    world: World, columns: dict[str, dict[int, Any]], why: str
) -> None:
    """The server, and a callback."""
    ids = world.publish(3)
    world.damage(**columns)
    assert received(world, ids, told(ids, 1, why)) == [b"0", b"2"]


def test_a_message_that_is_lost_does_not_keep_a_consumer_from_the_others(world: World) -> None:
    ids = world.publish(3)
    world.damage(**LOST)
    expected = told(ids, 1, "it is not stored any more")
    assert received(world, ids, expected) == [b"0", b"2"]


def received(world: World, ids: list[str], expected: str) -> list[bytes]:
    name, uid = world.store._subscription(NAME), world.store.get_subscription(NAME).uid
    channel = StoreChannel(world.store._tables, name, uid, world.clock.now)
    lease = channel.exchange(AckRequest(), 10, world.clock.now()).leased
    assert lease is not None
    with pytest.warns(UnreadableMessageWarning, match=expected):
        found = lease.receive(lease.positions, 1)  # the first, whatever its size
    rest = lease.positions.within(int(found[-1].message_id) + 1, 1 << 60)
    with pytest.warns(UnreadableMessageWarning, match=expected):
        found += lease.receive(rest, 10_000)
    assert [message.message_id for message in found] == [ids[0], ids[2]]
    return [message.data for message in found]


def test_later_messages_of_its_key_return_with_it(tmp_path: Path) -> None:
    # "A failed message is redelivered together with every later message of its key in its batch"
    world = World(tmp_path, enable_message_ordering=True)
    world.publish(6, "abaaba")
    world.damage(attributes={2: [(b"k", b"\xff")]})
    batch = world.store.pull(NAME)
    with pytest.warns(UnreadableMessageWarning):
        assert by_iterating(batch) == [b"0", b"1", b"4"]
    assert batch.ack().counts["success"] == 3
    world.clock.advance(10)
    with pytest.warns(UnreadableMessageWarning):
        assert by_iterating(world.store.pull(NAME)) == []


def test_a_key_that_is_no_utf8_is_a_key_all_the_same(tmp_path: Path) -> None:
    world = World(tmp_path, enable_message_ordering=True)
    world.publish(4, "abab")
    world.damage(ordering_key={1: b"\xff", 3: b"\xff"})
    with pytest.warns(UnreadableMessageWarning):
        assert by_iterating(world.store.pull(NAME)) == [b"0", b"2"]


def letters(world: World) -> Iterator[tuple[bytes, dict[str, str]]]:
    """Let all that is there fail as often as is permitted; return the dead letters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadableMessageWarning)
        for _ in range(5):
            by_iterating_safely(world.store.pull(NAME))
            world.clock.advance(10)
        world.publish(1)
        assert by_iterating_safely(world.store.pull(NAME)) == [b"0"]
    for letter in world.store.pull("letters-kept"):
        source = letter.attributes
        assert source["CloudPubSubDeadLetterSourceDeliveryCount"] == "5"
        yield letter.data, dict(source)


def by_iterating_safely(batch: PulledBatch) -> list[bytes]:
    try:
        return by_iterating(batch)
    except Exception:
        return []


@pytest.fixture
def failing(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.store.create_topic("letters")
    world.store.create_subscription("letters-kept", "letters")
    world.store.update_subscription(NAME, dead_letter_policy=DeadLetterPolicy("letters", 5))
    return world


@damaged
def test_a_dead_letter_policy_takes_it_away_and_tells_why(
    failing: World, columns: dict[str, dict[int, Any]], why: str
) -> None:
    ids = failing.publish(3)
    failing.damage(**columns)
    found = dict(letters(failing))
    assert set(found) == {b"0", b"1", b"2"}
    assert [UNREADABLE in found[each] for each in (b"0", b"1", b"2")] == [False, True, False]
    assert found[b"1"][UNREADABLE] == f"message {ids[1]}: {why}"
    assert failing.store.metrics(NAME)["dead_letter_message_count"] == 3


def test_what_is_no_utf8_is_forwarded_as_far_as_it_can_be(failing: World) -> None:
    failing.publish(2)
    failing.damage(attributes={1: [(b"k\xff", b"v\xfe"), (b"n", b"1")]}, ordering_key={1: b"\xc3("})
    found = dict(letters(failing))[b"1"]
    assert (found["k\\xff"], found["n"]) == ("v\\xfe", "1")


def test_a_lost_message_leaves_a_dead_letter_without_data(failing: World) -> None:
    ids = failing.publish(3)
    failing.damage(**LOST)
    found = dict(letters(failing))
    assert set(found) == {b"0", b"", b"2"}
    assert found[b""][UNREADABLE] == f"message {ids[1]}: it is not stored any more"


@damaged
def test_a_look_shows_what_can_be_read(
    world: World, columns: dict[str, dict[int, Any]], why: str
) -> None:
    ids = world.publish(3)
    world.damage(**columns)
    shown = {each.data for each in world.store.peek(NAME)}
    assert {b"0", b"2"} <= shown, (ids, why)


def test_a_file_with_bytes_for_texts_is_read(world: World) -> None:
    """What an engine writes that knows no texts."""
    world.publish(2)
    raw = pa.map_(pa.binary(), pa.binary())
    uid = world.store.get_topic(TOPIC).uid
    (file,) = (world.root / "messages" / uid).rglob("publish_date=*/*.parquet")
    rows = pq.ParquetFile(file).read()
    for name, column in {
        "attributes": pa.array([[(b"n", b"0")], [(b"n", b"\xff")]], raw),
        "ordering_key": pa.array([b"", b""], pa.binary()),
        "publish_time": rows["publish_time"].cast(pa.timestamp("ns", "UTC")),
    }.items():
        rows = rows.set_column(rows.column_names.index(name), name, column)
    pq.write_table(rows, file)
    store = PubSub(None, str(world.root), clock=world.clock)
    with pytest.warns(UnreadableMessageWarning):
        assert [message.attributes for message in store.pull(NAME)] == [{"n": "0"}]


def test_a_time_beyond_all_bounds_is_none(world: World) -> None:
    """It is told, and kept out of what a topic's figures are made of."""
    world.publish(2)
    far = pa.scalar(2**62, pa.int64()).cast(pa.timestamp("us", "UTC"))
    uid = world.store.get_topic(TOPIC).uid
    (file,) = (world.root / "messages" / uid).rglob("publish_date=*/*.parquet")
    rows = pq.ParquetFile(file).read()
    times = pa.chunked_array([pa.array([rows["publish_time"][0]]), pa.array([far])])
    rows = rows.set_column(rows.column_names.index("publish_time"), "publish_time", times)
    pq.write_table(rows, file)
    store = PubSub(None, str(world.root), clock=world.clock)
    with pytest.warns(UnreadableMessageWarning, match="not in the years 1 to 9999"):
        assert by_iterating(store.pull(NAME)) == [b"0"]
    assert store.metrics(TOPIC)["message_count"] == 2


def test_many_are_told_in_one_warning(world: World) -> None:
    ids = world.publish(20)
    world.damage(attributes={n: [(b"k", b"\xff")] for n in range(3, 20)})
    with pytest.warns(UnreadableMessageWarning) as warned:
        assert by_iterating(world.store.pull(NAME)) == [b"0", b"1", b"2"]
    (text,) = [str(each.message) for each in warned]
    assert f"messages {ids[3]} (" in text
    assert "and 12 more of" in text
