"""An ack request: the acks and new deadlines of a consumer, for one commit.

Pub/Sub: a StreamingPull request carries acknowledgements and new deadlines together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pubsub_delta.policy import delivery
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.delivery import Outcomes, Terms
from pubsub_delta.policy.positions import Positions

PositionsByLease = Mapping[int, Positions]
"""Positions of messages by the number of their lease."""


@dataclass(frozen=True)
class AckRequest:
    """The acks and new deadlines of a consumer, by lease.

    ``deadlines``: messages by their new deadline from now; zero is a nack. ``given_back``: messages
    that were never processed, so their deliveries did not fail. ``repeated``: acknowledgements that
    have succeeded before; the response says which still hold.
    """

    acknowledged: PositionsByLease = field(default_factory=dict)
    deadlines: Mapping[timedelta, PositionsByLease] = field(default_factory=dict)
    given_back: PositionsByLease = field(default_factory=dict)
    repeated: PositionsByLease = field(default_factory=dict)


@dataclass(frozen=True)
class AckResponse:
    """The outcomes of a request: of its acknowledgements, and of each new deadline.

    ``still_acknowledged``: of the repeated ones. ``first_lease_id``: leases with lower ids are
    void, as they are from before a seek, whoever asked for it.
    """

    acknowledged: Outcomes = field(default_factory=Outcomes)
    deadlines: Mapping[timedelta, Outcomes] = field(default_factory=dict)
    still_acknowledged: PositionsByLease = field(default_factory=dict)
    first_lease_id: int = 0


def apply(
    state: AckState, request: AckRequest, terms: Terms, now: datetime
) -> tuple[AckState, AckResponse]:
    """Apply a request, the acknowledgements first; return the next state and the outcomes."""
    acknowledged = Outcomes()
    if any(request.acknowledged.values()):
        state, acknowledged = delivery.acknowledge(state, request.acknowledged, terms, now)
    deadlines = {}
    for deadline, held in request.deadlines.items():
        state, deadlines[deadline] = delivery.modify_ack_deadline(state, held, terms, now, deadline)
    if any(request.given_back.values()):
        state = delivery.give_back(state, request.given_back, terms, now)
    still_acknowledged = delivery.still_acknowledged(state, request.repeated)
    return state, AckResponse(acknowledged, deadlines, still_acknowledged, state.first_lease_id)
