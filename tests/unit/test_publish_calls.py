"""Publishes that would lose something in silence are refused, on tables in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import DeadLetterPolicy
from pubsub_delta.delivery.message_rows import checked_rows
from pubsub_delta.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.operations import publish
from pubsub_delta.tables.messages.commits import History
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.schemas import TEXT_BY_TEXT
from tests.model.memory import LAYOUT
from tests.model.memory_lane import MemoryLane
from tests.unit.in_memory import LETTERS, NAME, TOPIC, InMemory


def test_a_version_that_is_not_above_the_last_one_is_refused() -> None:
    """A version ≤ the last one is skipped silently by Delta; its messages would be nowhere."""
    world = InMemory()
    world.store.publish(TOPIC, ["a"], idempotency_id=("app", 5))
    for version in (0, 4):
        with pytest.raises(FailedPrecondition, match=f"version {version} of 'app' is not above"):
            world.store.publish(TOPIC, ["b"], idempotency_id=("app", version))
    world.store.publish(TOPIC, ["b"], idempotency_id=("app", 6))
    assert world.stored() == ["a", "b"]


def test_nothing_is_published_to_another_topic_than_the_one_that_was_read() -> None:
    """What is created anew under a name is another resource."""
    world = InMemory()
    seen = world.store.get_topic(TOPIC)
    world.store.publish(TOPIC, ["a"], if_unchanged=seen)
    world.store.delete_topic(TOPIC)
    world.store.create_topic(TOPIC)
    with pytest.raises(Aborted, match=r"has changed since if_unchanged was read \(uid\)"):
        world.store.publish(TOPIC, ["b"], if_unchanged=seen)
    assert world.stored() == []
    with pytest.raises(InvalidArgument, match="if_unchanged"):
        world.store.publish(LETTERS, ["b"], if_unchanged=seen)


def test_the_message_that_breaks_a_rule_is_named_by_its_place() -> None:
    """Whoever publishes a thousand messages finds the one that is refused."""
    world = InMemory()
    table = pa.table({"data": pa.array([b"a", b"b", b""])})
    for given in ([b"a", "b", b""], [b"a", b"b", 7], table):
        with pytest.raises(InvalidArgument, match=r"messages\[2\]"):
            world.store.publish(TOPIC, given)
    assert world.stored() == []


def test_the_error_of_a_generator_is_its_own() -> None:
    """A program's error is raised as it is: json.dumps raises TypeError for a datetime."""
    world = InMemory()
    rows = [{"delay": 7}, {"at": datetime(2026, 1, 1)}]
    with pytest.raises(TypeError, match="datetime is not JSON serializable"):
        world.store.publish(TOPIC, (json.dumps(row) for row in rows))
    assert world.stored() == []
    world.publish("a")
    (received,) = world.store.pull(NAME)
    said: list[Any] = [received.ack_id, None]
    with pytest.raises(TypeError, match="not subscriptable"):
        world.store.acknowledge(NAME, (each[:] for each in said))
    assert len(world.store.acknowledge(NAME, (each for each in said[:1])).success) == 1


def test_a_generator_may_use_its_buffer_again() -> None:
    """A message is what its generator yielded, as with ``readinto``."""
    world = InMemory()

    def read() -> Iterator[Any]:
        buffer = bytearray(1)
        for letter in b"abc":
            buffer[0] = letter
            yield buffer

    world.store.publish(TOPIC, read())
    assert world.stored() == ["a", "b", "c"]


@pytest.mark.parametrize("version", [-1, 2**63, 1.0, True, "1"])
def test_a_version_is_a_whole_number_that_delta_can_store(version: Any) -> None:
    """Delta's protocol: the version of a transaction is a long."""
    world = InMemory()
    with pytest.raises(InvalidArgument, match="a whole number from 0"):
        world.store.publish(TOPIC, ["a"], idempotency_id=("app", version))
    world.store.publish(TOPIC, ["a"], idempotency_id=("app", 2**63 - 1))
    assert world.stored() == ["a"]


