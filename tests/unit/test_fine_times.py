"""Times finer than a microsecond: every door takes them alike, and none loses anything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from pubsub_delta.cli import times
from pubsub_delta.cli.endpoint import resources
from pubsub_delta.clock import UTC, from_nanos, read_time
from pubsub_delta.console.forms import Form, utc_time
from pubsub_delta.durations import parse_duration
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server import wire
from pubsub_delta.server.grpc_services import message_class
from tests.unit.builders import START, at
from tests.unit.in_memory import NAME, InMemory

MICROSECOND = timedelta(microseconds=1)
DAY = "2026-01-01"
"""That of START."""
_Seek = message_class("SeekRequest")
_Subscription = message_class("Subscription")
_Snapshot = message_class("Snapshot")
_Received = message_class("ReceivedMessage")
_Schema = message_class("Schema")


class Finer(datetime):
    """A time that knows its nanoseconds, as those of pandas do."""

    nanosecond = 0


class FinerDuration(timedelta):
    """A duration that knows its nanoseconds, as those of pandas do."""

    nanoseconds = 1


def of_the_library(nanos: int) -> datetime:
    return read_time(f"{DAY}T00:00:00.{nanos:09}Z", "time")


def of_another_zone(nanos: int) -> datetime:
    return read_time(f"{DAY}T05:30:00.{nanos:09}+05:30", "time")


def of_a_finer_datetime(nanos: int) -> datetime:
    given = Finer(2026, 1, 1, 0, 0, 0, nanos // 1000, tzinfo=UTC)
    given.nanosecond = nanos % 1000
    return read_time(given, "time")


def of_the_command_line(nanos: int) -> datetime:
    return times.parse_time(f"{DAY}T00:00:00.{nanos:09}Z", START, "time")


def of_a_time_ago(nanos: int) -> datetime:
    return times.parse_time(f"-PT0.{10**9 - nanos:09}S", at(1), "time")


def of_a_time_ahead(nanos: int) -> datetime:
    return times.parse_time(f"+PT0.{nanos:09}S", START, "time")


def of_the_wire(nanos: int) -> datetime:
    seconds = int(START.timestamp())
    return wire.time_of(_Seek(time={"seconds": seconds, "nanos": nanos}).time)


def of_the_console(nanos: int) -> datetime:
    return utc_time(Form({"time_date": DAY, "time_time": f"00:00:00.{nanos:09}"}), "time")


DOORS = [
    of_the_library,
    of_another_zone,
    of_a_finer_datetime,
    of_the_command_line,
    of_a_time_ago,
    of_a_time_ahead,
    of_the_wire,
    of_the_console,
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("nanos", "micros"),
    [(1, 1), (999, 1), (1000, 1), (1001, 2), (123_456_789, 123_457), (999_999_001, 1_000_000)],
)
def test_a_time_between_two_microseconds_is_the_later_one(
    door: Callable[[int], datetime], nanos: int, micros: int
) -> None:
    """What was published before it, and what from it on, is the same for both."""
    assert door(nanos) == START + micros * MICROSECOND
    assert type(door(nanos)) is datetime


@pytest.mark.parametrize("nanos", [1000, 1001, 1999])
def test_a_time_up_to_which_something_counts_is_the_earlier_one(nanos: int) -> None:
    """What was published until then, and then, is the same for both."""
    assert read_time(f"{DAY}T00:00:00.{nanos:09}Z", "as_of", until=True) == START + MICROSECOND


def received(time: dict[str, int]) -> datetime:
    message = {"message_id": "1", "publish_time": time}
    return resources.received_of(_Received(ack_id="a", message=message)).publish_time


def expiring(time: dict[str, int]) -> datetime:
    return resources.snapshot_of(_Snapshot(name="s", topic="t", expire_time=time)).expire_time


def revised(time: dict[str, int]) -> datetime:
    schema = _Schema(name="s", type_="AVRO", revision_create_time=time)
    return resources.schema_of(schema).revision_create_time


@pytest.mark.parametrize("read", [received, expiring, revised])
@pytest.mark.parametrize("nanos", [1000, 1001, 1999])
def test_a_time_that_a_server_tells_is_not_shown_as_a_later_one(
    read: Callable[[dict[str, int]], datetime], nanos: int
) -> None:
    """Another server than this one has nanoseconds; a seek to what is shown leaves nothing out."""
    assert read({"seconds": int(START.timestamp()), "nanos": nanos}) == START + MICROSECOND


def test_the_last_time_that_there_is_stays_the_last_one() -> None:
    """The last Timestamp of Protocol Buffers means "for ever"."""
    last = datetime.max.replace(tzinfo=UTC)
    text = "9999-12-31T23:59:59.999999999Z"
    assert read_time(text, "time") == times.parse_time(text, START, "time") == last
    assert wire.time_of(_Seek(time={"seconds": 253_402_300_799, "nanos": 999_999_999}).time) == last
    with pytest.raises(InvalidArgument):
        wire.time_of(_Seek(time={"seconds": 253_402_300_800}).time)
    with pytest.raises(OverflowError):
        from_nanos(253_402_300_800 * 10**9)


@pytest.mark.parametrize(
    "duration",
    [
        lambda: wire.seconds_of(_retained(600, 1)),
        lambda: wire.seconds_of(_retained(600, 999)),
        lambda: parse_duration(FinerDuration(minutes=10), "retention"),
        lambda: parse_duration("600.000000001s", "retention"),
        lambda: parse_duration("10m0.0000009s", "retention"),
        lambda: times.parse_duration("PT10M0.000000001S", "retention"),
        lambda: times.parse_duration("600.000000001", "retention"),
        lambda: times.parse_duration("600.000000001s", "retention"),
    ],
)
def test_a_duration_between_two_microseconds_is_the_longer_one(
    duration: Callable[[], timedelta],
) -> None:
    """So nothing is kept, or waits, shorter than it was asked for."""
    assert duration() == timedelta(minutes=10) + MICROSECOND


@pytest.mark.parametrize(
    ("text", "seconds"), [("0.1s", 0.1), ("1.1h", 3960), ("0.3m", 18), ("0.7s", 0.7)]
)
def test_decimal_durations_are_exact(text: str, seconds: float) -> None:
    assert parse_duration(text, "ttl") == timedelta(seconds=seconds)
    assert times.parse_duration(text, "ttl") == timedelta(seconds=seconds)


def _retained(seconds: int, nanos: int) -> object:
    kept = {"seconds": seconds, "nanos": nanos}
    return _Subscription(message_retention_duration=kept).message_retention_duration


def test_a_seek_to_a_time_between_two_publishes_divides_them() -> None:
    # "retained messages with publish_time < t become acked, those with publish_time ≥ t unacked"
    store = InMemory()
    store.publish("at")
    store.driver.clock.advance(0.000001)
    store.publish("after")
    for nanos in (1, 999):
        store.store.seek(NAME, time=f"{DAY}T00:00:00.{nanos:09}Z")
        assert store.backlog() == {"after": "available"}


def test_a_snapshot_lives_until_the_time_that_was_asked_for() -> None:
    store = InMemory()
    store.store.create_snapshot("kept", NAME)
    asked = f"{DAY}T01:00:00.000000001Z"
    made = store.store.update_snapshot("kept", expire_time=asked)
    assert made.expire_time == at(3600) + MICROSECOND
    # "up to 7 d after creation"
    with pytest.raises(InvalidArgument, match="expire_time"):
        store.store.update_snapshot("kept", expire_time="2026-01-08T00:00:00.000000001Z")
