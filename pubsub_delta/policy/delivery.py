"""The delivery of messages, from publishing to acknowledgement.

Every function takes an ack state and returns the next one. Times are arguments; a lease or a
backoff that ends at ``until`` is over at that instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby

from pubsub_delta.policy.ack_state import (
    ACKNOWLEDGED,
    Absorbed,
    AckState,
    Span,
    State,
    spans_within,
    union,
)
from pubsub_delta.policy.ordering import Keys, choose
from pubsub_delta.policy.positions import Positions
from pubsub_delta.policy.redelivery import failed, reset_attempts
from pubsub_delta.policy.spans import with_spans
from pubsub_delta.resources import Subscription

NOTHING = Positions()


@dataclass(frozen=True)
class Terms:
    """The rules of delivery: a subscription's fields, and its topic's ordering keys."""

    subscription: Subscription
    keys: Keys

    @property
    def final_acks(self) -> bool:
        """Whether a successful acknowledgement is final."""
        fields = self.subscription
        return fields.enable_exactly_once_delivery or not fields.enable_message_ordering

    @property
    def may_return(self) -> tuple[State, ...]:
        """The states of later messages of a key that return when an earlier one fails."""
        return (State.LEASED,) if self.final_acks else (State.LEASED, State.ACKED)


@dataclass
class Outcomes:
    """The outcome of each position of a call, by lease."""

    success: dict[int, Positions] = field(default_factory=dict)
    expired: dict[int, Positions] = field(default_factory=dict)
    invalid: dict[int, Positions] = field(default_factory=dict)

    def of(self, lease_id: int, position: int) -> str:
        """Return the outcome of a position: success, expired or invalid."""
        for name, found in (("success", self.success), ("expired", self.expired)):
            if position in found.get(lease_id, ()):
                return name
        return "invalid"


def absorb(
    state: AckState, absorbed: Iterable[Absorbed], version: int, into: State = State.AVAILABLE
) -> AckState:
    """Add messages that were committed up to a version of the topic, and move the tail there.

    They become available, or retained if a seek acknowledged them in advance. After a seek, or if
    old commits of the topic were removed, messages are found again that the state has already. They
    do not change, except retained ones, which become available.
    """
    found = [
        Span(into, part.positions, part.publish_time_min, part.publish_time_max)
        for part in absorbed
    ]
    held = union(span for span in state.spans if span.state is not State.RETAINED)
    new = [span for span in (each.without(held) for each in found) if span]
    below = max([state.absorbed_below, *(span.positions.max + 1 for span in new)])
    following = replace(state, after_version=version, absorbed_below=below)
    return with_spans(following, [*state.spans, *new])


def settle(state: AckState, terms: Terms, now: datetime) -> AckState:
    """End the leases and backoffs that are over by now; the end of a lease is a failed delivery.

    Pub/Sub: a delivery fails when its deadline passes, even if that is noticed much later.
    """
    if terms.subscription.dead_letter_policy is None:
        state = reset_attempts(state)
    state = _end_leases(state, terms, now)
    if not any(_is_over(span, State.BACKING_OFF, now) for span in state.spans):
        return state
    spans = (s.released() if _is_over(s, State.BACKING_OFF, now) else s for s in state.spans)
    return with_spans(state, spans)


def lease(
    state: AckState,
    max_messages: int | None,
    terms: Terms,
    now: datetime,
    deadline: timedelta | None = None,
    below: int | None = None,
) -> tuple[AckState, list[Span]]:
    """Lease up to ``max_messages`` available messages (None: all), in the order of ``choose``.

    Return the next state and the leased spans, a few for each number of attempts; none if no
    message is available. ``deadline``: the length of the lease; by default the subscription's ack
    deadline. ``below``: only messages at lower positions are leased.
    """
    chosen = choose(state, terms.subscription, terms.keys, max_messages, below)
    if not chosen:
        return state, []
    if deadline is None:
        deadline = timedelta(seconds=terms.subscription.ack_deadline_seconds)
    until = now + deadline
    leased = [
        part.leased(state.next_lease_id, until)
        for part in spans_within(state.in_state(State.AVAILABLE), chosen)
    ]
    kept = [s.without(chosen) if s.state is State.AVAILABLE else s for s in state.spans]
    streams = tuple(stream.without(chosen) for stream in state.streams)
    following = replace(state, next_lease_id=state.next_lease_id + 1, streams=streams)
    following = with_spans(following, [*kept, *leased])
    return following, following.of_lease(state.next_lease_id, State.LEASED)


def acknowledge(
    state: AckState,
    targets: Mapping[int, Positions],
    terms: Terms,
    now: datetime,
    malformed: int = 0,
) -> tuple[AckState, Outcomes]:
    """Acknowledge positions under the leases of their deliveries.

    Lease live, or message already acknowledged → success. Lease over and message unacknowledged →
    expired, and acknowledged by this unless it is under another lease or being forwarded. A lease
    or position that never existed → invalid. An id from before a seek → expired, without effect.
    With exactly-once delivery everything but a live lease is invalid and changes nothing.

    ``malformed``: the number of ack ids that cannot be read; they are only counted as invalid.
    """
    state = before = settle(state, terms, now)
    outcomes = Outcomes()
    for lease_id, known, live in _known_and_live(state, targets, outcomes, terms):
        if lease_id < state.first_lease_id:
            outcomes.expired[lease_id] = known
            continue
        late = known - live
        unacked = late & union(state.unacked())
        outcomes.success[lease_id] = known - unacked
        outcomes.expired[lease_id] = unacked
        elsewhere = state.positions(State.LEASED, State.FORWARDING, State.WRITING)
        state = _acked(state, lease_id, live, unacked - elsewhere, terms)
    return _released_from_streams({}, before, _with_counters(state, outcomes, malformed)), outcomes


def still_acknowledged(state: AckState, targets: Mapping[int, Positions]) -> dict[int, Positions]:
    """Return the earlier acknowledgements, by lease, that still hold.

    Acknowledgements from before a seek do not hold. Nor do those of messages that are
    unacknowledged again, as an operator restored an earlier state.
    """
    unacked = union(state.unacked())
    return {
        lease_id: positions - unacked
        for lease_id, positions in targets.items()
        if lease_id >= state.first_lease_id
    }


def modify_ack_deadline(
    state: AckState,
    targets: Mapping[int, Positions],
    terms: Terms,
    now: datetime,
    deadline: timedelta,
) -> tuple[AckState, Outcomes]:
    """Give live leases a new deadline from now; zero ends them as failed deliveries (a nack).

    A lease that is over → expired, without effect. A lease or position that never existed →
    invalid.
    """
    state = before = settle(state, terms, now)
    outcomes = Outcomes()
    nacked: dict[int, Positions] = {}
    for lease_id, known, live in _known_and_live(state, targets, outcomes, terms):
        outcomes.success[lease_id] = live
        outcomes.expired[lease_id] = known - live
        nacked[lease_id] = live
    if deadline:
        return _extended(state, nacked, now + deadline), outcomes
    return _released_from_streams(targets, before, _fail(state, nacked, terms, now)), outcomes


def give_back(
    state: AckState, targets: Mapping[int, Positions], terms: Terms, now: datetime
) -> AckState:
    """Make unprocessed messages of live leases available; their deliveries do not fail."""
    before = settle(state, terms, now)
    return _released_from_streams(targets, before, _end(before, targets, terms, Span.released))


def _released_from_streams(
    given_back: Mapping[int, Positions], before: AckState, after: AckState
) -> AckState:
    """Drop messages from the micro-batches of streaming queries.

    Those are the messages that were given back, even too late, and those whose lease was ended.
    """
    streams = []
    for stream in after.streams:
        held = union(before.of_lease(stream.lease_id, State.LEASED))
        holds = union(after.of_lease(stream.lease_id, State.LEASED))
        streams.append(stream.without((held - holds) | given_back.get(stream.lease_id, NOTHING)))
    return replace(after, streams=tuple(streams))


def _known_and_live(
    state: AckState, targets: Mapping[int, Positions], outcomes: Outcomes, terms: Terms
) -> Iterable[tuple[int, Positions, Positions]]:
    """Yield each lease with those of its targets that it can have had, and those that it has.

    Other positions are invalid; with exactly-once delivery, all positions that it does not have.
    """
    for lease_id, positions in sorted(targets.items()):
        live = positions & union(state.of_lease(lease_id, State.LEASED))
        known = live
        if not terms.subscription.enable_exactly_once_delivery:
            known = _possibly_held(state, lease_id, positions)
        outcomes.invalid[lease_id] = positions - known
        yield lease_id, known, live


def _possibly_held(state: AckState, lease_id: int, positions: Positions) -> Positions:
    """Return the positions that a lease can have had."""
    if not 0 < lease_id < state.next_lease_id or not state.absorbed_below:
        return NOTHING
    return positions.within(0, state.absorbed_below - 1)


def _acked(
    state: AckState, lease_id: int, live: Positions, late: Positions, terms: Terms
) -> AckState:
    """Acknowledge messages of a live lease, and late ones that are under no lease."""
    if not live and not late:
        return state
    spans: list[Span] = []
    for span in state.spans:
        if span.state in ACKNOWLEDGED:
            spans.append(span)
            continue
        held = span.state is State.LEASED and span.lease_id == lease_id
        acked = span.only(live if held else late)
        spans.append(span.without(acked.positions))
        if held and not terms.final_acks:
            spans.append(replace(acked, state=State.ACKED, until=None))
        if terms.subscription.retain_acked_messages:
            spans.append(acked.retained())
    return with_spans(state, spans)


def _with_counters(state: AckState, outcomes: Outcomes, malformed: int) -> AckState:
    def total(found: Mapping[int, Positions]) -> int:
        return sum(map(len, found.values()))

    before = state.counters
    counters = replace(
        before,
        success=before.success + total(outcomes.success),
        expired=before.expired + total(outcomes.expired),
        invalid=before.invalid + total(outcomes.invalid) + malformed,
    )
    return replace(state, counters=counters)


def _extended(state: AckState, targets: Mapping[int, Positions], until: datetime) -> AckState:
    if not any(targets.values()):
        return state
    spans: list[Span] = []
    for span in state.spans:
        chosen = targets.get(span.lease_id or 0, NOTHING) if span.state is State.LEASED else NOTHING
        spans += [span.without(chosen), replace(span.only(chosen), until=until)]
    return with_spans(state, spans)


def _end_leases(state: AckState, terms: Terms, now: datetime) -> AckState:
    """Fail the leases that are over, the earliest first."""
    over = [span for span in state.spans if _is_over(span, State.LEASED, now)]
    if over and not terms.subscription.enable_message_ordering:
        live = [span for span in state.spans if not _is_over(span, State.LEASED, now)]
        return with_spans(state, [*live, *(_failed_at_deadline(span, terms) for span in over)])
    while over:
        first = min(span.until for span in over if span.until is not None)
        ending = sorted((s for s in over if s.until == first), key=lambda s: s.lease_id or 0)
        targets = {
            lease_id: union(spans)
            for lease_id, spans in groupby(ending, key=lambda span: span.lease_id or 0)
        }
        state = _fail(state, targets, terms, first)
        over = [span for span in state.spans if _is_over(span, State.LEASED, now)]
    return state


def _failed_at_deadline(span: Span, terms: Terms) -> Span:
    assert span.until is not None
    return failed(span, terms.subscription, span.until)


def _fail(
    state: AckState, targets: Mapping[int, Positions], terms: Terms, at: datetime
) -> AckState:
    return _end(state, targets, terms, lambda span: failed(span, terms.subscription, at))


def _end(
    state: AckState,
    targets: Mapping[int, Positions],
    terms: Terms,
    ended: Callable[[Span], Span],
) -> AckState:
    """End deliveries, given by lease; with ordering, later messages of their keys return, too.

    Pub/Sub: a failed message is redelivered together with every later message of its key in its
    batch, even acknowledged ones. Those do not count a failed attempt, and need no backoff: no
    message of a key is leased while one of them backs off.
    """
    for lease_id, positions in targets.items():
        if not positions:
            continue
        broken = spans_within(state.of_lease(lease_id, State.LEASED), positions)
        following = _followers(state, lease_id, positions, broken, terms)
        spans: list[Span] = []
        for span in state.spans:
            if span.lease_id != lease_id or span.state not in terms.may_return:
                spans.append(span)
                continue
            if span.state is State.LEASED:
                spans.append(ended(span.only(positions)))
                span = span.without(positions)
            spans += [span.only(following).released(), span.without(following)]
        state = with_spans(state, spans)
    return state


def _followers(
    state: AckState, lease_id: int, positions: Positions, broken: list[Span], terms: Terms
) -> Positions:
    if not terms.subscription.enable_message_ordering:
        return NOTHING
    held = state.of_lease(lease_id, *terms.may_return)
    rest = [span if span.state is State.ACKED else span.without(positions) for span in held]
    rest = [span for span in rest if span]
    return terms.keys.followers(broken, rest) if rest else NOTHING


def _is_over(span: Span, state: State, now: datetime) -> bool:
    return span.state is state and span.until is not None and span.until <= now
