"""Whole ack states after new messages, and after seeks: every field, and nothing else changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pubsub_delta.policy import delivery, replay
from pubsub_delta.policy.ack_state import AckState, Captured, Seek, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ExpirationPolicy
from tests.unit.builders import FakeLog, FakeTopic, at, available_span, committed, terms
from tests.unit.test_whole_ack_states import (
    AVAILABLE,
    FORWARDING,
    LEASED,
    POLICIES,
    RETAINED,
    WHOLE,
    WRITING,
    changed,
    span,
    streaming,
)


def test_messages_that_are_found_again_do_not_change_except_retained_ones() -> None:
    """They "do not change, except retained ones, which become available"."""
    found = [committed(range(0, 15, 2), 3)]
    new = available_span([10, 12, 14], 3)
    kept = replace(RETAINED, positions=Positions.of([11]))
    expected = changed((RETAINED,), new, kept, after_version=6, absorbed_below=15)
    assert delivery.absorb(WHOLE, found, 6) == expected
    assert delivery.absorb(expected, found, 6) == expected
    assert delivery.absorb(WHOLE, [], 6) == replace(WHOLE, after_version=6)


def test_a_seek_is_noted_and_voids_leases_attempts_and_backoffs() -> None:
    seek = Seek(at(2), 4, time=at(-1))
    state = replay.note_seek(WHOLE, seek, terms(**POLICIES))
    untried = span(State.AVAILABLE, *range(8))
    assert state == replace(
        WHOLE,
        spans=(untried, FORWARDING, WRITING, RETAINED),
        first_lease_id=9,
        seeks=(seek,),
        streams=streaming(),
    )
    second = replace(seek, at_version=5)
    both = replay.note_seek(state, second, terms(**POLICIES))
    assert both.seeks == (seek, second)
    assert replay.withdraw(both, seek).seeks == (second,)
    assert replay.withdraw(both, second) == state


@pytest.mark.parametrize(
    ("seeks", "lowest"),
    [
        ([], 4),
        ([Seek(at(2), 3, time=at(0))], 4),
        ([Seek(at(2), 3, time=at(0), covered_from=at(-9))], -1),
        ([Seek(at(2), 4, captured=Captured((), 2))], 2),
        ([Seek(at(2), 9, captured=Captured((), 7))], 4),
        ([Seek(at(2), 4, captured=Captured((), n)) for n in (3, 1, 2)], 1),
    ],
)
def test_the_lowest_version_is_the_first_whose_commits_are_read(
    seeks: list[Seek], lowest: int
) -> None:
    """The log of the topic is kept from there on."""
    assert replay.lowest_version(replace(WHOLE, seeks=tuple(seeks))) == lowest


@pytest.mark.parametrize("retain", [False, True])
def test_a_seek_to_a_snapshot_leaves_decided_messages_alone(retain: bool) -> None:
    on = terms(retain_acked_messages=retain, **POLICIES)
    captured = Captured((available_span([1, 3, 8, 9, 11, 13]),), 3, floor=at(-2))
    seek = Seek(at(2), 4, captured=captured)
    log = FakeLog(FakeTopic(version=4))
    noted = replay.note_seek(WHOLE, seek, on)
    state = replay.carry_out_seeks(noted, on, log)
    back = span(State.AVAILABLE, 1, 3, 11, 13)
    retained = span(State.RETAINED, 10, *((0, 2, 4, 5, 6, 7) if retain else ()))
    assert state == replace(
        noted,
        spans=(back, FORWARDING, WRITING, retained),
        absorbed_below=14,
        floor=at(-2),
        seeks=(),
    )


def test_a_seek_to_a_time_divides_at_that_time() -> None:
    """Pub/Sub: "messages published before the time are marked as acknowledged"."""
    source = FakeTopic()
    for position in range(4):
        source.publish(position, at=position)
    state = AckState(0, next_lease_id=2)
    noted = replay.note_seek(state, Seek(at(9), 4, time=at(2)), terms())
    done = replay.carry_out_seeks(noted, terms(), FakeLog(source))
    assert done == AckState(
        4, 4, 2, (available_span([2], 2), available_span([3], 3)), first_lease_id=2
    )
    purged = replay.note_seek(state, Seek(at(9), 4, time=at(20)), terms())
    assert replay.carry_out_seeks(purged, terms(), FakeLog(source)) == AckState(
        4, 4, 2, (), first_lease_id=2, floor=at(20)
    )


def test_a_seek_to_its_own_moment_purges_nothing_later() -> None:
    for time, floor in ((8, None), (9, None), (9.000001, at(9.000001))):
        noted = replay.note_seek(AckState(0), Seek(at(9), 0, time=at(time)), terms())
        assert replay.carry_out_seeks(noted, terms(), FakeLog(FakeTopic())).floor == floor


def test_messages_that_are_stored_no_more_leave_all_but_decided_spans() -> None:
    state = replay.without_deleted_messages(WHOLE, Positions.of([1, 2, 4, 6, 7, 11]))
    assert state == replace(
        changed(
            (AVAILABLE, LEASED, RETAINED),
            span(State.AVAILABLE, 1),
            replace(LEASED, positions=Positions.of([4])),
            span(State.RETAINED, 11),
        ),
        streams=streaming(4),
    )


def test_a_snapshot_captures_what_is_unacknowledged_as_if_never_tried() -> None:
    state = replace(WHOLE, floor=at(7))
    assert replay.capture(state, "attributes:a") == Captured(
        (span(State.AVAILABLE, *range(10)),), 4, at(7), "attributes:a"
    )


@pytest.mark.parametrize(
    ("last", "now", "is_noted"),
    [(0, 86.399, False), (0, 86.4, True), (0, -5, False), (50, 100, False), (None, 86.4, True)],
)
def test_activity_alone_is_noted_once_in_a_thousandth_of_the_ttl(
    last: float | None, now: float, is_noted: bool
) -> None:
    """ "Only if the last note is older than the ttl divided by this", since it is a commit."""
    before = replace(WHOLE, active_time=None if last is None else at(last))
    of_a_day = terms(expiration_policy=ExpirationPolicy("1d")).subscription
    noted = replay.note_activity(before, before, of_a_day, at(now))
    assert noted == (replace(before, active_time=at(now)) if is_noted else before)
    forever = terms(expiration_policy=ExpirationPolicy(None)).subscription
    assert replay.note_activity(before, before, forever, at(now)) == before
    for subscription in (of_a_day, forever):
        after = replace(before, after_version=9)
        latest = at(max(now, last or 0))
        changed = replay.note_activity(before, after, subscription, at(now))
        assert changed == replace(after, active_time=latest)