def test_nobody_publishes_under_the_application_id_of_dead_letters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dead letters would be skipped as landed, or be given ever higher numbers, for ever."""
    world = InMemory(dead_letter_policy=DeadLetterPolicy(LETTERS, 5))
    world.store.create_subscription("undelivered", LETTERS)
    append, given = Messages.append, list[tuple[str, int] | None]()

    def noted(*args: Any) -> Any:
        given.append(args[4] if len(args) > 4 else None)
        return append(*args)

    monkeypatch.setattr(Messages, "append", noted)
    world.publish("a")
    for _ in range(5):
        world.store.modify_ack_deadline(NAME, [each.ack_id for each in world.pull()], 0)
    assert world.pull() == []
    assert given[-1] is not None
    application, number = given[-1]
    with pytest.raises(InvalidArgument, match=r"does not begin with 'pubsub_delta\.'"):
        world.store.publish(LETTERS, ["b"], idempotency_id=(application, number + 1))
    world.store.publish(LETTERS, ["b"], idempotency_id=(application.partition(".")[2], 2**62))
    assert [each.data for each in world.pull(name="undelivered")] == ["a", "b"]


def test_a_row_with_an_attribute_twice_is_refused() -> None:
    """A map that holds a key twice is refused: one of its values would be lost."""
    world = InMemory()
    rows = pa.table(
        {"attributes": pa.array([[("k", "1")], [("k", "1"), ("k", "2")]], TEXT_BY_TEXT)}
    )
    with pytest.raises(InvalidArgument, match=r"messages\[1\].attributes: a key appears twice"):
        world.store.publish(TOPIC, rows)
    assert world.stored() == []


def test_a_micro_batch_that_nobody_can_get_any_more_is_not_reported_as_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The topic was deleted while the query published to it, and nobody is subscribed to it."""
    world = InMemory()
    topic = world.tables.topic(world.store._topic(TOPIC))
    frame: Any = None

    def land(*_: object) -> bool:
        world.store.delete_subscription(NAME)
        world.store.delete_topic(TOPIC)
        return True

    monkeypatch.setattr(publish, "_publish_frame", land)
    with pytest.raises(NotFound, match="no subscription is left"):
        publish.publish_micro_batch(world.tables, topic, frame, world.now, "query", 7, None)


