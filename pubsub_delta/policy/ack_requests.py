"""An ack request: the acks and new deadlines of a consumer, for one commit.

Pub/Sub: a StreamingPull request carries acknowledgements and new deadlines together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.delivery import NOTHING, Outcomes, Terms
from pubsub_delta.policy.positions import Positions

PositionsByLease = Mapping[int, Positions]
"""Positions of messages by the number of their lease."""


@dataclass(frozen=True)
class AckRequest:
    """The acks and new deadlines of a consumer, by lease.

    ``deadlines``: messages by their new deadline from now; zero is a nack. ``given_back``: messages
    that were never processed, so their deliveries did not fail. ``repeated``: acknowledgements that
    have succeeded before; the response says which still hold. ``known_ends``: messages by the end
    of their lease that the consumer knows of. It moves these deadlines by itself, to extend leases
    and to fail what has expired. Where another process has moved the end since, the later end
    counts: a client may send a new deadline to any server. ``together``: the acks of each call that
    has one answer, which cannot tell a success beside a failure. With exactly-once delivery none of
    a call is written where one fails: its client repeats the others, perhaps to another server, at
    which those that had succeeded would fail.
    """

    acknowledged: PositionsByLease = field(default_factory=dict)
    deadlines: Mapping[timedelta, PositionsByLease] = field(default_factory=dict)
    given_back: PositionsByLease = field(default_factory=dict)
    repeated: PositionsByLease = field(default_factory=dict)
    known_ends: Mapping[datetime, PositionsByLease] = field(default_factory=dict)
    together: Sequence[PositionsByLease] = ()


@dataclass(frozen=True)
class AckResponse:
    """The outcomes of a request: of its acknowledgements, and of each new deadline.

    ``still_acknowledged``: of the repeated ones. ``first_lease_id``: leases with lower ids are
    void, as they are from before a seek, whoever asked for it. ``moved_ends``: messages of
    ``known_ends`` by the end to which another process has moved their lease. ``postponed``: acks
    that were not written, as others of their call fail.
    """

    acknowledged: Outcomes = field(default_factory=Outcomes)
    deadlines: Mapping[timedelta, Outcomes] = field(default_factory=dict)
    still_acknowledged: PositionsByLease = field(default_factory=dict)
    first_lease_id: int = 0
    moved_ends: Mapping[datetime, PositionsByLease] = field(default_factory=dict)
    postponed: PositionsByLease = field(default_factory=dict)


def apply(
    state: AckState, request: AckRequest, terms: Terms, now: datetime
) -> tuple[AckState, AckResponse]:
    """Apply a request, the acknowledgements first; return the next state and the outcomes."""
    acknowledged, postponed = Outcomes(), _postponed(state, request.together, terms, now)
    acks = {of: n - postponed.get(of, NOTHING) for of, n in request.acknowledged.items()}
    if any(acks.values()):
        state, acknowledged = delivery.acknowledge(state, acks, terms, now)
    moved = _moved_ends(state, request.known_ends, now)
    deadlines = {}
    for deadline, held in request.deadlines.items():
        later = _joined(named for end, named in moved.items() if end > now + deadline)
        asked = {of: held[of] - later[of] if of in later else held[of] for of in held}
        state, outcomes = delivery.modify_ack_deadline(state, asked, terms, now, deadline)
        for of in held.keys() & later.keys():
            outcomes.success[of] |= held[of] & later[of]
        deadlines[deadline] = outcomes
    if any(request.given_back.values()):
        state = delivery.give_back(state, request.given_back, terms, now)
    still_acknowledged = delivery.still_acknowledged(state, request.repeated)
    return state, AckResponse(
        acknowledged, deadlines, still_acknowledged, state.first_lease_id, moved, postponed
    )


def _postponed(
    state: AckState, calls: Sequence[PositionsByLease], terms: Terms, now: datetime
) -> dict[int, Positions]:
    """Return the acks that would succeed, of the calls of which some would fail."""
    if not calls or not terms.subscription.enable_exactly_once_delivery:
        return {}
    leased = delivery.settle(state, terms, now).in_state(State.LEASED)
    held = _joined({span.lease_id or 0: span.positions} for span in leased)
    found = []
    for call in calls:
        live = {of: positions & held.get(of, NOTHING) for of, positions in call.items()}
        if sum(map(len, live.values())) < sum(map(len, call.values())):
            found.append(live)
    return _joined(found)


def _moved_ends(
    state: AckState, known_ends: Mapping[datetime, PositionsByLease], now: datetime
) -> dict[datetime, PositionsByLease]:
    """Return the messages whose lease holds, and has another end than the known one, by that."""
    found: dict[datetime, list[PositionsByLease]] = {}
    for known, named in known_ends.items():
        for span in state.in_state(State.LEASED):
            positions = span.positions & named.get(span.lease_id or 0, NOTHING)
            if positions and span.until is not None and known != span.until > now:
                found.setdefault(span.until, []).append({span.lease_id or 0: positions})
    return {end: _joined(parts) for end, parts in found.items()}


def _joined(parts: Iterable[PositionsByLease]) -> dict[int, Positions]:
    joined: dict[int, Positions] = {}
    for part in parts:
        for lease_id, positions in part.items():
            joined[lease_id] = joined.get(lease_id, NOTHING) | positions
    return joined
