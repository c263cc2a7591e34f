"""Ack ids from anywhere, given to the real operations: only those that were given out do anything.

An id that is truncated, damaged, made up, or of another subscription never touches a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.names import subscription_name
from pubsub_delta.operations.acknowledge import acknowledge, modify_ack_deadline
from pubsub_delta.policy.ack_ids import AckId, parse_ack_id
from pubsub_delta.policy.ack_state import AckState, Span, State
from pubsub_delta.policy.delivery import Terms
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import AckResult, Subscription
from pubsub_delta.tables.ack_state.states import AckStates, StoredAckState
from pubsub_delta.tables.store import Tables
from tests.unit.builders import PLAIN, at, backlog, pull, terms
from tests.unit.hostile import is_refusal, outcome, texts

NAME = subscription_name(PLAIN.name, "local")
OTHER = "f" * 32


@dataclass
class InMemory:
    """A store of one subscription, whose ack state stands in memory."""

    on: Terms
    stored: StoredAckState
    ids: Any = field(default_factory=lambda: map(str, count()))

    def __post_init__(self) -> None:
        self.ack_states = AckStates(self, self.ids.__next__, lease_id_gap=lambda: 0)

    @property
    def subscription(self) -> Subscription:
        return self.on.subscription

    registry = None

    def of_same_keys(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        return self.on.keys.of_same_keys(of, among)

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        return self.on.keys.followers(of, among)

    def attached(self, _: object) -> tuple[Subscription, str]:
        return self.on.subscription, "topic"

    def messages(self, _: str) -> InMemory:
        return self

    def create(self, _: str, first: StoredAckState) -> None:
        self.stored = first

    def read(self, _: str) -> StoredAckState:
        return self.stored

    def replace(self, _: str, following: StoredAckState, expected: StoredAckState) -> bool:
        assert self.stored.is_same(expected)
        self.stored = following
        return True

    def locked(self, _: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return nullcontext()


def store_of(*, exactly_once: bool) -> InMemory:
    """Return a store where 0 to 2 are under lease 1, 3 and 4 under lease 2, and 5 is available."""
    on = terms(enable_exactly_once_delivery=exactly_once)
    state, first = pull(backlog(6), 3, on=on)
    state, second = pull(state, 2, on=on)
    assert (first, second) == (1, 2)
    return InMemory(on, StoredAckState(state, 1))


def say(store: InMemory, ack_ids: list[str], now: datetime) -> AckResult | None:
    told = outcome(lambda: acknowledge(cast(Tables, store), NAME, ack_ids, now))
    return None if is_refusal(told, *ack_ids) else cast(AckResult, told)


def unsettled(state: AckState) -> AckState:
    """Return a state without what every call may note: the counters, and that it was called."""
    return replace(state, counters=AckState(0).counters, active_time=None)


def flipped(text: str, bit: int) -> str:
    """Return a text with one bit turned over."""
    data = bytearray(text.encode())
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    return data.decode("latin-1")


given_out = st.sampled_from([AckId(PLAIN.uid, 1, n) for n in range(3)])
damaged = st.one_of(
    st.builds(lambda ack_id, length: str(ack_id)[:length], given_out, st.integers(0, 40)),
    st.builds(lambda ack_id, length: str(ack_id)[-length:], given_out, st.integers(1, 40)),
    st.builds(flipped, given_out.map(str), st.integers(0, 8 * 60)),
    st.builds(lambda ack_id, tail: f"{ack_id}{tail}", given_out, texts.filter(bool)),
    texts,
)
foreign = st.builds(AckId, st.just(OTHER), st.integers(0, 3), st.integers(0, 6)).map(str)
made_up = st.one_of(
    st.builds(AckId, st.just(PLAIN.uid), st.integers(3, 10**17), st.integers(0, 5)),  # no lease
    st.builds(AckId, st.just(PLAIN.uid), st.just(0), st.integers(0, 5)),
    st.builds(AckId, st.just(PLAIN.uid), st.integers(0, 3), st.integers(6, 10**17)),  # no message
).map(str)


@pytest.mark.parametrize("exactly_once", [False, True])
@given(ids=st.lists(st.one_of(damaged, foreign, made_up), min_size=1, max_size=5))
def test_what_was_not_given_out_touches_no_message(exactly_once: bool, ids: list[str]) -> None:
    # "Malformed, or of another subscription → invalid"
    store = store_of(exactly_once=exactly_once)
    before = store.stored.state
    told = say(store, ids, at(1))
    assert unsettled(store.stored.state) == before
    if told is None:
        assert store.stored.state == before
        assert not any(map(parse_ack_id, ids))
    else:
        assert (list(told.success), list(told.expired)) == ([], [])
        assert set(told.invalid) == set(ids)


@pytest.mark.parametrize("seconds", [0, 60])
@given(ids=st.lists(st.one_of(damaged, foreign, made_up), min_size=1, max_size=5))
def test_what_was_not_given_out_moves_no_deadline(seconds: int, ids: list[str]) -> None:
    store = store_of(exactly_once=False)
    before = store.stored.state
    given_at = partial(at, 1)
    told = outcome(lambda: modify_ack_deadline(cast(Tables, store), NAME, ids, seconds, given_at))
    if not is_refusal(told, *ids):
        assert set(cast(AckResult, told).invalid) == set(ids)
    assert unsettled(store.stored.state) == before


@given(
    st.lists(given_out, min_size=1, max_size=3, unique=True),
    st.lists(st.one_of(damaged, foreign, made_up), max_size=5),
)
def test_good_ids_count_whatever_stands_beside_them(good: list[AckId], bad: list[str]) -> None:
    # "per id: the good ids of the same call succeed"
    store = store_of(exactly_once=True)
    told = say(store, [*bad, *map(str, good)], at(1))
    assert told is not None
    assert set(told.success) == set(map(str, good))
    left = {each for span in store.stored.state.unacked() for each in span.positions}
    assert left == set(range(6)) - {ack_id.position for ack_id in good}


@pytest.mark.parametrize("exactly_once", [False, True])
@given(lease_id=st.integers(0, 4), position=st.integers(0, 8))
def test_a_forged_id_takes_no_message_out_of_the_lease_of_another(
    exactly_once: bool, lease_id: int, position: int
) -> None:
    """Whoever knows the subscription's uid can make an id with the right check."""
    store = store_of(exactly_once=exactly_once)
    say(store, [str(AckId(PLAIN.uid, lease_id, position))], at(1))
    held = {1: {0, 1, 2}, 2: {3, 4}}
    for span in store.stored.state.in_state(State.LEASED):
        assert span.lease_id is not None
        others = held[span.lease_id] - ({position} if span.lease_id == lease_id else set())
        assert others <= set(span.positions)


@pytest.mark.parametrize("exactly_once", [False, True])
@given(ids=st.lists(st.one_of(damaged, foreign, made_up, given_out.map(str)), min_size=1))
def test_the_answer_names_each_id_once(exactly_once: bool, ids: list[str]) -> None:
    told = say(store_of(exactly_once=exactly_once), [*ids, *ids], at(1))
    if told is not None:
        assert sorted([*told.success, *told.expired, *told.invalid]) == sorted(set(ids))
