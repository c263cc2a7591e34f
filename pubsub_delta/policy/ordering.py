"""Ordering keys: which messages must wait for others (Pub/Sub: message ordering).

The ack state knows positions only. Whoever can read the topic answers questions about keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pubsub_delta.policy.ack_state import AckState, Span, State, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import is_exhausted
from pubsub_delta.resources import Subscription

_WINDOW = 10_000
"""Messages whose keys are looked at first when only a few are wanted."""


class Keys(Protocol):
    """Who knows the ordering keys of messages. A message without a key shares it with none."""

    def sharing(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` whose key is that of a message of ``of``."""

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""


def choose(
    state: AckState, subscription: Subscription, keys: Keys, max_messages: int | None
) -> Positions:
    """Choose the oldest messages that may be leased now, at most so many (None: all).

    With ordering, a key with leased, backing-off or exhausted messages gives none: one batch of
    a key is outstanding at a time.
    """
    open_ = deliverable(state, subscription)
    free = union(open_)
    holding_up = _holding_up(state, subscription)
    if not holding_up or not free:
        return free if max_messages is None else free.first(max_messages)
    if max_messages is None:
        return free - keys.sharing(holding_up, open_)
    chosen, size = Positions(), max(_WINDOW, 4 * max_messages)
    while free and len(chosen) < max_messages:
        window = free.first(size)
        looked_at = [span.only(window) for span in open_]
        held = keys.sharing(holding_up, [span for span in looked_at if span])
        chosen, free, size = chosen | (window - held), free - window, 4 * size
    return chosen.first(max_messages)


def deliverable(state: AckState, subscription: Subscription) -> list[Span]:
    """Return the available spans that have attempts left."""
    available = state.in_state(State.AVAILABLE)
    return [span for span in available if not is_exhausted(span, subscription)]


def _holding_up(state: AckState, subscription: Subscription) -> list[Span]:
    if not subscription.enable_message_ordering:
        return []
    return [
        span
        for span in state.spans
        if span.state in (State.LEASED, State.BACKING_OFF) or is_exhausted(span, subscription)
    ]
