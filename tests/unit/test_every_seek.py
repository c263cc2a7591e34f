"""What every seek does, and the look that carries it out (spec sections 4, 5, 8 and 11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pubsub_delta.policy import ack_state, replay, retention
from pubsub_delta.policy.ack_state import AckState, Captured, Counters, State
from pubsub_delta.policy.redelivery import decide_forwarding, exhausted, forwarded, forwardings
from pubsub_delta.resources import DeadLetterPolicy, ExpirationPolicy, RetryPolicy
from tests.unit.builders import (
    DAY,
    PLAIN,
    FakeLog,
    FakeTopic,
    Reader,
    at,
    available,
    leased,
    modify,
    nack,
    reading,
)

RETAINING: dict[str, Any] = {"retain_acked_messages": True}
DEAD_LETTERS: dict[str, Any] = {"dead_letter_policy": DeadLetterPolicy("dead", 5)}
KEYS = {0: "k", 1: "k", 2: "k"}

Seek = Callable[[Reader, float], None]


def to_a_time(reader: Reader, now: float) -> None:
    reader.seek(-1, now)


def to_a_snapshot(reader: Reader, now: float) -> None:
    reader.seek(to=reader.snapshot(now), now=now)


each_seek = pytest.mark.parametrize("seek", [to_a_time, to_a_snapshot])


def give_all_back(reader: Reader, now: float = 0) -> None:
    """Lease everything, and nack it."""
    lease_id = reader.pull(now=now)
    held = reader.state.positions(State.LEASED)
    reader.state = nack(reader.state, {lease_id: held}, now, reader.on)


def worn_out(reader: Reader) -> Reader:
    """Let the messages of a subscription fail as often as its dead-letter policy permits."""
    for _ in range(5):
        give_all_back(reader)
    assert exhausted(reader.state, reader.fields)
    return reader


def forwarding(*times: float, **fields: Any) -> Reader:
    """Return a subscription whose messages are on their way to the dead-letter topic."""
    reader = worn_out(reading(*times, **DEAD_LETTERS, **fields))
    reader.state = decide_forwarding(reader.state, reader.fields, "d" * 32)
    return reader


@each_seek
def test_a_seek_voids_all_leases(seek: Seek) -> None:
    # "voids all leases made before it …, and makes everything it un-acks available"
    reader = reading(0, 0)
    lease_id = reader.pull(deadline=600)
    seek(reader, 1)
    assert leased(reader.caught_up(1), now=1) == {}
    assert available(reader.caught_up(1), now=1) == [0, 1]
    assert reader.pull(now=2) > lease_id


@each_seek
@pytest.mark.parametrize(("exactly_once", "outcome"), [(False, "expired"), (True, "invalid")])
def test_an_ack_id_from_before_a_seek_never_changes_anything(
    seek: Seek, exactly_once: bool, outcome: str
) -> None:
    # "an ack id from before a seek never changes anything afterwards: `expired` (`invalid` with
    # exactly-once)"
    reader = reading(0, 0, enable_exactly_once_delivery=exactly_once, **RETAINING)
    old = reader.pull()
    assert reader.ack(old, 1) == {"success": {1}}
    reader.seek(0, now=1)
    seek(reader, 2)

    def nothing_changes(now: float) -> None:
        before = reader.state
        assert reader.ack(old, 0, 1, now=now) == {outcome: {0, 1}}
        for deadline in (0, 60):
            following, outcomes = modify(before, {old: [0, 1]}, deadline, now, reader.on)
            assert (outcomes, following) == ({outcome: {old: {0, 1}}}, before)
        assert replace(reader.state, counters=before.counters) == before

    nothing_changes(now=3)  # while the seek is only noted
    new = reader.pull(1, now=4)
    nothing_changes(now=5)  # one is leased again, the other is not
    assert reader.ack(new, 0, now=6) == {"success": {0}}
    nothing_changes(now=7)
    assert reader.unacked(now=8) == [1]


@each_seek
def test_a_seek_resets_attempts_and_backoffs(seek: Seek) -> None:
    # "resets delivery attempts to 0 and backoff to none"
    reader = reading(0, 0, retry_policy=RetryPolicy(300, 600), **DEAD_LETTERS)
    give_all_back(reader)
    assert available(reader.caught_up(1), now=1, on=reader.on) == []
    seek(reader, 2)
    (span,) = reader.caught_up(2).spans
    assert (span.state, span.failures, span.delivery_attempt) == (State.AVAILABLE, 0, 1)
    assert span.until is None


@each_seek
def test_what_had_all_its_attempts_has_them_again_after_a_seek(seek: Seek) -> None:
    # "After the last permitted attempt … Until then it counts as backlog"; a seek "resets delivery
    # attempts to 0"
    reader = worn_out(reading(0, **DEAD_LETTERS))
    seek(reader, 1)
    state = reader.caught_up(1)
    assert exhausted(state, reader.fields) == []
    assert available(state, now=1, on=reader.on) == [0]


@each_seek
def test_what_is_being_forwarded_goes_its_way(seek: Seek) -> None:
    # "When the last permitted attempt fails the message is forwarded, never delivered again"
    reader = forwarding(0, retention=600)
    before = forwardings(reader.state)
    seek(reader, 1)
    state = reader.caught_up(1)
    assert forwardings(state) == before
    assert available(state, now=1, on=reader.on) == []
    (number,) = before
    reader.state = forwarded(state, number)
    assert reader.unacked(now=2) == []


def test_what_is_being_forwarded_is_not_found_again_behind_a_snapshot() -> None:
    before = Reader(FakeTopic()).snapshot()
    reader = forwarding(0)
    reader.seek(to=before, now=1)
    state = reader.caught_up(1)
    assert available(state, now=1, on=reader.on) == []
    assert list(state.positions(State.FORWARDING)) == [0]


def test_a_purge_leaves_what_is_being_forwarded_alone() -> None:
    reader = forwarding(0, **RETAINING)
    before = forwardings(reader.state)
    reader.seek(100, now=1)
    assert forwardings(reader.caught_up(1)) == before
    assert reader.caught_up(1).count(State.RETAINED) == 0


def test_a_forwarded_message_is_retained_like_any_other_that_is_acked() -> None:
    # "then it is acked on the source"
    reader = forwarding(0, **RETAINING)
    (number,) = forwardings(reader.state)
    reader.state = forwarded(reader.state, number, retain=True)
    assert reader.unacked() == []
    reader.seek(0, now=1)
    assert reader.unacked(now=1) == [0]


@each_seek
def test_an_acked_message_of_an_ordered_batch_stays_acked(seek: Seek) -> None:
    # A voided lease cannot fail any more, so nothing brings its later messages back.
    reader = reading(0, 0, 0, keys=KEYS)
    lease_id = reader.pull()
    reader.ack(lease_id, 1, now=1)
    seek(reader, 2)
    assert reader.caught_up(2).in_state(State.ACKED) == []
    assert reader.unacked(now=2) == [0, 2]
    new = reader.pull(now=3)
    reader.state = nack(reader.state, {new: [0]}, 4, reader.on)
    assert reader.unacked(now=5) == [0, 2]


def test_an_acked_message_of_an_ordered_batch_is_retained() -> None:
    # "acked ones if `retain_acked_messages` was on when they were acked"
    reader = reading(0, 0, 0, keys=KEYS, **RETAINING)
    lease_id = reader.pull()
    reader.ack(lease_id, 0, 1, now=1)
    reader.seek(0, now=2)
    assert reader.unacked(now=2) == [0, 1, 2]


def test_what_an_earlier_failure_brings_back_is_not_retained_as_well() -> None:
    # "a failed message is redelivered together with every later message of its key …, even acked"
    reader = reading(0, 0, 0, keys=KEYS, **RETAINING)
    lease_id = reader.pull()
    reader.ack(lease_id, 1, now=1)
    assert list(reader.state.positions(State.RETAINED)) == [1]
    reader.state = nack(reader.state, {lease_id: [0]}, 2, reader.on)
    assert reader.unacked(now=2) == [0, 1, 2]
    assert reader.state.in_state(State.RETAINED) == []


def test_what_failed_before_a_seek_brought_its_followers_back_however_late_it_is_noticed() -> None:
    # "Deadline passed = failed delivery. Redelivery is decided lazily"; "Later messages already
    # acked return too": at 10 the lease was over, and with it message 1 was unacked again.
    reader = reading(0, 0, keys=KEYS)
    lease_id = reader.pull(deadline=10)
    reader.ack(lease_id, 1, now=1)
    assert reader.unacked(now=20) == [0, 1]
    reader.seek(0, now=20)
    assert reader.unacked(now=20) == [0, 1]


@each_seek
def test_a_seek_leaves_the_counters_alone(seek: Seek) -> None:
    reader = reading(0, 0)
    reader.pull_and_ack(0)
    seek(reader, 1)
    assert reader.caught_up(1).counters == Counters(success=1)


# Several seeks before the next look


def test_seeks_are_carried_out_in_their_order_each_on_what_there_was_then() -> None:
    # "Seek is atomic here: consistent at once"
    reader = reading(1, 2, **RETAINING)
    reader.seek(100, now=3)  # acks 0 and 1, and 2 when it comes
    reader.source.publish(2, at=3)
    reader.seek(2, now=4)  # brings back 1 and 2
    reader.source.publish(3, at=4)
    reader.seek(3, now=5)  # acks 1
    reader.source.publish(4, at=5)
    assert len(reader.state.seeks) == 3
    assert reader.unacked(now=6) == [2, 3, 4]
    reader.seek(0, now=7)
    assert reader.unacked(now=7) == [0, 1, 2, 3, 4]


def test_a_later_seek_undoes_no_loss_of_an_earlier_one() -> None:
    reader = reading(1, 2)
    reader.seek(100, now=3)
    reader.seek(0, now=3)
    assert reader.unacked(now=3) == []


def test_a_snapshot_after_a_seek_holds_what_the_seek_left() -> None:
    reader = reading(1, 2, 3)
    reader.seek(3, now=4)
    captured = reader.snapshot(now=4)
    reader.seek(100, now=5)
    reader.seek(to=captured, now=6)
    assert reader.unacked(now=6) == [2]


def test_a_retention_that_changed_after_a_seek_does_not_change_what_it_did() -> None:
    # an update settles "what has happened until now … on the old terms first"
    reader = reading(1, message_retention_duration=timedelta(minutes=10), **RETAINING)
    reader.pull_and_ack(0, now=2)
    reader.seek(0, now=700)
    reader.update(now=700, message_retention_duration=timedelta(days=7))
    assert reader.unacked(now=700) == []


# The look at a subscription


def test_a_look_brings_everything_up_to_date_and_a_second_changes_nothing() -> None:
    reader = reading(0, 50, message_retention_duration=timedelta(seconds=60))
    reader.pull(1, now=50, deadline=10)
    reader.source.publish(2, at=55)
    reader.seek(1, now=56)
    state = reader.caught_up(60)
    assert available(state, now=60) == [1, 2]
    assert state.seeks == ()
    assert replay.catch_up(state, reader.on, reader.log, at(60)) == state
    assert available(reader.caught_up(110.5), now=110.5) == [2]


def test_where_nothing_is_new_a_look_changes_nothing() -> None:
    reader = Reader(FakeTopic())
    assert reader.caught_up(5) is not None
    assert reader.caught_up(5) == reader.state == AckState(after_version=0)


def test_a_look_passes_over_what_does_not_match() -> None:
    # "Messages that do not match are never in the backlog"
    reader = Reader(FakeTopic(), filter="attributes:k")
    reader.source.publish(0, matching=False)
    state = reader.caught_up()
    assert (state.spans, state.after_version) == ((), 1)


def test_a_look_asks_for_no_commit_before_the_lowest_version() -> None:
    class Asked(FakeLog):
        lowest = 1_000

        def added(self, after_version: int, *rest: Any, **more: Any) -> Any:
            self.lowest = min(self.lowest, after_version)
            return super().added(after_version, *rest, **more)

    def asked(state: AckState) -> int:
        log = Asked(reader.source)
        replay.catch_up(state, reader.on, log, at(10))
        assert log.lowest == replay.lowest_version(state)
        return log.lowest

    reader = reading(1, retention=600)
    captured = reader.snapshot(now=2)
    reader.source.publish(1, at=3)
    reader.look(now=4)
    assert asked(reader.state) == 2
    reader.seek(100, now=5)
    assert asked(reader.state) == -1
    reader.source.topic = None
    reader.look(now=6)
    reader.seek(100, now=6)
    assert asked(reader.state) == 2
    reader.seek(to=captured, now=7)
    assert asked(reader.state) == 1


# Activity


def test_what_changes_notes_that_the_subscription_is_in_use() -> None:
    # "any pull, ack, seek or update counts as activity"
    before = AckState(after_version=0)
    after = replace(before, after_version=1)
    assert replay.note_activity(before, after, PLAIN, at(5)) == replace(after, active_time=at(5))
    earlier = replace(before, active_time=at(9))
    assert replay.note_activity(earlier, after, PLAIN, at(5)).active_time == at(9)


@pytest.mark.parametrize(("seconds", "noted"), [(0, 0), (99, 0), (100, 100), (1000, 1000)])
def test_a_request_that_changes_nothing_is_noted_now_and_then(seconds: float, noted: float) -> None:
    fields = replace(PLAIN, expiration_policy=ExpirationPolicy(100_000))
    quiet = AckState(after_version=0, active_time=at(0))
    assert replay.note_activity(quiet, quiet, fields, at(seconds)).active_time == at(noted)
    never = replace(PLAIN, expiration_policy=ExpirationPolicy(None))
    assert replay.note_activity(quiet, quiet, never, at(seconds)) is quiet


def test_a_request_that_was_not_noted_shortens_the_ttl_by_a_thousandth_at_most() -> None:
    # "idle for longer than their ttl"; "any pull … counts as activity"
    fields = replace(PLAIN, expiration_policy=ExpirationPolicy("1d"))
    state = AckState(after_version=0, active_time=at(0))
    for seconds in range(0, int(DAY), 7):
        state = replay.note_activity(state, state, fields, at(seconds))
        last = seconds
    assert not retention.is_idle(fields, state.active_time, at(last + DAY * 0.999))
    assert retention.is_idle(fields, state.active_time, at(last + DAY + 1))


def test_of_several_noted_seeks_the_one_that_reaches_back_furthest_decides() -> None:
    """What it asks for is read before, and no call of a seek carries out those before it."""
    far = ack_state.Seek(at(1), 7, captured=Captured((), 2))
    near = ack_state.Seek(at(2), 7, captured=Captured((), 5))
    covered = ack_state.Seek(at(3), 7, time=at(0), covered_from=at(0))
    for seeks, lowest in (((far, near), 2), ((near, far), 2), ((covered, near), -1)):
        assert replay.lowest_version(AckState(after_version=6, seeks=seeks)) == lowest
    assert replay.lowest_version(AckState(after_version=1, seeks=(near,))) == 1