@pytest.mark.parametrize("lane_reads_transactions", [True, False])
def test_a_micro_batch_below_the_last_one_of_its_query_is_refused(
    lane_reads_transactions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta would skip it; with an older copy of the checkpoint it may have other rows."""
    # "nothing is lost in silence"
    world = InMemory()
    topic = world.tables.topic(world.store._topic(TOPIC))
    lane = world.tables.messages(topic.uid)._lane
    frame: Any = None
    for batch_id in (8, 9, 10):
        world.store.publish(TOPIC, [b"a"], idempotency_id=("query", batch_id))
    world.store.publish(TOPIC, [b"a"], idempotency_id=("another", 20))
    world.store.publish(TOPIC, [b"a"])
    monkeypatch.setattr(publish, "_publish_frame", lambda *_: False)
    if not lane_reads_transactions:
        monkeypatch.setattr(type(lane), "transaction_version", lambda *_: None)

    def run(batch_id: int) -> None:
        publish.publish_micro_batch(world.tables, topic, frame, world.now, "query", batch_id, None)

    run(10)
    with pytest.raises(FailedPrecondition, match="checkpoint: it is an older copy: micro-batch 10"):
        run(9)


def test_what_the_store_assigns_is_its_own_whatever_a_publisher_says() -> None:
    # "the server assigns message_id … and publish_time; values that a client supplies for those
    # are ignored"
    world = InMemory()
    said = {"message_id": ["99"], "publish_time": [0], "publish_date": ["never"]}
    result = world.store.publish(TOPIC, pa.table({"data": ["a"], **said}))
    (message,) = world.store.find_messages(f"projects/local/topics/{TOPIC}").messages()
    assert [message.message_id] == [*result.message_ids] != said["message_id"]
    assert message.publish_time == result.publish_time
    assert result.publish_time is not None
    assert result.publish_time.year > 1970


@pytest.mark.parametrize("application", ["a", "a" * 256, "ü" * 128])
def test_an_application_id_has_1_to_256_bytes(application: str) -> None:
    world = InMemory()
    world.store.publish(TOPIC, ["a"], idempotency_id=(application, 0))
    world.store.publish(TOPIC, ["a"], idempotency_id=(application, 0))
    assert world.stored() == ["a"]


@pytest.mark.parametrize(
    "wrong",
    [("", 1), ("a" * 257, 1), ("ü" * 129, 1), ("\ud800", 1), (b"a", 1), (None, 1),
     ("a",), ("a", 1, 2), (), ["a", 1], "ab", 7],
)  # fmt: skip
def test_what_is_no_idempotency_id_is_refused(wrong: Any) -> None:
    world = InMemory()
    with pytest.raises(InvalidArgument, match=r"idempotency_id: .* is accepted"):
        world.store.publish(TOPIC, ["a"], idempotency_id=wrong)
    assert world.stored() == []


def test_a_publish_that_the_history_reaches_back_to_and_does_not_have_had_no_messages() -> None:
    """Delta makes no commit for a DataFrame without rows; what it has forgotten is NotFound."""
    world = InMemory()
    world.publish("a")
    before = world.now
    world.be_at(60)
    world.publish("b")
    world.be_at(120)
    uid = world.store.get_topic(TOPIC).uid

    def absent(time: datetime | None) -> publish.PublishResult:
        return publish.PublishResult(world.tables.messages(uid), time, "absent")

    for each in (before, world.now):
        assert (absent(each).message_count, list(absent(each).message_ids)) == (0, [])
    world.driver.world.lane.cut_log(LAYOUT.messages(uid))
    assert absent(world.now).message_count == 0
    for time in (None, before, before + timedelta(seconds=60)):
        with pytest.raises(NotFound, match="no longer in the topic's history"):
            _ = absent(time).message_count
        with pytest.raises(NotFound, match="no longer in the topic's history"):
            list(absent(time).message_ids)


def test_a_publish_that_a_cut_history_has_is_found() -> None:
    """Its ids are read from its commit, though what was before it is forgotten."""
    world = InMemory()
    world.publish("a")
    uid = world.store.get_topic(TOPIC).uid
    world.driver.world.lane.cut_log(LAYOUT.messages(uid))
    since = world.now
    for seconds in (60, 120):
        world.be_at(seconds)
        world.store.publish(TOPIC, ["b", "c"], idempotency_id=("app", seconds))
    messages = world.tables.messages(uid)
    assert messages.history.reaches_back_to(world.now)
    assert not messages.history.reaches_back_to(since)
    for time in (None, world.now):
        found = publish.PublishResult(messages, time, "app:60")
        assert (found.message_count, len(list(found.message_ids))) == (2, 2)


def test_messages_are_counted_though_their_commit_counts_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With spark.databricks.delta.history.metricsEnabled=false Delta counts no row of a write."""
    world = InMemory()
    world.store.publish(TOPIC, ["a", "b"], idempotency_id=("app", 1))
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    commit = messages.history.published_as("app:1")
    assert commit is not None
    of_frame = replace(commit, message_count=0, dense=False)
    monkeypatch.setattr(History, "published_as", lambda *_: of_frame)
    result = publish.PublishResult(messages, commit.publish_time, "app:1")
    assert (result.message_count, len(list(result.message_ids))) == (2, 2)


def test_the_log_of_a_topic_that_is_known_is_read_along_with_those_of_its_lookup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In object storage each log takes a request; a process knows the topics that it has used."""
    world, asked = InMemory(), set[str]()

    def prefetching(_: MemoryLane, *tables: str) -> AbstractContextManager[None]:
        asked.update(tables)
        return nullcontext()

    store = world.driver.open()
    table = LAYOUT.messages(world.store.get_topic(TOPIC).uid)
    monkeypatch.setattr(MemoryLane, "prefetching", prefetching)
    store.publish(TOPIC, ["a"])
    assert table not in asked
    store.publish(TOPIC, ["b"])
    assert table in asked


class Rows:
    """A DataFrame, as far as a repeated publish looks at it."""

    sparkSession = schema = object()  # noqa: N815

    def __init__(self, count: int) -> None:
        self._count = count

    def isEmpty(self) -> bool:
        return not self._count


def test_an_id_that_was_taken_without_messages_loses_none_that_come_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ "A caller-supplied idempotency id makes the second attempt a no-op": of what was published.

    Delta notes the id of a DataFrame without rows, as of a batch whose input had not arrived yet.
    """
    world = InMemory()
    messages = world.tables.messages(world.store.get_topic(TOPIC).uid)
    nothing = checked_rows(["a"], None).slice(0, 0)
    assert messages.append(nothing, world.now, "nightly:1", ("nightly", 1)) is not None
    monkeypatch.setattr(publish, "_publish_frame", lambda *_: False)
    for late in (["a"], Rows(1)):
        with pytest.raises(
            FailedPrecondition, match="version 1 of 'nightly' was published without"
        ):
            world.store.publish(TOPIC, late, idempotency_id=("nightly", 1))
    assert world.store.publish(TOPIC, Rows(0), idempotency_id=("nightly", 1)).message_count == 0
    world.store.publish(TOPIC, ["a"], idempotency_id=("nightly", 2))
    again = world.store.publish(TOPIC, ["a"], idempotency_id=("nightly", 2))
    assert (again.message_count, world.stored()) == (1, ["a"])
