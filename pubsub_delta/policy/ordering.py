"""Ordering keys: the messages that must wait for others (Pub/Sub: message ordering).

The ack state has positions only. ``Keys`` answers questions about keys by reading the topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol

from pubsub_delta.policy.ack_state import AckState, Span, State, spans_within, union
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import is_exhausted
from pubsub_delta.resources import Subscription

_WINDOW = 10_000
"""Messages whose keys are read first when only a few are wanted."""


class Keys(Protocol):
    """Reads the ordering keys of messages. A message without a key shares it with none."""

    def of_same_keys(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` whose key is that of a message of ``of``."""

    def followers(self, of: Sequence[Span], among: Sequence[Span]) -> Positions:
        """Return the messages of ``among`` that come later than one of ``of`` of the same key."""


def choose(
    state: AckState,
    subscription: Subscription,
    keys: Keys,
    max_messages: int | None,
    below: int | None = None,
) -> Positions:
    """Choose messages to lease now, up to ``max_messages`` (None: all), at positions ``below`` one.

    First come messages of which no delivery has failed, the oldest positions first. Then come
    failed ones, in the order of the deliveries that failed last. With ordering, no messages are
    chosen of a key with leased, backing-off or exhausted ones: one batch of a key is outstanding at
    a time. All messages of a key wait with the one that failed last, as they are delivered in
    order.
    """
    open_ = deliverable(state, subscription)
    if below is not None:
        open_ = spans_within(open_, union(open_).within(0, below - 1))
    free = union(open_)
    holding_up = _holding_up(state, subscription)
    if max_messages is None or len(free) <= max_messages:
        return free - keys.of_same_keys(holding_up, open_) if holding_up and free else free
    untried = [span for span in open_ if span.failed_lease_id is None]
    failed = _by_failure(open_)
    if not subscription.enable_message_ordering:
        return _first_of([union(untried), *map(union, failed)], max_messages)
    before = [*holding_up, *chain(*failed)]
    chosen, passed_over = _first_apart_from(before, untried, keys, max_messages)
    if not failed or len(chosen) == max_messages:
        return chosen
    among = [*chain(*failed), *spans_within(untried, passed_over)]
    if holding_up:
        among = spans_within(among, union(among) - keys.of_same_keys(holding_up, among))
    return chosen | _first_keys(failed, among, keys, max_messages - len(chosen))


def _by_failure(spans: Iterable[Span]) -> list[list[Span]]:
    """Return the spans of messages that failed, by the lease of the failure, in order."""
    failed: dict[int, list[Span]] = {}
    for span in spans:
        if span.failed_lease_id is not None:
            failed.setdefault(span.failed_lease_id, []).append(span)
    return [group for _, group in sorted(failed.items())]


def _first_of(groups: Iterable[Positions], count: int) -> Positions:
    """Return ``count`` messages, from later groups only if the earlier ones leave room."""
    chosen = Positions()
    for group in groups:
        chosen |= group.first(count - len(chosen))
    return chosen


def _first_apart_from(
    before: Sequence[Span], spans: Sequence[Span], keys: Keys, count: int
) -> tuple[Positions, Positions]:
    """Return the first ``count`` messages of spans that share no key, and those passed over.

    Two messages of one key are never both returned. A part of the spans is read first, then more.
    """
    rest = union(spans)
    if not before:
        return rest.first(count), Positions()
    chosen, passed_over, size = Positions(), Positions(), max(_WINDOW, 4 * count)
    while rest and len(chosen) < count:
        window = rest.first(size)
        held = keys.of_same_keys(before, spans_within(spans, window))
        chosen, passed_over = chosen | (window - held), passed_over | held
        rest, size = rest - window, 4 * size
    return chosen.first(count), passed_over


def _first_keys(
    failed: Sequence[Sequence[Span]], among: Sequence[Span], keys: Keys, count: int
) -> Positions:
    """Return the first messages of the keys that failed, each key by its last failure.

    ``failed``: failed messages by lease. ``among``: all messages that can be chosen. One question
    covers as many groups as can all be chosen.
    """
    free, chosen = union(among), Positions()
    groups = [parts for group in failed if (parts := spans_within(group, free))]
    taken = len(groups)
    while groups and len(chosen) < count:
        first, later = list(chain(*groups[:taken])), list(chain(*groups[taken:]))
        wanted = union(first) | keys.of_same_keys(first, among)
        if later:
            wanted -= keys.of_same_keys(later, among)
        room = count - len(chosen)
        if len(wanted) > room and taken > 1:
            taken //= 2
            continue
        chosen |= wanted.first(room)
        groups, taken = groups[taken:], len(groups) - taken
    return chosen


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
        if span.state in (State.LEASED, State.BACKING_OFF, State.WRITING)
        or is_exhausted(span, subscription)
    ]
