"""Clocks near the ends of what a time can be: everything works, or is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pubsub_delta import DeadLetterPolicy, ManualClock, PubSub, RetryPolicy
from pubsub_delta.clock import UTC, SystemClock
from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from tests.unit.in_memory import LETTERS, NAME, TOPIC

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9998, 12, 31, 23, 59, 59, 999_999, UTC)
BEGINNING, END = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

CALLS: dict[str, Callable[[PubSub], object]] = {
    "create": lambda store: store.create_topic("second", message_retention_duration="31d"),
    "update": lambda store: store.update_topic(TOPIC, message_retention_duration="31d"),
    "publish": lambda store: store.publish(TOPIC, [b"a"]),
    "pull": lambda store: store.pull(NAME),
    "seek": lambda store: store.seek(NAME, time=FIRST),
    "snapshot": lambda store: store.create_snapshot("late", NAME),
    "list": lambda store: store.list_snapshots(),
    "metrics": lambda store: store.metrics(NAME),
    "metrics of a topic": lambda store: store.metrics(TOPIC),
    "maintain": lambda store: store.maintain(log_retention="1d"),
}


ENDS: dict[str, Callable[[PubSub], object]] = {
    "deletion of a subscription": lambda store: store.delete_subscription(NAME),
    "detachment": lambda store: store.detach_subscription(NAME),
    "deletion of a topic": lambda store: store.delete_topic(TOPIC),
    "deletion of a snapshot": lambda store: store.delete_snapshot("late"),
    "deletion of a schema": lambda store: store.delete_schema("flight"),
    "deletion of a revision": lambda store: store.delete_schema_revision("flight@00000000"),
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock) -> PubSub:
    store = PubSub(None, str(tmp_path / "store"), lane="direct", clock=clock)
    store.create_topic(LETTERS)
    store.create_topic(TOPIC, message_retention_duration="31d")
    store.create_subscription(
        NAME,
        TOPIC,
        dead_letter_policy=DeadLetterPolicy(LETTERS),
        retry_policy=RetryPolicy(600, 600),
        retain_acked_messages=True,
    )
    return store


def be_at(clock: ManualClock, time: datetime) -> None:
    clock._now = time


@pytest.mark.parametrize("time", [FIRST, LAST])
def test_everything_works_at_the_first_and_the_last_time(
    store: PubSub, clock: ManualClock, time: datetime
) -> None:
    be_at(clock, time)
    store.publish(TOPIC, [b"a", b"b"])
    store.pull(NAME, 1).nack()
    batch = store.pull(NAME, 1)
    batch.modify_ack_deadline(600)
    assert len(batch.ack().success) == 1
    store.seek(NAME, time=BEGINNING)
    store.seek(NAME, time=END)
    for call in CALLS.values():
        call(store)
    store.seek(NAME, snapshot="late")
    assert store.maintain().problems == {}


@pytest.mark.parametrize(
    "time", [BEGINNING, FIRST - timedelta(microseconds=1), LAST + timedelta(microseconds=1), END]
)
@pytest.mark.parametrize("name", CALLS)
def test_a_clock_that_is_further_off_is_refused_by_name(
    store: PubSub, clock: ManualClock, time: datetime, name: str
) -> None:
    # "Every error says what was wrong, the offending value, and what would be accepted"
    be_at(clock, time)
    with pytest.raises(FailedPrecondition, match="the clock of this process tells"):
        CALLS[name](store)


def test_by_such_a_clock_nothing_is_deleted(store: PubSub, clock: ManualClock) -> None:
    # "By a clock that tells another one nothing is changed"
    store.create_snapshot("late", NAME)
    store.create_schema("flight", "AVRO", '{"type": "record", "name": "flight", "fields": []}')
    now = clock.now()
    for time in (FIRST - timedelta(microseconds=1), LAST + timedelta(microseconds=1)):
        be_at(clock, time)
        for end in ENDS.values():
            with pytest.raises(FailedPrecondition, match="the clock of this process tells"):
                end(store)
    be_at(clock, now)
    assert not store.get_subscription(NAME).detached
    assert store.get_snapshot("late").topic == store.get_topic(TOPIC).name
    assert store.get_schema("flight").definition


def test_a_clock_without_a_time_zone_is_refused(tmp_path: Path) -> None:
    class Naive(SystemClock):
        def now(self) -> datetime:
            return super().now().replace(tzinfo=None)

    store = PubSub(None, str(tmp_path / "store"), lane="direct", clock=Naive())
    with pytest.raises(InvalidArgument, match="has no time zone"):
        store.create_topic(TOPIC)


@pytest.mark.parametrize("time", [FIRST - timedelta(microseconds=1), END])
def test_by_such_a_clock_an_exporter_tells_that_nothing_is_measured(
    store: PubSub, clock: ManualClock, time: datetime
) -> None:
    """The last metrics stay; a scrape is answered."""
    exporter = store.metrics_exporter()
    exporter.refresh()
    be_at(clock, time)
    with pytest.raises(FailedPrecondition, match="the clock of this process tells"):
        exporter.refresh()
    told = exporter.text()
    for line in ("pubsub_delta_up 0.0", "pubsub_delta_measurement_failures_total 1.0"):
        assert f"\n{line}\n" in told
    assert 'pubsub_delta_last_error_info{code="FAILED_PRECONDITION"' in told
    assert "pubsub_subscription_num_undelivered_messages{" in told
