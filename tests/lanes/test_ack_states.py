"""Ack states on a lane: replaced only where they are what was read, by however many processes."""

from __future__ import annotations

import multiprocessing
import uuid
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from deltalake import DeltaTable

from pubsub_delta.errors import DataLoss
from pubsub_delta.policy.ack_state import AckState, Counters, Span, State
from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.ack_state import AckStates, AckStateTables, StoredAckState
from pubsub_delta.tables.lanes.choice import Lanes
from pubsub_delta.tables.lanes.protocol import Lane
from pubsub_delta.tables.layout import layout_of
from tests.unit.builders import at, available_span

UID = "1" * 32
FIRST = StoredAckState(AckState(0), 1, ("first",))


def new_id() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def tables(lane: Lane, root: str) -> AckStateTables:
    return AckStateTables(lane, layout_of(root).ack_state)


def becoming(following: AckState, _: AckState) -> tuple[AckState, None]:
    return following, None


def counted(state: AckState) -> tuple[AckState, int]:
    return replace(state, next_lease_id=state.next_lease_id + 1), state.next_lease_id


def test_what_was_created_is_read_back(tables: AckStateTables) -> None:
    leased = Span(State.LEASED, Positions.of([1]), at(0), at(1), 1, 2, lease_id=3, until=at(9))
    stored = StoredAckState(AckState(5, 6, spans=(leased, available_span([7]))), 1, ("a",))
    tables.create(UID, stored)
    assert tables.read(UID) == stored


def test_an_ack_state_that_is_gone_is_data_loss(tables: AckStateTables) -> None:
    with pytest.raises(DataLoss, match=f"{UID}.*: this table is gone"):
        tables.read(UID)


def restored(stored: StoredAckState) -> StoredAckState:
    return StoredAckState(stored.state, stored.revision, ("another",))


def test_only_what_was_read_is_replaced(tables: AckStateTables) -> None:
    tables.create(UID, FIRST)
    second = StoredAckState(AckState(1), 2, ("second", "first"))
    assert tables.replace(UID, second, FIRST)
    assert not tables.replace(UID, StoredAckState(AckState(2), 2, ("other", "first")), FIRST)
    assert tables.read(UID) == second


def test_a_state_of_the_same_revision_that_another_commit_wrote_is_not_replaced(
    tables: AckStateTables,
) -> None:
    """RESTORE brings back a revision that others had after it."""
    tables.create(UID, FIRST)
    assert not tables.replace(UID, StoredAckState(AckState(2), 2, ("b", "a")), restored(FIRST))
    assert tables.read(UID) == FIRST


def test_what_a_process_remembers_fails_where_another_was_faster(tables: AckStateTables) -> None:
    one, other = (AckStates(tables, new_id, lease_id_gap=lambda: 0) for _ in range(2))
    one.create(UID, AckState(0))
    drawn = [each.change(UID, counted) for each in (one, other, other, one, one, other)]
    assert drawn == [1, 2, 3, 4, 5, 6]
    assert tables.read(UID).revision == 7


def test_numbers_given_out_before_a_restore_are_not_given_out_again(
    tables: AckStateTables, root: str
) -> None:
    """An ack id of then would acknowledge a delivery of now."""
    AckStates(tables, new_id).create(UID, AckState(0))
    drawn = {AckStates(tables, new_id).change(UID, counted) for _ in range(4)}
    DeltaTable(f"{root}/ack_state/{UID}").restore(1)
    again = {AckStates(tables, new_id).change(UID, counted) for _ in range(4)}
    assert len(drawn | again) == 8


def test_metrics_tell_what_the_state_holds(tables: AckStateTables) -> None:
    leased = Span(State.LEASED, Positions.of([1]), at(3), at(4), 0, 2, lease_id=3, until=at(9))
    acked = replace(available_span([5, 6], 1), state=State.ACKED)
    spans = (leased, available_span([7, 8], 2), acked)
    state = AckState(5, 9, spans=spans, counters=Counters(1, 2, 3, 4), active_time=at(5))
    tables.create(UID, StoredAckState(state, 1, ("a",)))
    found = tables.metrics(UID)
    assert (found.num_undelivered_messages, found.num_outstanding_messages) == (3, 1)
    assert (found.oldest_unacked_publish_time, found.delivery_attempt) == (at(2), 2)
    assert (found.active_time, found.dead_letter_message_count) == (at(5), 4)
    assert found.ack_message_count_success == 1


def test_states_over_time_begin_with_the_earliest_and_end_with_the_last(
    tables: AckStateTables,
) -> None:
    states = AckStates(tables, new_id)
    states.create(UID, AckState(0))
    for number in range(1, 8):
        state = AckState(0, spans=(available_span(range(number)),))
        states.change(UID, partial(becoming, state))
    told = [each.state.count() for each in tables.over_time(UID, 100)]
    assert told == list(range(8))
    few = [each.state.count() for each in tables.over_time(UID, 4)]
    assert few == sorted(few)
    assert (few[-1], len(few) <= 4) == (7, True)


def opened(root: str) -> AckStateTables:
    layout = layout_of(root)
    return AckStateTables(Lanes(None, layout, "direct").control, layout.ack_state)


def _count(root: str, times: int, ready: Any) -> None:
    states = AckStates(opened(root), new_id, lease_id_gap=lambda: 0)
    ready.wait()
    for _ in range(times):
        states.change(UID, counted)


@pytest.mark.parametrize("times", [25, pytest.param(200, marks=pytest.mark.trial)])
def test_processes_that_change_one_state_lose_no_change(tmp_path: Any, times: int) -> None:
    root = str(tmp_path / "store")
    tables = opened(root)
    AckStates(tables, new_id).create(UID, AckState(0))
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Barrier(4)
    children = [spawn.Process(target=_count, args=(root, times, ready)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(240)
    assert [child.exitcode for child in children] == [0] * 4
    assert tables.read(UID).state.next_lease_id == 1 + 4 * times
