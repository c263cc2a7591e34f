"""Maintenance on real tables: what nobody can get any more goes, and nothing else (section 8)."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from pubsub_delta import ExpirationPolicy, Message, NotFound
from pubsub_delta.clock import start_of_day
from pubsub_delta.delivery import sources
from pubsub_delta.policy import replay
from pubsub_delta.policy.ack_state import Seek
from tests.conftest import Bench

DAY = 86_400
SEEDS = range(int(os.environ.get("SEEDS", "1")))
"""`make trial` sets more."""


@pytest.fixture
def vacuums_at_once(bench: Bench) -> Iterator[None]:
    """Let VACUUM remove what a version of a moment ago needs: the worst that time can do."""
    key = "spark.databricks.delta.retentionDurationCheck.enabled"
    bench.spark.conf.set(key, "false")
    yield
    bench.spark.conf.unset(key)


def stored(bench: Bench, topic: str) -> list[str]:
    rows = bench.store.read_topic(topic).select("data").collect()
    return sorted(bytes(row["data"]).decode() for row in rows)


def test_messages_that_nobody_can_get_any_more_are_deleted_by_days(bench: Bench) -> None:
    topic, subscription = bench.pair()
    other = bench.subscription(topic)
    for day in range(3):
        bench.store.publish(topic, [f"{day} early"])
        bench.clock.advance(DAY / 2)
        bench.store.publish(topic, [f"{day} late"])
        bench.clock.advance(DAY / 2)
    bench.store.pull(subscription).ack()
    bench.store.pull(other, 3).ack()
    name = f"projects/local/topics/{topic}"
    told = bench.store.maintain(dry_run=True, dead_letters=False, expiration=False)
    # "1 late" is the oldest that somebody has not acknowledged: day 0 can go, day 1 cannot
    assert told.discarded[name] == 2
    assert len(stored(bench, topic)) == 6
    told = bench.store.maintain(dead_letters=False, expiration=False, optimize=True)
    assert (told.discarded[name], told.problems) == (2, {})
    assert stored(bench, topic) == ["1 early", "1 late", "2 early", "2 late"]
    # "rows inside a day with --exact"
    assert bench.store.maintain(exact=True).discarded[name] == 1
    assert stored(bench, topic)[0] == "1 late"
    # "running it late, twice, … is harmless"
    assert bench.store.maintain(exact=True, vacuum=True).discarded == {}
    assert bench.store.pull(other).message_count == 3
    bench.store.delete_topic(topic)
    bench.store.delete_subscription(subscription)
    assert bench.store.maintain().discarded == {}  # "subscriptions survive … keep their backlog"
    bench.store.delete_subscription(other)
    assert bench.store.maintain().discarded == {f"{name} (deleted)": 3}  # nobody is left


def test_a_slow_publishers_commit_is_not_deleted_unseen(bench: Bench) -> None:
    # "a slow publisher commits an old stamp late, and that message would be lost"
    topic = bench.topic()
    messages = bench.store._tables.messages(bench.store.get_topic(topic).uid)
    bench.store.publish(topic, ["early"])
    seen, later = messages.history.version(), bench.clock.now() + timedelta(days=2)
    bench.store.publish(topic, ["late"])
    assert not messages.discard_before(later, seen, "1")
    assert stored(bench, topic) == ["early", "late"]
    assert messages.discard_before(start_of_day(later), messages.history.version(), "1")
    assert stored(bench, topic) == []


def test_idle_subscriptions_and_old_snapshots_expire(bench: Bench) -> None:
    topic = bench.topic()
    policy = ExpirationPolicy("1d1s")
    idle, used = (
        bench.subscription(topic, expiration_policy=policy, message_retention_duration="1d")
        for _ in range(2)
    )
    forever = bench.subscription(topic, expiration_policy=ExpirationPolicy(None))
    bench.store.create_snapshot("expiring", forever)
    bench.clock.advance(DAY / 2)
    assert bench.store.pull(used).message_count == 0  # "any pull … counts as activity"
    bench.clock.advance(DAY / 2 + 1)
    assert bench.store.maintain(retention=False).expired == []  # "idle for longer than their ttl"
    bench.clock.advance(1)
    expired = bench.store.maintain(retention=False).expired
    assert expired == [f"projects/local/subscriptions/{idle}"]
    with pytest.raises(NotFound, match=idle):
        bench.store.pull(idle)
    bench.clock.advance(6 * DAY)
    expired = bench.store.maintain(retention=False).expired
    # "subscriptions idle for longer than their ttl and snapshots past expire_time"
    assert f"projects/local/subscriptions/{used}" in expired
    assert "projects/local/snapshots/expiring" in expired
    assert bench.store.get_subscription(forever).name.endswith(forever)


@pytest.mark.trial
@pytest.mark.parametrize("seed", SEEDS)
def test_retention_never_takes_what_somebody_can_still_get(
    bench: Bench, seed: int, vacuums_at_once: None
) -> None:
    # "whatever the sequence of operations, the retention job followed by VACUUM never changes what
    # any subscription or live snapshot can still deliver"
    draw = random.Random(seed)
    topic = bench.unused("kept")
    bench.store.create_topic(topic, message_retention_duration=draw.choice([None, "1d", "3d"]))
    names = [
        bench.subscription(topic, **fields)
        for fields in ({"retain_acked_messages": True}, {"filter": "attributes:odd"})
    ]
    snapshots: list[str] = []

    def some_time() -> datetime:
        return bench.clock.now() + timedelta(hours=draw.randint(-72, 2))

    def publish() -> None:
        count = draw.randint(1, 4)
        bench.store.publish(
            topic, [Message(b"x", {"odd": "1"} if n % 2 else {}) for n in range(count)]
        )

    def consume() -> None:
        batch = bench.store.pull(draw.choice(names), draw.choice([1, 3, None]))
        if batch.message_count:
            draw.choice([batch.ack, batch.nack])()

    def seek() -> None:
        bench.store.seek(draw.choice(names), time=some_time())

    def seek_to_snapshot() -> None:
        if snapshots:
            bench.store.seek(draw.choice(names), snapshot=draw.choice(snapshots))

    def snapshot() -> None:
        snapshots.append(bench.unused("snapshot"))
        bench.store.create_snapshot(snapshots[-1], draw.choice(names))

    publish()
    for turn in range(12):
        bench.clock.advance(draw.choice([60, DAY / 4, DAY / 2]))
        draw.choice([publish, publish, consume, consume, seek, seek_to_snapshot, snapshot])()
        if turn % 4 == 3:
            before = within_reach(bench, names, snapshots)
            exact = draw.random() < 0.5
            told = bench.store.maintain(exact=exact, optimize=exact, dead_letters=False)
            assert told.problems == {}
            bench.spark.sql(f"VACUUM {bench.messages_table(topic)} RETAIN 0 HOURS")
            assert within_reach(bench, names, snapshots) == before


def within_reach(bench: Bench, names: list[str], snapshots: list[str]) -> dict[str, list[str]]:
    """Return the ids of all messages that each subscription can get, now or by any seek."""
    tables, now = bench.store._tables, bench.clock.now()
    found: dict[str, list[str]] = {}
    for name in names:
        source = sources.source(tables, bench.store._subscription(name))
        state = tables.ack_states.read(source.uid)
        version = source.messages.history.version()
        begin = now - timedelta(days=40)
        seeks = {"": None, "begin": Seek(now, version, begin, source.covered_from(now))}
        for each in snapshots:
            held = tables.registry.captured(str(bench.store._snapshot(each)), now)
            assert held is not None
            seeks[each] = Seek(now, version, captured=held[2])
        for to, asked in seeks.items():
            after = replay.note_seek(state, asked, source.terms) if asked else state
            spans = source.catch_up(after, now).unacked()
            rows = source.messages.rows(spans, ["position"]) if spans else None
            ids = rows["position"].to_pylist() if rows else []
            found[f"{name} {to}"] = ids
            assert len(ids) == sum(map(len, spans)), "a message that can be had is not stored"
    return found
